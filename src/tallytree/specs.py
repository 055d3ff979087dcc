"""A release written down: what ``tallytree release`` takes as flags or as a ``release.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from tallytree.counts import GroupCounts
from tallytree.errors import SpecError, describe, name_choices, show
from tallytree.mechanisms.registry import DEFAULT
from tallytree.privacy.neighbours import Bounds
from tallytree.sizes import Sizes, check_sizes

PATHS = ("source", "out")
REQUIRED = ("source", "regions", "sizes", "epsilon", "out")


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec:
    """Everything that a release from a table of counts needs."""

    source: str
    """A CSV or Parquet file with a row for each leaf region and size."""
    regions: list[str]
    sizes: Sizes
    epsilon: str | int | Decimal
    out: str
    size: str = "size"
    groups: str = "groups"
    root: str = "all"
    root_level: str = "root"
    mechanism: str = DEFAULT
    budget: Mapping[str, str | int | Decimal] | None = None
    public_totals: str | None = None
    max_records: int = 1
    max_quantity: int = 1

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ReleaseSpec:
        """Check the names and types of what was given."""
        known = {f.name: f for f in fields(cls)}
        for name in values:
            if name not in known:
                raise SpecError(f"A release has no setting {show(name)}: {name_choices(name, known)}")
        for name in REQUIRED:
            if name not in values:
                raise SpecError(f"The setting {name!r} is missing.")
        checked = dict(values)
        for name in ("source", "out", "size", "groups", "root", "root_level", "mechanism", "public_totals"):
            if name in checked and not isinstance(checked[name], str):
                raise SpecError(f"The setting {name!r} must be text.")
        if not isinstance(checked["regions"], list):
            raise SpecError("The setting 'regions' must be a list of column names.")
        checked["sizes"] = parse_sizes(checked["sizes"])
        return cls(**checked)

    def read_counts(self) -> GroupCounts:
        """The counts of the source. Sensitive."""
        return GroupCounts.from_table(
            self.source,
            regions=self.regions,
            size=self.size,
            groups=self.groups,
            sizes=self.sizes,
            root=self.root,
            root_level=self.root_level,
            bounds=Bounds(max_records=self.max_records, max_quantity=self.max_quantity),
        )


def read_spec(path: Path) -> dict[str, Any]:
    """The settings of a ``release.toml``; its paths are relative to it. Decimals stay exact."""
    try:
        with path.open("rb") as file:
            values = tomllib.load(file, parse_float=Decimal)
    except FileNotFoundError:
        raise SpecError(f"There is no file {show(path, most=150)}.") from None
    except OSError as error:
        raise SpecError(f"The file {show(path, most=150)} cannot be read: {describe(error)}.") from None
    except (ValueError, RecursionError):
        raise SpecError(f"The file {show(path, most=150)} is not valid TOML.") from None
    for name in PATHS:
        if isinstance(values.get(name), str):
            values[name] = str(path.parent / values[name])
    return values


def parse_sizes(value: object) -> Sizes:
    """A range of sizes from ``"1:20"`` or ``[1, 20]``."""
    if not isinstance(value, str):
        return check_sizes(value)
    parts = value.split(":")
    if len(parts) != 2 or not all(part.strip().isdecimal() and len(part) < 19 for part in parts):
        raise SpecError(f"The sizes {show(value)} are not a range such as 1:20.")
    return check_sizes((int(parts[0]), int(parts[1])))


def parse_budget(text: str) -> dict[str, str]:
    """The levels' weights from ``"nation=1,state=2,county=7"``."""
    weights: dict[str, str] = {}
    for part in text.split(","):
        name, equals, weight = part.partition("=")
        if not equals or not name.strip() or name.strip() in weights:
            raise SpecError(f"The budget {show(text)} is not a list such as nation=1,state=2.")
        weights[name.strip()] = weight.strip()
    return weights
