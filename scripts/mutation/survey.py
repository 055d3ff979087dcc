"""One clean run of the tests: how long each takes, and which lines of the mutated files it runs."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

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
    """Of processor time."""
    lines: dict[str, frozenset[int]]
    """By file of the package."""
    text: str = ""
    """Of the whole file of tests."""


def survey_part(project: Project, part: Part, folder: Path) -> list[TestFacts]:
    """The facts of all tests of a part."""
    return [facts for file in project.list_tests(part) for facts in _survey(project, file, folder)]


def _survey(project: Project, file: str, folder: Path) -> list[TestFacts]:
    """Those of one file, from ``folder`` if neither it nor what is mutated has changed since."""
    path = folder / "survey" / f"{_digest(project, file)}.json"
    if not path.exists():
        print(f"Surveying {file}", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        recorder = Recorder(project)

        def work() -> int:
            code = run_tests(project, [file], [recorder], folder / "kernels")
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


class Recorder:
    """A plugin of pytest that traces the tests."""

    def __init__(self, project: Project) -> None:
        self.facts: list[tuple[str, float, dict[str, list[int]]]] = []
        self._targets = {str(project.package / target): target for target in project.list_targets()}
        self._lines: dict[str, set[int]] = defaultdict(set)
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails as it is tells nothing about mutants."""
        self._failed = self._failed or not report.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trace a test with its fixtures."""
        self._lines, self._failed = defaultdict(set), False
        start = time.process_time()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            lines = {target: sorted(found) for target, found in self._lines.items()}
            if not self._failed:
                self.facts.append((item.nodeid, round(time.process_time() - start, 3), lines))

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
