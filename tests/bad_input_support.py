"""Wrong input: one case of it, how it is run, and what must hold afterwards.

A case is a call or a command with something wrong in it. Either must end in one clear error, show nothing of
the data, leave nothing behind and spend nothing.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import InputError
from tallytree.privacy.noise import ExactNoise
from tests.commands import Outcome, Run

SECRET = "SECRET-" + "7391"
"""A region's name that no message may show."""
COUNT = 7391
"""A number of groups that no message may show."""
MARKS = (SECRET, str(COUNT))

ROWS: dict[str, list[Any]] = {"state": ["GA", SECRET], "size": [1, 2], "groups": [5, COUNT]}
CSV = f"state,size,groups\nGA,1,5\n{SECRET},2,{COUNT}\n"

HEADER = "state,size,groups\n"
ROW = f"{SECRET},2,{COUNT}\n"

SPEC = 'source = "counts.csv"\nregions = ["state"]\nsizes = [1, 3]\nout = "out"\nepsilon = "1"\n'

BAD_FILES: dict[str, str | bytes] = {
    "counts.csv": CSV,
    "negative.csv": HEADER + ROW + f"GA,1,-{COUNT}\n",
    "fraction.csv": HEADER + ROW + f"GA,1,{COUNT}.5\n",
    "nan.csv": HEADER + ROW + "GA,1,NaN\n",
    "null.csv": HEADER + ROW + "GA,1,\n",
    "text.csv": HEADER + ROW + f"GA,1,{SECRET}\n",
    "huge.csv": HEADER + ROW + f"GA,1,{COUNT}{10**30}\n",
    "twice.csv": HEADER + ROW + ROW,
    "outside.csv": HEADER + ROW + f"GA,{COUNT},1\n",
    "ragged.csv": HEADER + ROW + SECRET + "\n",
    "latin.csv": (HEADER + ROW + "Curaçao,1,1\n").encode("latin-1"),
    "latin-header.csv": ("Größe," + HEADER + "x," + ROW).encode("latin-1"),
    "no-header.csv": ROW,
    "no-rows.csv": HEADER,
    "empty.csv": "",
    "empty.parquet": "",
    "text.parquet": CSV,
    "counts.xlsx": CSV,
    "other.csv": HEADER + ROW.replace("SECRET", "OTHER"),
    "not.toml": "epsilon 1",
    "not-utf8.toml": b'root = "\xff"',
    "unknown.toml": SPEC + "epsylon = 1\n",
    "no-epsilon.toml": SPEC.replace('epsilon = "1"\n', ""),
    "regions.toml": SPEC.replace('["state"]', '"state"'),
    "region.toml": SPEC.replace('["state"]', "[1]"),
    "sizes.toml": SPEC.replace("[1, 3]", "[1, 2, 3]"),
    "sizes-float.toml": SPEC.replace("[1, 3]", "[1.0, 3.0]"),
    "sizes-digits.toml": SPEC.replace("[1, 3]", f"[0, {'9' * 4000}]"),
    "sizes-64-bit.toml": SPEC.replace("[1, 3]", f"[{2**70}, {2**70 + 1}]"),
    "text.toml": SPEC + "size = 3\n",
    "epsilon-bool.toml": SPEC.replace('"1"', "true"),
    "epsilon-nan.toml": SPEC.replace('"1"', "nan"),
    "epsilon-digits.toml": SPEC.replace('"1"', "9" * 5000),
    "epsilon-exponent.toml": SPEC.replace('"1"', "1e-9999999999"),
    "budget.toml": SPEC + "budget = [1, 2]\n",
    "bounds.toml": SPEC + 'max_records = "1"\n',
    "null-source.toml": SPEC.replace("counts.csv", "counts\\u0000.csv"),
    "null-out.toml": SPEC.replace('"out"', '"o\\u0000ut"'),
}
"""Files for the command line; all but the first are wrong."""

LONGEST = 400
"""Characters that a message may have, its paths not counted."""

ROOT_PATHS = [("all", "GA"), ("all", SECRET)]

HOSTILE_NAMES = {
    "quotes": 'it\'s "quoted" `too`',
    "semicolon": "a; DROP TABLE counts; --",
    "newline": "first\nsecond",
    "parent": "../../etc/passwd",
    "markup": "[bold]red[/bold] [/]",
    "escape": "\x1b[31mred",
    "format": "{0} %s ${HOME}",
    "comma": "a,b=c",
    "blank-around": "  spaces  ",
    "formula": "=1+1",
    "not-ascii": "Ærøskøbing 東京 \U0001f600",
    "right-to-left": "\u202egnp.exe",
    "missing": "NA",
    "long": "x" * 5000,
}


@dataclass(frozen=True)
class Bench:
    """A folder of its own for one wrong input, and an intact release to copy."""

    folder: Path
    spill: Path
    """The system's temporary folder, in which nothing may be left."""
    released: Path
    run: Run
    """Run a command line in the folder."""

    def file(self, name: str, content: str | bytes) -> Path:
        """A file with this content."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def parquet(self, columns: dict[str, Any]) -> Path:
        """A Parquet file with these columns."""
        path = self.folder / "counts.parquet"
        pa_parquet.write_table(pa.table(columns), path)
        return path

    def load_after(self, file: str, change: Callable[[Path], object]) -> object:
        """Read a copy of the release after a change to one of its files."""
        copy = self.folder / "spoiled"
        shutil.copytree(self.released, copy)
        change(copy / file)
        return tt.load(copy)

    def load_manifest(self, content: bytes) -> object:
        """Read a copy of the release with this manifest."""
        return self.load_after("manifest.json", lambda path: path.write_bytes(content))

    def load_manifest_with(self, *keys: str | int, value: object) -> object:
        """Read a copy of the release with another value at ``keys`` of its manifest."""
        manifest = json.loads((self.released / "manifest.json").read_text(encoding="utf-8"))
        *above, last = keys
        place = manifest
        for key in above:
            place = place[key]
        place[last] = value
        return self.load_manifest(json.dumps(manifest).encode())

    def load_table(self, file: str, change: Callable[[pa.Table], pa.Table]) -> object:
        """Read a copy of the release with one of its tables changed."""
        table = change(pa_parquet.read_table(self.released / file))
        return self.load_after(file, lambda path: pa_parquet.write_table(table, path))

    def load_cell(self, file: str, column: str, value: object) -> object:
        """Read a copy of the release with another value in the first row of a column."""

        def change(table: pa.Table) -> pa.Table:
            values = [value, *table[column].to_pylist()[1:]]
            return table.set_column(table.column_names.index(column), column, pa.array(values))

        return self.load_table(file, change)


def garble(file: Path) -> None:
    """Write something else over a file."""
    file.write_text(SECRET)


def cut(file: Path) -> None:
    """Lose the end of a file."""
    file.write_bytes(file.read_bytes()[:-30])


def move_into_folder(file: Path) -> None:
    """Make a folder of the file's name that holds the file."""
    content = file.read_bytes()
    file.unlink()
    file.mkdir()
    (file / "part.parquet").write_bytes(content)


def make_release(folder: Path) -> Path:
    """A small, intact release in a new folder."""
    hierarchy = tt.Hierarchy.from_paths(["root", "state"], ROOT_PATHS)
    counts = tt.GroupCounts(hierarchy, (1, 3), [[5, 50, 500], [40, 400, COUNT]])
    tt.release(counts, epsilon="1").save(folder, replicates=0)
    return folder


def not_utf8(values: list[bytes]) -> pa.Array[Any]:
    """A column that says it is text, but holds these bytes."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


@dataclass(frozen=True)
class Case:
    """Wrong input, and a regular expression of what is said about it."""

    act: Callable[[Bench], object] | list[str]
    """A call, or the words of a command."""
    words: str
    error: type[InputError] = InputError

    def check(self, bench: Bench) -> None:
        """Run it, and check all that must hold afterwards."""
        if callable(self.act):
            with pytest.raises(InputError) as caught:
                self.act(bench)
            check_error(caught.value, self.error, self.words, bench.folder)
            assert not [name for name in list_all(bench.folder) if Path(name).name.startswith(".")]
        else:
            commands = [self.act]
            if self.act[0] == "release" and not (ledger := bench.folder / "ledger.db").exists():
                tt.Ledger.create(ledger, dataset="census", epsilon="9")
                commands.append(["release", "--ledger", "ledger.db", *self.act[1:]])
            before = read_all(bench.folder)
            for command in commands:
                with patch.object(ExactNoise, "draw", no_noise):
                    check_refused(bench.run(*command), bench.folder, self.words)
                changed = {name for name, _ in read_all(bench.folder).items() ^ before.items()}
                assert not changed, f"changed or left behind: {changed}"  # the ledger: it was charged
        assert list_all(bench.spill) == []


Calls = Mapping[str, tuple[Callable[[Bench], object], str]]
Commands = Mapping[str, tuple[list[str], str]]


def list_cases(*tables: tuple[type[InputError], Calls | Commands]) -> list[Any]:
    """The cases of all tables for ``parametrize``, by name; each table has the error of its cases."""
    cases = [
        pytest.param(Case(act, words, error), id=name)
        for error, table in tables
        for name, (act, words) in table.items()
    ]
    assert len({case.id for case in cases}) == len(cases), "two cases have the same name"
    return cases


def check_error(error: BaseException, kind: type[InputError], words: str, *hide: Path) -> None:
    """One clear error of this kind, and nothing of the data in it or in what led to it."""
    assert isinstance(error, kind)
    assert issubclass(kind, ValueError)
    message = str(error)
    assert re.search(words, message), message
    assert message.endswith((".", "?"))
    check_message(message, *hide)
    # What Python shows of an error that nobody caught, with the errors that led to it.
    check_secrets("".join(traceback.format_exception(error)), *hide)


@contextmanager
def refused(kind: type[InputError], words: str, *hide: Path) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Something that must end in one clear error."""
    with pytest.raises(kind, match=words) as caught:
        yield caught
    check_message(str(caught.value), *hide)


HINT = re.compile(r"Try 'tallytree(?: [a-z]+)* --help'\.\n$")
REMEDY = re.compile(r"(?<=\n)Try: \S+ (?:release|count) .*\n$")
"""The user's own command with what is proposed."""


def check_refused(outcome: Outcome, folder: Path, words: str = ".", *, code: int = 2) -> None:
    """One message and the exit code; nothing on standard output."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("Error: ")
    assert outcome.err.endswith("\n")
    message = REMEDY.sub("", HINT.sub("", outcome.err))[len("Error: ") : -1]
    assert re.search(words, message), message
    check_message(message, folder)


def check_ended(outcome: Outcome, code: int) -> None:
    """An end before its time, by an interruption or by a fault of our own: no output, nothing shown."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    check_secrets(outcome.err)


def check_message(message: str, *hide: Path) -> None:
    """One or two short sentences on one line, without anything of the data."""
    for path in hide:  # where the tests run may be a long way down, and holds numbers
        message = message.replace(str(path), "PATH")
    assert message.strip()
    assert "\n" not in message
    assert "Traceback" not in message
    assert len(message) < LONGEST, len(message)
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "''", message)
    assert len(re.findall(r"[.?!](?:\s|$)", unquoted)) <= 2, "more than two sentences"
    check_secrets(message)


def check_secrets(text: str, *hide: Path) -> None:
    """Nothing of the data is shown."""
    for path in hide:
        text = text.replace(str(path), "PATH")
    for mark in MARKS:
        assert mark not in text, f"{mark} is shown"


def list_all(folder: Path) -> list[str]:
    """Everything below a folder, hidden files as well."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Something that must leave nothing behind in a folder."""
    before = list_all(folder)
    yield
    assert list_all(folder) == before


def read_all(folder: Path) -> dict[str, bytes]:
    """Everything below a folder, and what is in the files."""
    return {
        name: path.read_bytes() if (path := folder / name).is_file() else b"" for name in list_all(folder)
    }


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their names."""
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def no_noise(*args: object) -> None:
    """Take the place of the noise where none may be drawn."""
    raise AssertionError("noise was drawn")


def full_disk(*args: object, **options: object) -> None:
    """Take the place of what writes to a disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"/{SECRET}")


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""As people have it: what could not be written is still there when Python closes standard output."""


def run_process(folder: Path, *words: str, setup: str = "", **options: Any) -> Outcome:
    """Run a command line as a process of its own, after ``setup`` if there is any."""
    start = ["-c", f"{setup}; from tallytree.cli.main import main; main()"] if setup else ["-m", "tallytree"]
    done = subprocess.run(
        [sys.executable, *start, *words],
        cwd=folder,
        text=True,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": BUFFERED, **options},
    )
    return Outcome(done.returncode, done.stdout or "", done.stderr or "")


@contextmanager
def closed_bench(bench: Bench, mode: int, *files: str) -> Iterator[Bench]:
    """A bench of a user who may not read these files, in a folder ``in`` that has this mode.

    Root may do everything, so that where root runs the tests somebody else is the user.
    """
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(dir=TEMPORARY) as name:
        inside, spill = Path(name, "in"), Path(name, "spill")
        inside.mkdir()
        spill.mkdir()
        for file in files:
            (inside / file).write_text(SECRET)
            (inside / file).chmod(0o000)
        inside.chmod(mode)
        if root:
            for path in (inside.parent, *inside.parent.rglob("*")):
                shutil.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            with patch("tempfile.tempdir", str(spill)):
                yield replace(bench, folder=inside.parent, spill=spill)
        finally:
            inside.chmod(0o700)
            if root:
                os.seteuid(0)


NOBODY = 65534
TEMPORARY = tempfile.gettempdir()
"""A folder in which everybody may look."""
