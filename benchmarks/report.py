"""Everything that one run measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from benchmarks.fits import FitContest
from benchmarks.memory import MemoryUse
from benchmarks.piqp_peer import PiqpRun
from benchmarks.runtimes import Survey
from benchmarks.scaling import Scaling
from benchmarks.tables_peer import TablesRun


@dataclass(frozen=True)
class Missing:
    """A part that could not be measured, and why."""

    what: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The numbers, before they are put into words."""

    day: date
    machine: dict[str, str]
    quick: bool
    rounds: int
    repeats: int
    scaling: Sequence[Scaling]
    memory: MemoryUse | None
    piqp: Sequence[PiqpRun]
    piqp_tolerances: str
    tables: Sequence[TablesRun]
    city: Survey
    """The paper's first figure."""
    nation: Survey
    """Up to Census size."""
    fits: Sequence[FitContest]
    fit_rounds: int
    missing: Sequence[Missing]

    @property
    def largest(self) -> int:
        """The largest number of sizes that ``direct-dp`` was measured at."""
        return max(record.sizes for record in self.scaling)

    @property
    def largest_piqp(self) -> Sequence[PiqpRun]:
        """The runs at the largest number of sizes that PIQP solved."""
        solved = [run for run in self.piqp if run.solved]
        most = max((run.sizes for run in solved), default=0)
        return [run for run in solved if run.sizes == most]

    @property
    def noisiest_tables(self) -> TablesRun | None:
        """The run of the cost tables at the least epsilon."""
        return min(self.tables, key=lambda run: float(run.epsilon), default=None)
