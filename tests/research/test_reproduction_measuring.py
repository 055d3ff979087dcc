"""What is measured and kept: an interrupted run goes on where it stopped, and finds the same."""

import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallytree.datasets.invented import generate_city
from tallytree.errors import FolderError
from tallytree.research.reproduction import measuring
from tallytree.research.reproduction.measuring import (
    Cache,
    Timetable,
    Work,
    find_limit,
    plan_jobs,
    plan_synthetic_jobs,
)
from tallytree.research.reproduction.paper_figures import TABLES, Variant, list_contenders
from tallytree.research.reproduction.run_results import Outcome
from tallytree.research.reproduction.runs import FULL, MOST_SECONDS, QUICK, Child, Failure, Job, Run
from tallytree.research.reproduction.study import Study, measure_study
from tallytree.research.reproduction.study_data import Cut, Dataset, fingerprint
from tests.research.reproduction_support import (
    CUMULATIVE,
    DIRECT,
    MATCHED,
    RELAXED,
    SETTINGS,
    TOPDOWN,
    HereAndNow,
    make_datasets,
)

DATASETS = make_datasets()
FEW = [DIRECT, CUMULATIVE, TOPDOWN, MATCHED]


def be_silent(text: str, done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few mechanisms, in this process: the same results, without waiting for processes."""
    monkeypatch.setattr(measuring, "list_contenders", lambda: FEW)
    monkeypatch.setattr(measuring, "Child", HereAndNow)


def run_study(folder: Path, tell: Any = be_silent, datasets: Iterable[Dataset] = DATASETS) -> Study:
    (folder / "results").mkdir(parents=True, exist_ok=True)
    return measure_study("all", list(datasets), SETTINGS, folder, tell)


def strip(study: Study) -> list[tuple[str, list[Outcome]]]:
    """Without what the clock says."""
    found = [("synthetic", study.synthetic), *study.runs.items()]
    return [(name, [_strip(outcome) for outcome in outcomes]) for name, outcomes in found]


def _strip(outcome: Outcome) -> Outcome:
    result = outcome.result
    timeless = replace(result, seconds=0.0) if isinstance(result, Run) else result
    return replace(outcome, result=timeless, day="", load=0.0)


def test_an_interruption_at_any_job_changes_nothing(
    few: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = strip(run_study(tmp_path_factory.mktemp("whole"), datasets=DATASETS[:1]))
    jobs = sum(len(outcomes) for _, outcomes in whole)
    assert jobs == 4 * 2 + 4 * 3 * 2

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.integers(0, jobs - 1), min_size=1, max_size=3))
    def interrupt(stops: list[int]) -> None:
        folder = tmp_path_factory.mktemp("broken")
        for stop in stops:
            told = 0

            def tell(text: str, done: int, total: int) -> None:
                nonlocal told
                if told == stop:  # noqa: B023
                    raise KeyboardInterrupt
                told += 1

            try:
                run_study(folder, tell, DATASETS[:1])
            except KeyboardInterrupt:
                assert not list(folder.rglob(".*"))  # nothing half-written
        assert strip(run_study(folder, datasets=DATASETS[:1])) == whole

    interrupt()


def test_what_is_known_is_not_measured_again(few: None, tmp_path: Path) -> None:
    first = run_study(tmp_path)

    def refuse(text: str, done: int, total: int) -> None:
        raise AssertionError(text)

    again = run_study(tmp_path, refuse)
    assert again.runs == first.runs
    assert again.synthetic == first.synthetic


def test_other_data_are_measured_anew(few: None, tmp_path: Path) -> None:
    census = DATASETS[0]
    run_study(tmp_path, datasets=[census])
    changed = replace(census, small=6)
    assert changed.key != census.key
    run_study(tmp_path, datasets=[changed])
    names = {path.name.partition("-")[0] for path in (tmp_path / "results").iterdir()}
    assert names == {"census", "synthetic"}
    assert len(list((tmp_path / "results").iterdir())) == 3


def test_fingerprints_tell_data_apart() -> None:
    one, other = generate_city(3), generate_city(3, seed=1)
    assert fingerprint(one, 2) == fingerprint(generate_city(3), 2)
    assert len({fingerprint(one, 2), fingerprint(one, 3), fingerprint(other, 2)}) == 3


def test_only_one_part_is_measured_where_one_is_asked_for(few: None, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    study = measure_study("scalability", DATASETS, SETTINGS, tmp_path, be_silent)
    assert study.synthetic and not study.runs
    study = measure_study("table", DATASETS, SETTINGS, tmp_path, be_silent)
    assert not study.synthetic and set(study.runs) == {"census", "taxi", "kuo"}


# Real processes


def make_work(
    variants: list[Variant], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> Work:
    monkeypatch.setattr(measuring, "list_contenders", lambda: variants)
    chosen = SETTINGS.wait(seconds)
    jobs = plan_jobs(replace(chosen, instances=1), 10)
    return Work(
        "census", jobs, DATASETS[0].source, Cache(tmp_path / "census.parquet"),
        lambda job: find_limit(job, chosen), 1,
    )  # fmt: skip


def run_work(work: Work) -> list[Outcome]:
    timetable = Timetable(work.find_kind(job) for job in work.jobs)
    work.run(timetable, be_silent)
    assert timetable.done == timetable.total
    return list(work.list_outcomes())


def test_a_process_finds_the_same_as_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = run_work(make_work([TOPDOWN], tmp_path, monkeypatch, 60.0))
    (tmp_path / "census.parquet").unlink()
    monkeypatch.setattr(measuring, "Child", HereAndNow)
    here = run_work(make_work([TOPDOWN], tmp_path, monkeypatch, 60.0))
    assert [_strip(outcome) for outcome in here] == [_strip(outcome) for outcome in there]


class NeverAtOnce(Child[Any]):
    """However fast it is: else its answer may be there before anybody looks."""

    def receive(self, most_seconds: float = MOST_SECONDS) -> Any:
        if most_seconds == 0:
            self._receiver, self.silent = multiprocessing.Pipe(duplex=False)  # nobody writes to it
        return super().receive(most_seconds)


def test_what_is_too_slow_is_given_up_and_tried_again_with_more_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(measuring, "Child", NeverAtOnce)
        hurried = run_work(make_work([RELAXED, TOPDOWN], tmp_path, monkeypatch, 0.0))
    assert [outcome.job.epsilon for outcome in hurried[:3]] == ["1", "0.5", "0.1"]
    assert all(outcome.result == Failure("no answer within 0 s", timed_out=True) for outcome in hurried)
    table = pa_parquet.read_table(tmp_path / "census.parquet")
    assert table.num_rows == 2  # once for each mechanism: the smaller epsilons were ruled out
    patient = run_work(make_work([RELAXED, TOPDOWN], tmp_path, monkeypatch, 60.0))
    assert all(isinstance(outcome.result, Run) for outcome in patient)


def test_a_missing_solver_is_not_remembered(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "x.parquet")
    job = Job(RELAXED, "1", 1, 10)
    cache.add(Outcome(job, Failure("no solver"), 1.0, "2010-04-01", 0.0, is_passing=True))
    assert cache.find_obstacle(job, 1.0)
    assert not Cache(tmp_path / "x.parquet").list_outcomes()


# The plan of jobs


def test_jobs_are_planned_as_in_the_paper() -> None:
    jobs = plan_jobs(FULL, 1000)
    for variant in list_contenders():
        own = [job for job in jobs if job.variant == variant]
        few = variant.is_small or variant.needs_solver
        assert len(own) == 3 * (3 if few else 30)
        assert {job.epsilon for job in own} == {"0.1", "0.5", "1"}
    assert len(set(jobs)) == len(jobs)
    assert [job.variant.is_small for job in jobs] == sorted(
        (job.variant.is_small for job in jobs), reverse=True
    )


def test_synthetic_jobs_grow() -> None:
    jobs = plan_synthetic_jobs(QUICK)
    assert {job.variant for job in jobs} == set(list_contenders())
    own = [job for job in jobs if job.variant == TABLES]
    assert [job.sizes for job in own if job.epsilon == "1"] == [5, 10, 20, 30, 40, 50]
    assert [(job.epsilon, job.sizes) for job in own[-2:]] == [("0.5", 5), ("0.1", 5)]
    assert Cut().load(5).sizes == (1, 5)


@given(
    st.sampled_from(["0.1", "0.5", "1"]), st.sampled_from(["0.1", "0.5", "1"]), st.integers(1, 9),
    st.integers(1, 9),
)  # fmt: skip
def test_a_failure_rules_out_only_what_is_no_easier(one: str, other: str, n: int, m: int) -> None:
    failed = Outcome(Job(DIRECT, one, 1, n), Failure("no"), 1.0, "", 0.0)
    harder = float(other) <= float(one) and m >= n
    assert failed.rules_out(Job(DIRECT, other, 2, m)) == harder
    assert not failed.rules_out(Job(TOPDOWN, other, 1, m))


def test_the_time_left_is_told() -> None:
    timetable = Timetable(["a", "a", "a", "b"])
    assert timetable.describe() == "0 of 4 runs, about 4 s left"
    timetable.finish("a", 200.0)
    assert timetable.describe() == "1 of 4 runs, about 7 min left"
    timetable.finish("a", 4000.0)
    assert timetable.describe() == "2 of 4 runs, about 1 h 7 min left"
    timetable.finish("a")
    timetable.finish("b")
    assert timetable.describe() == "4 runs"


# What is kept

VARIANTS = list_contenders()
FINITE = st.floats(0, 1e12)
COUNTS = st.lists(st.integers(0, 10**12), min_size=3, max_size=3)


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    job = Job(
        draw(st.sampled_from(VARIANTS)), draw(st.sampled_from(["0.1", "1"])), draw(st.integers(1, 99)),
        draw(st.integers(1, 10**5)),
    )  # fmt: skip
    result: Run | Failure
    if draw(st.booleans()):
        result = Failure(draw(st.text(max_size=20)), timed_out=draw(st.booleans()))
    else:
        numbers = draw(st.integers(1, 999)), draw(st.integers(1, 999))
        result = Run(
            job, Fraction(*numbers), Fraction(numbers[1]), tuple(draw(COUNTS)), tuple(draw(COUNTS)),
            tuple(float(value) for value in draw(COUNTS)), draw(st.integers(0, 99)), 1e-6 + draw(FINITE),
        )  # fmt: skip
    return Outcome(job, result, draw(FINITE), "2010-04-01", draw(FINITE))


@settings(max_examples=30, deadline=None)
@given(st.lists(outcomes(), min_size=1, max_size=5, unique_by=lambda outcome: outcome.job))
def test_what_is_kept_is_what_was_found(
    tmp_path_factory: pytest.TempPathFactory, found: list[Outcome]
) -> None:
    path = tmp_path_factory.mktemp("kept") / "x.parquet"
    cache = Cache(path)
    for outcome in found:
        cache.add(outcome)
    assert Cache(path).list_outcomes() == found
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def make_cache(path: Path) -> Cache:
    cache = Cache(path)
    for seed in (1, 2):
        job = Job(DIRECT, "1", seed, 10)
        run = Run(job, Fraction(1), Fraction(6), (1, 2, 3), (1, 2, 3), (1.0, 2.0, 3.0), 0, 0.5)
        cache.add(Outcome(job, run, 60.0, "2010-04-01", 0.5))
    return cache


def test_damaged_results_give_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    known = make_cache(path).list_outcomes()
    good = path.read_bytes()
    generator = random.Random(1)
    noticed = 0
    for _ in range(150):
        bad = bytearray(good[: generator.randrange(len(good))] if generator.random() < 0.3 else good)
        for _ in range(generator.randrange(1, 4)):
            if bad:
                bad[generator.randrange(len(bad))] = generator.randrange(256)
        path.write_bytes(bytes(bad))
        try:
            found = Cache(path).list_outcomes()
        except FolderError as error:
            assert "remove the file to measure them anew" in str(error)
            noticed += 1
        else:
            assert len(found) <= len(known)
    assert noticed > 50


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [*rows, rows[0]],  # twice the same job
        lambda rows: [{**rows[0], "mechanism": "unheard-of"}],
        lambda rows: [{**rows[0], "l1": None}],
        lambda rows: [{**rows[0], "l1": [1]}],
        lambda rows: [{**rows[0], "emd": [float("nan"), 1.0, 1.0]}],
        lambda rows: [{**rows[0], "real_epsilon": "1/0"}],
        lambda rows: [{**rows[0], "epsilon": "much"}],
        lambda rows: [{**rows[0], "epsilon": "1/2"}],  # which nobody asks for
        lambda rows: [{**rows[0], "seconds": 0.0}],
        lambda rows: [{**rows[0], "seconds": float("inf")}],
    ],
)
def test_results_that_make_no_sense_are_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    make_cache(path)
    table = pa_parquet.read_table(path)
    pa_parquet.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), path)
    with pytest.raises(FolderError, match="are damaged"):
        Cache(path)


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pa_parquet.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(FolderError, match="are damaged"):
        Cache(path)


START_AND_WAIT = """
import sys, time
from tests.research.test_reproduction_measuring import hang
from tallytree.research.reproduction.runs import Child
if __name__ == "__main__":
    with Child(hang) as child:
        print(child.receive(), child.process.pid, flush=True)
        time.sleep(600)
"""


def hang() -> Iterable[str]:
    yield "started"
    time.sleep(600)


def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(START_AND_WAIT)
    where = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(where), *sys.path])}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    ) as work:
        assert work.stdout
        word, child = work.stdout.readline().split()
        assert word == "started"
        work.kill()
    for _ in range(600):
        try:
            state = Path(f"/proc/{child}/stat").read_text().split()[2]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return  # ended; nobody has taken note of it yet
        time.sleep(0.1)
    raise AssertionError("it is still there")
