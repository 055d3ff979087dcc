"""Is the planner right? ``python -m benchmarks.planning --data FOLDER [--page] [--out FILE]``.

It plans on invented households, as many in each county as the county table says, and never sees the table's
sizes. What it expects is then measured on the table. What the page for choosing epsilon says at settings that
were not simulated is compared with fresh simulations (``--page``: that alone).
"""

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

import tallytree as tt
from benchmarks import records
from benchmarks.records import Data, Table
from benchmarks.timing import time_call
from tallytree.datasets import make_census, read_county_table
from tallytree.datasets.invented import invent_sizes
from tallytree.errors import InputError
from tallytree.planning.advice import Advice, advise_within
from tallytree.planning.forecasts import Forecast, LevelError, forecast, parse_goal
from tallytree.planning.landscapes import explore
from tallytree.planning.plan_page import draw_page
from tallytree.planning.release_settings import list_settings
from tallytree.planning.response_surfaces import spread_settings
from tallytree.privacy.budget import Budget
from tallytree.progress import count_processors
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
    parser.add_argument("--page", action="store_true", help="measure the page alone; keep the rest")
    options = parser.parse_args(arguments)
    try:
        truth = make_census(read_county_table(options.data / COUNTY_FILE))
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    known = records.read_data("planning") if options.page else measure(truth, EPSILONS, RUNS)
    measured = {**known, "page": measure_page(make_stand_in(truth), SETTINGS, FRESH)}
    records.publish("planning", measured, write_page, options.out)
    return 0


def make_stand_in(truth: tt.GroupCounts) -> tt.GroupCounts:
    """Invented households, as many in each county as there are."""
    households = truth.leaf.sum(axis=1)
    invented = invent_sizes(households, truth.sizes, np.random.default_rng(SEED))
    return tt.GroupCounts(truth.hierarchy, truth.sizes, invented)


def measure(truth: tt.GroupCounts, epsilons: Sequence[str], runs: int) -> Data:
    """The data of the plans for ``epsilons``, measured ``runs`` times each."""
    facts = records.list_facts("make planning DATA=FOLDER")
    stand_in = make_stand_in(truth)
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
        _write_page_part(data["page"]) if "page" in data else "",
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
    advice = advise_within(stand_in, budget, goal=goal, mechanism="cumulative-joint")
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


# The page for choosing epsilon.

SETTINGS, FRESH = 10, 30
MOST_SECONDS, MOST_BYTES = 120, 5_000_000
PARTS = 1_000_000
METRICS = {"L1": "l1", "EMD": "emd", "relative": "relative"}
"""The names of the errors of a level."""
LEAST_ERROR = 10
"""Errors of fewer groups in a whole level are left out: they are those of hardly any noise."""
PAGE = """\
The page for choosing epsilon (`tallytree plan --page`), made of the same stand-in at epsilon 1, from
{settings} simulated settings of the planned mechanism and fewer of the others. What it says at {fresh} other
settings (epsilon from 0.1 to 10; half of the splits near the planned one, the others any) is compared with
the mean of {runs} simulations at each, for errors of {least} groups and more. That mean has a standard error
of its own, which is stated and not taken off. Time is the processor's, over all processors of this run,
since the machine was shared; on the clock it took {clock:.0f} s."""


def measure_page(stand_in: tt.GroupCounts, settings: int, runs: int) -> Data:
    """The data of the page: how long it takes to make, how large it is, and how far off its answers are."""
    facts = records.list_facts("make planning DATA=FOLDER")
    planning, advice = time_call(lambda: tt.advise(stand_in, epsilon="1", mechanism="cumulative-joint"))
    levels = stand_in.hierarchy.levels
    making, landscape = time_call(
        lambda: explore(
            stand_in,
            around=advice.epsilon,
            public_totals=None,
            planned=advice.neighbours,
            mechanism=advice.planned.mechanism,
            split=advice.planned.budget,
        )
    )
    page = draw_page(advice, landscape, source="invented", settings=list_settings(stand_in))
    split = [float(advice.planned.budget[level]) for level in levels]
    low, high = float(landscape.low), float(landscape.high)
    family = landscape.find_family("cumulative-joint", "public")
    misses: dict[str, list[Miss]] = {level: [] for level in levels}
    for parts in spread_settings(split, settings, low=low, high=high, seed=SEED + 1).tolist():
        budget = Budget(epsilon=Fraction(f"{sum(parts):.6g}"))
        shares = {level: round(PARTS * part) for level, part in zip(levels, parts, strict=True)}
        fresh = forecast(stand_in, budget, mechanism="cumulative-joint", split=shares, runs=runs)
        told = landscape.answer(family, "person", parts)
        for place, here in enumerate(told):
            found = [run[place] for run in fresh.runs]
            if fresh.levels[place].l1 >= LEAST_ERROR:
                mine = {**here.classes[0].errors, "l1": here.classes[0].errors["l1"] * found[0].regions}
                misses[levels[place]].append(
                    {name: _compare(mine[name], found, name) for name in METRICS.values()}
                )
    return {
        "facts": facts,
        "settings": landscape.settings,
        "fresh": settings,
        "runs": runs,
        "least": LEAST_ERROR,
        "s": {"plan": planning.processor_seconds, "simulate": making.processor_seconds},
        "clock": planning.seconds + making.seconds,
        "processors": count_processors(),
        "bytes": len(page.encode()),
        "off": [
            {
                "level": level,
                "settings": len(found),
                **{name: _sum_up([miss[name] for miss in found]) for name in METRICS.values()},
            }
            for level, found in misses.items()
            if found
        ],
    }


Miss = dict[str, tuple[float, float]]
"""For each error: how far off the page is, and the standard error of the mean that it is compared with."""


def _compare(told: float, found: Sequence[LevelError], name: str) -> tuple[float, float]:
    """Both as shares of the mean."""
    errors = np.array([getattr(each, name) for each in found])
    mean = errors.mean()
    return abs(told / mean - 1), errors.std(ddof=1) / len(errors) ** 0.5 / mean


def _sum_up(misses: Sequence[tuple[float, float]]) -> Data:
    """How far off, in the median and at most; how often within the limit; and the median standard error."""
    off, doubt = np.array(misses).T
    return {
        "median": float(np.median(off)),
        "most": float(off.max()),
        "within": int((off <= WITHIN).sum()),
        "doubt": float(np.median(doubt)),
    }


OFF = Table[Data](
    ("level", lambda row: row["level"], "{}"),
    ("settings", lambda row: row["settings"], "{}"),
    *(
        (
            title,
            lambda row, name=name: row[name],
            "{0[median]:.1%}, at most {0[most]:.1%} (± {0[doubt]:.1%})",
        )
        for title, name in METRICS.items()
    ),
    *(
        (f"{title} within {WITHIN:.0%}", lambda row, name=name: row[name]["within"], "{}")
        for title, name in METRICS.items()
    ),
)


def _write_page_part(data: Data) -> str:
    seconds = (data["s"]["plan"] + data["s"]["simulate"]) / data["processors"]
    goals = [
        Goal(
            f"Planned and simulated in at most {MOST_SECONDS} s, if it has all processors",
            f"{data['s']['plan']:.0f} s + {data['s']['simulate']:.0f} s of {data['processors']} processors",
            seconds <= MOST_SECONDS,
        ),
        Goal("The page below 5 MB", f"{data['bytes'] / 1e6:.2f} MB", data["bytes"] < MOST_BYTES),
        *(
            Goal(
                f"{title} at every level within {WITHIN:.0%} of a fresh simulation",
                f"{off:.1%} at most",
                off <= WITHIN,
            )
            for title, name in METRICS.items()
            for off in [max(row[name]["most"] for row in data["off"])]
        ),
    ]
    return records.join_parts(
        "## The page for choosing epsilon",
        PAGE.format_map(data),
        records.write_facts(data),
        records.GOALS.write(records.GOALS.record(goals)),
        "How far off, median and at most (and the standard error of the fresh mean):",
        OFF.write(OFF.record(data["off"])),
    ).rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
