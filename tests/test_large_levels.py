"""Levels too large to hold as they are: kept in less room, and worked on a few regions at a time.

Here a dozen cells are already many, so that small trees go the way of large ones; what comes out must be the
same.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree import arrays
from tallytree.arrays import LevelArrays, SparseRows, get_rows
from tallytree.privacy import door
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.door import find_noise, measure
from tallytree.privacy.noise import Advance, ExactNoise, Fill, Noise
from tallytree.privacy.plan import Plan
from tallytree.privacy.queries import CHAIN, QUERIES, Counted
from tallytree.publishing.publisher import Release
from tallytree.releases import release_files
from tallytree.releases.released import MAKER
from tallytree.sizes import count_sizes
from tests.instances import random_hierarchy
from tests.privacy.known_noise import KnownNoise

Ints = npt.NDArray[np.int64]


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "LARGE", 12)
    monkeypatch.setattr(arrays, "CHUNK_CELLS", 8)
    monkeypatch.setattr(release_files, "BATCH_ROWS", 7)


def random_counts(seed: int) -> tt.GroupCounts:
    """Counts on a random tree, in memory as ever."""
    rng = np.random.default_rng(seed)
    h, _ = random_hierarchy(rng, int(rng.integers(1, 6))).sort()
    width = int(rng.integers(1, 7))
    leaf = rng.integers(0, 6, (h.leaf_count, width))
    leaf[rng.random(leaf.shape) < 0.5] = 0
    return tt.GroupCounts(h, (1, width), leaf)


def tabulate(counts: tt.GroupCounts) -> pa.Table:
    """A tidy table: rows of zero as well, so that every leaf is there; from the last leaf to the first."""
    rows = [
        {
            **dict(zip(counts.hierarchy.levels[1:], path[1:], strict=False)),
            "size": size,
            "groups": int(groups),
        }
        for path, values in zip(counts.hierarchy.leaves, counts.leaf, strict=True)
        for size, groups in enumerate(values, start=1)
    ]
    names: dict[str, pa.DataType] = {level: pa.string() for level in counts.hierarchy.levels[1:]}
    return pa.Table.from_pylist(rows[::-1], pa.schema({**names, "size": pa.int64(), "groups": pa.int64()}))


def read(counts: tt.GroupCounts) -> tt.GroupCounts:
    h = counts.hierarchy
    return tt.GroupCounts.from_table(
        tabulate(counts), regions=list(h.levels[1:]), sizes=counts.sizes, root="root", root_level=h.levels[0]
    )


@pytest.mark.usefixtures("few_are_many")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_sparse_counts_are_the_counts(seed: int) -> None:
    counts = random_counts(seed)
    found = read(counts)
    assert found.hierarchy == counts.hierarchy
    assert found.total == counts.total
    np.testing.assert_array_equal(found.leaf, counts.leaf)
    for level in range(len(counts.hierarchy.levels)):
        np.testing.assert_array_equal(found.array(level), counts.array(level))
        is_sparse = isinstance(found.levels.stored(level), SparseRows)
        assert is_sparse == (counts.array(level).size > 12 and counts.leaf.size > 12)


class SameNoise(ExactNoise):
    """The same draw everywhere, so that what is measured is known."""

    description, chunk = "a test", 5

    def __init__(self, value: int) -> None:
        self.value = value

    def prepare(self, scale: Fraction) -> Fill:
        return lambda out: out.fill(self.value)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    "added", [0, -7, 2**31 - 3, 2**35], ids=["none", "little", "at-32-bits", "beyond-32-bits"]
)
@pytest.mark.parametrize("name", ["direct-dp", "cumulative-joint", "cumulative-chain", "count-of-counts"])
@pytest.mark.parametrize("seed", range(4))
def test_every_region_of_a_large_level_gets_its_own_answer(name: str, added: int, seed: int) -> None:
    counts = random_counts(seed)
    plan = tt.mechanism(name).plan(counts.hierarchy, sizes=counts.sizes, epsilon="1")
    measured = measure(plan, read(counts), noise=SameNoise(added))
    for level, answer in enumerate(plan.answers(counts)):
        noise = np.full(answer.shape, added)
        if plan.has_public_totals(level):
            noise[:, -1] = 0
        np.testing.assert_array_equal(measured.values[level], answer + noise)


class NumberedNoise(ExactNoise):
    """1, 2, 3 and so on: no two draws are alike, so that one that is used twice is seen."""

    description, chunk = "a test", 5

    def __init__(self) -> None:
        self._given = 0
        self._lock = Lock()

    def prepare(self, scale: Fraction) -> Fill:
        return self._number

    def _number(self, out: Ints) -> None:
        with self._lock:
            out[:] = np.arange(self._given + 1, self._given + 1 + len(out))
            self._given += len(out)


def share_noise_among_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault: all parts of a level get the noise of the first of them."""
    add, first = door._add_noise_to, dict[int, Ints]()

    def add_again(plan: Plan, level: int, answer: Ints, noise: Noise, report: Advance) -> Ints:
        noisy = add(plan, level, answer, noise, report)
        return answer + first.setdefault(level, noisy - answer)[: len(answer)]

    monkeypatch.setattr(door, "_add_noise_to", add_again)


def find_noise_of(name: str, counts: tt.GroupCounts, noise: ExactNoise) -> list[Ints]:
    """What was added to the answers of each level."""
    plan = tt.mechanism(name).plan(counts.hierarchy, sizes=counts.sizes, epsilon="1/1000")
    measured = measure(plan, counts, noise=noise)
    added = [values - answer for values, answer in zip(measured.values, plan.answers(counts), strict=True)]
    return [level[:, :-1] if plan.has_public_totals(i) else level for i, level in enumerate(added)]


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("name", ["direct-dp", "cumulative-joint", "cumulative-chain", "count-of-counts"])
@pytest.mark.parametrize("is_shared", [False, True], ids=["right", "control"])
def test_no_two_regions_of_a_large_level_share_noise(
    name: str, is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_shared:
        share_noise_among_parts(monkeypatch)
    h = tt.Hierarchy.from_paths(["root", "leaf"], [("r", str(leaf)) for leaf in range(21)])
    counts = tt.GroupCounts(h, (1, 4), np.arange(84).reshape(21, 4) % 5)
    added = np.concatenate([level.ravel() for level in find_noise_of(name, counts, NumberedNoise())])
    assert (len(np.unique(added)) < len(added)) == is_shared
    # The noise of releases: two of the 11 parts, of 8 draws of a large scale each, are not alike by chance.
    leaves = find_noise_of(name, counts, find_noise(None, delta=None))[1]
    parts = [leaves[start : start + 2] for start in range(0, 20, 2)]
    assert (len({part.tobytes() for part in parts}) < len(parts)) == is_shared


@pytest.mark.usefixtures("few_are_many")
def test_what_all_regions_matter_to_is_answered_once_for_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    h = tt.Hierarchy.from_paths(["root", "leaf"], [("r", str(leaf)) for leaf in range(20)])
    counts = tt.GroupCounts(h, (1, 3), np.ones((20, 3), dtype=np.int64))
    plan = tt.mechanism("cumulative-chain").plan(h, sizes=counts.sizes, epsilon="1")
    asked: list[int] = []

    def answer(counts: Counted, level: int) -> Ints:
        asked.append(level)
        return CHAIN.answer(counts, level)

    monkeypatch.setitem(QUERIES, "chain", replace(CHAIN, answer=answer))
    assert len(list(plan.answer_in_parts(counts, 1))) == 10
    assert asked == [1]
    measure(plan, counts, noise=DigitNoise())
    assert asked == [1, 0, 1]


@pytest.mark.usefixtures("few_are_many")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), smooth=st.booleans())
def test_the_same_measurements_give_the_same_counts(seed: int, smooth: bool) -> None:
    counts = read(random_counts(seed))
    mechanism = tt.mechanism("cumulative-joint", smooth=smooth)
    plan = mechanism.plan(counts.hierarchy, sizes=counts.sizes, epsilon="1")
    large = measure(plan, counts, noise=DigitNoise())
    assert isinstance(large.values, LevelArrays)
    plain = tt.Measurements(plan, [large.values[level].copy() for level in range(len(plan.levels))])
    one = mechanism.postprocess(large, total=counts.total)
    other = mechanism.postprocess(plain, total=counts.total)
    assert one.objective == other.objective
    for a, b in zip(one.counts, other.counts, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == np.int64
    squares = [((np.cumsum(n, axis=1) - t) ** 2).sum() for n, t in zip(one.counts, plain.values, strict=True)]
    assert one.objective == sum(squares)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("query", ["cumulative-joint", "direct-dp", "cumulative-chain"])
@pytest.mark.parametrize("draw", [0, 7, 2**31 - 5, 2**31 - 1, 2**31, 2**33, -(2**31), -(2**33)])
def test_every_region_of_a_large_level_is_measured_in_its_place(query: str, draw: int) -> None:
    hierarchy = tt.Hierarchy.from_paths(["root", "state"], [("all", f"s{i}") for i in range(7)])
    counts = tt.GroupCounts(hierarchy, (1, 4), np.arange(28).reshape(7, 4) % 5)
    plan = tt.mechanism(query).plan(hierarchy, sizes=counts.sizes, epsilon="1")
    measured = measure(plan, counts, noise=KnownNoise(draw))
    assert isinstance(measured.values, LevelArrays)
    for level, answer in enumerate(plan.answers(counts)):
        np.testing.assert_array_equal(measured.values[level], answer + draw)
    # In 32 bits for as long as that is enough.
    large = np.abs(plan.answers(counts)[1] + draw).max() >= 2**31
    stored = measured.values.stored(1)
    assert isinstance(stored, np.ndarray)
    assert stored.dtype == (np.int64 if large else np.int32)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("seed", range(12))
def test_a_large_release_is_written_verified_and_read_back(seed: int, tmp_path: Path) -> None:
    counts = read(random_counts(seed))
    release = tt.release(counts, epsilon="1")
    release.save(tmp_path / "out", replicates=0)
    again = tt.load(tmp_path / "out")
    assert again.verify()
    assert again.hierarchy == release.hierarchy
    for level in range(len(release.hierarchy.levels)):
        np.testing.assert_array_equal(again.counts[level], release.counts[level])
        np.testing.assert_array_equal(again.measurements.values[level], release.measurements.values[level])
    assert again.to_arrow() == release.to_arrow()
    assert tt.evaluate(again, counts) == tt.evaluate(release, counts)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("seed", range(6))
def test_rows_may_stand_in_any_order(seed: int, tmp_path: Path) -> None:
    release = tt.release(read(random_counts(seed)), epsilon="1")
    release.save(tmp_path / "out", replicates=0)
    rng = np.random.default_rng(seed)
    cells = count_sizes(release.sizes)
    for name in ("release.parquet", "measurements.parquet"):
        path = tmp_path / "out" / name
        table = pa_parquet.read_table(path)
        order = rng.permutation(table.num_rows)
        if name == "measurements.parquet":  # the first of so many rows tells which region is next
            order = np.arange(table.num_rows).reshape(-1, cells)[:, ::-1].reshape(-1)
        pa_parquet.write_table(table.take(order), path)
    again = tt.load(tmp_path / "out")
    assert [check.name for check in again.verify().checks if check.failed] == ["files"]
    for level in range(len(release.hierarchy.levels)):
        np.testing.assert_array_equal(again.counts[level], release.counts[level])
        np.testing.assert_array_equal(again.measurements.values[level], release.measurements.values[level])


@pytest.mark.usefixtures("few_are_many")
def test_what_is_wrong_in_a_large_release_is_found() -> None:
    counts = read(random_counts(3))
    release = tt.release(counts, epsilon="1")
    last = release.counts[-1].copy()
    last[-1, 0] += 1
    last[0, 0] = -1
    changed = [*(release.counts[level] for level in range(len(release.counts) - 1)), last]
    small = Release(release.measurements, changed, release.total, release.manifest, made_by=MAKER)
    stored = SparseRows.from_dense(last)
    kept = LevelArrays([*changed[:-1], stored])
    large = Release(release.measurements, kept, release.total, release.manifest, made_by=MAKER)
    assert not large.verify()
    assert large.verify() == small.verify()


@given(seed=st.integers(0, 10**6), rows=st.integers(0, 8), width=st.integers(1, 5))
def test_sparse_rows_are_the_rows(seed: int, rows: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    number = int(rng.integers(0, 30))
    if rows == 0:
        number = 0
    at, column = rng.integers(0, max(1, rows), number), rng.integers(0, width, number)
    values = rng.integers(-3, 4, number) * int(rng.choice([1, 2**33]))
    dense = np.zeros((rows, width), dtype=np.int64)
    np.add.at(dense, (at, column), values)
    sparse = SparseRows.from_cells(at, column, values, (rows, width))
    assert sparse.shape == dense.shape
    np.testing.assert_array_equal(sparse.dense(), dense)
    assert (sparse.values != 0).all()
    if rows:
        some = rng.integers(0, rows, 5)
        np.testing.assert_array_equal(sparse.take(some).dense(), dense[some])
        start, stop = sorted(rng.integers(0, rows + 1, 2))
        np.testing.assert_array_equal(sparse.dense(start, stop), dense[start:stop])
        places = rng.integers(0, 4, rows)
        moved = np.zeros((4, width), dtype=np.int64)
        np.add.at(moved, places, dense)
        np.testing.assert_array_equal(sparse.move(places, 4).dense(), moved)
        np.testing.assert_array_equal(get_rows(LevelArrays([sparse]), 0, start, stop), dense[start:stop])
