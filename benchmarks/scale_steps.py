"""``python -m benchmarks.scale_steps release|verify|sort ...``: one process, a line of JSON for each step."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

import tallytree as tt
from benchmarks.timing import peak_memory, reset_peak, return_freed_memory
from tallytree.mechanisms.base import Mechanism

SOLVING = "Making the counts add up"
SORTING, VECTORS = "np.sort of as many numbers", "np.sort with vector instructions"
"""Not all processors have these, and where they do, they make sorting ten times as fast."""
PARTS = {"Drawing noise": "draw noise", SOLVING: "make the counts add up"}
"""What :func:`tallytree.release` says that it begins, and what the step is called here."""


@contextmanager
def step(name: str) -> Iterator[dict[str, object]]:
    """Time what is done in the block: wall clock, processor time of all threads, peak memory."""
    facts: dict[str, object] = {}
    return_freed_memory()
    reset_peak()
    start, worked = time.perf_counter(), time.process_time()
    yield facts
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    line = {"step": name, "seconds": seconds, "worked": worked, "peak": peak_memory(), **facts}
    print(json.dumps(line), flush=True)


class ReleaseSteps:
    """The steps of a release as it tells of them: each ends where the next begins."""

    def __init__(self) -> None:
        self._current = ExitStack()
        self._facts: dict[str, object] = {}

    def follow(self, what: str, amount: int) -> Callable[[int], None]:
        """A :data:`tallytree.progress.Progress`; after the last part it is told of comes the checking."""
        self._begin(PARTS[what])
        return lambda done: self._begin("check") if what == SOLVING else None

    def end(self, **facts: object) -> None:
        """The release is there; ``facts`` are told with the last step."""
        self._facts.update(facts)
        self._current.close()

    def _begin(self, name: str) -> None:
        self._current.close()
        self._facts = self._current.enter_context(step(name))


def make_release(source: Path, out: Path, levels: Sequence[str], high: int, mechanism: Mechanism) -> None:
    """Read a table of counts, release it, and compare with the truth, which is invented."""
    _load_kernels(mechanism)
    with step("read the table") as facts:
        counts = tt.GroupCounts.from_table(
            source, regions=list(levels), sizes=(1, high), root="US", root_level="nation"
        )
        facts["regions"] = counts.hierarchy.region_counts
    with step("add up the levels"):
        _ = counts.levels
    steps = ReleaseSteps()
    release = tt.release(counts, epsilon="1", mechanism=mechanism, progress=steps.follow)
    steps.end(solution=release.manifest["solution"])
    with step("write") as facts:
        release.save(out, replicates=0)  # what is measured is the release
        facts["bytes"] = {file.name: file.stat().st_size for file in sorted(out.iterdir())}
    with step("compare with the truth") as facts:
        facts["errors"] = tt.evaluate(release, counts).to_pylist()


def verify_release(out: Path) -> None:
    """What ``tallytree verify`` does."""
    with step("read the folder"):
        release = tt.load(out)
    with step("check") as facts:
        verification = release.verify()
        facts["checks"] = [check.name for check in verification.checks]
    if not verification:
        sys.exit("The release fails its checks.")


def sort_cells(name: str, cells: int) -> None:
    """Sort so many random numbers, for comparison."""
    numbers = np.random.default_rng(1).integers(0, 2**62, cells)
    with step(name):
        numbers.sort()


def _load_kernels(mechanism: Mechanism) -> None:
    h = tt.Hierarchy.from_paths(["a", "b", "c"], [("r", "s", "t"), ("r", "s", "u"), ("r", "v", "w")])
    counts = tt.GroupCounts(h, (1, 40), [[1] * 40, [2] * 40, [0] * 40])
    tt.release(counts, epsilon=1, mechanism=mechanism)


def main() -> None:
    """Make or verify a release."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["release", "verify", "sort"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--cells", type=int)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--levels")
    parser.add_argument("--high", type=int)
    parser.add_argument("--mechanism")
    options = parser.parse_args()
    if options.what == "sort":
        sort_cells(options.name, options.cells)
    elif options.what == "verify":
        verify_release(options.out)
    else:
        mechanism = tt.mechanism(options.mechanism)
        make_release(options.source, options.out, options.levels.split(","), options.high, mechanism)


if __name__ == "__main__":
    main()
