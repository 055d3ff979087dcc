from collections.abc import Iterator
from typing import Any

class Column:
    name: str

class Schema:
    columns: list[Column]

class Table:
    tableSchema: Schema
    def __iter__(self) -> Iterator[dict[str, Any]]: ...

class CSVW:
    is_valid: bool
    warnings: list[Any]
    common_props: dict[str, Any]
    tables: list[Table]
    def __init__(self, url: str, *, validate: bool = ...) -> None: ...
