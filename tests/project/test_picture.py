"""The README's picture: drawn from counts, and readable on light and on dark."""

from xml.etree import ElementTree

from scripts.picture import PICTURE, SHOWN, Panel, choose_panels, draw

from tallytree.datasets.invented import generate_nation


def test_the_panels_hold_the_regions_counts() -> None:
    counts = generate_nation(sizes=(1, 12))
    nation, median, smallest = choose_panels(counts)
    assert sum(nation.true) == sum(nation.released) == counts.total
    totals = sorted(counts.array("county").sum(axis=1).tolist())
    assert [sum(median.true), sum(smallest.true)] == [totals[len(totals) // 2], totals[0]]
    for panel in (nation, median, smallest):
        assert len(panel.true) == len(panel.released) == SHOWN + 1
        shown = sum(abs(a - b) for a, b in zip(panel.released, panel.true, strict=True))
        assert 0 < shown <= panel.error


def test_bars_are_as_high_as_counts() -> None:
    picture = draw([Panel("A <place>", [4, 2, 0, 0, 0, 0, 0, 0, 0], [3, 3, 0, 0, 0, 0, 0, 0, 0], 2)])
    root = ElementTree.fromstring(picture)
    bars = [float(bar.attrib["height"]) for bar in root.iter("{http://www.w3.org/2000/svg}rect")][2:]
    assert bars[0] == 2 * bars[1] > 0
    assert not any(bars[2:])
    assert "A &lt;place&gt;" in picture
    assert "all errors together: 2, or 33 %" in picture


def test_the_picture_is_for_light_and_dark() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert "prefers-color-scheme:dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # it loads nothing
