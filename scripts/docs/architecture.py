"""The parts of the package, as the contracts in pyproject.toml order them, and which part uses which.

The picture leaves out an arrow that follows from others (A uses B and B uses C, so A may use C as well),
which keeps it small and loses no order.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scripts.docs.imports import Graph, read_imports

Kind = Literal["public", "sensitive", "private", "user", "research"]
Arrow = tuple[str, str]

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
NOUNS = "hierarchy"
"""One box for the modules at the root, which all others stand on."""

FACTS: dict[str, tuple[str, Kind, float]] = {
    "cli": ("the commands", "user", 1.4),
    "planning": ("which mechanism, which split", "research", 0),
    "research": ("simulate, audit, reproduce", "research", 0),
    "publishing": ("the whole way: release()", "user", 1.4),
    "report": ("what people look at", "private", 3),
    "comparison": ("two releases side by side", "research", 1),
    "exporting": ("other formats: CSV, SDMX, ...", "private", 4),
    "intervals": ("how far off, from replicates", "private", 2),
    "datasets": ("public and invented data", "sensitive", 0),
    "releases": ("manifest, files, evidence", "private", 2.4),
    "ledger": ("what was spent", "private", 3),
    "mechanisms": ("one file each", "private", 2.04),
    "solvers": ("from noisy answers to counts", "private", 2.04),
    "counts": ("the true counts, from people", "sensitive", 0.4),
    "privacy": ("queries, budget, noise, the one door", "public", 1.4),
    "drawing": ("histograms and charts", "private", 3),
    NOUNS: ("regions, sizes, arrays, errors", "public", 1.4),
}
"""What each part is, in a few words, who may see it, and in which column it stands."""


@dataclass(frozen=True)
class Part:
    """A folder of the package, or the modules at its root."""

    name: str
    row: int
    """From the bottom: what it uses is further down."""

    @property
    def what(self) -> str:
        """In a few words."""
        return FACTS[self.name][0]

    @property
    def kind(self) -> Kind:
        """What it sees."""
        return FACTS[self.name][1]

    @property
    def column(self) -> float:
        """From the left."""
        return FACTS[self.name][2]


def read_parts() -> tuple[Part, ...]:
    """The parts in the order of the contract, those at the top first."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["id"] == "parts")
    rows = [[name.strip() for name in layer.split("|")] for layer in layers]
    folders = [[name for name in row if name in FACTS and name != NOUNS] for row in rows]
    kept = [row for row in folders if row]
    return (
        *(Part(name, len(kept) - place) for place, row in enumerate(kept) for name in row),
        Part(NOUNS, 0),
    )


PARTS = read_parts()


def find_arrows(graph: Graph | None = None) -> dict[Arrow, set[Arrow]]:
    """(user, used) parts, and the imports that say so."""
    graph = read_imports() if graph is None else graph
    arrows: dict[Arrow, set[Arrow]] = {}
    for module, imports in graph.items():
        if module in ("", "__init__", "__main__"):
            continue
        for target in imports & graph.keys() - {"__init__", ""}:
            ends = find_part(module), find_part(target)
            if ends[0] != ends[1]:
                arrows.setdefault(ends, set()).add((module, target))
    return arrows


def find_part(module: str) -> str:
    """The part that a module belongs to."""
    folder = module.partition(".")[0]
    return folder if folder in FACTS else NOUNS


def leave_out_what_follows(arrows: set[Arrow]) -> set[Arrow]:
    """The fewest arrows with the same paths (the transitive reduction of what has no cycle)."""
    return {(user, used) for user, used in arrows if used not in _reach(user, arrows - {(user, used)})}


def _reach(start: str, arrows: set[Arrow]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        here = todo.pop()
        new = {used for user, used in arrows if user == here} - seen
        seen |= new
        todo += new
    return seen
