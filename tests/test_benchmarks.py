"""The benchmarks' own machinery: what is timed, how it is given up, and what is said about it."""

import re
import time
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.children import Child, Failure, run_in_child
from benchmarks.instances import measure_counts
from benchmarks.plot import Curve, draw
from benchmarks.runtimes import Case, measure_series, time_cases
from benchmarks.taxi import MOST_PICKUPS, TAXIS, generate_city
from benchmarks.variants import Variant, list_variants

import tallytree as tt
from tallytree.postprocess.solution import Solution


def yield_then_hang() -> Iterator[int]:
    yield 1
    time.sleep(600)
    yield 2


def use_too_much_memory() -> int:
    return len(bytearray(2**40))


def test_a_child_that_hangs_is_ended() -> None:
    with Child(yield_then_hang) as child:
        assert child.receive() == 1
        assert child.receive(0.2) == Failure("no answer within 0 s", timed_out=True)
        assert child.process.is_alive()
    assert child.process.exitcode == -9


def test_a_child_that_needs_too_much_memory_says_so() -> None:
    assert run_in_child(use_too_much_memory) == Failure("needs more than 16 GB")


def test_every_mechanism_is_timed() -> None:
    variants = list_variants()
    assert {variant.mechanism for variant in variants} == set(tt.list_mechanisms())
    assert len({variant.label for variant in variants}) == len(variants)
    for variant in variants:
        assert variant.make().name == variant.mechanism


def test_the_city_has_the_paper_s_shape() -> None:
    city = generate_city(MOST_PICKUPS)
    assert [len(city.hierarchy.regions(level)) for level in city.hierarchy.levels] == [1, 6, 263]
    assert city.total == TAXIS
    pickups = int(city.leaf.sum(axis=0) @ np.arange(1, MOST_PICKUPS + 1))
    assert abs(pickups / 24_489_743 - 1) < 0.1
    np.testing.assert_array_equal(generate_city(50).leaf, city.leaf[:, :50])


def test_a_variant_is_timed_case_by_case_until_it_refuses() -> None:
    cases = [Case(generate_city, sizes, "1") for sizes in (1, 2)]
    ready, *runtimes = time_cases(Variant("topdown"), cases, calls=2)
    assert ready is None
    assert [run.case for run in runtimes if run and not isinstance(run, Failure)] == cases
    series = measure_series(
        Variant("cumulative-chain", {"solver": "tables"}), cases, most_seconds=60.0, calls=1
    )
    assert not series.runtimes
    assert series.stop and series.stop.case == cases[0]
    assert "entries" in series.stop.failure.reason and not series.stop.failure.timed_out


def test_a_wrong_solution_is_not_timed() -> None:
    instance = measure_counts(tt.mechanism("topdown"), generate_city(2), "1")
    right = instance.solve()
    instance.check(right)
    wrong = [level.copy() for level in right.counts]
    wrong[-1][0, 0] += 1
    with pytest.raises(AssertionError, match="topdown does not hold"):
        instance.check(Solution(wrong, right.objective, None, right.solver, {}))


def test_a_picture_names_every_curve_without_overlap() -> None:
    curves = [Curve(f"curve {i}", [(5, 0.001), (50, 0.002 + i / 1e6)]) for i in range(15)]
    curves += [Curve(f"slow {i}", [], given_up=(5, 60)) for i in range(3)]
    picture = ElementTree.fromstring(draw(curves, "N", linear=True, limit=60))
    texts = {element.text: element for element in picture.iter() if element.tag.endswith("text")}
    heights = sorted(float(texts[curve.name].attrib["y"]) for curve in curves)
    assert min(np.diff(heights)) > 12
    _, _, _, height = map(float, picture.attrib["viewBox"].split())
    assert heights[0] > 0 and heights[-1] < height
    assert len(re.findall("m-5 -5l10 10", draw(curves, "N", linear=True, limit=60))) == 3
