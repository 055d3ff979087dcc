"""How kernels are compiled and kept, and how work is shared."""

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from numba.core import compiler

from tallytree import kernels
from tallytree.kernels import PACKAGE, SOURCES, kernel
from tallytree.progress import expect_holds, hold_signals

DOUBLE = """
def double(x):
    return 2 * x
"""


def run(code: str, *words: object) -> str:
    """What the code prints in a process of its own, which must end by itself."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_that_holds_kernels_decides_where_they_are_kept() -> None:
    """A change of one of them must not meet what was compiled before it."""
    holding = {path for path in PACKAGE.rglob("*.py") if "\n@kernel\n" in path.read_text(encoding="utf-8")}
    assert len(holding) > 10
    assert holding <= set(SOURCES)


def test_a_kernel_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CACHE", tmp_path / "kept")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "kept_doubling.py").write_text(f"from tallytree.kernels import kernel\n\n\n@kernel{DOUBLE}")
    from kept_doubling import double  # type: ignore[import-not-found]

    assert double(4) == 8
    assert [path.suffix for path in sorted((tmp_path / "kept").rglob("kept_doubling*"))] == [".nbc", ".nbi"]


def test_a_kernel_that_cannot_be_kept_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for cache in (Path("/proc/nowhere"), None):  # it cannot be written to; there is none
        monkeypatch.setattr(kernels, "CACHE", cache)
        scope: dict[str, Any] = {}
        exec(compile(DOUBLE, "<nowhere>", "exec"), scope)  # numba finds no other place for it either
        assert kernel(scope["double"])(4) == 8


FULL_DISK = f"""
import resource, sys
from pathlib import Path
from tallytree import kernels

folder = Path(sys.argv[1])
kernels.CACHE = folder / "kept"
(folder / "doubling.py").write_text('''
from tallytree.kernels import kernel
@kernel{DOUBLE}''')
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # no file can grow any more
from doubling import double
print(double(4), any(path.stat().st_size for path in kernels.CACHE.rglob("*") if path.is_file()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on files")
def test_a_full_disk_does_not_end_what_a_kernel_is_needed_for(tmp_path: Path) -> None:
    assert run(FULL_DISK, tmp_path) == "8 False\n"


HOMELESS = """
import os
from pathlib import Path
from tallytree import kernels

def refuse(*_): raise RuntimeError("Could not determine home directory.")
os.access = lambda *_: False
os.environ.pop("XDG_CACHE_HOME", None)
print(kernels._find_cache() == Path.home() / ".cache" / "tallytree" / kernels.CACHE.name)
os.environ["XDG_CACHE_HOME"] = "/somewhere"
print(kernels._find_cache().parent)
del os.environ["XDG_CACHE_HOME"]
Path.home = refuse
print(kernels._find_cache())
"""


def test_kernels_of_a_package_that_is_read_only_are_kept_at_home_if_there_is_one() -> None:
    assert run(HOMELESS).splitlines() == ["True", "/somewhere/tallytree", "None"]


SHARING = """
import os
from tallytree import kernels

kernels.count_processors = lambda: 3

def add_inside(number, item):
    found = []
    kernels.RowPool(7).run(lambda rows: found.extend(range(rows.start, rows.stop)))
    return sum(kernels.share_work(lambda place, more: place + more + item, found))

def check():
    assert kernels.share_work(add_inside, range(20)) == [2 * 21 + 7 * item for item in range(20)]
    return "done"

print(check(), flush=True)
child = os.fork()
if child == 0:
    check()
    os._exit(7)  # threads do not survive in a child: it has its own
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_shared_work_may_share_work_and_fork() -> None:
    """Threads that waited for each other would wait forever."""
    assert run(SHARING).split() == ["done", "7"]


# Interruptions.


def stop_first(work: Callable[..., Any], went_on: list[bool]) -> Callable[..., Any]:
    """The work, with an interruption at its beginning."""

    def work_on(*words: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        went_on.append(True)
        return work(*words, **options)

    return work_on


@pytest.mark.parametrize("step", ["compile", "load", "keep"])
def test_an_interruption_waits_until_a_kernel_is_compiled_or_loaded(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """LLVM, broken off in the middle, ended the process later, or could compile nothing any more."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark has one of its own
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    monkeypatch.setattr(kernels, "CACHE", tmp_path)
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(DOUBLE, __file__, "exec"), scope)
    double: Any = kernel(scope["double"])
    went_on: list[bool] = []
    with monkeypatch.context() as patch:
        if step == "compile":
            patch.setattr(compiler, "compile_extra", stop_first(compiler.compile_extra, went_on))
        else:
            name = {"load": "load_overload", "keep": "save_overload"}[step]
            cache = double.compiled._cache
            patch.setattr(cache, name, stop_first(getattr(cache, name), went_on))
        with pytest.raises(KeyboardInterrupt):
            double(4)
    assert went_on == [True]
    assert len(double.compiled.signatures) == 1  # and what was begun is of use
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert double(4) == 8


def test_a_signal_that_waited_reaches_its_handler_once() -> None:
    heard: list[int] = []

    def hear(number: int, _: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, hear)
    try:
        for outer in (nullcontext, expect_holds, hold_signals):
            heard.clear()
            with pytest.raises(RuntimeError), outer():
                with hold_signals(), expect_holds():
                    for _ in range(3):
                        signal.raise_signal(signal.SIGTERM)
                    assert heard == []
                assert heard == ([] if outer is hold_signals else [signal.SIGTERM])
                raise RuntimeError
            assert heard == [signal.SIGTERM]
            assert signal.getsignal(signal.SIGTERM) is hear
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM] * 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_that_are_ignored_and_those_of_other_threads_are_left_alone() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with hold_signals():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    def look() -> object:
        with hold_signals():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as aside:
        assert aside.submit(look).result() is signal.getsignal(signal.SIGINT)


INTERRUPTED = """
import ctypes, signal
from typing import NamedTuple
import numpy as np
from tallytree.kernels import kernel

send = ctypes.CDLL(None)["raise"]
send.argtypes, send.restype = [ctypes.c_int], ctypes.c_int

class Pair(NamedTuple):
    low: int
    high: int

@kernel
def make_array(number):
    if number:
        send(number)
    return np.ones(3)

@kernel
def make_pair(number):
    if number:
        send(number)
    return Pair(1, 2)

signal.signal(signal.SIGINT, signal.default_int_handler)
for work in (make_array, make_pair):
    work(0)
    try:
        work(signal.SIGINT.value)
    except KeyboardInterrupt:
        print("interrupted", work(0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be interrupted there")
def test_an_interruption_while_a_kernel_runs_is_one() -> None:
    """Numba calls Python to make what a kernel returns, and crashed if that was interrupted."""
    assert run(INTERRUPTED).splitlines() == ["interrupted [1. 1. 1.]", "interrupted Pair(low=1, high=2)"]
