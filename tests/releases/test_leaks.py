"""Nothing that sees true counts shows them: recognisable ones are planted, and all output is searched."""

from __future__ import annotations

import copy
import io
import json
import logging
import os
import pickle
import pprint
import pty
import sqlite3
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from rich.console import Console
from rich.pretty import pretty_repr
from rich.traceback import Traceback

import tallytree as tt
from tallytree.cli.main import main
from tallytree.errors import InputError
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.privacy.noise import ExactNoise
from tallytree.releases.release_files import write_file
from tests.releases.leaks import (
    HIERARCHY,
    LEAF,
    PRIMES,
    SECRETS,
    SIZES,
    find_leaks,
    find_leaks_below,
    make_people,
    make_table,
    plant,
)

EPSILON = "1/1000000"
"""So little that noise of zero, which would show a count by chance, has a probability of one in a million."""
REGIONS = ["state", "county"]


# What is searched for is found.


def to_parquet(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pa_parquet.write_table(table, file, **options)
    return file.getvalue()


class Talkative(tt.GroupCounts):
    """Counts that show themselves."""

    def __repr__(self) -> str:
        return f"GroupCounts({self.leaf.tolist()})"


LEAKY: dict[str, Callable[[], str | bytes]] = {
    "text": lambda: f"There are {PRIMES[0]} groups.",
    "thousands": lambda: f"There are {PRIMES[0]:,} groups.",
    "array": lambda: str(LEAF),
    "bytes": LEAF.tobytes,
    "float": lambda: LEAF.astype(float).tobytes(),
    "sum": lambda: str(plant().array("state").tolist()),
    "pickle": lambda: pickle.dumps(LEAF),
    "packed": lambda: to_parquet(make_table(), compression="zstd"),
    "plain": lambda: to_parquet(make_table(), compression="none", use_dictionary=False),
    "said in a file": lambda: to_parquet(pa.table({"x": [1]}).replace_schema_metadata({"x": str(PRIMES[0])})),
    "person": lambda: to_parquet(make_people().select(["person"])),
    "household": lambda: make_people()["household"][3].as_py(),
    "quantity": lambda: to_parquet(make_people().select(["hours"])),
    "repr": lambda: repr([Talkative(HIERARCHY, SIZES, LEAF)]),
    "locals": lambda: show_locals(lambda counts: 1 / 0, Talkative(HIERARCHY, SIZES, LEAF)),
}


@pytest.mark.parametrize("what", LEAKY)
def test_the_search_itself_finds_what_is_shown(what: str) -> None:
    assert find_leaks(LEAKY[what]())


def test_the_search_itself_finds_files(tmp_path: Path) -> None:
    assert find_leaks_below(tmp_path) == []
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".hidden").write_bytes(LEAF.tobytes())
    assert find_leaks_below(tmp_path)


# Objects.


def make_objects() -> dict[str, Any]:
    """One of every public kind that is made from true counts, or is beside them."""
    counts, mechanism = plant(), tt.mechanism("cumulative-joint")
    plan = mechanism.plan(HIERARCHY, sizes=SIZES, epsilon=EPSILON)
    made = tt.release(counts, epsilon=EPSILON)
    run = tt.simulate(counts, epsilon=EPSILON, seed=7)
    return {
        "counts": counts,
        "replaced": counts.replace(LEAF),
        "hierarchy": counts.hierarchy,
        "bounds": counts.bounds,
        "plan": plan,
        "mechanism": mechanism,
        "release": made,
        "measurements": made.measurements,
        "simulation": run,
        "solution": run.solution,
        "verification": made.verify(),
        "region": made.region(),
        "picture": made.region().plot(),
        "comparison": tt.compare(made, tt.release(counts, epsilon=EPSILON)),
        "engine": tt.Engine(),
    }


OBJECTS = make_objects()
SHOWN: dict[str, Callable[[Any], object]] = {
    "repr": repr,
    "str": str,
    "format": lambda value: f"{value}",
    "in a list": lambda value: repr([value]),
    "pprint": pprint.pformat,
    "rich": pretty_repr,
}


@pytest.mark.parametrize("how", SHOWN)
@pytest.mark.parametrize("name", OBJECTS)
def test_no_object_shows_true_counts(name: str, how: str) -> None:
    assert find_leaks(str(SHOWN[how](OBJECTS[name]))) == []


@pytest.mark.parametrize("name", OBJECTS)
def test_notebooks_are_shown_no_more(name: str) -> None:
    """Whatever a notebook asks an object for, by a name such as ``_repr_html_``."""
    for way in ("html", "markdown", "latex", "json", "svg", "png", "pretty", "mimebundle"):
        show = getattr(OBJECTS[name], f"_repr_{way}_", None)
        assert show is None or find_leaks(str(show())) == []


def test_counts_show_their_shape_only() -> None:
    assert repr(plant()) == f"GroupCounts({HIERARCHY!r}, sizes 1 to 4)"


# Pickles and copies.


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "wrap",
    [
        lambda c: c,
        lambda c: [c],
        lambda c: c.array,
        lambda c: partial(tt.release, c),
        lambda c: {"x": (c,)},
        lambda c: c.levels,
        lambda c: copy.deepcopy(c.levels),
        lambda c: c.levels.stored,
    ],
    ids=["itself", "list", "method", "partial", "dict", "levels", "copied levels", "method of levels"],
)
def test_true_counts_are_never_pickled(wrap: Callable[[tt.GroupCounts], object], protocol: int) -> None:
    counts = plant()
    counts.array(0)  # sums that are kept
    with pytest.raises(TypeError, match="cannot be pickled: they are true counts") as refused:
        pickle.dumps(wrap(counts), protocol=protocol)
    assert find_leaks(str(refused.value)) == []


def test_counts_can_be_copied() -> None:
    counts = plant()
    assert copy.copy(counts) is counts
    assert copy.deepcopy({"x": counts})["x"] is counts
    assert copy.copy(counts.levels) is counts.levels
    assert copy.deepcopy({"x": counts.levels})["x"] is counts.levels
    assert not counts.leaf.flags.writeable


@pytest.mark.parametrize("name", sorted(set(OBJECTS) - {"counts", "replaced"}))
def test_what_can_be_pickled_holds_no_true_counts(name: str) -> None:
    data = pickle.dumps(OBJECTS[name])
    assert find_leaks(data) == []
    assert b"GroupCounts" not in data
    assert type(pickle.loads(data)) is type(OBJECTS[name])


def test_the_arrays_of_a_release_can_be_pickled() -> None:
    for arrays in (OBJECTS["release"].counts, OBJECTS["release"].measurements.values):
        again = pickle.loads(pickle.dumps(arrays))
        assert all(np.array_equal(a, b) for a, b in zip(again, arrays, strict=True))


def test_a_release_is_the_same_after_a_pickle() -> None:
    made = OBJECTS["release"]
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert again.verify().passed
        assert all(np.array_equal(a, b) for a, b in zip(again.counts, made.counts, strict=True))
        assert again.manifest == made.manifest


# Releases: everything that is written or said on the way.


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which everything is, temporary files as well."""
    for name in ("tmp", "home", "work"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


class Listener:
    """Hears everything that a call says but what it returns."""

    def __init__(self, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
        self._capfd, self._caplog = capfd, caplog
        self.steps: list[str] = []
        self.folders: set[tuple[str, int]] = set()

    def progress(self, what: str, steps: int) -> Callable[[int], None]:
        """Remembers what progress is told, and what temporary files there are at that moment."""

        def advance(done: int) -> None:
            self.steps.append(f"{what} {steps} {done}")
            for path in Path(tempfile.gettempdir()).rglob("*"):
                self.folders.add(("folder" if path.is_dir() else "file", path.stat().st_mode & 0o777))

        return advance

    def hear(self, call: Callable[[], object]) -> str:
        """All that was said while it ran."""
        with warnings.catch_warnings(record=True) as warned, self._caplog.at_level(1):
            warnings.simplefilter("always")
            call()
        out, err = self._capfd.readouterr()
        logged = [f"{record.getMessage()} {record.args!r}" for record in self._caplog.records]
        return "\n".join(
            [out, err, *logged, *(str(w.message) for w in warned), *self.steps, str(dict(os.environ))]
        )


@pytest.fixture
def listener(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Listener:
    return Listener(capfd, caplog)


def test_the_listener_itself_hears(listener: Listener, sandbox: Path) -> None:
    def log() -> None:
        logging.getLogger("anything").debug("counts: %s", LEAF.tolist())

    for talk in (
        log,
        lambda: warnings.warn(str(LEAF.tolist()), stacklevel=1),
        lambda: os.write(2, str(LEAF.tolist()).encode()),
        lambda: listener.progress(str(PRIMES[0]), 1)(1),
    ):
        assert find_leaks(listener.hear(talk))


@pytest.mark.parametrize("name", [kind.name for kind in MECHANISMS if kind.consistent and not kind.small])
def test_a_release_shows_no_true_counts(name: str, listener: Listener, sandbox: Path) -> None:
    def make() -> None:
        tt.Ledger.create("ledger.db", dataset="census", epsilon="1")
        made = tt.release(
            plant(), epsilon=EPSILON, mechanism=name, ledger="ledger.db", progress=listener.progress
        )
        made.save("out", replicates=0)
        tt.load("out").verify()

    assert find_leaks(listener.hear(make)) == []
    assert find_leaks_below(sandbox) == []
    assert len(list((sandbox / "work" / "out").iterdir())) == 4


def test_the_search_itself_finds_a_release_without_noise(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExactNoise, "draw", lambda self, scale, count, advance: np.zeros(count, np.int64))
    made = tt.release(plant(), epsilon=EPSILON)
    made.save("out", replicates=0)
    leaks = find_leaks_below(sandbox)
    for file in ("release.parquet", "measurements.parquet"):
        assert any(leak.startswith(file) for leak in leaks)
    assert find_leaks(pickle.dumps(made))
    assert find_leaks(repr(list(made.measurements.values)))


@pytest.mark.parametrize("name", [kind.name for kind in MECHANISMS if kind.small])
def test_solvers_of_others_say_nothing_of_true_counts(name: str, listener: Listener, sandbox: Path) -> None:
    """They cannot find a solution for such numbers: what they say about that is what matters."""
    options = {"time_limit": 0.5} if name.endswith("qip") else {}

    def give_up() -> None:
        with pytest.raises(InputError) as refused:
            tt.release(plant(), epsilon=EPSILON, mechanism=tt.mechanism(name, **options))
        assert find_leaks(describe(refused.value)) == []

    assert find_leaks(listener.hear(give_up)) == []
    assert find_leaks_below(sandbox) == []


# From people.


def make_source(kind: str, folder: Path) -> Any:
    """The same people in every form that is cheap to make; each takes another way."""
    people = make_people()
    if kind == "pandas":
        return people.to_pandas()
    if kind == "parquet":
        pa_parquet.write_table(people, folder / "people.parquet")
    elif kind == "csv":
        pa_csv.write_csv(people, folder / "people.csv")
    elif kind == "sqlite":
        with closing(sqlite3.connect(folder / "people.db")) as file, file:
            file.execute(
                "CREATE TABLE people (household TEXT, person TEXT, state TEXT, county TEXT, hours INT)"
            )
            rows = [tuple(row.values()) for row in people.to_pylist()]
            file.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        return ibis.sqlite.connect(folder / "people.db").table("people")
    return people if kind == "arrow" else folder / f"people.{kind}"


@pytest.mark.parametrize("kind", ["arrow", "pandas", "parquet", "csv", "sqlite"])
def test_counting_people_shows_nothing_of_them(
    kind: str, listener: Listener, sandbox: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = make_source(kind, tmp_path_factory.mktemp("people"))
    counted = []

    def count() -> None:
        counts = tt.count_groups(
            source, group="household", person="person", quantity="hours", regions=REGIONS, sizes=SIZES,
            max_quantity=2, progress=listener.progress,
        )  # fmt: skip
        counted.append(counts)
        tt.release(counts, epsilon="1").save("out", replicates=0)

    assert find_leaks(listener.hear(count)) == []
    assert counted[0].total == 60
    assert find_leaks_below(sandbox) == []
    assert listener.folders <= {("folder", 0o700), ("file", 0o600)}
    assert list((sandbox / "tmp").iterdir()) == []


# Errors.


def describe(error: BaseException) -> str:
    """An error in every form in which it may be shown, with those that led to it."""
    chain = [error, error.__cause__, error.__context__ if not error.__suppress_context__ else None]
    return "\n".join(
        f"{each!r} {each} {each.args} {getattr(each, '__notes__', '')} "
        f"{''.join(traceback.format_exception(each))}"
        for each in chain
        if each is not None
    )


def show_locals(call: Callable[[Any], object], counts: tt.GroupCounts) -> str:
    """The traceback of a call that fails, with the values of all variables, as some tools show it."""
    try:
        call(counts)
    except Exception as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        file = io.StringIO()
        pretty = Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True)
        Console(file=file, width=200).print(pretty)
        return shown + file.getvalue()
    raise AssertionError("the call did not fail")


def change(row: int, value: object, column: str = "groups") -> pa.Table:
    """The planted table with another value in one place."""
    rows = make_table().to_pylist()
    rows[row][column] = value
    return pa.table({name: pa.array([each[name] for each in rows]) for name in rows[0]})


def from_table(table: pa.Table, **options: Any) -> tt.GroupCounts:
    return tt.GroupCounts.from_table(table, regions=REGIONS, **{"sizes": SIZES, **options})


def spoil(column: str, value: object) -> pa.Table:
    """The people, one of them with something else in a column."""
    people = make_people()
    values = [value, *people[column].to_pylist()[1:]]
    return people.set_column(people.column_names.index(column), column, pa.array(values))


def count(people: pa.Table, **options: Any) -> tt.GroupCounts:
    settings = {"group": "household", "person": "person", "quantity": "hours", "max_quantity": 2}
    return tt.count_groups(people, **{**settings, "regions": REGIONS, "sizes": SIZES, **options})


WRONG: dict[str, Callable[[], object]] = {
    "negative": lambda: tt.GroupCounts(HIERARCHY, SIZES, -LEAF),
    "fractions": lambda: tt.GroupCounts(HIERARCHY, SIZES, LEAF + 0.5),
    "shape": lambda: tt.GroupCounts(HIERARCHY, SIZES, LEAF.T),
    "too many": lambda: tt.GroupCounts(HIERARCHY, SIZES, LEAF * 2**10),
    "objects": lambda: tt.GroupCounts(HIERARCHY, SIZES, LEAF.astype(str)),
    "ragged": lambda: tt.GroupCounts(HIERARCHY, SIZES, [[PRIMES[0]], [PRIMES[1], PRIMES[2]]]),
    "sizes": lambda: tt.GroupCounts(HIERARCHY, (PRIMES[0], PRIMES[0] + 3), -LEAF),
    "table negative": lambda: from_table(change(3, -PRIMES[3])),
    "table fraction": lambda: from_table(make_table((LEAF + 0.5).tolist())),
    "table text": lambda: from_table(make_table(LEAF.astype(str).tolist())),
    "table null": lambda: from_table(change(3, None)),
    "table size": lambda: from_table(change(3, PRIMES[0], "size")),
    "table sizes": lambda: from_table(change(3, PRIMES[0], "size"), sizes=None),
    "table twice": lambda: from_table(change(3, 1, "size")),
    "table region": lambda: from_table(change(3, None, "state")),
    "table strange": lambda: from_table(change(3, "XX", "county"), hierarchy=HIERARCHY),
    "table column": lambda: from_table(make_table(), groups="group"),
    "people torn": lambda: count(spoil("county", "GA-2")),
    "people missing": lambda: count(spoil("household", None)),
    "people person": lambda: count(spoil("person", None)),
    "people fraction": lambda: count(spoil("hours", PRIMES[0] + 0.5)),
    "people null": lambda: count(spoil("hours", None)),
    "people region": lambda: count(spoil("state", None)),
    "people strays": lambda: count(
        make_people(), frame=make_people().slice(5).select(["household", *REGIONS])
    ),
    "people hierarchy": lambda: count(spoil("county", "GA-9"), hierarchy=HIERARCHY),
    "people text": lambda: count(make_people(), quantity="household", person=None),
    "people column": lambda: count(make_people(), quantity="hour"),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors_show_nothing_of_the_data(what: str, listener: Listener, sandbox: Path) -> None:
    told = []

    def fail() -> None:
        with pytest.raises(InputError) as refused:
            WRONG[what]()
        told.append(describe(refused.value))

    said = listener.hear(fail)
    assert find_leaks(told[0]) == []
    assert find_leaks(said) == []
    assert find_leaks_below(sandbox) == []


def fail(*words: object, **options: object) -> None:
    raise RuntimeError("a bug")


@pytest.mark.parametrize(
    "where", ["plan_within", "solve", "write_manifest", "epsilon", "ledger", "mechanism"]
)
def test_a_traceback_with_all_variables_shows_no_true_counts(
    where: str, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the measuring there are counts, which do not show themselves; after it, nothing true is left."""
    options: dict[str, Any] = {"epsilon": EPSILON}
    if where == "epsilon":
        options["epsilon"] = 0.5
    elif where == "ledger":
        tt.Ledger.create("ledger.db", dataset="census", epsilon="1/9000000")
        options["ledger"] = "ledger.db"
    elif where == "mechanism":
        options["mechanism"] = "none"
    elif where == "write_manifest":
        monkeypatch.setattr("tallytree.publishing.pipeline.write_manifest", fail)
    else:
        monkeypatch.setattr(type(tt.mechanism("cumulative-joint")), where, fail)
    shown = show_locals(lambda counts: tt.release(counts, **options), plant())
    assert "GroupCounts(" in shown
    assert find_leaks(shown) == []


# The command line: in a pipe, and at a terminal where it shows its progress.

PRELUDE = """
import atexit, logging, os, sys, warnings
warnings.simplefilter("always")
logging.basicConfig(level=1)

def listen(event, words):
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.putenv"):
        logging.error("%s %r", event, words)

sys.addaudithook(listen)
atexit.register(lambda: logging.error("%r", dict(os.environ)))
from tallytree.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    pa_csv.write_csv(make_table(), folder / "counts.csv")
    pa_csv.write_csv(change(3, -PRIMES[3]), folder / "negative.csv")
    pa_parquet.write_table(make_people(), folder / "people.parquet")
    pa_parquet.write_table(spoil("county", "GA-2"), folder / "torn.parquet")
    return folder


def run_in_pipe(words: list[str], environment: dict[str, str], folder: Path) -> tuple[int, bytes]:
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stdout + done.stderr


def run_at_terminal(words: list[str], environment: dict[str, str], folder: Path) -> tuple[int, bytes]:
    master, slave = pty.openpty()
    process = subprocess.Popen(words, env=environment, cwd=folder, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = b""
    with os.fdopen(master, "rb", buffering=0) as terminal:
        try:
            while part := terminal.read(65536):
                said += part
        except OSError:  # how a terminal says that nobody is left
            pass
    return process.wait(), said


OF_COUNTS = ["--region", "state", "--region", "county", "--sizes", "1:4"]
OF_PEOPLE = [
    "--group", "household", "--person", "person", "--quantity", "hours", "--max-quantity", "2", *OF_COUNTS,
]  # fmt: skip
COMMANDS: dict[str, tuple[list[str], int]] = {
    "release": (["release", "counts.csv", *OF_COUNTS, "--epsilon", EPSILON, "--out", "out"], 0),
    "people": (["release", "people.parquet", *OF_PEOPLE, "--epsilon", "1", "--out", "out"], 0),
    "refused": (["release", "negative.csv", *OF_COUNTS, "--epsilon", EPSILON, "--out", "out"], 2),
    "torn": (["release", "torn.parquet", *OF_PEOPLE, "--epsilon", "1", "--out", "out"], 2),
    "count": (["count", "people.parquet", *OF_PEOPLE, "--out", "counts.parquet"], 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pipe", "terminal"])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_show_no_true_counts(command: str, way: str, inputs: Path, sandbox: Path) -> None:
    words, code = COMMANDS[command]
    # Those at a terminal show tables and progress; those in a pipe are for programs.
    words = [words[0], str(inputs / words[1]), *words[2:], *(["--json"] if way == "pipe" else [])]
    run = {"pipe": run_in_pipe, "terminal": run_at_terminal}[way]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
    ended, said = run([sys.executable, "-c", PRELUDE, *words], environment, sandbox / "work")
    assert ended == code, said[-2000:]
    assert b"environ" in said or b"'TMPDIR'" in said  # what the prelude says last
    assert find_leaks(said) == []
    if command == "count":
        (file,) = (sandbox / "work").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
    assert find_leaks_below(sandbox) == []


LEAKY_PRELUDE = PRELUDE.replace(
    "main()",
    """
import tallytree.publishing.pipeline
measure = tallytree.publishing.pipeline.measure

def leak(plan, counts, **options):
    logging.getLogger("deep.down").debug("%s", counts.leaf.tolist())
    return measure(plan, counts, **options)

tallytree.publishing.pipeline.measure = leak
main()
""",
)


@pytest.mark.slow
def test_the_search_itself_finds_a_command_that_logs_counts(inputs: Path, sandbox: Path) -> None:
    words, _ = COMMANDS["release"]
    words = [words[0], str(inputs / words[1]), *words[2:]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended, said = run_in_pipe([sys.executable, "-c", LEAKY_PRELUDE, *words], environment, sandbox / "work")
    assert ended == 0, said[-2000:]
    assert find_leaks(said)


@pytest.mark.parametrize(
    ("command", "writes", "modes"),
    [
        ("release", "tallytree.releases.released.write_file", (0o700, None)),
        ("count", "tallytree.counts.count_files.pa_parquet.write_table", (None, 0o600)),
    ],
)
def test_what_is_half_written_is_for_nobody_else(
    command: str,
    writes: str,
    modes: tuple[int | None, int | None],
    inputs: Path,
    sandbox: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = COMMANDS[command][0]
    write: Callable[..., object] = write_file if command == "release" else pa_parquet.write_table
    seen = []

    def look(*given: Any, **options: Any) -> object:
        path: Path = given[-1]
        folder = path.parent.stat().st_mode & 0o777 if modes[0] else None
        seen.append((folder, path.stat().st_mode & 0o777 if modes[1] else None))
        return write(*given, **options)

    monkeypatch.setattr(writes, look)
    monkeypatch.setattr(sys, "argv", ["tallytree", words[0], str(inputs / words[1]), *words[2:], "--json"])
    before = os.umask(0)
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        os.umask(before)
    assert stop.value.code == 0
    assert set(seen) == {modes}


def test_the_numbers_are_not_in_what_is_public() -> None:
    assert plant().total not in SECRETS
    assert find_leaks(json.dumps([HIERARCHY.leaves, SIZES, plant().total])) == []
