"""The exact mechanisms by general solvers against ours and against enumeration."""

import sys
from functools import partial
from itertools import combinations

import numpy as np
import pytest

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.postprocess.objective import add_weighted_squares
from tallytree.privacy.noise import ExactNoise
from tests import naive
from tests.instances import Instance, random_instance


def small_instance(seed: int, cells: int) -> Instance:
    """The first small enough random problem from this seed on."""
    for attempt in range(seed * 1000, seed * 1000 + 1000):
        instance = random_instance(attempt, levels=3, largest=3)
        total = min(instance.total, 5)
        if len(instance.hierarchy.leaves) * instance.noisy.values[0].shape[1] <= cells:
            return Instance(instance.hierarchy, instance.noisy, total, instance.centre)
    raise AssertionError("no small instance")


@pytest.mark.parametrize("block", range(10))
def test_every_exact_solver_of_the_sizes_model_finds_the_same_objective(block: int) -> None:
    for seed in range(12 * block, 12 * block + 12):
        instance = small_instance(seed, cells=6)
        solutions = {
            name: mechanism.postprocess(instance.noisy, total=instance.total)
            for name, mechanism in {
                "direct-dp": tt.mechanism("direct-dp"),
                "tables": tt.mechanism("direct-dp", solver="tables"),
                "direct-cp": tt.mechanism("direct-cp"),
                "direct-qip": tt.mechanism("direct-qip"),
            }.items()
        }
        assert len({solution.objective for solution in solutions.values()}) == 1, solutions
        for solution in solutions.values():
            leaf = naive.leaf_counts(instance.hierarchy, solution.counts)
            for found, expected in zip(solution.counts, naive.sum_up(instance.hierarchy, leaf), strict=True):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("block", range(10))
def test_scip_finds_the_optimum_of_the_cumulative_model(block: int) -> None:
    for seed in range(12 * block, 12 * block + 12):
        instance = small_instance(seed, cells=6)
        hierarchy, total = instance.hierarchy, instance.total
        shape = (len(hierarchy.leaves), instance.noisy.values[0].shape[1])
        cells = shape[0] * shape[1]
        best = min(
            add_weighted_squares(
                [np.cumsum(n, axis=1) for n in naive.sum_up(hierarchy, leaf.reshape(shape))],
                instance.noisy.values,
                np.array(instance.weights),
            )
            for bars in combinations(range(total + cells - 1), cells - 1)
            for leaf in [np.diff([-1, *bars, total + cells - 1]) - 1]
        )
        plan = tt.mechanism("cumulative-qip").plan(
            hierarchy,
            sizes=instance.noisy.plan.sizes,
            epsilon=instance.noisy.plan.epsilon,
            budget={level.name: level.epsilon for level in instance.noisy.plan.levels},
        )
        noisy = tt.Measurements(plan, instance.noisy.values)
        assert tt.mechanism("cumulative-qip").postprocess(noisy, total=total).objective == best


def test_a_model_that_takes_too_long_is_an_error_with_bound_and_gap() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", f"{i}") for i in range(40)])
    mechanism = tt.mechanism("cumulative-qip", time_limit=0.001)
    plan = mechanism.plan(h, sizes=(1, 30), epsilon="0.1")
    rng = np.random.default_rng(0)
    noisy = tt.Measurements(plan, [rng.integers(-50, 500, plan.shape(level)) for level in range(2)])
    with pytest.raises(MechanismError, match=r"did not finish within 0.001 seconds .*bound .*gap"):
        mechanism.postprocess(noisy, total=1000)


@pytest.mark.parametrize("limit", [0, -1, True, "10", float("nan"), float("inf"), None])
def test_a_time_limit_is_a_number_of_seconds(limit: object) -> None:
    with pytest.raises(MechanismError, match="time_limit must be"):
        tt.mechanism("direct-qip", time_limit=limit)


@pytest.mark.parametrize(
    ("name", "library", "module"),
    [
        ("direct-qip", "pyscipopt", "qip_model"),
        ("cumulative-qip", "pyscipopt", "qip_model"),
        ("direct-cp", "ortools.sat.python", "cp_tables"),
    ],
)
def test_without_the_solver_the_error_says_how_to_install_it(
    name: str, library: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"tallytree.postprocess.{module}", raising=False)

    def draw(*args: object) -> None:
        raise AssertionError("noise was drawn for a release that cannot be made")

    monkeypatch.setattr(ExactNoise, "draw", draw)
    counts = tt.GroupCounts(tt.Hierarchy.from_paths(["root"], [("r",)]), (1, 2), [[1, 2]])
    for make in (tt.release, partial(tt.simulate, seed=1)):
        with pytest.raises(MechanismError, match=r"pip install 'tallytree\[solvers\]'"):
            make(counts, epsilon=1, mechanism=name)
