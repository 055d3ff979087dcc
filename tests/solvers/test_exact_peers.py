"""The exact mechanisms by general solvers against ours and against enumeration."""

import os
import signal
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import tallytree as tt
from tallytree.errors import MechanismError
from tallytree.privacy.noise import ExactNoise
from tallytree.solvers.checks import verify_counts
from tallytree.solvers.general.qip_program import Program, Row, explain_unfinished
from tallytree.solvers.solution import add_weighted_squares
from tests import naive
from tests.instances import Instance, random_instance

needs_gurobi = pytest.mark.skipif(find_spec("gurobipy") is None, reason="gurobipy is not installed")
SOLVERS = ["scip", pytest.param("gurobi", marks=needs_gurobi)]
QIPS = ["direct-qip", "cumulative-qip"]


def small_instance(seed: int, cells: int) -> Instance:
    """The first small enough random problem from this seed on."""
    for attempt in range(seed * 1000, seed * 1000 + 1000):
        instance = random_instance(attempt, levels=3, largest=3)
        total = min(instance.total, 5)
        if len(instance.hierarchy.leaves) * instance.noisy.values[0].shape[1] <= cells:
            return Instance(instance.hierarchy, instance.noisy, total, instance.centre)
    raise AssertionError("no small instance")


SLOW_FOR_CP = {6, 38}
"""Here constraint programming takes longer than for all others together; 20, 30 and 39 are as large."""


@pytest.mark.parametrize("block", range(5))
def test_every_exact_solver_of_the_sizes_model_finds_the_same_objective(block: int) -> None:
    for seed in range(8 * block, 8 * block + 8):
        instance = small_instance(seed, cells=6)
        mechanisms = {
            "direct-dp": tt.mechanism("direct-dp"),
            "tables": tt.mechanism("direct-dp", solver="tables"),
            "direct-qip": tt.mechanism("direct-qip"),
        }
        if seed not in SLOW_FOR_CP:
            mechanisms["direct-cp"] = tt.mechanism("direct-cp")
        solutions = {
            name: mechanism.postprocess(instance.noisy, total=instance.total)
            for name, mechanism in mechanisms.items()
        }
        assert len({solution.objective for solution in solutions.values()}) == 1, solutions
        for solution in solutions.values():
            naive.check_feasible(instance.hierarchy, solution.counts, instance.total)


@needs_gurobi
@pytest.mark.parametrize("block", range(10))
def test_gurobi_finds_the_optimum_of_the_sizes_model(block: int) -> None:
    mechanism = tt.mechanism("direct-qip", solver="gurobi")
    for seed in range(20 * block, 20 * block + 20):  # 200 instances, the min-cost flow as the oracle
        instance = random_instance(seed)
        solution = mechanism.postprocess(instance.noisy, total=instance.total)
        window = max(instance.total, *(int(c.max()) for c in instance.centre))
        assert solution.objective == naive.solve_by_flow(instance, window=window)
        assert solution.objective == naive.objective(instance, solution.counts)
        naive.check_feasible(instance.hierarchy, solution.counts, instance.total)


@needs_gurobi
@pytest.mark.parametrize("block", range(5))
def test_gurobi_finds_the_optimum_far_from_small_counts(block: int) -> None:
    """Large counts, much noise and wrong totals, which take several rounds of chords."""
    mechanism = tt.mechanism("direct-qip", solver="gurobi")
    for seed in range(20 * block, 20 * block + 20):
        instance = random_instance(seed, largest=10**8)
        rng = np.random.default_rng(seed)
        spread = int(10 ** rng.integers(0, 5))
        values = [level + rng.integers(-spread, spread + 1, level.shape) for level in instance.centre]
        noisy = tt.Measurements(instance.noisy.plan, values)
        total = instance.total + int(rng.integers(0, 10 * spread))
        expected = tt.mechanism("direct-dp").postprocess(noisy, total=total)
        assert expected.certificate is not None
        assert expected.certificate.optimal
        assert mechanism.postprocess(noisy, total=total).objective == expected.objective


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("block", range(10))
def test_the_optimum_of_the_cumulative_model_is_found(block: int, solver: str) -> None:
    mechanism = tt.mechanism("cumulative-qip", solver=solver)
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
        plan = mechanism.plan(
            hierarchy,
            sizes=instance.noisy.plan.sizes,
            epsilon=instance.noisy.plan.epsilon,
            budget={level.name: level.epsilon for level in instance.noisy.plan.levels},
        )
        noisy = tt.Measurements(plan, instance.noisy.values)
        solution = mechanism.postprocess(noisy, total=total)
        assert solution.objective == best
        assert solution.solver == solver
        cumulative = [np.cumsum(level, axis=1) for level in solution.counts]
        weights = np.array(instance.weights)
        assert add_weighted_squares(cumulative, instance.noisy.values, weights) == best
        naive.check_feasible(hierarchy, solution.counts, total)


def far_off(mechanism: tt.Mechanism, regions: int) -> tt.Measurements:
    """Answers that look like nothing, of as many regions and 30 sizes."""
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", f"{i}") for i in range(regions - 1)])
    plan = mechanism.plan(h, sizes=(1, 30), epsilon="0.1")
    rng = np.random.default_rng(0)
    return tt.Measurements(plan, [rng.integers(-50, 500, plan.shape(level)) for level in range(2)])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", QIPS)
def test_a_model_that_takes_too_long_is_an_error_with_bound_and_gap(name: str, solver: str) -> None:
    mechanism = tt.mechanism(name, solver=solver, time_limit=0.001)
    said = (
        r"did not finish within 0.001 seconds \(timelimit\): best solution .*, bound [\d,]+, gap .*time_limit"
    )
    with pytest.raises(MechanismError, match=said):
        mechanism.postprocess(far_off(mechanism, 41), total=1000)


@pytest.mark.parametrize(
    ("best", "bound", "said"),
    [
        (200.0, 150.0, "best solution 200, bound 150, gap 25 %"),
        (0.0, 0.0, "best solution 0, bound 0, gap 0 %"),
        (float("inf"), float("-inf"), "best solution none, bound 0, gap unknown"),
        (1e20, 1e20, "best solution none, bound 0, gap unknown"),
    ],
)
def test_an_unfinished_solver_says_how_near_it_came(best: float, bound: float, said: str) -> None:
    error = explain_unfinished("SCIP", 2.5, "timelimit", best=best, bound=bound)
    assert str(error) == (
        f"SCIP did not finish within 2.5 seconds (timelimit): {said}. Allow more with time_limit."
    )


@needs_gurobi
@pytest.mark.parametrize("name", QIPS)
def test_a_model_too_large_for_the_restricted_licence_says_so(name: str) -> None:
    mechanism = tt.mechanism(name, solver="gurobi", time_limit=60)
    try:
        mechanism.postprocess(far_off(mechanism, 71), total=1000)
    except MechanismError as error:
        message = str(error)
    else:
        pytest.skip("the licence here allows models of any size")
    if "did not finish" in message:
        pytest.skip("the licence here allows models of any size, but this one took too long")
    assert message.startswith(
        "A model with 2,130 variables (regions x sizes) is too large for the restricted"
    )


@needs_gurobi
def test_without_a_licence_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRB_LICENSE_FILE", str(tmp_path / "none.lic"))
    mechanism = tt.mechanism("direct-qip", solver="gurobi")
    with pytest.raises(MechanismError, match="Gurobi found no valid licence") as caught:
        mechanism.postprocess(far_off(mechanism, 3), total=1000)
    assert "none.lic" not in str(caught.value)


@needs_gurobi
def test_gurobi_refuses_what_floats_cannot_tell_apart() -> None:
    h = tt.Hierarchy.from_paths(["a"], [("r",)])
    mechanism = tt.mechanism("direct-qip", solver="gurobi")
    plan = mechanism.plan(h, sizes=(1, 2), epsilon="1")
    noisy = tt.Measurements(plan, [np.array([[2**38, -(2**38)]])])
    with pytest.raises(MechanismError, match="too large for Gurobi's floating-point arithmetic"):
        mechanism.postprocess(noisy, total=5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_is_quiet_and_repeats_itself(
    solver: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mechanism = tt.mechanism("cumulative-qip", solver=solver)
    noisy = far_off(mechanism, 6 if solver == "gurobi" else 2)
    first, second = (mechanism.postprocess(noisy, total=1000) for _ in range(2))
    for a, b in zip(first.counts, second.counts, strict=True):
        np.testing.assert_array_equal(a, b)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


@needs_gurobi
def test_a_release_by_gurobi_says_so() -> None:
    counts = tt.GroupCounts(tt.Hierarchy.from_paths(["root"], [("r",)]), (1, 2), [[1, 2]])
    release = tt.release(counts, epsilon=1, mechanism=tt.mechanism("cumulative-qip", solver="gurobi"))
    assert release.verify()
    assert release.manifest["mechanism"]["options"]["solver"] == "gurobi"


@pytest.mark.parametrize("name", QIPS)
@pytest.mark.parametrize("solver", ["gurobbi", "", None, 7, []])
def test_an_unknown_solver_is_refused(name: str, solver: object) -> None:
    with pytest.raises(MechanismError, match=r"There is no solver .*'scip', 'gurobi'"):
        tt.mechanism(name, solver=solver)


@pytest.mark.parametrize("limit", [0, -1, True, "10", float("nan"), float("inf"), None])
def test_a_time_limit_is_a_number_of_seconds(limit: object) -> None:
    with pytest.raises(MechanismError, match="time_limit must be"):
        tt.mechanism("direct-qip", time_limit=limit)


@pytest.mark.parametrize(
    ("name", "options", "library", "module", "extra"),
    [
        ("direct-qip", {}, "pyscipopt", "general.qip_scip", "solvers"),
        ("cumulative-qip", {}, "pyscipopt", "general.qip_scip", "solvers"),
        ("direct-qip", {"solver": "gurobi"}, "gurobipy", "general.qip_gurobi", "gurobi"),
        ("cumulative-qip", {"solver": "gurobi"}, "gurobipy", "general.qip_gurobi", "gurobi"),
        ("direct-cp", {}, "ortools.sat.python", "tree.cp_tables", "solvers"),
    ],
)
def test_without_the_solver_the_error_says_how_to_install_it(
    name: str,
    options: dict[str, str],
    library: str,
    module: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"tallytree.solvers.{module}", raising=False)

    def draw(*args: object) -> None:
        raise AssertionError("noise was drawn for a release that cannot be made")

    monkeypatch.setattr(ExactNoise, "draw", draw)
    counts = tt.GroupCounts(tt.Hierarchy.from_paths(["root"], [("r",)]), (1, 2), [[1, 2]])
    for make in (tt.release, partial(tt.simulate, seed=1)):
        with pytest.raises(MechanismError, match=rf"pip install 'tallytree\[{extra}\]'"):
            make(counts, epsilon=1, mechanism=tt.mechanism(name, **options))


@pytest.mark.parametrize(("solver", "other"), [("scip", "gurobipy"), ("gurobi", "pyscipopt")])
def test_a_solver_does_without_the_other(solver: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if solver == "gurobi" and find_spec("gurobipy") is None:
        pytest.skip("gurobipy is not installed")
    monkeypatch.setitem(sys.modules, other, None)
    for module in ("general.qip_scip", "general.qip_gurobi", "general.qip_model"):
        monkeypatch.delitem(sys.modules, f"tallytree.solvers.{module}", raising=False)
    counts = tt.GroupCounts(tt.Hierarchy.from_paths(["root"], [("r",)]), (1, 2), [[1, 2]])
    run = tt.simulate(counts, epsilon=1, mechanism=tt.mechanism("direct-qip", solver=solver), seed=1)
    assert run.counts[0].sum() == 3


@pytest.mark.parametrize("name", QIPS)
@pytest.mark.parametrize("seed", range(8))
def test_counts_by_a_solver_in_floats_add_up_or_are_refused(name: str, seed: int) -> None:
    """Where the noise is in the millions, SCIP's tolerances are a group wide."""
    rng = np.random.default_rng(seed)
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", f"{i}") for i in range(int(rng.integers(1, 4)))])
    mechanism = tt.mechanism(name, time_limit=5)
    plan = mechanism.plan(h, sizes=(1, int(rng.integers(1, 5))), epsilon=1)
    noisy = [rng.integers(-(10**6), 10**6, plan.shape(level)) for level in range(2)]
    total = int(rng.integers(0, 10**6))
    try:
        solution = mechanism.postprocess(tt.Measurements(plan, noisy), total=total)
    except MechanismError as error:
        assert "do not add up" in str(error) or "did not finish" in str(error)
    else:
        assert all(check.passed for check in verify_counts(h, plan.sizes, solution.counts, total))


def test_one_group_too_few_is_seen() -> None:
    program = Program(
        weights=[1, 1, 1],
        least=[-5, -5, -5],
        most=[5, 5, 5],
        equalities=[Row([(1, 0), (-1, 1), (-1, 2)], 0)],
        steps=[Row([(1, 2), (-1, 1)], 1)],
    )
    assert program.admits([3, 1, 2])
    for wrong in ([3, 1, 3], [2, 1, 2], [3, 2, 1], [4, 2, 2], [8, 2, 6], [-1, -6, 5]):
        assert not program.admits(wrong)


INTERRUPTED = """
import sys
import numpy as np
import tallytree as tt

name, regions, epsilon = sys.argv[1], int(sys.argv[2]), sys.argv[3]
mechanism = tt.mechanism(name)
h = tt.Hierarchy.from_paths(["a", "b"], [("r", f"{i}") for i in range(regions)])
plan = mechanism.plan(h, sizes=(1, 30), epsilon=epsilon)
rng = np.random.default_rng(0)
noisy = tt.Measurements(plan, [rng.integers(-50, 500, plan.shape(level)) for level in range(2)])
mechanism.require()
print("ready", flush=True)
try:
    mechanism.postprocess(noisy, total=1000)
except KeyboardInterrupt:
    print("interrupted")
"""


def measure_processor_time(process: int) -> float:
    """The seconds of processor time that a process has used."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time is read as Linux tells it")
@pytest.mark.parametrize(
    ("name", "regions", "epsilon"),
    [("direct-qip", 400, "0.1"), ("cumulative-qip", 160, "0.1"), ("direct-cp", 5, "2")],
)
def test_an_interruption_is_one_whatever_solver_is_running(name: str, regions: int, epsilon: str) -> None:
    """Solvers that hear it themselves stop, and would leave it at that."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, name, str(regions), epsilon],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        begun = measure_processor_time(child.pid)
        while measure_processor_time(child.pid) < begun + 2:  # until the solver is at work
            assert child.poll() is None, "solved sooner than it could be interrupted"
            os.sched_yield()
        child.send_signal(signal.SIGINT)
        said, trouble = child.communicate(timeout=60)
    assert said.splitlines()[-1:] == ["interrupted"], (said, trouble)
