"""Everything that one run measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from benchmarks.attempts import Missing
from benchmarks.fits import FitContest
from benchmarks.joint_peer import JointPiqpRun
from benchmarks.ladders import Ladder
from benchmarks.memory import MemoryUse
from benchmarks.noise_measuring import NoiseReport
from benchmarks.people.measuring import Measured
from benchmarks.piqp_peer import PiqpRun
from benchmarks.reconciliation_peer import Reconciliation
from benchmarks.relaxed_points import RelaxedPoint
from benchmarks.runtimes import Survey
from benchmarks.scaling import Scaling
from benchmarks.splits import SplitRun
from benchmarks.tables_peer import TablesRun


@dataclass(frozen=True)
class Growth:
    """One mechanism on ever more sizes."""

    mechanism: str
    repeats: int
    scaling: Sequence[Scaling]
    memory: MemoryUse | None
    """At the largest number of sizes and the first epsilon."""

    @property
    def largest(self) -> int:
        """The largest number of sizes that it was measured at."""
        return max(record.sizes for record in self.scaling)

    @property
    def at_largest(self) -> Sequence[Scaling]:
        """What was measured there."""
        return [record for record in self.scaling if record.sizes == self.largest]


@dataclass(frozen=True)
class DirectReport:
    """``direct-dp`` and its peers."""

    growth: Growth
    rounds: int
    piqp: Sequence[PiqpRun]
    tables: Sequence[TablesRun]

    @property
    def noisiest_tables(self) -> TablesRun | None:
        """The run of the cost tables at the least epsilon."""
        return min(self.tables, key=lambda run: float(run.epsilon), default=None)


@dataclass(frozen=True)
class JointReport:
    """``cumulative-joint``, its peers, and the optimum that it rounds."""

    smoothed: Growth
    """With its defaults."""
    plain: Growth
    """For the noisy answers as they are: the paper's model."""
    rounds: int
    fit_rounds: int
    piqp: Sequence[JointPiqpRun]
    """Both sides for the plain model."""
    points: Sequence[RelaxedPoint]
    """Of the plain model, at the largest number of sizes."""
    fits: Sequence[FitContest]
    splits: Sequence[SplitRun]

    @property
    def piqp_runs(self) -> Sequence[PiqpRun]:
        """PIQP's side."""
        return [run.piqp for run in self.piqp]


@dataclass(frozen=True)
class Report:
    """The numbers, before they are put into words."""

    day: date
    machine: dict[str, str]
    quick: bool
    piqp_tolerances: str
    direct: DirectReport
    joint: JointReport
    nation: Survey
    """Up to Census size."""
    fits: Sequence[FitContest]
    fit_rounds: int
    ladders: Sequence[Ladder]
    """General solvers, on either model."""
    reconciliations: Sequence[Reconciliation]
    noise: NoiseReport | None
    people: Sequence[Measured]
    people_rounds: int
    missing: Sequence[Missing]
