"""The columns of a table by their purpose, and the records in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tallytree.counts.arrow import check_columns
from tallytree.counts.engines.session import Opened, Session
from tallytree.errors import CountsError, EngineError, show

if TYPE_CHECKING:
    import ibis


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The names of columns by their purpose. A frame has neither persons nor quantities."""

    groups: tuple[str, ...]
    regions: tuple[str, ...]
    person: str | None = None
    quantity: str | None = None
    rows_are_groups: bool = False
    """Each group has a single row, and the quantity is its size."""

    @property
    def keys(self) -> list[str]:
        """The columns that identify a group, a region or a person."""
        return [*self.groups, *self.regions, *([self.person] if self.person is not None else [])]

    @property
    def all(self) -> list[str]:
        """Every column that is needed."""
        needed = [*self.keys, *([self.quantity] if self.quantity is not None else [])]
        return list(dict.fromkeys(needed))  # a region may identify the group as well

    @property
    def group_names(self) -> list[str]:
        """The names of the group columns in our queries, whatever the user's are."""
        return [f"group_{place}" for place in range(len(self.groups))]

    @property
    def person_names(self) -> list[str]:
        """The name of the person column in our queries, if there is one."""
        return [] if self.person is None else ["person"]

    @property
    def region_names(self) -> list[str]:
        """The names of the region columns in our queries."""
        return [f"region_{place}" for place in range(len(self.regions))]


@dataclass(frozen=True)
class Records:
    """A table of people's records, or a frame of groups, in an engine."""

    opened: Opened
    columns: Columns
    engine: Session
    """The engine that the table is in, and what it can do."""
    where: str = ""
    """How messages about this table begin."""

    def __post_init__(self) -> None:
        check_columns(self.opened.names, self.columns.all)
        for name in self.columns.keys:
            self._check_key(name)
        if self.columns.person is not None and not self.engine.compares_bytes:
            self._require_whole_numbers(self.columns.person)
        if self.columns.quantity is not None:
            self._check_quantity(self.columns.quantity)

    @property
    def table(self) -> ibis.Table:
        """The table; ``records[name]`` is a column by the user's name for it."""
        return self.opened.table

    def __getitem__(self, name: str) -> ibis.Value:
        return self.table[self._find(name)]

    def get_type(self, name: str) -> ibis.DataType:
        """Return the type of a column."""
        return self.table.schema()[self._find(name)]

    def has_whole_numbers(self, name: str) -> bool:
        """Return whether a column's type is an integer."""
        return self.get_type(name).is_integer()

    def _find(self, name: str) -> str:
        return self.table.columns[self.opened.names.index(name)]

    def _check_key(self, name: str) -> None:
        kind = self.get_type(name)
        if kind.is_string() or kind.is_integer():
            return
        if name in self.columns.regions or not (kind.is_uuid() or kind.is_decimal()):
            raise CountsError(
                f"Column {show(name)} holds {_name(kind)}; names and keys must be text or whole numbers."
            )

    def _require_whole_numbers(self, name: str) -> None:
        if not self.has_whole_numbers(name):
            engine = self.engine.backend.name
            raise EngineError(
                f"Column {show(name)} identifies persons by text, and {engine} may take two texts for one, "
                "such as 'a' and 'A': identify them by whole numbers there."
            )

    def _check_quantity(self, name: str) -> None:
        kind = self.get_type(name)
        if not (kind.is_integer() or kind.is_floating() or kind.is_decimal() or kind.is_string()):
            raise CountsError(f"Column {show(name)} holds {_name(kind)}; quantities must be whole numbers.")


def _name(kind: ibis.DataType) -> str:
    """The name of a type without its parameters, which may be long."""
    return re.split(r"[^a-z0-9]", str(kind), maxsplit=1)[0]


def have_like_groups(people: Records, frame: Records) -> bool:
    """Return whether the groups of both tables have types that can be compared as they are."""

    def kinds(records: Records) -> Sequence[bool]:
        return [records.has_whole_numbers(name) for name in records.columns.groups]

    return all(kinds(people)) and all(kinds(frame))
