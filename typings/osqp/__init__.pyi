import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix

Floats = npt.NDArray[np.float64]

class Info:
    status: str
    iter: int

class Result:
    x: Floats
    info: Info

class OSQP:
    def setup(
        self,
        P: csc_matrix,
        q: Floats,
        A: csc_matrix,
        l: Floats,
        u: Floats,
        *,
        verbose: bool = ...,
        eps_abs: float = ...,
        eps_rel: float = ...,
        max_iter: int = ...,
    ) -> None: ...
    def solve(self, raise_error: bool | None = ...) -> Result: ...
