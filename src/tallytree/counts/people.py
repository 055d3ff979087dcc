"""From records of people to group counts, with every bound enforced that the privacy guarantee rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from tallytree.counts.arrow import Table
from tallytree.counts.engines.opening import check_table, open_sources
from tallytree.counts.engines.session import Engine
from tallytree.counts.group_counts import GroupCounts, mark_as_counted
from tallytree.counts.record_columns import Columns
from tallytree.counts.record_counter import Counter
from tallytree.counts.record_query import Counting
from tallytree.counts.region_tables import REGIONS_FROM_DATA, check_purposes, check_region_columns, check_root
from tallytree.errors import CountsError, EngineError, show
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.neighbours import GROUPS_FROM_DATA, MOST, ROWS_ARE_PEOPLE, Bounds, Protected
from tallytree.progress import Progress, no_progress
from tallytree.sizes import Sizes, check_sizes

DROPPED = (
    "Records with a missing key, a quantity that is not a whole number, a negative size, a region that is "
    "not in the hierarchy or a group that is not in the frame are not counted, if there are any."
)
"""Stated wherever such records would have been left out: whether there were any is not public."""

Missing = Literal["refuse", "drop"]
MISSING: tuple[Missing, ...] = get_args(Missing)


def count_groups(
    source: Table,
    *,
    group: str | Sequence[str],
    regions: Sequence[str],
    sizes: Sizes,
    root: str = "all",
    person: str | None = None,
    quantity: str | None = None,
    max_records: int = 1,
    max_quantity: int | None = None,
    frame: Table | None = None,
    missing: Missing = "refuse",
    protect: Protected = "person",
    size: str | None = None,
    hierarchy: Hierarchy | None = None,
    root_level: str = "root",
    table: str | None = None,
    engine: Engine | None = None,
    progress: Progress = no_progress,
) -> GroupCounts:
    """Count groups by region and size from a table with a row for each record of a person.

    ``source`` is a CSV or Parquet file, a glob, a folder of Parquet files or a list of files, also in an
    object store (``s3://``, ``gs://``, ``az://``); a pandas, Polars or Arrow table; the URL of a database,
    with ``table``; a Spark data frame; or any Ibis table. The engine does the work, and only counts per
    region and size come back. ``engine`` sets its memory and the like, or chooses Spark for files.

    ``group`` is the column (or columns) that identifies the group, and ``regions`` those of the regions, from
    the level below the root on. The size of a group is the sum of its records' ``quantity``, or their
    number. Three bounds are enforced: of each ``person`` at most ``max_records`` records count (chosen
    by a hash of person and group: see ``counts/record_query.py``), each with a quantity clipped to
    0 .. ``max_quantity``, which a ``quantity`` needs, and group sizes are clipped to ``sizes``. Without
    ``person`` each record is taken to be a person, and the release says so. The person may be the group.

    ``frame`` is a public table of all groups with their regions, made without the records, such as a
    register of addresses (region columns of ``source`` are then not needed; if all are there, they must
    agree): groups without people have size 0. ``hierarchy`` (see :func:`tallytree.read_hierarchy`) holds the
    public regions, so that one without groups appears too. If neither is given, the regions are read from
    the data, and the release says that they must be public.

    With ``protect="group"`` the counts are for a release that protects whole groups: no person is named then,
    no record is left out, and quantities are not clipped. Rows may then be groups instead of records, as in a
    register of firms: ``size`` is the column of their sizes, and a group in two rows is refused.

    A record with a missing key, a quantity that is not a whole number, a negative size, an unknown region, or
    a group outside the frame is refused, with an error that tells how many there are. That error depends on
    the data, so it is for the curator's eyes. With ``missing="drop"`` such records are not counted:
    ``left_out`` of the counts tells the curator how many, and the release states only this rule. Where a
    record and the frame name different regions, the frame counts then.

    >>> import pyarrow as pa
    >>> people = pa.table({"household": [1, 1, 2, 3], "state": ["GA", "GA", "GA", "NY"]})
    >>> counts = count_groups(people, group="household", regions=["state"], sizes=(1, 3), root="US")
    >>> counts.hierarchy.leaves
    (('US', 'GA'), ('US', 'NY'))
    >>> counts.leaf.tolist()
    [[1, 1, 0], [1, 0, 0]]
    """
    if size is not None and (quantity is not None or protect != "group"):
        raise CountsError(
            "Rows that are groups with their 'size' need protect='group' and no 'quantity': they do not show "
            "what a person adds to a group."
        )
    columns = _check_columns(group, regions, person, quantity, size)
    check_root(root, root_level)
    span = check_sizes(sizes)
    if protect == "group":
        _refuse_persons(person, max_records, max_quantity)
    elif protect != "person":
        raise CountsError(f"protect must be 'person' or 'group', not {show(protect)}.")
    elif quantity is not None and max_quantity is None:
        raise CountsError(
            "A quantity needs its bound, max_quantity: the most that one record may add to a group. Larger "
            "quantities are clipped to it, and the noise grows with it."
        )
    if missing not in MISSING:
        raise CountsError(f"missing must be one of {', '.join(map(repr, MISSING))}, not {show(missing)}.")
    bounds = Bounds(max_records=max_records, max_quantity=1 if max_quantity is None else max_quantity)
    kept = Bounds(max_quantity=MOST) if protect == "group" else bounds
    if person is None and max_records != 1:
        raise CountsError("max_records needs the column that identifies the person.")
    if hierarchy is not None:
        _check_hierarchy(hierarchy, columns)
    if engine is not None and not isinstance(engine, Engine):
        raise EngineError("The engine must be a tallytree.Engine.")
    check_table(source, table)
    with open_sources(source, frame, engine, progress) as (session, records, groups):
        counter = Counter(session, progress)
        people, listed = counter.open(records if table is None else table, groups, columns)
        drop = missing == "drop"
        known = hierarchy or counter.find_hierarchy(listed or people, root, root_level)
        counting = Counting(
            hierarchy=known, sizes=span, bounds=kept, drop=drop, regions_from_data=hierarchy is None
        )
        counted = counter.count(people, listed, counting)
    counts = GroupCounts(
        known,
        span,
        counted.leaf,
        bounds=bounds,
        assumptions=[
            *([ROWS_ARE_PEOPLE] if person is None and protect == "person" else []),
            *([GROUPS_FROM_DATA] if frame is None else []),
            *([REGIONS_FROM_DATA] if frame is None and hierarchy is None else []),
            *([DROPPED] if drop else []),
        ],
        has_frame=frame is not None,
    )
    only: Protected | None = "group" if protect == "group" else None if person is None else "person"
    return mark_as_counted(counts, enforced=protect == "person", only=only, left_out=counted.left_out)


def _refuse_persons(person: str | None, max_records: int, max_quantity: int | None) -> None:
    """Where whole groups are protected, nothing has to be known, or cut, of a person."""
    given = (("person", person), ("max_records", None if max_records == 1 else max_records))
    for name, value in (*given, ("max_quantity", max_quantity)):
        if value is not None:
            raise CountsError(
                f"Whole groups are protected, whatever one person contributes to them: leave {name!r} out."
            )


def _check_columns(
    group: str | Sequence[str],
    regions: Sequence[str],
    person: str | None,
    quantity: str | None,
    size: str | None,
) -> Columns:
    groups = (group,) if isinstance(group, str) else group
    named = isinstance(groups, (list, tuple)) and all(isinstance(name, str) for name in groups)
    if not named or not groups:
        raise CountsError("The group must be the name of a column, or a list of names.")
    check_region_columns(regions)
    for what, name in (("person", person), ("quantity", quantity), ("size", size)):
        if name is not None and not isinstance(name, str):
            raise CountsError(f"The {what} column must be given by its name.")
    # A region may identify the group too: a taxi in a zone is a group of that zone. And the group may be the
    # person, as a taxi is.
    added = quantity if size is None else size
    rest = [name for name in (person, added) if name is not None]
    check_purposes([*groups, *([added] if added is not None else [])])
    check_purposes([*regions, *rest])
    return Columns(
        groups=tuple(groups),
        regions=tuple(regions),
        person=person,
        quantity=added,
        rows_are_groups=size is not None,
    )


def _check_hierarchy(hierarchy: Hierarchy, columns: Columns) -> None:
    if not isinstance(hierarchy, Hierarchy):
        raise CountsError("The hierarchy must be a tallytree.Hierarchy.")
    if len(hierarchy.levels) != len(columns.regions) + 1:
        raise CountsError(
            f"The hierarchy has {len(hierarchy.levels) - 1} levels below its root, but "
            f"{len(columns.regions)} region columns are named."
        )
