from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

def instrument_imports(*, include: Sequence[str]) -> AbstractContextManager[None]: ...
def Setup(
    words: list[str],
    target: Callable[[bytes], None],
    *,
    custom_mutator: Callable[[bytes, int, int], bytes],
) -> list[str]: ...
def Fuzz() -> None: ...
