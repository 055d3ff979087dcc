"""Sensitivities against all neighbours, and the exactness of the budget."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import CountsError, PrivacyError
from tallytree.limits import MAX_MEASURED
from tallytree.measurement import _add_and_clamp, measure
from tallytree.privacy.budget import parse_exact, split_budget
from tallytree.privacy.neighbours import Bounds, enumerate_additions
from tallytree.privacy.noise import OpenDPNoise, SeededNoise, round_scale_up
from tallytree.privacy.plan import make_plan
from tallytree.privacy.queries import QUERIES
from tests.instances import random_hierarchy
from tests.known_noise import KnownNoise


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
        plan = make_plan(QUERIES[query], counts.hierarchy, sizes=counts.sizes, epsilon=1, bounds=bounds)
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
def test_whole_numbers_of_numpy_never_overflow_in_a_plan(unit: dict[str, str]) -> None:
    h = tt.Hierarchy.from_paths(["a", "b", "c", "d"], [("r", "x", "y", "z")])
    numpys: Any = np.int64
    plans = [
        make_plan(
            QUERIES["cumulative"],
            h,
            sizes=(0, 5),
            bounds=Bounds(max_records=kind(7), max_quantity=kind(60)),
            budget={level: Fraction(kind(1), kind(4)) for level in h.levels},
            **unit,
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
        QUERIES[query], counts.hierarchy, sizes=counts.sizes, epsilon=1, budget=grow(counts.hierarchy.levels)
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
    plan = make_plan(QUERIES["sizes"], counts.hierarchy, sizes=counts.sizes, epsilon=1)
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
    plan = make_plan(QUERIES["cumulative"], hierarchy, sizes=counts.sizes, epsilon="1/50", public_totals="b")
    noisy = measure(plan, counts, noise=OpenDPNoise())
    for level, (found, true) in enumerate(zip(noisy.values, plan.answers(counts), strict=True)):
        exact = found == true
        assert exact[:, -1].all() == (level < 2)
        assert exact[:, :-1].mean() < 0.1


def test_a_query_without_totals_cannot_have_them_public() -> None:
    counts = small_counts(0, Bounds(), 0)
    for name in ("sizes", "chain"):
        with pytest.raises(PrivacyError, match="does not ask for"):
            make_plan(QUERIES[name], counts.hierarchy, sizes=counts.sizes, epsilon=1, public_totals="level 0")
