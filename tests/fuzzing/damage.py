"""Damage to a file: bytes changed, cut, repeated, or replaced by what often breaks a reader."""

from __future__ import annotations

import random

TOKENS = (
    b"", b"\0", b"\xff", b"\xfe\xff", b"\n", b"\r", b'"', b'"""', b",", b"-1", b"0", b"1e999", b"NaN",
    b"null", b"inf", b"99999999999999999999", b"0.1", b"true", b"[]", b"{}", b"[[[[", b"\\u0000",
    b"\xed\xa0\x80", b"1:20", b"${env:HOME}", b"'; DROP TABLE people; --", b"../../..", b"=" * 300,
)  # fmt: skip


def damage(seed: bytes, generator: random.Random) -> bytes:
    """``seed`` with one to five changes."""
    data = bytearray(seed)
    for _ in range(generator.randint(1, 5)):
        start = generator.randint(0, len(data))
        end = min(len(data), start + generator.choice((0, 1, 1, 2, 4, 16, 64)))
        kind = generator.randrange(5)
        if kind == 0 and data:  # a bit
            data[min(start, len(data) - 1)] ^= 1 << generator.randrange(8)
        elif kind == 1:
            del data[start:end]
        elif kind == 2:
            data[start:end] = generator.choice(TOKENS)
        elif kind == 3:
            data[start:start] = data[generator.randint(0, len(data)) :][: generator.randint(1, 40)]
        else:
            data[start:end] = generator.randbytes(end - start)
    return bytes(data if generator.random() > 0.05 else data[: generator.randint(0, len(data))])
