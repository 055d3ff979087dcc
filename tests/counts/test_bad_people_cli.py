"""Wrong records of people through the command line: exit code 2, one message, nothing shown, nothing left."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.counts.count_files import KEY
from tallytree.counts.engines.duckdb import DuckDBSession
from tallytree.counts.record_counter import Counter
from tallytree.counts.region_tables import REGIONS_FROM_DATA
from tallytree.errors import CountsError, InputError
from tallytree.privacy.neighbours import (
    EMPTY_GROUPS_ON_TRUST,
    GROUPS_FROM_DATA,
    ROWS_ARE_PEOPLE,
    say_taken_on_trust,
)
from tests.bad_input_support import (
    COUNT,
    HOSTILE_NAMES,
    SECRET,
    Bench,
    Case,
    Commands,
    check_ended,
    check_refused,
    check_secrets,
    full_disk,
    list_all,
    list_cases,
    run_process,
    unchanged,
    write_files,
)
from tests.commands import Run, make_words
from tests.servers import fill, need

HEADER = "household,state,person,hours\n"
ROWS = f"1,GA,p,1\n1,GA,q,2\n2,GA,r,0\n{COUNT},{SECRET},{SECRET},{COUNT}\n"
ADDRESS = f"postgresql://tester:{SECRET}@127.0.0.1:1/database"

FILES: dict[str, str | bytes] = {
    "people.csv": HEADER + ROWS,
    "frame.csv": f"household,state\n1,GA\n2,GA\n3,GA\n{COUNT},{SECRET}\n",
    "strays.csv": "household,state\n1,GA\n2,GA\n",
    "regions.csv": f"state\nGA\n{SECRET}\nTX\n",
    "few-regions.csv": "state\nGA\n",
    "torn.csv": HEADER + ROWS + f"1,{SECRET},s,1\n",
    "null.csv": HEADER + ROWS + f",{SECRET},s,1\n",
    "text.csv": HEADER + ROWS + f"1,GA,s,{SECRET}\n",
    "fraction.csv": HEADER + ROWS + f"1,GA,s,{COUNT}.5\n",
    "ragged.csv": HEADER + ROWS + f"{SECRET}\n",
    "cut.csv": HEADER + ROWS + f'1,"{SECRET}',
    "latin.csv": (HEADER + ROWS + "1,Curaçao,s,1\n").encode("latin-1"),
    "no-rows.csv": HEADER,
    "no-header.csv": ROWS,
    "empty.csv": "",
    "text.parquet": HEADER + ROWS,
    "people.xlsx": HEADER + ROWS,
    "group.toml": 'source = "x"\ngroup = 3\nregions = []\nsizes = [0, 3]\nout = "x.parquet"\n',
    "engine.toml": 'source = "x"\ngroup = "x"\nregions = []\nsizes = [0, 3]\nout = "x.parquet"\nengine = 3\n',
    "threads.toml": 'source = "people.csv"\ngroup = "household"\nregions = ["state"]\nsizes = [0, 3]\n'
    'out = "x.parquet"\nthreads = "2"\n',
}
"""Files for the command line; the first two, and the regions, are right."""

FACTS: dict[str, Any] = {
    "sizes": [0, 3],
    "max_records": 1,
    "max_quantity": 1,
    "assumed": [],
    "has_frame": True,
}
WRONG_FACTS: dict[str, list[object]] = {
    "sizes": [None, [3, 0], "0:3", [0, 2**70]],
    "max_records": [None, 0, "1", 1.5],
    "max_quantity": [True, 2**40],
    "assumed": [None, SECRET, [COUNT]],
    "has_frame": ["no", 0, None],
    "sha256": [5, "00"],  # the second without the region columns
}
SPOILED: dict[str, bytes] = {
    "json": b"{" + SECRET.encode(),
    "list": b"[]",
    "deep": b"[" * 100_000,
    "not-text": b"\xff\xfe",
    **{
        f"{name}-{place}": json.dumps({**FACTS, name: value}).encode()
        for name, values in WRONG_FACTS.items()
        for place, value in enumerate(values)
    },
}
"""What a counted file may say about itself, all of it wrong."""


def words_of(command: str, *more: str, without: str = "", **changes: str) -> list[str]:
    """The words of a command that works, but for ``changes``."""
    options = {"source": "people.csv", "group": "household", "region": "state", "sizes": "0:3"}
    options |= {"out": "out.parquet"} if command == "count" else {"epsilon": "1", "out": "out"}
    options |= {"max_quantity": "1"} if "quantity" in changes else {}
    return make_words(command, {**options, **changes}, *more, without=without)


def count(*more: str, **changes: str) -> list[str]:
    return words_of("count", *more, **changes)


def release(*more: str, **changes: str) -> list[str]:
    return words_of("release", *more, **changes)


def release_counts(source: str, *more: str, **changes: str) -> list[str]:
    return words_of("release", *more, without="group", source=source, **changes)


WRONG: Commands = {
    "without-source": (count(without="source"), "'source' is missing"),
    "without-group": (count(without="group"), "'group' is missing: the column that identifies the group"),
    "without-region": (count(without="region"), "'regions' is missing"),
    "without-sizes": (count(without="sizes"), "'sizes' is missing"),
    "without-out": (count(without="out"), "'out' is missing"),
    "epsilon-for-count": (count("--epsilon", "1"), "No such option: --epsilon"),
    "size-for-count": (count("--size", "x"), "need protect='group'"),
    "group-misspelt": (count(group="houshold"), "did you mean 'household'"),
    "region-misspelt": (release(region="stat"), "did you mean 'state'"),
    "person-misspelt": (count(person="persom"), "did you mean 'person'"),
    "quantity-unbounded": (
        release(quantity="hours", without="max_quantity"),
        "A quantity needs its bound, max_quantity",
    ),
    "missing-word": (count(missing="none"), "one of 'refuse', 'drop', not 'none'"),
    "frame-is-the-source": (release(frame="./people.csv"), "The frame is the table of records itself"),
    "frame-in-the-source": (
        count(source="[fp]*e.csv", frame="frame.csv"),
        "The frame is the table of records itself",
    ),
    "hierarchy-is-the-source": (release(hierarchy="people.csv"), "table of regions is the source itself"),
    "quantity-misspelt": (release(quantity="hour"), "did you mean 'hours'"),
    "group-twice": (count("--group", "household"), "'household' is named for two purposes"),
    "region-is-quantity": (count(quantity="state"), "'state' is named for two purposes"),
    "sizes-reversed": (count(sizes="3:0"), "are not a range"),
    "sizes-text": (count(sizes="few"), "not a range such as 1:20"),
    "sizes-many": (release(sizes="0:2000000"), "more than 1048576"),
    "records-without-person": (
        release(max_records="2"),
        "max_records needs the column that identifies the person",
    ),
    "records-zero": (count(person="person", max_records="0"), "max_records must be a whole number from 1"),
    "records-text": (count(person="person", max_records="few"), "'--max-records'.* valid integer"),
    "quantity-huge": (count(quantity="hours", max_quantity="99999999999"), "max_quantity must be"),
    "epsilon": (release(epsilon="0"), "must be above zero"),
    "mechanism": (release(mechanism="direct_dp"), "did you mean 'direct-dp'"),
    "root-level": (release("--root-level", "state"), "the same name"),
    "level-called-size": (release(region="size", source="size.parquet"), "may not be called 'size'"),
    "out-ending": (count(out="counts.xlsx"), "'counts.xlsx' must end in .parquet or .csv"),
    "out-no-ending": (count(out="counts"), "must end in .parquet or .csv"),
    "out-csv-not-sensitive": (count(out="counts.csv"), "its name must hold the word 'sensitive'"),
    "out-exists": (count(out="counted.parquet"), "'counted.parquet' exists already: choose another name"),
    "out-link": (count(out="dangling.parquet"), "exists already"),
    "out-no-folder": (count(out="no/counts.parquet"), "cannot be written: No such file"),
    "out-below-file": (count(out="people.csv/x.parquet"), "cannot be written: Not a directory"),
    "out-long-name": (count(out="x" * 300 + ".parquet"), "cannot be written: File name too long"),
    "out-region-size": (count(region="size", source="size.parquet"), "may not be called 'size'"),
    "out-region-groups": (count(region="groups"), "may not be called 'groups'"),
    "release-out-exists": (release(out="folder"), "exists already"),
    "engine": (count(engine="dukdb"), "did you mean 'duckdb'"),
    "master-without-spark": (count(master="local[2]"), "A master belongs to Spark"),
    "master-unknown": (count(engine="spark", master="here"), "master must be like 'local"),
    "threads-zero": (release(threads="0"), "from 1 to 4096"),
    "threads-text": (count(threads="all"), "'--threads'.* valid integer"),
    "threads-of-spark": (count(engine="spark", threads="2"), "set with its master"),
    "memory-words": (count(memory_limit="lots"), "'lots' is not a size such as 8GB"),
    "memory-huge": (release(memory_limit="999999999TB"), "is not a size such as 8GB"),
    "memory-tiny": (release(memory_limit="1KB"), "DuckDB ran out of memory"),
    "spill-missing": (release(spill_folder="no"), "Cannot write temporary files to 'no': No such file"),
    "spill-file": (
        count(spill_folder="people.csv"),
        "Cannot write temporary files to 'people.csv': Not a dir",
    ),
    "table-of-a-file": (count(table="people"), "Give the name of a table with a database URL, and only"),
    "database-without-table": (release(source=ADDRESS), "Give the name of a table with a database URL"),
    "database-down": (release(source=ADDRESS, table="people"), "no connection to the database"),
    "database-engine": (count(source=ADDRESS, table="x", threads="2"), "brings its own engine"),
    "table-of-nothing-known": (
        release(source=f"nosuch://user:{SECRET}@host/database", table="people"),
        "Nothing here reads addresses that begin with 'nosuch://'",
    ),
    "address-http": (count(source=f"http://{SECRET}/x.csv"), "an address that Spark can read"),
    "address-hdfs": (release(source=f"hdfs://{SECRET}/x.parquet"), "an address that Spark can read"),
    "source-missing": (count(source="no.csv"), "There is no file 'no.csv'"),
    "source-ending": (release(source="people.xlsx"), "neither a CSV nor a Parquet file"),
    "source-folder": (count(source="folder"), "The folder 'folder' has no Parquet files"),
    "source-glob": (count(source="zz*.csv"), r"There is no file 'zz\*.csv'"),
    "source-mixed": (count(source="*people*.*"), "neither a CSV|not all of one kind"),
    "csv-empty": (count(source="empty.csv"), "empty.csv' is empty"),
    "csv-no-rows": (release(source="no-rows.csv"), "There are no records"),
    "csv-no-header": (count(source="no-header.csv"), "none of the columns"),
    "csv-ragged": (release(source="ragged.csv"), "cannot be read as a table"),
    "csv-cut": (count(source="cut.csv"), "cannot be read as a table"),
    "csv-latin": (count(source="latin.csv"), "not UTF-8"),
    "parquet-damaged": (release(source="text.parquet"), "cannot be read as a table"),
    "torn": (release(source="torn.csv"), "Groups in more than one region: 1"),
    "null": (count(source="null.csv"), "Missing values in column 'household': 1"),
    "quantity-text": (release(source="text.csv", quantity="hours"), "'hours' that are not whole numbers: 1"),
    "quantity-fraction": (count(source="fraction.csv", quantity="hours"), "not whole numbers: 1"),
    "frame-missing": (count(frame="no.csv"), "In the frame: There is no file 'no.csv'"),
    "frame-address": (release(frame=ADDRESS), "In the frame: An address was given"),
    "frame-column": (count(frame="regions.csv"), "In the frame: The table has no column 'household'"),
    "frame-strays": (release(frame="strays.csv"), "not a leaf|Groups of people that are not in the frame: 1"),
    "hierarchy-missing": (count(hierarchy="no.csv"), "There is no file 'no.csv'"),
    "hierarchy-address": (count(hierarchy=ADDRESS), "An address was given"),
    "hierarchy-column": (release(hierarchy="frame.csv", region="county"), "no column|none of the columns"),
    "hierarchy-regions": (release(hierarchy="few-regions.csv"), "region is not a leaf of the hierarchy: 1"),
    "hierarchy-levels": (count("--region", "hours", hierarchy="regions.csv"), "no column 'hours'"),
    "spec-group": (["count", "--spec", "group.toml"], "'group' must be a list of column names"),
    "spec-engine": (["count", "--spec", "engine.toml"], "'engine' must be text"),
    "spec-threads": (["count", "--spec", "threads.toml"], "from 1 to 4096"),
    "size-of-people": (release(size="hours"), "need protect='group'"),
    "groups-of-people": (release(groups="hours"), "'groups' belongs to a table of counts"),
    **{
        f"{name}-of-counts": (
            release_counts("counted.parquet", f"--{name}", value),
            f"'{name.replace('-', '_')}' belongs to people: give 'group' as well",
        )
        for name, value in {
            "person": "person",
            "quantity": "hours",
            "frame": "frame.csv",
            "missing": "drop",
            "table": "people",
            "engine": "duckdb",
            "memory-limit": "8GB",
        }.items()
    },
    "counted-sizes": (
        release_counts("counted.parquet", sizes="0:4"),
        "counted with sizes 0 to 3: release them with these",
    ),
    "counted-records": (
        release_counts("counted.parquet", max_records="2"),
        "counted with max_records = 1 and max_quantity = 1: release them with the same bounds",
    ),
    "counted-quantity": (release_counts("counted.parquet", max_quantity="9"), "max_quantity = 1: release"),
    "counted-region": (release_counts("counted.parquet", region="county"), "no column 'county'"),
    **{
        f"counted-spoiled-{name}": (
            release_counts(f"spoiled-{name}.parquet"),
            "metadata about the counting are damaged",
        )
        for name in SPOILED
    },
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of every place, by name."""
    folder = tmp_path_factory.mktemp("inputs")
    write_files(folder, FILES)
    counted = pa.table({"state": ["GA", SECRET], "size": [1, 2], "groups": [5, COUNT]})
    whole = counted.replace_schema_metadata({KEY: json.dumps(FACTS).encode()})
    pa_parquet.write_table(whole, folder / "counted.parquet")
    for name, facts in SPOILED.items():
        table = counted.replace_schema_metadata({KEY: facts})
        pa_parquet.write_table(table, folder / f"spoiled-{name}.parquet")
    pa_parquet.write_table(pa.table({"household": [COUNT], "size": [SECRET]}), folder / "size.parquet")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def place(bench: Bench, inputs: dict[str, bytes]) -> Path:
    """A folder with good and bad inputs, in which the commands run."""
    write_files(bench.folder, inputs)
    (bench.folder / "folder").mkdir()
    (bench.folder / "spill").mkdir()
    (bench.folder / "dangling.parquet").symlink_to("nowhere")
    return bench.folder


@pytest.mark.parametrize("case", list_cases((InputError, WRONG)))
def test_wrong_input_is_refused(case: Case, place: Path, bench: Bench) -> None:
    case.check(bench)


def test_wrong_input_is_refused_by_the_real_command(place: Path, bench: Bench) -> None:
    Case(*WRONG["database-down"]).check(replace(bench, run=partial(run_process, place)))


@pytest.mark.parametrize("out", ["counted.parquet", "no/counts.parquet", "x" * 300 + ".parquet"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_counted(
    out: str, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counter, "open", lambda *args: pytest.fail("it was read"))
    check_refused(run(*count(out=out)), place, "exists already|cannot be written")


WRONG_PLANS: dict[str, tuple[dict[str, str], str]] = {
    "totals-of-no-level": ({"public_totals": "stat"}, "did you mean 'state'"),
    "totals-unused": ({"public_totals": "state", "mechanism": "direct-dp"}, "cannot keep public totals"),
    "level-name": ({"region": "size"}, "A level may not be called 'size'"),
    "level-twice": ({"root_level": "state"}, "the same name"),
    "epsilon-tiny": ({"epsilon": "1e-12"}, "too small at level 'root'"),
    "records-zero": ({"person": "person", "max_records": "0"}, "max_records must be"),
    "budget-level": ({"budget": "root=1,county=1"}, "Unknown level 'county' in the budget"),
    "library": ({"mechanism": "direct-qip"}, r"tallytree\[solvers\]"),
}


@pytest.mark.parametrize(("changes", "pattern"), WRONG_PLANS.values(), ids=WRONG_PLANS)
def test_a_wrong_plan_is_refused_before_anything_is_counted(
    changes: dict[str, str], pattern: str, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counter, "open", lambda *args: pytest.fail("it was read"))
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    monkeypatch.delitem(sys.modules, "tallytree.solvers.general.qip_scip", raising=False)
    check_refused(run(*words_of("release", **changes)), place, pattern)


@pytest.mark.parametrize("key", ["quotes", "newline", "markup", "format", "comma"])
def test_hostile_names_are_only_data(key: str, run: Run, place: Path) -> None:
    name = HOSTILE_NAMES[key].replace("/", "|")
    table = pa.table({name: [1, 1, 2], f"{name}2": [name, name, "x"]})
    Path(name).mkdir()
    pa_csv.write_csv(table, Path(name, f"{name}.csv"))
    words = {"source": f"{name}/{name}.csv", "group": name, "region": f"{name}2"}
    before = list_all(place)
    counted = run(*count(**words, out=f"{name}/{name}.parquet"))
    assert counted.code == 0, counted.err
    made = release_counts(f"{name}/{name}.parquet", region=f"{name}2", out=f"{name}/out")
    assert run(*made).code == 0
    assert {*tt.load(Path(name, "out")).hierarchy.leaves} == {("all", name), ("all", "x")}
    new = {*list_all(place)} - {*before}
    assert {entry for entry in new if not entry.startswith(f"{name}/out/")} == {
        f"{name}/{name}.parquet",
        f"{name}/out",
    }


def test_the_folder_of_a_spec_is_only_a_name(run: Run, place: Path) -> None:
    folder = place / "data [1] *"
    folder.mkdir()
    (folder / "a.csv").write_text(HEADER + ROWS)
    (folder / "spec.toml").write_text(
        'source = "a*.csv"\ngroup = "household"\nregions = ["state"]\nsizes = [0, 3]\nout = "x.parquet"\n'
    )
    outcome = run("count", "--spec", str(folder / "spec.toml"))
    assert outcome.code == 0, outcome.err
    assert (folder / "x.parquet").exists()


@pytest.mark.parametrize("out", ["out.parquet", "out-sensitive.csv"])
def test_counted_files_are_for_their_owner_alone(out: str, run: Run, place: Path) -> None:
    before = os.umask(0)
    try:
        outcome = run(*count(out=out))
    finally:
        os.umask(before)
    assert outcome.code == 0, outcome.err
    assert (place / out).stat().st_mode & 0o777 == 0o600
    assert "SENSITIVE" in outcome.out
    check_secrets(outcome.out)


# Interruptions and full disks


@pytest.mark.parametrize("command", ["count", "release"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_while_counting_leaves_nothing_behind(
    number: signal.Signals,
    code: int,
    command: str,
    many: Path,
    run: Run,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[type] = []
    interrupt = DuckDBSession._interrupt

    def watch(session: DuckDBSession, job: Future[pa.Table]) -> None:
        assert [entry for entry in list_all(place) if entry.startswith("spill/tallytree-")]
        interrupt(session, job)
        ended.append(type(job.exception()))

    monkeypatch.setattr("tallytree.counts.engines.duckdb.POLL", 0)  # the first look is at once
    monkeypatch.setattr(DuckDBSession, "_find_progress", lambda session: signal.raise_signal(number))
    monkeypatch.setattr(DuckDBSession, "_interrupt", watch)
    words = words_of(command, source=str(many), hierarchy="regions.csv", spill_folder="spill")
    with unchanged(place):
        check_ended(run(*words), code)
    assert ended == [duckdb.InterruptException]  # the engine has stopped, too


@pytest.mark.parametrize("out", ["out.parquet", "out-sensitive.csv"])
@pytest.mark.parametrize("when", ["open", "write", "flush"])
def test_a_full_disk_leaves_no_counts_behind(
    when: str, out: str, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(table: object, where: Path, **options: object) -> None:
        Path(where).write_bytes(b"half")
        full_disk()

    if when == "open":
        monkeypatch.setattr(os, "open", full_disk)
    if when == "write":
        monkeypatch.setattr(pa_parquet, "write_table", write_half)
        monkeypatch.setattr(pa_csv, "write_csv", write_half)
    if when == "flush":
        monkeypatch.setattr(os, "fsync", full_disk)
    with unchanged(place):
        check_refused(run(*count(out=out)), place, f"'{out}' cannot be written: No space left on device")


FILE_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**19, 2**19))"


def test_no_space_to_spill_to_is_one_clear_error(many: Path, place: Path) -> None:
    words = count(source=str(many), memory_limit="40MB", spill_folder="spill")
    with unchanged(place):
        check_refused(run_process(place, *words, setup=FILE_LIMIT), place, "space (left )?to spill to")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_onto_a_full_disk_is_an_error_that_tells_the_truth(place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = run_process(place, *count(), stdout=full)
    check_refused(outcome, place, "The output could not be printed: No space left")
    assert pa_parquet.read_table(place / "out.parquet").num_rows > 0


def test_a_fault_of_our_own_shows_nothing(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(Counter, "count", fail)
    for words in (count(), release()):
        with unchanged(place):
            check_ended(run(*words), 70)


# What a release from people says


TRUST = "Counts were given, not records of people"
CLAIMS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "nothing": ({}, [ROWS_ARE_PEOPLE, GROUPS_FROM_DATA, REGIONS_FROM_DATA], "does not hide whether a group"),
    "person": (
        {"person": "person"},
        [GROUPS_FROM_DATA, REGIONS_FROM_DATA],
        "at most 1 record, each of quantity",
    ),
    "bounds": (
        {"person": "person", "quantity": "hours", "max_records": "3", "max_quantity": "40"},
        [GROUPS_FROM_DATA, REGIONS_FROM_DATA],
        "at most 3 records, each of quantity at most 40",
    ),
    "hierarchy": ({"hierarchy": "regions.csv"}, [ROWS_ARE_PEOPLE, GROUPS_FROM_DATA], "same list of groups"),
    "frame": ({"frame": "frame.csv"}, [ROWS_ARE_PEOPLE], "A frame lists the groups"),
    "all": (
        {"frame": "frame.csv", "hierarchy": "regions.csv", "person": "person"},
        [],
        "also covers a person whose group becomes empty",
    ),
    "sizes": (
        {"sizes": "1:3", "person": "person", "hierarchy": "regions.csv"},
        [],
        "also covers groups that appear or vanish with a person",
    ),
    "public": (
        {"sizes": "1:3", "person": "person", "hierarchy": "regions.csv", "total": "public"},
        [GROUPS_FROM_DATA],
        "it does not hide whether a group exists",
    ),
}


def read_privacy(folder: Path) -> dict[str, Any]:
    privacy: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["privacy"]
    return privacy


@pytest.mark.parametrize(("options", "assumed", "words"), CLAIMS.values(), ids=CLAIMS)
def test_a_release_claims_what_is_so_also_when_it_is_made_later(
    options: dict[str, str], assumed: list[str], words: str, run: Run, place: Path
) -> None:
    outcome = run(*release(**options))
    assert outcome.code == 0, outcome.err
    privacy = read_privacy(place / "out")
    assert privacy["assumed"] == assumed
    assert privacy["bounds"] == "enforced on the records of people"
    assert words in privacy["statement"]
    assert privacy["max_records"] == int(options.get("max_records", 1))
    assert privacy["max_quantity"] == int(options.get("max_quantity", 1))
    for note in assumed:
        assert note in outcome.out

    # In two steps, with nothing but the file of counts in between.
    total = {name: options[name] for name in options if name == "total"}
    assert run(*count(**{name: options[name] for name in options if name != "total"})).code == 0
    later = release_counts("out.parquet", sizes=options.get("sizes", "0:3"), out="later", **total)
    assert run(*later).code == 0
    assert read_privacy(place / "later") == privacy
    assert tt.load(place / "later").hierarchy.leaves == tt.load(place / "out").hierarchy.leaves


def test_a_csv_of_counts_has_forgotten_what_was_enforced(run: Run, place: Path) -> None:
    assert run(*count(out="counts-sensitive.csv", frame="frame.csv")).code == 0
    assert run(*release_counts("counts-sensitive.csv")).code == 0
    privacy = read_privacy(place / "out")
    assert privacy["bounds"] == "taken on trust"
    assert [note.startswith(TRUST) for note in privacy["assumed"]] == [True, False, False]
    assert privacy["assumed"][1] == EMPTY_GROUPS_ON_TRUST


def change_cell(table: pa.Table) -> pa.Table:
    groups = [1 + table["groups"][0].as_py(), *table["groups"].to_pylist()[1:]]
    return table.set_column(table.column_names.index("groups"), "groups", pa.array(groups))


def rename_region(table: pa.Table) -> pa.Table:
    states = [name if name != "GA" else "AL" for name in table["state"].to_pylist()]
    return table.set_column(0, "state", pa.array(states))


def change_account(name: str, value: object) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        facts = json.loads((table.schema.metadata or {})[KEY])
        return table.replace_schema_metadata({KEY: json.dumps({**facts, name: value}).encode()})

    return change


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "cell": change_cell,
    "row": lambda table: table.slice(1),
    "region": rename_region,
    "bounds": change_account("max_records", 2),
    "assumed": change_account("assumed", []),
    "frame": change_account("has_frame", True),
    "digest": change_account("sha256", "0" * 64),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_counted_file_that_was_changed_is_refused(
    change: Callable[[pa.Table], pa.Table], run: Run, place: Path
) -> None:
    assert run(*count(hierarchy="regions.csv")).code == 0
    pa_parquet.write_table(change(pa_parquet.read_table("out.parquet")), "changed.parquet")
    for more in ([], ["--hierarchy", "regions.csv"]):
        outcome = run(*release_counts("changed.parquet", *more))
        check_refused(outcome, place, "not the counts that 'tallytree count' wrote")


def test_counts_cannot_be_their_own_public_regions(run: Run, place: Path) -> None:
    """Their order would be kept, and that they were read from the data would not be said."""
    (place / "counts.csv").write_text("state,size,groups\nNY,1,5\nGA,2,7\n")
    (place / "link.csv").symlink_to("counts.csv")
    (place / "hard.csv").hardlink_to(place / "counts.csv")
    for regions in ("counts.csv", "link.csv", "hard.csv"):
        outcome = run(*release_counts("counts.csv", hierarchy=regions))
        check_refused(outcome, place, "table of regions is the source itself")
    assert run(*count(hierarchy="regions.csv")).code == 0
    outcome = run(*release_counts("counts.csv", hierarchy="out.parquet"))
    check_refused(outcome, place, "The table of regions says that it is sensitive")


def test_a_counted_file_in_another_order_is_as_good(run: Run, place: Path) -> None:
    assert run(*count(hierarchy="regions.csv")).code == 0
    table = pa_parquet.read_table("out.parquet")
    pa_parquet.write_table(table.take(list(reversed(range(table.num_rows)))), "turned.parquet")
    outcome = run(*release_counts("turned.parquet"))
    assert outcome.code == 0, outcome.err
    assert read_privacy(place / "out")["bounds"] == "enforced on the records of people"
    with pytest.raises(
        CountsError, match="counted with the region columns 'state': release them with the same col"
    ):
        tt.GroupCounts.from_table("out.parquet", regions=[])


def test_a_counted_file_without_a_digest_is_taken_on_trust(run: Run, place: Path) -> None:
    """As earlier versions wrote them."""
    outcome = run(*release_counts("counted.parquet"))
    assert outcome.code == 0, outcome.err
    privacy = read_privacy(place / "out")
    assert privacy["bounds"] == "taken on trust"
    assert privacy["assumed"] == [say_taken_on_trust(tt.Bounds()), EMPTY_GROUPS_ON_TRUST]
    assert "It was said that a frame lists the groups" in privacy["statement"]


# Servers


@pytest.mark.xdist_group("postgres")
def test_a_database_is_counted_by_its_url_and_no_password_is_shown(
    postgres: str, run: Run, place: Path
) -> None:
    table = 'people"; DROP TABLE people; --'
    fill(postgres, table, pa.table({"household": [1, 1, 2], "state": ["GA", "GA", SECRET]}))
    wrong = re.sub(r"//.*@", f"//tester:{SECRET}@", postgres)
    with unchanged(place):
        check_refused(run(*count(source=wrong, table=table)), place, "no connection to the database")
        check_refused(run(*release(source=postgres, table="people")), place, "no table 'people': there is")
        check_refused(
            run(*count(source=postgres, table=table, frame="no")), place, "In the frame: .*no table 'no'"
        )
    outcome = run(*count(source=postgres, table=table))
    assert outcome.code == 0, outcome.err
    assert "secret" not in outcome.out + outcome.err
    assert pa_parquet.read_table("out.parquet")["groups"].to_pylist() == [1, 1]


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_the_query_of_the_server(
    number: signal.Signals, code: int, postgres: str, run: Run, place: Path
) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        rows = "SELECT 1 AS household, 'GA' AS state, pg_sleep(100)::text AS person"
        connection.execute(f"CREATE OR REPLACE VIEW slow AS {rows}")
        running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'INSERT%'"

        def wait_for(queries: int) -> None:
            while connection.execute(running).fetchone() != (queries,):
                connection.execute("SELECT pg_sleep(0.01)")

        def stop_when_it_runs() -> None:
            wait_for(1)
            signal.pthread_kill(main_thread, number)

        main_thread = threading.get_ident()
        helper = threading.Thread(target=stop_when_it_runs)
        helper.start()
        with unchanged(place):
            outcome = run(*count(source=postgres, table="slow", hierarchy="regions.csv", person="person"))
        helper.join()
        check_ended(outcome, code)
        wait_for(0)


OWN_SESSION = """
import signal, sys, threading
from pyspark import SparkContext
from tallytree.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
thread, number = threading.get_ident(), int(sys.argv.pop(1))

def has_jobs():
    try:
        return SparkContext._active_spark_context.statusTracker().getActiveJobsIds()
    except Exception:  # it is not there yet
        return []

def stop_when_it_runs():
    while not has_jobs():
        threading.Event().wait(0.1)
    signal.pthread_kill(thread, number)

if number:
    threading.Thread(target=stop_when_it_runs, daemon=True).start()
try:
    main()
except SystemExit as end:
    print(end.code, SparkContext._gateway)
"""
"""A command that may get a signal while a job of Spark runs; it says whether the JVM has ended."""


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(0, 2, "Error: Spark could not count the records: are the files"), (2, 130, "Error: Interrupted")],
    ids=["damaged", "interrupted"],
)
def test_a_session_of_our_own_shows_nothing_and_leaves_nothing(
    number: int, code: int, words: str, many: Path, place: Path
) -> None:
    need(shutil.which("java") or os.environ.get("JAVA_HOME"), "Java")
    (place / "long.csv").write_text(HEADER + ROWS + f"1,{SECRET},{SECRET},1,{COUNT}\n")
    source = str(many) if number else "long.csv"
    command = count(source=source, engine="spark", master="local[1]", spill_folder="spill")
    start = [sys.executable, "-c", OWN_SESSION, str(number), *command]
    with unchanged(place):
        done = subprocess.run(start, cwd=place, capture_output=True, text=True, check=False)
    assert done.stdout == f"{code} None\n", done.stderr
    check_secrets(done.stderr.replace(str(place), "PATH"))
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(words)


def test_what_was_left_out_is_told_on_standard_error_alone(run: Run, place: Path) -> None:
    told = (
        "Not counted (for your eyes only: it depends on the data): Missing values in column 'household': 1."
    )
    for command in (
        release("--json", source="null.csv", missing="drop", replicates="0", out="told"),
        count("--json", source="null.csv", missing="drop", out="told.parquet"),
    ):
        done = run(*command)
        assert done.code == 0, done.err
        assert done.err.startswith(f"{told}\n")
        assert "Not counted" not in done.out
    for file in (*(place / "told").iterdir(), place / "told.parquet"):
        assert b"Missing values" not in file.read_bytes()
