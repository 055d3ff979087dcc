"""The comparison itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tallytree.arrays import cut_rows, get_rows, get_shape, get_total, take_rows
from tallytree.comparison.differences import Alone, Comparison, Difference, LevelComparison, Noise, Verdict
from tallytree.comparison.sides import Side, open_sides
from tallytree.counts.arrow import Table
from tallytree.errors import CountsError, HierarchyError, ViewError, name_choices, show
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.plan import LevelPlan
from tallytree.releases.released import Released
from tallytree.sizes import SizeClasses, Sizes, find_whole, get_ends, list_edges, show_sizes

# Whether noise alone explains how far apart two releases are.
#
# Released counts are smoothed in ways that differ from place to place. Both releases also hold the noisy
# answers that they were made from, and there the noise is known exactly: if A and B are of the same data,
# their answers differ by the difference of two independent draws. Two statistics are computed over all
# answers of a level: the mean square of the differences, which has a known mean and variance, and the
# largest difference, for which Chernoff's bound says how far it reaches.

Ints = npt.NDArray[np.int64]

MOST_DEVIATIONS = 5.0
"""How many standard deviations the mean square may be from its mean. By Cantelli's inequality, noise alone
goes further at most once in 26 times, however few the answers are; with hundreds, practically never."""
RARE = 0.001
"""How often noise alone may go beyond the reach, in one comparison of a level."""


def explain_no_verdict(a: Measurements | None, b: Measurements | None, level: int) -> str | None:
    """Return why differences cannot be told from noise at a level; None if they can."""
    if a is None or b is None:
        return "The noise of a published table is unknown, so differences cannot be told from noise."
    if a.plan.sizes != b.plan.sizes:
        return "A and B were measured on different sizes, so differences cannot be told from noise."
    queries = {each.plan.levels[level].query for each in (a, b)}
    # The chain's answers are running numbers over all regions.
    if len(queries) > 1 or (queries == {"chain"} and a.plan.hierarchy != b.plan.hierarchy):
        return "A and B were measured by different queries, so differences cannot be told from noise."
    return None


def judge(a: Measurements | None, b: Measurements | None, level: int, match: Ints) -> Noise | None:
    """Compare the answers of the regions that both have; None if they cannot be compared.

    ``match`` is the index in B of each region of A, or -1.
    """
    if a is None or b is None or explain_no_verdict(a, b, level):
        return None
    plans = a.plan, b.plan
    # Public numbers of groups are measured without noise, in the last column.
    known = any(plan.has_public_totals(level) for plan in plans)
    answers, squares, largest = 0, 0.0, 0
    for start, stop in cut_rows(*get_shape(a.values, level)):
        here = np.flatnonzero(match[start:stop] >= 0)
        rows = get_rows(a.values, level, start, stop)[here]
        others = take_rows(b.values, level, match[start:stop][here])
        apart = (rows - others)[:, : -1 if known else None]
        answers += apart.size
        squares += float((apart.astype(np.float64) ** 2).sum())
        largest = max(largest, int(np.abs(apart).max(initial=0)))
    if not answers:
        return None
    levels = [plan.levels[level] for plan in plans]
    variance = sum(find_cumulants(each)[0] for each in levels)
    spread = math.sqrt((sum(find_cumulants(each)[1] for each in levels) + 2 * variance**2) / answers)
    reach = find_reach(levels, answers)
    verdict: Verdict = "explained"
    if largest > reach or squares / answers > variance + MOST_DEVIATIONS * spread:
        verdict = "more"
    elif squares / answers < variance - MOST_DEVIATIONS * spread:
        verdict = "less"
    return Noise(answers, math.sqrt(squares / answers), math.sqrt(variance), largest, reach, verdict)


def find_cumulants(level: LevelPlan) -> tuple[float, float]:
    """Return the variance of a level's noise, and its fourth cumulant.

    Two-sided geometric noise is the difference of two geometric variables, whose cumulants are q / p^2 and
    q (1 + 4q + q^2) / p^4 with q = exp(-1 / scale) and p = 1 - q. A discrete Gaussian variable has a variance
    of at most sigma^2, and practically no fourth cumulant.
    """
    scale = float(level.scale)
    if level.unit == "rho":
        return scale**2, 0.0
    q, p = math.exp(-1 / scale), -math.expm1(-1 / scale)
    return 2 * q / p**2, 2 * q * (1 + 4 * q + q**2) / p**4


def find_reach(levels: list[LevelPlan], answers: int) -> int:
    """Return what the largest of so many differences exceeds with probability at most :data:`RARE`.

    Chernoff: P(|X - Y| > x) <= 2 M(t) exp(-t x) for any t, M the product of the two generating functions.
    """
    widest = max(float(level.scale) for level in levels)
    needed = math.log(2 * answers / RARE)
    # From t = 1 / scale on, geometric noise has no M; Gaussian noise has, and its best t lies there.
    most = 1.0 if all(level.unit == "epsilon" for level in levels) else math.sqrt(2 * needed)
    steps = [most * step / 1000 / widest for step in range(1, 1000)]
    bounds = [(sum(_find_log_moment(level, t) for level in levels) + needed) / t for t in steps]
    return math.floor(min(bounds))


def _find_log_moment(level: LevelPlan, t: float) -> float:
    """The logarithm of E exp(t X): ((1 - q)^2 / ((1 - q e^t) (1 - q e^-t)), or at most (sigma t)^2 / 2."""
    scale = float(level.scale)
    if level.unit == "rho":
        return (scale * t) ** 2 / 2
    if t * scale >= 1:
        return math.inf
    p = -math.expm1(-1 / scale)
    return 2 * math.log(p) - math.log(-math.expm1(t - 1 / scale)) - math.log(-math.expm1(-t - 1 / scale))


# Where the regions and sizes of A are in B.


def share_levels(a: Side, b: Side) -> tuple[str, ...]:
    """Return the levels that both have, from the root on."""
    shared = []
    for one, other in zip(a.hierarchy.levels, b.hierarchy.levels, strict=False):
        if one != other:
            break
        shared.append(one)
    if not shared:
        names = " and ".join(show(side.hierarchy.levels[0]) for side in (a, b))
        raise HierarchyError(f"A and B have no level in common: their roots' levels are {names}.")
    roots = [side.hierarchy.path(0, 0)[0] for side in (a, b)]
    if roots[0] != roots[1]:
        raise HierarchyError(
            f"A and B have no region in common: their roots are {show(roots[0])} and {show(roots[1])}."
        )
    return tuple(shared)


def share_sizes(a: Side, b: Side) -> Sizes:
    """Return the range of sizes that both have. Sizes outside it count at its ends, as in any release."""
    if isinstance(a.sizes, SizeClasses) or isinstance(b.sizes, SizeClasses):
        if a.sizes != b.sizes:
            raise CountsError("A and B have different classes of sizes, which cannot be compared.")
        return a.sizes
    low, high = max(a.sizes[0], b.sizes[0]), min(a.sizes[1], b.sizes[1])
    if low > high:
        raise CountsError(
            f"A and B have no size in common: A has {show_sizes(a.sizes)}, B {show_sizes(b.sizes)}."
        )
    return low, high


def match_regions(a: Side, b: Side, levels: int) -> list[Ints]:
    """Return for each of the first levels the index in B of each region of A; -1 if B does not have it."""
    if a.hierarchy == b.hierarchy:
        return [np.arange(regions) for regions in a.hierarchy.region_counts[:levels]]
    found = [np.zeros(1, dtype=np.int64)]  # the roots
    for level in range(1, levels):
        parents = found[-1][a.hierarchy.parents(level)]
        found.append(b.hierarchy.find_children(level, parents, a.hierarchy.names(level)))
    return found


def pair_rows(a: Side, b: Side, level: int, match: Ints, sizes: Sizes) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield the regions that both have, a few at a time: their indices in A, and both sides' counts."""
    for start, stop in cut_rows(*get_shape(a.counts, level)):
        here = np.flatnonzero(match[start:stop] >= 0)
        rows = get_rows(a.counts, level, start, stop)[here]
        others = take_rows(b.counts, level, match[start:stop][here]).astype(np.int64, copy=False)
        yield here + start, fold(rows, a.sizes, sizes), fold(others, b.sizes, sizes)


def fold(rows: Ints, sizes: Sizes, into: Sizes) -> Ints:
    """Return rows for a range of sizes within their own; counts outside it are added at its ends."""
    if sizes == into:
        return rows
    lowest, (low, high) = get_ends(sizes)[0], get_ends(into)
    start, stop = low - lowest, high - lowest + 1
    folded = rows[:, start:stop].copy()
    folded[:, 0] += rows[:, :start].sum(axis=1)
    folded[:, -1] += rows[:, stop:].sum(axis=1)
    return folded


EXAMPLES = 3
"""How many regions of one side alone are named."""


def compare(
    a: Released | Table,
    b: Released | Table,
    *,
    level: str | None = None,
    top: int = 5,
    size: str = "size",
    groups: str = "groups",
) -> Comparison:
    """Compare two releases, or a release and a published table (never a table of true counts).

    Each is a :class:`~tallytree.Release` or the path of its folder, or a table or the path of its CSV or
    Parquet file, with the release's region columns and the columns ``size`` and ``groups``. Levels are
    compared from the root down for as long as both have them, or only ``level``; of each, the ``top`` largest
    differences are kept.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> made = tt.release(counts, epsilon=1)
    >>> [(level.level, level.l1) for level in compare(made, made).levels]
    [('nation', 0), ('state', 0)]
    """
    most = find_whole(top)
    if most is None or most < 0:
        raise ViewError("The number of largest differences must be a whole number, 0 or more.")
    first, second = open_sides(a, b, size=size, groups=groups)
    shared = share_levels(first, second)
    if level is not None and level not in shared:
        raise HierarchyError(f"A and B do not both have a level {show(level)}: {name_choices(level, shared)}")
    sizes = share_sizes(first, second)
    matches = match_regions(first, second, len(shared))
    wanted = [index for index, name in enumerate(shared) if level in (None, name)]
    return Comparison(
        sizes,
        tuple(_compare_level(first, second, index, matches[index], sizes, top) for index in wanted),
        tuple(_note(first, second, shared, wanted, sizes)),
    )


def _compare_level(a: Side, b: Side, level: int, match: Ints, sizes: Sizes, top: int) -> LevelComparison:
    edges = list_edges(sizes)
    l1 = moved = cells = differing = 0
    largest: list[Difference] = []
    for regions, rows, others in pair_rows(a, b, level, match, sizes):
        apart = others - rows
        l1 += int(np.abs(apart).sum())
        moved += int(np.abs(np.cumsum(apart, axis=1)).sum())
        cells += int(((rows != 0) | (others != 0)).sum())
        differing += int((apart != 0).sum())
        found = [
            Difference(
                a.hierarchy.path(level, int(regions[row])),
                edges[column],
                int(rows[row, column]),
                int(others[row, column]),
            )
            for row, column in _find_largest(apart, top)
        ]
        # Sorting keeps the order of equal ones: those that come first stay first.
        largest = sorted([*largest, *found], key=lambda each: -abs(each.difference))[:top]
    both = int((match >= 0).sum())
    noise = judge(a.measurements, b.measurements, level, match)
    return LevelComparison(
        level=a.hierarchy.levels[level],
        regions=both,
        only_in_a=_describe_alone(a, level, np.flatnonzero(match < 0)),
        only_in_b=_describe_alone(
            b, level, np.setdiff1d(np.arange(b.hierarchy.region_counts[level]), match[match >= 0])
        ),
        total_a=get_total(a.counts, level),
        total_b=get_total(b.counts, level),
        l1=l1,
        emd=moved / both if both else 0.0,
        cells=cells,
        differing=differing,
        largest=tuple(largest),
        noise=noise,
    )


def _find_largest(apart: Ints, top: int) -> list[tuple[int, int]]:
    """The cells of the largest differences that are not zero; of equal ones, the first."""
    flat = np.abs(apart).reshape(-1)
    top = min(top, int(np.count_nonzero(flat)))
    if not top:
        return []
    least = np.partition(flat, len(flat) - top)[len(flat) - top]
    above = np.flatnonzero(flat > least)
    chosen = np.sort(np.concatenate([above, np.flatnonzero(flat == least)[: top - len(above)]]))
    return [(int(place) // apart.shape[1], int(place) % apart.shape[1]) for place in chosen]


def _describe_alone(side: Side, level: int, regions: Ints) -> Alone:
    parts = cut_rows(len(regions), get_shape(side.counts, level)[1])
    groups = sum(int(take_rows(side.counts, level, regions[a:b]).sum(dtype=np.int64)) for a, b in parts)
    examples = [side.hierarchy.path(level, int(region)) for region in regions[:EXAMPLES]]
    return Alone(len(regions), groups, tuple(examples))


def _note(a: Side, b: Side, shared: tuple[str, ...], wanted: list[int], sizes: Sizes) -> list[str]:
    notes = [*a.notes, *b.notes]
    for name, side in (("A", a), ("B", b)):
        more = side.hierarchy.levels[len(shared) :]
        if more:
            notes.append(f"Only {name} has the level{'s'[: len(more) > 1]} {', '.join(map(show, more))}.")
        if side.sizes != sizes:
            notes.append(
                f"{name} has sizes {show_sizes(side.sizes)}; those outside {show_sizes(sizes)} are counted "
                "at the ends."
            )
    reasons = [explain_no_verdict(a.measurements, b.measurements, level) for level in wanted]
    return notes + list(dict.fromkeys(reason for reason in reasons if reason))
