"""What was measured, kept as Parquet: an interrupted run goes on where it stopped.

There is a file for each dataset. It is written anew, whole, with every job that is finished: a few hundred
short rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tallytree.errors import FolderError, show
from tallytree.folders import write_whole
from tallytree.reproduction.children import Failure
from tallytree.reproduction.outcomes import Outcome
from tallytree.reproduction.runs import Job, Run
from tallytree.reproduction.variants import list_contenders

FIELDS: list[pa.Field[Any]] = [
    pa.field("mechanism", pa.string(), nullable=False),
    pa.field("epsilon", pa.string(), nullable=False),
    pa.field("instance", pa.int64(), nullable=False),
    pa.field("sizes", pa.int64(), nullable=False),
    pa.field("failure", pa.string()),
    pa.field("timed_out", pa.bool_()),
    pa.field("real_epsilon", pa.string()),
    pa.field("leaf_scale", pa.string()),
    pa.field("l1", pa.list_(pa.int64())),
    pa.field("small_l1", pa.list_(pa.int64())),
    pa.field("emd", pa.list_(pa.float64())),
    pa.field("violations", pa.int64()),
    pa.field("seconds", pa.float64()),
    pa.field("limit", pa.float64(), nullable=False),
    pa.field("day", pa.string(), nullable=False),
    pa.field("load", pa.float64(), nullable=False),
]
SCHEMA = pa.schema(FIELDS)


class Cache:
    """The outcomes of one dataset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = {outcome.job: outcome for outcome in _read(path)} if path.exists() else {}

    def list_outcomes(self) -> list[Outcome]:
        """All that are known."""
        return list(self._known.values())

    def find(self, job: Job, limit: float) -> Outcome | None:
        """What became of a job, if that is known and would be no different with this limit."""
        outcome = self._known.get(job)
        return outcome if outcome and outcome.is_settled(limit) else None

    def find_obstacle(self, job: Job, limit: float) -> Outcome | None:
        """An earlier failure that rules the job out."""
        return next(
            (known for known in self._known.values() if known.rules_out(job) and known.is_settled(limit)),
            None,
        )

    def add(self, outcome: Outcome) -> None:
        """Keep it, on the disk too unless it is for now only."""
        self._known[outcome.job] = outcome
        kept = [_write_row(each) for each in self._known.values() if not each.is_passing]
        table = pa.Table.from_pylist(kept, SCHEMA)
        sink = pa.BufferOutputStream()
        pa_parquet.write_table(table, sink)
        write_whole(self._path, sink.getvalue().to_pybytes())


def _read(path: Path) -> list[Outcome]:
    damaged = FolderError(
        f"The results in {show(path, most=150)} are damaged: remove the file to measure them anew."
    )
    try:
        table = pa_parquet.read_table(path)
        table.validate(full=True)
        if not table.schema.equals(SCHEMA):
            raise damaged
        outcomes = [_read_row(row) for row in table.to_pylist()]
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError, ZeroDivisionError):
        raise damaged from None
    if len({outcome.job for outcome in outcomes}) < len(outcomes):
        raise damaged
    return outcomes


def _write_row(outcome: Outcome) -> dict[str, Any]:
    job, result = outcome.job, outcome.result
    row: dict[str, Any] = {
        "mechanism": job.variant.label,
        "epsilon": job.epsilon,
        "instance": job.seed,
        "sizes": job.sizes,
        "limit": outcome.limit,
        "day": outcome.day,
        "load": outcome.load,
    }
    if isinstance(result, Failure):
        return {**row, "failure": result.reason, "timed_out": result.timed_out}
    return {
        **row,
        "real_epsilon": str(result.real_epsilon),
        "leaf_scale": str(result.leaf_scale),
        "l1": result.l1,
        "small_l1": result.small_l1,
        "emd": result.emd,
        "violations": result.violations,
        "seconds": result.seconds,
    }


def _read_row(row: dict[str, Any]) -> Outcome:
    variants = {variant.label: variant for variant in list_contenders()}
    job = Job(variants[row["mechanism"]], row["epsilon"], row["instance"], row["sizes"])
    float(job.epsilon)  # refused if it is no number
    result: Run | Failure
    if row["failure"] is not None:
        result = Failure(row["failure"], timed_out=bool(row["timed_out"]))
    else:
        result = Run(
            job=job,
            real_epsilon=Fraction(row["real_epsilon"]),
            leaf_scale=Fraction(row["leaf_scale"]),
            l1=tuple(row["l1"]),
            small_l1=tuple(row["small_l1"]),
            emd=tuple(row["emd"]),
            violations=row["violations"],
            seconds=row["seconds"],
        )
        _check(result)
    return Outcome(job, result, row["limit"], row["day"], row["load"])


def _check(run: Run) -> None:
    numbers = [*run.l1, *run.small_l1, *run.emd, run.violations, run.seconds]
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise ValueError
    if not run.l1 or not len(run.l1) == len(run.small_l1) == len(run.emd) or run.seconds == 0:
        raise ValueError
