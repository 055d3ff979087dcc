"""The peers of the benchmarks: they solve the same problem as we do, and what is said about them."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks import ladders, noise, people, whole_run
from benchmarks.direct import DirectReport, TablesRun, run_tables
from benchmarks.fits import compare_chain, compare_rows
from benchmarks.growth import Growth, MemoryUse, measure_scaling
from benchmarks.instances import DIRECT, JOINT, PLAIN_JOINT, Instance, measure_counts
from benchmarks.joint import JointReport, run_joint_piqp, run_splits
from benchmarks.ladders import Climb, Ladder, Model, Rung, Step, climb, list_models, time_steps
from benchmarks.mechanisms import Case, Runtime, Series, Survey, time_cases
from benchmarks.noise import Draws, measure_noise
from benchmarks.people import Measured, Run, run_command
from benchmarks.piqp_contests import run_piqp
from benchmarks.programs import DIRECT_FORMS, JOINT_FORMS, Outcome, Posed, Solve, write_program
from benchmarks.reconciliation import Reconciliation, find_optimum, reconcile, write_summing_matrix
from benchmarks.records import publish
from benchmarks.relaxations import find_point, relax_tree
from benchmarks.solvers import DIRECT_SOLVERS, RELAXED, Solver
from benchmarks.solvers.piqp_solver import solve_program
from benchmarks.whole_run import Report, draw_pictures, list_goals

import tallytree as tt
from tallytree.datasets.invented import generate_city
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.research.reproduction.runs import run_in_child
from tallytree.solvers.solution import weigh_levels

MODELS = list_models()
AGREEMENT = 1e-6


def draw_instance(variant: Variant, seed: int) -> Instance:
    """A small random tree, with counts so small that many noisy answers are negative."""
    rng = np.random.default_rng(seed)
    paths = [("all", f"{a}", f"{a}{b}") for a in range(3) for b in range(rng.integers(1, 5))]
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
    counts = tt.GroupCounts(hierarchy, (1, 6), rng.poisson(4.0, (len(paths), 6)))
    budget = {"nation": 1, "state": int(rng.integers(1, 4)), "county": 2}
    return measure_counts(variant.make(), counts, "0.5", budget)


def compare_relaxed(model: int, solver: int) -> None:
    """A general solver finds our relaxed optimum."""
    for seed in range(3):
        instance = draw_instance(MODELS[model].variant, seed)
        program = write_program(instance, MODELS[model].form)
        outcome = RELAXED[solver].prepare(Posed(instance, program))()
        assert outcome.solved, outcome.status
        assert program.violation(outcome.y) < 1e-5
        assert program.objective(outcome.y) == pytest.approx(
            MODELS[model].relax(instance).objective, rel=AGREEMENT
        )


@pytest.mark.parametrize("solver", range(len(RELAXED)), ids=[solver.name for solver in RELAXED])
@pytest.mark.parametrize("model", range(len(MODELS)), ids=[model.name for model in MODELS])
def test_a_general_solver_finds_our_relaxed_optimum(model: int, solver: int) -> None:
    if RELAXED[solver].name == "HiGHS":  # which cannot be where OR-tools is
        assert run_in_child(partial(compare_relaxed, model, solver)) is None
    else:
        compare_relaxed(model, solver)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_solvers_for_whole_numbers_are_no_better_than_the_relaxed_optimum(model: Model) -> None:
    instance = draw_instance(model.variant, 4)
    program = write_program(instance, model.form)
    ours = instance.solve().objective
    for solver in model.solvers:
        if solver.whole:
            y = solver.prepare(Posed(instance, program))().y
            assert program.violation(y) == 0.0
            assert model.relax(instance).objective <= program.objective(y) <= ours
            assert solver not in DIRECT_SOLVERS or program.objective(y) == ours


def test_tolerances_are_those_of_the_installed_versions() -> None:
    for solver in RELAXED:
        assert solver.tolerances and re.search(r"1e-0\d", solver.tolerances())


def take_steps(solver: Solver, model: Model, steps: Sequence[Step]) -> Climb:
    """What a child does, in this process."""
    rungs = [outcome for outcome in time_steps(solver, model, steps) if isinstance(outcome, Rung)]
    return Climb(solver, rungs)


@pytest.fixture(scope="module")
def ladder() -> Ladder:
    steps = [Step("city", sizes) for sizes in (1, 2, 3, 4)]
    model = MODELS[0]
    piqp, tables = take_steps(RELAXED[0], model, steps), take_steps(DIRECT_SOLVERS[-1], model, steps[:2])
    slow = climb(RELAXED[-1], model, [Step("city", 4)], most_seconds=0.1)
    return Ladder(model, steps, [270, 540, 810, 1080], 0.1, [piqp, tables, slow])


def test_a_solver_that_takes_too_long_is_given_up_and_marked(ladder: Ladder) -> None:
    slow = ladder.climbs[-1]
    assert not slow.rungs and slow.stopped_at == Step("city", 4)
    assert slow.failure and slow.failure.timed_out
    page = ladders.write(ladders.record(ladder))
    assert re.search(r"^\| SCIP \|  \|  \|  \| over 0 s \|", page, flags=re.MULTILINE)
    picture = ladders.draw_times(ladder)
    ElementTree.fromstring(picture)
    assert ">SCIP<" in picture and picture.count("m-5 -5l10 10") == 1


def test_what_is_said_about_general_solvers(ladder: Ladder) -> None:
    piqp, tables, _ = ladder.climbs
    assert [rung.cells for rung in piqp.rungs] == ladder.cells
    assert piqp.growth is not None and tables.growth is None  # of two sizes nothing can be said
    assert all(abs(rung.difference) < AGREEMENT for rung in piqp.rungs)
    assert all(rung.difference == 0.0 for rung in tables.rungs)
    check_tables(ladders.write(ladders.record(ladder)), 4)


def test_a_solver_that_fails_says_why_and_is_not_timed() -> None:
    def fail(posed: Posed) -> Solve:
        raise ValueError("no")

    def give_up(posed: Posed) -> Solve:
        return lambda: Outcome(posed.program.lower, False, "out of luck", 1, 0.0)

    for prepare, reason in ((fail, "ValueError('no')"), (give_up, "not solved: out of luck")):
        solver = Solver("broken", "none", prepare)
        ready, failure = time_steps(solver, MODELS[0], [Step("city", 1)])
        assert ready is None and failure and not isinstance(failure, Rung)
        assert failure.reason == reason


def test_solvers_must_agree_with_us(ladder: Ladder) -> None:
    assert ladders.judge([ladder])[0].met
    piqp = ladder.climbs[0]
    for factor in (1 + 2e-6, 1 - 2e-6):  # neither may be better than the other
        off = replace(piqp.rungs[0], objective=factor * piqp.rungs[0].reference)
        worse = replace(ladder, climbs=[replace(piqp, rungs=[off, *piqp.rungs])])
        assert not ladders.judge([worse])[0].met
    assert ladders.judge([replace(ladder, climbs=[])])[0].measured == "not measured"


def make_even_instance() -> Instance:
    return measure_counts(DIRECT.make(), generate_city(4), "1")


def test_our_relaxed_tree_is_feasible_and_below_whole_numbers() -> None:
    instance = make_even_instance()
    point = relax_tree(instance)
    assert point.leaf.min() >= 0.0
    assert point.leaf.sum() == pytest.approx(instance.total, rel=1e-12)
    assert point.objective <= instance.solve().objective


def test_reconciliation_is_of_the_same_hierarchy() -> None:
    hierarchy = draw_instance(DIRECT, 5).measurements.plan.hierarchy
    leaf = np.random.default_rng(5).poisson(9.0, (len(hierarchy.leaves), 2))
    counts = tt.GroupCounts(hierarchy, (1, 2), leaf)
    expected = np.concatenate([counts.array(level) for level in hierarchy.levels])
    np.testing.assert_array_equal(write_summing_matrix(hierarchy) @ leaf, expected)


def test_the_optimum_without_a_total_is_that_of_a_general_solver() -> None:
    instance = make_even_instance()
    plan = instance.measurements.plan
    clipped = [np.maximum(values, 0) for values in instance.measurements.values]
    posed = Instance(instance.method, tt.Measurements(plan, clipped), instance.total)
    program = write_program(posed, DIRECT_FORMS[-1])
    free = replace(program, equalities=program.equalities[:-1], right_side=program.right_side[:-1])
    optimum, total = find_optimum(plan.hierarchy, clipped, weigh_levels(plan.scales))
    y = solve_program(free).y
    assert optimum == pytest.approx(free.objective(y), rel=1e-7)
    assert total == pytest.approx((y - free.lower)[:4].sum(), rel=1e-4)


@pytest.fixture(scope="module")
def reconciliation() -> Reconciliation:
    if find_spec("hierarchicalforecast") is None:
        pytest.skip("forecast reconciliation is not installed")
    found = run_in_child(partial(reconcile, make_even_instance()))  # it loads HiGHS
    assert isinstance(found, Reconciliation)
    return found


def test_reconciliation_finds_our_relaxed_optimum_where_counts_are_small(
    reconciliation: Reconciliation,
) -> None:
    assert reconciliation.negative > 0.1
    assert -1e-9 < reconciliation.difference < 1e-5


def test_noise_is_judged_by_its_slowest_scale() -> None:
    report = measure_noise(1, draws=1000, peer_draws=10, sizes=[1, 2])
    assert [case.cells for case in report.hierarchies] == [3197, 6394]
    fast, slow = Draws(Fraction(3), 1e-9, 1e-6), Draws(Fraction(3), 1e-9, 39e-9)
    assert noise.judge(replace(report, draws=[fast]))[0].met
    assert not noise.judge(replace(report, draws=[fast, slow]))[0].met
    assert not noise.judge(report)[1].met  # too few sizes to say anything about the Census
    full = replace(report, hierarchies=[replace(report.hierarchies[0], sizes=1000)])
    assert noise.judge(full)[1].met
    assert [goal.measured for goal in noise.judge(None)] == ["not measured"] * 2


FACTORS = {"bare": 1.0, "count": 1.5, "persons": 1.7, "release": 1.9}


def make_people(people: int, seconds: float) -> Measured:
    runs = {name: Run(seconds * factor, 10**9) for name, factor in FACTORS.items()}
    return Measured(0.1, people, people // 3, 1, 1.0, runs)


def test_the_memory_of_a_command_is_its_own() -> None:
    ballast = b"x" * 2**28  # more than Python itself takes
    assert 2**20 < run_command([sys.executable, "-c", "print(1)"]).peak < len(ballast) / 4
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_command([sys.executable, "-c", "raise SystemExit(3)"])


def test_people_are_judged_by_the_largest_file() -> None:
    measured = [make_people(10**power, 10.0 ** (power - 6)) for power in (5, 6, 7, 8)]
    assert all(goal.met for goal in people.judge(measured))
    slow = {**measured[-1].runs, "release": Run(201.0, 9 * 10**9)}
    assert [goal.met for goal in people.judge([*measured[:-1], replace(measured[-1], runs=slow)])] == [
        False, False, True,
    ]  # fmt: skip
    quadratic = [make_people(10**power, 100.0**power) for power in (5, 6, 7, 8)]
    assert [goal.met for goal in people.judge(quadratic)] == [True, True, False]
    assert not any(goal.met for goal in people.judge([]))


def test_the_page_about_people_judges_its_goals() -> None:
    measured = [make_people(10**power, 10.0 ** (power - 6)) for power in (6, 7, 8)]
    page = people.write_page({"facts": {"Processor": "one"}, **people.record(measured)})
    assert page.count("| yes |") == 4  # speed, memory, and growth from each file to the next
    assert "| 1.90 times; counting alone 1.50 times | yes |" in page


def check_tables(page: str, count: int | None = None) -> None:
    tables = re.findall(r"(?:^\|.*\|\n?)+", page, flags=re.MULTILINE)
    assert count is None or len(tables) == count
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines()}) == 1
    assert not re.search(r"\b(nan|inf)\b", page)


@pytest.fixture(scope="module")
def report(ladder: Ladder, reconciliation: Reconciliation) -> Report:
    """Everything that a run measures, tiny and in one process but for the time limit."""
    direct, smoothed, plain = [
        Growth(variant.label, 1, measure_scaling(variant, (2, 3), ("1",), repeats=1), MemoryUse(1, 2, 3))
        for variant in (DIRECT, JOINT, PLAIN_JOINT)
    ]
    tables = run_tables(1, "1", rounds=1)
    assert isinstance(tables, TablesRun)
    case = Case(generate_city, 2, "1")
    runtimes = [run for run in time_cases(Variant("topdown"), [case], calls=1) if isinstance(run, Runtime)]
    survey = Survey([case], 1.0, [Series(Variant("topdown"), runtimes)])
    return Report(
        facts={"Processor": "one"},
        quick=False,
        direct=DirectReport(direct, 1, [run_piqp(DIRECT, 2, "1", DIRECT_FORMS[-1], 1)], [tables]),
        joint=JointReport(
            smoothed=smoothed,
            plain=plain,
            rounds=1,
            fit_rounds=1,
            piqp=[run_joint_piqp(3, "1", JOINT_FORMS[-1], 1)],
            points=[find_point(3, "1")],
            fits=[compare_rows(JOINT, 3, "1", rounds=1)],
            splits=run_splits((JOINT, PLAIN_JOINT), 3, "1", [(1, 2, 7)], rounds=1),
        ),
        nation=survey,
        fits=[compare_rows(Variant("cumulative-dp"), 3, "1", 1), compare_chain(3, "1", 1)],
        fit_rounds=1,
        ladders=[ladder, replace(ladder, model=MODELS[1])],
        reconciliations=[replace(reconciliation, cells=cells) for cells in (10, 20, 30, 40)],
        noise=measure_noise(1, draws=1000, peer_draws=10, sizes=[1]),
        people=[make_people(10**power, 1.0) for power in (5, 6, 7, 8)],
        people_rounds=1,
        missing=[],
    )


def test_the_page_has_every_goal(report: Report, tmp_path: Path) -> None:
    publish("bench", whole_run.record(report), whole_run.write_page, tmp_path / "RESULTS.md")
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page == whole_run.write_page(whole_run.record(report))  # nothing is lost as data
    goals = list_goals(report)
    for peer in ("PIQP", "cost tables", "isotonic", "general solver", "OpenDP", "DuckDB", "`cumulative-qp`"):
        assert any(peer in goal.statement for goal in goals), peer
    for goal in goals:
        assert f"| {goal.statement} | {goal.measured} |" in page
    check_tables(page)
    for name, picture in draw_pictures(report).items():
        assert f"({name})" in page
        ElementTree.fromstring(picture)
    for peer in ("Clarabel", "OSQP", "HiGHS", "SCIP", "hierarchicalforecast", "cost tables", "DuckDB"):
        assert peer in page


def test_what_could_not_be_measured_is_no_reason_to_fail(report: Report) -> None:
    empty = replace(report, reconciliations=[], noise=None, people=[])
    page = whole_run.write_page(whole_run.record(empty))
    check_tables(page)
    goals: list[Goal] = list_goals(empty)
    assert [goal.measured for goal in goals[-5:]] == ["not measured"] * 5
