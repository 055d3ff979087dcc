"""Rank the mechanisms by accuracy: ``python -m benchmarks.accuracy --data FOLDER [--dataset NAME]``."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import tallytree as tt
from benchmarks.accuracy.contenders import list_contenders
from benchmarks.accuracy.datasets import DATASETS, Dataset
from benchmarks.accuracy.dots import draw_dots
from benchmarks.accuracy.measuring import measure_all
from benchmarks.accuracy.page import write_page
from benchmarks.accuracy.report import Report, Words
from benchmarks.accuracy.results import summarise
from benchmarks.accuracy.settings import FULL, QUICK, Settings
from benchmarks.machine import describe_machine
from tallytree.errors import InputError, MechanismError, describe

PAGES = Path(__file__).parent.parent
WRONG, INTERRUPTED = 2, 130
TELL_SECONDS = 5.0
"""How often it is told how far the work is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write each dataset's page with a picture beside it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    files = " and ".join(dataset.file for dataset in DATASETS.values())
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {files}")
    parser.add_argument("--dataset", choices=DATASETS, help="one of them (default: one after the other)")
    parser.add_argument("--seeds", type=int, help=f"runs at each epsilon (default: {FULL.seeds})")
    parser.add_argument("--quick", action="store_true", help="a smoke run; prints the page")
    parser.add_argument("--out", type=Path, help="where to write the page of the one dataset")
    options = parser.parse_args(arguments)
    settings = QUICK if options.quick else FULL
    if options.seeds is not None:
        if options.seeds < 1:
            parser.error("--seeds must be at least 1")
        settings = replace(settings, seeds=options.seeds)
    if options.out and not options.dataset:
        parser.error("--out names one page: say with --dataset which")
    chosen = [DATASETS[options.dataset]] if options.dataset else list(DATASETS.values())
    written = "nothing"
    try:
        # All before the first is measured: a file that is missing is not to be found out hours later.
        loaded = [(one, *one.load(options.data / one.file, settings.largest)) for one in chosen]
        for dataset, counts, words in loaded:
            out: Path | None = options.out or (None if options.quick else PAGES / dataset.page)
            if out:
                out.parent.mkdir(parents=True, exist_ok=True)
            report = measure(dataset, counts, words, settings, quick=options.quick)
            write(report, out, dataset.picture)
            written = f"nothing after the page on {dataset.name}"
    except InputError as error:
        return _fail(str(error), WRONG)
    except OSError as error:
        return _fail(f"The page cannot be written: {describe(error)}.", WRONG)
    except KeyboardInterrupt:
        return _fail(f"Interrupted; {written} was written.", INTERRUPTED)
    return 0


def measure(
    dataset: Dataset, counts: tt.GroupCounts, words: Words, settings: Settings, *, quick: bool
) -> Report:
    """Run everything, and sum it up."""
    machine = describe_machine()  # first: the load is then not our own
    measured = measure_all(list_contenders(), counts, settings, _Teller())
    results = summarise(measured, dataset.published)
    if not results:
        raise MechanismError(f"No mechanism could be measured: {measured[0].reason}")
    return Report(
        day=date.today(),
        machine=machine,
        command=_describe_command(dataset, settings, quick=quick),
        quick=quick,
        settings=settings,
        words=words,
        published=dataset.published,
        results=results,
        missing=[one for one in measured if one.reason],
    )


def write(report: Report, out: Path | None, picture: str) -> None:
    """The picture, then the page; on standard output, without picture, if there is no place for them."""
    if out is None:
        print(write_page(report, picture=None), end="")
        return
    page = write_page(report, picture=picture)
    _write_whole(out.with_name(picture), draw_dots(report.results, report.levels, report.settings.epsilons))
    _write_whole(out, page)


class _Teller:
    """Tells on standard error, but not of every run."""

    def __init__(self) -> None:
        self._due = 0.0

    def __call__(self, line: str) -> None:
        if time.monotonic() >= self._due:
            print(line, file=sys.stderr, flush=True)
            self._due = time.monotonic() + TELL_SECONDS


def _describe_command(dataset: Dataset, settings: Settings, *, quick: bool) -> str:
    if settings == FULL:
        return f"make accuracy DATA=FOLDER DATASET={dataset.name}"
    smoke = " --quick" if quick else ""
    options = f"--data FOLDER --dataset {dataset.name} --seeds {settings.seeds}{smoke}"
    return f"python -m benchmarks.accuracy {options}"


def _write_whole(path: Path, text: str) -> None:
    """Either all of it or nothing: an interruption must not leave half a file."""
    stage = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        stage.write_text(text, encoding="utf-8")
        stage.replace(path)
    finally:
        stage.unlink(missing_ok=True)


def _fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
