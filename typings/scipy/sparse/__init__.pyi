import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

class csc_matrix:
    def __init__(self, entries: tuple[Floats, tuple[Ints, Ints]], *, shape: tuple[int, int]) -> None: ...
    def __matmul__(self, other: Floats) -> Floats: ...
