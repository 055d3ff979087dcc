"""The planner: goals, the search for a split, forecasts, and what it writes."""

import json
import math
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tallytree as tt
from tallytree.cli.main import app
from tallytree.counts.count_files import KEY, write_counts
from tallytree.drawing.charts import Curve, draw_titled
from tallytree.errors import CountsError, FolderError, InputError, MechanismError, PrivacyError, SpecError
from tallytree.planning.advice import AROUND, Advice, advise_within, even_split, find_split
from tallytree.planning.forecasts import Forecast, Goal, LevelError, forecast, parse_goal
from tallytree.planning.release_settings import write_spec
from tallytree.planning.shapes import HOUSEHOLDS
from tallytree.planning.stand_ins import invent_from_totals, read_release, read_table, set_bounds
from tallytree.privacy.budget import Budget, parse_exact
from tallytree.privacy.neighbours import Neighbours, TotalKind
from tests.commands import Run

LEVELS = ("nation", "state")
EPSILON_1 = Budget(epsilon=1)


@pytest.fixture(scope="module")
def stand_in() -> tt.GroupCounts:
    rng = np.random.default_rng(5)
    h = tt.Hierarchy.from_paths(LEVELS, [("US", str(i)) for i in range(12)])
    return tt.GroupCounts(h, (1, 20), rng.poisson(50 * np.exp(-np.arange(20) / 3), (12, 20)))


def make_forecast(*l1: float, total: TotalKind = "public") -> Forecast:
    levels = tuple(
        LevelError(name, 1, error, 0.0, 2 * error, 3 * error, error / 10, error / 100)
        for name, error in zip(LEVELS, l1, strict=True)
    )
    return Forecast("direct-dp", Fraction(1), even_split(LEVELS), total, levels)


def test_goals_score_what_they_say() -> None:
    case = make_forecast(10.0, 30.0)
    assert Goal("l1").score(case) == 40.0
    assert Goal("emd").score(case) == 80.0
    assert Goal("emd").score(make_forecast(10.0, 30.0, total="private")) == 120.0
    assert Goal("relative").score(case) == pytest.approx(0.2)
    assert parse_goal("state<=30", LEVELS).is_met(case)
    limited = parse_goal("state <= 20", LEVELS)
    assert not limited.is_met(case)
    # A split that keeps the limit is better than any that does not, if it is not absurdly bad.
    assert limited.score(make_forecast(400.0, 20.0)) < limited.score(case)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("l2", "There is no goal 'l2'"),
        ("county<=3", "There is no level 'county'"),
        ("state<=", "is not a limit"),
        ("state<=-1", "is not a limit"),
        ("state<=nan", "is not a limit"),
        ("state<=inf", "is not a limit"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_goal(text, LEVELS)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_search_finds_the_best_split_of_a_convex_score(costs: list[float], power: float) -> None:
    names = [str(i) for i in range(len(costs))]

    def score(split: dict[str, int]) -> float:
        assert sum(split.values()) == 100
        assert min(split.values()) >= 1
        return float(sum(cost / split[name] ** power for cost, name in zip(costs, names, strict=True)))

    found = find_split(names, lambda splits: [score(split) for split in splits])
    ideal = np.array(costs) ** (1 / (1 + power))
    ideal = np.maximum(1.0, 100 * ideal / ideal.sum())
    best = sum(cost / share**power for cost, share in zip(costs, ideal, strict=True))
    assert score(found) <= 1.05 * best


def test_an_even_split_adds_up() -> None:
    for count in range(1, 9):
        split = even_split([str(i) for i in range(count)])
        assert sum(split.values()) == 100
        assert max(split.values()) - min(split.values()) <= 1


def test_a_forecast_is_the_mean_of_runs(stand_in: tt.GroupCounts) -> None:
    found = forecast(stand_in, EPSILON_1, mechanism="direct-dp", split={"nation": 30, "state": 70}, runs=3)
    budget = {"nation": 3, "state": 7}
    runs = [
        tt.simulate(stand_in, epsilon=1, mechanism="direct-dp", seed=seed, budget=budget) for seed in range(3)
    ]
    tables = [tt.evaluate(run, stand_in).to_pydict() for run in runs]
    for place, level in enumerate(found.levels):
        assert level.l1 == pytest.approx(np.mean([table["l1"][place] for table in tables]))
        assert level.l1_deviation == pytest.approx(np.std([table["l1"][place] for table in tables], ddof=1))
        for name in ("emd", "emd_above", "groups_off"):
            assert getattr(level, name) == pytest.approx(np.mean([table[name][place] for table in tables]))
        truth = stand_in.array(place)
        shares = [np.abs(run.counts[place] - truth).sum(axis=1) / truth.sum(axis=1) for run in runs]
        assert level.relative == pytest.approx(np.mean(shares))
        assert level.regions == len(truth)


def test_the_planned_split_is_better_than_an_even_one(stand_in: tt.GroupCounts) -> None:
    announced: dict[str, int] = {}
    told: dict[str, list[int]] = {}

    def begin(what: str, steps: int) -> Callable[[int], None]:
        announced[what], told[what] = steps, []
        return told[what].append

    advice = advise_within(stand_in, Budget(epsilon="1/2"), goal=Goal("l1"), progress=begin)
    assert advice.planned.total_l1 <= advice.even.total_l1
    assert advice.planned.total_l1 <= min(case.total_l1 for case in advice.others)
    assert len(advice.others) > 2
    for case in advice.others:  # each could make this release
        assert not tt.mechanism(case.mechanism).obstacle
        assert tt.mechanism(case.mechanism).region_totals != "needed"
    assert [case.epsilon for case in advice.trade_off] == [Fraction(1, 2) * factor for factor in AROUND]
    assert advice.trade_off[AROUND.index(Fraction(1))] is advice.planned  # and not run again
    errors = [case.total_l1 for case in advice.trade_off]
    assert errors[0] > errors[-1]
    assert sum(told["Trying splits of the budget"]) > 20
    assert sum(told["Forecasting"]) == announced["Forecasting"]
    assert json.dumps(advice.to_dict())


def test_a_limit_is_kept_where_it_can_be_and_said_where_not(stand_in: tt.GroupCounts) -> None:
    free = advise_within(stand_in, EPSILON_1, goal=Goal("l1"), mechanism="cumulative-joint")
    root = free.planned.levels[0].l1
    assert not free.others
    near = advise_within(
        stand_in, EPSILON_1, goal=Goal("l1", "nation", 0.7 * root), mechanism="cumulative-joint"
    )
    assert near.is_met
    assert near.planned.budget["nation"] > free.planned.budget["nation"]
    never = advise_within(
        stand_in, Budget(epsilon="1/100"), goal=Goal("l1", "state", 1.0), mechanism="direct-dp"
    )
    assert not never.is_met
    assert never.enough is None


def test_public_totals_are_planned_for(stand_in: tt.GroupCounts) -> None:
    advice = advise_within(stand_in, Budget(epsilon=1, public_totals="state"), goal=Goal("emd"))
    assert advice.planned.mechanism == "cumulative-joint"
    assert advice.to_dict()["public_totals"] == "state"


@pytest.mark.parametrize("name", ["direct-qp", "direct-qip"])
def test_what_cannot_make_a_release_is_not_planned_for(stand_in: tt.GroupCounts, name: str) -> None:
    with pytest.raises(MechanismError, match="cannot be planned for"):
        advise_within(stand_in, EPSILON_1, goal=Goal(), mechanism=name)


def test_sizes_are_invented_for_public_totals(tmp_path: Path) -> None:
    table = tmp_path / "totals.csv"
    table.write_text("state,county,households\nGA,1,500\nGA,2,0\nNY,1,1234\n")
    counts = invent_from_totals(
        str(table),
        regions=["state", "county"],
        groups="households",
        sizes=(1, 9),
        root="US",
        root_level="n",
        shape=HOUSEHOLDS,
    )
    assert counts.hierarchy.levels == ("n", "state", "county")
    facilities = counts.leaf.sum(axis=1) - [500, 0, 1234]
    assert (facilities >= 0).all()
    assert facilities.sum() == 50


def test_columns_of_public_totals_may_have_any_name() -> None:
    table = pa.table({"size": ["GA", "NY"], "size of group": ["a", "b"], "_": [300, 700]})
    counts = invent_from_totals(
        table,
        regions=["size", "size of group"],
        groups="_",
        sizes=(1, 9),
        root="US",
        root_level="n",
        shape=HOUSEHOLDS,
    )
    assert 1000 <= counts.total <= 1050


def test_an_earlier_release_can_stand_in(stand_in: tt.GroupCounts, tmp_path: Path) -> None:
    release = tt.release(stand_in, epsilon=1)
    release.save(tmp_path / "release", replicates=0)
    counts, kinds, _ = read_release(tmp_path / "release")
    assert kinds == Neighbours()
    for level in range(2):
        np.testing.assert_array_equal(counts.array(level), release.counts[level])


def test_the_command_writes_a_spec_that_makes_the_release(stand_in: tt.GroupCounts, tmp_path: Path) -> None:
    rows = [
        f"{region[1]},{size},{groups}"
        for region, row in zip(stand_in.hierarchy.leaves, stand_in.leaf.tolist(), strict=True)
        for size, groups in enumerate(row, start=1)
    ]
    for name in ("counts.csv", "earlier.csv"):
        (tmp_path / name).write_text("\n".join(["state,size,groups", *rows]))
    spec, plot = tmp_path / "release.toml", tmp_path / "plan.svg"
    run = CliRunner().invoke(
        app,
        [
            *(
                "plan",
                str(tmp_path / "earlier.csv"),
                "--region",
                "state",
                "--sizes",
                "1:20",
                "--epsilon",
                "1",
            ),
            *("--data", "counts.csv", "--out", str(spec), "--plot", str(plot), "--goal", "state<=400"),
        ],
    )
    assert run.exit_code == 0, run.output
    assert "no budget was spent" in " ".join(run.output.split())
    settings = tomllib.loads(spec.read_text())
    assert sum(settings["budget"].values()) == 100
    ElementTree.parse(plot)
    made = CliRunner().invoke(app, ["release", "--spec", str(spec)])
    assert made.exit_code == 0, made.output
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["mechanism"]["name"] == settings["mechanism"]
    again = CliRunner().invoke(
        app, ["plan", str(tmp_path / "release"), "--epsilon", "1", "--mechanism", "direct-dp", "--json"]
    )
    assert json.loads(again.output)["mechanism"] == "direct-dp"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv", "--epsilon", "1"], "A table needs --region"),
        (["nothing.csv", "--epsilon", "1", "--region", "state", "--sizes", "1:5"], "There is no file"),
    ],
)
def test_bad_input_to_the_command_is_one_error(arguments: list[str], message: str) -> None:
    run = CliRunner().invoke(app, ["plan", *arguments])
    assert isinstance(run.exception, InputError)
    assert message in str(run.exception)


def test_the_table_to_release_cannot_stand_in_for_itself(tmp_path: Path) -> None:
    table = tmp_path / "counts.csv"
    table.write_text("state,size,groups\nGA,1,5\nNY,2,7\n")
    flags = ["--region", "state", "--sizes", "1:3", "--epsilon", "1", "--data", "counts.csv"]
    run = CliRunner().invoke(app, ["plan", str(table), *flags, "--out", str(tmp_path / "release.toml")])
    assert isinstance(run.exception, SpecError)
    assert "itself" in str(run.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["counts.csv"]


PEOPLE = pa.table({"household": [1, 1, 2, 3], "state": ["GA", "GA", "GA", "NY"]})


def count_people() -> tt.GroupCounts:
    return tt.count_groups(PEOPLE, group="household", regions=["state"], sizes=(1, 3))


def write_sensitive(folder: Path) -> list[str]:
    """Files of true counts, which say in one way or the other that they are: also an old one, and a link."""
    counts = count_people()
    write_counts(counts, folder / "counts.parquet", as_csv=False)
    write_counts(counts, folder / "Sensitive-counts.csv", as_csv=True)
    (folder / "link.csv").symlink_to("Sensitive-counts.csv")
    table = pa_parquet.read_table(folder / "counts.parquet")
    facts = json.loads((table.schema.metadata or {})[KEY])
    facts.pop("sha256", None)
    old = table.replace_schema_metadata({KEY: json.dumps(facts).encode()})
    pa_parquet.write_table(old, folder / "old.parquet")
    return ["counts.parquet", "Sensitive-counts.csv", "link.csv", "old.parquet"]


@pytest.mark.parametrize("more", [[], ["--totals"]], ids=["counts", "totals"])
def test_counts_that_are_marked_as_sensitive_cannot_stand_in(
    more: list[str], run: Run, tmp_path: Path
) -> None:
    flags = ["--region", "state", "--sizes", "0:5", "--epsilon", "1", "--data", "other.parquet", *more]
    for name in write_sensitive(tmp_path):
        code, out, err = run("plan", name, *flags, "--out", "release.toml")
        assert (code, out) == (2, "")
        assert "sensitive: a plan made on it would not be private" in " ".join(err.split())
        assert not (tmp_path / "release.toml").exists()


def test_counts_of_people_cannot_stand_in(tmp_path: Path) -> None:
    counts = count_people()
    write_sensitive(tmp_path)
    read = [
        tt.GroupCounts.from_table(tmp_path / name, regions=["state"])
        for name in ("counts.parquet", "old.parquet")
    ]
    for sensitive in (counts, counts.replace(counts.leaf + 1), counts.add_note("a note"), *read):
        with pytest.raises(CountsError, match="counted from records of people, so it is sensitive"):
            advise_within(sensitive, EPSILON_1, goal=Goal(), mechanism="direct-dp")
        with pytest.raises(CountsError, match="counted from records of people, so it is sensitive"):
            forecast(sensitive, EPSILON_1, mechanism="direct-dp", split={"root": 50, "state": 50}, runs=1)
    columns: dict[str, Any] = {"groups": "groups", "sizes": (1, 3), "root": "all", "root_level": "root"}
    table = pa_parquet.read_table(tmp_path / "counts.parquet")
    for source in (table, table.sort_by("groups"), tmp_path / "counts.parquet"):
        with pytest.raises(CountsError, match="marked as sensitive"):
            invent_from_totals(source, regions=["state"], shape=HOUSEHOLDS, **columns)
        with pytest.raises(CountsError, match="marked as sensitive"):
            read_table(source, regions=["state"], size="size", **columns)
    public = tt.GroupCounts(counts.hierarchy, counts.sizes, counts.leaf)  # which says that they are public
    forecast(public, EPSILON_1, mechanism="direct-dp", split={"root": 50, "state": 50}, runs=1)


def test_a_link_to_the_table_to_release_cannot_stand_in_for_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("state,size,groups\nGA,1,5\nNY,2,7\n")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "counts.csv")
    (tmp_path / "soft.csv").symlink_to("counts.csv")
    for name in ("hard.csv", "soft.csv"):
        flags = ["--region", "state", "--sizes", "1:3", "--epsilon", "1", "--data", "counts.csv"]
        code, _, err = run("plan", name, *flags)
        assert code == 2
        assert "is the table to release itself" in err


@pytest.mark.parametrize("name", ["loop.csv", "x" * 300 + ".csv"])
def test_a_stand_in_that_leads_nowhere_is_an_error(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    flags = ["--region", "state", "--sizes", "1:3", "--epsilon", "1"]
    code, _, err = run("plan", name, *flags)
    assert code == 2
    assert name[:50] in err


def test_options_of_a_table_are_refused_for_a_release(
    stand_in: tt.GroupCounts, run: Run, tmp_path: Path
) -> None:
    tt.release(stand_in, epsilon=1).save(tmp_path / "release", replicates=0)
    for more in (["--region", "state"], ["--sizes", "1:5"], ["--totals"]):
        code, _, err = run("plan", "release", "--epsilon", "1", *more)
        assert code == 2
        assert "has regions and sizes of its own" in err


def test_a_name_that_no_file_of_settings_can_hold_is_refused_at_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "earlier.csv").write_text("state,size,groups\nGA,1,5\nNY,2,7\n")
    monkeypatch.setattr(
        "tallytree.planning.advice.advise_within", lambda *words, **options: pytest.fail("planned")
    )
    flags = ["--region", "state", "--sizes", "1:3", "--epsilon", "1", "--out", "release.toml"]
    code, _, err = run("plan", "earlier.csv", *flags, "--data", "people\udcff.csv")
    assert code == 2
    assert "not UTF-8" in err
    assert not (tmp_path / "release.toml").exists()


@pytest.mark.parametrize("epsilon", ["0.1", "1/3", "0.1234567890123456789012345"])
def test_a_spec_says_what_was_planned_whatever_the_names(epsilon: str) -> None:
    planned = replace(make_forecast(1.0, 2.0), budget={'a "b" \x7f\t\n東': 40, "state": 60})
    planned_on = tt.GroupCounts(tt.Hierarchy.from_paths(["all"], [("all",)]), (1, 2), [[4, 5]])
    advice = Advice(
        Goal(), Fraction(epsilon), None, None, Neighbours(), planned_on, planned, planned, (), (planned,)
    )
    settings = tomllib.loads(write_spec(advice, {"source": "\x7f \\ .csv", "sizes": [1, 20]}))
    assert parse_exact(settings["epsilon"], "epsilon") == Fraction(epsilon)
    assert settings["source"] == "\x7f \\ .csv"
    assert settings["sizes"] == [1, 20]
    assert settings["budget"] == planned.budget


def test_a_file_that_cannot_be_written_is_an_error(stand_in: tt.GroupCounts, tmp_path: Path) -> None:
    tt.release(stand_in, epsilon=1).save(tmp_path / "release", replicates=0)
    out = tmp_path / "nowhere" / "release.toml"
    run = CliRunner().invoke(
        app,
        ["plan", str(tmp_path / "release"), "--epsilon", "1", "--mechanism", "direct-dp", "--out", str(out)],
    )
    assert isinstance(run.exception, FolderError)
    assert "cannot be written" in str(run.exception)


@given(
    st.lists(
        st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(0.5, 1e9)), min_size=1, max_size=5),
        min_size=1,
        max_size=7,
    )
)
def test_a_chart_is_sound_xml_and_keeps_its_points_inside(lines: list[list[tuple[float, float]]]) -> None:
    named = [Curve(f"<{i}>\x00", points) for i, points in enumerate(lines)]
    picture = draw_titled("a < b\x01", named, x="x", y="y")
    root = ElementTree.fromstring(picture.svg)
    circles = [node for node in root if node.tag.endswith("circle")]
    assert len(circles) == sum(map(len, lines)) + len(lines)  # each name has a mark too
    for circle in circles:
        assert 0 <= float(circle.attrib["cx"]) <= 720
        assert 0 <= float(circle.attrib["cy"]) <= 400
        assert math.isfinite(float(circle.attrib["cx"]))


def test_a_plan_for_gaussian_noise(stand_in: tt.GroupCounts) -> None:
    advice = advise_within(
        stand_in, Budget(epsilon=1, delta="1e-9"), goal=Goal("l1"), mechanism="cumulative-dp"
    )
    assert advice.to_dict()["delta"] == "1/1000000000"
    assert [case.epsilon for case in advice.trade_off][3] == 1
    assert 'delta = "1e-9"' in write_spec(advice, {})
    pure = advise_within(stand_in, EPSILON_1, goal=Goal("l1"), mechanism="cumulative-dp")
    assert pure.to_dict()["delta"] is None
    # Two levels and one record a person: Gaussian noise is the larger one, as docs/gaussian.md says.
    assert advice.planned.total_l1 > pure.planned.total_l1


# Bounds on a person.

UP_TO_NINE = tt.Bounds(max_quantity=9)


def test_bounds_on_a_person_change_what_is_recommended(stand_in: tt.GroupCounts) -> None:
    """With quantities up to 9 the cumulative query needs nine times the noise, the sizes query no more."""
    ordinary, bounded = (
        advise_within(stand_in, EPSILON_1, goal=Goal("l1"), bounds=bounds) for bounds in (None, UP_TO_NINE)
    )
    assert ordinary.planned.mechanism == "cumulative-joint"
    assert bounded.planned.mechanism == "direct-dp"
    assert (ordinary.neighbours.bounds, bounded.neighbours.bounds) == (tt.Bounds(), UP_TO_NINE)
    # What was forecast without the bounds is not what a release with them has: that was the wrong advice.
    joint = next(case for case in bounded.others if case.mechanism == "cumulative-joint")
    assert joint.total_l1 > 3 * ordinary.planned.total_l1
    assert joint.total_l1 > bounded.planned.total_l1
    # And what is forecast with them is: new noise on the counts as the release would have them.
    counts = tt.GroupCounts(stand_in.hierarchy, stand_in.sizes, stand_in.leaf, bounds=UP_TO_NINE)
    for case in (bounded.planned, joint):
        runs = [
            tt.simulate(counts, epsilon=1, mechanism=case.mechanism, seed=seed, budget=case.budget)
            for seed in range(100, 120)
        ]
        errors = [tt.evaluate(run, counts)["l1"].to_numpy().sum() for run in runs]
        assert np.mean(errors) == pytest.approx(case.total_l1, rel=0.25)


def test_bounds_of_the_stand_in_are_kept_unless_others_are_given(
    stand_in: tt.GroupCounts, tmp_path: Path
) -> None:
    counts = tt.GroupCounts(stand_in.hierarchy, stand_in.sizes, stand_in.leaf, bounds=UP_TO_NINE)
    tt.release(counts, epsilon=1).save(tmp_path / "release", replicates=0)
    earlier, kinds, _ = read_release(tmp_path / "release")
    assert earlier.bounds == kinds.bounds == UP_TO_NINE
    again = set_bounds(earlier, tt.Bounds(max_records=2))
    assert again.bounds == tt.Bounds(max_records=2)
    np.testing.assert_array_equal(again.leaf, earlier.leaf)
    assert set_bounds(earlier, UP_TO_NINE) is earlier
    advice = advise_within(earlier, EPSILON_1, goal=Goal(), mechanism="direct-dp")
    assert advice.neighbours.bounds == UP_TO_NINE
    with pytest.raises(PrivacyError, match="Bounds"):
        advise_within(stand_in, EPSILON_1, goal=Goal(), bounds=cast(Any, 9))


def test_the_command_plans_with_bounds_and_writes_them_down(
    stand_in: tt.GroupCounts, run: Run, tmp_path: Path
) -> None:
    counts = tt.GroupCounts(stand_in.hierarchy, stand_in.sizes, stand_in.leaf, bounds=UP_TO_NINE)
    tt.release(counts, epsilon=1).save(tmp_path / "earlier", replicates=0)
    flags = ["--epsilon", "1", "--data", "counts.csv", "--out", "release.toml"]
    assert run("plan", "earlier", *flags).code == 0
    settings = tomllib.loads((tmp_path / "release.toml").read_text())
    assert (settings["max_records"], settings["max_quantity"]) == (1, 9)
    rows = [
        f"{region[1]},{size},{groups}"
        for region, row in zip(stand_in.hierarchy.leaves, stand_in.leaf.tolist(), strict=True)
        for size, groups in enumerate(row, start=1)
    ]
    (tmp_path / "counts.csv").write_text("\n".join(["state,size,groups", *rows]))
    assert run("release", "--spec", "release.toml", "--replicates", "0").code == 0
    privacy = json.loads((tmp_path / "release" / "manifest.json").read_text())["privacy"]
    assert privacy["max_quantity"] == 9
    # A flag wins, the other bound stays that of the folder; and words tell for whom it was planned.
    flags += ["--mechanism", "direct-dp"]
    shown = run("plan", "earlier", *flags, "--max-records", "2").out
    assert "at most 2 records of quantity at most 9" in " ".join(shown.split())
    settings = tomllib.loads((tmp_path / "release.toml").read_text())
    assert (settings["max_records"], settings["max_quantity"]) == (2, 9)
    table = ["--region", "state", "--sizes", "1:20", *flags[:2], "--out", "other.toml", *flags[-2:]]
    (tmp_path / "counts.csv").rename("public.csv")
    assert run("plan", "public.csv", *table, "--max-quantity", "7").code == 0
    assert tomllib.loads((tmp_path / "other.toml").read_text())["max_quantity"] == 7
    assert run("plan", "public.csv", *table).code == 0
    assert "max_quantity" not in tomllib.loads((tmp_path / "other.toml").read_text())
    code, _, err = run("plan", "public.csv", *table, "--max-quantity", "0")
    assert code == 2
    assert "max_quantity must be a whole number" in err


# Large epsilons and deltas.


def test_a_plan_warns_of_what_protects_little(stand_in: tt.GroupCounts) -> None:
    most = Fraction(1, 10 * stand_in.total)

    def find_warnings(epsilon: str, delta: Fraction | None) -> list[str]:
        advice = advise_within(
            stand_in, Budget(epsilon=epsilon, delta=delta), goal=Goal(), mechanism="direct-dp"
        )
        assert advice.to_dict()["warnings"] == advice.warnings
        assert max(case.epsilon for case in advice.trade_off) <= 1000
        return advice.warnings

    assert find_warnings("9", None) == find_warnings("9", most) == []
    (large,) = find_warnings("400", None)
    assert "epsilon = 400 is large" in large
    (refused,) = find_warnings("1", most * 2)
    assert f"a release of {stand_in.total:,} groups is refused above" in refused
    assert len(find_warnings("400", most * 2)) == 2


def test_a_plan_warns_of_noise_that_drowns_the_total(stand_in: tt.GroupCounts) -> None:
    """In the words of the release, which warns before it charges."""

    def find_warnings(epsilon: str, **more: Any) -> list[str]:
        return tt.advise(stand_in, epsilon=epsilon, mechanism="direct-dp", **more).warnings

    advice = tt.advise(stand_in, epsilon="1/100000", mechanism="direct-dp")
    with pytest.warns(UserWarning, match="larger than the public total") as said:
        tt.release(stand_in, epsilon="1/100000", mechanism="direct-dp", budget=advice.planned.budget)
    assert advice.warnings == [str(said[0].message)]
    assert find_warnings("1") == find_warnings("1/100000", total="private") == []


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"epsilon": "1001"}, "epsilon is too large"),
        ({"epsilon": "1", "delta": "0.9"}, "delta is too large"),
        ({"rho": "1", "delta": "1e-9"}, "neither a rho nor a split"),
        ({"epsilon": "1", "split": {"nation": 1, "state": 1}}, "neither a rho nor a split"),
    ],
)
def test_what_no_release_may_have_is_not_planned(
    stand_in: tt.GroupCounts, given_: dict[str, Any], why: str
) -> None:
    with pytest.raises(PrivacyError, match=why):
        advise_within(stand_in, Budget(**given_), goal=Goal())
