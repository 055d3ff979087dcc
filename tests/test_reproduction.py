"""The accuracy benchmark, on invented tables in the format of the published ones."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.census import FILE
from benchmarks.accuracy.comparisons import compare_leaders, compare_leaves, compare_order, compare_violations
from benchmarks.accuracy.contenders import CHAIN, find_figures, list_contenders
from benchmarks.accuracy.county_words import CountyWords
from benchmarks.accuracy.datasets import DATASETS
from benchmarks.accuracy.duels import find_duels, judge_emd, judge_emd_ratio, judge_l1, write_duels
from benchmarks.accuracy.explanations import explain_chain, find_mean_noise, name_best
from benchmarks.accuracy.facts import find_county_facts, find_facts
from benchmarks.accuracy.findings import Finding, find_both
from benchmarks.accuracy.measuring import measure_all
from benchmarks.accuracy.page import write_page
from benchmarks.accuracy.published import CENSUS, KUO_EMD
from benchmarks.accuracy.report import Report
from benchmarks.accuracy.results import Result, Spread, rank, spread
from benchmarks.accuracy.settings import QUICK
from benchmarks.accuracy.shared_noise import add_shared_noise
from benchmarks.accuracy.taxi import FILE as TAXI_FILE
from benchmarks.accuracy.taxi import read_taxi_table
from benchmarks.accuracy.taxi_words import TaxiWords
from benchmarks.accuracy.timetable import Timetable
from benchmarks.variants import Variant

from tallytree.datasets.census import make_census
from tallytree.datasets.county_tables import read_county_table
from tallytree.errors import CountsError
from tallytree.mechanisms.registry import MECHANISMS
from tests.test_datasets_census import invent_table

ROOT = Path(__file__).parent.parent


def invent_taxis() -> pd.DataFrame:
    """Five neighbourhoods of two halves, sizes up to 15; every level has rows, as in the published file."""
    leaves = [
        (2, f"n{place:02}", "lower" if place < 3 else "upper", size, 1 + (place + size) % 4)
        for place in range(5)
        for size in range(1 + place, 16, 1 + place)
    ]
    leaf = pd.DataFrame(leaves, columns=["level", "region", "parent", "size", "count"])
    half = leaf.assign(level=1, region=leaf["parent"], parent="manhattan")
    root = leaf.assign(level=0, region="manhattan", parent=None)
    rows = pd.concat([root, half, leaf], ignore_index=True)
    return rows.groupby(list(rows.columns[:-1]), as_index=False, dropna=False).sum()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    invent_table().to_csv(tmp_path / FILE, index=False)
    (tmp_path / TAXI_FILE).parent.mkdir()
    invent_taxis().to_csv(tmp_path / TAXI_FILE, index=False)
    return tmp_path


# The data


def test_the_taxis_are_counted_as_published(folder: Path) -> None:
    given = invent_taxis()
    counts = read_taxi_table(folder / TAXI_FILE)
    assert counts.hierarchy.levels == ("manhattan", "half", "neighbourhood")
    assert counts.hierarchy.leaves[3] == ("manhattan", "upper", "n03")
    assert counts.sizes == (1, 15)
    for level in range(3):
        for path, row in zip(counts.hierarchy.regions(level), counts.array(level), strict=True):
            here = given[(given["level"] == level) & (given["region"] == path[-1])]
            assert row[here["size"] - 1].tolist() == here["count"].tolist()
            assert row.sum() == here["count"].sum()
    for table in (given, pl.from_pandas(given), given.sample(frac=1, random_state=1)):
        found = read_taxi_table(table)
        assert set(found.hierarchy.leaves) == set(counts.hierarchy.leaves)
        np.testing.assert_array_equal(found.array(0), counts.array(0))


def test_taxis_above_the_largest_size_count_there() -> None:
    whole, lumped = read_taxi_table(invent_taxis()), read_taxi_table(invent_taxis(), largest=4)
    assert lumped.sizes == (1, 4)
    np.testing.assert_array_equal(lumped.leaf[:, :3], whole.leaf[:, :3])
    np.testing.assert_array_equal(lumped.leaf.sum(axis=1), whole.leaf.sum(axis=1))
    assert read_taxi_table(invent_taxis(), largest=99).sizes == (1, 15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="parent"), "no column 'parent'"),
        (lambda t: t.rename(columns={"count": "taxis"}), "no column 'count'"),
        (lambda t: t.head(0), "no rows"),
        (lambda t: t.assign(count="many"), "'count' must be whole numbers"),
        (lambda t: t.assign(count=t["count"] + 0.5), "fractions"),
        (lambda t: t.assign(count=-t["count"]), "row 1.*'count' is negative"),
        (lambda t: t.assign(size=t["size"].where(t.index != 4)), "'size' has 1 missing"),
        (lambda t: t.assign(size=t["size"] - 1), "'size' is not at least 1"),
        (lambda t: t.assign(level=t["level"] + 1), "'level' is not 0, 1 or 2"),
        (lambda t: t.assign(region=None), "'region' must hold a code"),
        (lambda t: t.assign(parent=None), "'parent' must hold a code, as text\\."),
        (lambda t: t.assign(parent=t["parent"].replace("upper", None)), "'parent' must name a region below"),
        (lambda t: t.assign(parent=t["parent"].fillna("earth")), "row 1.*and none there"),
        (lambda t: t.assign(region=t["region"].where(t.index != 0, "queens")), "one region, but .* 2"),
        (lambda t: t[t["level"] > 0], "one region, but .* 0"),
        (lambda t: t.assign(parent=t["parent"].replace("manhattan", "queens")), "not at level 0"),
        (lambda t: t.assign(parent=t["parent"].replace("upper", "middle")), "level 2 must name the regions"),
        (lambda t: t[t["level"] < 2], "level 2 must name the regions"),
        (lambda t: pd.concat([t, t.tail(1)], ignore_index=True), "1 row.*an earlier row has the same"),
        (lambda t: t.assign(count=t["count"] + (t.index == 2)), "At level manhattan, 1 counts are not"),
        (lambda t: t.assign(count=t["count"] + (t["level"] == 1)), "At level half, .* are not the sums"),
    ],
)
def test_a_bad_table_of_taxis_gives_one_clear_error(change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(CountsError, match=message):
        read_taxi_table(change(invent_taxis()))


# The mechanisms


def test_the_registry_says_who_competes() -> None:
    contenders = list_contenders()
    assert len({variant.label for variant in contenders}) == len(contenders)
    assert {variant.mechanism for variant in contenders} == {k.name for k in MECHANISMS if not k.small}
    assert all(variant in contenders for variant in CHAIN.values())


def test_the_paper_has_all_of_its_mechanisms_here() -> None:
    for epsilon, table in CENSUS.items():
        found = [find_figures(variant, epsilon, CENSUS) for variant in list_contenders()]
        assert sorted(f.total for f in found if f) == sorted(f.total for f in table.values())
    assert find_figures(CHAIN["sound"], "1", CENSUS) is None
    assert find_figures(CHAIN["published"], "1", CENSUS) == CENSUS["1"]["M_c^ch"]
    assert find_figures(CHAIN["published"], "1", {}) is None


# The words


def make_result(variant: Variant, total: float, *, violations: float = 0, deviation: float = 0.1) -> Result:
    """At epsilon 1, a tenth of the error at each of two levels and the rest at the third."""
    levels = [Spread(share * total, deviation, 30) for share in (0.1, 0.1, 0.8)]
    return Result(
        variant=variant,
        epsilon="1",
        real_epsilon=variant.make().plan(HIERARCHY, sizes=(1, 2), epsilon="1").epsilon,
        leaf_scale=Fraction(6),
        l1=levels,
        total=Spread(total, deviation, 30),
        leaf_to_seven=levels[-1],
        emd=levels,
        violations=Spread(violations, 0, 30),
        paper=find_figures(variant, "1", CENSUS),
    )


HIERARCHY = read_county_table(invent_table()).hierarchy
JOINT, MATCHED = Variant("cumulative-joint"), Variant("count-of-counts")
DIRECT, CUMULATIVE, RELAXED = Variant("direct-dp"), Variant("cumulative-dp"), Variant("direct-qp")
LEVELS = ("nation", "state", "county")


def tell_order(*results: Result) -> tuple[bool | None, str]:
    finding = compare_order(find_both(results))
    return finding.agrees, finding.text


def test_the_order_is_compared_with_the_papers() -> None:
    agrees, text = tell_order(make_result(DIRECT, 200), make_result(CUMULATIVE, 100))
    assert agrees
    assert "1 stand as in the paper." in text
    agrees, text = tell_order(make_result(DIRECT, 100), make_result(CUMULATIVE, 200))
    assert not agrees
    assert "The other way round: `direct-dp` (100.0, in the paper 135.1) before `cumulative-dp`" in text
    agrees, text = tell_order(make_result(DIRECT, 100), make_result(CUMULATIVE, 100.01))
    assert agrees
    assert "Too close to tell: `direct-dp` and `cumulative-dp`." in text


def test_the_size_of_errors_is_compared_with_the_papers() -> None:
    whole, first = compare_leaves(find_both([make_result(DIRECT, 128.8 / 0.8)]), "county")
    assert whole.agrees
    assert first.agrees
    whole, _ = compare_leaves(find_both([make_result(DIRECT, 300)]), "county")
    assert whole == Finding(False, "Level county, epsilon 1: our L1 errors are 1.86 times the paper's.")


def test_a_lead_that_costs_privacy_says_so() -> None:
    results = [make_result(CHAIN["published"], 100), make_result(DIRECT, 200)]
    findings = list(compare_leaders([find_both(results)], LEVELS))
    assert [finding.agrees for finding in findings] == [True] * 3
    assert all("with a real epsilon of 3.0" in finding.text for finding in findings)  # (1 + 2 + 6) / 3
    (chain,) = explain_chain([*results, make_result(CHAIN["sound"], 5000)])
    assert "real epsilon of 3.0 where it states 1" in chain.text
    assert "50.00 times as large" in chain.text


def test_the_best_is_named_among_equals() -> None:
    told_more = make_result(MATCHED, 50)
    results = [make_result(CHAIN["published"], 100), told_more, make_result(DIRECT, 200)]
    best = [finding.text for finding in name_best([results], LEVELS)]
    assert len(best) == 1 + len(LEVELS)
    assert "the least total L1 error has `direct-dp` at epsilon 1 (200.0)." in best[0]
    assert all("`count-of-counts`, which is told that of every region, has" in text for text in best)
    assert all("chain" not in text for text in best)


def test_broken_promises_are_named() -> None:
    (finding,) = compare_violations([make_result(DIRECT, 100, violations=2)])
    assert finding.agrees is False
    assert "a bug" in finding.text
    fine, rounded = compare_violations([make_result(DIRECT, 100), make_result(RELAXED, 100, violations=1900)])
    assert fine.agrees
    assert rounded.agrees  # the paper has 1,989


def set_errors(result: Result, l1: Sequence[float], emd: Sequence[float], epsilon: str = "1") -> Result:
    l1_spreads, emd_spreads = ([Spread(value, 0.1, 30) for value in values] for values in (l1, emd))
    return replace(
        result, l1=l1_spreads, total=Spread(sum(l1), 0.1, 30), emd=emd_spreads, epsilon=epsilon,
        real_epsilon=Fraction(epsilon),
    )  # fmt: skip


def test_the_default_is_judged_against_the_papers_mechanism() -> None:
    theirs = set_errors(make_result(CUMULATIVE, 1), (100, 100, 100), (1500, 1600, 1700))
    good = set_errors(make_result(JOINT, 1), (100.9, 90, 90), (100, 100, 100))
    duels = find_duels([make_result(DIRECT, 1), theirs, good])
    near, below = judge_l1(duels, LEVELS)
    assert near.met
    assert near.measured == "1.009 times at the most, level nation, epsilon 1"
    assert below.met
    assert judge_emd_ratio(duels, LEVELS, 15).met
    assert [goal.met for goal in judge_emd(duels, LEVELS, "1", (101, 100, 99))] == [True, False, False]
    page = write_duels(duels, [near, below], LEVELS)
    assert "| 1 | nation | 100.90 ± 0.10 | 100.00 ± 0.10 | 1.009 |" in page
    assert "| 1 | total | 280.90 ± 0.10 | 300.00 ± 0.10 | 0.936 |" in page
    assert "Goals met: 2 of 2." in page


def test_misses_are_reported_as_misses() -> None:
    """One epsilon that misses is enough, however good the other is."""
    results = [
        set_errors(make_result(variant, 1), l1, emd, epsilon)
        for variant, l1, emd, epsilon in (
            (JOINT, (1, 1, 1), (1, 1, 1), "0.5"), (CUMULATIVE, (9, 9, 9), (99, 99, 99), "0.5"),
            (JOINT, (9.2, 9, 9), (1, 7, 1), "1"), (CUMULATIVE, (9, 9, 9.1), (99, 99, 99), "1"),
        )
    ]  # fmt: skip
    duels = find_duels(results)
    goals = [*judge_l1(duels, LEVELS), judge_emd_ratio(duels, LEVELS, 15)]
    assert not any(goal.met for goal in goals)
    assert goals[0].measured == "1.022 times at the most, level nation, epsilon 1"
    assert goals[2].measured == "14.14 times at the least, level state, epsilon 1"
    page = write_duels(duels, goals, LEVELS)
    assert page.count("| **no** |") == 3
    assert "Goals met: 0 of 3." in page


def test_only_equals_are_compared() -> None:
    dearer = replace(make_result(CUMULATIVE, 9), real_epsilon=Fraction(3))
    duels = find_duels([make_result(JOINT, 1), dearer])
    assert not duels
    goals = [*judge_l1(duels, LEVELS), *judge_emd(duels, LEVELS, "1", (1, 1, 1))]
    assert all((goal.measured, goal.met) == ("not measured", False) for goal in goals)
    assert "At least one of them was not measured." in write_duels(duels, goals, LEVELS)


TAXIS = read_taxi_table(invent_taxis())
TAXI_WORDS = TaxiWords(find_facts(TAXIS), TAXIS)


def find_beside_kuo(*times: float) -> list[Finding]:
    emd = [ratio * figure for ratio, figure in zip(times, KUO_EMD, strict=True)]
    matched = set_errors(replace(make_result(MATCHED, 1), paper=None), (1, 1, 1), emd)
    assert f"| {KUO_EMD[-1]:,.1f} | {emd[-1]:,.2f} ± 0.10 |" in TAXI_WORDS.compare([matched])
    return [finding for finding in TAXI_WORDS.find([[matched]]) if "Kuo" in finding.text]


def test_the_numbers_choose_the_words_on_kuo() -> None:
    *levels, why = find_beside_kuo(1, 1.1, 0.9)
    assert [finding.agrees for finding in levels] == [True] * 3
    assert "within 15% at 0 of 3 levels; with independent noise, 3 are." in why.text  # these taxis are others
    *levels, why = find_beside_kuo(0.8, 0.95, 1.5)
    assert [finding.agrees for finding in levels] == [False, True, False]
    assert "is 8,438, 0.800 times the 10,547.0 that" in levels[0].text
    assert why.text.endswith("with independent noise, 1 are.")
    assert not list(TAXI_WORDS.find([[]]))


def test_shared_noise_is_the_same_in_all_regions() -> None:
    plan = MATCHED.make().plan(TAXIS.hierarchy, sizes=TAXIS.sizes, epsilon="1")
    noisy = add_shared_noise(plan, TAXIS, seed=3)
    draws = np.concatenate([a - b for a, b in zip(noisy.values, plan.answers(TAXIS), strict=True)])
    assert (draws == draws[0]).all()
    assert draws[0].any()
    assert draws[0, -1] == 0  # the number of groups is public


def test_means_ranks_and_noise() -> None:
    assert spread([1, 2, 3]) == Spread(2.0, 1.0, 3)
    assert spread([5]) == Spread(5.0, 0.0, 1)
    assert spread([1, 2, 3, 4, 5]).error == pytest.approx(0.5**0.5)
    assert spread([5]).error == float("inf")
    best, _ = rank([make_result(DIRECT, 2), make_result(CUMULATIVE, 1)])
    assert best.variant == CUMULATIVE
    values = np.arange(-2000, 2001)
    weights = np.exp(-np.abs(values) / 6)
    assert find_mean_noise(6) == pytest.approx((np.abs(values) * weights).sum() / weights.sum())


def test_the_time_left_is_told_once_it_is_known() -> None:
    timetable = Timetable(["a", "a", "a", "b"])
    timetable.finish("a", 20.0)
    assert timetable.describe() == "3 runs left"
    timetable.finish("b", 40.0)
    assert timetable.describe() == "2 runs left, about 0 min 40 s"
    timetable.finish("a", 61.0)
    assert timetable.describe() == "1 runs left, about 1 min 1 s"
    timetable.drop("a")
    assert timetable.describe() == "0 runs left, about 0 min 0 s"


# The whole


def test_a_mechanism_that_is_too_slow_is_given_up_and_named() -> None:
    table = read_county_table(invent_table())
    counts = make_census(table, largest=10)
    hurried = replace(QUICK, most_seconds=0.0)
    (slow,) = measure_all([RELAXED], counts, hurried, lambda line: None)
    assert not slow.runs
    assert slow.reason == "no answer within 0 s"
    report = Report(
        date(2010, 4, 1), {}, "a command", False, hurried,
        CountyWords(find_county_facts(table, counts)), CENSUS,
        [make_result(DIRECT, 100), make_result(CUMULATIVE, 90)], [slow],
    )  # fmt: skip
    page = write_page(report, picture=None)
    assert "| `direct-qp` | no answer within 0 s |" in page
    assert "|  | `direct-qp` | not measured |  | 5 | 209.9 |" in page
    assert "At least one of them was not measured." in page
    assert "## Epsilon 0.5" not in page


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize("name", DATASETS)
def test_a_quick_run_writes_the_page_with_all_mechanisms(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = DATASETS[name]
    out = folder / "new" / dataset.page
    assert run("--data", folder, "--dataset", name, "--quick", "--seeds", 1, "--out", out) == 0
    assert sorted(path.name for path in out.parent.iterdir()) == sorted([dataset.page, dataset.picture])
    page, picture = out.read_text(), (out.parent / dataset.picture).read_text()
    assert "## Not measured" not in page
    for variant in list_contenders():
        assert page.count(f"| `{variant.label}` |") >= 3 * 3
        assert variant.label in picture
    for epsilon in ("0.1", "0.5", "1"):
        assert f"## Epsilon {epsilon}\n" in page
    assert ("**3.0**" if name == "county" else "**2.7**") in page  # the published chain's, on this tree
    assert f"({dataset.picture})" in page
    assert "## `cumulative-joint` against `cumulative-dp`" in page
    assert ("in the paper" in picture) == (name == "county")
    assert ("| paper: " in page) == (name == "county")
    assert ("## Beside Kuo et al." in page) == (name == "taxi")
    assert str(folder) not in page
    news = capsys.readouterr()
    assert news.out == ""
    assert "runs left" in news.err


def test_without_a_name_all_data_are_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--data", folder, "--quick", "--seeds", 1) == 0
    first, second = capsys.readouterr().out.split("# Accuracy\n")[1:]
    assert "--dataset county --seeds 1 --quick" in first
    assert "--dataset taxi --seeds 1 --quick" in second


def test_one_page_is_for_one_dataset(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--data", folder, "--out", folder / "page.md")
    assert "say with --dataset which" in capsys.readouterr().err


def test_a_missing_file_is_found_before_anything_is_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / TAXI_FILE).unlink()
    assert run("--data", folder, "--quick") == 2
    news = capsys.readouterr()
    assert "There is no file" in news.err
    assert "runs left" not in news.err
    assert news.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--data", "nowhere"], "no file"), (["--out", "/dev/null/page"], "cannot be written")],
)
def test_bad_input_gives_one_message(
    arguments: Sequence[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--data", folder, "--dataset", "county", "--quick", *arguments) == 2
    assert message in capsys.readouterr().err


def test_an_interruption_leaves_nothing(folder: Path) -> None:
    out = folder / "new" / "ACCURACY.md"
    options = ["--data", str(folder), "--dataset", "county", "--seeds", "2000", "--out", str(out)]
    command = [sys.executable, "-m", "benchmarks.accuracy", *options]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as work:
        assert work.stderr
        assert "runs left" in work.stderr.readline()
        os.killpg(work.pid, signal.SIGINT)  # as a terminal does it
        message = work.stderr.read()
    assert work.returncode == 130
    assert message == "Interrupted; nothing was written.\n"
    assert not list(out.parent.iterdir())
