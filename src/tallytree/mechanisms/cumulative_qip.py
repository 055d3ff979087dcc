"""``cumulative-qip``: the paper's M_c."""

from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.qip import QIP
from tallytree.privacy.queries import CUMULATIVE, Query


@dataclass(frozen=True, kw_only=True)
class CumulativeQIP(QIP):
    """Measure the cumulative query; solve the quadratic integer program of Model M_c with a general solver.

    Its options are those of :class:`QIP`.
    """

    name: ClassVar[str] = "cumulative-qip"
    symbol: ClassVar[str] = "M_c"
    summary: ClassVar[str] = "cumulative query, Model M_c by a general integer solver (SCIP or Gurobi)"
    query: ClassVar[Query] = CUMULATIVE
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 9"

    @property
    def twin(self) -> Mechanism:
        """A mechanism for the same model, whose counts are near its optimum and never better."""
        from tallytree.mechanisms.cumulative_joint import CumulativeJoint

        return CumulativeJoint(smooth=False)
