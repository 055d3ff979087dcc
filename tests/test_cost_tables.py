"""The paper's cost tables against enumeration, and their domains."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.postprocess.cost_tables import CostTable, merge_tables


def convex_tables() -> st.SearchStrategy[CostTable]:
    slopes = st.lists(st.integers(-9, 9), max_size=5).map(sorted)
    return st.builds(
        lambda low, slopes: CostTable(low, 100 + np.cumsum([0, *slopes])), st.integers(0, 4), slopes
    )


@given(st.lists(convex_tables(), min_size=1, max_size=3))
def test_merging_equals_trying_all_combinations(tables: list[CostTable]) -> None:
    merged = merge_tables(tables)
    best: dict[int, int] = {}
    for values in product(*(range(table.low, table.high + 1) for table in tables)):
        cost = sum(int(t.costs[v - t.low]) for t, v in zip(tables, values, strict=True))
        best[sum(values)] = min(cost, best.get(sum(values), cost))
    assert {merged.table.low + i: c for i, c in enumerate(merged.table.costs.tolist())} == best
    for value, cost in best.items():
        split = merged.split(value)
        assert split.sum() == value
        assert sum(int(t.costs[v - t.low]) for t, v in zip(tables, split, strict=True)) == cost


def test_the_papers_domains_are_widened_when_they_leave_the_optimum_out() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y")])
    fast, tables = tt.mechanism("direct-dp"), tt.mechanism("direct-dp", solver="tables")
    plan = fast.plan(h, sizes=(1, 1), epsilon=40)  # scale 1/10: the paper's delta is 3
    noisy = tt.Measurements(plan, [np.array([[5]]), np.array([[-400], [5]])])
    solution = tables.postprocess(noisy, total=200)
    assert solution.effort["domain_doublings"] > 0
    assert solution.objective == fast.postprocess(noisy, total=200).objective


def test_tables_too_large_for_the_machine_are_refused() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", f"{i}") for i in range(10)])
    tables = tt.mechanism("direct-dp", solver="tables")
    plan = tables.plan(h, sizes=(1, 100), epsilon="0.001")
    noisy = [np.zeros(plan.shape(i), dtype=np.int64) for i in range(2)]
    with pytest.raises(MechanismError, match="same optimum"):
        tables.postprocess(tt.Measurements(plan, noisy), total=5)


def test_noise_too_large_for_the_tables_is_an_error() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y")])
    counts = tt.GroupCounts(h, (1, 2), [[1, 2], [3, 4]])
    tables = tt.mechanism("direct-dp", solver="tables")
    with pytest.raises(MechanismError, match="their entries would overflow"):
        tt.simulate(counts, epsilon="0.003", mechanism=tables, seed=1, budget={"a": 1000, "b": 1001})
