"""``python -m scripts.mutation``: mutate, test, and write benchmarks/MUTATION.md."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scripts.docs.imports import Graph, read_imports
from scripts.mutation.children import load_libraries
from scripts.mutation.mutants import Mutant, find_mutants
from scripts.mutation.page import Tally, write_page
from scripts.mutation.parts import PARTS, ROOT, TALLYTREE, Part, Project
from scripts.mutation.results import (
    add_result,
    read_explanations,
    read_missed,
    read_results,
    sample_mutants,
)
from scripts.mutation.runs import choose_tests, run_mutant
from scripts.mutation.survey import survey_part, survey_plainly

PAGE = ROOT / "benchmarks" / "MUTATION.md"


def main() -> None:
    """Run what has not been run yet, and write the page."""
    options = _parse()
    tallies = run_project(TALLYTREE, options)
    PAGE.write_text(write_page(tallies, read_explanations(), options.seed), encoding="utf-8")


def run_project(project: Project, options: argparse.Namespace) -> list[Tally]:
    """Part by part."""
    folder: Path = options.work.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    load_libraries()
    graph = read_imports(project.package)
    tallies = []
    for part in project.parts:
        mutants = [
            mutant
            for file in part.list_files(project.package)
            for mutant in find_mutants((project.package / file).read_text(encoding="utf-8"), file)
        ]
        sample = sample_mutants(mutants, options.sample, options.seed)
        if not options.page and part.name in (options.part or [part.name]):
            _run_part(project, part, [m for m in sample if options.only in m.file], graph, options)
        path = folder / "results.jsonl"
        results = read_results(path)
        done = [(mutant, results[mutant.key]) for mutant in sample if mutant.key in results]
        tallies.append(Tally(part.name, len(mutants), done, read_missed(path)))
    return tallies


def _run_part(
    project: Project, part: Part, mutants: Sequence[Mutant], graph: Graph, options: argparse.Namespace
) -> None:
    folder: Path = options.work.resolve()
    path = folder / "results.jsonl"
    known = read_results(path)
    same = {key for key, explanation in read_explanations().items() if explanation.same}
    todo = [
        mutant
        for mutant in mutants
        if mutant.key not in known or (options.again and known[mutant.key].alive and mutant.key not in same)
    ]
    killers: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        if mutant.key in known:
            killers[mutant.file][known[mutant.key].killer] += 1
    facts = survey_part(project, part, folder) if todo else []
    plain = survey_plainly(project, part, folder) if any(mutant.compiled for mutant in todo) else []
    for number, mutant in enumerate(todo, 1):
        result = None
        if mutant.compiled and not mutant.on_import:  # compiling takes longer than most tests do
            tests = choose_tests(mutant, plain, graph, options.budget, killers[mutant.file], plain=True)
            result = run_mutant(project, mutant, tests, graph, folder, plain=True)
        if result is not None and result.alive and options.quick:
            result = replace(result, outcome="undecided")
        elif result is None or result.alive:
            tests = choose_tests(mutant, facts, graph, options.budget, killers[mutant.file])
            result = run_mutant(project, mutant, tests, graph, folder)
        add_result(path, result)
        killers[mutant.file][result.killer] += 1
        print(
            f"{part.name} {number}/{len(todo)} {result.outcome} {result.seconds:.1f} s "
            f"{mutant.key} {mutant.file}:{mutant.line} {mutant.change}",
            flush=True,
        )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutation", description=__doc__)
    parser.add_argument("--part", action="append", choices=[part.name for part in PARTS])
    parser.add_argument("--only", default="", help="mutants of files with this in their name")
    parser.add_argument("--sample", type=int, help="mutants per part (all, if not given)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of tests per mutant")
    parser.add_argument(
        "--again", action="store_true", help="run those again that survived, if they are not the same"
    )
    parser.add_argument(
        "--quick", action="store_true", help="compile nothing: what survives so is decided by --again"
    )
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    parser.add_argument("--work", type=Path, default=ROOT / ".mutation", help="where results are kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()
