"""The conditions of a release, checked: consistency, validity, faithfulness, and the budget's sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.arrays import add_children, cut_rows, get_cells, get_column, get_rows, get_shape
from tallytree.errors import show
from tallytree.hierarchy import Hierarchy
from tallytree.markup import BAD, GOOD, QUIET, Html, tag, write_box, write_table
from tallytree.privacy.neighbours import Neighbours
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import find_query
from tallytree.sizes import Sizes, name_size

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Check:
    """One condition: its statement, how many times it is violated, and an example."""

    name: str
    statement: str
    violations: int
    example: str = ""
    made: bool = True
    """Whether the check was made. If not, ``statement`` says why, and it neither passed nor failed."""

    @property
    def passed(self) -> bool:
        """Whether the check was made, and the condition holds everywhere."""
        return self.made and self.violations == 0

    @property
    def failed(self) -> bool:
        """Whether the check was made, and the condition is violated somewhere."""
        return self.made and self.violations > 0


def skip(name: str, why: str) -> Check:
    """Return a check that was not made, and why."""
    return Check(name, why, 0, made=False)


@dataclass(frozen=True)
class Verification:
    """The outcome of all checks."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check that was made failed."""
        return not any(check.failed for check in self.checks)

    @property
    def skipped(self) -> tuple[Check, ...]:
        """The checks that were not made."""
        return tuple(check for check in self.checks if not check.made)

    def __bool__(self) -> bool:
        return self.passed

    def describe(self) -> str:
        """Describe the outcome in a sentence, which says that all checks passed only if all were made.

        >>> Verification((Check("a", "it adds up", 0), skip("b", "not looked at"))).describe()
        'No check failed; 1 was not made.'
        """
        failed, skipped = sum(check.failed for check in self.checks), len(self.skipped)
        if failed:
            return f"{failed} of {len(self.checks)} checks FAILED."
        if skipped:
            return f"No check failed; {skipped} {'was' if skipped == 1 else 'were'} not made."
        return "All checks passed."

    def to_dict(self) -> dict[str, object]:
        """Return the outcome as a dictionary for JSON."""
        return {
            "passed": self.passed,
            "complete": not self.skipped,
            "checks": [{**asdict(check), "passed": check.passed} for check in self.checks],
        }

    def _repr_html_(self) -> str:
        rows = [[mark(check), tag("b", check.name), describe_check(check)] for check in self.checks]
        return write_box(write_outcome(self), write_table(["", "check", "what"], rows, left=3))


def verify_counts(
    hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints], total: int, *, is_public: bool = True
) -> tuple[Check, ...]:
    """Check the paper's conditions 2 to 4 on released counts (regions x sizes for each level)."""
    return (
        check_consistency(hierarchy, sizes, counts),
        check_validity(hierarchy, sizes, counts),
        check_faithfulness(hierarchy, counts, total, is_public=is_public),
    )


def check_consistency(hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints]) -> Check:
    """Check condition 2: for every region and size, the subregions' counts add up to the region's."""
    violations, example = 0, ""
    for level in range(len(hierarchy.levels)):
        for start, values, sums, wrong in _compare_with_subregions(hierarchy, counts, level):
            violations += int(wrong.sum())
            if wrong.any() and not example:
                region, size = _first(wrong)
                example = (
                    f"{_place(hierarchy, level, start + region)} has {values[region, size]} groups of size "
                    f"{name_size(sizes, size)}, its subregions {sums[region, size]}"
                )
    return Check("consistency", "subregions add up to their region", violations, example)


def count_inconsistencies(hierarchy: Hierarchy, counts: Sequence[Ints]) -> list[int]:
    """Count, for each level, the regions and sizes at which a region differs from its subregions' sum."""
    return [
        sum(int(wrong.sum()) for *_, wrong in _compare_with_subregions(hierarchy, counts, level))
        for level in range(len(hierarchy.levels))
    ]


def _compare_with_subregions(
    hierarchy: Hierarchy, counts: Sequence[Ints], level: int
) -> Iterator[tuple[int, Ints, Ints, npt.NDArray[np.bool_]]]:
    """Yield some regions of a level at a time: first index, counts, sums of subregions, where they differ."""
    if level + 1 == len(hierarchy.levels):
        return
    sums = add_children(counts, level + 1, hierarchy.parents(level + 1), hierarchy.region_counts[level])
    has_children = hierarchy.has_children(level)
    for start, stop in cut_rows(*get_shape(counts, level)):
        values = get_rows(counts, level, start, stop)
        wrong = (sums[start:stop] != values) & has_children[start:stop, None]
        yield start, values, sums[start:stop], wrong


def check_validity(hierarchy: Hierarchy, sizes: Sizes, counts: Sequence[Ints]) -> Check:
    """Check condition 3: all counts are whole numbers (by their type) and not negative."""
    violations, example = 0, ""
    for level in range(len(hierarchy.levels)):
        for start, stop in cut_rows(*get_shape(counts, level)):
            regions, columns, values = get_cells(counts, level, start, stop)
            wrong = np.flatnonzero(values < 0)
            violations += len(wrong)
            if len(wrong) and not example:
                region, size = int(regions[wrong[0]]), int(columns[wrong[0]])
                example = (
                    f"{_place(hierarchy, level, region)} has {values[wrong[0]]} groups of size "
                    f"{name_size(sizes, size)}"
                )
    return Check("validity", "all counts are whole and not negative", violations, example)


def check_faithfulness(
    hierarchy: Hierarchy, counts: Sequence[Ints], total: int, *, is_public: bool = True
) -> Check:
    """Check condition 4: every level, with the leaves above it, adds up to the total."""
    violations, example = 0, ""
    ended = 0  # groups in leaves above the level
    for level, name in enumerate(hierarchy.levels):
        is_leaf = ~hierarchy.has_children(level)
        found, leaves = ended, 0
        for start, stop in cut_rows(*get_shape(counts, level)):
            regions, _, values = get_cells(counts, level, start, stop)
            found += int(values.sum())
            leaves += int(values[is_leaf[regions]].sum())
        if found != total:
            violations += 1
            example = example or f"level {show(name)} has {found} groups, not {total}"
        ended += leaves
    kind = "public" if is_public else "released"
    return Check("faithfulness", f"every level adds up to the {kind} total", violations, example)


def check_budget(plan: Plan, epsilon: Fraction) -> Check:
    """Check that each level's noise fits its query and its part of the budget, and that the parts add up.

    A level may also have the noise of earlier versions, which did not cap the sensitivity by the range of
    sizes. That is more than needed, so the guarantee holds, and the check says so; less noise always fails.
    """
    unit, excess, wrong = plan.unit, False, []
    for index, level in enumerate(plan.levels):
        query, regions = find_query(level.query), plan.shape(index)[0]
        needed = unit.find_sensitivity(query, plan.neighbours, plan.sizes, regions)
        as_many_as_z_passes = (0, plan.bounds.max_quantity)
        uncapped = unit.find_sensitivity(query, Neighbours(bounds=plan.bounds), as_many_as_z_passes, regions)
        if plan.neighbours != Neighbours(bounds=plan.bounds):  # earlier versions had no other neighbours
            uncapped = needed
        if (
            level.unit != unit.name
            or level.loss <= 0
            or level.sensitivity not in (needed, uncapped)
            or level.scale != unit.find_scale(level.sensitivity, level.loss)
        ):
            wrong.append(f"level {show(level.name)} has the scale {level.scale}")
        excess = excess or level.sensitivity > needed
    if not wrong and plan.epsilon != epsilon:
        wrong.append(f"the levels' parts add up to {plan.epsilon}, not {epsilon}")
    statement = "noise fits sensitivity and budget at every level, and the parts add up to epsilon"
    if excess and not wrong:
        statement += (
            "; there is more noise than needed, since this release was planned before sensitivities were "
            "capped by the range of sizes"
        )
    return Check("budget", statement, len(wrong), wrong[0] if wrong else "")


def check_public_totals(plan: Plan, measured: Sequence[Ints], counts: Sequence[Ints]) -> Check:
    """Check that the counts add up to the regions' numbers of groups where these are public."""
    violations, example = 0, ""
    for level in range(len(plan.levels)):
        if not plan.has_public_totals(level):
            continue
        known, found = get_column(measured, level, -1), _sum_regions(counts, level)
        wrong = np.flatnonzero(known != found)
        violations += len(wrong)
        if len(wrong) and not example:
            place = _place(plan.hierarchy, level, int(wrong[0]))
            example = f"{place} has {found[wrong[0]]} groups, not {known[wrong[0]]}"
    return Check("region totals", "regions add up to their public numbers of groups", violations, example)


def _sum_regions(counts: Sequence[Ints], level: int) -> Ints:
    """Return each region's number of groups."""
    shape = get_shape(counts, level)
    return np.concatenate([get_rows(counts, level, *rows).sum(axis=1) for rows in cut_rows(*shape)])


def _first(wrong: npt.NDArray[np.bool_]) -> tuple[int, int]:
    region, size = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return int(region), int(size)


def _place(hierarchy: Hierarchy, level: int, region: int) -> str:
    return show(" > ".join(hierarchy.path(level, region)), most=120)


def write_outcome(verification: Verification) -> Html:
    """Write whether the release passed its checks, for notebooks."""
    if verification:
        return tag("span", verification.describe(), style=QUIET if verification.skipped else GOOD)
    words = verification.describe().removesuffix(".")
    return tag("b", f"{words}: do not rely on these counts.", style=BAD)


def mark(check: Check) -> Html:
    """Write the outcome of a check, for notebooks."""
    if not check.made:
        return tag("span", "not made", style=QUIET)
    return tag("span", "ok", style=GOOD) if check.passed else tag("b", "FAILED", style=BAD)


def describe_check(check: Check) -> str:
    """Describe what was checked, with an example of what is wrong."""
    return check.statement + (f" (for example: {check.example})" if check.example else "")
