"""Kuo et al.'s post-processing: fit each region, match and merge groups from the top, then add up."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_MEASURED
from tallytree.hierarchy import Hierarchy
from tallytree.kernels import kernel
from tallytree.solvers.isotonic import fit_isotonic_rows, fit_medians_rows
from tallytree.solvers.solution import Evidence, Solution, add_weighted_squares, weigh_levels
from tallytree.solvers.tree.tree_model import solve_tree_model

# Two estimates of the same groups, a region's and its subregions', matched by size and merged.
#
# A region's groups are stored as *runs*: a number of groups with one estimated size, and its precision. The
# precision of a size is taken as the number of groups that share it over the noise's squared scale: the
# number of groups of a size is a difference of two noisy counts, and an error in it is spread over them. A
# merged size is the mean of both by their precisions, and its precision is their sum.
#
# Matching in order of size is the cheapest way to pair the groups of a region with those of all its
# subregions. Where the region has fewer groups left at its smallest size than the subregions have at theirs,
# these are shared among the subregions in proportion, rounded one subregion after the other.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Runs(NamedTuple):
    """Groups of one region in order of size, as runs of the same size (counted from the least)."""

    groups: Ints
    weighted: Floats
    """Size times precision."""
    precision: Floats

    @property
    def size(self) -> Floats:
        """The estimated sizes: fractional until they are rounded in the leaves."""
        sizes: Floats = self.weighted / self.precision
        return sizes

    def count_sizes(self, sizes: int) -> Ints:
        """Count the groups by size, rounded half up."""
        counts = np.zeros(sizes, dtype=np.int64)
        np.add.at(counts, np.floor(self.size + 0.5).astype(np.int64), self.groups)
        return counts


def make_runs(counts: Ints, weight: int) -> Runs:
    """Make a region's own estimate: ``counts`` by size, with noise of inverse variance ``weight``."""
    (sizes,) = np.nonzero(counts)
    groups = counts[sizes]
    precision = (weight * groups).astype(np.float64)
    return Runs(groups, sizes * precision, precision)


def merge_children(parent: Runs, counts: Ints, weight: int) -> list[Runs]:
    """Return the children's runs (``counts``: children x sizes) after matching them with their parent's."""
    child, size, run, groups = _match(parent.groups, counts)
    own = (weight * counts[child, size]).astype(np.float64)
    weighted: Floats = parent.weighted[run] + own * size
    precision: Floats = parent.precision[run] + own
    order = np.lexsort((weighted / precision, child))
    ends = np.cumsum(np.bincount(child, minlength=len(counts)))
    return [Runs(groups[rows], weighted[rows], precision[rows]) for rows in np.split(order, ends[:-1])]


@kernel
def _match(parent: Ints, counts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Pair each (child, size) with the parent's runs; return the pairs and their numbers of groups.

    ``parent`` has the groups of each of its runs; the children have as many groups in all.
    """
    children, sizes = counts.shape
    most = np.count_nonzero(counts) + children * len(parent)  # a pair ends its cell, or a run for its child
    pairs = np.empty((4, most), dtype=np.int64)
    found = 0
    run, free = 0, 0
    if len(parent):
        free = parent[0]
    left = np.empty(children, dtype=np.int64)
    for s in range(sizes):
        left[:] = counts[:, s]
        wanted = left.sum()
        while wanted > 0:
            while free == 0:
                run += 1
                free = parent[run]
            given = min(free, wanted)
            free -= given
            todo, of = given, wanted  # groups still to assign, and groups that still need one
            for c in range(children):
                if left[c] > 0 and todo > 0:
                    share = np.int64(np.floor(np.float64(todo) * np.float64(left[c]) / of + 0.5))
                    share = max(min(share, left[c], todo), todo - (of - left[c]))
                    of -= left[c]
                    if share > 0:
                        pairs[0, found], pairs[1, found] = c, s
                        pairs[2, found], pairs[3, found] = run, share
                        found += 1
                    left[c] -= share
                    todo -= share
            wanted -= given
    return pairs[0, :found], pairs[1, :found], pairs[2, :found], pairs[3, :found]


def solve_count_of_counts(
    hierarchy: Hierarchy, values: Sequence[Ints], *, total: int, scales: Sequence[Fraction], norm: str
) -> Solution:
    """Find consistent counts; the objective is the sum of |c^ - c~| or of its squares, by ``norm``.

    The last entries of ``values`` are the regions' public numbers of groups. If they do not add up, because
    they are noisy after all, the nearest ones that do are used.
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
    """Fit each region's group counts to its own measurements: non-negative, adding up to its total."""
    fit = fit_medians_rows if norm == "l1" else fit_isotonic_rows
    cumulative = np.minimum(fit(noisy, 0, MAX_MEASURED), totals)
    cumulative[:, -1:] = totals
    return np.diff(cumulative, axis=1, prepend=0)


def _merge_from_the_top(hierarchy: Hierarchy, own: Sequence[Ints], weights: Sequence[int]) -> list[Ints]:
    """Return the leaves' counts in each level's array; zero where a region has subregions."""
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
    """Return the sum of |c^ - c~| or of its squares."""
    cumulative = [np.cumsum(level, axis=1) for level in counts]
    if norm == "l1":
        return Evidence(sum(int(np.abs(c - t).sum()) for c, t in zip(cumulative, values, strict=True)))
    return Evidence(add_weighted_squares(cumulative, values, np.ones(len(values), dtype=np.int64)))
