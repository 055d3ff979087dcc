"""Audits: they must find what is wrong, and must not find anything where nothing is."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import tallytree as tt
from tallytree.errors import InputError, MechanismError, PrivacyError
from tallytree.mechanisms.direct_cp import DirectCP
from tallytree.privacy import door
from tallytree.privacy.digits import DigitNoise, expand_probabilities, fill_draws
from tallytree.privacy.door import NOISES
from tallytree.privacy.measurements import PrivateMeasurements
from tallytree.privacy.neighbours import Bounds, Protected, enumerate_additions
from tallytree.privacy.queries import QUERIES
from tallytree.progress import count_processors, one_processor
from tallytree.research.auditing import audit_run, exact_losses
from tallytree.research.auditing.attack import (
    ERROR,
    Attacker,
    SeededDigits,
    find_targets,
    measure_with,
)
from tallytree.research.auditing.audit_page import conclude
from tallytree.research.auditing.audit_run import audit
from tallytree.research.auditing.events import (
    Targets,
    bound_above,
    bound_below,
    bound_epsilon,
    choose_event,
    estimate,
)
from tallytree.research.auditing.exact_losses import (
    ATTACKED,
    ATTACKED_SMALL,
    CASES,
    Case,
    Promise,
    Verdict,
    compare,
    enumerate_counts,
    enumerate_losses,
    find_worst_pair,
    judge,
    list_cases,
    list_pairs,
    list_promises,
    plan_case,
)
from tallytree.sizes import count_sizes, get_ends, list_edges
from tests.bad_input_support import check_refused
from tests.commands import Run
from tests.research.auditing_support import (
    MISCALIBRATED,
    ONE_FOR_EACH_QUERY,
    TWO,
    HalvedDirect,
    HalvedJoint,
    QuarterLess,
    find_verdict,
    fix_keys,
    say_nothing,
)

Ints = npt.NDArray[np.int64]

PUBLISHED = tt.mechanism("cumulative-chain", calibration="published")
SEEN = {"person": ("measurements", "measurements", "counts"), "group": ("measurements", "counts")}


@pytest.fixture(autouse=True)
def repeatable_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    fix_keys(monkeypatch)


# The exact part.


def test_losses_of_a_pair_as_worked_out_by_hand() -> None:
    """Two regions a and b, sizes 0 to 3; one group moves from 0 to 2 in a.

    Epsilon 1 is split 1:2 over two levels, and z = 3. The sizes query changes in two cells at each level. The
    cumulative one changes in c_0 and c_1 of the region; the chain at both places of both regions in between.
    """
    case = Case(exact_losses.PAIR, (0, 3), Bounds(max_quantity=3), weights=(1, 2))
    here = tt.GroupCounts(case.hierarchy, (0, 3), [[1, 0, 0, 0], [0, 1, 0, 0]], bounds=case.bounds)
    there = here.replace([[0, 0, 1, 0], [0, 1, 0, 0]])
    expected = {
        # scale = sensitivity / part: 2 / (1/3) and 2 / (2/3); 3 / (1/3) and 3 / (2/3); and 6 at the second.
        "direct-dp": Fraction(2, 6) + Fraction(2, 3),
        "cumulative-dp": Fraction(2, 9) + Fraction(2) / Fraction(9, 2),
        "cumulative-chain": Fraction(2, 9) + Fraction(4, 9),
    }
    for name, loss in expected.items():
        plan = plan_case(tt.mechanism(name), case, epsilon=Fraction(1))
        assert compare(plan, here, there).loss == loss
        assert compare(plan, there, here).loss == loss  # the same the other way round
    # As published, the noise is that of one region: 3 / (1/3) and 3 / (2/3).
    published = plan_case(PUBLISHED, case, epsilon=Fraction(1))
    assert compare(published, here, there).loss == Fraction(2, 9) + Fraction(4) / Fraction(9, 2)


def test_the_loss_is_attained_by_an_outcome() -> None:
    """The likeliest outcome of one dataset has just this log-ratio, by the noise's own probabilities."""
    plan = plan_case(tt.mechanism("cumulative-dp"), CASES[-1], epsilon=TWO)
    pair = find_worst_pair(CASES[-1], plan)
    assert pair.loss is not None
    ratio = 0.0
    answers = zip(plan.answers(pair.counts), plan.answers(pair.neighbour), strict=True)
    for level, (here, there) in zip(plan.levels, answers, strict=True):
        noise = stats.dlaplace(float(1 / level.scale))
        ratio += float((noise.logpmf(here - here) - noise.logpmf(here - there)).sum())
    assert ratio == pytest.approx(float(pair.loss))


@pytest.mark.parametrize("name", ONE_FOR_EACH_QUERY)
def test_the_exact_worst_loss_is_the_stated_epsilon_for_every_promise_on_every_case(name: str) -> None:
    method = tt.mechanism(name)
    for promise in list_promises(method):
        for case in list_cases(*promise):
            found = enumerate_losses(method, case, epsilon=Fraction(1, 7))
            assert found.worst.loss == found.stated == Fraction(1, 7)
            assert found.verdict == Verdict.HOLDS
            assert found.pairs > 1


@pytest.mark.parametrize("method", MISCALIBRATED, ids=lambda method: type(method).__name__)
def test_enumeration_catches_noise_for_other_neighbours_and_nothing_else(method: tt.Mechanism) -> None:
    promises = list_promises(method)
    assert len(promises) == 4
    broken = {promise for promise in promises if find_verdict(method, promise) == Verdict.BROKEN}
    assert broken == MISCALIBRATED[method]


def test_the_promises_that_a_mechanism_offers() -> None:
    chain, joint = map(tt.mechanism, ("cumulative-chain", "cumulative-joint"))
    assert list_promises(chain) == [("person", "public"), ("group", "public")]
    assert list_promises(joint, total="private") == [("person", "private"), ("group", "private")]
    assert list_promises(joint, protect="group", total="public") == [("group", "public")]
    with pytest.raises(MechanismError, match="cumulative-chain needs a public total"):
        list_promises(chain, total="private")
    with pytest.raises(PrivacyError, match="'protect' cannot be 'persn'"):
        list_promises(joint, protect="persn")  # type: ignore[arg-type]


@pytest.mark.parametrize("promise", list_promises(tt.mechanism("direct-dp")), ids=str)
def test_the_neighbours_are_those_of_the_promise(promise: Promise) -> None:
    """Told apart by the groups that come and go, leaf by leaf, in all pairs of a case."""
    protect, total = promise
    case = Case(exact_losses.PAIR, (1, 3), Bounds(max_quantity=2)).under(protect, total)
    changes = {tuple((other.leaf - counts.leaf).ravel()) for counts, other in list_pairs(case)}
    rises = [(1, 2), (2, 3), (1, 3)]
    if protect == "group":
        rises = [(old, new) for old in (1, 2, 3) for new in (1, 2, 3)]
    moves = [np.eye(4)[new, 1:] - np.eye(4)[old, 1:] for old, new in rises]
    if total == "private":
        moves = [] if protect == "group" else moves
        moves += [np.eye(4)[new, 1:] for new in ((1, 2, 3) if protect == "group" else (1, 2))]
    expected = {
        tuple(np.concatenate(both)) for move in moves for both in ((move, 0 * move), (0 * move, move))
    }
    assert changes - {(0,) * 6} == expected - {(0,) * 6}


@pytest.mark.parametrize("case", [case for case in CASES if case.weights is None], ids=lambda c: c.regions)
def test_the_published_chain_loses_regions_over_levels_times_epsilon(case: Case) -> None:
    found = enumerate_losses(PUBLISHED, case, epsilon=Fraction(1, 3))
    levels = case.hierarchy.levels
    assert found.worst.loss == found.stated == Fraction(case.hierarchy.region_count, 3 * len(levels))
    assert found.verdict == (Verdict.OVERSPENDS if len(levels) > 1 else Verdict.HOLDS)


@pytest.mark.parametrize("method", [HalvedDirect(), HalvedJoint(), QuarterLess()])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.regions} {case.sizes}")
def test_enumeration_catches_noise_that_is_too_small(method: tt.Mechanism, case: Case) -> None:
    found = enumerate_losses(method, case, epsilon=TWO)
    assert found.worst.loss == TWO / (Fraction(3, 4) if isinstance(method, QuarterLess) else Fraction(1, 2))
    assert found.stated == TWO
    assert found.verdict == Verdict.BROKEN


def test_an_answer_without_noise_that_differs_is_a_loss_without_bound() -> None:
    case = Case(exact_losses.PAIR, (0, 1), Bounds())
    plan = plan_case(tt.mechanism("count-of-counts"), case, epsilon=TWO)
    here = tt.GroupCounts(case.hierarchy, (0, 1), [[1, 0], [0, 1]])
    assert compare(plan, here, here.replace([[0, 1], [0, 1]])).loss == TWO
    moved = compare(plan, here, here.replace([[0, 0], [1, 1]]))  # no neighbour: a total changes
    assert moved.loss is None
    assert moved.rank > compare(plan, here, here).rank
    # With noise on the totals it is an ordinary loss: both totals and both regions' first counts change.
    noisy = plan_case(tt.mechanism("cumulative-dp"), case, epsilon=TWO)
    assert compare(noisy, here, here.replace([[0, 0], [1, 1]])).loss == 4 / noisy.levels[1].scale


def test_all_datasets_with_so_many_groups_are_tried() -> None:
    case = Case(exact_losses.PAIR, (1, 3), Bounds(max_records=3))
    found = list(enumerate_counts(case))
    assert len({counts.leaf.tobytes() for counts in found}) == len(found) == math.comb(6 + 3 - 1, 3)
    assert {counts.total for counts in found} == {3}


@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_linear(query: str) -> None:
    """The fact that the enumeration rests on."""
    rng = np.random.default_rng(2)
    for tree in (exact_losses.DEEP, exact_losses.RAGGED):
        one, other = rng.integers(0, 9, (2, len(tree.leaves), 4))
        answers = [
            [QUERIES[query].answer(tt.GroupCounts(tree, (0, 3), leaf), level) for level in range(3)]
            for leaf in (one, other, one + other)
        ]
        for first, second, both in zip(*answers, strict=True):
            np.testing.assert_array_equal(first + second, both)


@pytest.mark.parametrize("name", ONE_FOR_EACH_QUERY)
def test_more_groups_change_no_loss(name: str) -> None:
    """Why the datasets with as many groups as a person has records are enough."""
    rng = np.random.default_rng(1)
    for case in (case for case in CASES if case.bounds.max_records == 2):
        plan = plan_case(tt.mechanism(name), case, epsilon=TWO)
        worst = find_worst_pair(case, plan).loss
        shape = (len(case.hierarchy.leaves), count_sizes(case.sizes))
        counts = tt.GroupCounts(case.hierarchy, case.sizes, rng.integers(1, 4, shape), bounds=case.bounds)
        assert max(compare(plan, counts, other).rank[1] for other in enumerate_additions(counts)) == worst


def test_the_cases_are_as_various_as_is_said() -> None:
    assert {case.bounds.max_records for case in CASES} == {1, 2, 3}
    assert {case.bounds.max_quantity for case in CASES} == {1, 2, 3}
    assert {get_ends(case.sizes)[0] for case in CASES} == {0, 1, 2}
    assert {case.weights is None for case in CASES} == {True, False}
    assert {case.regions for case in CASES} == {"1", "1+2", "1+3", "1+3+8", "1+3+3 ragged"}
    classes = [case for case in CASES if isinstance(case.sizes, tt.SizeClasses)]
    narrower = {
        high - low < case.bounds.max_quantity
        for case in classes
        for low, high in pairwise(list_edges(case.sizes))
    }
    assert narrower == {True, False}
    for protect, total in list_promises(tt.mechanism("direct-dp")):
        cases = list_cases(protect, total)
        assert len(cases) > 10
        assert {case.bounds == Bounds() for case in cases} == (
            {True} if protect == "group" else {True, False}
        )
        assert {get_ends(case.sizes)[0] for case in cases} == ({1, 2} if total == "private" else {0, 1, 2})
        assert all(case.promise == (protect, total) for case in cases)


# Confidence bounds.


@pytest.mark.parametrize("runs", [1, 7, 250, 10_000])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("error", [0.005, 0.05])
def test_clopper_and_pearson_as_in_scipy(runs: int, share: float, error: float) -> None:
    hits = round(share * runs)
    low = stats.beta.ppf(error, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.isf(error, hits + 1, runs - hits) if hits < runs else 1.0
    assert bound_below(hits, runs, error) == pytest.approx(low, rel=1e-9)
    assert bound_above(hits, runs, error) == pytest.approx(high, rel=1e-9)


def sum_exactly(hits: int, runs: int, p: Fraction) -> Fraction:
    """P(X >= hits) for a binomial X, by its definition."""
    terms = (math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(hits, runs + 1))
    return sum(terms, start=Fraction(0))


@pytest.mark.parametrize(("hits", "runs"), [(1, 1), (1, 40), (20, 40), (39, 40), (40, 40), (3, 90)])
@pytest.mark.parametrize("error", [0.0005, 0.005, 0.05])
def test_what_a_bound_refutes_is_refuted_exactly(hits: int, runs: int, error: float) -> None:
    """To ten digits: the bound is refuted by the exact tail, and what is just above it is not."""
    slack = Fraction(1, 10**10)
    low = Fraction(bound_below(hits, runs, error))
    assert sum_exactly(hits, runs, low * (1 - slack)) < error
    assert sum_exactly(hits, runs, low * (1 + slack)) > error


def find_coverage(bound: Callable[[int, int, float], float], runs: int, p: float, error: float) -> float:
    """How probable it is that a lower bound is above the truth."""
    hits = np.arange(runs + 1)
    wrong = np.array([bound(int(k), runs, error) > p for k in hits])
    return float(stats.binom.pmf(hits, runs, p)[wrong].sum())


def approximate_below(hits: int, runs: int, error: float) -> float:
    """The textbook's normal approximation."""
    p = hits / runs
    return p - float(stats.norm.isf(error)) * math.sqrt(p * (1 - p) / runs)


def test_a_bound_is_wrong_no_more_often_than_it_says() -> None:
    probabilities = np.linspace(0.01, 0.99, 50)
    errors = [find_coverage(bound_below, 30, float(p), 0.01) for p in probabilities]
    assert max(errors) <= 0.01
    assert max(errors) > 0.005  # and it is not so by being far too careful
    # The control: an approximation is wrong more often, and this test would see it.
    assert max(find_coverage(approximate_below, 30, float(p), 0.01) for p in probabilities) > 0.02


@pytest.mark.parametrize(("p", "other"), [(0.9, 0.1), (0.5, 0.2), (0.3, 0.3), (0.05, 0.01)])
def test_a_bound_on_epsilon_is_wrong_no_more_often_than_it_says(p: float, other: float) -> None:
    runs, error = 60, 0.05
    ones, others = (stats.binom.pmf(np.arange(runs + 1), runs, chance) for chance in (p, other))
    wrong = sum(
        ones[k] * others[j]
        for k in range(runs + 1)
        for j in range(runs + 1)
        if ones[k] * others[j] > 1e-12 and bound_epsilon(k, j, runs, error) > math.log(p / other)
    )
    assert wrong <= error


def test_bounds_on_epsilon_at_the_edges() -> None:
    assert bound_epsilon(0, 0, 100, 0.01) == 0
    assert bound_epsilon(50, 50, 100, 0.01) == 0
    assert bound_epsilon(0, 100, 100, 0.01) == 0
    # As much as 100 runs can show: both bounds solve p^100 = 0.005, from their sides.
    best = math.log(0.005**0.01 / (1 - 0.005**0.01))
    assert bound_epsilon(100, 0, 100, 0.01) == pytest.approx(best)


# Events and scores.


def make_targets(cells: int) -> Targets:
    return Targets(np.zeros(cells, np.int64), np.ones(cells, np.int64), np.ones(cells), cells)


def test_nothing_is_found_where_there_is_nothing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second, third, fourth = (rng.integers(-5, 6, (400, 4)) for _ in range(4))
        _, event = choose_event(make_targets(4), first, second)
        assert estimate(event, third, fourth, error=ERROR).bound == 0


@pytest.mark.parametrize("swapped", [False, True])
def test_a_difference_that_no_single_cell_shows_is_found(swapped: bool) -> None:
    """Noise shared by two cells cancels in their difference, which only a fitted line looks at."""
    rng = np.random.default_rng(0)

    def look(shift: int) -> Ints:
        shared = rng.integers(-500, 501, (2000, 1))
        return np.hstack([shared + shift, shared]) + rng.integers(0, 2, (2000, 2))

    first, second = (look(2), look(0)) if swapped else (look(0), look(2))
    _, event = choose_event(make_targets(2), first[:1000], second[:1000])
    found = estimate(event, first[1000:], second[1000:], error=ERROR)
    assert event.score.name == "fitted line"
    assert found.bound > 3.5
    assert found.hits > 500 > 10 > found.other_hits
    assert found.bound <= found.most == bound_epsilon(1000, 0, 1000, ERROR)


def test_an_event_is_counted_as_it_was_chosen() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, (500, 1)), rng.integers(1, 5, (500, 1))
    _, event = choose_event(make_targets(1), first, second)
    counted = [sum(row[0] == 0 for row in rows) for rows in (first, second)]
    mirrored = [sum(row[0] == 4 for row in rows) for rows in (first, second)]
    assert [event.count(first), event.count(second)] in (counted, mirrored)  # what the other cannot show
    assert event.is_first_likelier == (event.count(first) > event.count(second))


# Runs.


def test_repeatable_noise_is_drawn_by_the_sampler_of_releases_each_byte_used_once() -> None:
    scale = Fraction(7, 3)
    noise = SeededDigits(5)
    drawn = [noise.draw(scale, count, say_nothing) for count in (3, 0, 5, 2)]
    bytes_of = np.random.default_rng(5).bytes
    for draws in drawn:
        expected = np.empty(len(draws), dtype=np.int64)
        fill_draws(expand_probabilities(scale), bytes_of, expected)
        np.testing.assert_array_equal(draws, expected)
    many = SeededDigits(5).draw(scale, 20_000, say_nothing)
    observed = [int((many == k).sum()) for k in range(-4, 5)]
    law = stats.dlaplace(3 / 7)
    inside = law.pmf(np.arange(-4, 5))
    assert (
        stats.chisquare([*observed, 20_000 - sum(observed)], 20_000 * np.append(inside, 1 - inside.sum()))[1]
        > 0.001
    )


def test_repeatable_noise_is_refused_by_what_makes_releases() -> None:
    plan = plan_case(tt.mechanism("direct-dp"), ATTACKED, epsilon=TWO)
    counts = find_targets(ATTACKED, plan)[0].counts
    with pytest.raises(TypeError, match="A release needs exact noise"):
        door.measure(plan, counts, noise=SeededDigits(5))


def test_without_a_seed_the_measurements_are_those_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_case(tt.mechanism("direct-dp"), ATTACKED, epsilon=TWO)
    counts = find_targets(ATTACKED, plan)[0].counts
    first, second = (measure_with(None)(plan, counts) for _ in range(2))
    assert isinstance(first, PrivateMeasurements)
    assert isinstance(second, PrivateMeasurements)
    assert first.noise == second.noise == DigitNoise.description
    assert any((a != b).any() for a, b in zip(first.values, second.values, strict=True))
    made: list[DigitNoise] = []

    class Counted(DigitNoise):
        def __init__(self) -> None:
            made.append(self)

    monkeypatch.setitem(NOISES, "digits", Counted)
    measure_with(None)(plan, counts)
    measure_with(None)(plan, counts)
    assert len(made) == 2  # each has a sampler of its own, as a release has


def test_the_processors_are_given_back() -> None:
    before = count_processors()
    with pytest.raises(KeyError), one_processor():
        assert count_processors() == 1
        raise KeyError
    assert count_processors() == before


@pytest.mark.parametrize("method", [*map(tt.mechanism, ONE_FOR_EACH_QUERY), PUBLISHED], ids=str)
def test_a_group_is_moved_in_every_region_and_between_all_sizes(method: tt.Mechanism) -> None:
    plan = plan_case(method, ATTACKED, epsilon=TWO)
    pairs = find_targets(ATTACKED, plan)
    for pair in pairs:
        assert pair.loss == plan.epsilon == find_worst_pair(ATTACKED, plan).loss
        for level in range(len(plan.levels)):  # all levels see it
            assert (pair.counts.array(level) != pair.neighbour.array(level)).any()
    assert len({pair.counts.leaf.tobytes() for pair in pairs}) == 1
    moves = {tuple(map(tuple, np.argwhere(pair.neighbour.leaf < pair.counts.leaf))) for pair in pairs}
    full = {((region, size),) for region in (0, 2, 3, 4, 5) for size in range(3)}
    assert moves == {*full, ((1, 0),)}  # the second region has a single group


@pytest.mark.parametrize("protect", ["person", "group"])
@pytest.mark.parametrize("name", ["direct-dp", "cumulative-dp"])
def test_with_a_private_total_a_group_appears_in_every_region(name: str, protect: Protected) -> None:
    case = ATTACKED.under(protect, "private")
    pairs = find_targets(case, plan_case(tt.mechanism(name), case, epsilon=TWO))
    assert [pair.rank for pair in pairs] == sorted((pair.rank for pair in pairs), reverse=True)
    appeared = {
        tuple(np.argwhere(pair.neighbour.leaf > pair.counts.leaf)[0])
        for pair in pairs
        if pair.neighbour.total > pair.counts.total
    }
    sizes = {0} if protect == "person" else {0, 1, 2, 3} if name == "direct-dp" else {1, 2, 3}
    assert appeared == {(region, size) for region in range(6) for size in sizes}
    assert pairs[0].counts.leaf[1].sum() == 0  # in the second one, where there was none


@pytest.mark.parametrize(("case", "runs"), [(ATTACKED, 20_000), (ATTACKED_SMALL, 1000), (ATTACKED, 10)])
def test_half_of_the_runs_are_there_to_choose(case: Case, runs: int) -> None:
    plan = plan_case(tt.mechanism("direct-dp"), case, epsilon=TWO)
    pairs = find_targets(case, plan)
    attacker = Attacker("a test", case, TWO, lambda counts: counts.leaf.ravel(), pairs, [], runs)
    assert attacker.all_runs <= 2 * runs + 100
    assert attacker.all_runs >= 1.95 * runs


# Audits.


def test_the_published_chain_is_caught_by_both_parts() -> None:
    found = audit(PUBLISHED, runs=2000, seed=0, protect="person")
    assert found.is_caught_by_both
    assert found.verdict == found.exact_verdict == found.attack_verdict == Verdict.OVERSPENDS
    assert [each.verdict for each in found.attacks] == [Verdict.OVERSPENDS] * 3  # also by its counts alone
    assert found.attacks[0].stated == Fraction(1 + 6, 2) * 2
    words = conclude(found)
    assert "does NOT keep the epsilon that was asked for, 2" in words
    assert (
        "by enumeration: the exact worst loss is 63/5 = 12.6 where 63/5 = 12.6 is stated for a person"
        in words
    )
    assert "by attack: epsilon is at least" in words


@pytest.mark.parametrize("name", tt.list_mechanisms())
def test_every_mechanism_passes(name: str) -> None:
    announced: list[int] = []
    done: list[int] = []

    def progress(what: str, steps: int) -> Callable[[int], None]:
        announced.append(steps)
        return done.append

    found = audit(name, runs=10, seed=0, progress=progress)
    assert found.verdict == Verdict.HOLDS
    assert all(each.worst.loss == each.stated == 2 for each in found.enumerations)
    assert found.promises == list_promises(tt.mechanism(name))
    public = 2 if name == "cumulative-joint" else 1  # with totals of regions, and without
    for promise in found.promises:
        part = found.under(promise)
        assert len(part.enumerations) == len(list_cases(*promise)) * (public if promise[1] == "public" else 1)
        assert [each.seen for each in part.attacks] == [*SEEN[promise[0]]]
    assert sum(done) == sum(announced)
    assert "kept its stated epsilon in every case tried, for a person (public total)" in conclude(found)


def test_the_same_seed_finds_the_same() -> None:
    run = partial(audit, "topdown", runs=100, protect="group", total="private")
    first, again, other, none = (run(seed=seed).to_dict() for seed in (3, 3, 4, None))
    assert first == again != other
    assert none not in (first, run().to_dict())


def test_it_says_when_there_are_too_few_runs_to_show_anything() -> None:
    run = partial(audit, "topdown", protect="group", total="private")
    assert "so few runs cannot show more than" in conclude(run(runs=20))
    assert "so few runs" not in conclude(run(runs=400))


# Verdicts.


@pytest.mark.parametrize(
    ("loss", "stated", "verdict"),
    [
        (Fraction(1), Fraction(1), Verdict.HOLDS),
        (Fraction(10**30 + 1, 10**30), Fraction(1), Verdict.BROKEN),
        (Fraction(4), Fraction(4), Verdict.OVERSPENDS),
        (Fraction(5), Fraction(4), Verdict.BROKEN),
        (Fraction(1, 2), Fraction(4), Verdict.HOLDS),
        (0.999, Fraction(1), Verdict.HOLDS),
        (1.001, Fraction(1), Verdict.BROKEN),
        (1.001, Fraction(2), Verdict.OVERSPENDS),
        (None, Fraction(10**6), Verdict.BROKEN),
    ],
)
def test_verdicts(loss: Fraction | float | None, stated: Fraction, verdict: Verdict) -> None:
    assert judge(loss, stated=stated, asked=Fraction(1)) == verdict


def test_a_false_claim_is_called_one() -> None:
    found = audit(HalvedJoint(), runs=20, protect="group", total="private")
    assert found.verdict == Verdict.BROKEN
    assert "LOSES MORE THAN IT STATES" in conclude(found)
    assert "exact worst loss is 4 where 2 is stated for a group (private total)" in conclude(found)


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"runs": 9}, {"runs": True}, {"runs": 1.5}, {"seed": -1}])
def test_wrong_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be a whole number"):
        audit("topdown", **wrong)


# All of them.


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two mechanisms rather than all, of which one cannot run."""

    def refuse(self: DirectCP) -> None:
        raise MechanismError("This mechanism needs OR-tools.")

    monkeypatch.setattr(DirectCP, "require", refuse)
    monkeypatch.setattr(audit_run, "list_mechanisms", lambda: ["topdown", "direct-cp"])


def test_one_that_cannot_run_is_said_to_be_skipped(few: None) -> None:
    found = audit_run.audit_all(runs=1000, protect="person", total="public")
    assert found.is_passed
    assert [each.mechanism for each in found.audits] == ["topdown"]
    assert found.skipped == {"direct-cp": "This mechanism needs OR-tools."}


def test_a_control_that_is_not_caught_fails_the_audit(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_run, "list_controls", lambda: [tt.mechanism("cumulative-chain")])
    found = audit_run.audit_all(runs=20, protect="group", total="private")
    assert [each.verdict for each in (*found.audits, *found.controls)] == [Verdict.HOLDS] * 2
    assert not found.is_passed


def test_one_that_needs_a_public_total_is_skipped_where_it_is_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_run, "list_mechanisms", lambda: ["topdown", "count-of-counts"])
    found = audit_run.audit_all(runs=20, protect="group", total="private")
    assert [each.promises for each in found.audits] == [[("group", "private")]]
    assert list(found.skipped) == ["count-of-counts"]
    assert [each.promises for each in found.controls] == [[("group", "public")]]  # it has no other


def test_the_page_of_results_has_every_promise_of_every_mechanism() -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit-results.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+?)` \| (\w+) \| (\w+) \|(.*)\|$", page, re.MULTILINE)
    control = "cumulative-chain (calibration=published)"
    offered = [
        *((name, *promise) for name in tt.list_mechanisms() for promise in list_promises(tt.mechanism(name))),
        *((control, *promise) for promise in list_promises(PUBLISHED)),
    ]
    assert [(name, protect, total) for name, protect, total, _ in rows] == offered
    for name, _, _, text in rows:
        cells = [cell.strip() for cell in text.split("|")]
        if name == control:
            assert cells[5] == "**more than asked for**"
            continue
        assert cells[:3] == ["2", "2", "2"]
        assert all(0 <= float(cell.removesuffix(" of 2")) < 2 for cell in cells[3:5])
        assert float(cells[3].removesuffix(" of 2")) > 0
        assert cells[5] == "holds"


# The command.


@pytest.fixture
def run(run: Run) -> Run:
    """``tallytree audit``."""
    return partial(run, "audit")


def test_a_right_mechanism_has_exit_code_0(run: Run) -> None:
    code, out, err = run("direct-dp", "--runs", "10", "--epsilon", "1/2", "--protect", "group")
    assert (code, err) == (0, "")
    for words in (
        "epsilon 1/2",
        "For a group (public total): all neighbours tried",
        "For a group (private total): all neighbours tried",
        "1+3+8",
        "ragged",
        "measurements",
        "counts",
        "direct-dp kept its stated epsilon",
    ):
        assert words in " ".join(out.split())
    assert "a person" not in out


def test_the_published_chain_has_exit_code_1_and_words_for_it(run: Run) -> None:
    words = ("--protect", "person", "--total", "public")
    code, out, err = run("cumulative-chain", "--option", "calibration=published", "--runs", "1000", *words)
    assert (code, err) == (1, "")
    text = " ".join(out.split())
    assert "does NOT keep the epsilon that was asked for" in text
    assert "Caught by enumeration" in text
    assert "by attack" in text
    assert run("cumulative-chain", "--option", "calibration=sound", "--runs", "40", *words)[0] == 0


def test_json_has_everything_exactly(run: Run) -> None:
    code, out, err = run("cumulative-joint", "--option", "smooth=false", "--runs", "10", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["mechanism"] == "cumulative-joint (smooth=False)"
    assert (found["epsilon_asked"], found["verdict"]) == ("2", "holds")
    assert {each["worst_loss"] for each in found["enumerations"]} == {"2"}
    assert {each["public_totals"] is None for each in found["enumerations"]} == {True, False}
    promises = [(each["protect"], each["total"]) for each in found["promises"]]
    assert promises == list_promises(tt.mechanism("cumulative-joint"))
    assert {each["verdict"] for each in found["promises"]} == {"holds"}
    assert {(each["protect"], each["total"]) for each in found["enumerations"]} == set(promises)
    attacked = [(each["protect"], each["total"], each["seen"]) for each in found["attacks"]]
    assert attacked == [(*promise, seen) for promise in promises for seen in SEEN[promise[0]]]
    assert {"classes" in each for each in found["attacks"]} == {True, False}
    assert all(0 <= each["epsilon_at_least"] < 2 for each in found["attacks"])
    first = found["enumerations"][0]
    assert np.array(first["worst_pair"]).sum() == 2


def test_all_are_audited_and_written_down(run: Run, few: None, tmp_path: Path) -> None:
    code, out, err = run("--all", "--runs", "1000", "--out", "page.md", "--protect", "person")
    assert (code, err) == (0, "")
    assert "Skipped: direct-cp. This mechanism needs OR-tools." in out
    assert "Control, which must be caught" in out
    page = (tmp_path / "page.md").read_text()
    assert "| `topdown` | person | public | 2 | 2 | 2 |" in page
    assert "| `topdown` | person | private | 2 | 2 | 2 |" in page
    assert "skipped: This mechanism needs OR-tools." in page
    assert "**more than asked for**" in page
    code, out, _ = run("--all", "--runs", "20", "--protect", "group", "--total", "private", "--json")
    assert code == 1  # too few runs to catch the control
    assert json.loads(out)["passed"] is False


WRONG: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "Name one mechanism to audit, or say --all"),
    "both": (["topdown", "--all"], "Name one mechanism to audit, or say --all"),
    "mechanism": (["topdwn"], "did you mean 'topdown'?"),
    "option": (["topdown", "--option", "solver=x"], "topdown has no option 'solver'"),
    "option-value": (["direct-dp", "--option", "solver=x"], "There is no solver 'x'"),
    "option-form": (["direct-dp", "--option", "solver"], "is not written as NAME=VALUE"),
    "option-twice": (["direct-dp", *["--option", "solver=tables"] * 2], "is given twice"),
    "option-bool": (["cumulative-joint", "--option", "smooth=1"], "is true or false, not '1'"),
    "option-number": (["direct-qip", "--option", "time_limit=x"], "'x' is not a number"),
    "option-range": (["direct-qip", "--option", "time_limit=-1"], "above zero"),
    "option-all": (["--all", "--option", "solver=x"], "--option goes with one mechanism"),
    "runs-0": (["topdown", "--runs", "0"], "runs must be a whole number from 10"),
    "runs-text": (["topdown", "--runs", "many"], "--runs"),
    "seed": (["topdown", "--seed", "-1"], "seed must be a whole number"),
    "epsilon-0": (["topdown", "--epsilon", "0"], "must be above zero"),
    "epsilon-text": (["topdown", "--epsilon", "one"], "not a number"),
    "epsilon-tiny": (["topdown", "--epsilon", "1e-30"], "too small"),
    "protect": (["topdown", "--protect", "firm"], "'protect' cannot be 'firm'"),
    "total": (["topdown", "--total", "secret"], "'total' cannot be 'secret'"),
    "total-needed": (["direct-qp", "--total", "private"], "direct-qp needs a public total"),
    "out-alone": (["topdown", "--out", "page.md"], "--out goes with --all"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_has_exit_code_2_and_one_message(run: Run, case: str, tmp_path: Path) -> None:
    words, message = WRONG[case]
    check_refused(run(*words), tmp_path, re.escape(message))
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_is_an_error(run: Run, few: None) -> None:
    code, _, err = run("--all", "--runs", "20", "--protect", "group", "--out", "missing/page.md")
    assert code == 2
    assert "cannot be written: No such file or directory" in err


def test_a_solver_that_is_missing_is_an_error_for_one_mechanism(run: Run, few: None) -> None:
    code, _, err = run("direct-cp")
    assert (code, err) == (2, "Error: This mechanism needs OR-tools.\n")
