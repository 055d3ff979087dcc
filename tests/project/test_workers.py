"""How the tests themselves are run: what the workers share, and what runs in a shell."""

from pathlib import Path

import pytest

from tests import commands
from tests.commands import run_script


@pytest.mark.xdist_group("workers")
def test_the_scheduler_is_told_of_groups(request: pytest.FixtureRequest) -> None:
    """Otherwise every worker sets up what one could have set up for all, and nothing says so."""
    grouped = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@workers") == grouped


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("tallytree verify release", True),
        ('tallytree release "people/*.parquet" --out x', True),
        ("tallytree audit topdown   # all of it; exit code > 0", True),
        ("tallytree plan earlier.csv --goal 'county<=500'", True),
        ("tallytree release people/*.parquet", False),
        ("tallytree verify release | tail -n 1", False),
        ("tallytree plan x.csv > plan.txt", False),
        ("tallytree verify $HOME", False),
        ('tallytree verify "$HOME"', False),
        ("tallytree verify a; tallytree verify b", False),
        ("tallytree release x.csv --engine spark", False),
        ("cat release.toml", False),
    ],
)
def test_what_the_shell_would_change_runs_in_a_shell(line: str, plain: bool) -> None:
    assert commands._is_plain(line) == plain


@pytest.mark.parametrize("shell", ["", " 2>&1"])
def test_a_script_stops_at_the_first_command_that_fails(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    create = "tallytree ledger create {} --dataset d --epsilon 1\n"
    done = run_script(f"{create.format('a.db')}tallytree verify nowhere{shell}\n{create.format('b.db')}")
    assert done.code == 2
    assert "nowhere" in (done.out if shell else done.err)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
