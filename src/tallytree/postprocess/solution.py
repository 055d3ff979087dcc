"""What a mechanism's post-processing returns: counts with evidence."""

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


@dataclass(frozen=True, eq=False)
class Solution:
    """The counts n^ and how good they are by the mechanism's own measure."""

    counts: list[Ints]
    """Regions x sizes for each level, root first."""
    objective: int
    """The mechanism's objective at the counts, exactly."""
    certificate: Certificate | None
    """Evidence that the counts are optimal, where the solver gives one."""
    solver: str
    """What found them."""
    effort: dict[str, int]
    """What the solver had to do, in its own terms."""
