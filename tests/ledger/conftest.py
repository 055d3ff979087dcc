"""Where the tests make ledgers."""

from pathlib import Path

import pytest

from tests.ledger.ledger_support import make_schema


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file, and a schema of its own in a database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    url: str = request.getfixturevalue("postgres")
    return make_schema(url)
