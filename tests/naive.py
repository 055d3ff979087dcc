"""Slow, obvious twins of everything fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

import tallytree as tt
from tests.instances import Instance

Ints = npt.NDArray[np.int64]


def sum_up(hierarchy: tt.Hierarchy, leaf: Ints) -> list[Ints]:
    """Every level's counts from the leaves', by looking at the paths."""
    return [
        np.array(
            [
                sum(
                    (row for path, row in zip(hierarchy.leaves, leaf, strict=True) if path[: len(r)] == r),
                    start=np.zeros(leaf.shape[1], dtype=np.int64),
                )
                for r in hierarchy.regions(level)
            ]
        )
        for level in range(len(hierarchy.levels))
    ]


def leaf_counts(hierarchy: tt.Hierarchy, counts: Sequence[Ints]) -> Ints:
    """The leaves' rows of per-level counts, in the order of ``hierarchy.leaves``."""
    return np.array(
        [counts[len(path) - 1][hierarchy.regions(len(path) - 1).index(path)] for path in hierarchy.leaves]
    )


def check_feasible(hierarchy: tt.Hierarchy, counts: Sequence[Ints], total: int) -> None:
    """Check that the leaves add up to every level and to the total, and that none is negative."""
    leaf = leaf_counts(hierarchy, counts)
    for found, expected in zip(counts, sum_up(hierarchy, leaf), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert leaf.min() >= 0
    assert leaf.sum() == total


def objective(instance: Instance, counts: Sequence[Ints]) -> int:
    """(H1) with level weights, term by term."""
    return sum(
        weight * (int(n) - int(t)) ** 2
        for weight, found, noisy in zip(instance.weights, counts, instance.noisy.values, strict=True)
        for n, t in zip(found.flat, noisy.flat, strict=True)
    )


def exchanges(leaf: Ints) -> Iterator[Ints]:
    """Every feasible point that differs by one group moved from one leaf cell to another."""
    cells = list(np.ndindex(*leaf.shape))
    for source in cells:
        for target in cells:
            if source != target and leaf[source] > 0:
                moved = leaf.copy()
                moved[source] -= 1
                moved[target] += 1
                yield moved


def some_exchange_pays(instance: Instance, leaf: Ints) -> bool:
    """Whether any single exchange lowers the objective."""
    here = objective(instance, sum_up(instance.hierarchy, leaf))
    return any(objective(instance, sum_up(instance.hierarchy, moved)) < here for moved in exchanges(leaf))


def fill(noisy: Ints, total: int) -> Ints:
    """Hand out the groups one by one, each where it costs least."""
    counts = np.zeros_like(noisy)
    for _ in range(total):
        counts[np.argmin(counts - noisy)] += 1
    return counts


def solve_by_flow(instance: Instance, *, window: int) -> int:
    """The optimum of Model M_H by min-cost flow, each count within ``window`` of the centre.

    Groups flow from the total through the regions to the leaves; the k-th group through a node costs
    w (2k - 1 - 2 n~), which grows with k, so that arcs of capacity one are filled in order. The caller
    chooses a window that holds the optimum.
    """
    hierarchy, values = instance.hierarchy, instance.noisy.values
    flow = SimpleMinCostFlow()
    supply: dict[int, int] = {}
    source, sink, fixed = 0, 1, 0
    sizes = values[0].shape[1]
    depth = len(hierarchy.levels)
    number = {
        (level, region, size): 2 + i
        for i, (level, region, size) in enumerate(
            (level, region, size)
            for level in range(depth)
            for region in range(len(hierarchy.regions(level)))
            for size in range(sizes)
        )
    }
    supply[source] = instance.total
    for (level, region, size), node in number.items():
        weight, t = instance.weights[level], int(values[level][region, size])
        at = int(instance.centre[level][region, size])
        low = max(0, at - window)
        fixed += weight * (low - t) ** 2
        parent = source if level == 0 else number[level - 1, int(hierarchy.parents(level)[region]), size]
        inner = bool(hierarchy.has_children(level)[region])
        target = node if inner else sink
        for k in range(low + 1, at + window + 1):
            flow.add_arc_with_capacity_and_unit_cost(parent, target, 1, weight * (2 * k - 1 - 2 * t))
        # ``low`` groups flow in any case: they leave the parent and arrive at the target.
        supply[parent] = supply.get(parent, 0) - low
        supply[target] = supply.get(target, 0) + low
    supply[sink] = supply.get(sink, 0) - instance.total
    for node, amount in supply.items():
        flow.set_node_supply(node, amount)
    assert flow.solve() == flow.OPTIMAL
    return fixed + flow.optimal_cost()


def fit_isotonic(sums: list[int], weights: list[int], low: int, high: int) -> list[int]:
    """The weighted isotonic fit, rounded half up, in Python's own numbers: point i has mean sum / weight."""
    blocks: list[tuple[int, int, int]] = []  # sum, weight, length
    for point_sum, point_weight in zip(sums, weights, strict=True):
        block = (point_sum, point_weight, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    fitted: list[int] = []
    for total, weight, length in blocks:
        fitted += [min(max((2 * total + weight) // (2 * weight), low), high)] * length
    return fitted


def fit_chain(
    hierarchy: tt.Hierarchy, noisy: list[Ints], weights: list[int], total: int
) -> tuple[list[Ints], int]:
    """The optimum of (C6) - (C10) in Python's own numbers: the counts and the objective.

    The leaves in post-order are those whose paths, by the places of their regions, are in order.
    """
    places = [{path: i for i, path in enumerate(hierarchy.regions(i))} for i in range(len(weights))]

    def order(path: tuple[str, ...]) -> list[int]:
        return [places[depth][path[: depth + 1]] for depth in range(len(path))]

    leaves = sorted(hierarchy.leaves, key=order)
    sizes = noisy[0].shape[1]
    last = [
        [max(i for i, leaf in enumerate(leaves) if leaf[: len(r)] == r) for r in hierarchy.regions(level)]
        for level in range(len(weights))
    ]
    sums, masses = [0] * (len(leaves) * sizes), [0] * (len(leaves) * sizes)
    nodes = [
        (size * len(leaves) + end, weights[level], int(noisy[level][region, size]))
        for level in range(len(weights))
        for region, end in enumerate(last[level])
        for size in range(sizes)
    ]
    for point, weight, value in nodes:
        sums[point] += weight * value
        masses[point] += weight
    chain = [*fit_isotonic(sums[:-1], masses[:-1], 0, total), total]
    steps = np.diff(chain, prepend=0).reshape(sizes, len(leaves)).T
    by_leaf = dict(zip(leaves, steps, strict=True))
    objective = sum(weight * (chain[point] - value) ** 2 for point, weight, value in nodes)
    return sum_up(hierarchy, np.array([by_leaf[leaf] for leaf in hierarchy.leaves])), objective
