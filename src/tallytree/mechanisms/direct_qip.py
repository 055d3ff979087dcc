"""``direct-qip``: the paper's M_H."""

from dataclasses import dataclass
from typing import ClassVar

from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.qip import QIP
from tallytree.privacy.queries import SIZES, Query


@dataclass(frozen=True, kw_only=True)
class DirectQIP(QIP):
    """Measure the sizes query; solve the quadratic integer program of Model M_H with a general solver.

    Its options are those of :class:`QIP`.
    """

    name: ClassVar[str] = "direct-qip"
    symbol: ClassVar[str] = "M_H"
    summary: ClassVar[str] = "sizes query, Model M_H by a general integer solver (SCIP or Gurobi)"
    query: ClassVar[Query] = SIZES
    reference: ClassVar[str] = "Fioretto, Van Hentenryck, Zhu: section 5"

    @property
    def twin(self) -> Mechanism:
        """A fast mechanism that finds the same optimum."""
        from tallytree.mechanisms.direct_dp import DirectDP

        return DirectDP()
