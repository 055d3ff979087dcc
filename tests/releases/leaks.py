"""True counts that can be recognised wherever they turn up, and the search for them."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

import tallytree as tt

SIZES = (1, 4)
COUNTIES = [("US", state, f"{state}-{n}") for state in ("GA", "NY", "TX") for n in (1, 2)]
HIERARCHY = tt.Hierarchy.from_paths(["nation", "state", "county"], COUNTIES)

PERSON, HOUSEHOLD = "Persephone-{}-Quux", "House-of-{}-Xyzzy"
NAMES = ("Persephone", "Xyzzy")
"""In the names of people and of households."""


def _find_primes(count: int) -> list[int]:
    """Distinct primes of ten digits, far apart."""
    small = [p for p in range(2, 52_000) if all(p % q for q in range(2, int(p**0.5) + 1))]
    found: list[int] = []
    candidate = 1_234_567_891
    while len(found) < count:
        if all(candidate % p for p in small):
            found.append(candidate)
            candidate += 37_654_320
        candidate += 2
    return found


PRIMES = _find_primes(len(COUNTIES) * 4 + 8)
LEAF = np.array(PRIMES[: len(COUNTIES) * 4]).reshape(len(COUNTIES), 4)
QUANTITIES = PRIMES[len(COUNTIES) * 4 :]
"""Of records of people."""


def plant() -> tt.GroupCounts:
    return tt.GroupCounts(HIERARCHY, SIZES, LEAF)


def _list_secrets() -> list[int]:
    """All true answers but the total, which is public: the counts of every level, and their running sums."""
    counts = plant()
    levels = [counts.array(level) for level in HIERARCHY.levels]
    cells = {int(value) for values in levels for value in values.flat}
    sums = {int(value) for values in levels for value in np.cumsum(values, axis=1)[:, 1:-1].flat}
    return sorted((cells | sums | set(QUANTITIES)) - {counts.total})


SECRETS = _list_secrets()


def _list_patterns() -> dict[bytes, str]:
    patterns = {name.encode(code): name for name in NAMES for code in ("utf-8", "utf-16-le")}
    for number in SECRETS:
        texts = (f"{number}", f"{number:,}", f"{number:_}", f"{number:x}", f"{number:e}")
        patterns |= {text.encode(): f"{number} as text" for text in texts}
        codes = {"<q": "an integer", ">q": "a big-endian integer", "<d": "a float"}
        patterns |= {struct.pack(code, number): f"{number} as {what}" for code, what in codes.items()}
    return patterns


PATTERNS = _list_patterns()


def find_leaks(content: bytes | str) -> list[str]:
    """What of the planted data is in there."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    found = [what for pattern, what in PATTERNS.items() if pattern in data]
    if data[:4] == b"PAR1":
        found += _find_in_parquet(data)
    return found


def _find_in_parquet(data: bytes) -> list[str]:
    """Its columns, unpacked, and what is said about them."""
    table = pa_parquet.read_table(io.BytesIO(data))
    unpacked = [str(pa_parquet.read_metadata(io.BytesIO(data)).to_dict()), str(table.schema.metadata)]
    for column in table.columns:
        if pa.types.is_integer(column.type):
            unpacked.append(" ".join(map(str, column.to_pylist())))
        else:
            unpacked.append("\n".join(map(repr, column.unique().to_pylist())))
    return [leak for text in unpacked for leak in find_leaks(text)]


def find_leaks_below(folder: Path) -> list[str]:
    """What is in the names and the contents of the files in a folder."""
    leaks = []
    for path in sorted(folder.rglob("*")):
        found = find_leaks(str(path.relative_to(folder)))
        if path.is_file():
            found += find_leaks(path.read_bytes())
        leaks += [f"{path.name}: {leak}" for leak in found]
    return leaks


def make_people() -> pa.Table:
    """Records of people whose names and quantities can be recognised: two or three in each household."""
    rows = [
        (household, f"{household}-{n}", state, county, QUANTITIES[(household + n) % len(QUANTITIES)])
        for household in range(60)
        for _, state, county in [COUNTIES[household % len(COUNTIES)]]
        for n in range(2 + household % 2)
    ]
    return pa.table(
        {
            "household": [HOUSEHOLD.format(row[0]) for row in rows],
            "person": [PERSON.format(row[1]) for row in rows],
            "state": [row[2] for row in rows],
            "county": [row[3] for row in rows],
            "hours": [row[4] for row in rows],
        }
    )


def make_table(leaf: Iterable[Iterable[object]] = LEAF.tolist()) -> pa.Table:
    """The planted counts as a tidy table."""
    cells = [
        (path, size, value)
        for path, row in zip(COUNTIES, leaf, strict=True)
        for size, value in enumerate(row, 1)
    ]
    return pa.table(
        {
            "state": [path[1] for path, _, _ in cells],
            "county": [path[2] for path, _, _ in cells],
            "size": [size for _, size, _ in cells],
            "groups": [value for _, _, value in cells],
        }
    )
