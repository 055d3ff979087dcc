"""``tallytree verify``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_checks, print_json, print_text, print_usefulness


def verify(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    quick: Annotated[bool, typer.Option("--quick", help="Do not repeat the post-processing.")] = False,
    key: Annotated[
        Path | None,
        typer.Option(help="Check the signature with this public key (PEM).", metavar="PUBLIC.pem"),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option(help="The SHA-256 of manifest.json, if kept elsewhere.", metavar="DIGEST"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a release folder, from what is in it alone.

    Checks that the counts add up; that the noise fits the budget and the measurements; that the stated
    privacy follows from the plan; that the charge to a ledger covers it; that the objective and the
    post-processing are reproduced; and that no file was changed. A check that could not be made is shown as
    such.
    """
    from tallytree.releases.manifest import parse_manifest, read_manifest
    from tallytree.releases.released import MANIFEST
    from tallytree.releases.signatures import verify as verify_folder
    from tallytree.releases.usefulness import read_usefulness
    from tallytree.words import read_words

    verification = verify_folder(folder, key=key, sha256=sha256, recompute=not quick)
    if as_json:
        print_json(verification.to_dict())
    else:
        print_checks(verification)
        if verification:
            manifest = parse_manifest(read_manifest(folder / MANIFEST).decode())
            print_usefulness(read_usefulness(manifest), read_words(manifest["data"]))
        print_text(verification.describe() if verification else "The release failed its checks.")
    if not verification:
        raise typer.Exit(1)
