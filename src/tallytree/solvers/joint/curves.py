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
KURTOSIS_ROOT = 2.2
"""The standard deviation of a squared difference of two geometric draws, in units of its mean."""


class Model(NamedTuple):
    """What is public about the rows: their noise, and the sizes."""

    scale: float
    reach: Ints
    """Per size, in the order of the rows: how many sizes it looks to both sides."""


def find_reach(sizes: Ints) -> Ints:
    """Return how far each size looks: given the sizes in the order of the rows; of classes, their places."""
    reach: Ints = np.maximum(LEAST_REACH, np.floor(REACH * sizes)).astype(np.int64)
    return reach


class _Room(NamedTuple):
    """Working memory for one row."""

    scratch: Scratch
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
    rows, sizes = noisy.shape
    room = _make_room(sizes)
    smoothed = np.empty((rows, sizes), dtype=np.int64)
    sum_row, none = np.empty(sizes), np.empty(0)
    for f in range(len(families) - 1):
        begin, end = families[f], families[f + 1]
        count = end - begin
        if count == 0:
            continue
        sum_row[:] = 0.0
        for r in range(begin, end):
            for i in range(sizes):
                sum_row[i] += noisy[r, i]
        together = Model(model.scale * math.sqrt(count), model.reach)
        known = min(family_ends[f], ends[begin]) if count == 1 else family_ends[f]
        whole = _smooth_curve(sum_row, together, none, known, room)
        if count == 1:
            _round(whole, smoothed[begin])
            continue
        shape = whole.copy()
        shape[1:] -= whole[:-1]
        found = np.empty((count, sizes))
        for r in range(count):
            for i in range(sizes):
                sum_row[i] = noisy[begin + r, i]
            found[r] = _smooth_curve(sum_row, model, shape, ends[begin + r], room)
            for i in range(sizes):
                whole[i] -= found[r, i]
        for r in range(count):
            for i in range(sizes):
                room.fit[i] = found[r, i] + whole[i] / count
            _rise(room.fit, ends[begin + r], room.scratch)
            _round(room.fit, smoothed[begin + r])
    return smoothed


@kernel
def _make_room(sizes: int) -> _Room:
    return _Room(
        make_scratch(sizes), np.empty(sizes), np.empty(sizes), np.empty(sizes), np.empty(sizes),
        np.empty(sizes), np.empty(sizes), np.empty(sizes + 1), np.empty(sizes + 1),
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
    ratio = math.exp(-1.0 / model.scale)
    variance = 2.0 * ratio / (1.0 - ratio) ** 2
    room.fit[:] = noisy
    _rise(room.fit, end, room.scratch)
    _find_drift(model.reach, variance, shape, room)
    _find_scatter(noisy, model.reach, variance, len(shape) > 0, room)
    room.noise[:] = variance
    curve = find_posterior(noisy, room.noise, room.drift, room.scatter, end, room.means, room.variances)
    for i in range(len(noisy)):  # the expected weights of a Laplace law: Gaussians of random variance
        room.noise[i] = model.scale * math.sqrt((noisy[i] - curve[i]) ** 2 + room.variances[i])
    curve = find_posterior(noisy, room.noise, room.drift, room.scatter, end, room.means, room.variances)
    begin = 0
    for i in range(1, len(noisy) + 1):
        if i == len(noisy) or room.fit[i] != room.fit[begin]:
            if i - begin >= LONG:
                curve[begin:i] = np.median(noisy[begin:i])
            begin = i
    _rise(curve, end, room.scratch)
    return curve


@kernel
def _find_drift(reach: Ints, variance: float, shape: Floats, room: _Room) -> None:
    """Set the drift: the mean rise nearby or, with a shape, the share of its rise at each size.

    To the left and to the right of a size rises may differ much. Their geometric mean is exact where they
    grow or fall by a constant factor.
    """
    sizes, fit = len(room.fit), room.sums
    fit[0] = 0.0
    fit[1:] = room.fit
    shaped = len(shape) > 0
    other = room.more_sums
    other[0] = 0.0
    for i in range(sizes):
        other[i + 1] = other[i] + shape[i] if shaped else i + 1.0
    enough = ENOUGH * math.sqrt(2.0 * variance)
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
def _find_scatter(noisy: Floats, reach: Ints, variance: float, shaped: bool, room: _Room) -> None:
    """Set the scatter: the drift, and the mean square nearby beyond drift and noise."""
    sizes, beyond = len(noisy), room.sums
    between = 2.0 * variance  # the noise of a difference
    beyond[0], before = 0.0, 0.0
    for i in range(sizes):
        off = (noisy[i] - before - room.drift[i]) ** 2
        before = noisy[i]
        room.scatter[i] = off
        beyond[i + 1] = beyond[i] + off - between - room.drift[i]
    for i in range(sizes):
        low, high = max(0, i - reach[i]), min(sizes, i + reach[i] + 1)
        count = high - low
        doubt = DOUBT * between * KURTOSIS_ROOT / math.sqrt(count) * max(0.0, 1.0 - SMALL_WINDOW / count)
        scatter = room.drift[i] + max(0.0, (beyond[high] - beyond[low]) / count - doubt)
        if room.scatter[i] > ODD * (between + room.drift[i]):
            scatter = max(scatter, room.scatter[i] - between)
        if not shaped and scatter > max(ROUGH * room.drift[i], ROUGH_NOISE * variance):
            scatter *= 1e6
        room.scatter[i] = max(scatter, 1e-6 * variance)


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
    mean = variance = 0.0
    for i in range(sizes):
        mean, variance = mean + drift[i], variance + scatter[i]
        last = i == sizes - 1 and end < np.inf
        trust = 1.0 if last else variance / (variance + noise[i])
        mean += trust * ((end if last else noisy[i]) - mean)
        variance *= 1.0 - trust
        means[i], variances[i] = mean, variance
    curve[sizes - 1] = means[sizes - 1]
    for i in range(sizes - 2, -1, -1):
        ahead = variances[i] + scatter[i + 1]
        gain = variances[i] / ahead
        curve[i] = means[i] + gain * (curve[i + 1] - means[i] - drift[i + 1])
        variances[i] += gain * gain * (variances[i + 1] - ahead)
    return curve
