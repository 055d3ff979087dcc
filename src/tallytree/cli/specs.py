"""A count or a release written down: what the commands take as flags or as a ``release.toml``."""

from __future__ import annotations

import glob
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from tallytree.counts.engines.opening import is_address
from tallytree.counts.engines.session import Engine, EngineName
from tallytree.counts.engines.source_files import find_files, has_file_ending, share_files
from tallytree.counts.group_counts import GroupCounts
from tallytree.counts.region_tables import check_region_columns, check_root, read_hierarchy
from tallytree.errors import EngineError, SpecError, describe, name_choices, show
from tallytree.hierarchy import Hierarchy
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import Bounds, Protected, TotalKind, check_bounds
from tallytree.privacy.plan import Draft
from tallytree.progress import Progress
from tallytree.sizes import NAMED_CLASSES, SizeClasses, Sizes, check_sizes, is_whole_numeral
from tallytree.words import Words

if TYPE_CHECKING:
    from tallytree.publishing.pipeline import Order

PATHS = ("source", "out", "frame", "hierarchy", "spill_folder", "ledger")
LISTS = ("regions", "group")
NEEDED = {
    "source": ": the table to read",
    "regions": ": the columns that name the regions (--region), from the top region down",
    "sizes": ": the range of group sizes, such as 1:20, or classes",
    "out": ": where to write",
}
"""What the settings are that cannot be left out, for the message that says so."""
NOT_TEXT = (
    "sizes",
    "classes",
    "epsilon",
    "delta",
    "rho",
    "budget",
    "max_records",
    "max_quantity",
    "threads",
    "replicates",
    "keep_replicates",
    *LISTS,
)

ENGINE = ("engine", "master", "memory_limit", "spill_folder", "threads")
OF_PEOPLE = ("person", "quantity", "frame", "missing", "table", *ENGINE)
"""Settings for records of people, which need ``group``."""
OF_COUNTS = ("groups",)
"""Settings for a table of counts."""


@dataclass(frozen=True, kw_only=True)
class CountSpec:
    """Everything that counting the groups of people needs."""

    source: str
    """Files, or the URL of a database."""
    regions: list[str]
    sizes: Sizes
    out: str
    group: list[str] | None = None
    person: str | None = None
    quantity: str | None = None
    max_records: int | None = None
    max_quantity: int | None = None
    frame: str | None = None
    missing: str = "refuse"
    protect: str = "person"
    size: str | None = None
    """The sizes of groups: one for each row of a table of counts, or of groups."""
    hierarchy: str | None = None
    root: str = "all"
    root_level: str = "root"
    table: str | None = None
    engine: str = "duckdb"
    master: str | None = None
    memory_limit: str | None = None
    spill_folder: str | None = None
    threads: int | None = None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Make a spec from values, after checking their names and types."""
        known = {f.name: f for f in fields(cls)}
        for name in values:
            if name not in (*known, "classes"):
                raise SpecError(f"There is no setting {show(name)}: {name_choices(name, known)}")
        for name, field in known.items():
            if (
                field.default is MISSING
                and name not in values
                and (name, "classes" in values) != ("sizes", True)
            ):
                raise SpecError(f"The setting {name!r} is missing{NEEDED.get(name, '')}.")
        checked = dict(values)
        if isinstance(checked.get("group"), str):
            checked["group"] = [checked["group"]]
        for name, value in checked.items():
            if name in LISTS and not isinstance(value, list):
                raise SpecError(f"The setting {name!r} must be a list of column names.")
            if name == "keep_replicates" and not isinstance(value, bool):
                raise SpecError(f"The setting {name!r} must be true or false.")
            if name not in NOT_TEXT and not isinstance(value, str):
                raise SpecError(f"The setting {name!r} must be text.")
        checked["sizes"] = settle_sizes(checked.get("sizes"), checked.pop("classes", None))
        cls._refuse_strangers(checked)
        return cls(**checked)

    @classmethod
    def _refuse_strangers(cls, values: Mapping[str, Any]) -> None:
        if "group" not in values:
            raise SpecError("The setting 'group' is missing: the column that identifies the group.")

    def count(self, progress: Progress) -> GroupCounts:
        """Count the groups of the source. Sensitive."""
        from tallytree.counts.people import Missing, count_groups

        assert self.group is not None
        return count_groups(
            self.source,
            group=self.group,
            regions=self.regions,
            sizes=self.sizes,
            root=self.root,
            root_level=self.root_level,
            person=self.person,
            quantity=self.quantity,
            max_records=1 if self.max_records is None else self.max_records,
            max_quantity=self.max_quantity,
            frame=self.frame,
            missing=cast(Missing, self.missing),
            protect=cast(Protected, self.protect),
            size=self.size,
            hierarchy=self.read_hierarchy(),
            table=self.table,
            engine=Engine(
                name=cast(EngineName, self.engine),
                master=self.master,
                memory_limit=self.memory_limit,
                spill_folder=self.spill_folder,
                threads=self.threads,
            ),
            progress=progress,
        )

    @property
    def bounds(self) -> Bounds | None:
        """The bounds on a person, if they were given."""
        if self.max_records is None and self.max_quantity is None:
            return None
        return Bounds(
            max_records=1 if self.max_records is None else self.max_records,
            max_quantity=1 if self.max_quantity is None else self.max_quantity,
        )

    def read_hierarchy(self) -> Hierarchy | None:
        """Read the public regions, if there is a table of them."""
        if self.hierarchy is None:
            return None
        with suppress(EngineError):  # whoever reads the source says what is wrong with it
            if not is_address(self.source) and share_files(find_files(self.source).paths, [self.hierarchy]):
                raise SpecError(
                    "The table of regions is the source itself, but regions must be public: give a public "
                    "list of them, or none, and they are read from the source."
                )
        return read_hierarchy(
            self.hierarchy, regions=self.regions, root=self.root, root_level=self.root_level
        )


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec(CountSpec):
    """Everything that a release needs, from people or from a table of counts."""

    epsilon: str | int | Decimal | None = None
    delta: str | int | Decimal | None = None
    rho: str | int | Decimal | None = None
    groups: str = "groups"
    mechanism: str | None = None
    budget: Mapping[str, str | int | Decimal] | None = None
    public_totals: str | None = None
    total: str | None = None
    noise: str | None = None
    ledger: str | None = None
    dataset: str | None = None
    label: str | None = None
    owner: str | None = None
    title: str = ""
    group_name: str = "group"
    member_name: str = ""
    replicates: int | None = None
    """For the intervals; with 0 there are none."""
    keep_replicates: bool | None = None
    """Whether the folder keeps them: by default, unless they are large."""

    @classmethod
    def _refuse_strangers(cls, values: Mapping[str, Any]) -> None:
        if "epsilon" not in values and "rho" not in values:
            raise SpecError("The setting 'epsilon' is missing: the privacy budget.")
        people = "group" in values
        for name in OF_COUNTS if people else OF_PEOPLE:
            if name in values:
                other = "a table of counts: leave 'group' out" if people else "people: give 'group' as well"
                raise SpecError(f"The setting {name!r} belongs to {other}.")

    def settle(self) -> tuple[Order, Draft]:
        """Return how the release is to be made and what it will cost, before anything is counted.

        Settings that are wrong are refused here.
        """
        from tallytree.publishing.pipeline import Order

        check_region_columns(self.regions)
        check_root(self.root, self.root_level)
        budget = Budget(
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            split=self.budget,
            public_totals=self.public_totals,
            protect=cast(Protected, self.protect),
            total=cast(TotalKind, self.total),
        )
        words = Words(group=self.group_name, member=self.member_name, title=self.title)
        facts: dict[str, Any] = {"sizes": self.sizes, "bounds": check_bounds(self.bounds)}
        order = Order.of(budget, mechanism=self.mechanism, noise=self.noise, words=words, **facts)
        return order, order.draft([self.root_level, *self.regions], **facts)

    def count(self, progress: Progress) -> GroupCounts:
        """Read the counts of the source, or count its people. Sensitive."""
        if self.group is not None:
            return super().count(progress)
        return GroupCounts.from_table(
            self.source,
            regions=self.regions,
            size="size" if self.size is None else self.size,
            groups=self.groups,
            sizes=self.sizes,
            root=self.root,
            root_level=self.root_level,
            hierarchy=self.read_hierarchy(),
            bounds=self.bounds,
        )


def read_spec(path: Path) -> dict[str, Any]:
    """Read the settings of a ``release.toml``; its paths are relative to it. Decimals stay exact."""
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
        text = values.get(name)
        # A URL stays as it is; with one, a frame is a table of the database unless it is named like a file.
        names_table = (
            name == "frame" and "table" in values and isinstance(text, str) and not has_file_ending(text)
        )
        if isinstance(text, str) and not is_address(text) and not names_table:
            values[name] = _join(path.parent, text)
    return values


def _join(folder: Path, text: str) -> str:
    """A path or a glob below a folder, whose own name is not a glob."""
    pattern = glob.has_magic(text) and not os.path.lexists(folder / text)
    return str(Path(glob.escape(str(folder))) / text if pattern else folder / text)


def settle_sizes(sizes: object, classes: object) -> Sizes:
    """Parse what groups are counted in: a range of sizes or classes, of which the other is None."""
    if classes is None:
        return parse_sizes(sizes)
    if sizes is not None:
        raise SpecError("Give 'sizes' or 'classes', not both.")
    return parse_classes(classes)


def parse_sizes(value: object) -> Sizes:
    """Parse a range of sizes from ``"1:20"`` or ``[1, 20]``."""
    if not isinstance(value, str):
        return check_sizes(value)
    parts = value.split(":")
    if len(parts) != 2 or not all(is_whole_numeral(part.strip()) and len(part) < 19 for part in parts):
        raise SpecError(f"The sizes {show(value)} are not a range such as 1:20.")
    return check_sizes((int(parts[0]), int(parts[1])))


def parse_classes(value: object) -> SizeClasses:
    """Parse classes from ``"1,5,10"``, ``[1, 5, 10]`` or a name such as ``"us-cbp"``."""
    if not isinstance(value, str) or value in NAMED_CLASSES:
        return SizeClasses(cast(Any, value))
    parts = [part.strip() for part in value.split(",")]
    if not all(is_whole_numeral(part) and len(part) < 19 for part in parts):
        raise SpecError(
            f"The classes {show(value)} are neither the least sizes of classes, such as 1,5,10, nor one of "
            f"{', '.join(NAMED_CLASSES)}."
        )
    return SizeClasses([int(part) for part in parts])


def parse_budget(text: str) -> dict[str, str]:
    """Parse the levels' weights from ``"nation=1,state=2,county=7"``."""
    weights: dict[str, str] = {}
    for part in text.split(","):
        name, equals, weight = part.partition("=")
        if not equals or not name.strip() or name.strip() in weights:
            raise SpecError(f"The budget {show(text)} is not a list such as nation=1,state=2.")
        weights[name.strip()] = weight.strip()
    return weights
