"""Kuo et al.'s post-processing: fits per region, groups matched and merged from the top, then sums."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.hierarchy import Hierarchy
from tallytree.limits import MAX_MEASURED
from tallytree.postprocess.isotonic import fit_isotonic_rows, fit_medians_rows
from tallytree.postprocess.matching import Runs, make_runs, merge_children
from tallytree.postprocess.objective import add_weighted_squares, weigh_levels
from tallytree.postprocess.solution import Evidence, Solution
from tallytree.postprocess.tree_model import solve_tree_model

Ints = npt.NDArray[np.int64]


def solve_count_of_counts(
    hierarchy: Hierarchy, values: Sequence[Ints], *, total: int, scales: Sequence[Fraction], norm: str
) -> Solution:
    """Consistent counts; the objective is the sum of |c^ - c~| or of its squares, by ``norm``.

    The last entries of ``values`` are the regions' public numbers of groups. If they do not add up, being
    noisy after all, the nearest ones that do are taken.
    """
    totals = solve_tree_model(hierarchy, [level[:, -1:] for level in values], total=total, scales=scales)
    own = [_fit(level, ends, norm) for level, ends in zip(values, totals.counts, strict=True)]
    counts = _merge_from_the_top(hierarchy, own, weigh_levels(scales).tolist())
    for level in reversed(range(1, len(counts))):
        np.add.at(counts[level - 1], hierarchy.parents(level), counts[level])
    return Solution(
        counts=counts,
        objective=assess_count_of_counts(values, counts, norm=norm).objective,
        certificate=None,
        solver="matching",
        effort={},
    )


def _fit(noisy: Ints, totals: Ints, norm: str) -> Ints:
    """Each region's group counts from its own measurements: non-negative, and as many as there are."""
    fit = fit_medians_rows if norm == "l1" else fit_isotonic_rows
    cumulative = np.minimum(fit(noisy, 0, MAX_MEASURED), totals)
    cumulative[:, -1:] = totals
    return np.diff(cumulative, axis=1, prepend=0)


def _merge_from_the_top(hierarchy: Hierarchy, own: Sequence[Ints], weights: Sequence[int]) -> list[Ints]:
    """The leaves' counts in each level's array; zero where a region has subregions."""
    sizes = own[0].shape[1]
    counts = [np.zeros_like(level) for level in own]
    above: list[Runs] = [make_runs(own[0][0], weights[0])]
    if len(own) == 1:
        counts[0][0] = above[0].count_sizes(sizes)
    for level in range(1, len(own)):
        children = np.argsort(hierarchy.parents(level), kind="stable")
        families = np.split(children, np.cumsum(np.bincount(hierarchy.parents(level), minlength=len(above))))
        has_children = hierarchy.has_children(level)
        here: list[Runs] = [above[0]] * len(children)
        for parent, family in zip(above, families, strict=False):
            if not len(family):
                continue
            for child, runs in zip(
                family.tolist(), merge_children(parent, own[level][family], weights[level]), strict=True
            ):
                here[child] = runs
                if not has_children[child]:
                    counts[level][child] = runs.count_sizes(sizes)
        above = here
    return counts


def assess_count_of_counts(values: Sequence[Ints], counts: Sequence[Ints], *, norm: str) -> Evidence:
    """The sum of |c^ - c~| or of its squares."""
    cumulative = [np.cumsum(level, axis=1) for level in counts]
    if norm == "l1":
        return Evidence(sum(int(np.abs(c - t).sum()) for c, t in zip(cumulative, values, strict=True)))
    return Evidence(add_weighted_squares(cumulative, values, np.ones(len(values), dtype=np.int64)))
