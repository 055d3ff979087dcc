import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Floats = npt.NDArray[np.float64]

class MinTraceSparse:
    def __init__(self, method: str, nonnegative: bool = ..., num_threads: int = ...) -> None: ...
    def fit_predict(self, S: csr_matrix, y_hat: Floats) -> dict[str, Floats]: ...
