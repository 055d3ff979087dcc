"""Pytest in a forked process, which has the libraries loaded already and may break without harm."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import numba
import pytest
from hypothesis import Phase, settings

from scripts.mutation.parts import Project

LIBRARIES = (
    "cryptography.hazmat.primitives.ciphers",
    "numba",
    "opendp.prelude",
    "pandas",
    "psycopg",
    "pyarrow.parquet",
    "rich.console",
    "scipy.optimize",
    "scipy.stats",
    "sqlalchemy",
    "typer",
)
"""Loaded before forking; not the package, nor anything that starts threads."""

MEMORY = 6 * 2**30

SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps those of a test."""


def load_libraries() -> None:
    """What all children need."""
    for name in LIBRARIES:
        importlib.import_module(name)


def run_child(work: Callable[[], int], *, seconds: float, output: Path) -> int | None:
    """The exit code of ``work`` in a process of its own; None if it took more processor time than that.

    Processor time, because a busy machine makes everything slow by the clock. By the clock there are more
    seconds, for what waits without working.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            _limit(seconds)
            _redirect(output)
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return _wait(child, 20 * seconds)


def _wait(child: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(status)
    return None if code in (-signal.SIGXCPU, -signal.SIGPROF) else code


def _limit(seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _redirect(output: Path) -> None:
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(target, 1)
    os.dup2(target, 2)


def run_tests(
    project: Project,
    arguments: Sequence[str],
    plugins: Sequence[object],
    kernels: Path,
    *,
    plain: bool = False,
) -> int:
    """Pytest with plugins, compiled kernels kept in ``kernels``; none is compiled if ``plain``."""
    os.chdir(project.root)
    sys.path[:0] = [str(project.package.parent), str(project.root)]
    for name in [name for name in sys.modules if name.partition(".")[0] in (project.package.name, "tests")]:
        del sys.modules[name]  # the parent may have loaded the code as it is
    numba.config.DISABLE_JIT = plain
    if project.kernels is not None:
        importlib.import_module(project.kernels).CACHE = kernels  # type: ignore[attr-defined]
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        f"--basetemp={kernels.parent / 'tmp'}",
    ]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # Hypothesis is loaded already
    if plain:
        options += ["-W", "ignore::RuntimeWarning"]  # compiled code has none
    return int(pytest.main([*options, *arguments], plugins=[SmallExamples(), *plugins]))


class SmallExamples:
    """The same few examples of Hypothesis in every run, and no search for the smallest that fails."""

    most = 100
    """Also where a test asks for more."""

    def pytest_configure(self) -> None:
        """After the tests' own settings."""
        settings.register_profile(
            "mutation",
            deadline=None,
            derandomize=True,
            database=None,
            max_examples=30,
            phases=[Phase.explicit, Phase.generate],
        )
        settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tests with settings of their own."""
        for item in items:
            function = getattr(item, "obj", None)
            own = getattr(function, SETTINGS, None)
            if own is not None and own.max_examples > self.most:
                setattr(function, SETTINGS, settings(own, max_examples=self.most))


class ChangedModule(MetaPathFinder):
    """Gives one module a changed source when it is imported; also a plugin of pytest."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self._name, self._path, self._source = name, path, source

    def pytest_configure(self) -> None:
        """Stand before pytest's own finder, which loads modules with examples from their files."""
        sys.meta_path.remove(self)
        sys.meta_path.insert(0, self)

    def is_in_place(self) -> bool:
        """Whether the module, if anything imported it, is the changed one."""
        module = sys.modules.get(self._name)
        return module is None or isinstance(module.__loader__, _ChangedLoader)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The changed module, or none."""
        if name != self._name:
            return None
        loader: Loader = _ChangedLoader(name, self._path, self._source)
        spec = ModuleSpec(name, loader, origin=str(self._path))
        spec.has_location = True
        return spec


class _ChangedLoader(SourceFileLoader):
    def __init__(self, name: str, path: Path, source: str) -> None:
        super().__init__(name, str(path))
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache."""
        return compile(self._source, self.path, "exec", dont_inherit=True)
