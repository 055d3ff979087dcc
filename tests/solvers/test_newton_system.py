"""The linear system of a Newton step on the joint model, against the same written out as one matrix."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallytree as tt
from tallytree.solvers.joint.grouped_system import choose_groups
from tallytree.solvers.joint.leaf_fits import Fits, Leaves, Part, cut_nodes, find_steps, fit_part
from tallytree.solvers.joint.leaf_responses import Responses, list_wavelets, transform, transform_back
from tallytree.solvers.joint.newton_system import System, _eliminate, _precondition, solve_system
from tallytree.solvers.layout import Tree, TreeLayout
from tests.instances import random_hierarchy

Floats = npt.NDArray[np.float64]


def random_fits(rng: np.random.Generator, tree: Tree, sizes: int) -> tuple[Leaves, list[Fits]]:
    """Leaves of a tree, fitted at random prices; some numbers of groups are known."""
    nodes = len(tree.level)
    parents = np.repeat(np.arange(nodes), np.diff(tree.family))
    rises = np.cumsum(rng.integers(0, 3, (len(parents), sizes)), axis=1)
    noisy = rises + rng.integers(-3, 4, rises.shape)
    ease = rng.random(len(parents)) + 0.2
    caps = np.where(rng.random(len(parents)) < 0.2, noisy[:, -1].clip(0) + 1.0, np.inf)
    parts = []
    for first, stop in cut_nodes(tree, sizes):
        rows = slice(tree.family[first], tree.family[stop])
        parts.append(Part(first, stop, find_steps(noisy[rows]), parents[rows], ease[rows], caps[rows]))
    prices = rng.normal(size=(nodes, sizes))
    fits = [fit_part(part, prices, np.empty((part.stop - part.first, sizes))) for part in parts]
    return Leaves(parts, sizes), fits


def write_responses(leaves: Leaves, fits: list[Fits]) -> Floats:
    """How each node's own leaf children follow a change of its prices: nodes x sizes x sizes."""
    sizes = leaves.sizes
    whole = np.zeros((leaves.nodes, sizes, sizes))
    for part, found in zip(leaves.parts, fits, strict=True):
        for r, parent in enumerate(part.parent):
            begin = found.start[r]
            for end in found.ends[found.first[r] : found.first[r + 1]]:
                whole[parent, begin:end, begin:end] += part.ease[r] / (end - begin)
                begin = end
    return whole


def write_system(system: System, responses: Floats) -> Floats:
    """(ease + the leaves' response) as a matrix over nodes x sizes."""
    nodes, sizes = responses.shape[:2]
    whole = np.zeros((nodes, sizes, nodes, sizes))
    for v in range(nodes):
        for i in range(sizes):
            whole[v, i, v, i] = 0.0 if i == sizes - 1 and system.fixed[v] else system.ease[v]
        path = [v]
        while system.tree.parent[path[-1]] >= 0:
            path.append(system.tree.parent[path[-1]])
        for a in path:
            for b in path:
                whole[a, :, b, :] += responses[v]
    return whole.reshape(nodes * sizes, nodes * sizes)


def solve_written_out(system: System, responses: Floats, right: Floats) -> Floats | None:
    """The solution, none if there are many."""
    free = np.ones(right.shape, dtype=np.bool_)
    free[system.settled, -1] = False
    at = free.ravel()
    matrix = write_system(system, responses)[np.ix_(at, at)]
    expected = np.zeros(right.size)
    if not len(matrix):
        return expected.reshape(right.shape)
    if np.linalg.cond(matrix) > 1e7:
        return None
    expected[at] = np.linalg.solve(matrix, right.ravel()[at])
    return expected.reshape(right.shape)


@given(
    seed=st.integers(0, 10**6),
    levels=st.integers(2, 4),
    sizes=st.integers(1, 30),
    fixed=st.sampled_from(["none", "root", "some"]),
    settled=st.booleans(),
)
def test_a_newton_step_solves_the_system_written_out(
    seed: int, levels: int, sizes: int, fixed: str, settled: bool
) -> None:
    rng = np.random.default_rng(seed)
    tree = TreeLayout.of(random_hierarchy(rng, levels)).tree
    leaves, fits = random_fits(rng, tree, sizes)
    nodes = len(tree.level)
    ends_fixed = {
        "none": np.zeros(nodes, dtype=np.bool_),
        "root": np.arange(nodes) == 0,
        "some": rng.random(nodes) < 0.4,
    }[fixed]
    system = System(tree, rng.random(nodes) + 0.5, ends_fixed, ends_fixed & settled)
    right = rng.normal(size=(nodes, sizes))
    right[system.settled, -1] = 0.0
    expected = solve_written_out(system, write_responses(leaves, fits), right)
    if expected is None:
        return  # something cannot move at all
    found, steps = solve_system(system, Responses.of(leaves, fits), right, 1e-10, 1000)
    np.testing.assert_allclose(found, expected, atol=1e-6 * (1 + np.abs(expected).max()))
    if sizes <= 7:  # every span is a group of its own, and then the preconditioner is the inverse
        assert steps <= 2


@given(seed=st.integers(0, 10**6), levels=st.integers(2, 5), spans=st.integers(1, 6))
def test_wavelets_by_themselves_are_solved_exactly(seed: int, levels: int, spans: int) -> None:
    """As if nothing but the diagonal of the responses were there."""
    rng = np.random.default_rng(seed)
    tree = TreeLayout.of(random_hierarchy(rng, levels)).tree
    nodes = len(tree.level)
    none = np.zeros(nodes, dtype=np.bool_)
    system = System(tree, rng.random(nodes) + 0.5, none, none)
    responses, right = rng.random((nodes, spans)), rng.normal(size=(nodes, spans))
    below, inverse, found = responses.copy(), np.empty((nodes, spans)), right.copy()
    for some, stop in ((0, spans // 2), (spans // 2, spans)):  # as processors share them
        _eliminate(system, below, inverse, some, stop)
        _precondition(system, below, inverse, found, np.empty((nodes, spans)), some, stop)
    for j in range(spans):
        expected = solve_written_out(system, responses[:, j].reshape(nodes, 1, 1), right[:, [j]])
        assert expected is not None
        np.testing.assert_allclose(found[:, [j]], expected, atol=1e-9)


@pytest.mark.parametrize("processors", [1, 3])
def test_processors_share_the_nodes_of_a_wide_level(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallytree.kernels.count_processors", lambda: processors)
    rng = np.random.default_rng(8)
    paths = [
        ("r", f"s{i}", f"c{i}.{i % 2}", f"t{j}") for i in range(70) for j in range(int(rng.integers(1, 4)))
    ]
    paths += [("r", f"s{i}", f"c{i}.2", "t0") for i in range(40)]
    tree = TreeLayout.of(tt.Hierarchy.from_paths(["r", "s", "c", "t"], paths)).tree
    nodes = len(tree.level)
    assert nodes == 1 + 70 + 110
    leaves, fits = random_fits(rng, tree, 4)
    system = System(tree, rng.random(nodes) + 0.5, np.arange(nodes) == 0, np.zeros(nodes, dtype=np.bool_))
    right = rng.normal(size=(nodes, 4))
    expected = solve_written_out(system, write_responses(leaves, fits), right)
    assert expected is not None
    found, steps = solve_system(system, Responses.of(leaves, fits), right, 1e-10, 1000)
    np.testing.assert_allclose(found, expected, atol=1e-8 * (1 + np.abs(expected).max()))
    assert steps <= 2


@given(seed=st.integers(0, 10**6), levels=st.integers(2, 4), sizes=st.integers(1, 40))
def test_responses_are_those_of_the_blocks_written_out(seed: int, levels: int, sizes: int) -> None:
    rng = np.random.default_rng(seed)
    tree = TreeLayout.of(random_hierarchy(rng, levels)).tree
    leaves, fits = random_fits(rng, tree, sizes)
    nodes, plain = leaves.nodes, write_responses(leaves, fits)
    responses = Responses.of(leaves, fits)
    start, length = responses.span_start, responses.span_length
    spans = len(length)
    assert start.tolist() == [0, *np.cumsum(length)[:-1]]
    assert length.sum() == sizes and length[-1] == 1

    path = rng.normal(size=(nodes, spans))
    moved = np.einsum("vij,vj->vi", plain, np.repeat(path, length, axis=1))
    np.testing.assert_allclose(np.repeat(responses.add(path), length, axis=1), moved, atol=1e-9)

    ends = choose_groups(spans)
    edges = np.append(start, sizes)
    member = np.repeat(np.arange(len(ends)), np.diff(edges[ends], prepend=0))
    groups = (member == np.arange(len(ends))[:, None]).astype(np.float64)
    found = responses.add_groups(edges[ends]).reshape(nodes, len(ends), len(ends))
    np.testing.assert_allclose(found, groups @ plain @ groups.T, atol=1e-9)

    wavelets = list_wavelets(edges, ends)
    basis = np.empty((spans, spans))
    transform_back(wavelets, np.eye(spans), basis)
    wide = np.repeat(basis, length, axis=1)
    np.testing.assert_allclose(
        responses.add_wavelets(wavelets), np.einsum("mi,vij,mj->vm", wide, plain, wide), atol=1e-9
    )


@pytest.mark.parametrize(
    ("spans", "ends"),
    [
        (1, [1]),
        (2, [1, 2]),
        (7, [1, 2, 3, 4, 5, 6, 7]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (9, [1, 2, 3, 4, 5, 6, 8, 9]),
        (40, [1, 2, 3, 4, 5, 6, 8, 12, 20, 36, 39, 40]),
    ],
)
def test_groups_are_single_spans_first_and_grow_then(spans: int, ends: list[int]) -> None:
    assert choose_groups(spans).tolist() == ends


@given(widths=st.lists(st.integers(1, 4), min_size=1, max_size=40), seed=st.integers(0, 10**6))
def test_wavelets_and_means_are_an_orthonormal_basis(widths: list[int], seed: int) -> None:
    edges = np.cumsum([0, *widths])
    spans = len(widths)
    ends = choose_groups(spans)
    assert ends[-1] == spans
    assert (np.diff(ends, prepend=0) > 0).all()
    wavelets = list_wavelets(edges, ends)
    rows = np.random.default_rng(seed).normal(size=(3, spans))
    found, back = np.empty_like(rows), np.empty_like(rows)
    transform(wavelets, rows, found)
    transform_back(wavelets, found, back)
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        weights = np.diff(edges)[start:stop]
        back[:, start:stop] += (rows[:, start:stop] @ weights / weights.sum())[:, None]
    np.testing.assert_allclose(back, rows, atol=1e-9)
    basis = np.empty((spans, spans))
    transform_back(wavelets, np.eye(spans), basis)
    gram = basis @ np.diag(np.diff(edges)) @ basis.T
    firsts = np.isin(np.arange(spans), [0, *ends[:-1]])
    np.testing.assert_allclose(gram, np.diag(np.where(firsts, 0.0, 1.0)), atol=1e-9)
