from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix

__version__: str

Floats = npt.NDArray[np.float64]

class Status(Enum):
    PIQP_SOLVED = ...

class Info:
    iter: int

class Result:
    x: Floats
    info: Info

class Settings:
    eps_abs: float
    eps_rel: float
    eps_duality_gap_abs: float
    eps_duality_gap_rel: float

class SparseSolver:
    settings: Settings
    result: Result
    def setup(
        self,
        P: csc_matrix,
        c: Floats,
        A: csc_matrix | None = ...,
        b: Floats | None = ...,
        G: csc_matrix | None = ...,
        h_l: Floats | None = ...,
        *,
        x_l: Floats | None = ...,
    ) -> None: ...
    def solve(self) -> Status: ...
