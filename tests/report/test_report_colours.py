"""The report's colours: text can be read, and regions A and B told apart, by everybody and in both themes."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float64]

STYLE = (files("tallytree.report") / "assets" / "style.css").read_text(encoding="utf-8")
BLOCKS = [
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r"\{([^{}]*--page:[^{}]*)\}", STYLE)
]
LIGHT, DARK, CHOSEN_DARK = BLOCKS

SHADES = [f"shade-{step}" for step in range(5)]
TEXT = [
    ("ink", "page"), ("ink", "card"), ("ink", "soft"), ("ink", "bad-soft"), ("quiet", "page"),
    ("quiet", "card"), ("quiet", "soft"), ("a", "page"), ("a", "card"), ("b", "page"), ("b", "card"),
    ("on-mark", "a"), ("on-mark", "b"), ("good", "page"), ("bad", "page"),
    *(("on-shade", shade) for shade in SHADES), ("on-shade", "shade-none"), ("page", "ink"),
]  # fmt: skip

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
D65 = np.array([0.95047, 1.0, 1.08883])
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def read_linear(colour: str) -> Floats:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear: Floats = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return linear


def find_contrast(one: str, other: str) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    light = sorted(float(TO_XYZ[1] @ read_linear(colour)) for colour in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def find_lab(colour: str, seen: Floats) -> Floats:
    ratio = TO_XYZ @ np.clip(seen @ read_linear(colour), 0, 1) / D65
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_can_be_read(theme: dict[str, str]) -> None:
    for text, background in TEXT:
        assert find_contrast(theme[text], theme[background]) >= 4.5, (text, background)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("eyes", BLINDNESS)
def test_a_and_b_are_told_apart(theme: dict[str, str], eyes: str) -> None:
    """By a distance in CIELAB; one of about 2 is just seen."""
    seen = BLINDNESS[eyes]
    assert np.linalg.norm(find_lab(theme["a"], seen) - find_lab(theme["b"], seen)) > 25


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("eyes", BLINDNESS)
def test_shades_are_in_order(theme: dict[str, str], eyes: str) -> None:
    lightness = [find_lab(theme[shade], BLINDNESS[eyes])[0] for shade in SHADES]
    steps = np.diff(lightness)
    assert (abs(steps) > 4).all()
    assert len(set(np.sign(steps))) == 1


def test_the_two_dark_themes_are_one() -> None:
    assert DARK == CHOSEN_DARK
    assert set(LIGHT) == set(DARK)


def test_the_measures_themselves() -> None:
    assert find_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert find_contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert find_lab("#ffffff", BLINDNESS["none"]) == pytest.approx([100, 0, 0], abs=0.05)
    red, green = (find_lab(colour, BLINDNESS["deuteranopia"]) for colour in ("#b04a3a", "#7c6a1f"))
    assert np.linalg.norm(red - green) < 25  # the check would see it
