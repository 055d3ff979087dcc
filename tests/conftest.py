from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.servers import run_postgres, run_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: a test must not depend on the clock. In CI every run sees the same examples.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL database."""
    with run_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on a Spark cluster."""
    with run_spark() as session:
        yield session
