"""What claims assume, and whether what is examined here meets it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from theory.claims import Claim


@dataclass(frozen=True)
class Assumption:
    """An assumption of a claim.

    Attributes
    ----------
    statement : str
    check : callable
        From the claim to whether its configuration meets the assumption, and why.
    """

    statement: str
    check: Callable[["Claim"], tuple[bool, str]] = field(repr=False)


def _met(why: str) -> Callable[["Claim"], tuple[bool, str]]:
    return lambda claim: (True, why)


def _gap_ratio(claim: "Claim") -> tuple[bool, str]:
    few, many = (np.diff(claim.scheme(8, n).worker_points) for n in (64, 1024))
    ratios = [float(gaps.max() / gaps.min()) for gaps in (few, many)]
    met = ratios[1] < 2 * ratios[0]
    why = "" if met else ": Chebyshev points crowd at the ends; equispaced ones, which are examined too, do not"
    return met, (
        f"the largest gap of the worker points examined is {ratios[0]:.3g} times the smallest at N = 64 and "
        f"{ratios[1]:.3g} times at N = 1024{why}"
    )


SOBOLEV = Assumption(
    "f o u_e lies in the unit ball of the second-order Sobolev space, int g''^2 <= 1",
    _met("certificates are suprema over exactly this ball"),
)
FULL_NORM = Assumption(
    "g(-1)^2 + g'(-1)^2 + int g''^2 <= 1",
    _met("certificates are suprema over exactly this ball; BACC does not reproduce lines for odd |F|"),
)
BOUNDED_GAPS = Assumption("the ratio of the largest to the smallest gap of the worker points is bounded", _gap_ratio)
NOISE = Assumption(
    "independent zero-mean noise of bounded variance on every worker's output",
    lambda claim: (True, f"sigma = {claim.noise_std:g}; the variance is added exactly"),
)
VANISHING_SMOOTHING = Assumption("lambda_d -> 0", _met("lambda_d = 0"))
PAPER_SMOOTHING = Assumption("lambda_d ~ N^(-4/5) (recalled)", _met("lambda_d = 0.01 N^(-4/5)"))
BEST_SMOOTHING = Assumption("lambda_d = sigma^2 / (n R^2)", _met("R = 1, the radius of the ball"))
DERIVATIVES = Assumption("g' and g'' bounded", _met("the bound is held against max|g'| = max|g''| = 1"))
SECOND_KIND = Assumption("Chebyshev worker points of the second kind", _met("they are"))
INDEPENDENT = Assumption("each worker is lost with probability p, independently", _met("p = 0.2, sampled"))
SUPREMUM = Assumption(
    "the error is a supremum over the interval, or over K ~ N data points",
    _met("the supremum; at K fixed data points no logarithm shows"),
)
BOUNDED_CORRUPTION = Assumption(
    "q = N^a workers, a < 1, return outputs that are off by at most M",
    _met(
        "M = 1, the worst signs and places; judged with q = 1 and N^(1/4); the slopes of q = N^(1/2), in brackets, and "
        "of q = N^(3/4) do not come to rest within these N"
    ),
)
ADVERSARIAL_SMOOTHING = Assumption(
    "lambda_d ~ (q/N)^(8/5) (recalled)", _met("lambda_d = c (q/N)^(8/5), c = 0.1 and 0.01")
)
ANY_FUNCTION = Assumption("any f, any encoder", _met("every function at once, by singular values"))
POLYNOMIAL = Assumption("f is a polynomial map of known degree", _met("random ones of three variables, degrees 1 to 3"))
CUBIC = Assumption("the objective is (1/n) sum (y - u)^2 + lambda int u''^2 on (-1, 1)", _met("it is"))
LIPSCHITZ = Assumption("f is q-Lipschitz, and the data lie on a function with int x''^2 <= 1", _met("q = 1"))
UNIFORM = Assumption("uniformly random stragglers", _met("so they are drawn"))
RECALLED_SIZES = Assumption("(N, K, S) = (100, 20, 60) (recalled)", _met("the same"))
