from collections.abc import Callable
from typing import Any, TypeVar

from numba import config as config

F = TypeVar("F", bound=Callable[..., Any])

def njit(*, cache: bool = ..., nogil: bool = ...) -> Callable[[F], F]: ...
