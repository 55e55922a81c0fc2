"""Floater and Hormann's rational interpolants, which extend Berrut's to higher orders."""

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from letcc.nodes import FloatArray
from letcc.smoothers.base import AbstractLinearSmoother, check_amplification, checked_degree

Exponents: TypeAlias = NDArray[np.intc]  # of two, as numpy's frexp has them

_FLOATS = 2**17  # of a block of rows worked on together


@final
@dataclass(frozen=True)
class FloaterHormann(AbstractLinearSmoother):
    r"""Floater and Hormann's rational interpolant: local polynomials, blended.

    .. math:: r(x) = \frac{\sum_i \lambda_i(x) p_i(x)}{\sum_i \lambda_i(x)}, \quad
              \lambda_i(x) = \frac{(-1)^i}{(x - t_i) \cdots (x - t_{i+d})}

    over the nodes in ascending order, where :math:`p_i` is the polynomial through the :math:`d + 1` nodes from
    :math:`t_i` on (Floater and Hormann, *Numer. Math.* 107, 2007). It has no real pole, whoever is missing.
    Polynomials up to the degree are reproduced from any number of nodes: straight lines from degree 1 on, which
    `BerrutRational`, the case of degree 0, reproduces from an even number only. Outside the outermost nodes it is the
    same rational function, which strays like a polynomial of the degree.

    Parameters
    ----------
    degree : int
        d, of the local polynomials. As many nodes as determine one of them, d + 1, are needed, and from these
        alone it is `LagrangePolynomial()`. Degree 1 has a Lebesgue constant below 10 on a thousand Chebyshev or even
        points; 3 has 9 on even ones, but 4e4 on Chebyshev points, where the narrow gaps at the ends weigh heavily in
        the middle: higher degrees are for even points.

    Raises
    ------
    InvalidInput
        If `degree` is not an integer of at least 0.

    Warns
    -----
    IllConditionedWarning
        From `operator`, where the Lebesgue constant, reported in the message, leaves fewer than six digits.

    Notes
    -----
    The entry of node k is :math:`w_k / (x - t_k)` over the denominator. Each weight is a sum of terms of one sign.
    The denominator is that of the definition, summed outward from the target in pairs of neighbours that lie wholly to
    one side of it. Each pair is formed as a product,

    .. math:: \lambda_i(x) + \lambda_{i+1}(x) = (-1)^i \frac{t_i - t_{i+d+1}}{(x - t_i) \cdots (x - t_{i+d+1})},

    and has the sign of every :math:`\lambda` whose nodes enclose the target, so that nothing cancels and every entry
    is right to a few units in the last place, or d where that is more: beside a node as well as on it, and outside
    them all. SciPy's ``FloaterHormannInterpolator`` is the same function and sums :math:`w_k / (x - t_k)` for the
    denominator, which outside the nodes cancels (five digits are lost at 1.2 on 40 Chebyshev points, of degree 3), and
    overflows right beside a node.

    Products are kept as mantissa and exponent, since those of many nodes leave the range of a double. One takes
    log d steps, so that a row takes time proportional to n log d.
    """

    degree: int

    def __post_init__(self) -> None:
        """Check the degree once, so that no operator has to."""
        object.__setattr__(self, "degree", checked_degree(self.degree, "an integer"))

    @property
    def min_nodes(self) -> int:
        """One more than the degree, which is what determines a local polynomial."""
        return self.degree + 1

    def _sorted_operator(self, nodes: FloatArray, targets: FloatArray) -> FloatArray:
        n, k = nodes.size, targets.size
        if n == 1:  # to the last bit
            return np.ones((k, 1))
        rows = np.empty((k, n))
        weights, exponents = _weights(nodes, self.degree)
        at_once = max(1, _FLOATS // n)  # rows that fit the cache
        for start in range(0, k, at_once):
            chunk = slice(start, start + at_once)
            rows[chunk] = _rows(nodes, targets[chunk, None], self.degree, weights, exponents)
        check_amplification(self, rows)
        return rows


def _weights(nodes: FloatArray, degree: int) -> tuple[FloatArray, Exponents]:
    """Sizes of the barycentric weights, whose signs alternate, as numbers and exponents of two."""
    n = nodes.size
    offsets = np.arange(-degree, degree + 1)
    places = np.arange(n)[:, None] + offsets
    distances = np.abs(nodes[:, None] - nodes[np.clip(places, 0, n - 1)])
    distances[:, degree] = 1  # the node itself
    first = places[:, : degree + 1]  # of the nodes of each local polynomial that may go through this one
    exists = (first >= 0) & (first + degree < n)
    distances[(places < 0) | (places >= n)] = 1  # only in polynomials that do not exist
    products, exponents = _products(distances, degree + 1)
    largest = np.max(-exponents, axis=1, keepdims=True, where=exists, initial=np.iinfo(exponents.dtype).min)
    weights = np.sum(np.ldexp(1 / products, -exponents - largest), axis=1, where=exists)
    return weights, largest[:, 0]


def _rows(nodes: FloatArray, targets: FloatArray, degree: int, weights: FloatArray, exponents: Exponents) -> FloatArray:
    """Rows for targets of shape (k, 1)."""
    n, pieces = nodes.size, nodes.size - degree
    distances = targets - nodes
    hits = distances == 0
    distances[hits] = 1  # their rows are unit vectors, written last
    sizes = np.abs(distances)
    products, product_exponents = _products(sizes, degree + 1)
    largest = np.max(-product_exponents, axis=1, keepdims=True)  # a factor; without it they could overflow
    blending = np.ldexp(1 / products, -product_exponents - largest)
    farther = np.maximum(sizes[:, : pieces - 1], sizes[:, degree + 1 :])
    pairs = np.maximum(blending[:, :-1], blending[:, 1:]) * ((nodes[degree + 1 :] - nodes[: pieces - 1]) / farther)
    below = (nodes <= targets).sum(axis=1, keepdims=True)  # how many nodes lie to the left
    start, on_left, on_right = np.arange(pieces), below - degree, pieces - below  # pieces wholly to one side, if any
    outward = np.where(start >= below, start - below, on_left - start)[:, :-1]
    paired = (outward % 2 == 0) & ((start >= below) | (start <= on_left - 2))[:, :-1]
    alone = (start < below) & (start >= on_left)
    alone[:, :1] |= (on_left > 0) & (on_left % 2 == 1)  # the outermost where its side is odd
    alone[:, -1:] |= (on_right > 0) & (on_right % 2 == 1)
    magnitude = np.sum(pairs, axis=1, keepdims=True, where=paired)
    magnitude += np.sum(blending, axis=1, keepdims=True, where=alone)
    # positive for the node next to the target on its left, and alternating from there
    signs = np.where((np.arange(n) + below) % 2, 1.0, -1.0)
    divisors, divisor_exponents = np.frexp(distances)
    rows: FloatArray = np.ldexp(signs * weights / (divisors * magnitude), exponents - largest - divisor_exponents)
    hit = hits.any(axis=1)
    rows[hit] = hits[hit]
    return rows


def _products(factors: FloatArray, width: int) -> tuple[FloatArray, Exponents]:
    """Product of every `width` neighbours in a row, as mantissas and exponents of two, by doubling."""
    count = factors.shape[1] - width + 1
    powers, power_exponents = np.frexp(factors)  # products of `length` neighbours
    product, exponent = np.ones((len(factors), count)), np.zeros((len(factors), count), dtype=power_exponents.dtype)
    done, length = 0, 1
    while True:
        if width & length:
            window = slice(done, done + count)
            product, shift = np.frexp(product * powers[:, window])
            exponent = exponent + power_exponents[:, window] + shift
            done += length
        if 2 * length > width:
            return product, exponent
        powers, shift = np.frexp(powers[:, :-length] * powers[:, length:])
        power_exponents = power_exponents[:, :-length] + power_exponents[:, length:] + shift
        length *= 2
