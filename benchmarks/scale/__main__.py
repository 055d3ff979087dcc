"""``python -m benchmarks.scale [--scratch DIR] [--data DIR] [--out FILE]``: measure, and write the page."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.scale import blocks, tracts
from benchmarks.scale.page import Case, Step, write_page
from tallytree.research.reproduction.measuring import describe_machine

PAGE = Path(__file__).parent.parent / "SCALE.md"
TRACT_SIZES = (20, 100, 1000)
TRACT_MECHANISMS = ("cumulative-joint", "cumulative-dp", "direct-dp")
BLOCK_SIZES = 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--scratch", type=Path, help="where to put some 5 GB (default: temporary files)")
    parser.add_argument("--data", type=Path, help="the folder of the table of census tracts, if it is there")
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write (default: SCALE.md)")
    parser.add_argument("--largest", type=int, default=max(TRACT_SIZES), help="of the sizes, for tracts")
    options = parser.parse_args(arguments)
    machine = describe_machine()
    cases = []
    with tempfile.TemporaryDirectory(prefix="scale-", dir=options.scratch) as folder:
        for case in measure_all(options.data, options.largest, Path(folder)):
            cases.append(case)
            options.out.write_text(write_page(cases, machine), encoding="utf-8")


def measure_all(data: Path | None, largest: int, scratch: Path) -> Iterator[Case]:
    """Blocks first: they take the longest."""
    yield measure_blocks(BLOCK_SIZES, scratch)
    if data is not None:
        for high in TRACT_SIZES:
            if high <= largest:
                yield from measure_tracts(data / tracts.FILE, high, scratch)


def measure_tracts(table: Path, high: int, scratch: Path) -> Iterator[Case]:
    """Each mechanism on the tracts."""
    source = scratch / "tracts.parquet"
    tracts.write_tracts(table, source, high=high)
    for mechanism in TRACT_MECHANISMS:
        yield measure(f"tracts, sizes 1 to {high}", source, tracts.LEVELS, high, mechanism, scratch)


def measure_blocks(high: int, scratch: Path) -> Case:
    """The default mechanism on the blocks."""
    source = scratch / "blocks.parquet"
    start = time.perf_counter()
    blocks.write_blocks(source, high=high)
    print(f"blocks written: {time.perf_counter() - start:.0f} s", flush=True)
    return measure(f"blocks, sizes 1 to {high}", source, blocks.LEVELS, high, "cumulative-joint", scratch)


def measure(name: str, source: Path, levels: Sequence[str], high: int, mechanism: str, scratch: Path) -> Case:
    """Release in one process, verify in another."""
    print(f"{name}, {mechanism}", flush=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = f"{folder}/release"
        words = ["--source", str(source), "--levels", ",".join(levels), "--high", str(high)]
        made = _run("release", out, *words, "--mechanism", mechanism)
        verified = _run("verify", out)
    return Case(name, high, mechanism, made, verified, os.getloadavg()[1])


def _run(*words: str) -> list[Step]:
    command = [sys.executable, "-m", "benchmarks.scale.steps", *words]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            facts = json.loads(line)
            name, seconds, worked, peak = (facts.pop(key) for key in ("step", "seconds", "worked", "peak"))
            found.append(Step(name, seconds, worked, peak, facts))
            print(f"  {name}: {seconds:.1f} s, {peak / 1e9:.1f} GB", flush=True)
    if process.returncode:
        raise RuntimeError(f"The command ended with exit code {process.returncode}.")
    return found


if __name__ == "__main__":
    main()
