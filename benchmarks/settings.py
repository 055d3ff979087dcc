"""How much is measured: all of it, or a smoke run.

A full run is to take some 35 minutes on 2 processors. Roughly, in minutes: 3 for `direct-dp` beside PIQP and
the cost tables; 4 for `cumulative-joint` beside PIQP and with uneven splits; 8 for all mechanisms on the city
(SCIP's take 7 of them); 6 for all on the nation (`cumulative-qp` takes 5); 9 for general solvers; 1 for
forecast reconciliation; 1 for noise; 2 for people. What takes long is given up: the limits are such that
every solver does at least four sizes before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.ladders import Step


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes and epsilons of each part, as in a full run; the regions are all of the invented nation."""

    scaling_sizes: tuple[int, ...] = (100, 200, 300, 600, 1000)
    scaling_epsilons: tuple[str, ...] = ("0.1", "0.5", "1")
    scaling_repeats: int = 20
    peer_epsilons: tuple[str, ...] = ("0.1", "1")
    piqp_sizes: tuple[int, ...] = (100, 300, 1000)
    most_table_sizes: int | None = None
    """None: as many sizes as the cost tables can do."""
    rounds: int = 2
    """How often the two sides of a comparison take turns."""
    nation_sizes: tuple[int, ...] = (100, 300, 1000)
    nation_seconds: float = 120.0
    """How long a mechanism may take there before it is given up."""
    fit_rounds: int = 10
    calls: int = 20
    """The most calls of a mechanism for its best time; slow ones get fewer."""
    joint_repeats: int = 10
    joint_piqp_sizes: tuple[int, ...] = (50, 200)
    splits: tuple[tuple[int, ...], ...] = ((1, 1, 1), (1, 2, 7), (1, 1, 98), (7, 2, 1), (98, 1, 1))
    """Of epsilon over nation, state and county."""
    ladder: Sequence[Step] = (
        *(Step("city", sizes) for sizes in (2, 3, 5, 10, 20, 50)),
        *(Step("nation", sizes) for sizes in (10, 30, 100, 300)),
    )
    """The instances for general solvers, from small to large."""
    ladder_seconds: float = 30.0
    """How long a general solver may take for one of them."""
    reconciliation_sizes: tuple[int, ...] = (10, 30, 100, 300)
    noise_turns: int = 3
    noise_draws: int = 2_000_000
    noise_peer_draws: int = 50_000
    noise_sizes: tuple[int, ...] = (10, 30, 100, 300, 1000)
    people_shares: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    """Of the nation's 305 million people."""
    people_rounds: int = 2

    @property
    def largest(self) -> int:
        """The largest number of sizes: Census size in a full run."""
        return max(self.scaling_sizes)


FULL = Settings()
QUICK = Settings(
    scaling_sizes=(5, 10, 20, 40),
    scaling_epsilons=("0.5", "1"),
    scaling_repeats=3,
    peer_epsilons=("1",),
    piqp_sizes=(10,),
    most_table_sizes=2,
    rounds=1,
    nation_sizes=(5,),
    nation_seconds=1.0,
    fit_rounds=2,
    calls=2,
    joint_repeats=2,
    joint_piqp_sizes=(5,),
    splits=((1, 2, 7), (7, 2, 1)),
    ladder=(Step("city", 2), Step("city", 3)),
    ladder_seconds=2.0,
    reconciliation_sizes=(2, 4),
    noise_turns=1,
    noise_draws=10_000,
    noise_peer_draws=1_000,
    noise_sizes=(1, 2),
    people_shares=(0.001,),
    people_rounds=1,
)
