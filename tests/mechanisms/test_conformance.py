"""What every mechanism must do. A mechanism is covered from the moment it is registered."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.mechanisms.registry import DEFAULT, MECHANISMS
from tallytree.privacy.neighbours import Bounds, enumerate_additions
from tallytree.privacy.queries import QUERIES
from tallytree.solvers.checks import verify_counts
from tests.instances import random_hierarchy

NAMES = tt.list_mechanisms()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_counts(seed: int, levels: int, sizes: tuple[int, int], largest: int) -> tt.GroupCounts:
    rng = np.random.default_rng(seed)
    hierarchy = random_hierarchy(rng, levels)
    leaf = rng.integers(0, largest + 1, (len(hierarchy.leaves), sizes[1] - sizes[0] + 1))
    return tt.GroupCounts(hierarchy, sizes, leaf)


def test_names_are_unique_and_the_default_is_one_of_them() -> None:
    assert len(set(NAMES)) == len(NAMES) == len(MECHANISMS)
    assert DEFAULT in NAMES


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: str(kind.name))
def test_a_mechanism_describes_itself(kind: type[tt.Mechanism]) -> None:
    for fact in ("name", "symbol", "summary", "cost", "reference"):
        assert getattr(kind, fact).strip()
    assert kind.__doc__
    assert kind.query.name in QUERIES
    assert all(field.kw_only for field in fields(kind))


def assert_conditions(mechanism: str, seed: int, counts: tt.GroupCounts, epsilon: str) -> None:
    run = tt.simulate(counts, epsilon=epsilon, mechanism=mechanism, seed=seed)
    # A relaxation that is rounded promises whole, non-negative counts and nothing else.
    consistent = tt.mechanism(mechanism).consistent
    for check in verify_counts(run.hierarchy, run.sizes, run.counts, counts.total):
        assert check.passed or not (consistent or check.name == "validity"), check
    assert all(array.dtype == np.int64 for array in run.counts)


@pytest.mark.parametrize("mechanism", [kind.name for kind in MECHANISMS if not kind.small])
@given(
    seed=st.integers(0, 10_000),
    levels=st.integers(1, 4),
    low=st.integers(0, 2),
    width=st.integers(0, 4),
    largest=st.sampled_from([0, 3, 10**6]),
    epsilon=st.sampled_from(["0.01", "1", "20"]),
)
def test_simulated_counts_meet_all_conditions(
    mechanism: str, seed: int, levels: int, low: int, width: int, largest: int, epsilon: str
) -> None:
    assert_conditions(mechanism, seed, make_counts(seed, levels, (low, low + width), largest), epsilon)


@pytest.mark.parametrize("mechanism", [kind.name for kind in MECHANISMS if kind.small])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), levels=st.integers(1, 2), low=st.integers(0, 1), width=st.integers(0, 1))
def test_simulated_counts_meet_all_conditions_on_small_problems(
    mechanism: str, seed: int, levels: int, low: int, width: int
) -> None:
    assert_conditions(mechanism, seed, make_counts(seed, levels, (low, low + width), 3), "10")


@pytest.mark.parametrize(
    "kind", [kind for kind in MECHANISMS if not kind.shrinks], ids=lambda kind: kind.name
)
def test_without_noise_the_truth_comes_back(kind: type[tt.Mechanism]) -> None:
    mechanism = kind()
    counts = make_counts(3, 2, (1, 2), 4) if mechanism.small else make_counts(3, 3, (1, 5), 40)
    plan = mechanism.plan(counts.hierarchy, sizes=counts.sizes, epsilon=10)
    solution = mechanism.postprocess(tt.Measurements(plan, plan.answers(counts)), total=counts.total)
    assert solution.objective == 0
    for level, found in enumerate(solution.counts):
        np.testing.assert_array_equal(found, counts.array(level))


def test_the_plan_covers_every_neighbour(name: str) -> None:
    for bounds in (Bounds(), Bounds(max_records=2, max_quantity=2)):
        base = make_counts(5, 3, (0, 3), 2)
        counts = tt.GroupCounts(base.hierarchy, base.sizes, base.leaf, bounds=bounds)
        plan = tt.mechanism(name).plan(counts.hierarchy, sizes=counts.sizes, epsilon="1/7", bounds=bounds)
        here = plan.answers(counts)
        for neighbour in enumerate_additions(counts):
            distances = [np.abs(a - b).sum() for a, b in zip(here, plan.answers(neighbour), strict=True)]
            loss = sum(int(d) / p.scale for d, p in zip(distances, plan.levels, strict=True))
            assert loss <= plan.epsilon


@pytest.mark.parametrize("budget", [None, {"a": 1, "b": 3, "c": 2}], ids=["even", "uneven"])
def test_what_a_solution_says_of_itself_is_worked_out_again(name: str, budget: dict[str, int] | None) -> None:
    method = tt.mechanism(name)
    paths = [("r", "x", "1"), ("r", "x", "2"), ("r", "y")]
    hierarchy = tt.Hierarchy.from_paths(["a", "b", "c"], paths)
    plan = method.plan(hierarchy, sizes=(1, 3), epsilon="2", budget=budget)
    rng = np.random.default_rng(5)
    noisy = tt.Measurements(plan, [rng.integers(-3, 20, plan.shape(at)) for at in range(3)])
    solution = method.postprocess(noisy, total=40)
    evidence = method.assess(noisy, solution.counts, total=40)
    assert (evidence.objective, evidence.certificate) == (solution.objective, solution.certificate)
    moved = [level.copy() for level in solution.counts]
    moved[2][0] += [50, 0, -50]
    assert method.assess(noisy, moved, total=40).objective > solution.objective


def test_post_processing_changes_nothing_that_it_is_given(name: str) -> None:
    mechanism = tt.mechanism(name)
    counts = make_counts(7, 2, (1, 2), 4) if mechanism.small else make_counts(7, 3, (1, 4), 9)
    noisy = tt.simulate(counts, epsilon=10, mechanism=name, seed=1).measurements
    before = [values.copy() for values in noisy.values]
    first, second = (mechanism.postprocess(noisy, total=counts.total) for _ in range(2))
    for a, b in zip(before, noisy.values, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(first.counts, second.counts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_release_is_made_and_verified_or_refused(name: str) -> None:
    small = tt.mechanism(name).small
    counts = make_counts(11, 2, (1, 2), 4) if small else make_counts(11, 3, (1, 6), 30)
    if not tt.mechanism(name).consistent:
        with pytest.raises(MechanismError, match="cannot make a release: its counts do not add up"):
            tt.release(counts, epsilon="10", mechanism=name)
        return
    release = tt.release(counts, epsilon="10", mechanism=name)
    assert release.verify()
    assert release.manifest["mechanism"]["name"] == name
