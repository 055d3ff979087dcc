"""The report as a file."""

from __future__ import annotations

from pathlib import Path

from tallytree.folders import write_whole
from tallytree.releases import Release
from tallytree.report.page import write_page
from tallytree.report.shapes import ShapeMap
from tallytree.verification import Verification


def write_report(
    release: Release,
    target: Path,
    *,
    verification: Verification | None = None,
    shapes: ShapeMap | None = None,
) -> None:
    """Write the page of a release; it takes the place of an earlier one when it is complete."""
    checked = release.verify() if verification is None else verification
    write_whole(target, write_page(release, checked, shapes=shapes).encode())
