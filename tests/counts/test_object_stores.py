"""Files in an object store, read from a server that speaks S3: copied once, and counted as local files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.counts.engines.object_stores import names_objects
from tallytree.errors import CountsError, EngineError, InputError
from tests.bad_input_support import SECRET, Bench, Case
from tests.commands import Run
from tests.counts.people import as_cells, count_slowly
from tests.counts.test_count_engines import draw
from tests.counts.test_read_once import change_during
from tests.servers import ObjectStore, find_port

PEOPLE = pa.table({"household": [1, 2, 2, 3], "person": [1, 2, 3, 4]})


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an empty bucket, and the way to it in the environment."""
    for name, value in object_store.environment.items():
        monkeypatch.setenv(name, value)
    folder = object_store.folder / "census"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def count(source: Any, **options: Any) -> tt.GroupCounts:
    return tt.count_groups(source, group="household", regions=[], sizes=(0, 3), **options)


@pytest.mark.parametrize("seed", range(4))
def test_objects_count_the_same(bucket: Path, seed: int) -> None:
    people = draw(seed)
    pa_parquet.write_table(people.table, bucket / "people [1].parquet")
    frame = None
    if people.frame_table is not None:
        pa_csv.write_csv(people.frame_table, bucket / "frame.csv")
        frame = "s3://census/frame.csv"
    counts = tt.count_groups("s3://census/people [[]1].parquet", frame=frame, **people.arguments)
    assert as_cells(counts) == count_slowly(people)


@pytest.fixture
def parts(bucket: Path) -> Path:
    """Files in folders that name regions, and what nobody means."""
    for state in ("01", "GA"):
        (bucket / "people" / f"state={state}").mkdir(parents=True)
        pa_parquet.write_table(PEOPLE, bucket / "people" / f"state={state}" / "a.parquet")
    (bucket / "people" / "_temporary").mkdir()
    (bucket / "people" / "_temporary" / "b.parquet").write_text(SECRET)
    (bucket / "people" / "notes.txt").write_text(SECRET)
    (bucket / "other").mkdir()
    pa_csv.write_csv(PEOPLE, bucket / "other" / "a.csv")
    pa_csv.write_csv(PEOPLE, bucket / "other" / "b.csv.gz")
    return bucket


@pytest.mark.parametrize(
    "source", ["s3://census/people", "s3://census/people/", "s3://census/people/state=*/*.parquet"]
)
def test_folders_and_patterns_name_regions(source: str, parts: Path) -> None:
    counts = tt.count_groups(source, group=["household", "state"], regions=["state"], sizes=(1, 3))
    assert counts.hierarchy.leaves == (("all", "01"), ("all", "GA"))
    assert counts.leaf.tolist() == [[2, 1, 0], [2, 1, 0]]


def test_a_list_may_mix_objects_and_files(parts: Path, tmp_path: Path) -> None:
    pa_csv.write_csv(PEOPLE, tmp_path / "c.csv")
    counts = count(["s3://census/other/?.csv", str(tmp_path / "c.csv")])
    assert counts.leaf.tolist() == [[0, 0, 2, 1]]


def test_only_what_is_meant_is_copied(parts: Path) -> None:
    copied = []

    def progress(step: str, total: int) -> Callable[[int], None]:
        copied.append((step, total))
        return lambda done: None

    count("s3://census/people/**/a.parquet", progress=progress)
    assert copied[0] == ("Copying the files", 2)


@pytest.mark.parametrize("when", ["before", "while"])
def test_an_object_that_is_written_to_while_it_is_copied_is_refused(
    when: str, bucket: Path, monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    from tallytree.counts.engines import object_stores

    pa_csv.write_csv(PEOPLE, bucket / "people.csv")
    copy = object_stores.Store.copy

    def write_and_copy(store: Any, path: str, folder: Path) -> None:
        if when == "while":
            copy(store, path, folder)
        text = (bucket / "people.csv").read_text()
        (bucket / "people.csv").write_text(text.replace("4", "5"))  # as long as before
        if when == "before":
            copy(store, path, folder)

    monkeypatch.setattr(object_stores.Store, "copy", write_and_copy)
    Case(lambda b: count("s3://census/people.csv"), "changed while it was read", EngineError).check(bench)


def test_the_copy_is_what_is_counted(bucket: Path) -> None:
    pa_csv.write_csv(PEOPLE, bucket / "people.csv")
    remove = change_during("Counting groups", lambda: (bucket / "people.csv").unlink())
    assert count("s3://census/people.csv", person="person", progress=remove).total == 3


CASES: dict[str, tuple[str, dict[str, str], type[InputError], str]] = {
    "missing": ("s3://census/no.csv", {}, EngineError, "There is no file 's3://census/no.csv'"),
    "bucket": ("s3://nosuch/no.csv", {}, EngineError, "There is no file 's3://nosuch/no.csv'"),
    "pattern": ("s3://census/*.tsv", {}, EngineError, "There is no file"),
    "nameless": ("s3://census/no\0.csv", {}, EngineError, "There is no file|cannot be read"),
    "password": (f"s3://me:{SECRET}@census/a.csv", {}, EngineError, "An address holds no credentials"),
    "secret": (
        "s3://census/people.csv",
        {"AWS_SECRET_ACCESS_KEY": SECRET},
        EngineError,
        "the store does not admit you.*check AWS_ACCESS_KEY_ID",
    ),
    "server-down": (
        "s3://census/people.csv",
        {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{find_port()}"},
        EngineError,
        "no server answers",
    ),
    "account": ("az://census/people.csv", {}, EngineError, "set AZURE_STORAGE_ACCOUNT"),
    "column": ("s3://census/other.csv", {}, CountsError, "none of the columns 'household'"),
}


@pytest.mark.parametrize(("source", "changes", "kind", "words"), CASES.values(), ids=CASES)
def test_errors_of_the_store_become_ours(
    source: str,
    changes: dict[str, str],
    kind: type[InputError],
    words: str,
    bucket: Path,
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pa_csv.write_csv(PEOPLE, bucket / "people.csv")
    (bucket / "other.csv").write_text(f"a,b\n1,{SECRET}\n")
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    Case(lambda b: count(source), words, kind).check(bench)


def test_records_are_no_frame_of_themselves(bucket: Path) -> None:
    pa_csv.write_csv(PEOPLE, bucket / "people.csv")
    with pytest.raises(CountsError, match="table of records itself"):
        count("s3://census/people.csv", frame="s3://census/people.csv")


def test_a_command_reads_objects(bucket: Path, run: Run, tmp_path: Path) -> None:
    pa_csv.write_csv(PEOPLE.append_column("state", pa.array(["GA"] * 4)), bucket / "people.csv")
    counted = run(
        "count", "s3://census/people.csv", "--group", "household", "--region", "state", "--sizes", "1:3",
        "--out", "counts.parquet",
    )  # fmt: skip
    assert counted.code == 0
    assert (tmp_path / "counts.parquet").exists()


def test_what_names_objects() -> None:
    assert all(map(names_objects, ("s3://a/b", "gs://a", "az://a/b", ["x.csv", "s3://a/b"])))
    assert not any(map(names_objects, ("s3:/a", "S3://", "http://a", "postgresql://a", None, 3, ["a"])))
