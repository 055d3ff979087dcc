"""The benchmarks' own machinery: what is timed, how it is given up, and what is said about it."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks import firms, joint, planning, records, startup
from benchmarks.__main__ import write_pages
from benchmarks.fits import compare_rows
from benchmarks.growth import Growth, MemoryUse, measure_scaling
from benchmarks.instances import JOINT, PLAIN_JOINT, make_instance, measure_counts
from benchmarks.joint import JointPiqpRun, JointReport, run_joint_piqp, run_splits
from benchmarks.mechanisms import Case, list_variants, measure_series, time_cases
from benchmarks.programs import JOINT_FORMS, Form, write_program
from benchmarks.relaxations import find_point, pose
from benchmarks.solvers.piqp_solver import solve_program
from benchmarks.suppression import suppress
from benchmarks.timing import Timing
from benchmarks.timing_leaks import TimedScale, count_up, find_leak, record_leaks, split_sizes, write_leaks

import tallytree as tt
from tallytree.datasets.invented import MOST_PICKUPS, TAXIS, generate_city
from tallytree.drawing.charts import Curve, draw
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.research.reproduction.runs import Child, Failure, run_in_child
from tallytree.solvers.general.conditions import Conditions, write_steps, write_sums
from tallytree.solvers.general.qp_model import solve_relaxed
from tallytree.solvers.joint.joint_relaxation import relax_joint_model
from tallytree.solvers.solution import Solution


def yield_then_hang() -> Iterator[int]:
    yield 1
    time.sleep(600)
    yield 2


def use_too_much_memory() -> int:
    return len(bytearray(2**40))


def test_a_child_that_hangs_is_ended() -> None:
    with Child(yield_then_hang) as child:
        assert child.receive() == 1
        assert child.receive(0.2) == Failure("no answer within 0 s", timed_out=True)
        assert child.process.is_alive()
    assert child.process.exitcode == -9


def test_a_child_that_needs_too_much_memory_says_so() -> None:
    assert run_in_child(use_too_much_memory) == Failure("needs more than 16 GB")


def test_every_mechanism_is_timed() -> None:
    variants = list_variants()
    assert {variant.mechanism for variant in variants} == set(tt.list_mechanisms())
    assert len({variant.label for variant in variants}) == len(variants)
    for variant in variants:
        assert variant.make().name == variant.mechanism


def test_the_city_has_the_paper_s_shape() -> None:
    city = generate_city(MOST_PICKUPS)
    assert [len(city.hierarchy.regions(level)) for level in city.hierarchy.levels] == [1, 6, 263]
    assert city.total == TAXIS
    pickups = int(city.leaf.sum(axis=0) @ np.arange(1, MOST_PICKUPS + 1))
    assert abs(pickups / 24_489_743 - 1) < 0.1
    np.testing.assert_array_equal(generate_city(50).leaf, city.leaf[:, :50])


def test_a_variant_is_timed_case_by_case_until_it_refuses() -> None:
    cases = [Case(generate_city, sizes, "1") for sizes in (1, 2)]
    ready, *runtimes = time_cases(Variant("topdown"), cases, calls=2)
    assert ready is None
    assert [run.case for run in runtimes if run and not isinstance(run, Failure)] == cases
    series = measure_series(
        Variant("cumulative-chain", {"solver": "tables"}), cases, most_seconds=60.0, calls=1
    )
    assert not series.runtimes
    assert series.stopped_at == cases[0]
    assert series.failure and "entries" in series.failure.reason and not series.failure.timed_out


def test_a_wrong_solution_is_not_timed() -> None:
    instance = measure_counts(tt.mechanism("topdown"), generate_city(2), "1")
    right = instance.solve()
    instance.check(right)
    wrong = [level.copy() for level in right.counts]
    wrong[-1][0, 0] += 1
    with pytest.raises(AssertionError, match="topdown does not hold"):
        instance.check(Solution(wrong, right.objective, None, right.solver, {}))


def test_a_picture_names_every_curve_without_overlap() -> None:
    curves = [Curve(f"curve {i}", [(5, 0.001), (50, 0.002 + i / 1e6)]) for i in range(15)]
    curves += [Curve(f"slow {i}", [], given_up=(5, 60)) for i in range(3)]
    picture = ElementTree.fromstring(draw(curves, "N", linear=True, limit=60))
    texts = {element.text: element for element in picture.iter() if element.tag.endswith("text")}
    heights = sorted(float(texts[curve.name].attrib["y"]) for curve in curves)
    assert min(np.diff(heights)) > 12
    _, _, _, height = map(float, picture.attrib["viewBox"].split())
    assert heights[0] > 0 and heights[-1] < height
    assert len(re.findall("m-5 -5l10 10", draw(curves, "N", linear=True, limit=60))) == 3


SIZES = (3, 6)


@pytest.fixture(scope="module")
def joint_report() -> JointReport:
    """What a run measures, small and in one process."""
    smoothed, plain = [
        Growth(variant.label, 1, measure_scaling(variant, SIZES, ("1",), repeats=1), MemoryUse(1, 2, 3))
        for variant in (JOINT, PLAIN_JOINT)
    ]
    return JointReport(
        smoothed=smoothed,
        plain=plain,
        rounds=1,
        fit_rounds=1,
        piqp=[run_joint_piqp(6, "1", form, rounds=1) for form in JOINT_FORMS],
        points=[find_point(6, "1")],
        fits=[compare_rows(variant, 6, "1", rounds=1) for variant in (JOINT, PLAIN_JOINT)],
        splits=run_splits((JOINT, PLAIN_JOINT), 6, "1", [(1, 2, 7), (7, 2, 1)], rounds=1),
    )


@pytest.mark.parametrize("form", JOINT_FORMS, ids=lambda form: form.label)
def test_piqp_is_given_model_m_c(form: Form) -> None:
    instance = measure_counts(PLAIN_JOINT.make(), generate_city(6), "1")
    plan, values = instance.measurements.plan, instance.measurements.values
    sums = write_sums(plan.hierarchy, 6, instance.total, total_columns=[5])
    steps = write_steps(plan.hierarchy.region_count, 6)
    levels, _ = solve_relaxed(values, plan.scales, Conditions(sums.equalities, sums.right, steps))
    expected = sum(float(((x - c) ** 2).sum()) for x, c in zip(levels, values, strict=True))
    program = write_program(instance, form)
    y = solve_program(program).y
    assert program.objective(y) == pytest.approx(expected, rel=1e-7)
    assert program.violation(y) < 1e-6
    assert program.steps is not None
    regions = len(plan.hierarchy.leaves) if form.leaves_only else plan.hierarchy.region_count
    assert program.steps.shape == (regions * 5, instance.cells)
    falling = np.tile(np.arange(6.0)[::-1], plan.hierarchy.region_count) + program.lower  # x = 5, 4, ..., 0
    assert (program.steps @ falling < program.least_steps).all()


def test_the_relaxed_point_is_that_of_the_solver() -> None:
    instance = make_instance(6, "1", PLAIN_JOINT)
    stated = instance.solve().accuracy
    assert stated and relax_joint_model(pose(instance)).accuracy == stated
    point = find_point(6, "1")
    assert point.bound == stated.bound
    assert -1e-9 < point.gap < 1e-6  # not below the bound, but for rounding


def test_a_split_is_that_of_the_plan() -> None:
    budget = {"city": 7, "borough": 2, "zone": 1}
    plan = measure_counts(JOINT.make(), generate_city(2), "1", budget).measurements.plan
    assert [level.epsilon for level in plan.levels] == [Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)]


def test_what_is_said_about_cumulative_joint(joint_report: JointReport) -> None:
    page = joint.write(joint.record(joint_report))
    tables = re.findall(r"(?:^\|.*\|\n?)+", page, flags=re.MULTILINE)
    assert len(tables) == 8
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines()}) == 1
    assert "7 : 2 : 1" in page and "nan" not in page and "inf" not in page
    assert "PIQP, eps 1" in joint.draw(joint_report)


def find_goal(report: JointReport, words: str) -> Goal:
    (goal,) = [goal for goal in joint.judge(report) if words in goal.statement]
    return goal


def test_goals_are_judged_by_the_worst_run(joint_report: JointReport) -> None:
    assert find_goal(joint_report, "relaxed optimum is PIQP's").met
    assert find_goal(joint_report, "duality gap").met
    point, run = joint_report.points[0], joint_report.piqp[0]
    for factor in (1 + 2e-6, 1 - 2e-6):  # neither may be better than the other
        off = JointPiqpRun(run.piqp, replace(run.ours, objective=factor * run.piqp.objective))
        assert not find_goal(replace(joint_report, piqp=[run, off]), "relaxed optimum is PIQP's").met
    worse = replace(point, objective=point.bound * (1 + 2e-6))
    assert not find_goal(replace(joint_report, points=[point, worse]), "duality gap").met
    contest = joint_report.fits[0]
    slow = replace(contest, whole=Timing(41 * contest.scipy.seconds, 1.0))
    assert not find_goal(replace(joint_report, fits=[contest, slow]), "isotonic fits").met
    heavy = replace(joint_report.smoothed, memory=MemoryUse(1, 2, 4 * 10**9))
    assert not find_goal(replace(joint_report, smoothed=heavy), "`cumulative-joint`: peak memory").met


def test_a_goal_without_numbers_is_not_met(joint_report: JointReport) -> None:
    empty = replace(joint_report, piqp=[], points=[], fits=[])
    assert [goal.measured for goal in joint.judge(empty)[:4]] == ["not measured"] * 4
    assert not any(goal.met for goal in joint.judge(empty)[:4])


def test_every_page_is_what_its_data_are() -> None:
    """If not, one of them was changed by hand: `make pages` writes the pages anew."""
    for name, page in write_pages().items():
        assert (records.FOLDER / name).read_text(encoding="utf-8") == page, name


def test_data_are_kept_topic_by_topic(tmp_path: Path) -> None:
    rows = [{"people": 10**power, "s": 2.0 * 10**power, "missing": None} for power in range(4)]
    growth = records.find_exponents(rows, "people", "s")
    assert growth == {"s": pytest.approx(1.0)}
    assert records.find_exponents(rows[:3], "people", "s") == {}
    records.publish("one", {"rows": rows, "name": "ü"}, lambda data: data["name"], tmp_path / "ONE.md")
    records.publish("two", growth, lambda data: "two", tmp_path / "TWO.md")
    kept = tmp_path / records.FILE
    assert records.read_data("one", kept) == {"rows": rows, "name": "ü"}
    assert records.read_data("two", kept) == growth
    assert (tmp_path / "ONE.md").read_text(encoding="utf-8") == "ü"
    records.publish("one", {"rows": []}, str, tmp_path / "ONE.md")
    assert records.read_data("one", kept) == {"rows": []}
    odd = {"s": float("nan"), "n": np.int64(3), "pair": (np.float64(0.5), float("inf"))}
    records.publish("one", odd, str, tmp_path / "ONE.md")  # after hours of measuring
    assert records.read_data("one", kept) == {"s": None, "n": 3, "pair": [0.5, None]}


def test_a_table_shows_what_its_data_hold() -> None:
    table = records.Table[int](
        ("n", lambda n: n, "{:,}"), ("half", lambda n: n / 2 if n % 2 else None, "{:.1f}")
    )
    rows = table.record([1, 2000])
    assert rows == [{"n": 1, "half": 0.5}, {"n": 2000, "half": None}]
    assert table.write(rows, {"half": 1.0}).splitlines() == [
        "| n | half |", "| --- | --- |", "| 1 | 0.5 |", "| 2,000 |  |", "| growth exponent | 1.00 |",
    ]  # fmt: skip


def test_the_planning_page_judges_its_goals() -> None:
    rng = np.random.default_rng(3)
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", str(i)) for i in range(5)])
    truth = tt.GroupCounts(h, (1, 12), rng.poisson(400 * np.exp(-np.arange(12) / 2), (5, 12)))
    page = planning.write_page(planning.measure(truth, ["1"], 2))
    assert "## Epsilon 1: nation" in page
    assert page.count("| yes |") + page.count("| **no** |") == 2
    assert "page for choosing" not in page


def test_what_the_page_for_choosing_says_is_compared_with_fresh_simulations() -> None:
    rng = np.random.default_rng(3)
    h = tt.Hierarchy.from_paths(["nation", "state"], [("US", str(i)) for i in range(5)])
    stand_in = tt.GroupCounts(h, (1, 12), rng.poisson(400 * np.exp(-np.arange(12) / 2), (5, 12)))
    data = planning.measure_page(stand_in, 3, 2)
    assert [row["level"] for row in data["off"]] == ["nation", "state"]
    known = {"median": 0.01, "within": 3, "doubt": 0.02}
    for level, most in zip(data["off"], (0.16, 0.10), strict=True):
        level["l1"] = {**known, "most": most}
    part = planning.write_page({"facts": {}, "runs": 1, "goals": [], "plans": [], "page": data})
    assert "within 15% of a fresh simulation | 16.0% at most | **no** |" in part
    assert "| 1.0%, at most 16.0% (± 2.0%) |" in part
    data["off"][0]["l1"]["most"] = 0.14
    assert "| 14.0% at most | yes |" in planning.write_page({**data, "goals": [], "plans": [], "page": data})


def test_the_page_on_startup_holds_what_was_measured() -> None:
    sizes = {"numpy": 70_000_000, "tallytree": 2_000_000, "typer": 1_000_000, "toolz": 500_000}
    data = startup.record(dict.fromkeys(startup.CASES, 0.75), 3, sizes)
    page = startup.write_page({"facts": {}, **data})
    assert "| `import tallytree` within 0.5 s | 0.7500 s | **no** |" in page
    assert "| `tallytree --help` within 1 s | 0.7500 s | yes |" in page
    assert page.count("| 0.7500 | 1.0 |") == len(startup.CASES)
    assert (
        "| `numpy` | 70 | all arrays |\n| `tallytree` | 2 |  |\n| 2 others | 2 |  |\n| 4 in all | 74 |  |"
        in page
    )


def test_every_start_that_is_measured_works() -> None:
    assert startup.measure(1).keys() == startup.CASES.keys()


def make_times(slope: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sizes of draws, and times with jitter of some hundred nanoseconds that are now and then much longer."""
    rng = np.random.default_rng(4)
    sizes = rng.geometric(0.1, 20_000).astype(np.float64)
    jitter = rng.normal(10_000, 300, len(sizes)) + 1e6 * (rng.random(len(sizes)) < 0.03)
    return sizes, slope * sizes + jitter


@pytest.mark.parametrize("slope", [10.0, -10.0])
def test_time_that_tells_the_value_of_a_draw_is_seen(slope: float) -> None:
    leak = find_leak(*make_times(slope))
    assert leak.correlation * np.sign(slope) > 0.2 > 20 * leak.correlation_error
    assert abs(leak.slope - slope) < 4 * leak.slope_error < 0.2 * abs(slope)
    assert leak.guessed > 0.5 + 10 * leak.guessed_error


def test_time_that_does_not_tell_the_value_of_a_draw_is_not_seen() -> None:
    leak = find_leak(*make_times(0))
    assert abs(leak.correlation) < 4 * leak.correlation_error
    assert abs(leak.slope) < 4 * leak.slope_error
    assert abs(leak.guessed - 0.5) < 4 * leak.guessed_error


def test_the_larger_half_of_few_whole_numbers_is_as_near_to_a_half_as_can_be() -> None:
    assert split_sizes(np.array([0.0, 0, 0, 1, 2])).tolist() == [False, False, False, True, True]
    assert split_sizes(np.array([0.0, 1, 1, 1, 5])).tolist() == [False, True, True, True, True]
    assert split_sizes(np.array([3.0, 3])).all()


def test_what_a_sampler_gives_away_is_said() -> None:
    leaks = {"digits": find_leak(*make_times(0)), "opendp": find_leak(*make_times(10))}
    single, block = (TimedScale(Fraction(10), count, leaks) for count in (1, 200))
    text = write_leaks(record_leaks([single, block]))
    assert "for single draws (no more than by chance) and" in text
    assert "for blocks (a leak)." in text


def test_the_control_draws_two_sided_geometric_sizes() -> None:
    out = np.empty(20_000, dtype=np.int64)
    count_up(Fraction(3))(out)
    ratio = np.exp(-1 / 3)
    assert abs(np.abs(out).mean() - ratio / (1 - ratio)) < 0.15
    assert abs(out.mean()) < 0.2


def test_a_register_goes_from_records_to_its_page(tmp_path: Path) -> None:
    shape = firms.Shape(firms=2000, states=3, counties=12, industries=4, largest=2000)
    data = firms.measure(shape, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert [row["regions"] for row in data["accuracy"]] == [1, 3, 12, 48]
    assert [row["firms in a region, mean"] * row["regions"] for row in data["accuracy"]] == [2000] * 4
    hidden = data["suppression"][-1]
    assert 0 < hidden["cells hidden, primary"] < hidden["cells hidden, all"] < 1
    page = firms.write_page(data)
    assert page.count("| yes |") + page.count("| **no** |") == 4
    assert "| 2,000 | 48 |" in page and "nan" not in page


def test_the_register_that_is_written_has_the_true_counts(tmp_path: Path) -> None:
    shape = firms.Shape(firms=500, states=2, counties=5, industries=3, largest=3000)
    truth = firms.write_register(tmp_path, shape)
    counts = tt.count_groups(
        tmp_path / "firms.parquet",
        group="firm",
        regions=list(firms.REGIONS),
        size="employees",
        sizes=truth.sizes,
        protect="group",
        hierarchy=truth.hierarchy,
    )
    np.testing.assert_array_equal(counts.leaf, truth.leaf)


Cell = tuple[int, int, int]
"""Level, region and class; the class after the last one is the sum of a region."""


def list_sums(counts: tt.GroupCounts) -> Iterator[list[Cell]]:
    """All published sums, each as the cells that add up and their sum."""
    classes = counts.leaf.shape[1]
    for level in range(len(counts.hierarchy.levels)):
        for region in range(len(counts.array(level))):
            yield [(level, region, place) for place in range(classes + 1)]
        for parent in range(len(counts.array(level - 1)) if level else 0):
            children = np.flatnonzero(counts.hierarchy.parents(level) == parent).tolist()
            for place in range(classes + 1):
                yield [(level - 1, parent, place), *((level, child, place) for child in children)]


def find_exposed(counts: tt.GroupCounts, hidden: set[Cell]) -> list[Cell]:
    """Hidden cells that a sum gives away, one sum after the other."""
    found = [[cell for cell in cells if cell in hidden] for cells in list_sums(counts)]
    return [cells[0] for cells in found if len(cells) == 1]


def list_hidden(cells: list[npt.NDArray[np.bool_]], sums: list[npt.NDArray[np.bool_]]) -> set[Cell]:
    levels = [np.column_stack(pair) for pair in zip(cells, sums, strict=True)]
    return {
        (level, int(region), int(place))
        for level, flags in enumerate(levels)
        for region, place in zip(*np.nonzero(flags), strict=True)
    }


def test_no_hidden_cell_is_the_only_one_of_a_sum() -> None:
    exposed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        paths = [("US", f"s{i % 3}", f"c{i}") for i in range(int(rng.integers(3, 12)))]
        hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], paths)
        leaf = rng.poisson(rng.choice([0.3, 2, 8, 20], (len(paths), 4)))
        counts = tt.GroupCounts(hierarchy, tt.SizeClasses([1, 5, 10, 20]), leaf)
        hidden = suppress(counts)
        every = list_hidden(hidden.every, hidden.sums)
        small = [(level > 0) & (level < 3) for level in counts.levels]
        totals = [level.sum(axis=1) for level in counts.levels]
        first = list_hidden(small, [(total > 0) & (total < 3) for total in totals])
        assert first <= every
        assert list_hidden(hidden.primary, [np.zeros_like(total, dtype=bool) for total in totals]) <= first
        assert all(counts.array(level)[region, place] for level, region, place in every if place < 4)
        assert find_exposed(counts, every) == []
        exposed += len(find_exposed(counts, first))
    assert exposed > 100  # without complementary suppression, much is given away


def test_suppression_hides_what_could_be_computed() -> None:
    hierarchy = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(hierarchy, tt.SizeClasses([1, 5, 10]), [[50, 2, 30], [40, 20, 10]])
    hidden = suppress(counts)
    assert hidden.primary[1].tolist() == [[False, True, False], [False, False, False]]
    # 2 is known from the state's sum, so 30 is hidden; both are from the nation's, so 20 and 10 are.
    assert hidden.every[1].tolist() == [[False, True, True], [False, True, True]]
    assert not hidden.every[0].any()
    plain = suppress(counts.replace([[50, 3, 30], [40, 20, 10]]))
    assert not any(level.any() for level in plain.every)
