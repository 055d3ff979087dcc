"""The errors of replicates on the page: those of the replicates, summed over ranges of sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import FolderError
from tallytree.releases.kept_replicates import FEWEST, KeptReplicates
from tallytree.releases.released import MAKER
from tallytree.report import range_errors
from tallytree.report.range_errors import COARSE, FINE, choose_starts, pack_errors
from tests.report.report_support import make_release, read_numbers, unfold

RELEASE = tt.add_intervals(make_release(sizes=(2, 25)), replicates=10, keep_replicates=True)


def test_packed_errors_are_those_of_the_replicates() -> None:
    packed = pack_errors(RELEASE, 3)
    assert RELEASE.intervals is not None and RELEASE.intervals.kept is not None
    starts = packed.facts["starts"]
    edges = [*starts, 24]
    assert starts == [0, 1, 2, 3, 4, 5, 6, 8, 18]
    for level, text in enumerate(packed.levels):
        numbers = iter(map(unfold, read_numbers(text)))
        regions = len(RELEASE.hierarchy.regions(level))
        for first, end in pairwise(edges):
            pairs = [
                RELEASE.intervals.kept.add_up(level, np.array([region]), slice(first, end))
                for region in range(regions)
            ]
            for kind in (1, 0):  # made, then known
                errors = np.array([pair[kind] for pair in pairs])
                for weights in (np.ones(end - first), np.arange(end - first))[: 1 + (end - first > 1)]:
                    for region in range(regions):
                        for replicate in range(10):
                            assert next(numbers) == errors[region, replicate] @ weights
        assert next(numbers, None) is None


@given(
    st.one_of(
        st.tuples(st.integers(0, 30), st.integers(0, 5000)).map(lambda pair: (pair[0], sum(pair))),
        st.sets(st.integers(1, 9999), min_size=1, max_size=40).map(sorted).map(tt.SizeClasses),
    )
)
def test_ranges_begin_with_the_first_size_and_are_few(sizes: Any) -> None:
    fine, coarse = choose_starts(sizes, *FINE), choose_starts(sizes, *COARSE)
    width = len(sizes.edges) if isinstance(sizes, tt.SizeClasses) else sizes[1] - sizes[0] + 1
    for starts in (fine, coarse):
        assert starts[0] == 0
        assert starts == sorted(set(starts))
        assert starts[-1] < width
        assert len(starts) <= 7 + 3 * len(str(9999))
    if width <= range_errors.MOST_RANGES:
        assert fine == list(range(width))


def test_what_does_not_fit_is_made_smaller_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pack_errors(RELEASE, 3)
    room = sum(map(len, whole.levels))
    monkeypatch.setattr(range_errors, "MOST_TEXT", room - 1)
    monkeypatch.setattr(range_errors, "TRIES", ((FINE, 30), (FINE, 7), (COARSE, 7)))
    less = pack_errors(RELEASE, 3)
    assert (less.facts["replicates"], less.facts["kept"]) == (7, 10)
    assert len(less.facts["reaches"]) == 7 - FEWEST + 1
    monkeypatch.setattr(range_errors, "MOST_ERRORS", 10)
    assert pack_errors(RELEASE, 3).facts == {"why": range_errors.TOO_MANY}


def test_damaged_replicates_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: KeptReplicates) -> None:
        raise FolderError("replicates.parquet is not the file that was written.")

    monkeypatch.setattr(KeptReplicates, "levels", property(fail))
    assert pack_errors(RELEASE, 3).facts == {"why": range_errors.DAMAGED}


def test_without_kept_replicates_there_are_none() -> None:
    assert RELEASE.intervals is not None
    found = replace(RELEASE, intervals=replace(RELEASE.intervals, kept=None), made_by=MAKER)
    assert pack_errors(found, 3).facts == {"why": range_errors.NOT_KEPT}
