"""Random people with every kind of dirt, and the obvious way to count their groups."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import tallytree as tt
from tallytree.sizes import get_ends, list_edges

GROUP, PERSON, QUANTITY = 'household"; DROP TABLE people; --', "person's id", "hours\nworked"
STATE, COUNTY = "state", "county`${x}"
"""Column names that are code in one language or another."""

NAMES = [
    "O'Brien; DROP TABLE people",
    'say "hi"',
    "../../etc/passwd",
    "new\nline",
    "back\\slash",
    "ä 東京",
    "%s {0} $1",
]
"""Region names likewise."""


@dataclass(frozen=True)
class People:
    """Records, and how they are to be counted."""

    records: list[dict[str, Any]]
    sizes: tuple[int, int] = (0, 6)
    person: bool = True
    quantity: bool = True
    max_records: int = 1
    max_quantity: int = 1
    frame: list[dict[str, Any]] | None = None
    hierarchy: tt.Hierarchy | None = None
    groups: tuple[str, ...] = (GROUP,)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        return to_table(self.records)

    @property
    def frame_table(self) -> pa.Table | None:
        return None if self.frame is None else to_table(self.frame)

    @property
    def arguments(self) -> dict[str, Any]:
        """What ``count_groups`` gets beside the table and the frame."""
        return {
            "group": self.groups[0] if len(self.groups) == 1 else list(self.groups),
            "regions": [STATE, COUNTY],
            "sizes": self.sizes,
            "root": "US",
            "person": PERSON if self.person else None,
            "quantity": QUANTITY if self.quantity else None,
            "max_records": self.max_records,
            "max_quantity": self.max_quantity,
            "hierarchy": self.hierarchy,
        }


def to_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})


def draw_people(generator: np.random.Generator, *, text: bool = False) -> People:
    """People in households in counties: several records each, duplicates, quantities beyond their bounds."""
    states = [str(name) for name in generator.choice(NAMES, 2, replace=False)]
    counties = [
        (state, f"county {n} of {state}") for state in states for n in range(int(generator.integers(1, 4)))
    ]
    households = [
        (f"h{number:03}" if text else number, counties[int(generator.integers(len(counties)))])
        for number in range(int(generator.integers(1, 25)))
    ]
    m, z = int(generator.integers(1, 4)), int(generator.integers(1, 4))
    records = []
    for person in range(int(generator.integers(1, 60))):
        for _ in range(int(generator.integers(1, 5))):
            household, (state, county) = households[int(generator.integers(len(households)))]
            row = {
                GROUP: household,
                PERSON: f"p{person}" if text else person,
                QUANTITY: int(generator.integers(-2, z + 3)),
                STATE: state,
                COUNTY: county,
            }
            records += [row] * int(generator.integers(1, 3))  # some of them twice
    generator.shuffle(records)
    has_person, has_frame = bool(generator.random() < 0.7), bool(generator.random() < 0.5)
    frame = [{GROUP: household, STATE: state, COUNTY: county} for household, (state, county) in households]
    hierarchy = tt.Hierarchy.from_paths(["nation", STATE, COUNTY], [("US", *county) for county in counties])
    low = int(generator.integers(0, 3))
    return People(
        records,
        sizes=(low, low + int(generator.integers(0, 8))),
        person=has_person,
        quantity=bool(generator.random() < 0.7),
        max_records=m if has_person else 1,
        max_quantity=z,
        frame=frame if has_frame else None,
        hierarchy=hierarchy if generator.random() < 0.5 else None,
    )


def count_slowly(people: People) -> dict[tuple[tuple[str, ...], int], int]:
    """Groups by leaf path and size: one record after the other."""
    of_person: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
    home: dict[Any, tuple[str, ...]] = {}
    size: dict[Any, int] = {}
    for group in people.frame or []:
        home[group[GROUP]] = ("US", group[STATE], group[COUNTY])
        size[group[GROUP]] = 0
    for number, record in enumerate(people.records):
        quantity = min(max(record[QUANTITY], 0), people.max_quantity) if people.quantity else 1
        of_person[record[PERSON] if people.person else number].append((record[GROUP], quantity))
        home[record[GROUP]] = ("US", record[STATE], record[COUNTY])
        size.setdefault(record[GROUP], 0)
    for person, records in of_person.items():
        records.sort(key=lambda record: (digest(person, record[0]), -record[1]))
        for group, quantity in records[: people.max_records]:
            size[group] += quantity
    low, high = get_ends(people.sizes)
    there = [group for group in size if people.frame is not None or size[group] > 0 or low == 0]
    return dict(Counter((home[group], min(max(size[group], low), high)) for group in there))


def digest(person: object, group: object) -> str:
    return hashlib.md5(f"{person}/{group}".encode()).hexdigest()


def as_cells(counts: tt.GroupCounts) -> dict[tuple[tuple[str, ...], int], int]:
    """The cells of counts that are not zero."""
    edges = list_edges(counts.sizes)
    return {
        (counts.hierarchy.leaves[leaf], edges[size]): int(counts.leaf[leaf, size])
        for leaf, size in zip(*np.nonzero(counts.leaf), strict=True)
    }
