"""The signature of a release folder: an in-toto statement about its files in a DSSE envelope (Ed25519).

The statement names the SHA-256 of the manifest and of every file that the manifest lists, and contains the
manifest itself. The report is not signed: it is made from the other files, and can be made again.

- Envelope and PAE: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md
- Statement: https://github.com/in-toto/attestation/blob/v1.0/spec/v1.0/statement.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from tallytree.errors import FolderError, SignatureError, describe, show
from tallytree.files import hash_file, write_lasting
from tallytree.releases.manifest import MOST_BYTES, Manifest, read_manifest
from tallytree.releases.released import MANIFEST, SIGNATURE, Released, as_path, read_folder
from tallytree.solvers.checks import Check, Verification

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:tallytree:release:1"

MOST_KEY_BYTES = 2**16
"""The largest size of a key file: hundreds of times that of an Ed25519 key."""

SIGNED = "the files are those that the holder of the key signed (Ed25519)"

ADVICE = "openssl genpkey -algorithm ed25519 makes a key"


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
        payload = write_statement(path, release.manifest)
    except OSError as error:
        raise FolderError(f"{show(path, most=150)} cannot be read: {describe(error)}.") from None
    signature = signer.sign(encode_for_signing(PAYLOAD_TYPE, payload))
    write_lasting(path / SIGNATURE, write_envelope(payload, signature, name_key(signer.public_key())))
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
        statement = read_statement(folder / SIGNATURE, key)
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


def encode_for_signing(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's pre-authentication encoding (PAE).

    >>> encode_for_signing("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def write_statement(folder: Path, manifest: Manifest) -> bytes:
    """Return the statement about the files of a folder, as JSON."""
    names = [MANIFEST, *manifest["files"]]
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": hash_file(folder / name)}} for name in names],
        "predicateType": PREDICATE_TYPE,
        "predicate": manifest,
    }
    return json.dumps(statement, ensure_ascii=False).encode()


def write_envelope(payload: bytes, signature: bytes, key_name: str) -> bytes:
    """Return the envelope of a signed statement, as JSON."""
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key_name, "sig": base64.b64encode(signature).decode()}],
    }
    return (json.dumps(envelope, indent=2) + "\n").encode()


def read_statement(path: Path, key: Ed25519PublicKey) -> dict[str, Any]:
    """Return the statement in an envelope that was signed with this key.

    The envelope must be, byte for byte, as :func:`write_envelope` writes it: JSON and base64 have several
    forms for the same content, and a changed byte that changes nothing would go unnoticed.
    """
    with path.open("rb") as file:
        content = file.read(2 * MOST_BYTES + 1)
    if len(content) > 2 * MOST_BYTES:
        raise SignatureError(f"{SIGNATURE} is larger than {2 * MOST_BYTES:,} bytes.")
    payload, signature, key_name = _open_envelope(content)
    try:
        key.verify(signature, encode_for_signing(PAYLOAD_TYPE, payload))
    except InvalidSignature:
        raise SignatureError("The signature is by another key, or of another statement.") from None
    if content != write_envelope(payload, signature, name_key(key)) or key_name != name_key(key):
        raise SignatureError(f"{SIGNATURE} is not as 'tallytree sign' writes it.")
    try:
        statement = json.loads(payload)
    except (ValueError, RecursionError):
        statement = None
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise SignatureError("What was signed is not an in-toto statement.")
    if statement.get("predicateType") != PREDICATE_TYPE:
        raise SignatureError("What was signed is not a statement about a release.")
    return statement


def _open_envelope(content: bytes) -> tuple[bytes, bytes, str]:
    """Return the payload, the signature and the name of the key; refuse envelopes of other kinds."""
    try:
        envelope = json.loads(content)
        kind, signatures = envelope["payloadType"], envelope["signatures"]
        if kind != PAYLOAD_TYPE:
            raise SignatureError("What was signed is not an in-toto statement.")
        if not isinstance(signatures, list) or len(signatures) != 1:
            raise SignatureError(f"{SIGNATURE} does not have exactly one signature.")
        payload = base64.b64decode(envelope["payload"], validate=True)
        signature = base64.b64decode(signatures[0]["sig"], validate=True)
        return payload, signature, str(signatures[0]["keyid"])
    except (KeyError, TypeError, ValueError, RecursionError, binascii.Error) as error:
        if isinstance(error, SignatureError):
            raise
        raise SignatureError(f"{SIGNATURE} is not a DSSE envelope.") from None


def _compare(statement: dict[str, Any], folder: Path, manifest: Manifest) -> str:
    """Return how the signed statement and the folder differ; empty if they do not."""
    now = json.loads(write_statement(folder, manifest))
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


def name_key(key: Ed25519PublicKey) -> str:
    """Return the name of a key in envelopes: the SHA-256 of its public half."""
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


def read_private_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Read a private key, which signs."""
    content, shown = _read_key(path)
    try:
        key = load_pem_private_key(content, password=None)
    except TypeError:
        raise SignatureError(f"The key in {shown} has a password: give it without one.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError(f"{shown} is not a private key (PEM): {ADVICE}.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError(f"The key in {shown} is not an Ed25519 key: {ADVICE}.")
    return key


def read_public_key(path: str | os.PathLike[str]) -> Ed25519PublicKey:
    """Read a public key, which checks signatures."""
    content, shown = _read_key(path)
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError(
            f"{shown} is not a public key (PEM): openssl pkey -pubout writes that of a private key."
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise SignatureError(f"The key in {shown} is not an Ed25519 key.")
    return key


def _read_key(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """Return the content of a key file, and its name for messages, which never show the content."""
    shown = show(os.fspath(path), most=150)
    try:
        with Path(path).open("rb") as file:
            return file.read(MOST_KEY_BYTES), shown
    except FileNotFoundError:
        raise SignatureError(f"There is no key file {shown}.") from None
    except OSError as error:
        raise SignatureError(f"The key file {shown} cannot be read: {describe(error)}.") from None
    except ValueError:
        raise SignatureError(f"No file can be called {shown}.") from None


def _parse_digest(text: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise SignatureError("A SHA-256 has 64 hexadecimal digits, as sha256sum prints them.")
    return text.lower()
