"""Top-down post-processing against its definition, family by family."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import nnls

import tallytree as tt
from tests import naive
from tests.instances import random_instance

Ints = npt.NDArray[np.int64]


@pytest.mark.parametrize("seed", range(120))
def test_every_level_is_the_optimum_within_the_counts_above_it(seed: int) -> None:
    instance = random_instance(seed)
    h, noisy = instance.hierarchy, instance.noisy.values
    solution = tt.mechanism("topdown").postprocess(instance.noisy, total=instance.total)
    naive.check_feasible(h, solution.counts, instance.total)
    assert solution.objective == sum(
        int(((n - t) ** 2).sum()) for n, t in zip(solution.counts, noisy, strict=True)
    )

    def assert_nearest(found: Ints, wanted: Ints, total: int) -> None:
        best = naive.fill(wanted, total)
        assert ((found - wanted) ** 2).sum() == ((best - wanted) ** 2).sum()
        # Rounding moves no count by one or more from the real least-squares solution.
        heavy = 1e5
        system = np.vstack([np.eye(len(wanted)), np.full(len(wanted), heavy)])
        real, _ = nnls(system, np.append(wanted, heavy * total))
        assert np.abs(found - real).max() < 1 + 1e-4

    assert_nearest(solution.counts[0][0], noisy[0][0], instance.total)
    for level in range(1, len(h.levels)):
        for parent in set(h.parents(level).tolist()):
            children = h.parents(level) == parent
            for size in range(noisy[0].shape[1]):
                assert_nearest(
                    solution.counts[level][children, size],
                    noisy[level][children, size],
                    int(solution.counts[level - 1][parent, size]),
                )


def test_a_lower_level_never_corrects_a_higher_one() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y")])
    mechanism = tt.mechanism("topdown")
    plan = mechanism.plan(h, sizes=(1, 2), epsilon=1)
    roots = [
        mechanism.postprocess(tt.Measurements(plan, [np.array([[7, 3]]), below]), total=10).counts[0]
        for below in (np.array([[7, 0], [0, 3]]), np.array([[0, 50], [0, 50]]))
    ]
    assert roots[0].tolist() == roots[1].tolist() == [[7, 3]]
