"""Polynomials: through every node, or of a given degree by least squares."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from letcc.nodes import FloatArray
from letcc.smoothers.base import AbstractLinearSmoother, check_amplification, checked_degree


@final
@dataclass(frozen=True)
class LagrangePolynomial(AbstractLinearSmoother):
    """The interpolating polynomial, or the least-squares polynomial of a given degree.

    The decoder of Lagrange coded computing (Yu et al., arXiv 1806.00939): a polynomial f of degree D of K encoded
    inputs is a polynomial of degree (K - 1) D, so that any (K - 1) D + 1 workers determine it.

    Parameters
    ----------
    degree : int or None
        None interpolates at every node. A number fits that degree, which where more nodes are known is far better
        conditioned: on 40 random ones of 100 Chebyshev points the Lebesgue constant is 2 instead of 4e5.

    Raises
    ------
    InvalidInput
        If `degree` is not an integer of at least 0 or None.

    Warns
    -----
    IllConditionedWarning
        From `operator`, where the Lebesgue constant, reported in the message, leaves fewer than six digits.

    Notes
    -----
    Interpolation is by the barycentric formula of the first kind (Higham, *IMA J. Numer. Anal.* 24, 2004), whose
    entries are each right to about n units in the last place whatever the nodes; products are kept as mantissa and
    exponent, since they leave the range of a double from a few hundred nodes on. The fit is by QR in the Chebyshev
    basis on the hull of the nodes.
    """

    degree: int | None = None

    def __post_init__(self) -> None:
        """Check the degree once, so that no operator has to."""
        if self.degree is not None:
            object.__setattr__(self, "degree", checked_degree(self.degree, "an integer or None"))

    @property
    def min_nodes(self) -> int:
        """One more than the degree, which is what determines a polynomial."""
        return 1 if self.degree is None else self.degree + 1

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        degree = self.degree
        if degree is None or degree == nodes.size - 1:  # which least squares would lose digits over
            rows = _interpolation(nodes, targets)
        else:
            rows = _least_squares(nodes, targets, degree)
        check_amplification(self, rows)
        return rows


def _interpolation(nodes: FloatArray, targets: FloatArray) -> FloatArray:
    differences = nodes[:, None] - nodes
    np.fill_diagonal(differences, 1)
    weights, weight_exponents = _product(differences)
    distances = targets[:, None] - nodes
    hits = distances == 0
    distances[hits] = 1  # their rows are unit vectors, written last
    values, value_exponents = _product(distances)
    left_out, exponents = np.frexp(distances)
    with np.errstate(over="ignore", under="ignore"):
        rows: FloatArray = np.ldexp(
            values[:, None] / (weights * left_out), value_exponents[:, None] - weight_exponents - exponents
        )
    hit = hits.any(axis=1)
    rows[hit] = hits[hit]
    return rows


def _product(factors: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Product of each row as mantissas and exponents of two."""
    mantissas, exponents = np.frexp(factors)
    exponent = exponents.sum(axis=1)
    product = np.ones(len(factors))
    for start in range(0, factors.shape[1], 512):  # 512 mantissas of at least 1/2 cannot underflow
        product, shift = np.frexp(product * mantissas[:, start : start + 512].prod(axis=1))
        exponent = exponent + shift
    return product, exponent


def _least_squares(nodes: FloatArray, targets: FloatArray, degree: int) -> FloatArray:
    centre, radius = (nodes[0] + nodes[-1]) / 2, (nodes[-1] - nodes[0]) / 2 or 1.0
    q, r = np.linalg.qr(chebvander((nodes - centre) / radius, degree))
    basis = chebvander((targets - centre) / radius, degree)
    rows: FloatArray = np.linalg.solve(r.T, basis.T).T @ q.T
    return rows
