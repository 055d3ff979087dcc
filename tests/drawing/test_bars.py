"""Distributions as bars: nothing is lost, and there are never too many."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.drawing.histograms import HEIGHT, MOST_BARS, WIDTH, Ints, draw_histogram, make_bars
from tests.report.report_support import HOSTILE

COUNTS = st.lists(st.one_of(st.just(0), st.integers(0, 10**9)), min_size=1, max_size=3000)


def read_bars(svg: str) -> list[ET.Element]:
    """The drawn bars: all rectangles but the ground."""
    return ET.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")[1:]


@given(st.integers(0, 500), COUNTS)
def test_every_group_is_in_one_bar(lowest: int, counts: list[int]) -> None:
    groups = np.array(counts)
    bars = make_bars(lowest, groups)
    assert len(bars) <= MOST_BARS
    assert sum(bar.groups for bar in bars) == sum(counts)
    at = lowest
    for bar in bars:
        assert bar.first == at
        assert bar.last >= bar.first
        assert bar.groups == groups[bar.first - lowest : bar.last + 1 - lowest].sum()
        at = bar.last + 1
    # They end where the groups do.
    assert not groups[at - lowest :].any()
    assert not bars or groups[at - 1 - lowest]


def test_few_sizes_have_a_bar_each_and_many_are_put_together_by_their_tail() -> None:
    assert [bar.first for bar in make_bars(3, np.ones(MOST_BARS, dtype=np.int64))] == list(range(3, 63))
    even = make_bars(0, np.ones(600, dtype=np.int64))
    assert {bar.last - bar.first for bar in even} == {9}
    tail = make_bars(
        1, (10**6 * 0.5 ** np.arange(1000)).astype(np.int64) + np.eye(1, 1000, 999, dtype=int)[0]
    )
    widths = [bar.last - bar.first for bar in tail]
    assert widths[:5] == [0] * 5
    assert widths[-2] > 50


def test_ends_are_those_of_single_sizes_alone() -> None:
    groups = np.array([5, 7, 0])
    bars = make_bars(1, groups, (groups - 1, groups + 4))
    assert [bar.ends for bar in bars] == [(4, 9), (6, 11)]
    assert [bar.top for bar in bars] == [9, 11]
    many = np.arange(1, 200)
    assert not any(bar.ends for bar in make_bars(1, many, (many - 1, many + 1)))


@given(st.integers(0, 500), COUNTS, st.booleans())
def test_pictures_stay_within_their_frame(lowest: int, counts: list[int], with_ends: bool) -> None:
    groups: Ints = np.array(counts)
    ends = (groups // 2, 2 * groups + 3) if with_ends else None
    picture = draw_histogram("Land", (lowest, lowest + len(counts) - 1), groups, ends)
    rectangles = read_bars(picture.svg)
    assert len(rectangles) == sum(bar.groups > 0 for bar in make_bars(lowest, groups))
    for each in rectangles:
        x, y, width, height = (float(each.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 < x < x + width < WIDTH
        assert 0 < y < y + height < HEIGHT
        assert height > 0


@pytest.mark.parametrize("title", HOSTILE)
def test_any_title_is_only_text(title: str) -> None:
    root = ET.fromstring(draw_histogram(title, (1, 2), np.array([3, 4])).svg)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert len(read_bars(ET.tostring(root, encoding="unicode"))) == 2


def find_heights(groups: list[int]) -> list[float]:
    bars = read_bars(draw_histogram("x", (1, len(groups)), np.array(groups)).svg)
    return [float(bar.attrib["height"]) for bar in bars]


def test_the_scale_is_logarithmic_where_counts_span_decades() -> None:
    low, high = find_heights([10, 100])
    assert high == pytest.approx(10 * low, rel=0.02)
    first, second, third = find_heights([1_000_000, 1_000, 1])
    assert first - second == pytest.approx(second - third, abs=0.4)
    assert third > 5
    assert "(log scale)" in draw_histogram("x", (1, 2), np.array([1_000_000, 1])).svg


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        ([1, 1], ["0", "1"]),
        ([3, 4], ["0", "1", "2", "3", "4"]),
        ([9_000_000, 8_000_000], ["0", "5M", "10M"]),
        ([2_000_000_000, 1], ["1", "100", "10,000", "1M", "100M"]),
        ([7, *[0] * 118, 8, 0, 0], ["0", "1", "2", "3", "4"]),
        ([1, *[0] * 118, 2], ["0", "0.5", "1"]),
    ],
)
def test_the_axis_of_groups_is_labelled(groups: list[int], labels: list[str]) -> None:
    svg = draw_histogram("x", (1, len(groups)), np.array(groups)).svg
    found = [each.text for each in ET.fromstring(svg).iter() if each.attrib.get("text-anchor") == "end"]
    assert found == labels


def test_what_is_not_shown_is_said() -> None:
    svg = draw_histogram("x", (1, 50), np.array([3, 4, *[0] * 48])).svg
    assert "7 groups; none above size 2" in svg
    assert "+</text>" not in svg
    assert ">2+</text>" in draw_histogram("x", (1, 2), np.array([3, 4])).svg
    assert "No groups." in draw_histogram("x", (1, 2), np.array([0, 0])).svg
    ends = (np.array([2, 0]), np.array([5, 1]))
    svg = draw_histogram("x", (1, 2), np.array([3, 0]), ends).svg
    assert svg.count('class="ends"') == 1
    assert "Size 1: 3 groups, truly 2 to 5" in svg
    assert "what the true number may be" in svg
