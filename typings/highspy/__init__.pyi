from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.integer]

kHighsInf: float

class MatrixFormat(Enum):
    kColwise = ...

class HessianFormat(Enum):
    kTriangular = ...

class HighsModelStatus(Enum):
    kOptimal = ...

class HighsStatus(Enum):
    kOk = ...

class HighsSparseMatrix:
    format_: MatrixFormat
    start_: Indices
    index_: Indices
    value_: Floats

class HighsLp:
    num_col_: int
    num_row_: int
    col_cost_: Floats
    col_lower_: Floats
    col_upper_: Floats
    row_lower_: Floats
    row_upper_: Floats
    a_matrix_: HighsSparseMatrix

class HighsHessian:
    dim_: int
    format_: HessianFormat
    start_: Indices
    index_: Indices
    value_: Floats

class HighsModel:
    lp_: HighsLp
    hessian_: HighsHessian

class HighsSolution:
    col_value: Sequence[float]

class HighsInfo:
    qp_iteration_count: int

class Highs:
    def setOptionValue(self, option: str, value: bool | int | float | str) -> HighsStatus: ...
    def getOptionValue(self, option: str) -> tuple[HighsStatus, float]: ...
    def passModel(self, model: HighsModel) -> HighsStatus: ...
    def run(self) -> HighsStatus: ...
    def getModelStatus(self) -> HighsModelStatus: ...
    def modelStatusToString(self, status: HighsModelStatus) -> str: ...
    def getSolution(self) -> HighsSolution: ...
    def getInfo(self) -> HighsInfo: ...
