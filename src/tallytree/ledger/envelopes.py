"""Signed statements: in-toto statements in DSSE envelopes, with one signature by an Ed25519 key.

- Envelope and PAE: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md
- Statement: https://github.com/in-toto/attestation/blob/v1.0/spec/v1.0/statement.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
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

from tallytree.errors import SignatureError, describe, show

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"

MOST_BYTES = 2**23
"""The largest size of an envelope: hundreds of times that of a large one."""
MOST_KEY_BYTES = 2**16
"""The largest size of a key file: hundreds of times that of an Ed25519 key."""

ADVICE = "'tallytree keygen' makes a pair of keys"


def write_statement(kind: str, digests: Mapping[str, str], predicate: Mapping[str, Any]) -> bytes:
    """Return a statement of this kind, as JSON, about things with these SHA-256 digests."""
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": kind,
        "predicate": predicate,
    }
    return json.dumps(statement, ensure_ascii=False).encode()


def sign_statement(payload: bytes, key: Ed25519PrivateKey) -> bytes:
    """Return the envelope with a statement and its signature."""
    signature = key.sign(encode_for_signing(PAYLOAD_TYPE, payload))
    return write_envelope(payload, signature, name_key(key.public_key()))


def encode_for_signing(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's pre-authentication encoding (PAE).

    >>> encode_for_signing("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def write_envelope(payload: bytes, signature: bytes, key_name: str) -> bytes:
    """Return the envelope of a signed statement, as JSON."""
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key_name, "sig": base64.b64encode(signature).decode()}],
    }
    return (json.dumps(envelope, indent=2) + "\n").encode()


def read_statement(path: Path, key: Ed25519PublicKey, kind: str, about: str) -> dict[str, Any]:
    """Return the statement of this kind in an envelope that was signed with this key.

    The envelope must be, byte for byte, as :func:`write_envelope` writes it: JSON and base64 have several
    forms for the same content, and a changed byte that changes nothing would go unnoticed.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise SignatureError(f"{path.name} is larger than {MOST_BYTES:,} bytes.")
    payload, signature, key_name = _open_envelope(content, path.name)
    try:
        key.verify(signature, encode_for_signing(PAYLOAD_TYPE, payload))
    except InvalidSignature:
        raise SignatureError("The signature is by another key, or of another statement.") from None
    if content != write_envelope(payload, signature, name_key(key)) or key_name != name_key(key):
        raise SignatureError(f"{path.name} is not as Tallytree writes it.")
    try:
        statement = json.loads(payload)
    except (ValueError, RecursionError):
        statement = None
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise SignatureError("What was signed is not an in-toto statement.")
    if statement.get("predicateType") != kind:
        raise SignatureError(f"What was signed is not a statement about {about}.")
    return statement


def _open_envelope(content: bytes, name: str) -> tuple[bytes, bytes, str]:
    """Return the payload, the signature and the name of the key; refuse envelopes of other kinds."""
    try:
        envelope = json.loads(content)
        kind, signatures = envelope["payloadType"], envelope["signatures"]
        if kind != PAYLOAD_TYPE:
            raise SignatureError("What was signed is not an in-toto statement.")
        if not isinstance(signatures, list) or len(signatures) != 1:
            raise SignatureError(f"{name} does not have exactly one signature.")
        payload = base64.b64decode(envelope["payload"], validate=True)
        signature = base64.b64decode(signatures[0]["sig"], validate=True)
        return payload, signature, str(signatures[0]["keyid"])
    except (KeyError, TypeError, ValueError, RecursionError, binascii.Error) as error:
        if isinstance(error, SignatureError):
            raise
        raise SignatureError(f"{name} is not a DSSE envelope.") from None


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
