"""Release folders that somebody changed who also made all digests anew: what ``verify`` finds and says."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import FolderError
from tallytree.files import hash_file
from tallytree.privacy.measurements import PrivateMeasurements
from tallytree.publishing.publisher import Release
from tallytree.releases import release_files
from tallytree.releases.interval_bounds import INTERVALS, SUMMARIES
from tallytree.releases.manifest import MOST_BYTES, seal
from tallytree.releases.released import MAKER, MANIFEST, MEASUREMENTS, RELEASE, REPORT

PATHS = [("US", f"s{i}", f"c{j}") for i in range(10) for j in range(1 + i % 3)]
H = tt.Hierarchy.from_paths(["nation", "state", "county"], PATHS)
COUNTS = tt.GroupCounts(H, (1, 20), np.random.default_rng(0).integers(0, 50, (len(PATHS), 20)))

FILES = (RELEASE, MEASUREMENTS, INTERVALS, SUMMARIES)
Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("release") / "out"
    tt.add_intervals(tt.release(COUNTS, epsilon="1"), replicates=10).save(made)
    return made


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "out")
    return tmp_path / "out"


def reseal(folder: Path, change: Callable[[Manifest], object] = lambda manifest: None) -> None:
    """Change a manifest, and make the digests of it and of all files anew."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    change(manifest)
    manifest["files"] = {name: hash_file(folder / name) for name in manifest["files"]}
    (folder / MANIFEST).write_bytes(seal(manifest).encode())


def rewrite(folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    pa_parquet.write_table(change(pa_parquet.read_table(folder / name)), folder / name)
    reseal(folder)


def find_failures(folder: Path) -> list[str]:
    return [check.name for check in tt.load(folder).verify(recompute=True).checks if check.failed]


def find_skipped(folder: Path) -> dict[str, str]:
    return {check.name: check.statement for check in tt.load(folder).verify(recompute=True).skipped}


def test_nothing_is_found_where_nothing_was_changed(folder: Path) -> None:
    reseal(folder)
    verification = tt.load(folder).verify(recompute=True)
    assert verification.describe() == "All checks passed."
    assert len(verification.checks) == 15


@pytest.mark.parametrize("name", FILES)
def test_a_file_written_by_another_program_is_read(folder: Path, name: str) -> None:
    """In rows of its own order, where a file may have them; as a whole, with the schema of Arrow."""
    rewrite(folder, name, lambda table: table)
    assert find_failures(folder) == []
    if name in (RELEASE, INTERVALS):
        rewrite(folder, name, lambda table: table.take(np.random.default_rng(1).permutation(len(table))))
        assert find_failures(folder) == []


# Rows.


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("name", [RELEASE, INTERVALS])
def test_two_rows_of_one_cell_are_refused(folder: Path, name: str, ordered: bool) -> None:
    """A million groups more and a million less: no sum shows it, and a reader may see one of them only."""

    def repeat(table: pa.Table) -> pa.Table:
        first = table.slice(0, 1)
        at = table.column_names.index("groups")
        more, less = (
            first.set_column(at, "groups", pc.add(first["groups"], pa.scalar(n))) for n in (10**6, -(10**6))
        )
        rest = table.slice(1, len(table) - 4)  # there are no more rows than cells
        parts = [more, less, rest] if ordered else [more, rest, less, first]
        return pa.concat_tables(parts)

    rewrite(folder, name, repeat)
    with pytest.raises(FolderError, match="two rows for the same region and size"):
        tt.load(folder)


def test_two_rows_of_one_cell_are_refused_where_only_some_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tallytree.arrays.LARGE", 10)
    rewrite(folder, RELEASE, lambda table: pa.concat_tables([table, table.slice(3, 1)]))
    with pytest.raises(FolderError, match="two rows for the same region and size"):
        tt.load(folder)


def test_two_measurements_of_one_cell_are_refused(folder: Path) -> None:
    rewrite(folder, MEASUREMENTS, lambda t: pa.concat_tables([t.slice(0, 1), t.slice(0, 1), t.slice(2)]))
    with pytest.raises(FolderError, match="two rows for the same region and size"):
        tt.load(folder)


# Columns, keys, files.


@pytest.mark.parametrize("name", FILES)
def test_an_unknown_column_is_refused(folder: Path, name: str) -> None:
    rewrite(folder, name, lambda table: table.append_column("truth", pa.array([7] * len(table))))
    with pytest.raises(FolderError, match=rf"{name} is damaged: it has the unknown column 'truth'"):
        tt.load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("where", ["schema", "field"])
def test_unknown_metadata_of_a_file_are_refused(folder: Path, name: str, where: str) -> None:
    def annotate(table: pa.Table) -> pa.Table:
        if where == "schema":
            return table.replace_schema_metadata({"truth": "7"})
        first = table.schema.field(0).with_metadata({"truth": "7"})
        return table.cast(table.schema.set(0, first))

    rewrite(folder, name, annotate)
    with pytest.raises(FolderError, match=rf"{name} is damaged: it holds unknown metadata, 'truth'"):
        tt.load(folder)


@pytest.mark.parametrize("part", ["", "software", "data", "mechanism", "solution", "intervals"])
def test_an_unknown_key_of_the_manifest_is_refused(folder: Path, part: str) -> None:
    reseal(folder, lambda manifest: (manifest[part] if part else manifest).update(certified="yes"))
    with pytest.raises(FolderError, match=r"The manifest has an unknown key.*'certified'"):
        tt.load(folder)


def test_a_file_that_the_manifest_does_not_know_is_named(folder: Path) -> None:
    (folder / REPORT).write_text("made from the others")
    assert "other files" not in find_skipped(folder)
    (folder / "truth.csv").write_text("7")
    assert find_failures(folder) == []
    assert find_skipped(folder) == {
        "other files": "not checked, because the manifest does not list them: 'truth.csv'"
    }
    for number in range(5):
        (folder / f"a{number}").mkdir()
    assert find_skipped(folder)["other files"].endswith("'a0', 'a1', 'a2' and 3 more")


def test_a_digest_of_a_file_that_no_release_has_is_found(folder: Path) -> None:
    (folder / "truth.csv").write_text("7")
    reseal(folder, lambda manifest: manifest["files"].update({"truth.csv": ""}))
    assert find_failures(folder) == ["schema", "files"]


@pytest.mark.parametrize(
    ("name", "column", "failures"),
    [
        (INTERVALS, "groups", ["interval files"]),
        (SUMMARIES, "value", ["interval files", "usefulness"]),
    ],
)
def test_intervals_of_other_counts_are_found(
    folder: Path, name: str, column: str, failures: list[str]
) -> None:
    def raise_all(table: pa.Table) -> pa.Table:
        raised = pc.add(table[column], pa.scalar(1).cast(table[column].type))
        return table.set_column(table.column_names.index(column), column, raised)

    rewrite(folder, name, raise_all)
    assert find_failures(folder) == failures


# What does not follow from the measurements.


def forge_solution(place: Path, method: tt.Mechanism, answers: list[Any], manifest: Manifest) -> None:
    """A folder with these answers, what a mechanism makes of them, and the rest as it was."""
    plan = method.plan(H, sizes=(1, 20), epsilon=manifest["privacy"]["epsilon"])
    measurements = PrivateMeasurements(plan, answers, manifest["privacy"]["noise"])
    solved = method.postprocess(measurements, total=COUNTS.total)
    stated = {
        "objective": str(solved.objective),
        "solver": solved.solver,
        "certificate_slack": solved.certificate and str(solved.certificate.slack),
        "accuracy": solved.accuracy and asdict(solved.accuracy),
        "effort": solved.effort,
    }
    forged = {**manifest, "solution": stated}
    Release(measurements, solved.counts, COUNTS.total, forged, made_by=MAKER).save(place, replicates=0)


@pytest.mark.parametrize("mechanism", ["direct-dp", "cumulative-joint", "cumulative-chain", "topdown"])
def test_true_counts_in_place_of_measurements_are_found(tmp_path: Path, mechanism: str) -> None:
    release = tt.release(COUNTS, epsilon="1", mechanism=mechanism)
    plan = release.measurements.plan
    forge_solution(
        tmp_path / "out",
        tt.mechanism(mechanism),
        plan.answers(COUNTS),
        json.loads(json.dumps(release.manifest)),
    )
    assert find_failures(tmp_path / "out") == ["noise"]


@pytest.mark.parametrize("mechanism", ["direct-dp", "cumulative-joint", "cumulative-chain", "topdown"])
def test_a_plan_restated_at_a_hundredth_of_its_epsilon_is_found(tmp_path: Path, mechanism: str) -> None:
    dear, cheap = (tt.release(COUNTS, epsilon=e, mechanism=mechanism) for e in ("1", "1/100"))
    dear.save(tmp_path / "out", replicates=0)
    assert find_failures(tmp_path / "out") == []
    reseal(tmp_path / "out", lambda manifest: manifest.update(privacy=cheap.manifest["privacy"]))
    smooths = mechanism == "cumulative-joint"  # by the noise that is stated
    assert find_failures(tmp_path / "out") == (["noise", "solution"] if smooths else ["noise"])


@pytest.mark.parametrize(
    ("mechanism", "slow"),
    [("direct-dp", "direct-qip"), ("direct-dp", "direct-cp"), ("cumulative-joint", "cumulative-qip")],
)
def test_moved_counts_of_a_mechanism_that_takes_long_are_found(
    tmp_path: Path, mechanism: str, slow: str
) -> None:
    """Sums hold, the mechanism is renamed to one that is not run again, its objective worked out anew."""
    release = tt.release(COUNTS, epsilon="1", mechanism=mechanism)
    counts = [level.copy() for level in release.counts]
    path = H.path(2, 0)
    for level in range(3):
        row = H.find(path[: level + 1])[1]
        counts[level][row, :2] += [-int(counts[2][0, 0]), int(counts[2][0, 0])] if level < 2 else [0, 0]
    counts[2][0, :2] = 0, counts[2][0, :2].sum()
    method = tt.mechanism(slow)
    options = {"solver": "scip", "time_limit": 300.0} if slow.endswith("qip") else {}
    evidence = method.assess(release.measurements, counts, total=release.total)
    manifest = json.loads(json.dumps(release.manifest))
    manifest["mechanism"] = {"name": slow, "symbol": method.symbol, "options": options, "exact": True}
    manifest["solution"] |= {
        "objective": str(evidence.objective),
        "solver": "scip" if options else "constraints",
        "certificate_slack": evidence.certificate and str(evidence.certificate.slack),
        "accuracy": None,
    }
    made = Release(release.measurements, counts, release.total, manifest, made_by=MAKER)
    made.save(tmp_path / "out", replicates=0)
    expected = ["mechanism", "solution"] if slow == "direct-cp" else ["solution"]
    assert find_failures(tmp_path / "out") == expected


@pytest.mark.parametrize("kind", ["direct-dp", "cumulative-dp"])
def test_a_forged_certificate_is_found(tmp_path: Path, kind: str) -> None:
    tt.release(COUNTS, epsilon="1", mechanism=kind).save(tmp_path / "out", replicates=0)
    assert find_failures(tmp_path / "out") == []
    reseal(tmp_path / "out", lambda manifest: manifest["solution"].update(certificate_slack="123456"))
    assert find_failures(tmp_path / "out") == ["mechanism"]


def test_a_forged_receipt_is_said_to_be_not_looked_up(folder: Path) -> None:
    numbers = {"charged": "1", "spent": "1", "remaining": "9"}
    receipt = {"dataset": "d", "entry": 2, "hash": "0" * 64, "unit": "epsilon", **numbers}
    reseal(folder, lambda manifest: manifest["privacy"].update(ledger=receipt))
    assert find_failures(folder) == []
    skipped = find_skipped(folder)
    assert skipped["receipt"] == (
        "entry 2 of the ledger is not looked up here: 'tallytree ledger verify' does that"
    )


# What a small folder may cost.


@pytest.mark.parametrize("name", [RELEASE, MEASUREMENTS, INTERVALS, SUMMARIES])
def test_more_rows_than_there_are_cells_are_refused_before_they_are_read(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **more: object) -> None:
        pytest.fail("rows were read")

    rewrite(folder, name, lambda table: pa.concat_tables([table.slice(0, 1)] * 100_000))
    monkeypatch.setattr(pa_parquet.ParquetFile, "iter_batches", fail)
    monkeypatch.setattr(pa_parquet, "read_table", fail)
    with pytest.raises(
        FolderError, match=rf"{name} is damaged: it has 100,000 rows, not (at most )?[0-9,]+\."
    ):
        tt.load(folder)


def test_equal_rows_are_refused_when_the_first_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the manifest says that there are as many."""
    rewrite(folder, MEASUREMENTS, lambda table: pa.concat_tables([table.slice(25, 1)] * 40_000))

    def change(manifest: Manifest) -> None:
        manifest["data"]["regions"] = [1, 999, 1000]
        manifest.pop("intervals")
        manifest["files"] = dict.fromkeys((RELEASE, MEASUREMENTS), "")

    reseal(folder, change)
    monkeypatch.setattr(release_files, "BATCH_ROWS", 1_000)
    read: list[int] = []
    whole = pa_parquet.ParquetFile.iter_batches

    def count(self: Any, batch_size: int) -> Any:
        for batch in whole(self, batch_size=batch_size):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pa_parquet.ParquetFile, "iter_batches", count)
    with pytest.raises(FolderError, match="a region is missing or appears twice"):
        tt.load(folder)
    assert sum(read) <= 2_000


def test_more_rows_than_a_file_of_its_size_can_have_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_files, "ALWAYS_ROWS", 100)
    assert find_failures(folder) == []  # noise takes room
    monkeypatch.setattr(release_files, "ROWS_PER_BYTE", 0)
    with pytest.raises(FolderError, match="far more room than its size allows"):
        tt.load(folder)


def test_long_names_that_take_no_room_in_the_file_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_files, "MOST_BYTES", 2**16)

    def rename(table: pa.Table) -> pa.Table:
        return table.set_column(0, "nation", pa.array(["a" * 10**6] * len(table)))

    rewrite(folder, MEASUREMENTS, rename)
    assert (folder / MEASUREMENTS).stat().st_size < 10**6
    with pytest.raises(FolderError, match="far more room than its size allows"):
        tt.load(folder)


def test_a_manifest_that_is_too_large_is_not_parsed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / MANIFEST).write_bytes(b"[" * (MOST_BYTES + 1))
    monkeypatch.setattr("tallytree.releases.manifest.json.loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(FolderError, match=r"larger than 4,194,304 bytes"):
        tt.load(folder)


@pytest.mark.parametrize(
    "regions", [None, 3, [], [1, 10], [1, 10, 0], [1, 10, "19"], [1, 10, 2**40], [1, True, 19]]
)
def test_numbers_of_regions_that_cannot_be_are_refused(folder: Path, regions: object) -> None:
    reseal(folder, lambda manifest: manifest["data"].update(regions=regions))
    with pytest.raises(FolderError, match="lacks facts"):
        tt.load(folder)
