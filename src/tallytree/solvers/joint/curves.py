"""Smoothing along the sizes: neighbouring sizes have similar numbers of groups, and siblings a similar shape.

The model of one region, for its cumulative counts c_1 <= c_2 <= ... and their noisy answers y:

    y_i = c_i + noise (two-sided geometric, variance V),      c_i = c_(i-1) + d_i + scatter (variance q_i).

The drift d is what the isotonic fit of y rises by around a size, shaped as the sum of all siblings is: at
size i, the share that this region has of the siblings' rise nearby. The scatter q is at least d, as for
independent groups, and more where the answers differ from the drift by more than noise and d explain. Given
d and q, the curve is the posterior mean (Kalman filter and Rauch-Tung-Striebel smoother). For geometric
noise, answers are weighted by their residuals, as in a variational approximation: where the curve is well
known, this tends to the median, which has half the variance of the mean. Where the isotonic fit is flat for
long, its median is taken as it is.

Pulling regions towards the shape of their siblings biases them, small ones most, and all in one direction
where small regions differ from large ones. The sum of the siblings has no such bias: it is smoothed by
itself, and what the regions miss of it is shared out evenly among them.

A posterior has draws as well as a mean: plausible true counts, with which intervals begin. Those of a family
are drawn so that they add up to what was drawn for the parent, each within its own variance.

All of this is post-processing: it reads noisy answers and public facts alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallytree.kernels import kernel
from tallytree.solvers.joint.leaf_fits import Scratch, make_scratch, pool_adjacent

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.signedinteger]

LONG = 20
"""The number of sizes from which on a flat stretch of a fit takes its median; the mean keeps
shorter ones smoother."""
REACH, LEAST_REACH = 0.1, 2
"""How far a size looks to both sides, as a share of itself, and at least."""
ENOUGH = 4.0
"""A region's share of its siblings is taken over so many sizes that it rises there by this many times the
noise of a difference: a small region has one share for all sizes."""
DOUBT = 1.5
"""Scatter beyond noise and drift counts from so many standard errors on; where a window is small, from 0 on,
since there it shows how curved the distribution is."""
SMALL_WINDOW = 5
ODD = 30.0
"""A size whose rise is so many times beyond noise and drift, squared, is on its own: one huge cell."""
ROUGH, ROUGH_NOISE = 10.0, 1.0
"""A curve by itself is rough where its scatter is so many times the drift and the noise: heaps at
round sizes, say. There the answers are kept, and the isotonic fit has the last word."""
KURTOSIS_ROOT, GAUSSIAN_KURTOSIS_ROOT = 2.2, 1.4
"""The standard deviation of a squared difference of two draws of noise, in units of its mean."""
SWEEPS = 2
"""How often the variances of noise are drawn anew, after a first time without knowing its size."""


class Model(NamedTuple):
    """What is public about the rows: their noise, and the sizes."""

    scale: float
    reach: Ints
    """Per size, in the order of the rows: how many sizes it looks to both sides."""
    is_gaussian: bool = False
    """Whether the noise is Gaussian, with ``scale`` as its standard deviation, or else geometric."""


class Draws(NamedTuple):
    """What to draw rows by from their posterior, when their mean is not what is asked for."""

    seed: int
    scales: Floats
    """Per row: the scale of its noise, with what the rows below it tell taken in."""
    shifts: Floats
    """Per family: by how much the parent's draw is off its mean, which its children's draws add up to."""


def find_reach(sizes: Ints) -> Ints:
    """Return how far each size looks: given the sizes in the order of the rows; of classes, their places."""
    reach: Ints = np.maximum(LEAST_REACH, np.floor(REACH * sizes)).astype(np.int64)
    return reach


class _Room(NamedTuple):
    """Working memory for one row."""

    scratch: Scratch
    noisy: Floats
    fit: Floats
    drift: Floats
    scatter: Floats
    noise: Floats
    means: Floats
    variances: Floats
    sums: Floats
    more_sums: Floats


@kernel
def smooth_families(noisy: Rows, families: Ints, model: Model, ends: Floats, family_ends: Floats) -> Ints:
    """Smooth rows to whole, non-decreasing numbers; the rows of family f are families[f] : families[f + 1].

    ``ends`` are the rows' last numbers and ``family_ends`` those of the families' sums where they are known,
    else infinity.
    """
    smoothed, room = np.empty(noisy.shape, dtype=np.int64), _make_room(noisy.shape[1])
    for f in range(len(families) - 1):
        begin, end = families[f], families[f + 1]
        curves, _ = _smooth_family(noisy[begin:end], model, ends[begin:end], family_ends[f], room)
        for r in range(end - begin):
            _round(curves[r], smoothed[begin + r])
    return smoothed


@kernel
def draw_families(
    noisy: Rows, families: Ints, model: Model, ends: Floats, family_ends: Floats, draws: Draws
) -> tuple[Ints, Floats]:
    """Draw rows from their posterior; return them, smoothed to whole numbers, and how far off the means.

    Siblings share out what their draws miss of their parent's in proportion to their variances: so the draws
    of all levels agree.
    """
    np.random.seed(draws.seed)
    smoothed, off = np.empty(noisy.shape, dtype=np.int64), np.empty(noisy.shape)
    room, sizes = _make_room(noisy.shape[1]), noisy.shape[1]
    for f in range(len(families) - 1):
        begin, end = families[f], families[f + 1]
        rows, limits = noisy[begin:end], ends[begin:end]
        curves, shape = _smooth_family(rows, model, limits, family_ends[f], room)
        variances = np.empty(curves.shape)
        for r in range(end - begin):
            only = min(limits[r], family_ends[f]) if end - begin == 1 else limits[r]
            off[begin + r] = _draw_off(rows[r], model, draws.scales[begin + r], shape, only, room)
            variances[r] = room.variances
        for i in range(sizes if len(draws.shifts) else 0):
            total, missing = 0.0, draws.shifts[f, i]
            for r in range(end - begin):
                total += variances[r, i]
                missing -= off[begin + r, i]
            for r in range(end - begin):
                if total > 0.0:
                    off[begin + r, i] += missing * variances[r, i] / total
        for r in range(end - begin):
            room.fit[:] = curves[r] + off[begin + r]
            _rise(room.fit, limits[r], room.scratch)
            _round(room.fit, smoothed[begin + r])
    return smoothed, off


@kernel
def _smooth_family(
    noisy: Rows, model: Model, ends: Floats, family_end: float, room: _Room
) -> tuple[Floats, Floats]:
    """Smooth siblings; return their curves, and by how much their sum's curve rises."""
    count, sizes = noisy.shape
    curves, sum_row, none = np.empty((count, sizes)), np.zeros(sizes), np.empty(0)
    if count == 0:
        return curves, none
    for r in range(count):
        for i in range(sizes):
            sum_row[i] += noisy[r, i]
    together = Model(model.scale * math.sqrt(count), model.reach, model.is_gaussian)
    known = min(family_end, ends[0]) if count == 1 else family_end
    whole = _smooth_curve(sum_row, together, none, known, room)
    if count == 1:
        curves[0] = whole
        return curves, none
    shape = whole.copy()
    shape[1:] -= whole[:-1]
    for r in range(count):
        for i in range(sizes):
            sum_row[i] = noisy[r, i]
        curves[r] = _smooth_curve(sum_row, model, shape, ends[r], room)
        for i in range(sizes):
            whole[i] -= curves[r, i]
    for r in range(count):
        for i in range(sizes):
            curves[r, i] += whole[i] / count
        _rise(curves[r], ends[r], room.scratch)
    return curves, shape


@kernel
def _make_room(sizes: int) -> _Room:
    return _Room(
        make_scratch(sizes), np.empty(sizes), np.empty(sizes), np.empty(sizes), np.empty(sizes),
        np.empty(sizes), np.empty(sizes), np.empty(sizes), np.empty(sizes + 1), np.empty(sizes + 1),
    )  # fmt: skip


@kernel
def _round(curve: Floats, row: Ints) -> None:
    for i in range(len(curve)):
        row[i] = np.int64(np.floor(curve[i] + 0.5))


@kernel
def _rise(curve: Floats, end: float, scratch: Scratch) -> None:
    """Replace a curve by the nearest one that does not decrease, from 0 up to ``end``."""
    begin = 0
    for b in range(pool_adjacent(curve, scratch.totals, scratch.ends, scratch.heights)):
        curve[begin : scratch.ends[b]] = min(max(scratch.heights[b], 0.0), end)
        begin = scratch.ends[b]


@kernel
def _smooth_curve(noisy: Floats, model: Model, shape: Floats, end: float, room: _Room) -> Floats:
    """Smooth one row: by itself, or by the rises of its siblings' sum in ``shape``."""
    _learn_walk(noisy, model, shape, end, room)
    curve = _fit_curve(noisy, model, end, room)
    begin = 0
    for i in range(1, len(noisy) + 1):
        if i == len(noisy) or room.fit[i] != room.fit[begin]:
            if i - begin >= LONG:
                stretch = noisy[begin:i]
                curve[begin:i] = np.mean(stretch) if model.is_gaussian else np.median(stretch)
            begin = i
    _rise(curve, end, room.scratch)
    return curve


@kernel
def _learn_walk(noisy: Floats, model: Model, shape: Floats, end: float, room: _Room) -> None:
    """Fill in the isotonic fit of a row, and the drift and the scatter that it shows."""
    room.fit[:] = noisy
    _rise(room.fit, end, room.scratch)
    _find_drift(model, shape, room)
    _find_scatter(noisy, model, len(shape) > 0, room)


@kernel
def _fit_curve(noisy: Floats, model: Model, end: float, room: _Room) -> Floats:
    """Return the mean of the walk; ``room.variances`` is filled with its variances."""
    room.noise[:] = _find_variance(model)
    curve = find_posterior(noisy, room.noise, room.drift, room.scatter, end, room.means, room.variances)
    if model.is_gaussian:
        return curve
    for i in range(len(noisy)):  # the expected weights of a Laplace law: Gaussians of random variance
        room.noise[i] = model.scale * math.sqrt((noisy[i] - curve[i]) ** 2 + room.variances[i])
    return find_posterior(noisy, room.noise, room.drift, room.scatter, end, room.means, room.variances)


@kernel
def _find_variance(model: Model) -> float:
    """Return the variance of the noise."""
    if model.is_gaussian:
        return model.scale * model.scale
    ratio = math.exp(-1.0 / model.scale)
    return 2.0 * ratio / (1.0 - ratio) ** 2


@kernel
def _draw_off(noisy: Rows, model: Model, scale: float, shape: Floats, end: float, room: _Room) -> Floats:
    """Draw how far a row may be off its curve; ``room.variances`` is filled with the variances of that.

    Laplace noise is Gaussian noise of random variances: these and the curve are drawn in turn (Gibbs).
    """
    sizes, wanted = len(noisy), room.noisy
    for i in range(sizes):
        wanted[i] = noisy[i]
    _learn_walk(wanted, model, shape, end, room)
    left = Model(scale, model.reach, model.is_gaussian)
    curve, variance = _fit_curve(wanted, left, end, room), _find_variance(left)
    flat = _find_flats(room.fit)  # drawn as a whole in the end, so their sizes need no draws
    for i in range(sizes):
        calm = model.is_gaussian or flat[i]
        room.noise[i] = variance * (1.0 if calm else np.random.standard_exponential())
    off = draw_posterior(wanted, room.noise, room.drift, room.scatter, end, flat, room.means, room.sums)
    for _ in range(0 if model.is_gaussian else SWEEPS):
        for i in range(sizes):
            if not flat[i]:
                room.noise[i] = draw_variance(abs(wanted[i] - off[i]), scale)
        off = draw_posterior(wanted, room.noise, room.drift, room.scatter, end, flat, room.means, room.sums)
    off -= curve
    begin = 0
    for i in range(1, sizes + 1):
        if i == sizes or room.fit[i] != room.fit[begin]:
            if flat[begin]:  # the error of a mean of Gaussian draws, and of a median of Laplace draws
                error = scale / math.sqrt(i - begin)
                off[begin:i] = error * np.random.standard_normal()
                room.variances[begin:i] = error**2
            begin = i
    if end < np.inf:
        off[sizes - 1] = room.variances[sizes - 1] = 0.0
    return off


@kernel
def _find_flats(fit: Floats) -> npt.NDArray[np.bool_]:
    """Return which sizes lie in long flat stretches of a fit."""
    flat, begin = np.zeros(len(fit), dtype=np.bool_), 0
    for i in range(1, len(fit) + 1):
        if i == len(fit) or fit[i] != fit[begin]:
            flat[begin:i] = i - begin >= LONG
            begin = i
    return flat


@kernel
def draw_variance(off: float, scale: float) -> float:
    """Draw the variance of a Gaussian that was this far off, where variances are such that offs are Laplace.

    Its inverse is inverse Gaussian (Michael, Schucany and Haas draw it so).
    """
    off = max(off, 1e-3 * scale)
    mean, shape = 1.0 / (scale * off), 1.0 / scale**2
    half = mean * np.random.standard_normal() ** 2 / (2.0 * shape)
    less = mean * (1.0 + half - math.sqrt(half * (half + 2.0)))
    less = max(less, 1e-12 * mean)
    inverse = less if np.random.random() <= mean / (mean + less) else mean * mean / less
    return 1.0 / inverse


@kernel
def _find_drift(model: Model, shape: Floats, room: _Room) -> None:
    """Set the drift: the mean rise nearby or, with a shape, the share of its rise at each size.

    To the left and to the right of a size rises may differ much. Their geometric mean is exact where they
    grow or fall by a constant factor.
    """
    sizes, fit, reach = len(room.fit), room.sums, model.reach
    fit[0] = 0.0
    fit[1:] = room.fit
    shaped = len(shape) > 0
    other = room.more_sums
    other[0] = 0.0
    for i in range(sizes):
        other[i + 1] = other[i] + shape[i] if shaped else i + 1.0
    enough = ENOUGH * math.sqrt(2.0 * _find_variance(model))
    for i in range(sizes):
        far = reach[i]
        low, high = max(0, i - far), min(sizes, i + far + 1)
        while shaped and fit[high] - fit[low] < enough and (low > 0 or high < sizes):
            far *= 2
            low, high = max(0, i - far), min(sizes, i + far + 1)
        own = other[i + 1] - other[i]
        left, right, both = other[i + 1] - other[low], other[high] - other[i], other[high] - other[low]
        if far > reach[i]:
            room.drift[i] = own * (fit[high] - fit[low]) / both if both > 0.0 else 0.0
        elif left > 0.0 and right > 0.0:
            shares = (fit[i + 1] - fit[low]) / left * ((fit[high] - fit[i]) / right)
            room.drift[i] = own * math.sqrt(max(shares, 0.0))
        else:
            room.drift[i] = 0.0


@kernel
def _find_scatter(noisy: Floats, model: Model, shaped: bool, room: _Room) -> None:
    """Set the scatter: the drift, and the mean square nearby beyond drift and noise."""
    sizes, beyond, reach, variance = len(noisy), room.sums, model.reach, _find_variance(model)
    between = 2.0 * variance  # the noise of a difference
    kurtosis_root = GAUSSIAN_KURTOSIS_ROOT if model.is_gaussian else KURTOSIS_ROOT
    beyond[0], before = 0.0, 0.0
    for i in range(sizes):
        off = (noisy[i] - before - room.drift[i]) ** 2
        before = noisy[i]
        room.scatter[i] = off
        beyond[i + 1] = beyond[i] + off - between - room.drift[i]
    for i in range(sizes):
        low, high = max(0, i - reach[i]), min(sizes, i + reach[i] + 1)
        count = high - low
        doubt = DOUBT * between * kurtosis_root / math.sqrt(count) * max(0.0, 1.0 - SMALL_WINDOW / count)
        scatter = room.drift[i] + max(0.0, (beyond[high] - beyond[low]) / count - doubt)
        if room.scatter[i] > ODD * (between + room.drift[i]):
            scatter = max(scatter, room.scatter[i] - between)
        if not shaped and scatter > max(ROUGH * room.drift[i], ROUGH_NOISE * variance):
            scatter *= 1e6
        room.scatter[i] = max(scatter, 1e-6 * variance)


@kernel
def _filter(
    noisy: Floats, noise: Floats, drift: Floats, scatter: Floats, end: float, means: Floats, variances: Floats
) -> None:
    """Fill the means and variances of the walk at each size, given the sights up to there (Kalman)."""
    sizes = len(noisy)
    mean = variance = 0.0
    for i in range(sizes):
        mean, variance = mean + drift[i], variance + scatter[i]
        last = i == sizes - 1 and end < np.inf
        trust = 1.0 if last else variance / (variance + noise[i])
        mean += trust * ((end if last else noisy[i]) - mean)
        variance *= 1.0 - trust
        means[i], variances[i] = mean, variance


@kernel
def find_posterior(
    noisy: Floats, noise: Floats, drift: Floats, scatter: Floats, end: float, means: Floats, variances: Floats
) -> Floats:
    """Return the mean of a random walk from 0 with this drift and scatter, given noisy sights of it.

    ``variances`` is filled with its variances, and ``means`` is scratch. With a finite ``end`` the walk is
    known to end there.
    """
    sizes = len(noisy)
    curve = np.empty(sizes)
    _filter(noisy, noise, drift, scatter, end, means, variances)
    curve[sizes - 1] = means[sizes - 1]
    for i in range(sizes - 2, -1, -1):
        ahead = variances[i] + scatter[i + 1]
        gain = variances[i] / ahead
        curve[i] = means[i] + gain * (curve[i + 1] - means[i] - drift[i + 1])
        variances[i] += gain * gain * (variances[i + 1] - ahead)
    return curve


@kernel
def draw_posterior(
    noisy: Floats,
    noise: Floats,
    drift: Floats,
    scatter: Floats,
    end: float,
    flat: npt.NDArray[np.bool_],
    means: Floats,
    variances: Floats,
) -> Floats:
    """Draw the walk of :func:`find_posterior` from its posterior, from the last size back to the first.

    Sizes that are ``flat`` take their mean, given the draw after them.
    """
    sizes = len(noisy)
    curve = np.empty(sizes)
    _filter(noisy, noise, drift, scatter, end, means, variances)
    curve[sizes - 1] = means[sizes - 1] + math.sqrt(variances[sizes - 1]) * np.random.standard_normal()
    for i in range(sizes - 2, -1, -1):
        gain = variances[i] / (variances[i] + scatter[i + 1])
        curve[i] = means[i] + gain * (curve[i + 1] - means[i] - drift[i + 1])
        if not flat[i]:
            curve[i] += math.sqrt(variances[i] * (1.0 - gain)) * np.random.standard_normal()
    return curve
