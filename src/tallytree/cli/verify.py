"""``tallytree verify``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_checks, print_json, print_text


def verify(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    as_json: Json = False,
) -> None:
    """Check a release folder: that everything adds up and that no file was changed."""
    from tallytree.releases import load

    verification = load(folder).verify()
    if as_json:
        print_json(verification.to_dict())
    else:
        print_checks(verification)
        print_text("All checks passed." if verification else "The release does not hold what it promises.")
    if not verification:
        raise typer.Exit(1)
