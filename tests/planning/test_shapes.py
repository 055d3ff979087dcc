"""The sizes that are invented for public totals: a law, shares, an earlier release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallytree as tt
from tallytree.errors import CountsError, InputError, SpecError
from tallytree.planning.shapes import FIRMS, HOUSEHOLDS, find_usual_shape, parse_shape
from tests.commands import Run

MANY = np.array([400_000, 0, 7])


def invent(text: str, sizes: tt.SizeClasses | tuple[int, int]) -> list[float]:
    """The shares of the first place."""
    found = parse_shape(text).invent(MANY, sizes, np.random.default_rng(1))
    assert found.sum(axis=1).tolist() == MANY.tolist()
    return [float(share) for share in found[0] / MANY[0]]


def test_a_law_has_its_exponent() -> None:
    shares = invent("zipf:2", (1, 4))
    assert shares == pytest.approx([1 - 1 / 4, 1 / 4 - 1 / 9, 1 / 9 - 1 / 16, 1 / 16], abs=0.003)
    classes = invent("zipf:1", tt.SizeClasses([1, 10, 100]))
    assert classes == pytest.approx([0.9, 0.09, 0.01], abs=0.003)
    assert parse_shape("firms") is FIRMS
    assert "s^1.06" in FIRMS.words


def test_shares_are_put_into_the_sizes(tmp_path: Path) -> None:
    table = tmp_path / "shares.csv"
    table.write_text("size,share\n1,2\n2,1\n9,1\n")
    assert invent(str(table), (1, 5)) == pytest.approx([0.5, 0.25, 0, 0, 0.25], abs=0.003)
    assert invent(str(table), tt.SizeClasses([1, 2, 5])) == pytest.approx([0.5, 0.25, 0.25], abs=0.003)
    assert parse_shape(str(table)).words == "by the shares in shares.csv"


def test_an_earlier_release_lends_its_shares(tmp_path: Path) -> None:
    regions = tt.Hierarchy.from_paths(["all", "state"], [("all", "a"), ("all", "b")])
    counts = tt.GroupCounts(regions, (1, 3), [[60_000, 30_000, 10_000], [0, 0, 100_000]])
    tt.release(counts, epsilon="10").save(tmp_path / "earlier", replicates=0)
    shape = str(tmp_path / "earlier")
    assert invent(shape, (1, 3)) == pytest.approx([0.3, 0.15, 0.55], abs=0.003)
    assert invent(shape, (1, 2)) == pytest.approx([0.3, 0.7], abs=0.003)
    assert parse_shape(shape).words == "as in the release earlier"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("size,share\n", "not all zero"),
        ("size,share\n1,0\n", "not all zero"),
        ("size,share\n1,-1\n2,3\n", "not negative"),
        ("size,share\nx,1\n", "not all numbers"),
        ("size,share\n1,nan\n", "shares must be numbers|not all numbers"),
        ("size,part\n1,1\n", "no column 'share'"),
    ],
)
def test_shares_that_make_no_sense_are_refused(content: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "shares.csv").write_text(content)
    with pytest.raises(InputError, match=why):
        parse_shape(str(tmp_path / "shares.csv"))


@pytest.mark.parametrize("text", ["zipf:", "zipf:x", "zipf:0", "zipf:99", "zipf:-1"])
def test_a_law_without_an_exponent_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"such as zipf:1\.06"):
        parse_shape(text)


def test_a_shape_must_be_public(tmp_path: Path) -> None:
    (tmp_path / "sensitive-shares.csv").write_text("size,share\n1,1\n")
    with pytest.raises(CountsError, match="sensitive"):
        parse_shape(str(tmp_path / "sensitive-shares.csv"))


def test_households_are_usual_but_for_large_classes() -> None:
    assert find_usual_shape((1, 1000)) is HOUSEHOLDS
    assert find_usual_shape(tt.SizeClasses([1, 5, 10])) is HOUSEHOLDS
    assert find_usual_shape(tt.SizeClasses([1, 5, 20])) is FIRMS


def test_the_command_says_which_shape_was_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "totals.csv").write_text("state,firms\nGA,500\nNY,900\n")
    words = ["plan", "totals.csv", "--totals", "--groups", "firms", "--region", "state", "--sizes", "1:5"]
    words += ["--epsilon", "1", "--mechanism", "direct-dp"]
    assert "with invented sizes: households" in " ".join(run(*words).out.split())
    shown = run(*words, "--shape", "zipf:1.5").out
    assert "as frequent as 1 / s^1.5" in " ".join(shown.split())
    code, _, err = run("plan", "totals.csv", *words[5:], "--shape", "firms")
    assert code == 2
    assert "give --totals as well" in " ".join(err.split())
