"""Is the planner right? ``python -m benchmarks.planning --data FOLDER [--out FILE]``.

It plans on invented households, as many in each county as the county table says, and never sees the table's
sizes. What it expects is then measured on the table.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tallytree as tt
from benchmarks import records
from benchmarks.records import Data, Table
from tallytree.datasets import make_census, read_county_table
from tallytree.datasets.invented import invent_sizes
from tallytree.errors import InputError
from tallytree.planning.advice import Advice, advise
from tallytree.planning.forecasts import Forecast, LevelError, forecast, parse_goal
from tallytree.privacy.budget import Budget
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.study_data import COUNTY_FILE

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
    parser = records.make_parser("planning", "PLANNING.md", __doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {COUNTY_FILE}")
    options = parser.parse_args(arguments)
    try:
        truth = make_census(read_county_table(options.data / COUNTY_FILE))
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    records.publish("planning", measure(truth, EPSILONS, RUNS), write_page, options.out)
    return 0


def measure(truth: tt.GroupCounts, epsilons: Sequence[str], runs: int) -> Data:
    """The data of the plans for ``epsilons``, measured ``runs`` times each."""
    facts = records.list_facts("make planning DATA=FOLDER")
    households = truth.leaf.sum(axis=1)
    invented = invent_sizes(households, truth.sizes, np.random.default_rng(SEED))
    stand_in = tt.GroupCounts(truth.hierarchy, truth.sizes, invented)
    cases = [_check(truth, stand_in, epsilon, runs) for epsilon in epsilons]
    plans = [
        {
            "epsilon": float(advice.epsilon),
            "split": dict(advice.planned.budget),
            "levels": LEVELS.record(zip(advice.planned.levels, found.levels, rival.levels, strict=True)),
        }
        for advice, found, rival in cases
    ]
    return {"facts": facts, "runs": runs, "goals": records.GOALS.record(_judge(cases)), "plans": plans}


def write_page(data: Data) -> str:
    """The page."""
    return records.join_parts(
        "# Planning",
        INTRODUCTION.format(runs=data["runs"]),
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        *map(_write_plan, data["plans"]),
    )


def _write_plan(plan: Data) -> str:
    split = ", ".join(f"{name} {share} %" for name, share in plan["split"].items())
    return f"## Epsilon {plan['epsilon']:g}: {split}\n\n{LEVELS.write(plan['levels'])}"


LEVELS = Table[tuple[LevelError, LevelError, LevelError]](
    ("level", lambda row: row[1].level, "{}"),
    ("L1, expected", lambda row: row[0].l1, "{:,.0f}"),
    ("L1, measured", lambda row: [row[1].l1, row[1].l1_deviation], "{0[0]:,.0f} ± {0[1]:,.0f}"),
    ("EMD, expected", lambda row: row[0].emd, "{:,.1f}"),
    ("EMD, measured", lambda row: row[1].emd, "{:,.1f}"),
    ("L1, `cumulative-dp`, even", lambda row: row[2].l1, "{:,.0f}"),
)
"""What was expected at a level, what was measured, and what `cumulative-dp` gave."""
Case = tuple[Advice, Forecast, Forecast]
"""The plan; what it gave on the truth; and `cumulative-dp` with an even split on the truth."""


def _check(truth: tt.GroupCounts, stand_in: tt.GroupCounts, epsilon: str, runs: int) -> Case:
    print(f"epsilon {epsilon}", file=sys.stderr, flush=True)
    budget, levels = Budget(epsilon=epsilon), truth.hierarchy.levels
    goal = parse_goal("l1", levels)
    advice = advise(stand_in, budget, goal=goal, mechanism="cumulative-joint")
    return (
        advice,
        forecast(truth, budget, mechanism="cumulative-joint", split=advice.planned.budget, runs=runs),
        forecast(truth, budget, mechanism="cumulative-dp", split=dict.fromkeys(levels, 1), runs=runs),
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


if __name__ == "__main__":
    sys.exit(main())
