"""The page of results, benchmarks/MUTATION.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import sqrt

from scripts.mutation.mutants import Mutant
from scripts.mutation.results import Explanation
from scripts.mutation.runs import Result

INTRODUCTION = """# Mutation testing

What the tests notice when the code is broken on purpose, one small change at a time: a comparison, an
operator, a constant, a condition left out, a statement removed, arguments swapped, a slice one shorter.
Written by `make mutation` (`scripts/mutation/`). A mutant is *killed* when a test fails or does not end; it
is *the same* when it cannot be told from the original by what the code promises, and the reason is given
below. The score leaves those out. Mutants are drawn at random (seed {seed}) where not all of them were run.

Tests are written because of survivors, so the score of those that were run flatters the others. *At first
sight* is the share that was killed when first run, by the tests there were by then, with its 95 % interval
(Wilson's): what the mutants that were not run would score, at least.

| part | mutants | run | killed | the same | survived | score | at first sight |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class Tally:
    """The mutants of a part that were run, of how many."""

    part: str
    mutants: int
    done: Sequence[tuple[Mutant, Result]]
    missed: AbstractSet[str] = frozenset()
    """The keys of those that no test noticed when they were first run."""


def write_page(tallies: Sequence[Tally], explanations: Mapping[str, Explanation], seed: int) -> str:
    """The scores, the survivors, and why the others are the same."""
    rows = [_write_row(tally, explanations) for tally in tallies]
    left = [mutant for tally in tallies for mutant, result in tally.done if result.alive]
    left.sort(key=lambda mutant: (mutant.file, mutant.line, mutant.after))
    survivors = [_write_mutant(m, explanations) for m in left if not _is_same(m, explanations)]
    same = [_write_mutant(m, explanations) for m in left if _is_same(m, explanations)]
    return "\n".join(
        [
            INTRODUCTION.format(seed=seed) + "\n".join(rows),
            "",
            "## Survivors",
            "",
            *(survivors or ["None."]),
            "",
            "## The same",
            "",
            *(same or ["None."]),
            "",
        ]
    )


def find_interval(killed: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share."""
    z = 1.959964
    share, spread = killed / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def _write_row(tally: Tally, explanations: Mapping[str, Explanation]) -> str:
    alive = [mutant for mutant, result in tally.done if result.alive]
    same = sum(_is_same(mutant, explanations) for mutant in alive)
    killed = len(tally.done) - len(alive)
    counted = killed + len(alive) - same
    score = f"{100 * killed / counted:.1f} %" if counted else "-"
    numbers = [tally.mutants, len(tally.done), killed, same, len(alive) - same]
    shown = " | ".join(f"{number:,}" for number in numbers)
    return f"| {tally.part} | {shown} | {score} | {_write_first_sight(tally, explanations)} |"


def _write_first_sight(tally: Tally, explanations: Mapping[str, Explanation]) -> str:
    if len(tally.done) == tally.mutants:
        return "all were run"
    counted = [mutant.key for mutant, _ in tally.done if not _is_same(mutant, explanations)]
    if not counted:
        return "-"
    killed = sum(key not in tally.missed for key in counted)
    low, high = find_interval(killed, len(counted))
    return f"{100 * killed / len(counted):.1f} % ({100 * low:.0f} to {100 * high:.0f} %)"


def _is_same(mutant: Mutant, explanations: Mapping[str, Explanation]) -> bool:
    return mutant.key in explanations and explanations[mutant.key].same


def _write_mutant(mutant: Mutant, explanations: Mapping[str, Explanation]) -> str:
    change = f"- `{mutant.file}:{mutant.line}` (`{mutant.key}`) `{mutant.before}` became `{mutant.after}`"
    return f"{change}: {explanations[mutant.key].why}" if mutant.key in explanations else change
