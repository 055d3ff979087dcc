"""The noise has the distribution it claims; a slightly wrong one is noticed."""

import math
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from threading import Event, Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks import noise as noise_benchmark

import tallytree as tt
from tallytree.errors import PrivacyError
from tallytree.privacy import noise as noise_module
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.door import NOISES
from tallytree.privacy.noise import ExactNoise, Noise, OpenDPNoise, SeededNoise
from tallytree.progress import count_processors
from tests.privacy.noise_statistics import REJECT, check_levels, p_value

Ints = npt.NDArray[np.int64]

each_exact_noise = pytest.mark.parametrize("noise", [DigitNoise(), OpenDPNoise()], ids=["digits", "opendp"])


def draw(noise: Noise, scale: Fraction, count: int) -> Ints:
    return noise.draw(scale, count, lambda done: None)


SCALES = [Fraction(1, 2), Fraction(2), Fraction(20, 3), Fraction(60)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize(
    "noise", [DigitNoise(), OpenDPNoise(), SeededNoise(5)], ids=["digits", "opendp", "seeded"]
)
def test_the_distribution_is_two_sided_geometric(noise: Noise, scale: Fraction) -> None:
    draws = draw(noise, scale, 100_000)
    assert p_value(draws, float(scale)) > REJECT
    for wrong in (0.9, 1.1):  # negative controls
        assert p_value(draws, float(scale) * wrong) < REJECT


@each_exact_noise
def test_draws_are_independent_across_chunks_and_calls(
    noise: ExactNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "chunk", 500)
    rows = draw(noise, Fraction(6), 10_000).reshape(20, 500)
    again = draw(noise, Fraction(6), 500)
    # A generator that is made anew for every chunk, as seen in research code, repeats itself.
    assert len({row.tobytes() for row in (*rows, again)}) == 21
    correlation = np.corrcoef(rows[:-1].ravel(), rows[1:].ravel())[0, 1]
    assert abs(correlation) < 6 / math.sqrt(9_500)


@each_exact_noise
def test_progress_adds_up_to_the_number_of_draws(noise: ExactNoise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "chunk", 100)
    done: list[int] = []
    noise.draw(Fraction(1), 1_050, done.append)
    assert sum(done) == 1_050
    assert len(done) == 11


class Interrupted(ThreadPoolExecutor):
    """Threads that wait for the end with every chunk but the first."""

    submitted = 0
    interrupt_at = 0
    over: Event

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        if self.submitted == self.interrupt_at:
            raise KeyboardInterrupt
        return super().submit(*args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        self.over.set()
        super().shutdown(wait=wait)


@pytest.mark.parametrize("interrupt_at", [0, 50], ids=["drawing", "submitting"])
@each_exact_noise
def test_an_interruption_stops_the_drawing(
    noise: ExactNoise, interrupt_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a thousand chunks, those under way are finished, and no more."""
    over = Event()
    first = Lock()
    filled: list[int] = []
    fill = noise.prepare(Fraction(1))

    def fill_and_wait(out: Ints) -> None:
        fill(out)
        filled.append(len(out))
        if not first.acquire(blocking=False):
            over.wait()

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Interrupted, "over", over, raising=False)
    monkeypatch.setattr(Interrupted, "interrupt_at", interrupt_at)
    monkeypatch.setattr(noise_module, "ThreadPoolExecutor", Interrupted)
    monkeypatch.setattr(noise, "chunk", 100)
    monkeypatch.setattr(noise, "prepare", lambda scale: fill_and_wait)
    with pytest.raises(KeyboardInterrupt):
        noise.draw(Fraction(1), 100_000, interrupt)
    assert len(filled) <= 1 + count_processors()


def test_seeded_noise_repeats_itself() -> None:
    first, second = (draw(SeededNoise(9), Fraction(6), 100) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (draw(SeededNoise(10), Fraction(6), 100) != first).any()


def test_seeded_noise_is_not_exact_noise() -> None:
    assert not issubclass(SeededNoise, ExactNoise)
    assert all(issubclass(kind, ExactNoise) for kind in NOISES.values())


@pytest.mark.parametrize("noise", ["digits", "opendp"])
def test_every_level_of_a_release_gets_the_noise_of_its_own_scale(noise: str) -> None:
    """The whole way from counts to measurements, seen from outside: what is added, level by level."""
    h = tt.Hierarchy.from_paths(["a", "b", "c"], [("r", "x", "y")])
    counts = tt.GroupCounts(h, (1, 20_000), np.full((1, 20_000), 3))
    release = tt.release(counts, epsilon="1", budget={"a": 1, "b": 3, "c": 2}, noise=noise)
    plan = release.measurements.plan
    assert [level.scale for level in plan.levels] == [6, 2, 3]
    check_levels(release, counts, p_value)


def test_a_release_says_how_its_noise_was_drawn() -> None:
    counts = tt.GroupCounts(tt.Hierarchy.from_paths(["root"], [("r",)]), (1, 2), [[1, 2]])
    for name, kind in NOISES.items():
        delta = "1e-6" if name == "gaussian" else None
        release = tt.release(counts, epsilon=1, noise=name, delta=delta)
        assert release.manifest["privacy"]["noise"] == kind.description
    assert tt.release(counts, epsilon=1).manifest["privacy"]["noise"] == DigitNoise.description
    assert len({kind.description for kind in NOISES.values()}) == len(NOISES)


@pytest.mark.parametrize("name", ["digit", "seeded", "", DigitNoise], ids=str)
def test_an_unknown_noise_is_refused_before_any_is_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*args: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(ExactNoise, "draw", draw)
    counts = tt.GroupCounts(tt.Hierarchy.from_paths(["root"], [("r",)]), (1, 2), [[1, 2]])
    with pytest.raises(
        PrivacyError, match=r"There is no noise .*there is 'digits', 'opendp', 'gaussian'\.|did you mean"
    ):
        tt.release(counts, epsilon=1, noise=name)


def test_the_benchmark_measures_both_samplers() -> None:
    data = noise_benchmark.measure(1, draws=1000, peer_draws=100, sizes=1, timed_draws=20, timed_blocks=3)
    page = noise_benchmark.write_page(data)
    speed, leaks = page.split("## Does the time of a draw tell its value?")
    assert speed.count("`digits`") == speed.count("`opendp`") == 4
    for name in ("`digits`", "`opendp`"):
        assert leaks.count(f"| 1 | {name} | 20 |") == leaks.count(f"| 200 | {name} | 3 |") == 3
        assert leaks.count(f"- {name}: the strongest rank correlation is") == 1
    assert leaks.count("| 1 | counting (control) | 20 |") == 3
    assert "nan" not in leaks
