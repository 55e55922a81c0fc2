"""Methods of interpolation and smoothing: one file each, every one an `AbstractLinearSmoother`."""

from letcc.smoothers.base import AbstractLinearSmoother
from letcc.smoothers.berrut import BerrutRational
from letcc.smoothers.cubic_bspline import CubicBSpline
from letcc.smoothers.floater_hormann import FloaterHormann
from letcc.smoothers.lagrange import LagrangePolynomial
from letcc.smoothers.sobolev import SobolevRidge
from letcc.smoothers.spline import SmoothingSpline

__all__ = [
    "AbstractLinearSmoother",
    "BerrutRational",
    "CubicBSpline",
    "FloaterHormann",
    "LagrangePolynomial",
    "SmoothingSpline",
    "SobolevRidge",
]
