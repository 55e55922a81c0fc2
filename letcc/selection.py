"""Choosing smoothing, and a length, from the values: generalised cross-validation, leave-one-out, likelihood."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from letcc.nodes import FloatArray
from letcc.smoothers._markov import MarkovSystem, Prior
from letcc.smoothers._markov_batch import information

Rule: TypeAlias = Literal["gcv", "loo", "likelihood"]

_PER_DECADE = 5  # of the first grid in each parameter
_PER_DECADE_OF_TWO = 3  # where two parameters are chosen together
_DESCENTS = 4  # local minima that are followed
_ZOOM = 5  # points of a smaller grid in each parameter
_ROUNDS = 14  # of moving or shrinking it: fixes a parameter to about one part in ten thousand
_LEAST_DECAY = 1e-50  # across a gap of so many lengths nothing is passed on


def scores(rule: Rule, prior: Prior, values: FloatArray, thetas: FloatArray, length: float) -> FloatArray:
    r"""A rule's score for many values of theta = n lambda; the smallest is the best.

    "gcv": :math:`n \|(I - H) Y\|^2 / \mathrm{tr}(I - H)^2` (Craven and Wahba, *Numer. Math.* 31, 1979); "loo": the mean
    square of the leave-one-out residuals; "likelihood": minus twice the restricted log-likelihood over m, with the
    prior's scale profiled out and the constant unknown. Residuals and 1 - H_ii come without cancellation, so that
    theta -> 0 is each score's limit and not 0/0.

    Parameters
    ----------
    rule : {"gcv", "loo", "likelihood"}
    prior : Prior
    values : ndarray, shape (n, m)
    thetas : ndarray, shape (B,)
        Positive and finite.
    length : float
        Of the interval.

    Returns
    -------
    ndarray, shape (B,)
    """
    left_out, log_determinant = _leverage(prior, thetas)
    score = np.empty(thetas.size)
    for b, theta in enumerate(thetas):
        system = MarkovSystem(prior, theta, length)
        residuals, own = system.residuals(values), left_out[:, b]
        of_one = system.residuals_of_one()
        if of_one is not None:
            own = own - of_one**2 / of_one.sum()
        if rule == "gcv":
            score[b] = len(values) * (residuals**2).sum() / own.sum() ** 2
        elif rule == "loo":
            score[b] = ((residuals / own[:, None]) ** 2).sum() / len(values)
        else:
            assert of_one is not None
            # values that are all equal have residuals of zero, and minus infinity here
            score[b] = (len(values) - 1) * np.log((values * residuals).sum()) + log_determinant[b]
            score[b] += np.log(of_one.sum())
    return np.where(np.isnan(score), np.inf, score)


def _leverage(prior: Prior, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 - H_ii about a known mean, shape (n, B), and log det(I + K / theta) where the first state has a prior."""
    h = prior.shift[:, None]
    c11, c12, c22 = prior.innovation[:, :, None] / thetas
    c_det = c11 * c22 - c12**2
    forward, backward = (c11, c12), (h**2 * c22 - 2 * h * c12 + c11, h * c22 - c12)
    decay = np.maximum(np.broadcast_to(prior.decay, prior.shift.shape), _LEAST_DECAY)
    first, squared_decay = None, np.square(decay)[:, None]
    if prior.first is not None:
        p11, p12, p22 = prior.first[:, None] / thetas
        precision = 1 / (p11 * p22 - p12**2)
        # the covariance of the first state's value and slope is positive, so that their precision is not
        first = np.stack([p22 * precision, p12 * precision, p11 * precision, precision])
    f11, f12, f22, f_det = information(h, forward, backward, c22, c_det, first, before=1 / squared_decay)
    flip = slice(None, None, -1)
    spread, trace = ((one[flip], other[flip]) for one, other in (backward, forward))
    above = information(h[flip], spread, trace, c22[flip], c_det[flip], after=squared_decay[flip])
    b11, b12, b22, b_det = above[:, flip]
    others = f_det + b_det + f11 * b22 + f22 * b11 + 2 * f12 * b12
    log_determinant = np.zeros(thetas.size)
    if prior.first is not None:
        log_determinant = np.log1p(f22 / f_det).sum(axis=0)
    return others / (others + f22 + b22), log_determinant


def bounds(nodes: FloatArray) -> tuple[float, float]:
    """Values of theta between which every choice lies: far below interpolation, far above the limit of a line.

    Parameters
    ----------
    nodes : ndarray, shape (n,)
        Ascending.

    Returns
    -------
    low, high : float
    """
    extent = float(nodes[-1] - nodes[0])
    return max(1e-4 * float(np.diff(nodes).min()) ** 3, 1e-60 * extent**3), 1e4 * nodes.size * extent**3


def minimise(
    score: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, NDArray[np.intp]]:
    """The global minimum of a function of positive parameters, by a grid in their logarithms and descents from it.

    Parameters
    ----------
    score : callable
        From parameters, shape (points, d), to values, shape (points,).
    low, high : ndarray, shape (d,)
        Bounds; a parameter of equal bounds is fixed.

    Returns
    -------
    best : ndarray, shape (d,)
    end : ndarray of int, shape (d,)
        -1 or 1 where the descent started on the lower or the upper bound, else 0.

    Notes
    -----
    The number of evaluations is bounded: a first grid, then from the best of its local minima a smaller grid that moves
    while its best point is on its edge, and else shrinks around it.
    """
    from scipy.ndimage import minimum_filter  # costs more to import than the rest of letcc

    start, stop = np.log(low), np.log(high)
    free = stop > start
    per_decade = _PER_DECADE if free.sum() == 1 else _PER_DECADE_OF_TWO
    counts = np.ceil((stop - start) / np.log(10) * per_decade).astype(int) + 1
    points = _lattice(start, stop, counts)
    values = score(np.exp(points)).reshape(counts)
    around = minimum_filter(values, size=3, mode="nearest")
    minima = np.flatnonzero((values <= around).ravel())
    minima = minima[np.argsort(values.ravel()[minima], kind="stable")][:_DESCENTS]
    step = (stop - start) / np.maximum(counts - 1, 1)
    found = [_descend(score, points[place], step, start, stop) for place in minima]
    winner = int(np.argmin([value for _, value in found]))
    at = np.array(np.unravel_index(minima[winner], counts))
    end = np.where(~free, 0, np.where(at == 0, -1, np.where(at == counts - 1, 1, 0)))
    return np.exp(found[winner][0]), end


def _lattice(start: FloatArray, stop: FloatArray, counts: NDArray[np.intp]) -> FloatArray:
    axes = [np.linspace(a, b, n) for a, b, n in zip(start, stop, counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, start.size)


def _descend(
    score: Callable[[FloatArray], FloatArray], centre: FloatArray, reach: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, float]:
    """Follow a valley from a point of the first grid, in logarithms."""
    value = np.inf
    counts = np.where(reach > 0, _ZOOM, 1)
    for _ in range(_ROUNDS):
        points = np.clip(_lattice(centre - reach, centre + reach, counts), low, high)
        values = score(np.exp(points))
        best = int(np.argmin(values))
        place = np.array(np.unravel_index(best, counts))
        centre, value = points[best], float(values[best])
        inside = (place > 0) & (place < counts - 1) | (centre <= low) | (centre >= high)
        if inside.all():
            reach = reach / 2
    return centre, value
