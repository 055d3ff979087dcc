"""What became of the mutants, kept as it goes: a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.mutation.mutants import Mutant
from scripts.mutation.runs import Result

EXPLANATIONS = Path(__file__).with_name("explanations.toml")


@dataclass(frozen=True)
class Explanation:
    """Why no test notices a mutant."""

    why: str
    same: bool
    """Whether none could, by what the code promises; else it is a survivor with an excuse."""


def sample_mutants(mutants: Sequence[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """So many of them at random. What is chosen changes little when the sources do: each has its own lot."""
    drawn = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed}|{mutant.key}".encode()).digest())
    return drawn[:count]


def read_results(path: Path) -> dict[str, Result]:
    """By the mutant's key; the last one counts."""
    return {result.key: result for result in _read_all(path)}


def add_result(path: Path, result: Result) -> None:
    """At the end of the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def read_missed(path: Path) -> set[str]:
    """The keys of the mutants that no test noticed when they were first run, and decided."""
    results = sorted(_read_all(path), key=lambda result: result.outcome == "undecided")
    first = {result.key: result for result in reversed(results)}
    return {key for key, result in first.items() if result.alive}


def _read_all(path: Path) -> list[Result]:
    if not path.exists():
        return []
    return [Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def read_explanations(path: Path = EXPLANATIONS) -> dict[str, Explanation]:
    """By the key of the mutant."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {key: Explanation(entry["why"], entry.get("same", True)) for key, entry in entries.items()}
