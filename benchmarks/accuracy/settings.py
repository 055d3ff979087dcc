"""How much is run: all of it, or a smoke run."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The data's sizes, and the runs of each mechanism."""

    largest: int | None
    """The largest size, if not that of the data."""
    epsilons: tuple[str, ...]
    seeds: int
    solver_seeds: int
    """At most so many for mechanisms whose model goes to a general solver."""
    most_seconds: float
    """A mechanism that takes longer for one run is given up."""


FULL = Settings(largest=None, epsilons=("0.1", "0.5", "1"), seeds=30, solver_seeds=5, most_seconds=120.0)
QUICK = Settings(largest=12, epsilons=("0.1", "0.5", "1"), seeds=2, solver_seeds=2, most_seconds=60.0)
