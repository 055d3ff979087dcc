"""A mutant against the tests that may notice it."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.docs.imports import Graph, find_reachable
from scripts.mutation.children import ChangedModule, run_child, run_tests
from scripts.mutation.mutants import Mutant
from scripts.mutation.parts import Project
from scripts.mutation.survey import TestFacts

SLOWER = 4
"""A test may take so many times as long as it does on the clean code, traced."""

NOT_IN_PLACE = 100
"""An exit code that pytest does not have."""

LOADING = 10
"""Processor seconds for importing the tests."""

COMPILING = 120
"""Processor seconds more where kernels are compiled anew."""

NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Result:
    """What became of a mutant."""

    key: str
    outcome: str
    """killed, timeout (which counts as killed), survived, unreached by any test, or undecided: it survived
    without being compiled."""
    tests: int
    seconds: float
    killer: str = ""

    @property
    def alive(self) -> bool:
        """No test noticed."""
        return self.outcome in ("survived", "unreached", "undecided")


def choose_tests(
    mutant: Mutant,
    facts: Sequence[TestFacts],
    graph: Graph,
    budget: float,
    killers: Mapping[str, int] = NONE,
    *,
    plain: bool = False,
) -> list[TestFacts]:
    """The tests that reach the mutant, the quickest first, of so many seconds together at most.

    Before them come those that noticed other mutants of the file (``killers``: how many, by their names).
    Nobody sees the lines of compiled code run: for a kernel, these are all tests in a file that names its
    module, which have the least to compile, and then those that run anything of its file or of a file that
    uses it; if ``plain``, it is not compiled.
    """
    first, last = mutant.lines
    near = {mutant.file}
    compiled = mutant.compiled and not plain
    if compiled:
        near |= {_file(module) for module in find_users(graph, _module(mutant.file))}
    name = f".{_module(mutant.file)} "

    def rank(test: TestFacts) -> tuple[int, bool, float, str]:
        return -killers.get(test.name, 0), compiled and name not in test.text, test.seconds, test.name

    chosen: list[TestFacts] = []
    spent = 0.0
    for test in sorted(facts, key=rank):
        if mutant.on_import or compiled:
            reaches = not near.isdisjoint(test.lines) or name in test.text
        else:
            reaches = any(first <= line <= last for line in test.lines.get(mutant.file, ()))
        if reaches and (not chosen or spent + test.seconds <= budget):
            chosen.append(test)
            spent += test.seconds
    return chosen


def find_users(graph: Graph, module: str) -> set[str]:
    """All modules that load this one."""
    return {user for user in graph if module in find_reachable(graph, user)}


def run_mutant(
    project: Project,
    mutant: Mutant,
    tests: Sequence[TestFacts],
    graph: Graph,
    folder: Path,
    *,
    plain: bool = False,
) -> Result:
    """Put the mutant in place in a process of its own, and run the tests until one fails."""
    if not tests:
        return Result(mutant.key, "unreached", 0, 0.0)
    start = time.monotonic()
    clean = folder / "kernels"
    compiled = mutant.compiled and not plain
    kernels = folder / f"kernels-{mutant.key}" if compiled else clean
    if compiled:
        _copy_kernels(clean, kernels, {_module(mutant.file), *find_users(graph, _module(mutant.file))})
    grace = project.grace + COMPILING * compiled
    limits = {test.name: grace + SLOWER * test.seconds for test in tests}
    verdict = Verdict(limits, folder / f"killer-{mutant.key}")

    def work() -> int:
        changed = ChangedModule(
            project.name_module(mutant.file), project.package / mutant.file, mutant.source
        )
        sys.meta_path.insert(0, changed)
        files = dict.fromkeys(test.file for test in tests)
        code = run_tests(project, ["-x", *files], [verdict, changed], kernels, plain=plain)
        return code if changed.is_in_place() else NOT_IN_PLACE

    try:
        code = run_child(work, seconds=sum(limits.values()), output=folder / "last-mutant.out")
        killer = verdict.note.read_text(encoding="utf-8") if verdict.note.exists() else ""
    finally:
        verdict.note.unlink(missing_ok=True)
        if compiled:
            shutil.rmtree(kernels, ignore_errors=True)
    if code == NOT_IN_PLACE:
        raise RuntimeError(f"{mutant.file} was tested without its change.")
    outcome = "timeout" if code is None else "survived" if code == 0 else "killed"
    return Result(mutant.key, outcome, len(tests), round(time.monotonic() - start, 2), killer)


class Verdict:
    """A plugin of pytest that runs the chosen tests only, in their order, and notes the first that fails.

    The process ends where a test takes more processor time than its limit, whatever it is doing then.
    """

    def __init__(self, limits: Mapping[str, float], note: Path) -> None:
        self.note = note
        self._limits = limits
        self._order = {name: place for place, name in enumerate(limits)}

    def pytest_sessionstart(self) -> None:
        """Importing the tests has a limit as well."""
        signal.setitimer(signal.ITIMER_PROF, LOADING + max(self._limits.values()))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose and sort."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Wind up the clock."""
        signal.setitimer(signal.ITIMER_PROF, self._limits[nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note who noticed."""
        if report.failed:
            self.note.write_text(report.nodeid, encoding="utf-8")


def _copy_kernels(clean: Path, target: Path, stale: set[str]) -> None:
    """All compiled kernels but those of modules that a change may reach."""
    stems = tuple(f"{module.rpartition('.')[2]}." for module in stale)

    def leave_out(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name.startswith(stems)]

    shutil.rmtree(target, ignore_errors=True)
    if clean.exists():
        shutil.copytree(clean, target, ignore=leave_out)


def _module(file: str) -> str:
    return ".".join(Path(file).with_suffix("").parts)


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"
