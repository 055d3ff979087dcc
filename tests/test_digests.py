"""What the package makes, as digests: they must stay the same while its modules are moved.

``python -m tests.test_digests`` writes them anew, after a change of wording or of format.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.cli.manuals import MANUALS
from tallytree.privacy import digits
from tallytree.progress import one_processor
from tallytree.releases import manifest
from tallytree.research.reproduction import measuring, runs
from tallytree.research.reproduction.rendering import write_html, write_markdown
from tallytree.research.reproduction.reproduction_page import write_page
from tallytree.research.reproduction.runs import Failure, Job, Source, run_jobs
from tallytree.research.reproduction.runs import Run as JobRun
from tallytree.research.reproduction.study import make_report, measure_study
from tests.commands import Run
from tests.research.reproduction_support import SETTINGS, HereAndNow, make_datasets

FILE = Path(__file__).parent / "digests.json"
WRITING = os.environ.get("TALLYTREE_DIGESTS") == "write"
SLOW = ("direct-qip", "cumulative-qip", "direct-cp")


def check(name: str, data: bytes) -> None:
    """Compare with the digest of that name, or write it down."""
    known: dict[str, str] = json.loads(FILE.read_text()) if FILE.exists() else {}
    digest = hashlib.sha256(data).hexdigest()
    if WRITING:
        FILE.write_text(json.dumps({**known, name: digest}, indent=0, sort_keys=True) + "\n")
    else:
        assert known[name] == digest, name


def invent_counts(states: int, *, sizes: int) -> tt.GroupCounts:
    """A few states with 2, 3, 4 ... counties each."""
    paths = [("US", f"state {s}", f"county {c}") for s in range(states) for c in range(s + 2)]
    hierarchy = tt.Hierarchy.from_paths(levels=["nation", "state", "county"], paths=paths)
    means = (3 if states < 3 else 400) / np.arange(1, sizes + 1) ** 2
    leaf = np.random.default_rng(5).poisson(means, (len(paths), sizes))
    return tt.GroupCounts(hierarchy, (1, sizes), leaf)


@pytest.mark.parametrize("name", tt.list_mechanisms())
def test_simulations(name: str) -> None:
    counts = invent_counts(2 if name in SLOW else 5, sizes=3 if name in SLOW else 30)
    found = tt.simulate(counts, epsilon="10" if name in SLOW else "1", mechanism=name, seed=11)
    check(f"simulation {name}", b"".join(level.tobytes() for level in found.counts))


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No chance, no clock, no threads."""
    monkeypatch.setattr(digits, "os", SimpleNamespace(urandom=Random(0).randbytes, getpid=os.getpid))
    monkeypatch.setattr(
        manifest, "datetime", SimpleNamespace(now=lambda zone: datetime(2026, 1, 1, tzinfo=UTC))
    )
    with one_processor():
        yield


@pytest.mark.parametrize("mechanism", ["cumulative-joint", "direct-dp", "topdown", "cumulative-chain"])
@pytest.mark.usefixtures("frozen")
def test_files_of_a_release(mechanism: str, run: Run, tmp_path: Path) -> None:
    counts = invent_counts(4, sizes=12)
    rows = [
        {"state": path[1], "county": path[2], "size": size + 1, "groups": int(groups)}
        for path, row in zip(counts.hierarchy.leaves, counts.leaf, strict=True)
        for size, groups in enumerate(row)
    ]
    pa_csv.write_csv(pa.Table.from_pylist(rows), tmp_path / "counts.csv")
    words = ["--region", "state", "--region", "county", "--root", "US", "--sizes", "1:12", "--epsilon", "1"]
    done = run("release", "counts.csv", *words, "--mechanism", mechanism, "--out", "release")
    assert done.code == 0, done.err
    check(f"printed {mechanism}", done.out.encode())
    for path in sorted((tmp_path / "release").iterdir()):
        if path.suffix == ".parquet":
            table = pa_parquet.read_table(path)
            data = json.dumps([table.schema.to_string(), table.to_pydict()], default=str).encode()
        else:
            data = path.read_bytes()
        if path.name == "manifest.json":  # the digests of files hold the versions of what wrote them
            data = re.sub(rb'"[0-9a-f]{64}"', b'""', data)
        check(f"{path.name} {mechanism}", re.sub(rb"[0-9a-f]{64}", b"", data))
    check(f"verify {mechanism}", run("verify", "release").out.encode())


def test_help(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    for words in ("", "ledger", *MANUALS):
        check(f"help {words}", run(*words.split(), "--help").out.encode())


def test_the_page_of_the_reproduction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_some(jobs: Sequence[Job], source: Source, calls: int) -> Iterator[JobRun | Failure | None]:
        for job in jobs:
            if job.variant.mechanism in SLOW:
                yield None
                yield Failure("no answer within 5 s", timed_out=True)
                return
            yield from run_jobs([job], source, calls)

    ticks = itertools.count()
    monkeypatch.setattr(runs, "time", SimpleNamespace(perf_counter=lambda: next(ticks) / 7))
    monkeypatch.setattr(measuring, "Child", HereAndNow)
    monkeypatch.setattr(measuring, "run_jobs", run_some)
    (tmp_path / "results").mkdir()
    study = measure_study("all", make_datasets(), SETTINGS, tmp_path, lambda text, done, total: None)
    report = make_report(study, "all", machine={"Processor": "any"}, command="reproduce", quick=True)
    blocks = list(write_page(report))
    today = datetime.now().date().isoformat()
    for name, text in (("html", write_html(blocks)), ("markdown", write_markdown(blocks, "figures"))):
        text = re.sub(r"tallytree\.[a-z_.]+", "", text.replace(today, ""))  # the names of modules
        text = re.sub(r"-?[0-9.,]+( (s|ms|µs))?", "#", text)  # some are times
        check(f"reproduction {name}", text.encode())


if __name__ == "__main__":
    os.environ["TALLYTREE_DIGESTS"] = "write"
    FILE.unlink(missing_ok=True)
    sys.exit(pytest.main([__file__, "-q", "-p", "no:xdist"]))
