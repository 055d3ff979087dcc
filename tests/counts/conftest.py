from pathlib import Path

import duckdb
import pytest


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two million people, each in a household of their own."""
    path = tmp_path_factory.mktemp("many") / "people.parquet"
    duckdb.sql(f"COPY (SELECT range AS household, 'GA' AS state FROM range(2_000_000)) TO '{path}'")
    return path
