"""How much is measured: all of it, or a smoke run."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes and epsilons of each part; the regions are always all 3,195 of the invented nation."""

    scaling_sizes: tuple[int, ...]
    scaling_epsilons: tuple[str, ...]
    scaling_repeats: int
    peer_epsilons: tuple[str, ...]
    piqp_sizes: tuple[int, ...]
    most_table_sizes: int | None
    """None: as many sizes as the cost tables can do."""
    rounds: int
    """How often the two sides of a comparison take turns."""

    @property
    def largest(self) -> int:
        """The largest number of sizes: Census size in a full run."""
        return max(self.scaling_sizes)


FULL = Settings(
    scaling_sizes=(100, 200, 300, 600, 1000),
    scaling_epsilons=("0.1", "0.5", "1"),
    scaling_repeats=20,
    peer_epsilons=("0.1", "1"),
    piqp_sizes=(100, 300, 1000),
    most_table_sizes=None,
    rounds=3,
)

QUICK = Settings(
    scaling_sizes=(5, 10, 20, 40),
    scaling_epsilons=("0.5", "1"),
    scaling_repeats=3,
    peer_epsilons=("0.5", "1"),
    piqp_sizes=(5, 10),
    most_table_sizes=2,
    rounds=1,
)
