"""Who is protected from what: all neighbours enumerated, for persons and groups, both totals, and classes."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import CountsError, MechanismError, PrivacyError
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import Bounds, Neighbours, Protected, TotalKind, enumerate_additions
from tallytree.privacy.plan import Plan, find_epsilon, make_plan
from tallytree.privacy.queries import QUERIES, Query
from tallytree.privacy.zcdp import convert_rho
from tallytree.releases.statement import list_group_epsilons
from tallytree.sizes import Sizes, count_edges_within, count_sizes, name_size

REGIONS = tt.Hierarchy.from_paths(["root", "leaf"], [("r", "x"), ("r", "y")])
EDGES: list[Sizes] = [
    (1, 4),
    (2, 4),
    tt.SizeClasses([1, 2, 4, 5]),
    tt.SizeClasses([1, 3, 6]),
    tt.SizeClasses([1, 8, 9]),
]


def make_counts(sizes: Sizes, bounds: Bounds) -> tt.GroupCounts:
    """So many groups of every size in one leaf that a person's records can move alike; another leaf."""
    leaf = np.zeros((2, count_sizes(sizes)), dtype=np.int64)
    leaf[0], leaf[1, 0] = bounds.max_records, 1
    return tt.GroupCounts(REGIONS, sizes, leaf, bounds=bounds)


def find_furthest(query: Query, counts: tt.GroupCounts, neighbours: Neighbours) -> tuple[int, int]:
    """The largest distance of a neighbour in L1, and in L2 squared, at the level of the leaves."""
    here = query.answer(counts, 1)
    steps = [query.answer(other, 1) - here for other in enumerate_additions(counts, neighbours)]
    return max(int(np.abs(step).sum()) for step in steps), max(int((step**2).sum()) for step in steps)


def list_offered(neighbours: Neighbours) -> Sequence[str]:
    return ("sizes", "cumulative", "chain") if neighbours.has_public_total else ("sizes", "above")


@pytest.mark.parametrize("sizes", EDGES, ids=str)
@pytest.mark.parametrize("total", ["public", "private"])
@pytest.mark.parametrize("z", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_sensitivity_to_a_person_is_attained_and_never_exceeded(
    m: int, z: int, total: TotalKind, sizes: Sizes
) -> None:
    bounds = Bounds(max_records=m, max_quantity=z)
    neighbours = Neighbours(total=total, bounds=bounds)
    counts = make_counts(sizes, bounds)
    for name in list_offered(neighbours):
        query = QUERIES[name]
        stated = query.sensitivity(neighbours, sizes, 2), query.squared_sensitivity(neighbours, sizes, 2)
        assert find_furthest(query, counts, neighbours) == stated


@pytest.mark.parametrize("sizes", EDGES, ids=str)
@pytest.mark.parametrize("total", ["public", "private"])
def test_the_sensitivity_to_a_whole_group_is_attained_and_never_exceeded(
    total: TotalKind, sizes: Sizes
) -> None:
    neighbours = Neighbours(protect="group", total=total)
    counts, k = make_counts(sizes, Bounds()), count_sizes(sizes)
    expected = {"sizes": 2, "cumulative": k - 1, "chain": 2 * (k - 1)}
    if total == "private":
        expected = {"sizes": 1, "above": k}
    for name in list_offered(neighbours):
        query = QUERIES[name]
        stated = query.sensitivity(neighbours, sizes, 2), query.squared_sensitivity(neighbours, sizes, 2)
        assert stated == (expected[name], expected[name])
        assert find_furthest(query, counts, neighbours) == stated


@pytest.mark.parametrize("protect", ["person", "group"])
def test_control_from_below_a_group_that_appears_is_not_covered(protect: Protected) -> None:
    neighbours = Neighbours(protect=protect, total="private")
    below, counts = QUERIES["cumulative"], make_counts((1, 5), Bounds())
    furthest, _ = find_furthest(below, counts, neighbours)
    assert furthest == 5
    if protect == "person":  # for a group, K are needed from either side
        assert furthest > below.sensitivity(neighbours, counts.sizes, 2)


@pytest.mark.parametrize("z", [2, 3])
@pytest.mark.parametrize("sizes", EDGES, ids=str)
def test_control_a_window_that_is_one_too_narrow_is_found(sizes: Sizes, z: int) -> None:
    neighbours = Neighbours(total="private", bounds=Bounds(max_quantity=z))
    counts = make_counts(sizes, neighbours.bounds)
    wrong = neighbours.count_crossed(sizes) - 1
    assert find_furthest(QUERIES["above"], counts, neighbours)[0] > wrong


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8, unique=True).map(sorted),
    st.integers(1, 12),
)
def test_the_window_is_the_widest_over_all_places(edges: list[int], window: int) -> None:
    slow = max(sum(s < edge <= s + window for edge in edges) for s in range(31))
    assert count_edges_within(edges, window) == slow


MECHANISMS = [name for name in tt.list_mechanisms() if tt.mechanism(name).private_total]


@pytest.mark.parametrize("protect", ["person", "group"])
@pytest.mark.parametrize("name", tt.list_mechanisms())
def test_the_loss_of_a_plan_is_epsilon_on_the_worst_neighbour(name: str, protect: Protected) -> None:
    """With an uneven split, whatever the mechanism measures; and never more."""
    method = tt.mechanism(name)
    for total in ("public", *(["private"] if method.private_total else [])):
        plan = method.plan(
            REGIONS,
            sizes=tt.SizeClasses([1, 3, 4]),
            epsilon="2/3",
            budget={"root": 1, "leaf": 4},
            total=total,  # type: ignore[arg-type]
            protect=protect,
        )
        counts = make_counts(plan.sizes, plan.bounds)
        here, losses = plan.answers(counts), []
        for other in enumerate_additions(counts, plan.neighbours):
            apart = [int(np.abs(a - b).sum()) for a, b in zip(here, plan.answers(other), strict=True)]
            losses.append(
                sum((d / level.scale for d, level in zip(apart, plan.levels, strict=True)), Fraction())
            )
        assert max(losses) == plan.epsilon == Fraction(2, 3)


def test_the_mechanisms_that_do_without_a_public_total() -> None:
    assert set(MECHANISMS) == {"cumulative-joint", "cumulative-dp", "direct-dp", "topdown"}
    with pytest.raises(MechanismError, match="cumulative-chain needs a public total"):
        tt.mechanism("cumulative-chain").plan(REGIONS, sizes=(1, 3), epsilon=1, total="private")


def test_what_contradicts_itself_is_refused() -> None:
    method = tt.mechanism("direct-dp")
    with pytest.raises(PrivacyError, match="a group of size 0 does not exist"):
        method.plan(REGIONS, sizes=(0, 3), epsilon=1, total="private")
    with pytest.raises(PrivacyError, match="leave the bounds on a person out"):
        method.plan(REGIONS, sizes=(1, 3), epsilon=1, protect="group", bounds=Bounds(max_records=2))
    with pytest.raises(PrivacyError, match="'protect' cannot be 'persn': did you mean 'person'"):
        method.plan(REGIONS, sizes=(1, 3), epsilon=1, protect="persn")  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="'total' cannot be 'secret'"):
        method.plan(REGIONS, sizes=(1, 3), epsilon=1, total="secret")  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="need a public total"):
        tt.mechanism("cumulative-joint").plan(
            REGIONS, sizes=(1, 3), epsilon=1, total="private", public_totals="root"
        )
    plan = method.plan(REGIONS, sizes=(1, 3), epsilon=1, total="private")
    noisy = tt.Measurements(plan, [np.zeros((1, 3), int), np.zeros((2, 3), int)])
    with pytest.raises(MechanismError, match="total is private: leave the total out"):
        method.postprocess(noisy, total=3)


@pytest.mark.parametrize("edges", [[], [3, 2], [1, 1], [-1, 2], [1, 2**32], ["1"], [1.5], 7, None], ids=str)
def test_classes_that_are_none_are_refused(edges: object) -> None:
    with pytest.raises(CountsError, match="classes must"):
        tt.SizeClasses(edges)  # type: ignore[arg-type]


def test_budgets_carry_the_promise() -> None:
    budget = Budget(epsilon=1, protect="group", total="private")
    plan = make_plan(QUERIES["above"], REGIONS, budget, sizes=(1, 3))
    assert plan.neighbours == Neighbours(protect="group", total="private")
    assert [level.sensitivity for level in plan.levels] == [3, 3]


def list_states(plan: Plan, leaf: int, place: int) -> list[tt.GroupCounts]:
    """The counts with one group of a leaf at every size up to that at ``place``, or without it."""
    empty = make_counts(plan.sizes, plan.bounds)
    found = [] if plan.has_public_total else [empty]
    for at in range(place + 1):
        changed = empty.leaf.copy()
        changed[leaf, at] += 1
        found.append(empty.replace(changed))
    return found


@pytest.mark.parametrize("sizes", EDGES, ids=str)
@pytest.mark.parametrize(
    ("name", "total"),
    [*((name, "public") for name in tt.list_mechanisms()), *((name, "private") for name in MECHANISMS)],
)
def test_what_a_release_for_persons_gives_whole_groups_is_attained_and_never_exceeded(
    name: str, total: TotalKind, sizes: Sizes
) -> None:
    plan = tt.mechanism(name).plan(
        REGIONS,
        sizes=sizes,
        epsilon="2/3",
        budget={"root": 1, "leaf": 4},
        bounds=Bounds(max_records=2, max_quantity=2),
        total=total,
    )
    stated = dict(list_group_epsilons(plan))
    assert len(stated) == count_sizes(sizes) - plan.has_public_total
    for place in range(count_sizes(sizes)):
        losses = [Fraction(0)]
        for leaf in range(2):
            answers = [plan.answers(counts) for counts in list_states(plan, leaf, place)]
            for one, other in combinations(answers, 2):
                apart = [int(np.abs(a - b).sum()) for a, b in zip(one, other, strict=True)]
                parts = [d / level.scale for d, level in zip(apart, plan.levels, strict=True)]
                losses.append(sum(parts, Fraction(0)))
        assert max(losses) == stated.get(name_size(sizes, place), 0)


def test_what_gaussian_noise_gives_whole_groups_is_that_of_their_rho() -> None:
    plan = tt.mechanism("cumulative-joint").plan(
        REGIONS, sizes=(1, 4), rho="1/8", delta="1e-9", total="private"
    )
    # Of size 3, a group changes 3 answers at each level, by one each: rho is 3 times that of a person, but
    # for the last digit of the noise's scale, which is rounded up.
    for place in (0, 2):
        most = convert_rho((place + 1) * Fraction(1, 8), Fraction(1, 10**9))
        found = find_epsilon([plan.find_group_loss(place)], plan.delta)
        assert 0 <= most - found <= Fraction(1, 10**4)


def test_where_whole_groups_are_protected_nothing_else_is_said_of_them() -> None:
    plan = tt.mechanism("direct-dp").plan(REGIONS, sizes=(1, 4), epsilon=1, protect="group", total="private")
    assert list_group_epsilons(plan) == []


def test_many_sizes_are_told_by_the_round_ones() -> None:
    plan = tt.mechanism("cumulative-joint").plan(REGIONS, sizes=(1, 60), epsilon=1, total="private")
    assert dict(list_group_epsilons(plan)) == {str(n): Fraction(n) for n in (1, 2, 5, 10, 20, 50, 60)}
