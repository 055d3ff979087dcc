"""How long until something happens, and how much is installed? ``python -m benchmarks.startup [--out FILE]``.

A new process imports the package, or shows the help; in turns with Python doing nothing, and with importing
NumPy, which is what the package would cost at least if it did not wait until it needs it. Sizes are those of
the package, without extras, in a new environment.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks import records
from benchmarks.records import Data, write_megabytes, write_ratio, write_seconds, write_table
from benchmarks.timing import Timing, best, time_call
from tallytree.research.reproduction.document import Goal

TURNS = 20
NOTHING, IMPORT, HELP, NUMPY = "python -c pass", "import tallytree", "tallytree --help", "import numpy"
CASES: Mapping[str, Sequence[str]] = {
    NOTHING: ("-c", "pass"),
    IMPORT: ("-c", "import tallytree"),
    HELP: ("-m", "tallytree", "--help"),
    "tallytree release --help": ("-m", "tallytree", "release", "--help"),
    NUMPY: ("-c", "import numpy"),
}
MOST_SECONDS = {IMPORT: 0.5, HELP: 1.0}
ROOT = Path(__file__).parent.parent
LEAST_SHOWN = 5_000_000
"""The size from which on a package has a row of its own."""

WHY = {
    "cryptography": "random bytes for the noise; signatures",
    "duckdb": "counts records; spills to disk",
    "ibis-framework": "the counting, written once for all engines",
    "llvmlite": "numba's compiler",
    "numba": "compiles the solvers and the noise",
    "numpy": "all arrays",
    "pyarrow": "Parquet, CSV, data frames, object stores",
    "pydantic": "typer needs it",
    "pydantic_core": "typer needs it",
    "pygments": "rich needs it",
    "rich": "tables and progress on the terminal",
    "sqlalchemy": "ledgers, in SQLite and PostgreSQL",
    "sqlglot": "Ibis writes SQL with it",
    "tallytree": "",
}

COUNT_FILES = """
import importlib.metadata, json
sizes = {}
for package in importlib.metadata.distributions():
    paths = [package.locate_file(file) for file in package.files or ()]
    sizes[package.name.lower()] = sum(path.stat().st_size for path in paths if path.exists())
print(json.dumps(sizes))
"""

INSTALLED = """\
## What an installation brings

The files of `pip install tallytree` in a new environment, compiled files of Python included, in MB. All of
these are used on the way from records to a verified release with a ledger, or needed by one that is; whatever
else is used is an extra. SQLAlchemy ({spared} MB) is the only one that could go, if the ledger's SQL were
written for each of its two databases. Importing the package loads none of them: a command imports what it
needs when it runs."""

INTRODUCTION = """\
A new process each time, {turns} of each in turns, Python's own start included; the fastest counts. The
compiled files of Python are there already, as they are after the first time. This page is written by the run
that measured it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; returns the exit code."""
    options = records.make_parser("startup", "STARTUP.md", __doc__).parse_args(arguments)
    facts = records.list_facts("make startup", ("typer", "rich"))
    data = {"facts": facts, **record(measure(TURNS), TURNS, weigh_installation())}
    records.publish("startup", data, write_page, options.out)
    return 0


def record(seconds: Mapping[str, float], turns: int, sizes: Mapping[str, int]) -> Data:
    """The data."""
    goals = [judge(what, seconds[what], most) for what, most in MOST_SECONDS.items()]
    return {"turns": turns, "goals": records.GOALS.record(goals), "s": dict(seconds), "bytes": dict(sizes)}


def write_page(data: Data) -> str:
    """The page."""
    rows = [
        (f"`{what}`", write_seconds(spent), write_ratio(spent / data["s"][NOTHING]))
        for what, spent in data["s"].items()
    ]
    return records.join_parts(
        "# Startup",
        INTRODUCTION.format(turns=data["turns"]),
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        write_table(["", "seconds", f"times `{NOTHING}`"], rows),
        INSTALLED.format(spared=write_megabytes(data["bytes"].get("sqlalchemy", 0))),
        write_sizes(data["bytes"]),
    )


def write_sizes(sizes: Mapping[str, int]) -> str:
    """The table of packages, the largest first."""
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    large = [(name, size) for name, size in ordered if size >= LEAST_SHOWN or name == "tallytree"]
    rows = [(f"`{name}`", write_megabytes(size), WHY.get(name, "")) for name, size in large]
    others = sum(sizes.values()) - sum(size for _, size in large)
    rows.append((f"{len(sizes) - len(large)} others", write_megabytes(others), ""))
    rows.append((f"{len(sizes)} in all", write_megabytes(sum(sizes.values())), ""))
    return write_table(["package", "MB", "for"], rows)


def weigh_installation() -> dict[str, int]:
    """The bytes of every package that the installation of this one brings into a new environment."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder, "bin", "python"))
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pins = ["-c", str(ROOT / "constraints.txt")]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *pins, str(ROOT)], check=True)
        found = subprocess.run([python, "-c", COUNT_FILES], check=True, capture_output=True, text=True)
    sizes: dict[str, int] = json.loads(found.stdout)
    return {name: size for name, size in sizes.items() if name not in ("pip", "setuptools")}


def measure(turns: int) -> dict[str, float]:
    """The fastest turn of each case, after one that nobody counts."""
    timings: dict[str, list[Timing]] = {what: [] for what in CASES}
    for turn in range(turns + 1):
        for what, words in CASES.items():
            timing, _ = time_call(partial(_start, words))
            if turn > 0:
                timings[what].append(timing)
    return {what: best(each).seconds for what, each in timings.items()}


def _start(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def judge(what: str, seconds: float, most: float) -> Goal:
    """Within so many seconds."""
    return Goal(f"`{what}` within {most:g} s", f"{write_seconds(seconds)} s", seconds <= most)


if __name__ == "__main__":
    sys.exit(main())
