"""The interpolating cubic spline with not-a-knot ends, in the basis of B-splines."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg.lapack import dgbsv

from letcc.nodes import FloatArray
from letcc.smoothers.base import AbstractLinearSmoother

_BAND = 2  # a node lies in the support of no B-spline farther than this from its own


@final
@dataclass(frozen=True)
class CubicBSpline(AbstractLinearSmoother):
    """The interpolating cubic spline whose knots are the nodes, but for the second and the last but one.

    The function that SciPy's ``make_interp_spline`` and ``CubicSpline`` give by default. Coded computing by cubic
    B-splines is proposed in arXiv 2601.10616, of which only the abstract is known here: how it treats the ends, and
    which knots it takes, may differ.

    Unlike the natural spline, `SmoothingSpline(0.0)`, it reproduces cubic polynomials from four nodes on, and so is of
    order four up to the ends. Two, three and four nodes give their polynomial, one gives a constant. Outside the
    outermost nodes the outermost polynomials go on, as in SciPy: the weights grow with the cube of the distance
    measured in the last gaps, where those of the natural spline grow with the distance.

    Notes
    -----
    The B-splines are SciPy's, ``BSpline.design_matrix``. Their banded equations are solved against the targets instead
    of the unit vectors of the values, which gives ``make_interp_spline`` of the identity in time and memory linear in
    n. A row is right to rounding of its sum of sizes where neighbouring gaps are alike, as on Chebyshev or even points
    with blocks lost; where one is g times narrower than its neighbours, some g times that is lost.
    """

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        from scipy.interpolate import BSpline  # costs more to import than the rest of letcc

        n, k = nodes.size, targets.size
        if n == 1:
            return np.ones((k, 1))
        degree = min(3, n - 1)
        knots = np.concatenate([[nodes[0]] * (degree + 1), nodes[2:-2], [nodes[-1]] * (degree + 1)])
        design = BSpline.design_matrix(np.concatenate([nodes, targets]), knots, degree, extrapolate=True)
        at_nodes = design[:n].tocoo()
        if not np.isfinite(at_nodes.data).all():  # gaps that underflow; the caller names them
            return np.full((k, n), np.nan)
        equations = np.zeros((3 * _BAND + 1, n))  # LAPACK's band of the transpose, with room for pivoting
        within = at_nodes.data != 0
        node, spline = at_nodes.row[within], at_nodes.col[within]
        equations[2 * _BAND + spline - node, node] = at_nodes.data[within]
        _, _, solution, singular = dgbsv(_BAND, _BAND, equations, design[n:].toarray().T)
        rows: FloatArray = solution.T if singular == 0 else np.full((k, n), np.nan)
        place = np.minimum(np.searchsorted(nodes, targets), n - 1)
        hit = nodes[place] == targets
        rows[hit] = place[hit, None] == np.arange(n)
        return rows
