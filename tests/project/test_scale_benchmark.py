"""The benchmark of the largest hierarchies: what it generates, and the page that it writes."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
from benchmarks import scale
from benchmarks.invented_data import BLOCK_LEVELS, Shape, write_blocks
from benchmarks.records import read_data

import tallytree as tt

SMALL = Shape(counties=(2, 1), tracts=6, blocks_per_group=6.0, households=3_000)


def test_blocks_are_the_same_for_everyone_and_shaped_as_asked(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_blocks(tmp_path / name, high=30, shape=SMALL)
    assert pa_parquet.read_table(tmp_path / "one") == pa_parquet.read_table(tmp_path / "two")
    (tmp_path / "one").rename(tmp_path / "one.parquet")
    counts = tt.GroupCounts.from_table(
        tmp_path / "one.parquet", regions=list(BLOCK_LEVELS), sizes=(1, 30), root="US", root_level="nation"
    )
    regions = counts.hierarchy.region_counts
    assert regions[:4] == (1, 2, 3, 6)
    assert regions[4] > 6
    assert regions[5] > 2 * regions[4]
    assert 1_000 < counts.total < 6_000
    assert 0.2 < np.mean(counts.leaf.sum(axis=1) == 0) < 0.7
    for path in counts.hierarchy.leaves:
        assert all(below.startswith(above) for above, below in pairwise(path[1:]))


def test_the_page_is_written_from_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = write_blocks
    monkeypatch.setattr(scale, "write_blocks", lambda path, high: full(path, high=high, shape=SMALL))
    scale.main(["--scratch", str(tmp_path), "--out", str(tmp_path / "page.md")])
    page = (tmp_path / "page.md").read_text()
    assert "## Census blocks" in page
    for step in ("read the table", "draw noise", "make the counts add up", "write", "verify: check"):
        assert f"| {step} |" in page
    assert "verified, below 16 GB" in page
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["page.md", "results.json"]  # nothing else is left behind
    assert page == scale.write_page(read_data("scale", tmp_path / "results.json"))
