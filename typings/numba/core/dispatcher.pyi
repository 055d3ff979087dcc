from collections.abc import Callable
from typing import Any, ClassVar

class Dispatcher:
    compile: ClassVar[Callable[[Any, Any], Any]]
