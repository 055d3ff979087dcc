"""The invented nation looks like the one it is modelled on."""

import numpy as np
import pytest

from tallytree.datasets.invented import COUNTIES, FACILITIES, HOUSEHOLDS, SIZE_SHARES, generate_nation


def test_shape_and_shares() -> None:
    counts = generate_nation()
    assert [len(counts.hierarchy.regions(level)) for level in range(3)] == [1, 51, 3143]
    assert counts.leaf.shape == (3143, 1000)
    assert counts.total == HOUSEHOLDS + FACILITIES
    nation = counts.array("nation")[0]
    shares = [*nation[:6], nation[6:].sum()] / nation.sum()
    assert shares == pytest.approx(SIZE_SHARES, rel=0.05)
    tail = nation[6:60]
    assert np.average(np.arange(7, 61), weights=tail) == pytest.approx(7.99, abs=0.02)
    assert nation[100:].sum() > 20  # the facilities reach far
    households = counts.leaf.sum(axis=1)
    assert households.min() >= 0
    assert np.percentile(households, 99) > 20 * np.median(households)


def test_a_smaller_range_of_sizes_counts_larger_groups_at_its_end() -> None:
    wide, narrow = generate_nation(), generate_nation(sizes=(0, 5))
    assert narrow.leaf.shape == (3143, 6)
    assert narrow.array(0)[0].tolist() == [0, *wide.array(0)[0][:4], wide.array(0)[0][4:].sum()]


def test_a_seed_repeats_the_nation() -> None:
    first, again, other = generate_nation(1), generate_nation(1), generate_nation(2)
    assert (first.leaf == again.leaf).all()
    assert (first.leaf != other.leaf).any()
    assert len(COUNTIES) == 51
