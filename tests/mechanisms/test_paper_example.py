"""The paper's running example, number by number (its Tables 1 to 3 and the cost tables).

The paper's text says that the GA groups of size 1 are A and B; by its own Table 2 they are B and C.
"""

import numpy as np
import pytest

import tallytree as tt
from tallytree.solvers.tree.cost_tables import CostTable, add_costs, merge_tables, own_costs

# Table 1: user, unit, region; every quantity is 1.
PEOPLE = [
    ("01", "A", "GA"), ("02", "B", "GA"), ("03", "A", "GA"), ("04", "A", "GA"), ("05", "C", "GA"),
    ("06", "D", "NY"), ("07", "E", "NY"), ("08", "D", "NY"), ("09", "D", "NY"), ("10", "F", "NY"),
    ("11", "F", "NY"),
]  # fmt: skip


@pytest.fixture
def hierarchy() -> tt.Hierarchy:
    return tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])


@pytest.fixture
def counts(hierarchy: tt.Hierarchy) -> tt.GroupCounts:
    leaf = np.zeros((2, 5), dtype=np.int64)
    sizes = {unit: sum(u == unit for _, u, _ in PEOPLE) for _, unit, _ in PEOPLE}
    for unit, region in {(unit, region) for _, unit, region in PEOPLE}:
        leaf[["GA", "NY"].index(region), sizes[unit] - 1] += 1
    return tt.GroupCounts(hierarchy, sizes=(1, 5), leaf=leaf)


def test_table_2_the_sizes_of_the_groups() -> None:
    sizes = {unit: sum(u == unit for _, u, _ in PEOPLE) for _, unit, _ in PEOPLE}
    assert sizes == {"A": 3, "B": 1, "C": 1, "D": 3, "E": 1, "F": 2}
    assert [u for u, size in sizes.items() if size == 1 and u in "ABC"] == ["B", "C"]


def test_table_3_the_group_sizes_of_each_region(counts: tt.GroupCounts) -> None:
    assert counts.array("state").tolist() == [[2, 0, 1, 0, 0], [1, 1, 1, 0, 0]]
    assert counts.array("nation").tolist() == [[3, 1, 2, 0, 0]]
    assert counts.total == 6


def test_the_noise_of_equation_geom_q(hierarchy: tt.Hierarchy) -> None:
    plan = tt.mechanism("direct-dp").plan(hierarchy, sizes=(1, 5), epsilon="1")
    assert [level.scale for level in plan.levels] == [4, 4]  # 2L / epsilon, L = 2


# Table "Tdp": groups of size 1, with the noisy counts 3 (GA), 0 (NY) and 2 (US).
NY = own_costs(noisy=0, weight=1, delta=4)


def ga(high: int) -> CostTable:
    return CostTable(0, (np.arange(high + 1) - 3) ** 2)


def test_the_leaves_cost_tables() -> None:
    assert ga(4).costs.tolist() == [9, 4, 1, 0, 1]
    assert (NY.low, NY.costs.tolist()) == (0, [0, 1, 4, 9, 16])


def test_the_cost_table_of_the_nation() -> None:
    merged = merge_tables([NY, ga(5)])
    own = own_costs(noisy=2, weight=1, delta=3)
    assert own.costs[:5].tolist() == [4, 1, 0, 1, 4]
    # phi: min(9+0); min(9+1, 4+0); min(9+4, 4+1, 1+0); ...
    assert merged.table.costs[:6].tolist() == [9, 4, 1, 0, 1, 2]
    table = add_costs(own, merged.table)
    assert table is not None
    assert table.costs[:6].tolist() == [4 + 9, 1 + 4, 0 + 1, 1 + 0, 4 + 1, 9 + 2]


def test_the_values_that_the_top_down_phase_selects() -> None:
    merged = merge_tables([NY, ga(5)])
    assert merged.split(3).tolist() == [0, 3]  # the starred entries


def test_the_merge_takes_the_smallest_slope_next() -> None:
    merged = merge_tables([NY, ga(5)])
    assert merged.start.tolist() == [0, 3]  # v^0 = (0, 3)
    assert merged.up[:5].tolist() == [0, 1, 0, 1, 0]  # v^+ = (NY, GA, NY, GA, NY)
    assert merged.split(4).tolist() == [1, 3]  # v^1
    assert merged.split(5).tolist() == [1, 4]  # v^2


@pytest.mark.parametrize("solver", ["projection", "tables"])
def test_the_optimum_for_groups_of_size_1(hierarchy: tt.Hierarchy, solver: str) -> None:
    """The subtree of size 1 alone, asked for the three groups that the paper's stars select."""
    mechanism = tt.mechanism("direct-dp", solver=solver)
    plan = mechanism.plan(hierarchy, sizes=(1, 1), epsilon="1")
    noisy = tt.Measurements(plan, [np.array([[2]]), np.array([[3], [0]])])
    solution = mechanism.postprocess(noisy, total=3)
    assert [c.tolist() for c in solution.counts] == [[[3]], [[3], [0]]]
    assert solution.objective == 1
