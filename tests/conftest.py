from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.bad_input_support import Bench, make_release
from tests.commands import Outcome, Run
from tests.servers import (
    HASTY_JAVA,
    ObjectStore,
    run_mariadb,
    run_object_store,
    run_postgres,
    run_spark,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

# No deadline: a test must not depend on the clock. In CI every run sees the same examples.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# What is started in the background of a script ignores SIGINT, and so would every command that a test starts
# and interrupts: commands keep to that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of commands are started: where nothing may be compiled into files, each compiles the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Spark's processes live for seconds: to compile Java with care would take longer than it saves.
os.environ |= {"SPARK_LAUNCHER_OPTS": HASTY_JAVA, "SPARK_SUBMIT_OPTS": HASTY_JAVA}


GROUPS = {
    **{name: name for name in ("postgres", "mariadb", "object_store", "spark", "site", "joint_report")},
    **dict.fromkeys(("ladder", "reconciliation"), "peers"),
}
"""The group of the tests that use a fixture which takes long to set up."""


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before xdist looks at the groups, and after it
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Give all tests that share what takes long to set up to the same worker, which sets it up once."""
    for item in items:
        for name in {GROUPS[name] for name in getattr(item, "fixturenames", ()) if name in GROUPS}:
            item.add_marker(pytest.mark.xdist_group(name))
    yield
    for item in items:
        # xdist 3.8 tells the group by a name that pytest 9.2 does not look at (pytest-xdist, issue 1386).
        named = getattr(item, "_nodeid", item.nodeid)
        if named != item.nodeid:
            known: Any = item
            known._id = type(known._id).parse(named)


def pytest_sessionstart() -> None:
    """Where the tests run in several processes, none compiles what another one is compiling."""
    if "PYTEST_XDIST_WORKER" in os.environ and sys.platform != "win32":
        from tests.shared_kernels import share_kernels

        share_kernels()


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what stays until the end: all that was imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run a command line in this process and an empty folder."""
    from tallytree.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("TALLYTREE_DEBUG", raising=False)

    def call(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tallytree", *words])
        capsys.readouterr()  # what was printed before
        with pytest.raises(SystemExit) as stop:
            main()
        assert isinstance(stop.value.code, int)
        return Outcome(stop.value.code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small, intact release."""
    return make_release(tmp_path_factory.mktemp("intact") / "release")


@pytest.fixture
def bench(
    run: Run,
    released: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    """An empty folder for one wrong input, in which commands run."""
    spill = tmp_path_factory.mktemp("spill")
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    return Bench(tmp_path, spill, released, run)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    from tests.browsers import launch

    with launch() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL database."""
    with run_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """The URL of a MariaDB database."""
    with run_mariadb() as url:
        yield url


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """A server that speaks S3."""
    with run_object_store() as store:
        yield store


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on a Spark cluster."""
    with run_spark() as session:
        yield session
