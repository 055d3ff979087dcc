"""The report as a file."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from tallytree.errors import FolderError, describe, show
from tallytree.releases import Release
from tallytree.report.page import write_page
from tallytree.report.shapes import ShapeMap
from tallytree.verification import Verification

REPORT = "report.html"


def write_report(
    release: Release,
    target: Path,
    *,
    verification: Verification | None = None,
    shapes: ShapeMap | None = None,
) -> None:
    """Write the page of a release; it takes the place of an earlier one when it is complete."""
    page = write_page(release, verification or release.verify(), shapes=shapes)
    stage = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
    try:
        stage.write_text(page, encoding="utf-8", newline="\n")
        stage.replace(target)
    except OSError as error:
        raise FolderError(f"{show(target, most=150)} cannot be written: {describe(error)}.") from None
    finally:
        with suppress(OSError):
            stage.unlink()
