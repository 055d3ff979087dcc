"""Random bytes, many and unpredictable: AES-256 in counter mode, keyed by the operating system.

That nobody without the key can tell these bytes from truly random ones is the one assumption behind the noise
that is not a theorem.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

Take = Callable[[int], bytes]
"""So many bytes of a stream: those that follow the ones taken before."""


class RandomStream:
    """The key stream of a cipher with a key of its own, for one piece of work in one thread.

    Streams have nothing in common, so pieces of work may be done in any order, thread or process. The
    counter starts at 0, which is safe because no key is used twice.
    """

    def __init__(self) -> None:
        self._cipher = Cipher(AES(os.urandom(32)), CTR(bytes(16))).encryptor()
        self._process = os.getpid()

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if os.getpid() != self._process:  # both processes would get the same bytes
            raise RuntimeError("A random stream cannot be used in a process forked after it began.")
        return self._cipher.update(bytes(count))


class ByteQueue:
    """The bytes of a stream in their order, each to be used once: those before ``at`` are used up."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self.buffer: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes are here and not used."""
        return len(self.buffer) - self.at

    def refill(self, count: int) -> None:
        """Put ``count`` more bytes of the stream behind those that are left."""
        kept = self.buffer[self.at :].tobytes()
        self.buffer = np.frombuffer(kept + self._take(count), dtype=np.uint8)
        self.at = 0

    def pop(self) -> int:
        """The next byte."""
        if not self.left:
            self.refill(64)
        self.at += 1
        return int(self.buffer[self.at - 1])
