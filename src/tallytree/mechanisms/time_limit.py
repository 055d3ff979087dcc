"""How long a general solver may take."""

from tallytree.errors import MechanismError


def check_time_limit(seconds: float) -> None:
    """Refuse what is not a number of seconds above zero."""
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= 1e9:
        raise MechanismError("time_limit must be a number of seconds above zero.")
