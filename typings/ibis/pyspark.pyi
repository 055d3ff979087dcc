from typing import Any

from ibis import Backend

def connect(*args: Any, **options: Any) -> Backend: ...
