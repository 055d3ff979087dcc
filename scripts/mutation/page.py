"""The page of results, benchmarks/MUTATION.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.mutation.mutants import Mutant
from scripts.mutation.runs import Result

INTRODUCTION = """# Mutation testing

What the tests notice when the code is broken on purpose, one small change at a time: a comparison, an
operator, a constant, a condition left out, a statement removed, arguments swapped, a slice one shorter.
Written by `make mutation` (`scripts/mutation/`). A mutant is *killed* when a test fails or does not end; it
is *the same* when it cannot be told from the original by what the code promises, and the reason is given
below. The score leaves those out. Mutants are drawn at random (seed {seed}) where not all of them were run.

| part | mutants | run | killed | the same | survived | score |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class Tally:
    """The mutants of a part that were run, of how many."""

    part: str
    mutants: int
    done: Sequence[tuple[Mutant, Result]]


def write_page(tallies: Sequence[Tally], explanations: Mapping[str, str], seed: int) -> str:
    """The scores, the survivors, and why the others are the same."""
    rows = [_write_row(tally, explanations) for tally in tallies]
    left = [(m, r) for tally in tallies for m, r in tally.done if is_alive(r)]
    survivors = [_write_mutant(m) for m, r in left if m.key not in explanations]
    same = [f"{_write_mutant(m)}: {explanations[m.key]}" for m, r in left if m.key in explanations]
    return "\n".join(
        [
            INTRODUCTION.format(seed=seed) + "\n".join(rows),
            "",
            "## Survivors",
            "",
            *(sorted(survivors) or ["None."]),
            "",
            "## The same",
            "",
            *(sorted(same) or ["None."]),
            "",
        ]
    )


def is_alive(result: Result) -> bool:
    """No test noticed."""
    return result.outcome in ("survived", "unreached")


def _write_row(tally: Tally, explanations: Mapping[str, str]) -> str:
    alive = [mutant for mutant, result in tally.done if is_alive(result)]
    same = sum(mutant.key in explanations for mutant in alive)
    killed = len(tally.done) - len(alive)
    counted = killed + len(alive) - same
    score = f"{100 * killed / counted:.1f} %" if counted else "-"
    numbers = [tally.mutants, len(tally.done), killed, same, len(alive) - same]
    return f"| {tally.part} | {' | '.join(f'{number:,}' for number in numbers)} | {score} |"


def _write_mutant(mutant: Mutant) -> str:
    return f"- `{mutant.file}:{mutant.line}` (`{mutant.key}`) `{mutant.before}` became `{mutant.after}`"
