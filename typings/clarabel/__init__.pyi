from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix

Floats = npt.NDArray[np.float64]

class ZeroConeT:
    def __init__(self, dim: int) -> None: ...

class NonnegativeConeT:
    def __init__(self, dim: int) -> None: ...

class SolverStatus(Enum):
    Solved = ...

class DefaultSettings:
    verbose: bool
    tol_feas: float
    tol_gap_abs: float
    tol_gap_rel: float

class DefaultSolution:
    x: Sequence[float]
    status: SolverStatus
    iterations: int

class DefaultSolver:
    def __init__(
        self,
        P: csc_matrix,
        q: Floats,
        A: csc_matrix,
        b: Floats,
        cones: Sequence[ZeroConeT | NonnegativeConeT],
        settings: DefaultSettings,
    ) -> None: ...
    def solve(self) -> DefaultSolution: ...
