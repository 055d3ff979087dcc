"""What does a private total cost? ``python -m benchmarks.totals --data FOLDER [--out FILE]``.

The county table is released again and again with a public and with a private total, and compared with itself.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tallytree as tt
from benchmarks import records
from benchmarks.records import Data, Table
from tallytree.datasets import make_census, read_county_table
from tallytree.errors import InputError
from tallytree.privacy.neighbours import TotalKind
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.study_data import COUNTY_FILE

EPSILONS = ("0.1", "0.5", "1")
RUNS = 30
MOST_L1 = 1.04
DEVIATIONS = 2
"""How many standard errors a mean may lie above another before it is called worse."""
KINDS: tuple[TotalKind, ...] = ("public", "private")
COLUMNS = ("l1", "emd_above", "groups_off", "size_sum_off")
INTRODUCTION = """\
`cumulative-joint` on the county table that `tallytree reproduce` makes its Census data of, {runs} runs each,
with an even split. A public total counts from below and fixes the nation's number of groups; a private one
counts from above, and no number of groups is public. L1 is summed over a level's regions, all else is a mean
over them; ± is the standard error of the mean over the runs. This page is written by the run that measured
it."""
Errors = dict[str, list[float]]
"""Of one level and kind of total: each column's errors, run by run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page; returns the exit code."""
    parser = records.make_parser("totals", "TOTALS.md", __doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {COUNTY_FILE}")
    options = parser.parse_args(arguments)
    try:
        truth = make_census(read_county_table(options.data / COUNTY_FILE))
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    records.publish("totals", measure(truth, EPSILONS, RUNS), write_page, options.out)
    return 0


def measure(truth: tt.GroupCounts, epsilons: Sequence[str], runs: int) -> Data:
    """The errors of ``runs`` runs for each of ``epsilons`` and each kind of total."""
    facts = records.list_facts("make totals DATA=FOLDER")
    cases = {epsilon: _compare(truth, epsilon, runs) for epsilon in epsilons}
    tables = [
        {
            "epsilon": float(epsilon),
            "levels": LEVELS.record(
                (level, kind, case[kind][at])
                for at, level in enumerate(truth.hierarchy.levels)
                for kind in KINDS
            ),
        }
        for epsilon, case in cases.items()
    ]
    goals = [goal for epsilon, case in cases.items() for goal in _judge(epsilon, case)]
    return {"facts": facts, "runs": runs, "goals": records.GOALS.record(goals), "tables": tables}


def write_page(data: Data) -> str:
    """The page."""
    tables = [
        f"## Epsilon {table['epsilon']:g}\n\n{LEVELS.write(table['levels'])}" for table in data["tables"]
    ]
    return records.join_parts(
        "# Public and private totals",
        INTRODUCTION.format(runs=data["runs"]),
        records.write_facts(data),
        records.GOALS.write(data["goals"]),
        *tables,
    )


def _find_mean(errors: Sequence[float]) -> list[float]:
    """The mean and its standard error."""
    return [float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(len(errors)))]


SHOW = "{0[0]:,.1f} ± {0[1]:,.1f}"
LEVELS = Table[tuple[str, TotalKind, Errors]](
    ("level", lambda row: row[0], "{}"),
    ("total", lambda row: row[1], "{}"),
    ("L1", lambda row: _find_mean(row[2]["l1"]), "{0[0]:,.0f} ± {0[1]:,.0f}"),
    ("EMD from above", lambda row: _find_mean(row[2]["emd_above"]), SHOW),
    ("groups off", lambda row: _find_mean(row[2]["groups_off"]), SHOW),
    ("sum of sizes off", lambda row: _find_mean(row[2]["size_sum_off"]), SHOW),
)


def _compare(truth: tt.GroupCounts, epsilon: str, runs: int) -> dict[TotalKind, list[Errors]]:
    """For each kind of total the errors at each level, root first."""
    found: dict[TotalKind, list[Errors]] = {
        kind: [{name: [] for name in COLUMNS} for _ in truth.hierarchy.levels] for kind in KINDS
    }
    for seed in range(runs):
        print(f"epsilon {epsilon}, run {seed + 1} of {runs}", file=sys.stderr, flush=True)
        for kind in KINDS:
            run = tt.simulate(truth, epsilon=epsilon, mechanism="cumulative-joint", seed=seed, total=kind)
            table = tt.evaluate(run, truth)
            for name in COLUMNS:
                for level, error in zip(found[kind], table[name].to_numpy(), strict=True):
                    level[name].append(float(error))
    return found


def _judge(epsilon: str, case: dict[TotalKind, list[Errors]]) -> list[Goal]:
    share = np.mean(case["private"][-1]["l1"]) / np.mean(case["public"][-1]["l1"])
    (private, deviation), (public, other) = (
        _find_mean(case[kind][0]["size_sum_off"]) for kind in ("private", "public")
    )
    most = public + DEVIATIONS * float(np.hypot(deviation, other))
    return [
        Goal(
            f"Epsilon {epsilon}: private L1 at the leaves at most {MOST_L1} times the public one",
            f"{share:.3f} times",
            bool(share <= MOST_L1),
        ),
        Goal(
            f"Epsilon {epsilon}: the root's sum of sizes no worse, but for {DEVIATIONS} standard errors",
            f"{private:,.0f} against {public:,.0f}; worse from {most:,.0f} on",
            private <= most,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
