"""One clean run of the tests: how long each takes, and which lines of the mutated files it runs."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from numba.core.event import Event, Listener, register

from scripts.mutation.children import run_child, run_tests
from scripts.mutation.parts import Part, Project

READABLE = (0, 1, 5)
"""Exit codes of pytest: all pass, some fail, there are none."""

LIMIT = 1200
"""Processor seconds for one file of tests."""


@dataclass(frozen=True)
class TestFacts:
    """What is known of a test."""

    __test__ = False

    file: str
    name: str
    seconds: float
    """Of processor time, without compiling."""
    lines: dict[str, frozenset[int]]
    """By file of the package."""
    text: str = ""
    """Of the whole file of tests."""


def survey_part(project: Project, part: Part, folder: Path) -> list[TestFacts]:
    """The facts of all tests of a part."""
    return [facts for file in project.list_tests(part) for facts in _survey(project, file, folder)]


def survey_plainly(project: Project, part: Part, folder: Path) -> list[TestFacts]:
    """The same of a few quick tests with kernels that are not compiled, in the files that name any."""
    holding = [
        f"{project.name_module(file)} "
        for file in part.list_files(project.package)
        if "\n@kernel\n" in (project.package / file).read_text(encoding="utf-8")
    ]
    return [
        facts
        for file in project.list_tests(part)
        if any(name in (project.root / file).read_text(encoding="utf-8") for name in holding)
        for facts in _survey(project, file, folder, plain=True)
    ]


def _survey(project: Project, file: str, folder: Path, *, plain: bool = False) -> list[TestFacts]:
    """Those of one file, from ``folder`` if neither it nor what is mutated has changed since."""
    path = folder / "survey" / f"{_digest(project, file)}{'-plain' if plain else ''}.json"
    if not path.exists():
        print(f"Surveying {file}{', nothing compiled' if plain else ''}", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        recorder = PlainRecorder(project) if plain else Recorder(project)

        def work() -> int:
            code = run_tests(project, [file], [recorder], folder / "kernels", plain=plain)
            if code in READABLE:
                path.write_text(json.dumps(recorder.facts), encoding="utf-8")
            return code

        output = path.with_suffix(".out")
        if run_child(work, seconds=LIMIT, output=output) not in READABLE:
            raise SystemExit(f"The tests of {file} cannot be run as they are: see {output}.")
    text = (project.root / file).read_text(encoding="utf-8")
    return [
        TestFacts(
            file, name, seconds, {target: frozenset(numbers) for target, numbers in lines.items()}, text
        )
        for name, seconds, lines in json.loads(path.read_text(encoding="utf-8"))
    ]


def _digest(project: Project, file: str) -> str:
    sources = [project.root / file, *(project.package / target for target in project.list_targets())]
    content = b"".join(source.read_bytes() for source in sources)
    return f"{Path(file).stem}-{hashlib.sha256(content).hexdigest()[:12]}"


class CompileClock(Listener):
    """The processor seconds that compiling took so far: a test is not slow for being the first.

    The compiler itself is not traced, which would take twice as long.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._start = 0, 0.0
        self._trace: Callable[..., Any] | None = None

    def on_start(self, event: Event) -> None:
        """A kernel may compile another one."""
        if self._depth == 0:
            self._start, self._trace = time.process_time(), sys.gettrace()
            sys.settrace(None)
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """Only the outermost counts."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.process_time() - self._start
            sys.settrace(self._trace)


class Recorder:
    """A plugin of pytest that traces the tests."""

    def __init__(self, project: Project) -> None:
        self.facts: list[tuple[str, float, dict[str, list[int]]]] = []
        self._targets = {str(project.package / target): target for target in project.list_targets()}
        self._lines: dict[str, set[int]] = defaultdict(set)
        self._failed = False
        self._compiling = CompileClock()

    def pytest_sessionstart(self) -> None:
        """Listen to the compiler."""
        register("numba:compile", self._compiling)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails as it is tells nothing about mutants."""
        self._failed = self._failed or not report.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trace a test with its fixtures."""
        self._lines, self._failed = defaultdict(set), False
        start = time.process_time() - self._compiling.seconds
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            lines = {target: sorted(found) for target, found in self._lines.items()}
            if not self._failed:
                seconds = time.process_time() - self._compiling.seconds - start
                self.facts.append((item.nodeid, round(max(0.0, seconds), 3), lines))

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        target = self._targets.get(frame.f_code.co_filename)
        if target is None:
            return None
        lines = self._lines[target]
        lines.add(frame.f_lineno)

        def step(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            lines.add(frame.f_lineno)
            return step

        return step


class PlainRecorder(Recorder):
    """The same where kernels are plain Python: slow, so that only a few cases of every test are run.

    Of a function that runs, all lines are noted: to look at each of them takes longer than to run it.
    """

    cases = 4
    seconds = 2.0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The first cases of each."""
        seen: Counter[str] = Counter()
        chosen = []
        for item in items:
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] <= self.cases:
                chosen.append(item)
        items[:] = chosen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Give up on what takes too long."""
        signal.signal(signal.SIGPROF, _give_up)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        target = self._targets.get(frame.f_code.co_filename)
        if target is not None:
            self._lines[target].update(line for _, _, line in frame.f_code.co_lines() if line is not None)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError
