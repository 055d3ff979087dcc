"""The page: one HTML file that contains its style, its script and its data, and loads nothing else."""

from __future__ import annotations

from pathlib import Path

from tallytree.errors import ReportError, show
from tallytree.files import write_whole
from tallytree.markup import Html, join, name, tag, write_json
from tallytree.releases.released import Released
from tallytree.report.map_shapes import ShapeMap
from tallytree.report.offline_page import build_page, embed_text
from tallytree.report.range_errors import RangeErrors, pack_errors
from tallytree.report.report_content import Content, gather
from tallytree.report.report_sections import (
    write_accuracy,
    write_checks,
    write_figures,
    write_lead,
    write_privacy,
    write_source,
)
from tallytree.solvers.checks import Verification

SCRIPTS = (
    "data.js",
    "numbers.js",
    "figures.js",
    "elements.js",
    "search.js",
    "icicle.js",
    "map.js",
    "chart.js",
    "multiples.js",
    "downloads.js",
    "estimates.js",
    "combiner.js",
    "explorer.js",
)
"""The parts of the script, in order."""
UNNAMED = "all"
"""The name of a root to which nobody gave one."""


def write_page(release: Released, verification: Verification, *, shapes: ShapeMap | None = None) -> str:
    """Write the whole page, with the map if there are shapes."""
    content = gather(release)
    if shapes is not None and shapes.level >= len(content.levels):
        level = show(release.hierarchy.levels[shapes.level])
        raise ReportError(
            f"The shapes are of level {level}, which is too large for a page and left out of it."
        )
    root, words = content.facts["levels"][0]["names"][0], release.words
    subject = words.say("Groups by size")
    heading = words.title or (subject if root == UNNAMED else f"{subject} in {root[:100]}")
    parts = {
        "title": tag("title", heading),
        "heading": name(heading),
        "groups": words.say("groups"),
        "Groups": words.say("Groups"),
        "made": str(release.manifest.get("created", ""))[:10],
        "lead": write_lead(release, verification),
        "figures": write_figures(release, verification),
        "privacy": write_privacy(release),
        "accuracy": write_accuracy(release, content.levels),
        "checks": write_checks(verification),
        "source": write_source(release),
        "data": _write_data(content, pack_errors(release, len(content.levels)), shapes),
    }
    return build_page("page.html", parts, styles=["style.css"], scripts=SCRIPTS)


def _write_data(content: Content, errors: RangeErrors, shapes: ShapeMap | None) -> Html:
    facts = {**content.facts, "sums": errors.facts}
    if shapes is not None:
        facts["map"] = {"level": shapes.level, "width": shapes.width, "height": shapes.height}
    pieces = [embed_text(write_json(facts), "facts", "json")]
    texts = {f"counts-{index}": level.text for index, level in enumerate(content.levels)}
    texts |= {f"figures-{index}": text for index, text in enumerate(content.figures)}
    texts |= {f"errors-{index}": text for index, text in enumerate(errors.levels)}
    if shapes is not None:
        texts["shapes"] = shapes.text
    pieces += [embed_text(Html(text), key, "base64") for key, text in texts.items()]
    return join(*pieces)


# The report as a file.


def write_report(
    release: Released,
    target: Path,
    *,
    verification: Verification | None = None,
    shapes: ShapeMap | None = None,
) -> None:
    """Write the page of a release to a file; it replaces an earlier one only when it is complete."""
    checked = release.verify() if verification is None else verification
    write_whole(target, write_page(release, checked, shapes=shapes).encode())
