"""Is the planner right? ``python -m benchmarks.planning --data FOLDER [--out FILE]``.

It plans on invented households, as many in each county as the county table says, and never sees the table's
sizes. What it expects is then measured on the table.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np

import tallytree as tt
from benchmarks.markdown import write_goals, write_table
from tallytree.datasets import make_census, read_county_table
from tallytree.datasets.invented import invent_sizes
from tallytree.errors import InputError
from tallytree.planning.advice import Advice, advise
from tallytree.planning.forecasts import Forecast, LevelError, forecast, parse_goal
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.measuring import describe_machine
from tallytree.research.reproduction.study_data import COUNTY_FILE

PAGE = Path(__file__).parent / "PLANNING.md"
EPSILONS = ("0.1", "0.5", "1")
RUNS = 30
WITHIN = 0.15
SEED = 2010
INTRODUCTION = """\
Planned on invented households, as many in each county as there are, for the least total L1 error; measured on
the county table that `tallytree reproduce` makes its Census data of, {runs} runs each. This page is written
by the run that measured it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan, measure, and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {COUNTY_FILE}")
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write (default: PLANNING.md)")
    options = parser.parse_args(arguments)
    try:
        truth = make_census(read_county_table(options.data / COUNTY_FILE))
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    options.out.write_text(write_page(truth, EPSILONS, RUNS), encoding="utf-8")
    return 0


def write_page(truth: tt.GroupCounts, epsilons: Sequence[str], runs: int) -> str:
    """The page about the plans for ``epsilons``, measured ``runs`` times each."""
    machine = describe_machine()
    households = truth.leaf.sum(axis=1)
    invented = invent_sizes(households, truth.sizes, np.random.default_rng(SEED))
    stand_in = tt.GroupCounts(truth.hierarchy, truth.sizes, invented)
    cases = [_check(truth, stand_in, epsilon, runs) for epsilon in epsilons]
    facts = {"Date": str(date.today()), **machine, "Command": "`make planning DATA=FOLDER`"}
    return "\n\n".join(
        [
            "# Planning",
            INTRODUCTION.format(runs=runs),
            write_table(["", ""], facts.items()),
            write_goals(_judge(cases)),
            *(_write_case(*case) for case in cases),
            "",
        ]
    )


Case = tuple[Advice, Forecast, Forecast]
"""The plan; what it gave on the truth; and `cumulative-dp` with an even split on the truth."""


def _check(truth: tt.GroupCounts, stand_in: tt.GroupCounts, epsilon: str, runs: int) -> Case:
    print(f"epsilon {epsilon}", file=sys.stderr, flush=True)
    levels = truth.hierarchy.levels
    goal = parse_goal("l1", levels)
    advice = advise(stand_in, epsilon=epsilon, goal=goal, mechanism="cumulative-joint")
    even = dict.fromkeys(levels, 1)
    return (
        advice,
        forecast(
            truth, epsilon=epsilon, mechanism="cumulative-joint", budget=advice.planned.budget, runs=runs
        ),
        forecast(truth, epsilon=epsilon, mechanism="cumulative-dp", budget=even, runs=runs),
    )


def _judge(cases: Sequence[Case]) -> list[Goal]:
    off = max(
        abs(_error(found, name) / _error(expected, name) - 1.0)
        for advice, measured, _ in cases
        for expected, found in zip(advice.planned.levels, measured.levels, strict=True)
        for name in ("l1", "emd")
    )
    share = max(measured.total_l1 / rival.total_l1 for _, measured, rival in cases)
    return [
        Goal(
            f"L1 and EMD at every level within {WITHIN:.0%} of what was expected",
            f"{off:.1%} at most",
            off <= WITHIN,
        ),
        Goal("Total L1 at most half that of `cumulative-dp`", f"{share:.3f} times at most", share <= 0.5),
    ]


def _error(level: LevelError, name: str) -> float:
    return level.l1 if name == "l1" else level.emd


def _write_case(advice: Advice, measured: Forecast, rival: Forecast) -> str:
    split = ", ".join(f"{name} {share} %" for name, share in advice.planned.budget.items())
    rows = [
        [
            here.level,
            f"{expected.l1:,.0f}",
            f"{here.l1:,.0f} ± {here.l1_deviation:,.0f}",
            f"{expected.emd:,.1f}",
            f"{here.emd:,.1f}",
            f"{other.l1:,.0f}",
        ]
        for expected, here, other in zip(advice.planned.levels, measured.levels, rival.levels, strict=True)
    ]
    header = [
        "level",
        "L1, expected",
        "L1, measured",
        "EMD, expected",
        "EMD, measured",
        "L1, `cumulative-dp`, even",
    ]
    return f"## Epsilon {float(advice.epsilon):g}: {split}\n\n{write_table(header, rows)}"


if __name__ == "__main__":
    sys.exit(main())
