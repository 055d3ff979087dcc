"""What numbers were hoped to be, and whether they are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """One goal with its outcome, by the least favourable of the numbers that it is about."""

    statement: str
    measured: str
    met: bool

    @classmethod
    def open(cls, statement: str) -> "Goal":
        """Nothing is known about it."""
        return cls(statement, "not measured", False)
