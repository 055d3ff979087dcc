"""The signature of a release folder: a signed statement about its files.

The statement names the SHA-256 of the manifest and of every file that the manifest lists, and contains the
manifest itself. The report is not signed: it is made from the other files, and can be made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tallytree.errors import FolderError, SignatureError, describe, show
from tallytree.files import hash_file, new_file, write_lasting, write_new
from tallytree.ledger.envelopes import (
    read_private_key,
    read_public_key,
    read_statement,
    sign_statement,
    write_statement,
)
from tallytree.releases.manifest import Manifest, read_manifest
from tallytree.releases.released import MANIFEST, SIGNATURE, Released, as_path, read_folder
from tallytree.solvers.checks import Check, Verification

PREDICATE_TYPE = "urn:tallytree:release:1"

SIGNED = "the files are those that the holder of the key signed (Ed25519)"


def make_keys(path: str | os.PathLike[str]) -> Path:
    """Make a pair of Ed25519 keys (PEM): the private one in this file, which only its owner can read.

    The path of the public one is returned: ``key.public.pem`` beside ``key.pem``. Neither may exist.
    """
    private = as_path(path)
    if not private.name:  # as of an empty text, or of the root of all folders
        raise SignatureError("The file of a key needs a name.")
    public = private.with_name(f"{private.stem}.public{private.suffix or '.pem'}")
    key = Ed25519PrivateKey.generate()
    with new_file(private, is_private=True) as file:
        file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        write_new(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return public


def sign(folder: str | os.PathLike[str], key: str | os.PathLike[str]) -> Path:
    """Sign a release folder with a private key (Ed25519, PEM); return the path of ``signature.json``.

    A release that fails its checks is not signed. An earlier signature is replaced. Sign last: intervals that
    are made later change the manifest, so the folder must be signed again.

    >>> sign("no-such-folder", "key.pem")
    Traceback (most recent call last):
    ...
    tallytree.errors.SignatureError: There is no key file 'key.pem'.
    """
    signer = read_private_key(key)
    path = as_path(folder)
    release = read_folder(path, Released)
    failed = [check.name for check in release.verify().checks if check.failed]
    if failed:
        raise FolderError(
            f"{show(path, most=150)} is not signed, because it fails the check {show(failed[0])}: see "
            "'tallytree verify'."
        )
    try:
        payload = _state(path, release.manifest)
    except OSError as error:
        raise FolderError(f"{show(path, most=150)} cannot be read: {describe(error)}.") from None
    write_lasting(path / SIGNATURE, sign_statement(payload, signer))
    return path / SIGNATURE


def verify(
    folder: str | os.PathLike[str],
    *,
    key: str | os.PathLike[str] | None = None,
    sha256: str | None = None,
    recompute: bool = False,
) -> Verification:
    """Check a release folder, its signature with a public ``key``, and the SHA-256 of its manifest.

    The check of a signature fails if the folder has none. ``sha256`` is the digest of ``manifest.json`` as
    kept elsewhere, in hexadecimal; ``recompute`` also does the post-processing again.

    >>> verify("release", sha256="12")
    Traceback (most recent call last):
    ...
    tallytree.errors.SignatureError: A SHA-256 has 64 hexadecimal digits, as sha256sum prints them.
    """
    signer = None if key is None else read_public_key(key)
    digest = None if sha256 is None else _parse_digest(sha256)
    path = as_path(folder)
    release = read_folder(path, Released)
    checks = list(release.verify(recompute=recompute).checks)
    if signer is not None:
        checks = [check for check in checks if check.name != "signature"]
        checks.append(check_signature(path, release.manifest, signer))
    if digest is not None:
        checks.append(check_digest(path, digest))
    return Verification(tuple(checks))


def check_signature(folder: Path, manifest: Manifest, key: Ed25519PublicKey) -> Check:
    """Check that a folder's signature is by this key, and about these files and this manifest."""
    try:
        statement = read_statement(folder / SIGNATURE, key, PREDICATE_TYPE, "a release")
        problem = _compare(statement, folder, manifest)
    except FileNotFoundError as error:
        problem = f"{Path(error.filename).name} is missing"
    except OSError as error:
        problem = f"a file cannot be read: {describe(error)}"
    except SignatureError as error:
        problem = str(error).removesuffix(".")
    return Check("signature", SIGNED, int(bool(problem)), problem)


def check_digest(folder: Path, sha256: str) -> Check:
    """Check that the manifest, which has the digests of the other files, has this digest itself."""
    same = hashlib.sha256(read_manifest(folder / MANIFEST)).hexdigest() == sha256
    example = "" if same else f"{MANIFEST} has another digest"
    return Check("digest", f"{MANIFEST} has the SHA-256 that was given", int(not same), example)


def _state(folder: Path, manifest: Manifest) -> bytes:
    """Return the statement about the files of a folder."""
    digests = {name: hash_file(folder / name) for name in (MANIFEST, *manifest["files"])}
    return write_statement(PREDICATE_TYPE, digests, manifest)


def _compare(statement: dict[str, Any], folder: Path, manifest: Manifest) -> str:
    """Return how the signed statement and the folder differ; empty if they do not."""
    now = json.loads(_state(folder, manifest))
    if statement == now:
        return ""
    try:
        signed = {subject["name"]: subject["digest"] for subject in statement["subject"]}
    except (KeyError, TypeError):
        return "the signed statement does not name files"
    found = {subject["name"]: subject["digest"] for subject in now["subject"]}
    changed = [name for name in found if signed.get(name) != found[name]]
    changed += [name for name in signed if name not in found]
    if changed:
        return f"{show(changed[0])} is not as it was signed"
    return "the signed statement says more than this folder"


def _parse_digest(text: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise SignatureError("A SHA-256 has 64 hexadecimal digits, as sha256sum prints them.")
    return text.lower()
