"""Stacked bars: as high as their amounts, and within their frame."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.drawing.pictures import COLOURS, round_step
from tallytree.drawing.stacks import FLOOR, LEFT, RIGHT, TOP, WIDTH, draw_stacks
from tests.report.report_support import HOSTILE

AMOUNTS = st.one_of(st.just(0.0), st.floats(1e-6, 1000))


def read_bars(svg: str) -> list[dict[str, str]]:
    """The drawn bars: all rectangles but the ground and the key."""
    rects = [dict(one.attrib) for one in ET.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")[1:]]
    return [one for one in rects if (one["width"], one["height"]) != ("10", "10")]


@given(st.integers(1, 40), st.integers(1, len(COLOURS)), st.data())
def test_bars_are_as_high_as_their_amounts(columns: int, count: int, data: st.DataObject) -> None:
    series = {
        f"s{at}": data.draw(st.lists(AMOUNTS, min_size=columns, max_size=columns)) for at in range(count)
    }
    if not any(map(sum, series.values())):
        series["s0"][0] = 1.0
    most = max(sum(values) for values in zip(*series.values(), strict=True))
    bars = read_bars(draw_stacks("t", [str(at) for at in range(columns)], series).svg)
    assert len(bars) == sum(value > 0 for values in series.values() for value in values)
    whole = (FLOOR - TOP) / (round_step(most / 4) * -(-most // round_step(most / 4)))
    drawn = sum(float(bar["height"]) for bar in bars)
    assert drawn == pytest.approx(sum(map(sum, series.values())) * whole, abs=0.11 * len(bars), rel=0.01)
    for bar in bars:
        assert LEFT <= float(bar["x"]) <= float(bar["x"]) + float(bar["width"]) <= WIDTH - RIGHT + 0.2
        assert float(bar["y"]) >= TOP - 0.2
        assert float(bar["y"]) + float(bar["height"]) <= FLOOR + 0.2


def test_a_limit_above_all_bars_is_in_the_picture() -> None:
    svg = draw_stacks("t", ["a"], {"s": [0.25]}, limit=(1.0, "limit 1")).svg
    assert "limit 1" in svg
    (bar,) = read_bars(svg)
    assert float(bar["height"]) == pytest.approx((FLOOR - TOP) / 4, abs=0.1)


def test_names_are_text_whatever_they_are() -> None:
    svg = draw_stacks(HOSTILE[0], list(HOSTILE), {name: [1.0] * len(HOSTILE) for name in HOSTILE[:7]}).svg
    assert "<script" not in svg
    ET.fromstring(svg)
