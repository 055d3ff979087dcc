"""Research: how far a mechanism is from the truth. Never for sensitive data.

``simulate`` draws noise that can be repeated, and ``evaluate`` compares with the true counts, so what
they return is not private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.arrays import cut_rows, get_rows, get_shape, get_total
from tallytree.counts.group_counts import GroupCounts
from tallytree.errors import CountsError
from tallytree.hierarchy import Hierarchy
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import find_default, find_mechanism
from tallytree.privacy.budget import Budget, Exact
from tallytree.privacy.door import measure_with_seed
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import Protected, TotalKind
from tallytree.privacy.noise import SeededGaussianNoise, SeededNoise
from tallytree.progress import Progress, no_progress
from tallytree.releases.released import Released
from tallytree.sizes import Sizes, list_edges
from tallytree.solvers.checks import count_inconsistencies
from tallytree.solvers.solution import Solution

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Simulation:
    """One run of a mechanism with repeatable noise: not private, and not a release."""

    measurements: Measurements
    solution: Solution
    total: int

    @property
    def counts(self) -> Sequence[Ints]:
        """Regions x sizes for each level, root first."""
        return self.solution.counts

    @property
    def hierarchy(self) -> Hierarchy:
        """The regions."""
        return self.measurements.plan.hierarchy

    @property
    def sizes(self) -> Sizes:
        """The range of sizes."""
        return self.measurements.plan.sizes


def simulate(
    counts: GroupCounts,
    *,
    epsilon: Exact | None = None,
    mechanism: str | Mechanism | None = None,
    seed: int,
    budget: Mapping[str, Exact] | None = None,
    public_totals: str | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    total: TotalKind = "public",
    protect: Protected = "person",
    progress: Progress = no_progress,
) -> Simulation:
    """Run a mechanism with noise drawn from ``seed``. Not private: for data that is not sensitive.

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> simulate(counts, epsilon=1, mechanism="direct-dp", seed=7).counts[0].tolist()
    [[102, 54, 24]]
    """
    asked = Budget(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        split=budget,
        public_totals=public_totals,
        protect=protect,
        total=total,
    )
    return simulate_within(asked, counts, mechanism=mechanism, seed=seed, progress=progress)


def simulate_within(
    budget: Budget,
    counts: GroupCounts,
    *,
    mechanism: str | Mechanism | None,
    seed: int,
    progress: Progress = no_progress,
) -> Simulation:
    """Run a mechanism as :func:`simulate` does, with the budget as one value."""
    if not isinstance(counts, GroupCounts):
        raise CountsError("counts must be a tallytree.GroupCounts.")
    neighbours = budget.find_neighbours(counts.bounds)
    method = find_mechanism(find_default(neighbours, counts.sizes) if mechanism is None else mechanism)
    noise = SeededNoise(seed) if budget.delta is None else SeededGaussianNoise(seed)
    plan = method.plan_within(budget, counts.hierarchy, sizes=counts.sizes, bounds=counts.bounds)
    measurements = measure_with_seed(plan, counts, noise=noise, progress=progress)
    solution = method.postprocess(measurements, total=plan.hide_total(counts.total))
    made = counts.total if plan.has_public_total else get_total(solution.counts, 0)
    return Simulation(measurements, solution, made)


COLUMNS = ("level", "l1", "emd", "violations", "emd_above", "groups_off", "size_sum_off")


def evaluate(run: Simulation | Released, counts: GroupCounts) -> pa.Table:
    """Return the errors of a run, a row for each level. Reveals the truth: for data that is not sensitive.

    ``l1`` is the paper's error, the sum of ``|n^ - n|`` over regions and sizes; ``emd`` is the mean over the
    level's regions of the sum of ``|c^ - c|`` over sizes (how far groups were moved along the sizes);
    ``violations`` are the regions and sizes whose subregions do not add up to them. ``emd_above`` is like
    ``emd`` with the groups of at least each size, |x^ - x|, which a total that is not exact does not fill up.
    ``groups_off`` and ``size_sum_off`` are the mean errors of the regions' numbers of groups and sums of
    sizes (of classes: of their least sizes).

    >>> import tallytree as tt
    >>> regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    >>> counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    >>> run = simulate(counts, epsilon=1, mechanism="direct-dp", seed=7)
    >>> evaluate(run, counts).select(["level", "l1", "violations"]).to_pydict()
    {'level': ['nation', 'state'], 'l1': [12, 26], 'violations': [0, 0]}
    """
    if not isinstance(run, (Simulation, Released)):
        raise CountsError("run must be a tallytree.Simulation or a tallytree.Release.")
    if not isinstance(counts, GroupCounts):
        raise CountsError("counts must be a tallytree.GroupCounts.")
    if run.hierarchy != counts.hierarchy or run.sizes != counts.sizes:
        raise CountsError("The counts to compare with are on other regions or sizes than the run.")
    edges = np.array(list_edges(counts.sizes))
    rows: dict[str, list[str | int | float]] = {name: [] for name in COLUMNS}
    inconsistent = count_inconsistencies(run.hierarchy, run.counts)
    for index, level in enumerate(run.hierarchy.levels):
        off = moved = moved_above = groups = sums = 0
        shape = get_shape(run.counts, index)
        for start, stop in cut_rows(*shape):
            error = get_rows(run.counts, index, start, stop) - get_rows(counts.levels, index, start, stop)
            off += int(np.abs(error).sum())
            moved += int(np.abs(np.cumsum(error, axis=1)).sum())
            moved_above += int(np.abs(np.cumsum(error[:, ::-1], axis=1)).sum())
            groups += int(np.abs(error.sum(axis=1)).sum())
            sums += int(np.abs(error @ edges).sum())
        rows["level"].append(level)
        rows["l1"].append(off)
        rows["emd"].append(moved / shape[0])
        rows["violations"].append(inconsistent[index])
        rows["emd_above"].append(moved_above / shape[0])
        rows["groups_off"].append(groups / shape[0])
        rows["size_sum_off"].append(sums / shape[0])
    return pa.table(rows)
