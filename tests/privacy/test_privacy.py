"""Sensitivities against all neighbours, and the exactness of the budget."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.arrays import MAX_MEASURED, MAX_SCALE, LevelArrays
from tallytree.errors import CountsError, MechanismError, PrivacyError
from tallytree.privacy.budget import MOST_DIGITS, Budget, parse_exact, show_exact, split_budget
from tallytree.privacy.door import _add_and_clamp, measure
from tallytree.privacy.neighbours import Bounds, Neighbours, check_bounds, enumerate_additions
from tallytree.privacy.noise import OpenDPNoise, SeededNoise, round_scale_up
from tallytree.privacy.plan import Plan, make_plan
from tallytree.privacy.queries import QUERIES
from tests.instances import random_hierarchy
from tests.privacy.known_noise import KnownNoise


def small_counts(seed: int, bounds: Bounds, low: int) -> tt.GroupCounts:
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, 3, width=2)
    leaf = rng.integers(0, 3, (len(hierarchy.leaves), 6))
    leaf[0, 1] += 2  # somewhere to add a person, twice
    return tt.GroupCounts(hierarchy, (low, low + 5), leaf, bounds=bounds)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("z", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("low", [0, 1])
def test_no_neighbour_is_further_away_than_the_sensitivity(query: str, m: int, z: int, low: int) -> None:
    bounds = Bounds(max_records=m, max_quantity=z)
    for seed in range(3):
        counts = small_counts(seed, bounds, low)
        plan = make_plan(
            QUERIES[query], counts.hierarchy, Budget(epsilon=1), sizes=counts.sizes, bounds=bounds
        )
        here = plan.answers(counts)
        furthest = [0] * len(plan.levels)
        loss = Fraction(0)
        for neighbour in enumerate_additions(counts):
            distances = [int(np.abs(a - b).sum()) for a, b in zip(here, plan.answers(neighbour), strict=True)]
            furthest = [max(pair) for pair in zip(furthest, distances, strict=True)]
            # The privacy loss of two-sided geometric noise: the sum of distance / scale.
            terms = [d / level.scale for d, level in zip(distances, plan.levels, strict=True)]
            loss = max(loss, sum(terms, Fraction(0)))
        # As far as the sensitivity, no further, and no larger than needed.
        assert furthest == [level.sensitivity for level in plan.levels]
        assert loss == plan.epsilon


@pytest.mark.parametrize("sizes", [(0, 0), (1, 1), (0, 1), (1, 3), (3, 6), (1, 5)], ids=str)
@pytest.mark.parametrize("z", range(1, 7))
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_sensitivity_is_exact_for_every_range_of_sizes(m: int, z: int, sizes: tuple[int, int]) -> None:
    """Also where a group cannot move as far as a quantity would take it, and in both measures."""
    bounds = Bounds(max_records=m, max_quantity=z)
    regions = tt.Hierarchy.from_paths(["root", "leaf"], [("r", "x"), ("r", "y")])
    leaf = np.zeros((2, sizes[1] - sizes[0] + 1), dtype=np.int64)
    leaf[0, 0] = m  # somewhere to move m groups alike, as far as can be
    leaf[1, 0] = leaf[1, -1] = 1
    counts = tt.GroupCounts(regions, sizes, leaf, bounds=bounds)
    neighbours = list(enumerate_additions(counts))
    for query in QUERIES.values():
        pure = make_plan(query, regions, Budget(epsilon=1), sizes=sizes, bounds=bounds)
        squared = make_plan(query, regions, Budget(rho=1, delta="1e-9"), sizes=sizes, bounds=bounds)
        for index, (level, other) in enumerate(zip(pure.levels, squared.levels, strict=True)):
            here = query.answer(counts, index)
            apart = [query.answer(neighbour, index) - here for neighbour in neighbours]
            furthest = (
                max(int(np.abs(steps).sum()) for steps in apart),
                max(int((steps**2).sum()) for steps in apart),
            )
            if sizes[0] < sizes[1]:
                assert [*furthest] == [level.sensitivity, other.sensitivity]
                continue
            # A single size: nothing moves, and noise of scale 0 would be none. It gets that of two sizes.
            assert furthest == (0, 0)
            two = (sizes[0], sizes[0] + 1)
            count = len(here)
            persons = Neighbours(bounds=bounds)
            assert level.sensitivity == query.sensitivity(persons, two, count) > 0
            assert other.sensitivity == query.squared_sensitivity(persons, two, count) > 0


def test_a_quantity_beyond_the_range_of_sizes_costs_nothing_more() -> None:
    def find_scales(z: int) -> list[Fraction]:
        bounds = Bounds(max_quantity=z)
        return make_plan(QUERIES["cumulative"], ONE, Budget(epsilon=1), sizes=(1, 9), bounds=bounds).scales

    assert find_scales(20_000) == find_scales(8) == [16, 16]
    assert find_scales(7) == [14, 14]


def test_enumeration_finds_every_neighbour_of_a_tiny_dataset() -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    counts = tt.GroupCounts(h, (1, 3), [[2, 0, 1]], bounds=Bounds(max_records=1, max_quantity=2))
    found = sorted(n.leaf.tolist()[0] for n in enumerate_additions(counts))
    # Quantity 0, or already at the largest size: no change. 1 -> 2 and 1 -> 3 are the moves.
    assert found == [[1, 0, 2], [1, 1, 1], [2, 0, 1]]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-2", Fraction(1, 100)),
        (2, Fraction(2)),
        (Fraction(2, 7), Fraction(2, 7)),
        (Decimal("0.3"), Fraction(3, 10)),
    ],
)
def test_epsilon_is_exact(given_: str | int | Fraction | Decimal, expected: Fraction) -> None:
    assert parse_exact(given_, "epsilon") == expected


def test_a_float_epsilon_is_refused_with_the_reason() -> None:
    with pytest.raises(PrivacyError, match=r'float, which cannot hold .* such as "0\.1"'):
        parse_exact(0.1, "epsilon")


@given(
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000),
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=6),
)
def test_the_parts_add_up_to_epsilon_exactly(epsilon: Fraction, weights: list[int]) -> None:
    levels = [f"level {i}" for i in range(len(weights))]
    parts = split_budget(epsilon, levels, dict(zip(levels, weights, strict=True)))
    assert sum(parts) == epsilon
    assert [part / parts[0] for part in parts] == [Fraction(w, weights[0]) for w in weights]
    assert split_budget(epsilon, levels, None) == (epsilon / len(levels),) * len(levels)


@pytest.mark.parametrize(
    "unit", [{"epsilon": "0.123456789012345678"}, {"rho": "0.123456789012345678", "delta": "1e-9"}]
)
def test_whole_numbers_of_numpy_never_overflow_in_a_plan(unit: dict[str, Any]) -> None:
    h = tt.Hierarchy.from_paths(["a", "b", "c", "d"], [("r", "x", "y", "z")])
    numpys: Any = np.int64
    plans = [
        make_plan(
            QUERIES["cumulative"],
            h,
            Budget(split={level: Fraction(kind(1), kind(4)) for level in h.levels}, **unit),
            sizes=(0, 5),
            bounds=Bounds(max_records=kind(7), max_quantity=kind(60)),
        )
        for kind in (int, numpys)
    ]
    assert plans[0] == plans[1]
    for level in plans[1].levels:
        for number in (level.sensitivity, level.loss, level.scale):
            assert type(number.numerator) is type(number.denominator) is int
    assert (
        type(plans[1].bounds.max_records) is type(plans[1].bounds.max_quantity) is int
    )  # so JSON holds them


def test_a_plan_states_exact_numbers() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    plan = tt.mechanism("direct-dp").plan(
        h, sizes=(1, 5), epsilon="0.1", budget={"nation": "0.3", "state": "0.7"}
    )
    assert plan.epsilon == Fraction(1, 10)
    assert [(p.name, p.query, p.sensitivity, p.epsilon, p.scale) for p in plan.levels] == [
        ("nation", "sizes", Fraction(2), Fraction(3, 100), Fraction(200, 3)),
        ("state", "sizes", Fraction(2), Fraction(7, 100), Fraction(200, 7)),
    ]
    assert all(isinstance(p.scale, Fraction) for p in plan.levels)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**9))
def test_the_scale_given_to_opendp_is_never_smaller_and_hardly_larger(scale: Fraction) -> None:
    rounded = Fraction(round_scale_up(scale))
    assert scale <= rounded <= scale * (1 + Fraction(1, 2**51))
    assert Fraction(math.nextafter(float(rounded), 0)) < scale  # the least that is not below
    assert round_scale_up(rounded) == rounded


def test_seeded_noise_cannot_be_measured_for_a_release() -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    counts = tt.GroupCounts(h, (1, 2), [[1, 1]])
    plan = tt.mechanism("direct-dp").plan(h, sizes=(1, 2), epsilon=1)
    with pytest.raises(TypeError, match="exact noise"):
        measure(plan, counts, noise=cast(Any, SeededNoise(1)))


@given(answer=st.integers(0, MAX_MEASURED), draw=st.integers(-(2**63), 2**63 - 1))
def test_clamping_is_post_processing_of_the_ideal_answer(answer: int, draw: int) -> None:
    found = _add_and_clamp(np.array([answer]), np.array([draw]))
    assert int(found[0]) == max(-MAX_MEASURED, min(MAX_MEASURED, answer + draw))


@pytest.mark.parametrize("draw", [0, 3, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("query", QUERIES)
def test_every_answer_gets_its_draw_and_nothing_overflows(query: str, draw: int) -> None:
    counts = small_counts(1, Bounds(), 1)
    plan = make_plan(
        QUERIES[query],
        counts.hierarchy,
        Budget(epsilon=1, split=grow(counts.hierarchy.levels)),
        sizes=counts.sizes,
    )
    noise = KnownNoise(draw)
    measured = measure(plan, counts, noise=noise)
    assert noise.asked == plan.scales
    assert len(set(noise.asked)) > 1
    for answer, values in zip(plan.answers(counts), measured.values, strict=True):
        expected = [max(-MAX_MEASURED, min(MAX_MEASURED, int(cell) + draw)) for cell in answer.flat]
        assert values.reshape(-1).tolist() == expected


def grow(levels: tuple[str, ...]) -> dict[str, int]:
    """A budget that gives every level another part."""
    return {name: 2 + index for index, name in enumerate(levels)}


def test_progress_counts_every_draw_once() -> None:
    counts = small_counts(1, Bounds(), 1)
    plan = make_plan(QUERIES["sizes"], counts.hierarchy, Budget(epsilon=1), sizes=counts.sizes)
    told: list[tuple[str, int]] = []
    done: list[int] = []

    def progress(what: str, steps: int) -> Callable[[int], None]:
        told.append((what, steps))
        return done.append

    measure(plan, counts, noise=KnownNoise(0), progress=progress)
    cells = sum(answer.size for answer in plan.answers(counts))
    assert told == [("Drawing noise", cells)]
    assert sum(done) == cells


def test_counts_made_under_other_bounds_are_not_measured() -> None:
    h = tt.Hierarchy.from_paths(["root"], [("r",)])
    plan = tt.mechanism("direct-dp").plan(h, sizes=(1, 2), epsilon=1)
    looser = tt.GroupCounts(h, (1, 2), [[1, 1]], bounds=Bounds(max_records=2))
    with pytest.raises(CountsError, match="other bounds"):
        plan.answers(looser)
    assert tt.release(looser, epsilon=1).measurements.plan.levels[0].sensitivity == 2


@pytest.mark.parametrize("z", [1, 3])
@pytest.mark.parametrize("m", [1, 2])
def test_no_neighbour_has_another_number_of_groups_anywhere(m: int, z: int) -> None:
    """Why the last cumulative count may be measured without noise where it is public."""
    ending = [query for query in QUERIES.values() if query.ends_with_total]
    assert ending
    for seed in range(3):
        counts = small_counts(seed, Bounds(max_records=m, max_quantity=z), 0)
        for query in ending:
            for level in range(len(counts.hierarchy.levels)):
                known = counts.array(level).sum(axis=1)
                for other in [counts, *enumerate_additions(counts)]:
                    np.testing.assert_array_equal(query.answer(other, level)[:, -1], known)


def test_only_public_totals_are_measured_without_noise() -> None:
    rng = np.random.default_rng(0)
    hierarchy = tt.Hierarchy.from_paths(["a", "b", "c"], [("r", str(i % 5), str(i)) for i in range(40)])
    counts = tt.GroupCounts(hierarchy, (1, 30), rng.integers(0, 9, (40, 30)))
    plan = make_plan(
        QUERIES["cumulative"], hierarchy, Budget(epsilon="1/50", public_totals="b"), sizes=counts.sizes
    )
    noisy = measure(plan, counts, noise=OpenDPNoise())
    for level, (found, true) in enumerate(zip(noisy.values, plan.answers(counts), strict=True)):
        exact = found == true
        assert exact[:, -1].all() == (level < 2)
        assert exact[:, :-1].mean() < 0.1


def test_a_query_without_totals_cannot_have_them_public() -> None:
    counts = small_counts(0, Bounds(), 0)
    for name in ("sizes", "chain"):
        with pytest.raises(PrivacyError, match="does not ask for"):
            make_plan(
                QUERIES[name],
                counts.hierarchy,
                Budget(epsilon=1, public_totals="level 0"),
                sizes=counts.sizes,
            )


# The edges of what is accepted.

MOST = 10**MOST_DIGITS


@pytest.mark.parametrize(
    ("largest", "beyond"),
    [
        (MOST - 1, MOST),
        (Fraction(1, MOST - 1), Fraction(1, MOST)),
        (Fraction(MOST - 1, 7), Fraction(MOST + 1, 7)),
        ("1." + "0" * 37 + "1", "1." + "0" * 38 + "1"),
        (Decimal("1e39"), Decimal("1e40")),
        (Decimal("1e-39"), Decimal("1e-40")),
        (Decimal("9e39"), Decimal("1e41")),
        ("1e-39", "1e-41"),
        (Decimal("2.5e-40"), Decimal("2.5e-41")),  # 1 / (4 x 10^39)
    ],
)
def test_numbers_have_forty_digits_at_most(largest: Any, beyond: Any) -> None:
    assert parse_exact(largest, "epsilon") == Fraction(largest)
    with pytest.raises(PrivacyError, match="40"):
        parse_exact(beyond, "epsilon")


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("3", "3"),
        ("10", "10"),
        ("12.5", "12.5"),
        ("0.25", "0.25"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-5"),
        ("0.000012", "1.2e-5"),
        ("0.00012", "0.00012"),
        ("1/3", "1/3"),
        ("22/7", "22/7"),
        (Fraction(1, 10**MOST_DIGITS), "1e-40"),
        (Fraction(1, 2 * 10**MOST_DIGITS), f"1/2{'0' * MOST_DIGITS}"),
    ],
)
def test_numbers_are_shown_as_people_write_them(number: str | Fraction, shown: str) -> None:
    assert show_exact(Fraction(number)) == shown
    assert Fraction(shown) == Fraction(number)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**9))
def test_what_is_shown_is_the_number(number: Fraction) -> None:
    assert Fraction(show_exact(number)) == number


def test_bounds_are_whole_numbers_in_their_range() -> None:
    assert Bounds() == Bounds(max_records=1, max_quantity=1) == check_bounds(None)
    for name in ("max_records", "max_quantity"):
        values: list[Any] = [1, 2**20, np.int64(5)]
        for value in values:
            assert getattr(Bounds(**{name: value}), name) == value
        wrong: list[Any] = [0, -1, 2**20 + 1, True, 1.0, "1", None]
        for value in wrong:
            with pytest.raises(PrivacyError, match=name):
                Bounds(**{name: value})
    with pytest.raises(PrivacyError, match="Bounds"):
        check_bounds(cast(Any, 1))


ONE = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY"), ("US", "WA")])


def test_the_largest_scale_is_planned_and_none_above_it() -> None:
    def plan(epsilon: Fraction) -> Plan:
        return make_plan(
            QUERIES["cumulative"], ONE, Budget(epsilon=epsilon, split={"nation": 1, "state": 2}), sizes=(1, 2)
        )

    assert max(plan(Fraction(3, MAX_SCALE)).scales) == MAX_SCALE
    with pytest.raises(PrivacyError, match="too small at level 'nation'"):
        plan(Fraction(3, MAX_SCALE + 1))


def test_a_level_has_so_many_cells_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, refused in ((12, False), (11, True)):
        monkeypatch.setattr("tallytree.privacy.plan.MAX_CELLS", most)
        with pytest.raises(PrivacyError, match="'state' has more") if refused else nullcontext():
            make_plan(QUERIES["sizes"], ONE, Budget(epsilon=1), sizes=(1, 4))


def test_totals_are_public_down_to_a_level_and_not_below() -> None:
    plan = make_plan(QUERIES["cumulative"], ONE, Budget(epsilon=1, public_totals="nation"), sizes=(1, 2))
    assert [plan.has_public_totals(level) for level in range(2)] == [True, False]
    plan = make_plan(QUERIES["cumulative"], ONE, Budget(epsilon=1, public_totals="state"), sizes=(1, 2))
    assert [plan.has_public_totals(level) for level in range(2)] == [True, True]
    plan = make_plan(QUERIES["cumulative"], ONE, Budget(epsilon=1), sizes=(1, 2))
    assert [plan.has_public_totals(level) for level in range(2)] == [False, False]


@pytest.mark.parametrize("sign", [-1, 1])
def test_measurements_are_whole_numbers_up_to_the_limit(sign: int) -> None:
    plan = make_plan(QUERIES["sizes"], ONE, Budget(epsilon=1), sizes=(1, 2))
    values = [np.zeros((1, 2), dtype=np.int64), np.zeros((3, 2), dtype=np.int64)]
    values[1][2, 1] = sign * MAX_MEASURED
    kept = tt.Measurements(plan, values)
    np.testing.assert_array_equal(kept.values[1], values[1])
    assert not kept.values[1].flags.writeable
    values[1][2, 1] += sign
    assert kept.values[1][2, 1] == sign * MAX_MEASURED  # what is kept is a copy
    with pytest.raises(MechanismError, match="'state' go beyond"):
        tt.Measurements(plan, values)
    with pytest.raises(MechanismError, match="go beyond"):
        tt.Measurements(plan, LevelArrays(values))
    for wrong, why in [
        (values[:1], "1 arrays of values for 2 levels"),
        ([values[1], values[0]], "shape"),
        ([values[0], values[0]], "shape"),
        ([values[0], values[1] * 0.5], "whole numbers"),
        ([values[0], [[1, 2], [3]]], "rectangular"),
    ]:
        with pytest.raises(MechanismError, match=why):
            tt.Measurements(plan, cast(Any, wrong))


def test_seeds_are_whole_numbers_from_zero_on() -> None:
    for seed in (0, 1, np.int64(3)):
        assert SeededNoise(cast(int, seed)).draw(Fraction(5), 3, lambda done: None).shape == (3,)
    for wrong in (-1, True, False, 1.0, "1", None):
        with pytest.raises(PrivacyError, match="seed"):
            SeededNoise(cast(Any, wrong))
