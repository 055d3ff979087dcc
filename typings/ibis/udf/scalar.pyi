from collections.abc import Callable

from ibis import Value

def builtin(
    *, name: str, signature: tuple[tuple[str, ...], str]
) -> Callable[[object], Callable[..., Value]]: ...
def python(function: Callable[..., object]) -> Callable[..., Value]: ...
