"""An exponent from errors: local slopes, a window, a fit, an interval, a verdict."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from letcc.exceptions import InvalidInput

_FEWEST = 3  # points of a fit
_PREASYMPTOTIC = 2  # points at the beginning that a fit leaves out where it can afford to
_LEAST_WIDENING = 0.05  # exact data have intervals far narrower than their distance to the asymptote
_WIDEST = 0.75  # half an interval beyond which no exponent in it counts as attained
_STEEPEST = 20.0
_LEVEL = 0.95


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
        """
        if not abs(self.value) <= _STEEPEST:
            return Verdict.INCONCLUSIVE
        if self.high < claimed:
            return Verdict.HOLDS
        if self.low > claimed:
            return Verdict.REFUTED
        return Verdict.ATTAINED if self.high - self.low <= 2 * _WIDEST else Verdict.INCONCLUSIVE


def fit_exponent(x: ArrayLike, errors: ArrayLike, *, floor: float = 0.0) -> Exponent:
    """Fit a power of x to the asymptotic part of a sequence of errors.

    Parameters
    ----------
    x : array_like, shape (n,)
        Positive and ascending.
    errors : array_like, shape (n,)
        At least 0.
    floor : float
        Errors at or below it are rounding and are left out, with all that follow.

    Returns
    -------
    Exponent
        Least squares on logarithms over all usable points but the first two (at least three). The interval is
        Student's at 95 %, widened by the drift between the last two windows and by at least 0.05.

    Raises
    ------
    InvalidInput
        If the shapes differ or x does not ascend from above 0.
    """
    from scipy.stats import linregress, t  # costs more to import than the rest of letcc

    abscissae, values = np.asarray(x, dtype=float), np.asarray(errors, dtype=float)
    if abscissae.shape != values.shape or abscissae.ndim != 1:
        raise InvalidInput(f"x and errors must have one axis and one length, not {abscissae.shape} and {values.shape}")
    if not ((abscissae > 0).all() and (np.diff(abscissae) > 0).all()):
        raise InvalidInput(f"x must ascend from above 0, not {abscissae.tolist()}")
    rounding = ~(values > floor)
    usable = int(np.argmax(rounding)) if rounding.any() else values.size
    if usable < _FEWEST:
        return Exponent(np.nan, np.nan, np.nan, (), ())
    log_x, log_error = np.log(abscissae[:usable]), np.log(values[:usable])
    width = max(_FEWEST, usable - _PREASYMPTOTIC)
    last = linregress(log_x[-width:], log_error[-width:])
    if usable > width:
        before = linregress(log_x[-width - 1 : -1], log_error[-width - 1 : -1])
        drift = abs(last.slope - before.slope)
    else:
        drift = 0.0
    stderr = np.nan_to_num(last.stderr)  # SciPy's is NaN where all errors are equal
    margin = float(stderr * t.ppf((1 + _LEVEL) / 2, width - 2)) + max(drift, _LEAST_WIDENING)
    return Exponent(
        float(last.slope),
        float(last.slope - margin),
        float(last.slope + margin),
        (float(abscissae[usable - width]), float(abscissae[usable - 1])),
        tuple((np.diff(log_error) / np.diff(log_x)).tolist()),
    )
