"""Tables that are public: those that are known to be sensitive are refused."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tallytree.counts.arrow import Table, read_columns
from tallytree.counts.count_files import has_sensitive_name, read_origin
from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import CountsError

NOT_PUBLIC = (
    "The stand-in {}: a plan made on it would not be private. Plan on public data in its place, such as an "
    "earlier release, a published table, or public totals."
)


def refuse_sensitive(stand_in: GroupCounts) -> None:
    """Refuse counts that are known to be of records of people."""
    if stand_in.is_of_people:
        raise CountsError(NOT_PUBLIC.format("was counted from records of people, so it is sensitive"))


def read_public(table: Table, columns: Sequence[str], text: Sequence[str] = ()) -> pa.Table:
    """Read columns of a table that does not say, inside or by its file's name, that it is sensitive."""
    if has_sensitive_name(table):
        raise CountsError(NOT_PUBLIC.format("is in a file whose name says that it is sensitive"))
    known = read_columns(table, columns, text=list(text))
    if read_origin(known) is not None:
        raise CountsError(NOT_PUBLIC.format("holds true counts, which 'tallytree count' marked as sensitive"))
    return known
