"""Attacks on mechanisms: they catch faults that are planted, for every promise, and find nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

import tallytree as tt
from tallytree import arrays
from tallytree.privacy import door
from tallytree.privacy.digits import DigitNoise, Take, expand_probabilities, fill_draws
from tallytree.privacy.door import NOISES
from tallytree.privacy.noise import Advance, Fill, Noise
from tallytree.privacy.plan import Plan
from tallytree.research.auditing.audit_page import conclude
from tallytree.research.auditing.audit_run import audit
from tallytree.research.auditing.exact_losses import (
    ATTACKED,
    Promise,
    Verdict,
    enumerate_losses,
    list_promises,
)
from tests.research.auditing_support import (
    CLASSES,
    COUNTS,
    MEASUREMENTS,
    ONE_FOR_EACH_QUERY,
    TWO,
    ForPersons,
    ForPrivateTotals,
    FromBelow,
    HalvedJoint,
    KeepsTotal,
    NarrowWindow,
    QuarterLess,
    attack,
    find_verdict,
    fix_keys,
)

Ints = npt.NDArray[np.int64]


@pytest.fixture(autouse=True)
def repeatable_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    fix_keys(monkeypatch)


# Right mechanisms, and mechanisms with too little noise.


@pytest.mark.parametrize("name", ONE_FOR_EACH_QUERY)
def test_an_attack_comes_near_the_stated_epsilon_and_not_above_it(name: str) -> None:
    measured, released = (
        attack(name, runs=2000, seed=0),
        attack(name, aim=COUNTS, runs=400, seed=0),
    )
    assert measured.stated == released.stated == 2
    assert 0.5 < measured.evidence.bound < 2  # it can see
    assert 0 < released.evidence.bound < 2
    assert {measured.verdict, released.verdict} == {Verdict.HOLDS}


def test_both_attacks_catch_noise_that_is_halved() -> None:
    for aim in (MEASUREMENTS, COUNTS):
        found = attack(HalvedJoint(), aim=aim, runs=1500, seed=0)
        assert found.stated == 2
        assert 2 < found.evidence.bound < 4
        assert found.verdict == Verdict.BROKEN


def test_an_attack_catches_noise_that_is_a_quarter_too_small() -> None:
    measured = attack(QuarterLess(), runs=12_000, seed=0)
    assert measured.verdict == Verdict.BROKEN
    assert measured.evidence.bound < Fraction(8, 3)


# Planted faults: the plan is right, so enumeration sees nothing; what releases draw is not what it says.

Plant = Callable[[pytest.MonkeyPatch], None]


def change_answers(change: Callable[[int, Ints, Ints], Ints]) -> Plant:
    """Plant a fault into the code that adds noise to the answers of a level."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        right = door._add_noise_to

        def add(plan: Plan, level: int, answer: Ints, noise: Noise, report: Advance) -> Ints:
            return answer + change(level, right(plan, level, answer, noise, report) - answer, answer)

        monkeypatch.setattr(door, "_add_noise_to", add)

    return plant


def change_noise(change: Callable[[int, Ints], Ints]) -> Plant:
    """Plant a fault that does not depend on the answers."""
    return change_answers(lambda level, noise, answer: change(level, noise))


def clear(at: tuple[slice, slice], *, level: int = 1) -> Plant:
    """No noise in some regions and sizes of a level."""

    def change(index: int, noise: Ints) -> Ints:
        if index == level:
            noise[at] = 0
        return noise

    return change_noise(change)


def halve_last_region(level: int, noise: Ints) -> Ints:
    if level == 1:
        noise[-1] //= 2
    return noise


def mirror(level: int, noise: Ints) -> Ints:
    """Every other region has the noise of the one before it, with the other sign."""
    noise[1::2] = -noise[: len(noise) - 1 : 2]
    return noise


def halve_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DigitNoise.prepare
    monkeypatch.setattr(DigitNoise, "prepare", lambda self, scale: right(self, scale / 2))


class HalvedDigits(DigitNoise):
    """Half the scale, in a sampler of its own."""

    def prepare(self, scale: Fraction) -> Fill:
        return super().prepare(scale / 2)


class OneKey(DigitNoise):
    """One key for a whole release: all levels begin with the same draws."""

    def __init__(self) -> None:
        self._seed = int.from_bytes(os.urandom(16))

    def open_stream(self) -> Take:
        return np.random.default_rng(self._seed).bytes


class OneKeyForAll(DigitNoise):
    """The same key in every release."""

    def open_stream(self) -> Take:
        return np.random.default_rng(5).bytes


class OneKeyPerLevel(DigitNoise):
    """The same key for every piece of work of a level."""

    chunk = 8

    def prepare(self, scale: Fraction) -> Fill:
        seed = int.from_bytes(os.urandom(16))
        return lambda out: fill_draws(expand_probabilities(scale), np.random.default_rng(seed).bytes, out)


class Remembering(DigitNoise):
    """The same draws wherever as many of the same scale are asked for."""

    def __init__(self) -> None:
        self._made: dict[tuple[Fraction, int], Ints] = {}

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        if (scale, count) not in self._made:
            self._made[scale, count] = super().draw(scale, count, advance)
        return self._made[scale, count].copy()


def take(sampler: type[DigitNoise]) -> Plant:
    """Releases take another sampler."""
    return lambda monkeypatch: monkeypatch.setitem(NOISES, "digits", sampler)


def cut_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on levels a few regions at a time, as on large ones."""
    monkeypatch.setattr(arrays, "LARGE", 12)
    monkeypatch.setattr(arrays, "CHUNK_CELLS", 8)


def share_draws_among_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_levels(monkeypatch)
    take(Remembering)(monkeypatch)


ALL = slice(None)
FAULTS: dict[str, Plant] = {
    "half the scale": halve_the_scale,
    "half the scale in another sampler": take(HalvedDigits),
    "no noise in the last region": clear((slice(-1, None), ALL)),
    "no noise in the first region": clear((slice(1), ALL)),
    "no noise in a region between": clear((slice(3, 4), ALL)),
    "no noise on the last sizes": clear((ALL, slice(-2, None))),
    "no noise on the lowest size": clear((ALL, slice(1))),
    "no noise in one cell": clear((slice(-1, None), slice(2, 3))),
    "no noise at the root": clear((ALL, ALL), level=0),
    "no noise at the leaves": clear((ALL, ALL)),
    "half the noise in the last region": change_noise(halve_last_region),
    "noise shared by regions": change_noise(lambda level, noise: np.broadcast_to(noise[:1], noise.shape)),
    "noise shared by sizes": change_noise(
        lambda level, noise: np.repeat(noise[:, :1], noise.shape[1], axis=1)
    ),
    "noise mirrored between regions": change_noise(mirror),
    "noise never below zero": change_noise(lambda level, noise: np.abs(noise)),
    "noise without tails": change_noise(lambda level, noise: np.clip(noise, -1, 1)),
    "no noise on zeros": change_answers(lambda level, noise, answer: noise * (answer != 0)),
    "noise shared by levels": take(OneKey),
    "noise shared by releases": take(OneKeyForAll),
    "noise shared by pieces of work": take(OneKeyPerLevel),
    "noise shared by parts of a large level": share_draws_among_parts,
}

QUIET = {
    "no noise on zeros": 1500,
    "noise without tails": 1500,
    "half the scale": 4000,
    "half the scale in another sampler": 4000,
    "half the noise in the last region": 12_000,
}
NAMED = ("half the scale", "no noise in the last region", "no noise on the last sizes")


@pytest.mark.parametrize("fault", FAULTS)
def test_an_attack_catches_what_enumeration_cannot(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    name = "direct-dp" if fault == "noise without tails" else "cumulative-dp"
    found = attack(name, runs=QUIET.get(fault, 800))
    assert enumerate_losses(tt.mechanism(name), ATTACKED, epsilon=TWO).verdict == Verdict.HOLDS
    assert found.verdict == Verdict.BROKEN


@pytest.mark.parametrize("change", ["none", "cut", "remembering"])
@pytest.mark.parametrize("name", ["direct-dp", "cumulative-dp"])
def test_an_attack_finds_nothing_without_a_fault(
    change: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on levels that are cut as large ones are; and draws are repeated only where a level is cut."""
    {"none": lambda _: None, "cut": cut_levels, "remembering": take(Remembering)}[change](monkeypatch)
    found = attack(name, runs=1000)
    assert found.verdict == Verdict.HOLDS
    assert found.evidence.bound > 0.3  # it can see


def test_the_place_of_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS["no noise in one cell"](monkeypatch)
    found = attack("cumulative-dp", runs=1500)
    assert (found.moved, found.tried) == ("f: 2 to 3", 16)
    assert found.verdict == Verdict.BROKEN


@pytest.mark.parametrize("fault", NAMED)
@pytest.mark.parametrize("seed", [None, 3])
def test_an_audit_catches_a_fault_in_what_releases_draw(
    fault: str, seed: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a mechanism on the sizes query, with the noise of releases and with repeatable noise."""
    FAULTS[fault](monkeypatch)
    found = audit("topdown", runs=1000, seed=seed, protect="group", total="private")
    assert (found.exact_verdict, found.verdict) == (Verdict.HOLDS, Verdict.BROKEN)
    assert "LOSES MORE THAN IT STATES. Caught by attack" in conclude(found)


# Faults for every promise.

PROMISES = list_promises(tt.mechanism("cumulative-dp"))


@pytest.mark.parametrize("name", ["direct-dp", "cumulative-dp"])
@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_every_promise_holds(name: str, promise: Promise) -> None:
    found = attack(name, promise, runs=1500)
    assert found.verdict == Verdict.HOLDS
    assert found.evidence.bound > 0.1  # it can see


@pytest.mark.parametrize("fault", ["no noise in the last region", "no noise on zeros"])
@pytest.mark.parametrize("promise", PROMISES[1:], ids=str)
def test_an_attack_catches_a_fault_whatever_is_promised(
    fault: str, promise: Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS[fault](monkeypatch)
    name = "direct-dp" if promise == ("group", "private") else "cumulative-dp"
    assert attack(name, promise, runs=1500).verdict == Verdict.BROKEN


MISTAKEN: dict[str, tuple[tt.Mechanism, Promise, int, int, str]] = {
    "from below": (FromBelow(), ("person", "private"), MEASUREMENTS, 1000, "nothing to 1"),
    "a person's noise for listed groups": (ForPersons(), ("group", "public"), MEASUREMENTS, 1500, "0 to 3"),
    "a person's noise for groups": (ForPersons(), ("group", "private"), MEASUREMENTS, 1000, "nothing to 4"),
    "one cell in place of two": (ForPrivateTotals(), ("group", "public"), MEASUREMENTS, 3000, " to "),
    "a narrow window": (NarrowWindow(), ("person", "public"), CLASSES, 2500, "1-2 to 4+"),
    "a narrow window, private total": (NarrowWindow(), ("person", "private"), CLASSES, 2500, " to "),
    "a total that is kept": (KeepsTotal(), ("group", "private"), COUNTS, 800, "nothing to "),
    "a total that is kept, for persons": (KeepsTotal(), ("person", "private"), COUNTS, 1500, "nothing to 1"),
}
"""A mechanism, the promise that it breaks, what is attacked in how many runs, and the move that shows it."""


@pytest.mark.parametrize("mistake", MISTAKEN)
def test_an_attack_catches_a_mechanism_made_for_another_promise(mistake: str) -> None:
    method, promise, aim, runs, move = MISTAKEN[mistake]
    found = attack(method, promise, aim=aim, runs=runs)
    assert found.verdict == Verdict.BROKEN
    assert move in found.moved


def test_a_total_that_is_kept_shows_in_the_counts_alone() -> None:
    """That a group exists, neither the plan nor the noise gives away, but what is released does."""
    promise: Promise = ("group", "private")
    assert find_verdict(KeepsTotal(), promise) == Verdict.HOLDS
    assert attack(KeepsTotal(), promise, runs=800).verdict == Verdict.HOLDS
