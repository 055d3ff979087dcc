"""One person more or less changes no answer by more than the plan says, through the whole of the counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tallytree as tt

HOUSEHOLDS = [(number, f"state {number % 2}", f"county {number % 3}") for number in range(6)]
FRAME = pa.table(
    dict(zip(["household", "state", "county"], map(list, zip(*HOUSEHOLDS, strict=True)), strict=True))
)

Record = tuple[int, int, int]
"""Person, household, quantity."""

records = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, len(HOUSEHOLDS) - 1), st.integers(-1, 5)),
    min_size=1,
    max_size=16,
)
bounds = st.integers(1, 3)


def count(
    found: list[Record], m: int, z: int, sizes: tuple[int, int], frame: pa.Table | None
) -> tt.GroupCounts:
    table = pa.table(
        {
            "person": pa.array([person for person, _, _ in found], pa.int64()),
            "household": pa.array([household for _, household, _ in found], pa.int64()),
            "quantity": pa.array([quantity for _, _, quantity in found], pa.int64()),
            "state": pa.array([HOUSEHOLDS[household][1] for _, household, _ in found], pa.string()),
            "county": pa.array([HOUSEHOLDS[household][2] for _, household, _ in found], pa.string()),
        }
    )
    return tt.count_groups(
        table, group="household", regions=["state", "county"], sizes=sizes, person="person",
        quantity="quantity", max_records=m, max_quantity=z, frame=frame, hierarchy=HIERARCHY,
    )  # fmt: skip


HIERARCHY = tt.Hierarchy.from_paths(
    ["all", "state", "county"], dict.fromkeys(("all", state, county) for _, state, county in HOUSEHOLDS)
)


def find_excess(one: tt.GroupCounts, other: tt.GroupCounts, plan: Any) -> list[int]:
    """By how much the answers at each level are further apart than the plan says."""
    apart = [
        int(np.abs(here - there).sum())
        for here, there in zip(plan.answers(one), plan.answers(other), strict=True)
    ]
    return [distance - int(level.sensitivity) for distance, level in zip(apart, plan.levels, strict=True)]


def make_plans(m: int, z: int, sizes: tuple[int, int]) -> list[Any]:
    bound = tt.Bounds(max_records=m, max_quantity=z)
    return [
        tt.mechanism(name).plan(HIERARCHY, sizes=sizes, epsilon="1", bounds=bound)
        for name in tt.list_mechanisms()
    ]


@settings(max_examples=60)
@given(
    found=records,
    m=bounds,
    z=st.integers(1, 6),
    low=st.integers(0, 3),
    more=st.integers(0, 6),
    framed=st.booleans(),
)
def test_a_person_changes_the_answers_by_the_sensitivity_at_most(
    found: list[Record], m: int, z: int, low: int, more: int, framed: bool
) -> None:
    sizes, frame = (low, low + more), FRAME if framed else None
    person = found[0][0]
    without = [record for record in found if record[0] != person]
    if not framed:  # the list of groups is public, so it must be the same
        assume({record[1] for record in without} == {record[1] for record in found})
    one, other = (count(rows, m, z, sizes, frame) for rows in (found, without))
    if not framed and low:  # a group of size 0 is in no list; with a person less, groups can only vanish
        assume(one.total == other.total)
    for plan in make_plans(m, z, sizes):
        assert max(find_excess(one, other, plan)) <= 0


BUSY = [(0, household, 3) for household in range(4)]
OTHERS = [(10 + household, household, 1) for household in range(6)]
NOBODY = [(2, 0, 0)]
"""A record of no quantity, since a table needs one."""


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("z", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(0, 9), (1, 3), (0, 2), (1, 2)], ids=str)
def test_the_sensitivity_is_reached(m: int, z: int, sizes: tuple[int, int]) -> None:
    plans = [plan for plan in make_plans(m, z, sizes) if plan.levels[0].query in ("sizes", "cumulative")]
    others = OTHERS if sizes[0] else []  # moves begin at the least size
    one, other = (count(rows, m, z, sizes, FRAME) for rows in ([*BUSY, *others, *NOBODY], [*others, *NOBODY]))
    for plan in plans:
        assert max(find_excess(one, other, plan)) == 0


def test_without_the_bounds_the_check_would_fail() -> None:
    """The control: the same people, counted with wider bounds than the plan is made for."""
    wide = [count(rows, 3, 3, (0, 9), FRAME).leaf for rows in ([*BUSY, *OTHERS], OTHERS)]
    for m, z in ((1, 3), (3, 1)):
        claimed = tt.Bounds(max_records=m, max_quantity=z)
        one, other = (tt.GroupCounts(HIERARCHY, (0, 9), leaf, bounds=claimed) for leaf in wide)
        plans = [plan for plan in make_plans(m, z, (0, 9)) if z == 3 or plan.levels[0].query == "cumulative"]
        assert plans
        assert all(max(find_excess(one, other, plan)) > 0 for plan in plans)


def test_a_limit_per_group_would_not_do() -> None:
    """Of a person with too many records one is kept: the others' groups do not exist, or are empty."""
    alone = [(0, 5, 1), *((0, household, 1) for household in range(5))]
    base = [(1, household, 1) for household in range(6)]
    assert count(base, 1, 1, (1, 9), None).total == 1
    assert count([*base, *alone], 1, 1, (1, 9), None).total <= 2
    assert count([*base, *alone], 1, 1, (0, 9), None).total == count(base, 1, 1, (0, 9), None).total == 6
    only = count([(0, household, 1) for household in range(4)], 1, 1, (0, 9), None)
    assert only.total == 4
    assert only.array(0)[0, :2].tolist() == [3, 1]


COUNTIES = tt.Hierarchy.from_paths(["all", "county"], [("all", "Bibb"), ("all", "Cobb")])
Firm = tuple[str | None, str | None, str | None]
"""Its name, county and employees, of which some are missing or wrong."""
counties = st.sampled_from(["Bibb", "Cobb", "COBB ", "elsewhere", "", " ", None])
employees = st.sampled_from(["0", "3", "40", "40", "-2", "1.5", "x", "", " ", None])


def count_firms(found: list[Firm]) -> tt.GroupCounts:
    names, homes, sizes = (list(column) for column in zip(("", "", ""), *found, strict=True))
    table = pa.table({"firm": names[1:], "county": homes[1:], "employees": sizes[1:]})
    return tt.count_groups(
        table, group="firm", regions=["county"], size="employees", sizes=tt.SizeClasses([1, 5, 20]),
        protect="group", missing="drop", hierarchy=COUNTIES,
    )  # fmt: skip


def find_firm_excess(one: tt.GroupCounts, other: tt.GroupCounts) -> int:
    mechanism = tt.mechanism("direct-dp")
    plan = mechanism.plan(COUNTIES, sizes=one.sizes, epsilon="1", total="private", protect="group")
    return max(find_excess(one, other, plan))


@settings(max_examples=30)
@given(found=st.lists(st.tuples(counties, employees, st.booleans()), min_size=1, max_size=12))
def test_a_firm_changes_the_answers_by_the_sensitivity_at_most_whatever_is_dropped(
    found: list[tuple[str | None, str | None, bool]],
) -> None:
    known: Firm = ("known", "Bibb", "7")
    firms: list[Firm] = [
        (f"f{number}" if named else " ", county, size) for number, (county, size, named) in enumerate(found)
    ]
    assert find_firm_excess(count_firms([known, *firms]), count_firms([known, *firms[1:]])) <= 0


def test_a_rule_that_looks_at_other_firms_would_not_do() -> None:
    """The control: where counties with fewer than three firms are left out, one firm more brings three."""

    def leave_out(counts: tt.GroupCounts) -> tt.GroupCounts:
        return counts.replace(counts.leaf * (counts.leaf.sum(axis=1) >= 3)[:, None])

    firms: list[Firm] = [(name, "Cobb", "3") for name in "abc"]
    one, other = count_firms(firms), count_firms(firms[1:])
    assert find_firm_excess(one, other) == 0
    assert find_firm_excess(leave_out(one), leave_out(other)) == 2
