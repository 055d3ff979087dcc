"""Record and replay: runs on neighbours that see the same noisy answers must publish the same bytes.

After Re:cord-play (arXiv 2602.17454). The first run is recorded: all that it publishes, the calls to the
sampler, and its noisy answers. In later runs, on neighbouring data, everything is done as always (records are
counted, noise is drawn), but the noisy answers are then exchanged for the recorded ones. What differs after
that depends on the data by another way than the noisy answers.

Time, random names and the noise are the same in all runs: the noise must be equal too, cell by cell.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import secrets
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import tallytree as tt
from tallytree.arrays import LevelArrays, Stored
from tallytree.cli.main import main
from tallytree.privacy import door
from tallytree.privacy.measurements import PrivateMeasurements
from tallytree.privacy.noise import ExactNoise, Fill
from tallytree.publishing import pipeline
from tallytree.releases.released import REPORT
from tallytree.report.report_page import write_report
from tests.privacy.replay_facts import Facts, describe_content, describe_folder, describe_text

Ints = npt.NDArray[np.int64]

PRIVATE = ("sensitive.parquet", "sensitive.csv")
"""What ``tallytree count`` writes is for its owner alone."""


class FrozenTime(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2026, 2, 3, 4, 5, 6, tzinfo=tz or UTC)


@dataclass
class Scene:
    """One run: where its data are, and what it says beside what it writes and prints."""

    data: Path
    """For the files of the data, which are not published; the current folder is."""
    said: Facts = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    draws: list[tuple[str, list[int]]] = field(default_factory=list)
    """For each call to the sampler, its kind and scale, and how many numbers each piece of work drew."""

    def progress(self, what: str, steps: int) -> Callable[[int], None]:
        """Remembers all that progress is told, but not when."""
        key = f"progress: {what}, {steps} steps"
        self.steps[key] = 0
        lock = threading.Lock()

        def advance(done: int) -> None:
            with lock:
                self.steps[key] += done

        return advance

    def say(self, place: str, value: object) -> None:
        """Publish something more."""
        if isinstance(value, bytes):
            self.said |= {f"{place}: {what}": fact for what, fact in describe_content(value).items()}
        else:
            self.said |= {f"{place}: {what}": fact for what, fact in describe_text(str(value)).items()}

    def list_facts(self) -> Facts:
        """All of it, with what the sampler was asked for."""
        calls = {
            f"sampler: call {number}": (kind, sorted(pieces))
            for number, (kind, pieces) in enumerate(self.draws)
        }
        return {**self.said, **self.steps, "sampler: calls": len(self.draws), **calls}


Play = Callable[[Scene], None]
"""A run, in a folder of its own: it makes a release, and says what is not in files or on the console."""


class Recorder:
    """Runs plays; the noisy answers of the last one that was recorded are given to all that follow."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capture = folder, capture
        self._runs = 0
        self._tape: list[Stored] | None = None

    def record(self, play: Play) -> Facts:
        """Run with answers of its own, and remember these."""
        self._tape = None
        return self._run(play)

    def replay(self, play: Play) -> Facts:
        """Run with the answers that were recorded."""
        assert self._tape is not None
        return self._run(play)

    def _run(self, play: Play) -> Facts:
        self._runs += 1
        sandbox = self._folder / f"run-{self._runs}"
        for name in ("data", "home", "tmp", "work"):
            (sandbox / name).mkdir(parents=True, mode=0o700)
        scene = Scene(sandbox / "data")
        self._capture.readouterr()  # what was printed before
        since = time.time()
        with pytest.MonkeyPatch.context() as patch, _listen(scene):
            patch.chdir(sandbox / "work")
            patch.setenv("HOME", str(sandbox / "home"))
            patch.setenv("COLUMNS", "200")
            patch.setattr(tempfile, "tempdir", str(sandbox / "tmp"))
            _freeze(patch)
            _freeze_noise(patch, scene)
            patch.setattr(pipeline, "measure", self._exchange(vars(pipeline)["measure"], scene))
            play(scene)
        for stream, text in zip(("stdout", "stderr"), self._capture.readouterr(), strict=True):
            scene.say(stream, text)
        facts: Facts = {**scene.list_facts()}
        for name in ("work", "tmp", "home"):
            folder = sandbox / name
            found = describe_folder(folder, private=PRIVATE, since=since, until=time.time())
            facts |= {f"{name}/{place}": fact for place, fact in found.items()}
        return facts

    def _exchange(
        self, measure: Callable[..., PrivateMeasurements], scene: Scene
    ) -> Callable[..., PrivateMeasurements]:
        def measure_again(plan: tt.Plan, counts: tt.GroupCounts, **options: Any) -> PrivateMeasurements:
            made = measure(plan, counts, **options)
            assert isinstance(made.values, LevelArrays)
            stored = [made.values.stored(level) for level in range(len(plan.levels))]
            for level, answer in enumerate(plan.answers(counts)):
                where = f"level {plan.levels[level].name!r}"
                scene.said[f"measured: {where}"] = stored[level].shape, _get_type(stored[level])
                scene.said[f"noise: {where}"] = (made.values[level] - answer).tolist()
            if self._tape is None:
                self._tape = stored
            if [values.shape for values in self._tape] != [values.shape for values in stored]:
                return made  # which is a difference, and found above
            return PrivateMeasurements(plan, LevelArrays(self._tape), made.noise)

        return measure_again


def _get_type(stored: Stored) -> str:
    return str(stored.dtype) if isinstance(stored, np.ndarray) else type(stored).__name__


def _freeze(patch: pytest.MonkeyPatch) -> None:
    """The same time and the same random names in every run, for all modules that have them."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("tallytree."):
            continue
        if getattr(module, "datetime", None) is datetime:
            patch.setattr(module, "datetime", FrozenTime)
        if getattr(module, "secrets", None) is secrets:
            patch.setattr(module, "secrets", SimpleNamespace(token_hex=_number_names()))


def _number_names() -> Callable[[int], str]:
    numbers = count(1)
    return lambda length: f"{next(numbers):0{2 * length}x}"


def _freeze_noise(patch: pytest.MonkeyPatch, scene: Scene) -> None:
    """Every sampler draws as always, and then says what depends on the call and on the place alone."""
    for kind in door.NOISES.values():
        patch.setattr(kind, "prepare", _write_prepare(kind.prepare, scene))


def _write_prepare(
    prepare: Callable[[Any, Fraction], Fill], scene: Scene
) -> Callable[[ExactNoise, Fraction], Fill]:
    def prepare_frozen(self: ExactNoise, scale: Fraction) -> Fill:
        fill = prepare(self, scale)
        number = len(scene.draws)
        pieces: list[int] = []
        scene.draws.append((f"{type(self).__name__} of scale {scale}", pieces))

        def fill_frozen(out: Ints) -> None:
            fill(out)
            pieces.append(len(out))
            whole = out if out.base is None else np.asarray(out.base)
            first = (out.ctypes.data - whole.ctypes.data) // out.itemsize
            draws = np.random.default_rng(number).laplace(0, float(scale), whole.size)
            out[:] = np.rint(draws[first : first + len(out)])

        return fill_frozen

    return prepare_frozen


class _Memory(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(
            "py4j"
        ):  # when Spark's connections are closed, the garbage collector says
            self.lines.append(f"{record.name}: {record.getMessage()}")


@contextmanager
def _listen(scene: Scene) -> Iterator[None]:
    """What is logged, by anybody, and what is warned of."""
    heard, root = _Memory(), logging.getLogger()
    level = root.level
    root.addHandler(heard)
    root.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.filterwarnings("always", category=UserWarning)
            yield
    finally:
        root.removeHandler(heard)
        root.setLevel(level)
    scene.say("log", "\n".join(heard.lines))
    scene.say("warnings", "\n".join(str(one.message) for one in warned))


def publish(scene: Scene, counts: tt.GroupCounts, *, replicates: int = 0, **options: Any) -> None:
    """Release counts by the library, with a ledger, and write and show all that there is to a release."""
    options = {"mechanism": "direct-dp", "epsilon": "1", **options}  # which is fast
    budget = {"rho": "10", "delta": options["delta"]} if "delta" in options else {"epsilon": "10"}
    ledger = tt.Ledger.create("ledger.db", dataset="census", **budget)
    made = tt.release(counts, ledger=ledger, progress=scene.progress, **options)
    made.save("out", replicates=0)
    if replicates:
        made = tt.add_intervals(made, replicates=replicates, progress=scene.progress)
        made.write_intervals("out")
    write_report(made, Path("out") / REPORT)
    scene.say("repr of the counts", f"{counts!r}\n{counts.hierarchy!r}\n{counts.assumptions}")
    scene.say("repr", f"{made!r}\n{made.region()!r}\n{made.measurements!r}\n{made.verify()}")
    scene.say("in a notebook", made._repr_html_() + made.region()._repr_html_())
    scene.say("picture", made.region().plot().svg)
    scene.say("regions", "\n".join(map(str, [made.hierarchy.regions(n) for n in made.hierarchy.levels])))
    scene.say("leaves", "\n".join(map(str, made.hierarchy.leaves)))
    scene.say("table", _write_table(made.to_arrow()))
    scene.say("estimates", _write_table(made.estimate_unbiased()) if _is_additive(made) else "")
    scene.say("pickle", pickle.dumps(made))
    scene.say("ledger", "\n".join(map(str, ledger.read().entries)))


def _is_additive(made: tt.Release) -> bool:
    return made.measurements.plan.levels[0].query != "chain"


def _write_table(table: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def command(scene: Scene, *words: object) -> None:
    """Run a command line, whose output is published, and say how it ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tallytree", *map(str, words)])
        patch.delenv("TALLYTREE_DEBUG", raising=False)
        with pytest.raises(SystemExit) as stop:
            main()
    scene.say(f"exit code of {words[0]}", stop.value.code)
    assert stop.value.code == 0


SPARKS_OWN = "stderr: "
"""Where Spark shows how long its stages take, unless its user turned that off."""


@contextmanager
def processors(number: int) -> Iterator[None]:
    """As if there were so many processors; with several, noise is drawn in many small pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda process: set(range(number)))
        if number > 1:
            for kind in door.NOISES.values():
                patch.setattr(kind, "chunk", 7)
        yield
