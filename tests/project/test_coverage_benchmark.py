"""The study of intervals: what it counts, and that it goes on where it stopped."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks import coverage
from benchmarks.coverage import (
    COMBINATIONS,
    DIFFERENCE,
    NAIVE,
    Study,
    Tally,
    load_counties,
    simulate,
    simulate_or_load,
)

import tallytree as tt
from tallytree.datasets import make_census
from tallytree.intervals.replicates import make_intervals
from tallytree.research.reproduction.study_data import COUNTY_FILE
from tests.datasets.test_datasets_census import invent_table
from tests.research.reproduction_support import TABLE

STUDY = Study("counties", partial(load_counties, 10), releases=6, replicates=10, mechanism="direct-dp")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    invent_table().to_csv(folder / COUNTY_FILE, index=False)
    return folder


def test_a_tally_counts_each_true_count_once() -> None:
    counts = make_census(TABLE, largest=10)
    run = tt.simulate(counts, epsilon="1", mechanism="direct-dp", seed=3)
    method = tt.mechanism("direct-dp")
    found = make_intervals(method, run, replicates=10, seed=3)
    tally = Tally()
    coverage.compare(tally, counts, run.measurements.plan, found)
    for level in range(3):
        truth, cells = counts.array(level), found.cells[level]
        held = [
            low <= true <= high
            for low, true, high in zip(cells.low.flat, truth.flat, cells.high.flat, strict=True)
        ]
        assert tally.seen[level, "all"] == truth.size
        assert tally.covered[level, "all"] == sum(held)
        assert tally.seen[level, "not zero"] == np.count_nonzero(truth)
        assert tally.width[level, "all"] == (cells.high - cells.low).sum()
        assert tally.seen[level, "groups"] == len(truth)


def test_a_study_that_was_stopped_goes_on(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> Tally:
        raise AssertionError("made again")

    first = simulate_or_load(table, STUDY, range(2), tmp_path)
    assert first == simulate(table, STUDY, range(2))
    monkeypatch.setattr(coverage, "simulate", fail)
    assert simulate_or_load(table, STUDY, range(2), tmp_path) == first
    with pytest.raises(AssertionError, match="made again"):
        simulate_or_load(table, STUDY, range(2, 4), tmp_path)


def test_releases_made_apart_add_up_to_those_made_together(table: Path) -> None:
    apart = simulate(table, STUDY, range(2))
    apart.join(simulate(table, STUDY, range(2, 3)))
    together = simulate(table, STUDY, range(3))
    assert (apart.covered, apart.seen) == (together.covered, together.seen)
    assert apart.width == pytest.approx(together.width)


def test_the_page_says_what_was_covered(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "count_processors", lambda: 1)  # each process loads everything anew
    study = replace(STUDY, mechanism="cumulative-joint", total="private")
    data = coverage.measure(table, [study], tmp_path / "kept", {"rows": [{**OLD, "study": "another"}]})
    page = coverage.write_page(data)
    tally = coverage.run(table, study, tmp_path / "kept")
    lines = [line for line in page.splitlines() if f"{study.title} | middle" in line]
    assert f"| {tally.share(1, 'all'):.1%} |" in lines[0]
    assert f"| {tally.share(1, 'size_mean'):.1%} |" in lines[1]
    assert f"| {tally.share(1, DIFFERENCE):.1%} |" in lines[2]
    assert "| another | root | 91.0% |" in page


OLD = dict.fromkeys((*coverage.KINDS, *coverage.STATISTICS, *coverage.WIDTHS), 0.91) | {
    "level": "root",
    "releases": 1,
    "replicates": 10,
    "date": "2026-01-01",
    "tallytree": "0.1.0",
}


def test_combinations_are_covered_and_differences_narrower_than_their_parts(table: Path) -> None:
    tally = simulate(table, STUDY, range(3))
    for level in (1, 2):
        assert all(tally.seen[level, name] > 30 for name in COMBINATIONS)
        assert tally.share(level, DIFFERENCE) > 0.75
        assert tally.width[level, DIFFERENCE] < 0.95 * tally.width[level, NAIVE]


def test_a_missing_table_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert coverage.main(["--data", str(tmp_path), "--out", str(tmp_path / "page.md")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())
