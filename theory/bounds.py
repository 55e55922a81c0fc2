"""The printed bounds as numbers."""

import math


def bacc_sup(num_workers: int, stragglers: int, curvature: float = 1.0, slope: float = 1.0) -> float:
    """Bound of BACC on the supremum of the error (arXiv 2009.08327, recalled).

    Parameters
    ----------
    num_workers, stragglers : int
        N Chebyshev points of the second kind, of which S are lost.
    curvature, slope : float
        Bounds on max|g''| and max|g'|.

    Returns
    -------
    float
        ``2 (1 + R) sin((S+1) pi / 2(N-1)) G`` with ``R = (S+1)(S+3) pi^2/4``. The lemma behind it needs N - 1, the
        number of gaps, where N points are cos(n pi/(N-1)).
    """
    odd = (num_workers - stragglers) % 2
    ratio = (stragglers + 1) * (stragglers + 3) * math.pi**2 / 4
    angle = (stragglers + 1) * math.pi / (2 * (num_workers - 1))
    return 2 * (1 + ratio) * math.sin(min(angle, math.pi / 2)) * (curvature + slope * odd)


def training_error(smoothing: float, roughness: float = 1.0) -> float:
    """Bound of a smoothing spline's mean squared training error (this project).

    Parameters
    ----------
    smoothing : float
        lambda_e, mean form.
    roughness : float
        ``int x''^2`` of a function through the data.

    Returns
    -------
    float
        ``lambda_e / 4 int x''^2``. In the Demmler-Reinsch basis a part of the data whose roughness is nu times its mean
        square leaves ``(lambda nu / (1 + lambda nu))^2 <= lambda nu / 4`` of itself.
    """
    return smoothing * roughness / 4
