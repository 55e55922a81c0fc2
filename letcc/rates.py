"""An exponent from errors: local slopes, a window, a fit, an interval, a verdict."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import InvalidInput
from letcc.nodes import FloatArray

_FEWEST = 3  # points of a fit
_LEAST_WIDENING = 0.05  # exact data have intervals far narrower than their distance to the asymptote
_WIDEST = 0.75  # half an interval beyond which no exponent in it counts as attained
_STEEPEST = 20.0
_LEVEL = 0.95
_STRAY = 0.99  # confidence at which a point does not belong to the line through those after it


class Verdict(StrEnum):
    """What the evidence says of a claim."""

    ATTAINED = "attained"
    HOLDS = "holds"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent with its interval.

    Attributes
    ----------
    value, low, high : float
        Of ``errors ~ x**value``; NaN where there was nothing to fit.
    window : tuple of float
        The smallest and largest x that the fit used; empty where there was nothing to fit.
    local_slopes : tuple of float
        Between neighbouring points, over the whole range.
    """

    value: float
    low: float
    high: float
    window: tuple[float, ...]
    local_slopes: tuple[float, ...]

    def judge(self, claimed: float) -> Verdict:
        """Hold a claimed upper bound ``O(x**claimed)`` against this exponent.

        Parameters
        ----------
        claimed : float

        Returns
        -------
        Verdict
            ATTAINED: the claimed exponent lies in the interval. HOLDS: the errors grow more slowly (or fall faster)
            than claimed over the whole interval. REFUTED: faster (or more slowly) over the whole of it.
            INCONCLUSIVE: too few points, an absurd slope, or a claimed exponent in an interval too wide to attain it.

        Raises
        ------
        InvalidInput
            If `claimed` is not a finite number.
        """
        if not (isinstance(claimed, (int, float)) and np.isfinite(claimed)):
            raise InvalidInput(f"a claimed exponent must be a finite number, not {claimed!r}")
        if not abs(self.value) <= _STEEPEST:
            return Verdict.INCONCLUSIVE
        if self.high < claimed:
            return Verdict.HOLDS
        if self.low > claimed:
            return Verdict.REFUTED
        return Verdict.ATTAINED if self.high - self.low <= 2 * _WIDEST else Verdict.INCONCLUSIVE


def fit_exponent(
    x: ArrayLike, errors: ArrayLike, *, floor: float = 0.0, uncertainty: ArrayLike | None = None
) -> Exponent:
    r"""Fit a power of x to the asymptotic part of a sequence of errors.

    A grid must stay within one parity (of N, of S) where the errors depend on it: two interleaved sequences are no
    power, and the fit says so by an interval too wide to attain anything.

    Parameters
    ----------
    x : array_like, shape (n,)
        Positive and ascending.
    errors : array_like, shape (n,)
        At least 0.
    floor : float
        Errors at or below it are rounding and are left out, with all that follow.
    uncertainty : array_like, shape (n,), optional
        Standard errors of the errors, relative to them: the points weigh by their inverse squares, and the interval
        rests on them. Without it every point weighs the same, and the interval rests on the scatter about the line.

    Returns
    -------
    Exponent
        Least squares on logarithms over the longest window at the end of the usable points, of at least three, in which
        the local slopes have settled: no point strays from the line through those after it (at 99 %), and a parabola
        does not bend (at 95 %). Smaller departures than the least widening below do not count.

        The interval is the jackknife's with Student's quantile at 95 %; with `uncertainty` the normal one of the given
        standard errors, times :math:`\sqrt{\chi^2 / (n - 2)}` where the scatter is larger than they say. It is widened
        by the drift, by which the slope of the parabola at the window's end differs from the line's, and by at least
        0.05.

    Raises
    ------
    InvalidInput
        If the shapes differ, x does not ascend from above 0, or an uncertainty is not a positive number.

    Examples
    --------
    >>> import numpy as np
    >>> from letcc.rates import fit_exponent
    >>> n = np.array([16, 32, 64, 128, 256])
    >>> exponent = fit_exponent(n, (1 + 4 / n) / n**3)
    >>> f"{exponent.value:.2f} from {exponent.low:.2f} to {exponent.high:.2f}"
    '-3.05 from -3.19 to -2.91'
    >>> exponent.judge(-3.0).value, exponent.judge(-3.5).value
    ('attained', 'refuted')
    """
    abscissae, values = np.asarray(x, dtype=float), np.asarray(errors, dtype=float)
    if abscissae.shape != values.shape or abscissae.ndim != 1:
        raise InvalidInput(f"x and errors must have one axis and one length, not {abscissae.shape} and {values.shape}")
    if not ((abscissae > 0).all() and (np.diff(abscissae) > 0).all()):
        raise InvalidInput(f"x must ascend from above 0, not {abscissae.tolist()}")
    relative = None if uncertainty is None else np.asarray(uncertainty, dtype=float)
    if relative is not None:
        if relative.shape != values.shape:
            raise InvalidInput(f"uncertainty must have the shape of errors, {values.shape}, not {relative.shape}")
        if not ((relative > 0) & np.isfinite(relative)).all():
            raise InvalidInput(f"every uncertainty must be a positive number, not {relative.tolist()}")
    rounding = ~(values > floor)
    usable = int(np.argmax(rounding)) if rounding.any() else values.size
    if usable < _FEWEST:
        return Exponent(np.nan, np.nan, np.nan, (), ())
    points = _Points(
        np.log(abscissae[:usable]), np.log(values[:usable]), None if relative is None else relative[:usable]
    )
    window = points.settled()
    slope, margin = window.slope()
    margin += max(window.drift(), _LEAST_WIDENING)
    return Exponent(
        slope,
        slope - margin,
        slope + margin,
        (float(abscissae[usable - window.x.size]), float(abscissae[usable - 1])),
        tuple((np.diff(points.y) / np.diff(points.x)).tolist()),
    )


@dataclass(frozen=True, eq=False)
class _Points:
    """Logarithms and, where known, the standard errors of y."""

    x: FloatArray  # shape (n,)
    y: FloatArray  # shape (n,)
    uncertainty: FloatArray | None  # shape (n,)

    def since(self, first: int) -> "_Points":
        return _Points(self.x[first:], self.y[first:], None if self.uncertainty is None else self.uncertainty[first:])

    def settled(self) -> "_Points":
        """The longest window at the end in which the local slopes have settled."""
        longest = self.x.size - _FEWEST
        # from behind, because strays hide one another from a fit that starts with them
        first = next((i + 1 for i in reversed(range(longest)) if self.since(i).strays()), 0)
        return next((w for w in map(self.since, range(first, longest)) if not w.bends()), self.since(longest))

    def strays(self) -> bool:
        """Whether the first point is off the line through the others, and matters to the slope."""
        with_it, without = self.slope()[0], self.since(1).slope()[0]
        return abs(with_it - without) > _LEAST_WIDENING and self._is_significant(np.eye(self.x.size)[0], _STRAY)

    def bends(self) -> bool:
        """Whether the slope changes materially and significantly from one end to the other."""
        return self.drift() > _LEAST_WIDENING and self._is_significant((self.x - self.x.mean()) ** 2, _LEVEL)

    def drift(self) -> float:
        """By how much the slope of a parabola at the end differs from its mean."""
        solve, _ = self._least_squares((self.x - self.x.mean()) ** 2)
        return float(abs(solve[0] @ self.y) * (self.x[-1] - self.x[0]))

    def slope(self) -> tuple[float, float]:
        """The line's slope and the half width of its interval."""
        from scipy.special import stdtrit  # costs more to import than the rest of letcc

        solve, residuals = self._least_squares()
        slope = float(solve[-1] @ self.y)
        if self.uncertainty is not None:
            return slope, self._margin(solve[-1], residuals, 2, _LEVEL)
        # the jackknife: how much each point, if left out, changes the slope
        leverage = 1 / self.x.size + solve[-1] * (self.x - self.x.mean())
        changes = solve[-1] * residuals / (1 - leverage)
        return slope, float(np.sqrt(changes @ changes) * stdtrit(self.x.size - 2, (1 + _LEVEL) / 2))

    def _is_significant(self, column: FloatArray, level: float) -> bool:
        """Whether a term besides the line differs from 0."""
        solve, residuals = self._least_squares(column)
        return bool(abs(solve[0] @ self.y) > self._margin(solve[0], residuals, 3, level))

    def _least_squares(self, *columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The matrix from y to the coefficients, of `columns`, 1 and x in order, and the residuals."""
        design = np.stack([*columns, np.ones_like(self.x), self.x - self.x.mean()], axis=1)
        weights = np.ones_like(self.x) if self.uncertainty is None else 1 / self.uncertainty
        solve: FloatArray = np.linalg.pinv(design * weights[:, None]) * weights
        return solve, self.y - design @ (solve @ self.y)

    def _margin(self, row: FloatArray, residuals: FloatArray, parameters: int, level: float) -> float:
        """Half the interval of the coefficient ``row @ y``."""
        from scipy.special import ndtri, stdtrit

        freedom = self.x.size - parameters
        if self.uncertainty is None:
            quantile, spread = stdtrit(freedom, (1 + level) / 2), np.linalg.norm(row)
            scatter = np.linalg.norm(residuals) / freedom**0.5
        else:
            quantile, spread = ndtri((1 + level) / 2), np.linalg.norm(row * self.uncertainty)
            scatter = max(1.0, np.linalg.norm(residuals / self.uncertainty) / freedom**0.5)
        return float(quantile * spread * scatter)
