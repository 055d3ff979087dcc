"""What notebooks show of our objects: small pieces of HTML that need nothing else.

There is no script and no style sheet in them. Colours are the notebook's own, so that they are as readable on
dark as on light; names are text, whatever they hold.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from tallytree.arrays import get_total
from tallytree.comparison.differences import (
    DIFFERENCE_COLUMNS,
    LEVEL_COLUMNS,
    describe_alone,
    describe_noise,
    write_difference_figures,
    write_level_figures,
)
from tallytree.markup import Html, join, name, tag
from tallytree.privacy.accuracy import find_accuracy
from tallytree.privacy.budget import LARGE_EPSILON, show_exact
from tallytree.report.report_words import describe_factor, show_short
from tallytree.sizes import count_sizes

if TYPE_CHECKING:
    from tallytree.comparison.differences import Comparison
    from tallytree.drawing.pictures import Picture
    from tallytree.privacy.plan import Plan
    from tallytree.releases.checks import Check, Verification
    from tallytree.releases.region_views import RegionView
    from tallytree.releases.released import Release

MOST_CELLS = 2**24
"""Regions x sizes of a release that is verified just to be shown, which takes a second at most."""
MOST_NAME = 60

BOX = (
    "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.7em 1em;max-width:46em;"
    "margin:.3em 0;line-height:1.45;overflow-wrap:break-word;overflow-x:auto"
)
TABLE = "border-collapse:collapse;font-size:inherit;margin:.5em 0;font-variant-numeric:tabular-nums"
LINE = "border-bottom:1px solid rgba(128,128,128,.3);padding:.2em .9em .2em 0;vertical-align:top;text-align:"
QUIET = "opacity:.75"
GOOD, BAD = "color:#1a8f5f", "color:#d43d3d"
"""Told apart on light and on dark; words say the same."""


def write_release(release: Release) -> Html:
    """What was released, how private it is, what each level has, and whether it holds."""
    plan = release.measurements.plan
    low, high = release.sizes
    regions = release.hierarchy.region_count
    levels = len(release.hierarchy.levels)
    return _write_box(
        _write_head(tag("span", "Release of ", _name(release.hierarchy.path(0, 0)[0]))),
        tag(
            "p",
            f"How many groups there are of each size, {low:,} to {high:,}, in {regions:,} "
            f"region{'s'[: regions > 1]} on {levels} level{'s'[: levels > 1]}: "
            f"{release.total:,} groups in all.",
            style="margin:.3em 0",
        ),
        tag("p", _describe_privacy(plan), style="margin:.3em 0"),
        _write_table(
            ["level", "regions", "groups", plan.unit.name, "19 of 20 noises within"],
            [
                [
                    _name(level.name),
                    f"{plan.shape(index)[0]:,}",
                    f"{get_total(release.counts, index):,}",
                    show_short(level.loss),
                    f"± {accuracy.reach:,}",
                ]
                for index, (level, accuracy) in enumerate(zip(plan.levels, find_accuracy(plan), strict=True))
            ],
        ),
        _write_status(release),
    )


def write_verification(verification: Verification) -> Html:
    """Each check and its outcome."""
    return _write_box(
        _write_head(_write_outcome(verification)),
        _write_table(
            ["", "check", "what"],
            [[_mark(check), tag("b", check.name), _describe_check(check)] for check in verification.checks],
            left=3,
        ),
    )


def write_plan(plan: Plan) -> Html:
    """What will be measured at each level, and with how much noise."""
    return _write_box(
        _write_head(tag("span", "Plan")),
        tag("p", _describe_privacy(plan), style="margin:.3em 0"),
        _write_table(
            ["level", "query", "regions", "sensitivity", plan.unit.name, "scale of the noise"],
            [
                [
                    _name(level.name),
                    level.query,
                    f"{plan.shape(index)[0]:,}",
                    show_exact(level.sensitivity),
                    show_short(level.loss),
                    show_short(level.scale),
                ]
                for index, level in enumerate(plan.levels)
            ],
            left=2,
        ),
    )


def write_region(view: RegionView) -> Html:
    """The key figures of a region, and its distribution."""
    mean, median, most = view.mean, view.quantile(0.5), view.quantile(0.9)
    facts = [f"{view.total:,} groups"]
    if mean is not None:
        facts += [f"mean size {mean:,.2f}", f"median {median:,}", f"nine of ten up to {most:,}"]
    below = len(view.release.hierarchy.children(view.depth, view.index))
    if below:
        facts.append(f"{below:,} subregion{'s'[: below > 1]}")
    path = [piece for own in view.path for piece in (" > ", _name(own))][1:]
    return _write_box(
        _embed(view.plot()) if view.total else _write_head(tag("span", *path)),
        tag("p", "Level ", _name(view.level), f": {', '.join(facts)}.", style="margin:.3em 0"),
    )


def write_comparison(comparison: Comparison) -> Html:
    """The differences at each level, the largest of them, and what noise has to do with them."""
    levels = comparison.levels
    words = [text for level in levels for text in (describe_noise(level), *describe_alone(level)) if text]
    largest = [
        [_name(level.level), _name(" > ".join(each.path)), *write_difference_figures(each)]
        for level in levels
        for each in level.largest
    ]
    return _write_box(
        _write_head(tag("span", "A and B are the same" if comparison.same else "A and B side by side")),
        _write_table(
            LEVEL_COLUMNS,
            [[_name(level.level), *write_level_figures(level)] for level in levels],
        ),
        *([_write_table(DIFFERENCE_COLUMNS, largest, left=2)] if largest else []),
        *(tag("p", text, style="margin:.3em 0") for text in (*words, *comparison.notes)),
    )


def _embed(picture: Picture) -> Html:
    """As an image: the style of an SVG that is part of a page is that of all others in it."""
    data = base64.b64encode(picture.svg.encode()).decode()
    alternative = escape(f"{picture.title}: groups by size")
    return Html(
        f'<img src="data:image/svg+xml;base64,{data}" alt="{alternative}" '
        'style="max-width:100%;border-radius:4px">'
    )


def _describe_privacy(plan: Plan) -> str:
    epsilon = show_short(plan.epsilon)
    if plan.epsilon >= LARGE_EPSILON:
        return f"Private with epsilon = {epsilon}, which is so large that the promise says little."
    return f"Private with epsilon = {epsilon}: {describe_factor(plan)}."


def _write_status(release: Release) -> Html:
    cells = release.hierarchy.region_count * count_sizes(release.sizes)
    if cells > MOST_CELLS:
        return tag("p", "Not checked just to be shown: release.verify() does it.", style=f"margin:0;{QUIET}")
    verification = release.verify()
    failed = [check for check in verification.checks if check.failed]
    return join(
        tag("p", _write_outcome(verification), style="margin:0"),
        *(tag("p", _mark(check), " ", _describe_check(check), style="margin:0") for check in failed),
    )


def _write_outcome(verification: Verification) -> Html:
    if verification:
        return tag("span", verification.describe(), style=QUIET if verification.skipped else GOOD)
    words = verification.describe().removesuffix(".")
    return tag("b", f"{words}: do not rely on these counts.", style=BAD)


def _mark(check: Check) -> Html:
    if not check.made:
        return tag("span", "not made", style=QUIET)
    return tag("span", "ok", style=GOOD) if check.passed else tag("b", "FAILED", style=BAD)


def _describe_check(check: Check) -> str:
    return check.statement + (f" (for example: {check.example})" if check.example else "")


def _name(text: str) -> Html:
    return name(text, most=MOST_NAME)


def _write_box(*children: str) -> Html:
    return tag("div", *children, style=BOX)


def _write_head(title: Html) -> Html:
    return tag("div", title, style="font-weight:600;font-size:1.1em")


def _write_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Html:
    """A table whose first ``left`` columns are text, on the left; numbers after them, on the right."""

    def write_row(kind: str, cells: Sequence[str]) -> Html:
        sides = ["left" if place < left else "right" for place in range(len(cells))]
        return tag(
            "tr", *(tag(kind, cell, style=LINE + side) for cell, side in zip(cells, sides, strict=True))
        )

    return tag(
        "table",
        tag("thead", write_row("th", columns)),
        tag("tbody", *(write_row("td", row) for row in rows)),
        style=TABLE,
    )
