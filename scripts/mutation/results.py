"""What became of the mutants, kept as it goes: a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scripts.mutation.mutants import Mutant
from scripts.mutation.runs import Result

EXPLANATIONS = Path(__file__).with_name("explanations.toml")


def sample_mutants(mutants: Sequence[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """So many of them at random. What is chosen changes little when the sources do: each has its own lot."""
    drawn = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed}|{mutant.key}".encode()).digest())
    return drawn[:count]


def read_results(path: Path) -> dict[str, Result]:
    """By the mutant's key; the last one counts."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    results = [Result(**json.loads(line)) for line in lines]
    return {result.key: result for result in results}


def add_result(path: Path, result: Result) -> None:
    """At the end of the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def read_explanations(path: Path = EXPLANATIONS) -> dict[str, str]:
    """Why a mutant cannot be told from the original by any test worth having, by its key."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {key: str(entry["why"]) for key, entry in entries.items()}
