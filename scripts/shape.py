"""How the project is built, in numbers, side by side: ``python -m scripts.shape [CHECKOUT ...]``."""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from scripts.docs.imports import read_imports

HERE = Path(__file__).parent.parent
MOST_PARAMETERS = 8
ROUNDS = 5
IMPORTS = "import duckdb, ibis, numba, pyarrow"

# Which modules of the package run a function of theirs in one release, and which call which.
FOLLOW = """
import json, sys, threading
seen, pairs = set(), set()
def look(frame, event, _):
    if event == "call":
        name, caller = frame.f_globals.get("__name__", ""), frame.f_back
        if name.startswith("tallytree") and frame.f_code.co_name != "<module>":
            seen.add(name)
            before = caller.f_globals.get("__name__", "") if caller else ""
            if before.startswith("tallytree") and before != name:
                pairs.add((before, name))
threading.setprofile(look)
sys.setprofile(look)
from tallytree.cli.main import main
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(json.dumps([len(seen), len(pairs)]), file=sys.stderr)
"""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m scripts.shape", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="checkouts to compare (default: this one)")
    parser.add_argument("--no-times", action="store_true", help="leave out what takes time")
    options = parser.parse_args()
    folders = options.folders or [HERE]
    columns = [dict(describe(folder.resolve())) for folder in folders]
    if not options.no_times:
        for column, found in zip(columns, measure([each.resolve() for each in folders]), strict=True):
            column |= found
    print("|  |", *(f"{folder.resolve().name} |" for folder in folders))
    print("| --- |", *("---: |" for _ in folders))
    for what in columns[0]:
        print(f"| {what} |", *(f"{column[what]} |" for column in columns))


def describe(folder: Path) -> Iterator[tuple[str, str]]:
    """What can be read from the files."""
    package = folder / "src" / "tallytree"
    modules = sorted(package.rglob("*.py"))
    yield "modules", f"{len(modules)}"
    yield "modules at the root", f"{len(list(package.glob('*.py')))}"
    yield "median lines of a module", f"{median(map(count_lines, modules)):g}"
    for part in ("src", "tests", "benchmarks", "scripts"):
        yield f"lines of {part}", f"{sum(map(count_lines, (folder / part).rglob('*.py'))):,}"
    sizes = find_cycles(package)
    yield "circles of imports, lazy ones included", f"{len(sizes)}"
    yield "modules in the largest circle", f"{max(sizes, default=0)}"
    yield f"functions with more than {MOST_PARAMETERS} parameters", f"{len(find_wide(modules))}"


def count_lines(path: Path) -> int:
    """Lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def find_cycles(package: Path) -> list[int]:
    """How many modules each circle of imports has."""
    graph = read_imports(package)
    numbers = {name: number for number, name in enumerate(graph)}
    edges = [
        (numbers[user], numbers[used])
        for user, targets in graph.items()
        if user
        for used in targets & graph.keys() - {""}
    ]
    users, targets = np.array(edges).T
    matrix = coo_array((np.ones(len(edges)), (users, targets)), shape=(len(graph), len(graph)))
    _, labels = connected_components(matrix, connection="strong")
    return sorted(int(size) for size in np.bincount(labels) if size > 1)


def find_wide(modules: list[Path]) -> list[str]:
    """Functions with many parameters, but for those of the command line, whose parameters are its options."""
    return [
        f"{path.name}: {node.name}"
        for path in modules
        if path.parent.name != "cli"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and count_parameters(node.args) > MOST_PARAMETERS
    ]


def count_parameters(given: ast.arguments) -> int:
    """Parameters of a function, without the object that it belongs to."""
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - sum(name in ("self", "cls") for name in names)


def measure(folders: list[Path]) -> list[dict[str, str]]:
    """What one small release passes through, and how long it takes beside its imports, in turns."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "people.csv")
        write_people(source)
        words = [str(source), "--group", "household", "--region", "state", "--region", "county"]
        words += ["--sizes", "1:20", "--epsilon", "1", "--root", "US"]
        ways = []
        for number, folder in enumerate(folders):
            done = run(folder, ["-c", FOLLOW, "release", *words, "--out", f"{scratch}/way{number}"])
            ways.append(json.loads(done.splitlines()[-1]))
        times: dict[Path | None, float] = {}
        for turn in range(ROUNDS):
            for place, folder in [(None, folders[0]), *((folder, folder) for folder in folders)]:
                out = f"{scratch}/{turn}-{len(times)}-{time.monotonic_ns()}"
                code = (
                    ["-c", IMPORTS] if place is None else ["-m", "tallytree", "release", *words, "--out", out]
                )
                start = time.perf_counter()
                run(folder, code)
                times[place] = min(times.get(place, 1e9), time.perf_counter() - start)
    return [
        {
            "modules on the way of a release": f"{way[0]}",
            "from module to module on it": f"{way[1]}",
            "release of 2,000 households": f"{times[folder]:.2f} s",
            f"`{IMPORTS}`": f"{times[None]:.2f} s",
        }
        for folder, way in zip(folders, ways, strict=True)
    ]


def run(folder: Path, words: list[str]) -> str:
    """Run Python with a checkout's package; returns what it wrote to stderr."""
    path = os.pathsep.join([str(folder / "src")])
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stderr


def write_people(path: Path) -> None:
    """2,000 households of one to eight people in forty counties."""
    sizes = np.random.default_rng(1).integers(1, 9, 2000)
    rows = [f"{home},S{home % 5},C{home % 40}" for home, size in enumerate(sizes) for _ in range(size)]
    path.write_text("household,state,county\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
