"""Flags of numbers, how useful a level is, and the warning before too much noise is paid for."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import IntervalsError
from tallytree.releases.flags import FLAGS, LIMITS, read_limits, round_to_interval
from tallytree.releases.manifest import seal
from tallytree.releases.usefulness import warn_of_noise
from tallytree.report.report_page import write_page
from tests.commands import Run

PATHS = [("N", state, f"{state}{county}") for state in "AB" for county in range(4)]


def make_counts(scale: float = 2000.0) -> tt.GroupCounts:
    hierarchy = tt.Hierarchy.from_paths(["nation", "state", "county"], PATHS)
    leaf = np.random.default_rng(1).poisson(scale * 0.5 ** np.arange(8), (8, 8))
    return tt.GroupCounts(hierarchy, (1, 8), leaf)


@pytest.fixture(scope="module")
def release() -> tt.Release:
    return tt.add_intervals(tt.release(make_counts(), epsilon="0.5"), replicates=10)


# Flags.


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_a_flag_follows_from_the_relative_error(value: int, below: int, above: int) -> None:
    low, high = value - below, value + above
    reach = max(below, above)
    error = Fraction(0) if reach == 0 else (Fraction(reach, value) if value else None)
    wanted = "noise"
    if error is not None:
        wanted = "good" if error <= Fraction(1, 4) else "care" if error <= Fraction(1, 2) else "noise"
    assert LIMITS.flag(value, low, high) == wanted
    assert LIMITS.flag(-value, -high, -low) == wanted


@pytest.mark.parametrize("limits", [(0, 1), (-1, 1), ("x", 1), (0.5, 0.25), (None, 1), (math.nan, 1)])
def test_limits_of_flags_that_are_none_are_refused(limits: Any) -> None:
    with pytest.raises(IntervalsError, match="limits of flags"):
        tt.FlagLimits(*limits)


@pytest.mark.parametrize("stated", [None, {}, {"good": "1/4"}, {"good": "1/4", "care": "0"}, [1, 2]])
def test_stated_limits_that_are_none_are_refused(stated: object) -> None:
    with pytest.raises(IntervalsError):
        read_limits(stated)


def test_files_flag_every_number(release: tt.Release, tmp_path: Path) -> None:
    strict = tt.add_intervals(release, replicates=10, flags=tt.FlagLimits(0.01, 0.1))
    flags = {}
    for name, made in (("usual", release), ("strict", strict)):
        made.save(tmp_path / name, replicates=0)
        assert tt.load(tmp_path / name).verify().passed
        cells = pa_parquet.read_table(tmp_path / name / "intervals.parquet").to_pylist()
        assert made.intervals is not None
        limits = made.intervals.limits
        for row in cells:
            assert row["flag"] == limits.flag(row["groups"], row["groups_low"], row["groups_high"])
        summaries = pa_parquet.read_table(tmp_path / name / "summaries.parquet").to_pylist()
        for row in summaries:
            wanted = None if row["value"] is None else limits.flag(row["value"], row["low"], row["high"])
            assert row["flag"] == wanted
        flags[name] = [row["flag"] for row in cells]
    assert set(flags["usual"]) == set(FLAGS)
    assert flags["usual"].count("good") > flags["strict"].count("good") > 0
    stated = json.loads((tmp_path / "strict" / "manifest.json").read_text())["intervals"]["flags"]
    assert stated == {"good": "1/100", "care": "1/10"}


@pytest.mark.parametrize("name", ["intervals.parquet", "summaries.parquet"])
def test_a_flag_that_is_not_so_is_found(release: tt.Release, tmp_path: Path, name: str) -> None:
    release.save(tmp_path / "r", replicates=0)
    path = tmp_path / "r" / name
    table = pa_parquet.read_table(path)
    flags = table["flag"].to_pylist()
    flags[0] = "noise" if flags[0] == "good" else "good"
    pa_parquet.write_table(table.set_column(table.num_columns - 1, "flag", [flags]), path, store_schema=False)
    failed = {check.name for check in tt.load(tmp_path / "r").verify().checks if check.failed}
    assert failed == {"files", "interval files"}


# How useful a level is.


def test_usefulness_is_what_the_counts_written_out_say(release: tt.Release) -> None:
    rows = [row for row in release.to_arrow().to_pylist() if row["groups"]]
    for level in release.usefulness:
        own = [row for row in rows if row["level"] == level.level]
        groups = sum(row["groups"] for row in own)
        assert level.counts == len(own)
        wider = [row for row in own if row["groups_high"] - row["groups_low"] > row["groups"]]
        assert level.wider == pytest.approx(len(wider) / len(own), abs=1e-4)
        for flag in ("good", "noise"):
            share = sum(row["groups"] for row in own if row["flag"] == flag) / groups
            assert getattr(level, flag) == pytest.approx(share, abs=1e-4)
    assert release.usefulness[0].verdict == "good"
    assert release.usefulness[0].groups_error == 0
    assert release.usefulness[2].groups_error


def test_drowned_counts_are_said_to_be_noise(tmp_path: Path, run: Run) -> None:
    counts = make_counts()
    with pytest.warns(UserWarning, match="The noise is larger than the public total"):
        made = tt.release(counts, epsilon="0.0001")
    made.save(tmp_path / "r", replicates=10)
    found = tt.load(tmp_path / "r")
    assert {level.verdict for level in found.usefulness} == {"noise"}
    code, out, _ = run("verify", str(tmp_path / "r"), "--quick")
    assert code == 0
    assert "county: Mostly noise" in out
    assert "mostly noise" in found._repr_html_()
    page = write_page(found, verification=found.verify())
    assert "Mostly noise" in page
    assert "relatively exact" not in page


def test_an_earlier_folder_says_nothing_of_it() -> None:
    earlier = tt.load(Path(__file__).parent / "folder-0.1.0")
    assert "usefulness" not in {check.name for check in earlier.verify().checks}
    assert earlier.usefulness  # it is known from the intervals


@pytest.mark.parametrize("change", [{"good": 0.5}, {"verdict": "good "}, {"more": 1}])
def test_a_manifest_that_praises_its_numbers_is_found(
    release: tt.Release, tmp_path: Path, change: dict[str, object]
) -> None:
    release.save(tmp_path / "r", replicates=0)
    path = tmp_path / "r" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["intervals"]["usefulness"][1].update(change)
    path.write_text(seal(manifest))
    failed = [check.name for check in tt.load(tmp_path / "r").verify().checks if check.failed]
    assert failed in (["usefulness"], ["schema", "usefulness"])


# Before the charge.


def test_drowning_noise_can_be_stopped_before_it_is_paid_for(tmp_path: Path) -> None:
    ledger = tt.Ledger.create(tmp_path / "ledger.db", dataset="d", epsilon=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="larger than the public total"):
            tt.release(make_counts(), epsilon="0.0001", ledger=ledger)
    assert ledger.balance("d").spent == 0
    with pytest.warns(UserWarning) as found:
        tt.release(make_counts(), epsilon="0.0001", ledger=ledger)
    assert [warning.filename for warning in found] == [__file__]


def test_the_warning_is_for_public_totals_that_noise_drowns() -> None:
    method = tt.mechanism("cumulative-joint")
    hierarchy = make_counts().hierarchy

    def warn(groups: int, **more: Any) -> str:
        return warn_of_noise(method.plan(hierarchy, sizes=(1, 8), epsilon="0.01", **more), groups)

    assert warn(100)
    assert not warn(10**6)
    assert not warn(100, total="private")
    assert not warn(0)
    # A level with little noise makes up for one with much.
    assert warn(500, budget={"nation": 1, "state": 1, "county": 1})
    assert not warn(500, budget={"nation": 1000, "state": 1, "county": 1})


# Numbers as they are shown.


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**6), st.integers(0, 10**6))
def test_rounding_never_loses_what_is_in_the_interval(value: int, below: int, above: int) -> None:
    low, high = value - below, value + above
    shown = round_to_interval(value, low, high)
    as_numbers = [float(text.replace(",", "")) for text in shown]
    assert as_numbers[1] <= low
    assert as_numbers[2] >= high
    assert as_numbers[2] - as_numbers[1] <= 1.3 * (high - low)
    digits = len(str(high - low)) - 2
    assert all(number % 10 ** max(0, digits) == 0 for number in as_numbers)


def test_what_is_no_number_is_not_shown() -> None:
    assert round_to_interval(math.nan, math.nan, math.nan) == ("", "", "")
    assert round_to_interval(2, 0, math.inf) == ("2", "0", "")
