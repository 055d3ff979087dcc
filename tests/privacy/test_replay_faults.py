"""Record and replay finds what it is there for: faults of every kind are planted, and their places named."""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.privacy.noise import Advance, ExactNoise
from tallytree.publishing import pipeline
from tests.privacy.replay_data import LEAF, LEAVES, MOVED, REGIONS, SIZES
from tests.privacy.replay_facts import find_differences
from tests.privacy.replay_support import Play, Recorder, Scene, publish

Ints = npt.NDArray[np.int64]

TREE = tt.Hierarchy.from_paths(["root", *REGIONS], [("all", *filter(None, leaf)) for leaf in LEAVES])
FILE = "work/out/release.parquet"


@dataclass
class Truth:
    """What faults give away: facts of the true counts of the run that goes on."""

    leaf: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @property
    def people(self) -> int:
        return int((self.leaf * np.arange(SIZES[0], SIZES[1] + 1)).sum())

    @property
    def cells(self) -> int:
        """Those that are not zero."""
        return int(np.count_nonzero(self.leaf))


Plant = Callable[[pytest.MonkeyPatch, Truth], None]
FAULTS: dict[str, tuple[str, Plant]] = {}
"""What is planted, by its name; and how the place begins where it must be found."""


def fault(name: str, place: str) -> Callable[[Plant], Plant]:
    def keep(plant: Plant) -> Plant:
        FAULTS[name] = place, plant
        return plant

    return keep


def release(truth: Truth, leaf: Ints) -> Play:
    def play(scene: Scene) -> None:
        truth.leaf = leaf
        publish(scene, tt.GroupCounts(TREE, SIZES, leaf))

    return play


def after_writing(patch: pytest.MonkeyPatch, change: Callable[[Path], None]) -> None:
    """Change what is in the folder of a release before anybody sees it."""
    write = tt.Release.write_into

    def write_and_change(self: tt.Release, folder: Path) -> None:
        write(self, folder)
        change(folder)

    patch.setattr(tt.Release, "write_into", write_and_change)


def rewrite(patch: pytest.MonkeyPatch, write: Callable[[pa.Table, Path], None]) -> None:
    """Write the file of counts anew, in another way."""

    def change(folder: Path) -> None:
        names = [*TREE.levels, "level"]
        write(
            pa_parquet.read_table(folder / "release.parquet", read_dictionary=names),
            folder / "release.parquet",
        )

    after_writing(patch, change)


def draw_otherwise(patch: pytest.MonkeyPatch, draw: Callable[..., Ints]) -> None:
    """Draw noise in another way, which is given the ordinary one."""
    ordinary = ExactNoise.draw

    def draw_again(self: ExactNoise, scale: Fraction, count: int, advance: Advance) -> Ints:
        def ask(other_scale: Fraction = scale, other_count: int = count) -> Ints:
            return ordinary(self, other_scale, other_count, advance)

        return draw(ask, scale, count)

    patch.setattr(ExactNoise, "draw", draw_again)


# Regions, and facts in the files.


def order_regions(patch: pytest.MonkeyPatch, order: Callable[[], list[int]]) -> None:
    """Counts are made with their regions in this order."""
    ordinary = tt.GroupCounts.__init__

    def make(self: tt.GroupCounts, hierarchy: tt.Hierarchy, sizes: Any, leaf: Any, **more: Any) -> None:
        rows = order()
        paths = [hierarchy.leaves[row] for row in rows]
        ordered = tt.Hierarchy.from_paths(hierarchy.levels, paths)
        ordinary(self, ordered, sizes, np.asarray(leaf)[rows], **more)

    patch.setattr(tt.GroupCounts, "__init__", make)


@fault("regions by appearance", f"{FILE}: row group 2, column 'county': values")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    # As they appear in a table with the regions that have most groups of size 3 first.
    order_regions(patch, lambda: np.argsort(-truth.leaf[:, 2], kind="stable").tolist())


@fault("regions by their counts", "regions: line 3")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    order_regions(patch, lambda: np.lexsort(truth.leaf.T).tolist())


@fault("a total that is not public", "work/out/manifest.json: data.total")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    patch.setattr(tt.GroupCounts, "total", property(lambda self: truth.people))


@fault("the number of rows in the manifest", "work/out/manifest.json: data.rows")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def change(folder: Path) -> None:
        text = (folder / "manifest.json").read_text()
        changed = text.replace('"data": {', f'"data": {{\n    "rows": {truth.cells},')
        (folder / "manifest.json").write_text(changed)

    after_writing(patch, change)


@fault("the order of the manifest's keys", "work/out/manifest.json: mechanism: keys")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def change(folder: Path) -> None:
        text = (folder / "manifest.json").read_text()
        symbol = next(line for line in text.splitlines(keepends=True) if '"symbol": ' in line)
        if truth.people % 2:
            text = text.replace(symbol, "").replace('"mechanism": {\n', f'"mechanism": {{\n{symbol}')
        (folder / "manifest.json").write_text(text)

    after_writing(patch, change)


@fault("a dictionary in the order of the data", f"{FILE}: row group 0, column 'county': dictionary")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def write(table: pa.Table, path: Path) -> None:
        codes: Any = table["county"].combine_chunks().cast(pa.string()).dictionary_encode()
        names, turned = codes.dictionary.to_pylist(), truth.people % len(codes.dictionary)
        known = names[turned:] + names[:turned]
        places = [None if name is None else known.index(name) for name in codes.to_pylist()]
        column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(known))
        pa_parquet.write_table(table.set_column(2, "county", column), path)

    rewrite(patch, write)


@fault("row groups by the data", f"{FILE}: row groups")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    rewrite(
        patch, lambda table, path: pa_parquet.write_table(table, path, row_group_size=1 + truth.cells % 5)
    )


@fault("rows in the order of the data", f"{FILE}: row group 0, column 'size': values")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def write(table: pa.Table, path: Path) -> None:
        pa_parquet.write_table(table.take(np.roll(np.arange(table.num_rows), truth.people)), path)

    rewrite(patch, write)


@fault("a type that the data need", f"{FILE}: schema")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def write(table: pa.Table, path: Path) -> None:
        kind = pa.int32() if truth.people % 2 else pa.int64()
        place = table.column_names.index("groups")
        pa_parquet.write_table(table.set_column(place, "groups", table["groups"].cast(kind)), path)

    rewrite(patch, write)


@fault("a fact in a file's metadata", f"{FILE}: metadata")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def write(table: pa.Table, path: Path) -> None:
        pa_parquet.write_table(table.replace_schema_metadata({"people": str(truth.people)}), path)

    rewrite(patch, write)


@fault("an encoding by the data", f"{FILE}: row group 0, column 'groups': kept as")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def write(table: pa.Table, path: Path) -> None:
        pa_parquet.write_table(table, path, compression="zstd" if truth.people % 2 else "snappy")

    rewrite(patch, write)


@fault("bytes behind a file", "work/out/report.html: length")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    write = Path.write_bytes

    def pad(self: Path, content: Any) -> int:
        blanks = b" " * truth.people if bytes(content[:9]) == b"<!doctype" else b""
        return write(self, bytes(content) + blanks)

    patch.setattr(Path, "write_bytes", pad)


@fault("the time of a file", f"{FILE}: time")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: os.utime(folder / "release.parquet", (truth.people, truth.people)))


@fault("the rights of a file", f"{FILE}: rights")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: (folder / "release.parquet").chmod(0o600 + truth.people % 8))


@fault("the name of a file", "work/out/")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: (folder / f"part-{truth.people}").touch())


@fault("a file that is left behind", "tmp/spilled-")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: Path(tempfile.gettempdir(), f"spilled-{truth.people}").touch())


# What is said.


def print_below(stream: int, text: str) -> None:
    """As a library does that is not written in Python."""
    os.write(stream, text.encode())


@fault("a word on standard output", "stdout: line 1")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: print_below(1, f"{truth.people} people\n"))


@fault("a word on standard error", "stderr: line 1")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: print_below(2, f"{truth.people} people\n"))


@fault("a log", "log: line 1")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: logging.getLogger("tallytree").info("%s people", truth.people))


@fault("a warning", "warnings: line 1")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    after_writing(patch, lambda folder: warnings.warn(f"{truth.people} people", stacklevel=1))


@fault("steps of progress", "progress: Drawing noise")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    measure = vars(pipeline)["measure"]

    def measure_and_tell(*given: Any, progress: Any, **more: Any) -> Any:
        progress("Drawing noise", truth.people)
        return measure(*given, progress=progress, **more)

    patch.setattr(pipeline, "measure", measure_and_tell)


@fault("a ledger's text", "ledger: line 2")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    charge = tt.Ledger.charge

    def charge_and_tell(self: tt.Ledger, loss: Any, *, what: str, **more: Any) -> Any:
        return charge(self, loss, what=f"{what}, {truth.people} people", **more)

    patch.setattr(tt.Ledger, "charge", charge_and_tell)


@fault("a charge by the data", "work/ledger.db: bytes")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    charge = tt.Ledger.charge
    patch.setattr(
        tt.Ledger, "charge", lambda self, loss, **more: charge(self, 1 + Fraction(truth.people, 100), **more)
    )


@fault("a repr", "repr: line 1")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    patch.setattr(tt.Release, "__repr__", lambda self: f"Release of {truth.people} people")


@fault("something hidden in the release", "pickle: bytes")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    ordinary = tt.Release.__post_init__

    def begin(self: tt.Release, made_by: object) -> None:
        ordinary(self, made_by)
        object.__setattr__(self, "_people", truth.people)

    patch.setattr(tt.Release, "__post_init__", begin)


# Noise.


@fault("as many draws as cells above zero", "sampler: call 0")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    def draw(ask: Callable[..., Ints], scale: Fraction, count: int) -> Ints:
        out = np.zeros(count, dtype=np.int64)
        few = ask(scale, min(count, truth.cells % 4))
        out[: len(few)] = few
        return out

    draw_otherwise(patch, draw)


@fault("a scale from the data", "sampler: call 0")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    draw_otherwise(patch, lambda ask, scale, count: ask(scale * (1 + truth.people)))


@fault("noise drawn again and again", "sampler: calls")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    draw_otherwise(patch, lambda ask, scale, count: [ask() for _ in range(1 + truth.people % 3)][-1])


@fault("noise in the order of the data", "noise: level 'county'")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    draw_otherwise(patch, lambda ask, scale, count: np.roll(ask(), truth.people))


@fault("less noise for some", "noise: level 'root'")
def _(patch: pytest.MonkeyPatch, truth: Truth) -> None:
    draw_otherwise(patch, lambda ask, scale, count: ask() // (1 + truth.people % 2))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_its_place_is_named(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, plant = FAULTS[name]
    truth, recorder = Truth(), Recorder(tmp_path, capfd)
    with monkeypatch.context() as patch:
        plant(patch, truth)
        first = recorder.record(release(truth, LEAF))
        # The fault is a function of the data: the same data do not differ.
        assert find_differences(first, recorder.replay(release(truth, LEAF))) == []
        found = find_differences(first, recorder.replay(release(truth, MOVED["Kings"])))
    assert any(difference.startswith(place) for difference in found), found


def test_without_a_fault_nothing_is_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    truth, recorder = Truth(), Recorder(tmp_path, capfd)
    first = recorder.record(release(truth, LEAF))
    for leaf in MOVED.values():
        assert find_differences(first, recorder.replay(release(truth, leaf))) == []
        assert truth.people == Truth(LEAF).people + 1
    # Counts that are no neighbours: there is one group more, and their number is published.
    more = LEAF.copy()
    more[0, 0] += 1
    found = find_differences(first, recorder.replay(release(truth, more)))
    assert any(difference.startswith("work/out/manifest.json: data.total: ") for difference in found)
