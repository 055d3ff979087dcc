"""Run all benchmarks: ``python -m benchmarks [--quick] [--out FILE]``."""

import argparse
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.children import Failure, run_in_child
from benchmarks.machine import describe_machine
from benchmarks.memory import measure_memory
from benchmarks.piqp_peer import FORMS, PiqpRun, describe_tolerances, run_piqp
from benchmarks.report import Missing, Report
from benchmarks.results import draw_results, write_results
from benchmarks.scaling import measure_scaling
from benchmarks.settings import FULL, QUICK, Settings
from benchmarks.tables_peer import TablesRun, most_sizes, run_tables

R = TypeVar("R")

RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    """Measure, and write the results with a picture beside them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run; prints the results")
    parser.add_argument("--out", type=Path, help="where to write (default: RESULTS.md beside this)")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        parser.error("memory and processors are measured as Linux tells them: Linux is needed")
    report = measure(QUICK if options.quick else FULL, quick=options.quick)
    out: Path | None = options.out or (None if options.quick else RESULTS)
    if out is None:
        print(write_results(report, plot=None), end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    picture = out.with_name("scaling.svg")
    picture.write_text(draw_results(report), encoding="utf-8")
    out.write_text(write_results(report, plot=picture.name), encoding="utf-8")


def measure(settings: Settings, *, quick: bool) -> Report:
    """All parts, one after the other: nothing that is timed runs beside anything else."""
    missing: list[Missing] = []

    def attempt(what: str, job: Callable[[], R | Failure]) -> R | None:
        _tell(what)
        outcome = run_in_child(job)
        if isinstance(outcome, Failure):
            _tell(f"  {outcome.reason}")
            missing.append(Missing(what, outcome.reason))
            return None
        return outcome

    machine = describe_machine()  # first: the load is then not our own
    _tell("direct-dp, all sizes")
    scaling = measure_scaling(
        settings.scaling_sizes, settings.scaling_epsilons, repeats=settings.scaling_repeats
    )

    memory_job = partial(measure_memory, settings.largest, settings.scaling_epsilons[0])
    memory = attempt(f"memory of direct-dp, {settings.largest} sizes", memory_job)

    piqp: list[PiqpRun] = []
    for sizes in settings.piqp_sizes:
        for epsilon in settings.peer_epsilons:
            for form in FORMS:
                job = partial(run_piqp, sizes, epsilon, form, settings.rounds)
                run = attempt(f"PIQP {form}, {sizes} sizes, epsilon {epsilon}", job)
                piqp += [run] if run else []

    tables: list[TablesRun] = []
    for epsilon in settings.peer_epsilons:
        sizes = min(most_sizes(epsilon), settings.most_table_sizes or settings.largest)
        table_job = partial(run_tables, sizes, epsilon, settings.rounds)
        table_run = attempt(f"cost tables, {sizes} sizes, epsilon {epsilon}", table_job)
        tables += [table_run] if table_run else []

    return Report(
        day=date.today(),
        machine=machine,
        quick=quick,
        rounds=settings.rounds,
        repeats=settings.scaling_repeats,
        scaling=scaling,
        memory=memory,
        piqp=piqp,
        piqp_tolerances=describe_tolerances(),
        tables=tables,
        missing=missing,
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
