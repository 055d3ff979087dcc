"""The paper's cost tables against enumeration, and their domains."""

from contextlib import nullcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.solvers.tree.cost_tables import CostTable, merge_tables, own_costs
from tallytree.solvers.tree.cp_tables import merge_by_constraints


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


def test_tables_have_as_many_entries_as_the_machine_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y"), ("r", "z")])
    tables = tt.mechanism("direct-dp", solver="tables")
    plan = tables.plan(h, sizes=(1, 2), epsilon=6, budget={"a": 2, "b": 1})
    assert [level.scale for level in plan.levels] == [Fraction(1, 2), 1]
    noisy = tt.Measurements(plan, [np.array([[3, 3]]), np.ones((3, 2), dtype=np.int64)])
    entries = 2 * (1 * (2 * 3 + 1) + 3 * (2 * 6 + 1))
    for most, refused in ((entries, False), (entries - 1, True)):
        monkeypatch.setattr("tallytree.solvers.tree.cost_tables.MOST_ENTRIES", most)
        said = f"need {entries} entries, more than {most}"
        with pytest.raises(MechanismError, match=said) if refused else nullcontext():
            assert tables.postprocess(noisy, total=6).objective == 0


@pytest.mark.parametrize(
    ("noisy", "weight", "delta", "refused"),
    [
        (10, 1, 3, False),
        (10, 1, 4, True),
        (10, 2, 3, True),
        (1, 1, 3, False),
        (1, 1, 4, True),  # above it only
        (-3, 1, 0, False),
        (-4, 1, 0, True),  # to zero, the only entry
    ],
)
def test_a_cell_costs_no_more_than_tables_can_add_up(
    noisy: int, weight: int, delta: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tallytree.solvers.tree.cost_tables.MOST_COST", 9)
    if refused:
        with pytest.raises(MechanismError, match="would overflow"):
            own_costs(noisy, weight, delta)
        return
    table = own_costs(noisy, weight, delta)
    assert table.low == max(0, noisy - delta)
    assert table.high == max(0, noisy + delta)
    assert table.costs.tolist() == [weight * (v - noisy) ** 2 for v in range(table.low, table.high + 1)]


@pytest.mark.parametrize(
    ("root", "leaves", "counts", "doublings"),
    [
        (200, [60, 70, 70], [60, 70, 70], 0),
        (200, [90, 90, -10], [100, 100, 0], 2),  # up to 102 with 12, the first delta that admits the total
        (200, [100, 100, 60], [80, 80, 40], 3),
        (72, [0, 0, 0], [24, 24, 24], 4),  # 24 admits the total, at the upper ends
        (26, [50, -1, -1], [26, 0, 0], 4),  # at the lower end of the first leaf
        (1, [25, -1, -1], [1, 0, 0], 4),
        (0, [24, -1, -1], [0, 0, 0], 3),  # at zero, which is not delta's doing
        (21, [8, 8, 8], [8, 8, 8], 1),  # only the root is at an end
    ],
)
def test_domains_are_widened_for_every_value_at_an_end(
    root: int, leaves: list[int], counts: list[int], doublings: int
) -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y"), ("r", "z")])
    fast, tables = tt.mechanism("direct-dp"), tt.mechanism("direct-dp", solver="tables")
    plan = fast.plan(h, sizes=(1, 1), epsilon=40)
    noisy = tt.Measurements(plan, [np.array([[root]]), np.array(leaves)[:, None]])
    solution = tables.postprocess(noisy, total=sum(counts))
    assert solution.objective == fast.postprocess(noisy, total=sum(counts)).objective
    assert solution.counts[1].ravel().tolist() == counts
    assert solution.effort["domain_doublings"] == doublings


@given(st.lists(convex_tables(), min_size=1, max_size=2))
@settings(max_examples=15)
def test_merging_by_constraints_is_the_same(tables: list[CostTable]) -> None:
    merged, solved = merge_tables(tables), merge_by_constraints(tables)
    assert (solved.low, solved.high) == (merged.low, merged.high)
    assert solved.table.low == merged.table.low
    assert solved.table.costs.tolist() == merged.table.costs.tolist()
    for value in range(solved.low, solved.high + 1):
        split = solved.split(value)
        assert split.sum() == value
        assert (
            sum(int(t.costs[v - t.low]) for t, v in zip(tables, split, strict=True))
            == (merged.table.costs[value - merged.low])
        )
    with pytest.raises(MechanismError, match="CP-SAT did not solve a problem: INFEASIBLE"):
        solved.split(solved.high + 1)
