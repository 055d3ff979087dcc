"""``python -m scripts.mutation``: mutate, test, and write benchmarks/MUTATION.md."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scripts.docs.imports import Graph, read_imports
from scripts.mutation.children import load_libraries
from scripts.mutation.mutants import Mutant, find_mutants
from scripts.mutation.page import PAGE, Tally, write_page
from scripts.mutation.parts import PACKAGE, PARTS, ROOT, Part
from scripts.mutation.results import add_result, read_explanations, read_results, sample_mutants
from scripts.mutation.runs import choose_tests, run_mutant
from scripts.mutation.survey import TestFacts, survey_tests


def main() -> None:
    """Run what has not been run yet, part by part."""
    options = _parse()
    folder: Path = options.work.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    load_libraries()
    graph = read_imports(PACKAGE)
    tallies = []
    for part in PARTS:
        mutants = [
            mutant
            for file in part.list_files()
            for mutant in find_mutants((PACKAGE / file).read_text(encoding="utf-8"), file)
        ]
        sample = sample_mutants(mutants, options.sample, options.seed)
        if not options.page and part.name in (options.part or [part.name]):
            _run_part(part, [m for m in sample if options.only in m.file], graph, folder, options)
        results = read_results(folder / "results.jsonl")
        tallies.append(
            Tally(part.name, len(mutants), [(m, results[m.key]) for m in sample if m.key in results])
        )
    PAGE.write_text(write_page(tallies, read_explanations(), options.seed), encoding="utf-8")


def _run_part(
    part: Part, mutants: Sequence[Mutant], graph: Graph, folder: Path, options: argparse.Namespace
) -> None:
    path = folder / "results.jsonl"
    known = read_results(path)
    todo = [
        mutant
        for mutant in mutants
        if mutant.key not in known
        or (options.again and known[mutant.key].outcome in ("survived", "unreached"))
    ]
    if not todo:
        return
    facts = _survey(part, folder)
    for number, mutant in enumerate(todo, 1):
        tests = choose_tests(mutant, facts, graph, options.budget)
        result = run_mutant(mutant, tests, graph, folder)
        add_result(path, result)
        print(
            f"{part.name} {number}/{len(todo)} {result.outcome} {result.seconds:.1f} s "
            f"{mutant.key} {mutant.file}:{mutant.line} {mutant.change}",
            flush=True,
        )


def _survey(part: Part, folder: Path) -> list[TestFacts]:
    targets = sorted({file for each in PARTS for file in each.list_files()})
    own = [str((PACKAGE / file).relative_to(ROOT)) for file in part.list_files()]
    return survey_tests([*(f"tests/test_{name}.py" for name in part.tests), *own], targets, folder)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutation", description=__doc__)
    parser.add_argument("--part", action="append", choices=[part.name for part in PARTS])
    parser.add_argument("--only", default="", help="mutants of files with this in their name")
    parser.add_argument("--sample", type=int, help="mutants per part (all, if not given)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of tests per mutant")
    parser.add_argument("--again", action="store_true", help="run those again that survived")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    parser.add_argument("--work", type=Path, default=ROOT / ".mutation", help="where results are kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()
