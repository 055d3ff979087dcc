"""Processes that charge a ledger: many at once, or one after the other and stopped at a random moment.

Run as a program, which loads everything once and then forks: so the processes are real, and there can be
hundreds of them. What it found out is one JSON document on standard output.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import tallytree as tt
from tallytree.cli.main import main
from tallytree.errors import LedgerError
from tallytree.ledger.postgres_store import connect_postgres

EPSILON = "1/10"
TABLE = "state,size,groups\nGA,1,5000\nNY,2,6000\n"

Work = Callable[[], None]


def count() -> tt.GroupCounts:
    hierarchy = tt.Hierarchy.from_paths(["root", "state"], [("all", "GA"), ("all", "NY")])
    return tt.GroupCounts(hierarchy, (1, 3), [[5, 0, 0], [0, 6, 0]])


def release(place: str, folder: Path) -> None:
    tt.release(count(), epsilon=EPSILON, ledger=place).save(folder, replicates=0)


def warm_up() -> None:
    """Load what is loaded late, so that every fork has it. Nothing is asked of the database."""
    connect_postgres("postgresql://nobody@localhost/nothing")
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "ledger.db")
        tt.Ledger.create(place, dataset="d", epsilon=1)
        release(place, Path(folder) / "out")
        (Path(folder) / "counts.csv").write_text(TABLE)
        counts = tt.GroupCounts.from_table(Path(folder) / "counts.csv", regions=["state"], sizes=(1, 3))
        for _ in range(50):  # which kernels are needed depends on the noise
            tt.release(counts, epsilon=EPSILON)
    # What the compiler left behind is not for the forks to clear away, where a signal would find them at it.
    gc.collect()
    gc.freeze()


def start(work: Work) -> int:
    """A process that does the work, in every way out of it."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        work()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 70
    except Exception:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def wait(process: int) -> int:
    """Its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


# Racing.


def race(place: str, folder: Path, racers: int) -> list[str]:
    """What each of ``racers`` processes, let go at the same moment, was told; empty if it made a release."""
    gate, opener = os.pipe()
    ready, report = os.pipe()

    def run(number: int) -> None:
        os.close(opener)
        os.write(report, b".")
        os.read(gate, 1)  # until everybody is there
        try:
            release(place, folder / str(number))
            told = ""
        except LedgerError as error:
            told = str(error)
        (folder / f"{number}.told").write_text(told)

    processes = [start(partial(run, number)) for number in range(racers)]
    for _ in processes:
        os.read(ready, 1)
    os.close(opener)
    codes = [wait(process) for process in processes]
    assert codes == [0] * racers, codes
    return [(folder / f"{number}.told").read_text() for number in range(racers)]


# Stopping at a moment: a moment is a number of lines of Python, or a number of system calls.


def trace_lines(work: Work, moment: int, act: Work, begin: str = "") -> int:
    """Do the work, and ``act`` before its line number ``moment``; how many lines there were.

    Lines are counted from the first call of a function named ``begin`` on, if there is one.
    """
    lines = 0
    begun = not begin

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines, begun
        if not begun:
            if frame.f_code.co_qualname != begin:
                return None
            begun = True
            caller = frame.f_back
            while caller is not None:  # those that were called before are traced from here on as well
                caller.f_trace = trace
                caller = caller.f_back
        if event == "line":
            lines += 1
            if lines == moment:
                act()
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return lines


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_lines(work: Work, moment: int, begin: str = "") -> tuple[int, int]:
    """A process that is killed before the line ``moment``: its exit code, and its lines if it got through."""
    reader, writer = os.pipe()

    def run() -> None:
        os.write(writer, str(trace_lines(work, moment, kill_myself, begin)).encode())

    process = start(run)
    os.close(writer)
    with os.fdopen(reader) as text:
        lines = text.read()
    return wait(process), int(lines or 0)


TRACE_ME, NEXT_CALL = 0, 24  # of ptrace(2)
CANNOT_TRACE = 77


def run_calls(work: Work, moment: int) -> tuple[int, int]:
    """A process that is killed at the system call ``moment``, on its way in or out."""
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long] * 4
    library.ptrace.restype = ctypes.c_long

    def run() -> None:
        if library.ptrace(TRACE_ME, 0, 0, 0):
            sys.exit(CANNOT_TRACE)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()

    process, calls = start(run), 0
    while True:
        status = os.waitpid(process, 0)[1]
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status), calls
        stopped = os.WSTOPSIG(status)
        passed_on = 0 if stopped in (signal.SIGTRAP, signal.SIGSTOP) else stopped
        calls += 1
        if calls == moment:
            os.kill(process, signal.SIGKILL)
        else:
            library.ptrace(NEXT_CALL, process, 0, passed_on)


RUNNERS = {"lines": run_lines, "calls": run_calls}


def kill(place: str, folder: Path, how: str, kills: int, seed: int) -> dict[str, int]:
    """Kill ``kills`` processes that make two releases each, at random moments of their work."""
    run = RUNNERS[how]

    def work(number: int) -> None:
        for turn in range(2):
            release(place, folder / f"{number}-{turn}")

    code, moments = run(partial(work, -1), -1)
    if code == CANNOT_TRACE:  # some containers forbid it
        run = run_lines
        code, moments = run(partial(work, -1), -1)
    assert code == 0, code
    generator = random.Random(seed)
    codes = [run(partial(work, number), generator.randint(1, moments))[0] for number in range(kills)]
    assert set(codes) <= {0, -signal.SIGKILL}, codes
    return {"moments": moments, "killed": sum(code < 0 for code in codes)}


# Signals that a command can answer.


@dataclass(frozen=True)
class Answer:
    """How a release command that got a signal ended, and what it said."""

    code: int
    said: str
    spent: int
    """How many entries the ledger has more than before."""
    written: bool
    left_behind: list[str]


def interrupt(place: str, folder: Path, name: str, times: int, seed: int) -> Iterator[Answer]:
    """Send a signal to release commands at random lines of their work."""
    number = signal.Signals[name]
    (folder / "counts.csv").write_text(TABLE)
    generator = random.Random(seed)
    _, lines = run_lines(partial(command, place, folder, "first"), -1, "Ledger.charge")
    for turn in range(times):
        out, moment = f"out{turn}", generator.randint(1, lines)
        before = len(tt.Ledger(place).read().entries)

        def run(out: str = out, moment: int = moment) -> None:
            act = partial(os.kill, os.getpid(), number)
            trace_lines(partial(command, place, folder, out), moment, act, "Ledger.charge")

        code = wait(start(run))
        yield Answer(
            code,
            (folder / f"{out}.err").read_text(),
            len(tt.Ledger(place).read().entries) - before,
            (folder / out).exists(),
            [entry.name for entry in folder.iterdir() if entry.name.startswith(f".{out}.")],
        )


def command(place: str, folder: Path, out: str) -> None:
    """``tallytree release``; what it says goes to a file."""
    error = os.open(folder / f"{out}.err", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(error, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    words = ["--region", "state", "--sizes", "1:3", "--epsilon", EPSILON, "--json", "--ledger", place]
    words = [*words, "--replicates", "0"]  # intervals come after all that is spent
    sys.argv = ["tallytree", "release", str(folder / "counts.csv"), *words, "--out", str(folder / out)]
    with contextlib.suppress(SystemExit) if out == "first" else contextlib.nullcontext():
        main()


def run_program() -> None:
    what, place, where, *more = sys.argv[1:]
    folder = Path(where)
    warm_up()
    found: Any
    if what == "race":
        found = race(place, folder, int(more[0]))
    elif what == "kill":
        found = kill(place, folder, more[0], int(more[1]), int(more[2]))
    else:
        found = [asdict(answer) for answer in interrupt(place, folder, more[0], int(more[1]), int(more[2]))]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    run_program()
