"""Commands on a real file system that is full, may not be written to, or belongs to somebody else.

Run as a program in namespaces of its own (``unshare --user --map-root-user --mount``), where it may mount
small file systems that nobody else sees. It loads everything once and forks for every command. What became
of them is one JSON document on standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path

import tallytree as tt
from tallytree.cli.main import main
from tests.ledger.ledger_workers import start, wait, warm_up

PAGE = 4096
EPSILON = "1/10"
BALLAST = "ballast"
LEAVES, SIZES = 200, 30
NOBODY = 65534


@dataclass(frozen=True)
class Answer:
    """How a command ended, and what it left."""

    free: int
    """Pages, or files, that there was room for."""
    code: int
    said: str
    spent: int
    """How many entries the ledger has more than before."""
    left: list[str]
    """What is on the disk that was not there before."""
    again: int
    """The exit code of the same command once there is room."""
    passed: bool
    """Whether what the second run left behind is whole."""


@dataclass(frozen=True)
class Bench:
    """A disk that can be full, and a folder elsewhere."""

    disk: Path
    elsewhere: Path

    @property
    def ledger(self) -> Path:
        """The ledger, on the disk unless there is one elsewhere."""
        other = self.elsewhere / "ledger.db"
        return other if other.exists() else self.disk / "ledger.db"

    def run(self, words: list[str], before: Callable[[], None] = lambda: None) -> tuple[int, str]:
        """A command in a process of its own: its exit code and what it said about failing."""
        told = self.elsewhere / "told"

        def command() -> None:
            os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            before()
            sys.argv = ["tallytree", *words]
            main()

        return wait(start(command)), told.read_text()

    def list_files(self) -> set[str]:
        """Everything on the disk, hidden files as well, but what fills it."""
        paths = {str(path.relative_to(self.disk)) for path in self.disk.rglob("*")}
        return {path for path in paths if not path.startswith((BALLAST, "lost+found"))}

    def count_entries(self) -> int:
        """Of the ledger, if there is one."""
        return len(tt.Ledger(self.ledger).read().entries) if self.ledger.exists() else 0


def write_inputs(folder: Path) -> None:
    rows = [
        f"r{leaf:03},{size},{leaf * size * 7919 % 1009}"
        for leaf in range(LEAVES)
        for size in range(1, SIZES + 1)
    ]
    (folder / "counts.csv").write_text("\n".join(["state,size,groups", *rows]) + "\n")
    people = [f"{group},r{group % LEAVES:03}" for group in range(3000)]
    (folder / "people.csv").write_text("\n".join(["household,state", *people]) + "\n")


def make_words(what: str, bench: Bench) -> list[str]:
    """The command."""
    counts = ["--region", "state", "--sizes", f"1:{SIZES}", "--json"]
    people = [str(bench.elsewhere / "people.csv"), "--group", "household", *counts]
    on_disk = str(bench.disk / "ledger.db")
    return {
        "release": [
            "release", str(bench.elsewhere / "counts.csv"), *counts, "--epsilon", EPSILON,
            "--ledger", str(bench.ledger), "--out", str(bench.disk / "deep" / "out"), "--replicates", "10",
        ],
        "count": ["count", *people, "--out", str(bench.disk / "counts.parquet")],
        "count-csv": ["count", *people, "--out", str(bench.disk / "sensitive.csv")],
        "create": ["ledger", "create", on_disk, "--dataset", "census", "--epsilon", "9"],
        "create-second": ["ledger", "create", on_disk, "--dataset", "other", "--epsilon", "9"],
    }[what]  # fmt: skip


def prepare(what: str, bench: Bench, ledger: str) -> None:
    """What has to be there before the command."""
    if what == "create" or what.startswith("count"):
        return
    path = (bench.disk if ledger == "disk" else bench.elsewhere) / "ledger.db"
    book = tt.Ledger.create(path, dataset="census", epsilon="9")
    for number in range(9):  # its page is nearly full, so that it has to grow
        book.charge("1/1000", what=f"{number}".ljust(250, "-"))


def fill(bench: Bench, unit: str, free: int) -> None:
    """Leave room for so many pages, or for so many files."""
    space = os.statvfs(bench.disk)
    if unit == "pages":
        take = (space.f_bavail - free) * space.f_frsize
        (bench.disk / BALLAST).write_bytes(bytes(max(take, 0)))
        return
    for number in range(space.f_favail - free):
        (bench.disk / f"{BALLAST}{number}").touch()


def empty(bench: Bench) -> None:
    for path in bench.disk.glob(f"{BALLAST}*"):
        path.unlink()


def is_whole(what: str, bench: Bench) -> bool:
    if what == "release":
        release = tt.load(bench.disk / "deep" / "out")
        return release.verify().passed and tt.Ledger(bench.ledger).verify([release]).passed
    if what == "count":
        counts = tt.GroupCounts.from_table(bench.disk / "counts.parquet", regions=["state"], sizes=(1, SIZES))
        return counts.total == 3000
    if what == "count-csv":
        return len((bench.disk / "sensitive.csv").read_text().splitlines()) == LEAVES + 1
    return tt.Ledger(bench.ledger).verify().passed


@contextmanager
def mount(options: str) -> Iterator[Bench]:
    """A small file system, and a folder that is not on it."""
    with tempfile.TemporaryDirectory(prefix="tallytree-disk-") as folder:
        Path(folder).chmod(0o755)
        bench = Bench(Path(folder) / "disk", Path(folder) / "elsewhere")
        bench.disk.mkdir()
        bench.elsewhere.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", bench.disk], check=True)
        write_inputs(bench.elsewhere)
        try:
            yield bench
        finally:
            # Lazily: what an error still refers to may hold a file of it open.
            subprocess.run(["umount", "--lazy", bench.disk], check=True)


def try_full(what: str, ledger: str, unit: str, free: int) -> Answer:
    """A command on a disk with so much room, and again with more."""
    with mount("size=1m,nr_inodes=64") as bench:
        prepare(what, bench, ledger)
        words, entries, files = make_words(what, bench), bench.count_entries(), bench.list_files()
        fill(bench, unit, free)
        code, said = bench.run(words)
        left = sorted(bench.list_files() - files)
        empty(bench)
        spent = bench.count_entries() - entries
        again = bench.run(words)[0] if code else 0
        said = said.replace(str(bench.disk), "DISK")
        return Answer(free, code, said, spent, left, again, is_whole(what, bench))


def try_read_only(what: str, ledger: str) -> Answer:
    """A command on a disk that is mounted to be read, and again when it may be written to."""
    with mount("size=1m") as bench:
        prepare(what, bench, ledger)
        words, entries, files = make_words(what, bench), bench.count_entries(), bench.list_files()
        subprocess.run(["mount", "-o", "remount,ro", bench.disk], check=True)
        code, said = bench.run(words)
        left = sorted(bench.list_files() - files)
        spent = bench.count_entries() - entries
        subprocess.run(["mount", "-o", "remount,rw", bench.disk], check=True)
        again = bench.run(words)[0]
        said = said.replace(str(bench.disk), "DISK")
        return Answer(0, code, said, spent, left, again, is_whole(what, bench))


def load_command(what: str, ledger: str) -> None:
    """Load what a command loads late: somebody else may not be able to read where Python is."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "disk", Path(folder))
        bench.disk.mkdir()
        write_inputs(bench.elsewhere)
        prepare(what, bench, ledger)
        with redirect_stdout(StringIO()), suppress(SystemExit):
            sys.argv = ["tallytree", *make_words(what, bench)]
            main()


def become_nobody() -> None:
    """Root may do everything whatever the modes say, so be somebody else."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def try_forbidden(what: str, ledger: str, forbidden: str) -> Answer:
    """A command of a user who may not use a file or a folder, and again as one who may."""
    with tempfile.TemporaryDirectory(prefix="tallytree-disk-") as folder:
        Path(folder).chmod(0o755)
        bench = Bench(Path(folder) / "disk", Path(folder) / "elsewhere")
        for place in (bench.disk, bench.elsewhere):
            place.mkdir()
            place.chmod(0o777)
        write_inputs(bench.elsewhere)
        prepare(what, bench, ledger)
        for path in Path(folder).rglob("*.*"):
            path.chmod(0o666)
        words, entries, files = make_words(what, bench), bench.count_entries(), bench.list_files()
        for path in Path(folder).glob(forbidden):
            path.chmod(0o555 if path.is_dir() else 0)
        code, said = bench.run(words, become_nobody)
        left = sorted(bench.list_files() - files)
        for path in Path(folder).glob(forbidden):
            path.chmod(0o777 if path.is_dir() else 0o666)
        spent = bench.count_entries() - entries
        again = bench.run(words, become_nobody)[0]
        said = said.replace(str(bench.disk), "DISK").replace(str(bench.elsewhere), "ELSEWHERE")
        return Answer(0, code, said, spent, left, again, is_whole(what, bench))


ATTEMPTS: dict[str, Callable[..., Answer]] = {
    "full": try_full,
    "read-only": try_read_only,
    "forbidden": try_forbidden,
}


def run_program() -> None:
    how, attempts = sys.argv[1], json.loads(sys.argv[2])
    warm_up()
    for what, ledger in {(words[0], words[1]) for words in attempts}:
        load_command(what, ledger)
    json.dump([asdict(ATTEMPTS[how](*words)) for words in attempts], sys.stdout)


if __name__ == "__main__":
    run_program()
