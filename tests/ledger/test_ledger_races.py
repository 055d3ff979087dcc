"""Many at once: a budget that allows ten releases allows ten, whoever comes first."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import tallytree as tt
from tallytree.errors import LedgerError
from tests.ledger.ledger_support import make_ledger, read_rows, release, run_workers, sum_charges
from tests.ledger.ledger_workers import EPSILON

RACERS, WINNERS = 64, 10
REFUSED = "The budget of dataset 'census' does not allow this: requested 1/10, remaining 0, difference 1/10."


@pytest.mark.slow
def test_of_64_processes_exactly_those_that_the_budget_allows_make_a_release(
    place: str, tmp_path: Path
) -> None:
    ledger = make_ledger(place, "1")
    (tmp_path / "out").mkdir()
    told = run_workers("race", place, tmp_path / "out", RACERS)
    assert Counter(told) == {"": WINNERS, REFUSED: RACERS - WINNERS}
    made = [number for number, words in enumerate(told) if not words]
    assert sorted(int(path.name) for path in (tmp_path / "out").iterdir() if path.is_dir()) == made
    releases = [tt.load(tmp_path / "out" / str(number)) for number in made]
    assert sorted(release.manifest["privacy"]["ledger"]["entry"] for release in releases) == list(
        range(2, WINNERS + 2)
    )
    assert ledger.verify(releases).passed
    assert sum_charges(place) == sum(release.epsilon for release in releases) == 1


@pytest.mark.slow
def test_threads_may_share_a_ledger(place: str) -> None:
    ledger = make_ledger(place, "1")

    def run(number: int) -> str:
        try:
            entry = release(ledger, EPSILON).manifest["privacy"]["ledger"]["entry"]
        except LedgerError as error:
            assert error.__notes__ == ["Nothing was spent."]
            return str(error)
        assert 2 <= entry <= WINNERS + 1
        return ""

    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(run, range(16)))
    assert Counter(told) == {"": WINNERS, REFUSED: 16 - WINNERS}
    assert ledger.balance().spent == Fraction(1)


def test_creators_of_one_dataset_make_it_once(place: str) -> None:
    def run(number: int) -> int:
        try:
            tt.Ledger.create(place, dataset="census", epsilon=number + 1)
        except LedgerError as error:
            assert "has its budget already" in str(error) or "File exists" in str(error)
            return 0
        return number + 1

    with ThreadPoolExecutor(8) as pool:
        (total,) = filter(None, pool.map(run, range(8)))
    assert [row.amount for row in read_rows(place)] == [str(total)]
    assert tt.Ledger(place).balance().total == total
