"""The complete folder: one function for the command line and for Python."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NoReturn

import pytest

import tallytree as tt
from tallytree.errors import IntervalsError
from tallytree.intervals.replicates import add_intervals
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.privacy.budget import Budget
from tallytree.privacy.door import find_noise
from tallytree.publishing import publisher
from tallytree.publishing.pipeline import Order
from tallytree.publishing.publisher import Later, publish

COMPLETE = {"release.parquet", "measurements.parquet", "manifest.json", "report.html"}
OF_INTERVALS = {"intervals.parquet", "replicates.parquet", "summaries.parquet"}
COUNTS = tt.GroupCounts(
    tt.Hierarchy.from_paths(["nation", "state"], [("N", "A"), ("N", "B")]), (1, 3), [[5, 6, 0], [7, 0, 8]]
)


@pytest.fixture(scope="module")
def release() -> tt.Release:
    return tt.release(COUNTS, epsilon=2)


def list_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_saved_release_has_intervals_and_a_report(release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    assert list_names(tmp_path / "out") == COMPLETE | OF_INTERVALS
    again = tt.load(tmp_path / "out")
    assert again.intervals is not None
    assert again.verify().passed
    assert release.intervals is None  # a release is a value: saving does not change it


def test_without_replicates_there_are_no_intervals(release: tt.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out", replicates=0)
    assert list_names(tmp_path / "out") == COMPLETE


@pytest.mark.parametrize("replicates", [-1, 9, 2.5, True, "many", 10**6])
def test_what_is_no_number_of_replicates_is_refused_before_anything_is_made(
    replicates: Any, tmp_path: Path
) -> None:
    def make() -> NoReturn:
        raise AssertionError("a release was made")

    with pytest.raises(IntervalsError, match="replicates must be a whole number"):
        publish(make, tmp_path / "out", replicates=replicates)
    assert list_names(tmp_path) == set()


def fail(*_: object, **__: object) -> NoReturn:
    raise ZeroDivisionError("with a private number: 7391")


def test_without_a_report_the_release_stands(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "write_report", fail)
    with pytest.warns(UserWarning, match=r"report was not written \(ZeroDivisionError\)") as told:
        release.save(tmp_path / "out")
    assert "7391" not in "".join(str(each.message) for each in told)
    assert list_names(tmp_path / "out") == COMPLETE - {"report.html"} | OF_INTERVALS
    assert tt.load(tmp_path / "out").verify().passed


def test_without_intervals_the_release_and_its_report_stand(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "add_intervals", fail)
    with pytest.warns(UserWarning, match=r"No intervals were made \(ZeroDivisionError\)"):
        release.save(tmp_path / "out")
    assert list_names(tmp_path / "out") == COMPLETE
    assert tt.load(tmp_path / "out").verify().passed


def test_whoever_interrupts_the_intervals_is_told_how_to_make_them_later(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(publisher, "add_intervals", interrupt)
    with pytest.raises(KeyboardInterrupt) as stopped:
        release.save(tmp_path / "out")
    (note,) = (note for note in stopped.value.__notes__ if isinstance(note, Later))
    assert f"tallytree intervals {tmp_path / 'out'}" in note
    assert tt.load(tmp_path / "out").verify().passed


def test_a_release_that_has_intervals_keeps_them(release: tt.Release, tmp_path: Path) -> None:
    wide = add_intervals(release, replicates=10, coverage="0.5")
    wide.save(tmp_path / "out")
    again = tt.load(tmp_path / "out")
    assert again.intervals is not None
    assert wide.intervals is not None
    assert again.intervals.to_dict() == wide.intervals.to_dict()


def test_a_release_is_checked_once_and_its_report_written_once(
    release: tt.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def count(owner: object, name: str) -> None:
        before = getattr(owner, name)

        def called(*words: object, **options: object) -> object:
            calls.append(name)
            return before(*words, **options)

        monkeypatch.setattr(owner, name, called)

    count(tt.Release, "verify")
    count(publisher, "write_report")
    with warnings.catch_warnings(action="error"):
        release.save(tmp_path / "out")
    assert calls == ["verify", "write_report"]


BUDGETS = {
    "epsilon": Budget(epsilon="0.7", split={"nation": 1, "state": 3}),
    "rho": Budget(rho="1/20", delta="1e-3", split={"nation": 1, "state": 3}),
    "both": Budget(epsilon="0.7", delta="1e-3"),
}


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_a_draft_costs_what_the_plan_costs(kind: type[tt.Mechanism], budget: Budget) -> None:
    """The ledger is asked before anything is counted: what it is asked for is what is charged."""
    order = Order(budget, kind(), find_noise(None, budget.delta))
    plan = order.plan(COUNTS)
    draft = order.draft(COUNTS.hierarchy.levels, sizes=COUNTS.sizes, bounds=COUNTS.bounds)
    assert draft.loss == plan.loss
    assert [level.name for level in draft.levels] == [level.name for level in plan.levels]
