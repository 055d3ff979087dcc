"""The samplers that releases draw their noise with, by name."""

from __future__ import annotations

from tallytree.errors import PrivacyError, name_choices, show
from tallytree.privacy.digit_noise import DigitNoise
from tallytree.privacy.noise import ExactNoise, GaussianNoise, OpenDPNoise
from tallytree.privacy.units import EPSILON, RHO

NOISES: dict[str, type[ExactNoise]] = {
    "digits": DigitNoise,
    "opendp": OpenDPNoise,
    "gaussian": GaussianNoise,
}
"""The exact samplers by name. The first two draw alike: ours is fast, OpenDP's independent of it."""


def find_noise(name: str | None, delta: object) -> ExactNoise:
    """The sampler of that name, or the usual one; refused if it is not of the kind that delta asks for."""
    if name is None:
        name = "digits" if delta is None else "gaussian"
    if not isinstance(name, str) or name not in NOISES:
        raise PrivacyError(f"There is no noise {show(name)}: {name_choices(name, NOISES)}")
    noise = NOISES[name]()
    if delta is None and noise.distribution != EPSILON.distribution:
        raise PrivacyError(f"The noise {name!r} needs a delta, far below one in the number of people.")
    if delta is not None and noise.distribution != RHO.distribution:
        raise PrivacyError(f"The noise {name!r} keeps epsilon without a delta: leave one of the two out.")
    return noise
