"""Smoothing along a line by a two-state Markov prior, in linear time and to rounding.

Both smoothers of the second-order Sobolev space are of this kind (Wahba, *J. R. Stat. Soc. B* 40, 1978; Hartikainen and
Särkkä, MLSP 2010). The state at a node is the value g and a slope v; across a gap it moves by

    x_{i+1} = Phi_i x_i + C_i mu_i / theta,    Phi = decay [[1, shift], [0, 1]],

with theta = n lambda and the multipliers mu = (p, q). States and multipliers are solved for together in one symmetric
system of bandwidth two, in which no gap is divided by: that, and scaling every unknown to the natural length, is why
nothing is lost where the usual equations square the condition number.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgbtrf, zgbtrs

from letcc.nodes import FloatArray, IndexArray

ComplexArray: TypeAlias = NDArray[np.complex128]

_BAND = 2  # no unknown meets another more than two places away
_SAME = 2 * _BAND  # entry (i, j) stands at columns[j, _SAME + i - j]
_NEAR, _FAR = _SAME - 2, _SAME + 2
_SOLVE_FLOATS = 2**21  # right-hand sides solved at once: bounds the work space at large n


@dataclass(frozen=True)
class Prior:
    """How the state moves from node to node.

    Attributes
    ----------
    shift : ndarray, shape (n - 1,)
    innovation : ndarray, shape (3, n - 1)
        C as c11, c12, c22.
    decay : ndarray, shape (n - 1,), or float
    first : ndarray, shape (3,), optional
        Covariance of the first state about a mean that is unknown and unpenalised. Without it the first state itself
        is free.
    pull : ndarray, shape (2, n), optional
        With `first`: how far a mean of 1 moves the first state from zero, then the state after each gap from Phi x.
    """

    shift: FloatArray
    innovation: FloatArray
    decay: FloatArray | float = 1.0
    first: FloatArray | None = None
    pull: FloatArray | None = None


class MarkovSystem:
    """The factored optimality system; its unknowns are p_0, q_0, g_0, v_0, p_1, ..., with p_0, q_0 for the first state.

    Parameters
    ----------
    prior : Prior
        Of n >= 1 nodes, n >= 2 if its first state is free.
    theta : float
        n lambda, positive; infinity is allowed.
    length : float
        Of the whole interval: an upper bound on the natural length theta^(1/3).
    """

    def __init__(self, prior: Prior, theta: float, length: float) -> None:
        self._n = n = prior.shift.size + 1
        innovation, lever = np.zeros((3, n)), np.zeros(n)
        np.divide(prior.innovation, theta, out=innovation[:, 1:])
        if prior.first is not None:
            innovation[:, 0] = prior.first / theta
        # scales of p, q and v that make every entry of order one
        length = min(np.cbrt(theta), length)
        shear, moment = 1 / np.sqrt(innovation[::2] + np.array([[1.0], [length**-2.0]]))
        if prior.first is None:
            shear[0] = moment[0] = 0  # nothing ties the first state down
        np.multiply(prior.shift, shear[1:], out=lever[1:])
        slope = moment.copy()
        np.maximum(slope[:-1], np.maximum(lever[1:], moment[1:]), out=slope[:-1])
        self._slope = slope = 1 / slope

        columns = np.zeros((n, 4, 3 * _BAND + 1))
        p, q, g, v = columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]
        p[:, _SAME] = -innovation[0] * shear**2
        q[:, _SAME] = -innovation[2] * moment**2
        p[:, _SAME + 1] = q[:, _SAME - 1] = -innovation[1] * (shear * moment)
        g[:, _SAME] = 1
        p[:, _FAR] = g[:, _NEAR] = shear
        q[:, _FAR] = v[:, _NEAR] = moment * slope
        self._held, self._passed = shear, shear[1:] * prior.decay
        p[1:, _NEAR] = g[:-1, _FAR] = -self._passed
        p[1:, _SAME - 1] = v[:-1, _SAME + 1] = -lever[1:] * prior.decay * slope[:-1]
        q[1:, _NEAR] = v[:-1, _FAR] = -moment[1:] * prior.decay * slope[:-1]
        if prior.first is None:
            p[0, _SAME] = q[0, _SAME] = 1
        factors, self._pivots, info = dgbtrf(columns.reshape(4 * n, -1).T, _BAND, _BAND, overwrite_ab=True)
        # singular only where gaps or lengths underflow
        self._factors = factors.astype(complex) if info == 0 else np.full(factors.shape, np.nan + 0j)
        self._mean: tuple[FloatArray, FloatArray] | None = None
        if prior.pull is not None:
            coupling = np.zeros((n, 4))
            coupling[:, 0], coupling[:, 1] = -shear * prior.pull[0], -moment * prior.pull[1]
            self._mean = coupling.ravel(), self._solve(coupling.reshape(1, -1).astype(complex))[0].real

    @property
    def stored(self) -> int:
        """Numbers in the factors."""
        return self._factors.size + self._pivots.size

    def _solve(self, pairs: ComplexArray, shares: ComplexArray | None = None) -> ComplexArray:
        """Solve for real right-hand sides, two of them travelling as one complex one; shape (pairs, 4 n).

        At so small a bandwidth LAPACK's time is that of its many calls, of which the pairing saves half.
        """
        solution: ComplexArray
        solution = zgbtrs(self._factors, _BAND, _BAND, pairs.T, self._pivots, overwrite_b=True)[0].T
        if shares is not None and self._mean is not None:
            coupling, response = self._mean
            solution = solution - np.outer((solution @ coupling - shares) / (coupling @ response), response)
        return solution

    def residuals(self, values: FloatArray) -> FloatArray:
        """What the fit leaves of values at the nodes: (I - H) y, to full relative accuracy however small theta is.

        Parameters
        ----------
        values : ndarray, shape (n, m)

        Returns
        -------
        ndarray, shape (n, m)
        """
        m = values.shape[1]
        half = (m + 1) // 2
        pairs = np.zeros((half, self._n, 4), dtype=complex)
        pairs[..., 2].real = values.T[:half]
        pairs[: m - half, :, 2].imag = values.T[half:]
        multipliers = self._solve(pairs.reshape(half, -1), np.zeros(half, dtype=complex))[:, 0::4]
        return self._residuals(np.concatenate([multipliers.real, multipliers.imag])[:m].T)

    def residuals_of_one(self) -> FloatArray | None:
        """What a fit about a mean of zero leaves of the constant 1, shape (n,); None where there is no mean."""
        return None if self._mean is None else self._residuals(self._mean[1][0::4, None])[:, 0]

    def _residuals(self, multipliers: FloatArray) -> FloatArray:
        residuals: FloatArray = self._held[:, None] * multipliers
        residuals[:-1] -= self._passed[:, None] * multipliers[1:]
        return residuals

    def rows(self, left: IndexArray, functionals: FloatArray, share: FloatArray | None = None) -> FloatArray:
        """Rows of the smoother for functionals of the states at both ends of one gap.

        Parameters
        ----------
        left : ndarray of int, shape (k,)
            The gap of each, by its left node.
        functionals : ndarray, shape (2 or 4, k)
            Coefficients of g and v at the left node and, where there is a gap, of g and v at the right one.
        share : ndarray, shape (k,), optional
            Where there is an unknown mean, its own coefficient.

        Returns
        -------
        ndarray, shape (k, n)
        """
        n, k = self._n, left.size
        ends = [left, left + 1][: len(functionals) // 2]
        places = np.array([4 * node + unknown for node in ends for unknown in (2, 3)])
        functionals = functionals.copy()
        for end, node in enumerate(ends):
            functionals[2 * end + 1] *= self._slope[node]
        rows = np.empty((k, n))
        step = 2 * max(1, _SOLVE_FLOATS // (8 * n))
        for start in range(0, k, step):
            half = (min(step, k - start) + 1) // 2
            first, second = slice(start, start + half), slice(start + half, min(start + step, k))
            partners = second.stop - second.start  # one less than half where the last has none
            pairs = np.zeros((half, 4 * n), dtype=complex)
            for part, chunk in ((pairs.real, first), (pairs.imag, second)):
                part[np.arange(chunk.stop - chunk.start), places[:, chunk]] = functionals[:, chunk]
            shares = None
            if share is not None:
                shares = share[first].astype(complex)
                shares.imag[:partners] = share[second]
            solution = self._solve(pairs, shares)[:, 2::4]
            rows[first], rows[second] = solution.real, solution.imag[:partners]
        return rows
