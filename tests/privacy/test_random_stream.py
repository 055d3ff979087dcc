"""Random bytes come from the cipher, in order, each once, and from nowhere twice."""

import os
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from tallytree.privacy.digits import ByteQueue, RandomStream


def encrypt_counters(key: bytes, blocks: int) -> bytes:
    """Counter mode by hand: the numbers 0, 1, 2 ... encrypted, a block each."""
    block = Cipher(AES(key), ECB()).encryptor()
    return b"".join(block.update(i.to_bytes(16, "big")) for i in range(blocks))


def test_a_stream_is_the_cipher_in_counter_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    key = bytes(range(32))
    monkeypatch.setattr(os, "urandom", lambda count: key[:count])
    stream = RandomStream()
    taken = b"".join(stream.take(count) for count in (1, 0, 15, 16, 17, 100, 4947))
    assert taken == encrypt_counters(key, 5096 // 16 + 1)[: len(taken)]


def test_the_cipher_is_aes_256(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zero block under the zero key, from the known answers of the standard's test suite."""
    monkeypatch.setattr(os, "urandom", bytes)
    assert RandomStream().take(16).hex() == "dc95c078a2408989ad48a21492842087"


def test_every_stream_has_a_key_of_its_own() -> None:
    assert len({RandomStream().take(32) for _ in range(1000)}) == 1000


def test_a_queue_gives_every_byte_once_and_in_order() -> None:
    source = iter(range(256))
    queue = ByteQueue(lambda count: bytes(next(source) for _ in range(count)))
    assert queue.left == 0
    first = [queue.pop() for _ in range(3)]
    queue.refill(10)
    assert queue.left == 64 - 3 + 10
    queue.at += 2  # as the kernel does with bytes that it has used
    rest = [queue.pop() for _ in range(150)]
    assert [*first, 3, 4, *rest] == list(range(155))


FORKING = """
import os, sys
from fractions import Fraction
from tallytree.privacy.digits import DigitNoise, RandomStream

def draw():
    return DigitNoise().draw(Fraction(10**6), 20, lambda done: None).tobytes().hex()

def in_child(work):
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        os.write(send, work().encode())
        os._exit(0)
    os.close(send)
    told = os.fdopen(receive).read()
    assert os.waitpid(child, 0)[1] == 0
    return told

def use(stream):
    try:
        return stream.take(16).hex()
    except RuntimeError as error:
        return str(error)

def use_unguarded(stream):
    stream._process = os.getpid()
    return use(stream)

print(draw(), in_child(draw), in_child(draw), draw())
stream = RandomStream()
print(in_child(lambda: use(stream)))
print(in_child(lambda: use_unguarded(stream)), use(stream))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
def test_forked_processes_share_no_randomness() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True)
    draws, refusal, unguarded = done.stdout.splitlines()
    assert len(set(draws.split())) == 4
    assert refusal == "A random stream cannot be used in a process forked after it began."
    child, parent = unguarded.split()
    assert child == parent  # a control: without the guard, both have the same bytes
