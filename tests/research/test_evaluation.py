"""Errors against the truth, by the paper's definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.research.evaluation import Simulation
from tallytree.sizes import get_ends
from tallytree.solvers.solution import Certificate, Solution
from tests.instances import random_instance


@given(st.integers(0, 5_000))
def test_errors_equal_their_definitions(seed: int) -> None:
    instance = random_instance(seed)
    truth = tt.GroupCounts(
        instance.hierarchy,
        instance.noisy.plan.sizes,
        np.array(
            [
                instance.centre[len(path) - 1][instance.hierarchy.regions(len(path) - 1).index(path)]
                for path in instance.hierarchy.leaves
            ]
        ),
    )
    # Any arrays will do as a "solution": here the noisy values themselves, which do not add up.
    solution = Solution(list(instance.noisy.values), 0, Certificate(0), "none", {})
    table = tt.evaluate(Simulation(instance.noisy, solution, instance.total), truth).to_pylist()
    for level, row in enumerate(table):
        noisy, true = instance.noisy.values[level], truth.array(level)
        regions = range(len(noisy))
        l1 = sum(abs(int(noisy[r, s]) - int(true[r, s])) for r in regions for s in range(noisy.shape[1]))
        emd = sum(
            abs(int(noisy[r, : s + 1].sum()) - int(true[r, : s + 1].sum()))
            for r in regions
            for s in range(noisy.shape[1])
        )
        off, low = noisy - true, get_ends(truth.sizes)[0]
        above = sum(abs(int(off[r, s:].sum())) for r in regions for s in range(off.shape[1]))
        violations = 0
        if level + 1 < len(table):
            parents = instance.hierarchy.parents(level + 1)
            for r in set(parents.tolist()):
                below = instance.noisy.values[level + 1][parents == r].sum(axis=0)
                violations += int((below != noisy[r]).sum())
        assert row == {
            "level": instance.hierarchy.levels[level],
            "l1": l1,
            "emd": pytest.approx(emd / len(noisy)),
            "violations": violations,
            "emd_above": pytest.approx(above / len(noisy)),
            "groups_off": pytest.approx(sum(abs(int(off[r].sum())) for r in regions) / len(noisy)),
            "size_sum_off": pytest.approx(
                sum(abs(sum((low + s) * int(off[r, s]) for s in range(off.shape[1]))) for r in regions)
                / len(noisy)
            ),
        }


def test_a_simulation_can_be_repeated_and_is_not_a_release() -> None:
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(h, (1, 5), [[20, 0, 1, 0, 0], [1, 10, 1, 0, 0]])
    first, again, other = (tt.simulate(counts, epsilon="1", seed=seed) for seed in (7, 7, 8))
    for a, b in zip(first.counts, again.counts, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(first.counts, other.counts, strict=True))
    assert not isinstance(first, tt.Release)
    assert not hasattr(first, "save")
    assert tt.evaluate(first, counts)["violations"].to_pylist() == [0, 0]
