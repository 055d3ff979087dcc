"""The paper's own algorithm, dynamic programming on cost tables, on the same instances."""

from dataclasses import dataclass, replace
from math import ceil

import tallytree as tt
from benchmarks.comparison import Contest, compare
from benchmarks.instances import make_instance
from benchmarks.memory import peak_memory
from tallytree.errors import MechanismError
from tallytree.research.reproduction.runs import Failure
from tallytree.solvers.tree.cost_tables import MOST_ENTRIES


@dataclass(frozen=True)
class TablesRun:
    """What the cost tables did with one instance."""

    sizes: int
    epsilon: str
    contest: Contest
    entries: int
    """Of one region and size."""
    objective: int
    doublings: int
    """How often the paper's domains had to be doubled."""
    peak: int

    @property
    def agrees(self) -> bool:
        """Both found a solution of the same cost."""
        return self.objective == self.contest.objective


def run_tables(sizes: int, epsilon: str, rounds: int) -> TablesRun | Failure:
    """To be called in a fresh process."""
    instance = make_instance(sizes, epsilon)
    with_tables = replace(instance, method=tt.mechanism("direct-dp", solver="tables"))
    try:
        contest, solution = compare(instance, with_tables.solve, rounds)
    except MechanismError as error:  # the domains were doubled beyond the limit
        return Failure(str(error))
    with_tables.check(solution)
    return TablesRun(
        sizes,
        epsilon,
        contest,
        entries=max(_entries(instance.measurements.plan)),
        objective=solution.objective,
        doublings=solution.effort["domain_doublings"],
        peak=peak_memory(),
    )


def most_sizes(epsilon: str) -> int:
    """How many sizes of the whole hierarchy the tables may have within their limit on entries."""
    plan = make_instance(1, epsilon).measurements.plan
    regions = [len(plan.hierarchy.regions(level)) for level in plan.hierarchy.levels]
    each_size = sum(n * entries for n, entries in zip(regions, _entries(plan), strict=True))
    return MOST_ENTRIES // each_size


def _entries(plan: tt.Plan) -> list[int]:
    """The paper's domains, level by level: n~ - delta to n~ + delta, delta = 3 ceil(2 lambda^2)."""
    return [2 * 3 * ceil(2 * level.scale**2) + 1 for level in plan.levels]
