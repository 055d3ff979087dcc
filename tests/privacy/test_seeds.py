"""No noise that can be repeated gets into a release: every public way to try is refused."""

from __future__ import annotations

import dataclasses
import inspect
import operator
import os
import random
import sys
from collections.abc import Callable, Collection
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import tallytree as tt
from tallytree.cli.main import app, main
from tallytree.cli.specs import CountSpec, ReleaseSpec
from tallytree.errors import InputError
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.privacy.door import NOISES, measure, measure_with_seed
from tallytree.privacy.noise import Advance, ExactNoise, Fill, SeededNoise
from tallytree.privacy.plan import Plan
from tallytree.solvers.solution import Solution

HIERARCHY = tt.Hierarchy.from_paths(["root", "state"], [("all", f"s{i}") for i in range(20)])
COUNTS = tt.GroupCounts(HIERARCHY, (1, 10), np.arange(200).reshape(20, 10) * 7)
MAKES_RELEASES = {"release", "load", "Release"}
RESEARCH = {"simulate", "evaluate", "Simulation"}
"""They take seeds, and what they make is not a release."""
AFTER_A_RELEASE = {"add_intervals"}
"""What it draws noise for is public already, and it must not touch the counts or the measurements."""
AFTER_MEASURING = {
    "Mechanism": {"imagine", "draw"},
    "Release": {"estimate", "estimate_areas", "margin", "save"},
}
"""Methods that draw from what is public already, for intervals."""


def release(**options: Any) -> tt.Release:
    return tt.release(COUNTS, epsilon="1", **options)


def simulate() -> tt.Simulation:
    return tt.simulate(COUNTS, epsilon="1", seed=7)


def find_parameters(thing: object, without: Collection[str] = ()) -> set[str]:
    """The names of what can be given to a function, or to a class and its public methods but for some."""
    methods = [name for name in dir(thing) if not name.startswith("_") and name not in without]
    calls = [thing, *(getattr(thing, name) for name in methods)]
    calls = calls if inspect.isclass(thing) else [thing]
    names: set[str] = set()
    for call in filter(callable, calls):
        try:
            names |= set(inspect.signature(call).parameters)
        except ValueError:  # built in
            continue
    return names


def takes_seed(name: str) -> bool:
    return any(word in name.lower() for word in ("seed", "random", "rng", "generator"))


# The surface: nothing but research takes a seed.


@pytest.mark.parametrize("name", sorted(set(tt.__all__) - RESEARCH - AFTER_A_RELEASE))
def test_nothing_public_but_research_takes_a_seed(name: str) -> None:
    public = find_parameters(getattr(tt, name), without=AFTER_MEASURING.get(name, set()))
    assert not [parameter for parameter in public if takes_seed(parameter)]


def test_the_check_itself_sees_a_seed() -> None:
    assert "seed" in find_parameters(tt.simulate)
    assert takes_seed("seed")
    assert set(tt.__all__) >= MAKES_RELEASES


def test_intervals_leave_what_was_released_as_it_is() -> None:
    made = release()
    found = tt.add_intervals(made, replicates=10, seed=7)
    assert found.counts is made.counts
    assert found.measurements is made.measurements
    assert found.manifest is made.manifest


def test_no_mechanism_has_an_option_for_a_seed() -> None:
    options = {field.name for kind in MECHANISMS for field in dataclasses.fields(kind)}
    assert "calibration" in options
    assert not [name for name in options if takes_seed(name)]


def test_no_setting_is_a_seed() -> None:
    names = {field.name for spec in (CountSpec, ReleaseSpec) for field in dataclasses.fields(spec)}
    assert "noise" in names
    assert not [name for name in names if takes_seed(name)]


def test_no_command_that_makes_a_release_has_an_option_for_a_seed() -> None:
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {
        name: {option for parameter in commands[name].params for option in parameter.opts}
        for name in ("release", "demo", "count")
    }
    assert "--noise" in options["release"]
    assert not [option for found in options.values() for option in found if takes_seed(option)]


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", "7"],
        ["--noise", "seeded"],
        ["--noise", "SeededNoise"],
        ["--noise", "7"],
        ["--spec", "seeded.toml"],
        ["--spec", "noise.toml"],
    ],
)
def test_the_command_line_takes_no_seed(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("state,size,groups\nGA,1,5\nNY,2,6\n")
    Path("seeded.toml").write_text("seed = 7\n")
    Path("noise.toml").write_text('noise = "seeded"\n')
    given = ["counts.csv", "--region", "state", "--sizes", "1:3", "--epsilon", "1", "--out", "out"]
    for more, code in (([], 0), (words, 2)):
        out = [*given[:-1], f"out{code}"]
        monkeypatch.setattr(sys, "argv", ["tallytree", "release", *out, *more])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == code
        assert Path(f"out{code}").exists() == (code == 0)
    assert capsys.readouterr().err.startswith("Error: ")


# Calls: a seed, seeded noise, or what came of one.


class Both(SeededNoise, ExactNoise):
    """Says that it is exact, and can be repeated."""

    description = "digits"
    chunk = 10

    def prepare(self, scale: Fraction) -> Fill:
        raise NotImplementedError


class BothTheOtherWay(ExactNoise, SeededNoise):
    """The same, with a draw of the other parent."""

    description = "digits"
    chunk = 10

    def draw(self, scale: Fraction, count: int, advance: Advance) -> np.ndarray[Any, Any]:
        return SeededNoise.draw(self, scale, count, advance)

    def prepare(self, scale: Fraction) -> Fill:
        raise NotImplementedError


class Duck:
    """Has all that noise has."""

    description = "digits"
    draw = SeededNoise.draw

    def __init__(self) -> None:
        self._generator = np.random.default_rng(7)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Smuggler(CumulativeJoint):
    """A mechanism that returns what a simulation made, whatever was measured."""

    def solve(self, plan: Plan, values: Any, *, total: int | None) -> Solution:
        return simulate().solution


@pytest.mark.parametrize("noise", [SeededNoise(7), Both(7), BothTheOtherWay(7), Duck(), 7, ExactNoise])
def test_the_one_door_is_closed_to_seeded_noise(noise: Any) -> None:
    plan = tt.mechanism("direct-dp").plan(HIERARCHY, sizes=(1, 10), epsilon="1")
    with pytest.raises(TypeError, match="exact noise"):
        measure(plan, COUNTS, noise=noise)
    with pytest.raises(InputError, match="There is no noise"):
        release(noise=noise)


def test_what_is_measured_with_a_seed_is_of_another_type() -> None:
    plan = tt.mechanism("direct-dp").plan(HIERARCHY, sizes=(1, 10), epsilon="1")
    seeded = measure_with_seed(plan, COUNTS, noise=SeededNoise(7))
    private = measure(plan, COUNTS, noise=NOISES["digits"]())
    assert type(seeded) is tt.Measurements is type(simulate().measurements)
    assert isinstance(private, tt.Measurements) and type(private) is not tt.Measurements


ALONE = "by tallytree.release or read by tallytree.load alone"
BY_HAND: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "simulation": (lambda made, run: tt.Release(run.measurements, run.counts, 1, made.manifest), ALONE),
    "counts": (lambda made, run: tt.Release(made.measurements, run.counts, 1, made.manifest), ALONE),
    "as it is": (lambda made, run: tt.Release(made.measurements, made.counts, 1, made.manifest), ALONE),
    "replaced": (lambda made, run: dataclasses.replace(made, counts=run.counts), ALONE),
    "measurements": (lambda made, run: dataclasses.replace(made, measurements=run.measurements), ALONE),
    "assigned": (lambda made, run: setattr(made, "counts", run.counts), "cannot assign"),
    "item": (lambda made, run: operator.setitem(made.counts, 0, run.counts[0]), "item assignment"),
    "in place": (lambda made, run: operator.setitem(made.counts[0], 0, 0), "read-only"),
    "measured": (lambda made, run: operator.setitem(made.measurements.values[0], 0, 0), "read-only"),
    "of a simulation": (lambda made, run: tt.release(run, epsilon="1"), "must be a tallytree.GroupCounts"),
    "of its parts": (
        lambda made, run: tt.release(run.measurements, epsilon="1"),
        "must be a tallytree.GroupCounts",
    ),
    "as a mechanism": (lambda made, run: release(mechanism=run), "There is no mechanism"),
    "mechanism": (lambda made, run: release(mechanism=Smuggler()), "by a registered mechanism"),
}


@pytest.mark.parametrize("way", BY_HAND)
def test_what_came_of_a_seed_cannot_be_put_into_a_release(way: str) -> None:
    put_in, why = BY_HAND[way]
    with pytest.raises((InputError, AttributeError, TypeError, ValueError), match=why):
        put_in(release(), simulate())


def test_a_simulation_has_no_way_to_be_saved() -> None:
    assert not [name for name in dir(tt.Simulation) if name in ("save", "write_into", "manifest", "verify")]


def test_a_release_that_is_copied_or_read_is_still_one(tmp_path: Path) -> None:
    made = release()
    made.save(tmp_path / "out", replicates=0)
    read = tt.load(tmp_path / "out")
    assert read.verify().passed
    assert all(np.array_equal(a, b) for a, b in zip(read.counts, made.counts, strict=True))


# The generators that everybody seeds.


def seed_everything() -> None:
    random.seed(7)
    np.random.seed(7)


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_global_seeds_have_no_influence(noise: str) -> None:
    draws = []
    for _ in range(2):
        seed_everything()
        delta = "1/10000000" if noise == "gaussian" else None
        made = tt.release(COUNTS, epsilon="1/10", noise=noise, delta=delta)
        draws.append(np.concatenate([values.ravel() for values in made.measurements.values]))
    # 210 draws of scale 40 and more: to be the same has a probability below 80^-210.
    assert not np.array_equal(draws[0], draws[1])


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_a_fork_draws_other_noise(noise: str) -> None:
    """Whatever state there is, two processes must not share it."""
    sampler = NOISES[noise]()
    fill = sampler.prepare(Fraction(1000))
    fill(np.empty(100, dtype=np.int64))
    seed_everything()
    draws = []
    for _ in range(2):
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            out = np.empty(100, dtype=np.int64)
            try:
                fill(out)
                os.write(writer, out.tobytes())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            draws.append(pipe.read())
        os.waitpid(process, 0)
    assert [len(draw) for draw in draws] == [800, 800]
    assert draws[0] != draws[1]


def test_the_check_itself_sees_repeated_noise() -> None:
    once, twice = (tt.simulate(COUNTS, epsilon="1/10", seed=7).measurements.values for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(once, twice, strict=True))
