"""``tallytree sign``, ``tallytree keygen``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import Json, print_json, print_text


def sign(
    folder: Annotated[Path, typer.Argument(help="A release folder.", metavar="DIR")],
    key: Annotated[Path, typer.Option(help="Your private key (Ed25519, PEM).", metavar="KEY.pem")],
    as_json: Json = False,
) -> None:
    """Sign a release, so that readers can check who published it.

    signature.json in the release folder is a statement about the manifest and all files that it names.
    Whoever has your public key checks it with 'tallytree verify DIR --key PUBLIC.pem'. A release that fails
    its checks is not signed. Sign last: intervals that are added later change the manifest.
    """
    from tallytree.releases.signatures import sign as sign_folder

    target = sign_folder(folder, key)
    if as_json:
        print_json({"signature": str(target)})
    else:
        print_text(f"Signed: {target}")


def keygen(
    key: Annotated[Path, typer.Argument(help="The file for the private key.", metavar="KEY.pem")],
    as_json: Json = False,
) -> None:
    """Make a pair of keys: one to sign with, one for your readers.

    They are Ed25519 keys. KEY.pem is the private one, and can be read by you alone; KEY.public.pem is for
    those who check what you sign. No file is ever overwritten.
    """
    from tallytree.releases.signatures import make_keys

    public = make_keys(key)
    if as_json:
        print_json({"private": str(key), "public": str(public)})
    else:
        print_text(f"Private key: {key} (keep it to yourself)")
        print_text(f"Public key: {public}")
