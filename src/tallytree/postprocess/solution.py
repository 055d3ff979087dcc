"""What a mechanism's post-processing returns: counts with evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Certificate:
    """Whether a feasible point is optimal, by looking at all single exchanges."""

    slack: int
    """The least slack of any node: negative exactly when some exchange improves the objective."""

    @property
    def optimal(self) -> bool:
        """No single exchange improves the objective."""
        return self.slack >= 0


@dataclass(frozen=True)
class Evidence:
    """How good given counts are by a mechanism's own measure, as a solution says it of itself."""

    objective: int
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Accuracy:
    """How near a relaxed solution is to the optimum of its model."""

    gap: float
    """Between its objective and a lower bound, as a share of the latter."""
    primal_residual: float
    """The most groups by which a total is missed."""
    dual_residual: float
    """How far the optimality condition of a leaf is off: the most groups by which its target would move."""
    bound: float
    """No counts that add up, whole or not, have an objective of the relaxed model below this."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The counts n^ and how good they are by the mechanism's own measure."""

    counts: Sequence[Ints]
    """Regions x sizes for each level, root first."""
    objective: int
    """The mechanism's objective at the counts, exactly."""
    certificate: Certificate | None
    """Evidence that the counts are optimal, where the solver gives one."""
    solver: str
    """What found them."""
    effort: dict[str, int]
    """What the solver had to do, in its own terms."""
    accuracy: Accuracy | None = None
    """Of the relaxed solution that was rounded, where there is one."""
