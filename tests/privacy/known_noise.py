"""Noise that is known, for tests of what is done with it."""

from fractions import Fraction

from tallytree.privacy.noise import ExactNoise, Fill


class KnownNoise(ExactNoise):
    """The same draw everywhere; ``asked`` has the scales that it was asked for."""

    description = "known"
    chunk = 5

    def __init__(self, value: int) -> None:
        self.value = value
        self.asked: list[Fraction] = []

    def prepare(self, scale: Fraction) -> Fill:
        self.asked.append(scale)
        return lambda out: out.fill(self.value)
