from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

def njit(*, cache: bool = ..., nogil: bool = ...) -> Callable[[F], F]: ...
