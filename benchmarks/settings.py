"""How much is measured: all of it, or a smoke run."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes and epsilons of each part; the regions are always all of the invented nation, or city."""

    scaling_sizes: tuple[int, ...]
    scaling_epsilons: tuple[str, ...]
    scaling_repeats: int
    peer_epsilons: tuple[str, ...]
    piqp_sizes: tuple[int, ...]
    most_table_sizes: int | None
    """None: as many sizes as the cost tables can do."""
    rounds: int
    """How often the two sides of a comparison take turns."""
    city_sizes: tuple[int, ...]
    city_epsilon: str
    city_seconds: float
    """How long a mechanism may take there before it is given up."""
    nation_sizes: tuple[int, ...]
    nation_seconds: float
    fit_rounds: int
    calls: int
    """The most calls of a mechanism for its best time; slow ones get fewer."""
    joint_repeats: int
    joint_piqp_sizes: tuple[int, ...]
    splits: tuple[tuple[int, ...], ...]
    """Of epsilon over nation, state and county."""

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
    rounds=2,
    city_sizes=tuple(range(5, 51, 5)),
    city_epsilon="1",
    city_seconds=60.0,
    nation_sizes=(100, 300, 1000),
    nation_seconds=200.0,
    fit_rounds=10,
    calls=20,
    joint_repeats=10,
    joint_piqp_sizes=(50, 200),
    splits=((1, 1, 1), (1, 2, 7), (1, 1, 98), (7, 2, 1), (98, 1, 1)),
)

QUICK = Settings(
    scaling_sizes=(5, 10, 20, 40),
    scaling_epsilons=("0.5", "1"),
    scaling_repeats=3,
    peer_epsilons=("1",),
    piqp_sizes=(10,),
    most_table_sizes=2,
    rounds=1,
    city_sizes=(5, 10),
    city_epsilon="1",
    city_seconds=1.0,
    nation_sizes=(5,),
    nation_seconds=1.0,
    fit_rounds=2,
    calls=2,
    joint_repeats=2,
    joint_piqp_sizes=(5,),
    splits=((1, 2, 7), (7, 2, 1)),
)
