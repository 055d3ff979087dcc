"""How much is run: as much as in the paper, or a quick look."""

from dataclasses import dataclass, replace

PAPER_SECONDS = 30 * 60
"""How long the paper waited for a mechanism."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The runs of each mechanism, and how long each may take before the mechanism is given up."""

    epsilons: tuple[str, ...] = ("0.1", "0.5", "1")
    instances: int
    solver_instances: int
    """At most so many for mechanisms whose model goes to a general solver."""
    synthetic_sizes: tuple[int, ...]
    synthetic_epsilon: str = "1"
    """The paper does not say which it took."""
    synthetic_calls: int = 20
    """The most calls for the best time of a run on the synthetic data; slow ones get fewer."""
    synthetic_seconds: float
    run_seconds: float
    small_seconds: float
    """On the large datasets, for mechanisms that are for small problems."""

    def wait(self, seconds: float) -> "Settings":
        """The same, with another limit for everything."""
        return replace(self, synthetic_seconds=seconds, run_seconds=seconds, small_seconds=seconds)


FULL = Settings(
    instances=30,
    solver_instances=3,
    synthetic_sizes=tuple(range(5, 51, 5)),
    synthetic_seconds=120.0,
    run_seconds=120.0,
    small_seconds=120.0,
)
QUICK = Settings(
    instances=3,
    solver_instances=1,
    synthetic_sizes=(5, 10, 20, 30, 40, 50),
    synthetic_seconds=10.0,
    run_seconds=40.0,
    small_seconds=5.0,
)
