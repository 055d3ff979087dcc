"""How kernels are compiled and kept, and how work is shared."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallytree import kernels
from tallytree.kernels import PACKAGE, SOURCES, kernel

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
    assert len(holding) > 15
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
