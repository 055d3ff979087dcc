"""The parts of the package, and which part uses which: read from the imports.

A part stands in a row, and may use parts in lower rows only. The picture leaves out an arrow that follows
from others (A uses B and B uses C, so A may use C as well), which keeps it small and loses no order.
"""

from dataclasses import dataclass
from typing import Literal

from scripts.docs.imports import Graph, read_imports

Kind = Literal["public", "sensitive", "door", "private", "user", "research"]
Arrow = tuple[str, str]


@dataclass(frozen=True)
class Part:
    """Some modules, under a name that people use for them."""

    name: str
    what: str
    kind: Kind
    modules: tuple[str, ...]
    """Their names, or those of their packages; the longest one that fits a module decides."""
    row: int
    """From the bottom: what it uses is further down."""
    column: float


PARTS = (
    Part("cli", "the commands", "user", ("cli", "__main__"), 8, 1.4),
    Part("planning", "which mechanism, which split", "research", ("planning",), 7, 0),
    Part("research", "simulate, audit, reproduce", "research", ("research", "comparison"), 6, 0),
    Part("publishing", "the whole way: release()", "user", ("publishing",), 6, 1.4),
    Part("report", "what people look at", "private", ("report",), 6, 3),
    Part(
        "releases",
        "manifest, files, evidence",
        "private",
        ("releases", "intervals", "drawing", "comparison.differences"),
        5,
        3,
    ),
    Part("mechanisms", "one file each", "private", ("mechanisms",), 4, 2.04),
    Part("ledger", "what was spent", "private", ("ledger",), 4, 3),
    Part("datasets", "public files", "sensitive", ("datasets",), 4, 0),
    Part("solvers", "from answers to counts", "private", ("solvers",), 3, 2.04),
    Part("counts", "the true counts", "sensitive", ("counts",), 3, 0.4),
    Part("privacy", "neighbours, queries, budget, the door", "public", ("privacy",), 1, 1.4),
    Part(
        "hierarchy",
        "regions, sizes, limits, errors",
        "public",
        (
            "hierarchy",
            "path_trees",
            "arrays",
            "sizes",
            "errors",
            "files",
            "limits",
            "markup",
            "progress",
            "kernels",
        ),
        0,
        1.4,
    ),
)

SHOWING = frozenset({"report.notebook"})
"""How things look in a notebook: each asks for it when it is shown, and does not need it otherwise."""

FORBIDDEN = frozenset(
    {(part.name, below) for part in PARTS if part.kind == "private" for below in ("counts", "datasets")}
)
"""What works from measurements and releases alone reaches neither true counts nor what adds noise to them."""


def find_part(module: str) -> Part:
    """The part that a module belongs to."""
    fitting = [
        (len(prefix), part)
        for part in PARTS
        for prefix in part.modules
        if module == prefix or module.startswith(f"{prefix}.")
    ]
    if not fitting:
        raise LookupError(f"The module {module} belongs to no part: name it in PARTS, {__file__}.")
    return max(fitting, key=lambda each: each[0])[1]


def find_arrows(graph: Graph | None = None) -> dict[Arrow, set[Arrow]]:
    """(user, used) parts, and the imports that say so; asking how to be shown is none of them."""
    graph = read_imports() if graph is None else graph
    arrows: dict[Arrow, set[Arrow]] = {}
    for module, imports in graph.items():
        if module == "__init__":  # it names everything, when asked for
            continue
        for target in imports & graph.keys() - {"__init__", ""} - SHOWING:
            ends = find_part(module).name, find_part(target).name
            if ends[0] != ends[1]:
                arrows.setdefault(ends, set()).add((module, target))
    return arrows


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
