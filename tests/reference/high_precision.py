"""What the library computes, computed again from the mathematics alone with at least 60 correct digits.

Nothing here imports the library: an error would have to be made twice to go unnoticed. Inputs are float64
numbers, taken exactly as the binary values they are; outputs are mpmath numbers.
Nodes are distinct and come in any order; the columns of every matrix keep that order.
"""

from bisect import bisect_right
from itertools import pairwise

from mpmath import chop, eigsy, exp, fdot, fprod, fsum, inf, isinf, log10, lu_solve, matrix, mpf, sqrt, workdps

DIGITS = 60
# cancellation in polynomials, kernels and Peano sums takes some 20 digits of these in the stored cases
GUARD = 80


def smoothing_spline(nodes, values, smoothing, targets):
    """Evaluate the natural cubic smoothing spline through (nodes, values).

    It minimises the mean form ``(1/n) sum (y_i - u(t_i))^2 + smoothing * int u''^2`` and is a straight line
    outside the outermost nodes.

    Parameters
    ----------
    nodes, values : sequence of float, shape (n,)
        At least one node; one gives a constant, two give a line whatever the smoothing.
    smoothing : float
        Zero interpolates, infinity is the least-squares line; both are exact.
    targets : sequence of float, shape (m,)
        Where to evaluate.

    Returns
    -------
    list of mpf, shape (m,)
    """
    rows = smoothing_spline_operator_rows(nodes, smoothing, targets)
    with workdps(DIGITS + GUARD):
        return [fdot(zip(row, map(mpf, values), strict=True)) for row in rows]


def smoothing_spline_operator_rows(nodes, smoothing, targets):
    """Rows of the matrix that takes values at the nodes to the smoothing spline at the targets.

    The spline is fixed by its values g and second derivatives c at the nodes, with ``Q^T g = R c`` and
    ``g = y - n * smoothing * Q c``, so that ``(R + n * smoothing * Q^T Q) c = Q^T y``. At a target it is
    ``a . g + b . c``. Solving the pentadiagonal system against the target instead of the values gives the
    row ``a + Q z`` with ``(R + n * smoothing * Q^T Q) z = b - n * smoothing * Q^T a``.

    Parameters
    ----------
    nodes : sequence of float, shape (n,)
    smoothing : float
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of list of mpf, shape (m, n)
    """
    order = sorted(range(len(nodes)), key=nodes.__getitem__)
    ordered = [mpf(nodes[j]) for j in order]
    with workdps(DIGITS + GUARD + _digits_lost(ordered, smoothing)):
        targets = [mpf(t) for t in targets]
        if len(ordered) <= 2 or isinf(smoothing):
            rows = [_line_row(ordered, t) for t in targets]
        else:
            rows = _spline_rows(ordered, mpf(smoothing), targets)
    return [_scatter(row, order) for row in rows]


def berrut_operator(nodes, targets):
    """Rows of Berrut's rational interpolant, its signs alternating over the sorted nodes.

    Parameters
    ----------
    nodes : sequence of float, shape (n,)
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of list of mpf, shape (m, n)
        A target that equals a node gives that node's unit vector.
    """
    order = sorted(range(len(nodes)), key=nodes.__getitem__)
    with workdps(DIGITS + GUARD):
        ordered = [mpf(nodes[j]) for j in order]
        rows = []
        for t in map(mpf, targets):
            if t in ordered:
                row = [mpf(x == t) for x in ordered]
            else:
                terms = [(-1) ** rank / (t - x) for rank, x in enumerate(ordered)]
                denominator = fsum(terms)
                row = [term / denominator for term in terms]
            rows.append(_scatter(row, order))
    return rows


def floater_hormann_operator(nodes, degree, targets):
    """Rows of Floater and Hormann's rational interpolant: polynomials through neighbours, blended.

    Over the sorted nodes, ``sum lambda_i p_i / sum lambda_i`` with p_i the polynomial through degree + 1 nodes from
    the i-th on and ``lambda_i(t) = (-1)^i / prod (t - x_j)`` over the same nodes.

    Parameters
    ----------
    nodes : sequence of float, shape (n,)
    degree : int
        At most n - 1.
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of list of mpf, shape (m, n)
        A target that equals a node gives that node's unit vector.
    """
    n = len(nodes)
    order = sorted(range(n), key=nodes.__getitem__)
    with workdps(DIGITS + GUARD):
        ordered = [mpf(nodes[j]) for j in order]
        rows = []
        for t in map(mpf, targets):
            if t in ordered:
                row = [mpf(x == t) for x in ordered]
            else:
                numerator, denominator = [mpf(0)] * n, mpf(0)
                for first in range(n - degree):
                    local = range(first, first + degree + 1)
                    blending = (-1) ** first / fprod(t - ordered[j] for j in local)
                    denominator += blending
                    for j in local:
                        others = [ordered[k] for k in local if k != j]
                        numerator[j] += blending * fprod((t - x) / (ordered[j] - x) for x in others)
                row = [entry / denominator for entry in numerator]
            rows.append(_scatter(row, order))
    return rows


def not_a_knot_spline_operator(nodes, targets):
    """Rows of the cubic spline whose knots are the inner nodes but the first and the last of them.

    In the basis of powers and truncated powers, whose outermost polynomials go on outside the nodes. Four nodes
    or fewer give their polynomial.

    Parameters
    ----------
    nodes : sequence of float, shape (n,)
        Solved densely: some tens of nodes.
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of list of mpf, shape (m, n)
    """
    order = sorted(range(len(nodes)), key=nodes.__getitem__)
    with workdps(DIGITS + GUARD):
        ordered = [mpf(nodes[j]) for j in order]
        powers = range(min(4, len(nodes)))

        def basis(t):
            return [t**power for power in powers] + [max(t - knot, mpf(0)) ** 3 for knot in ordered[2:-2]]

        transposed = matrix([basis(x) for x in ordered]).T
        rows = [list(lu_solve(transposed, matrix(basis(mpf(t))))) for t in targets]
        # of an entry that vanishes, rounding is all that is left
        return [_scatter(chop(row, tol=mpf(10) ** -DIGITS), order) for row in rows]


def lagrange_operator(nodes, targets):
    """Rows of the interpolating polynomial of degree n - 1, by the product formula.

    Parameters
    ----------
    nodes : sequence of float, shape (n,)
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of list of mpf, shape (m, n)
    """
    with workdps(DIGITS + GUARD):
        nodes = [mpf(x) for x in nodes]
        rows = []
        for t in map(mpf, targets):
            row = [mpf(1)] * len(nodes)
            for j, x in enumerate(nodes):
                for k, other in enumerate(nodes):
                    if k != j:
                        row[j] *= (t - other) / (x - other)
            rows.append(row)
    return rows


def least_squares_polynomial_operator(nodes, degree, targets):
    """Rows of the least-squares polynomial, as the kernel of the polynomials orthogonal over the nodes.

    Parameters
    ----------
    nodes : sequence of float, shape (n,)
    degree : int
        At most n - 1, where the polynomial interpolates.
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of list of mpf, shape (m, n)
    """
    with workdps(DIGITS + GUARD):
        points = [mpf(x) for x in [*nodes, *targets]]
        n = len(nodes)
        before, now, norm_before = [mpf(0)] * len(points), [mpf(1)] * len(points), mpf(1)
        rows = [[mpf(0)] * n for _ in targets]
        for _ in range(degree + 1):
            norm = fsum(p**2 for p in now[:n])
            for row, at_target in zip(rows, now[n:], strict=True):
                for j in range(n):
                    row[j] += at_target * now[j] / norm
            # three-term recurrence of the monic polynomials orthogonal over the nodes
            centre = fsum(x * p**2 for x, p in zip(points[:n], now[:n], strict=True)) / norm
            ratio = norm / norm_before
            after = [(x - centre) * p - ratio * q for x, p, q in zip(points, now, before, strict=True)]
            before, now, norm_before = now, after, norm
        # where the polynomial interpolates, entries vanish at a node and rounding is all that is left of them
        return [chop(row, tol=mpf(10) ** -DIGITS) for row in rows]


def sobolev_ridge(nodes, values, length_scale, smoothing, targets):
    """Evaluate kernel ridge regression in the second-order Sobolev space, with a free constant.

    The kernel is ``length_scale^3 / (12 sqrt 3) * (1 + u) exp(-u)`` with ``u = sqrt 3 |r| / length_scale``.
    The fit ``v = c + k(., t) a`` minimises ``(1/n) sum (y_i - v(t_i))^2 + smoothing * |v - c|_k^2``:
    ``(K + n * smoothing * I) a + c 1 = y`` and ``1 . a = 0``.

    Parameters
    ----------
    nodes, values : sequence of float, shape (n,)
        Solved densely: some tens of nodes.
    length_scale : float
    smoothing : float
        Zero interpolates.
    targets : sequence of float, shape (m,)

    Returns
    -------
    list of mpf, shape (m,)
    """
    n = len(nodes)
    with workdps(DIGITS + GUARD):
        nodes = [mpf(x) for x in nodes]
        length = mpf(length_scale)

        def kernel(x, y):
            u = sqrt(3) * abs(x - y) / length
            return length**3 / (12 * sqrt(3)) * (1 + u) * exp(-u)

        system = matrix(n + 1)
        for i, x in enumerate(nodes):
            for j, y in enumerate(nodes):
                system[i, j] = kernel(x, y)
            system[i, i] += n * mpf(smoothing)
            system[i, n] = system[n, i] = 1
        *weights, constant = lu_solve(system, matrix([*map(mpf, values), 0]))
        return [constant + fsum(a * kernel(mpf(t), x) for a, x in zip(weights, nodes, strict=True)) for t in targets]


def certificate(matrix_rows, data_points, worker_points, ball):
    """Exact worst squared errors of a linear decoder over a ball of second-order Sobolev functions.

    The error functionals ``e_k(g) = g(alpha_k) - sum_v L_kv g(beta_v)`` have the Peano kernels
    ``kappa_k(s) = e_k[(. - s)_+]``, piecewise linear, whose products are integrated exactly between their
    knots. ``ball="seminorm"`` is ``int_{-1}^1 g''^2 <= 1``; ``ball="full"`` is
    ``g(-1)^2 + g'(-1)^2 + int_{-1}^1 g''^2 <= 1``.

    Parameters
    ----------
    matrix_rows : sequence of sequence of number, shape (K, |F|)
        The decoding matrix L.
    data_points : sequence of float, shape (K,)
        In [-1, 1].
    worker_points : sequence of float, shape (|F|,)
        Of the received workers only, in [-1, 1], in the order of the columns of L.
    ball : {"seminorm", "full"}

    Returns
    -------
    gram : matrix of mpf, shape (K, K)
        Inner products of the error functionals, W; its diagonal is the worst squared error by data point.
    worst_pointwise : mpf
        The largest of the diagonal.
    worst_average : mpf
        The largest mean over the data points, ``lambda_max(W) / K``.

    Notes
    -----
    Over the seminorm ball all is infinite unless the decoder reproduces straight lines (to 1e-10, so that a
    matrix rounded to float64 qualifies).
    """
    count = len(data_points)
    with workdps(DIGITS + GUARD):
        data_points = [mpf(a) for a in data_points]
        worker_points = [mpf(b) for b in worker_points]
        rows = [[mpf(weight) for weight in row] for row in matrix_rows]

        def errors(g):
            at_workers = [g(b) for b in worker_points]
            decoded = [fdot(zip(row, at_workers, strict=True)) for row in rows]
            return [g(a) - estimate for a, estimate in zip(data_points, decoded, strict=True)]

        of_lines = [errors(lambda t: mpf(1)), errors(lambda t: t + 1)]
        if ball == "seminorm" and max(abs(e) for line in of_lines for e in line) > mpf("1e-10"):
            return matrix([[inf] * count] * count), inf, inf

        knots = sorted({mpf(-1), *data_points, *worker_points, mpf(1)})
        kappa = [errors(lambda t, s=s: max(t - s, mpf(0))) for s in knots]
        gram = matrix(count)
        for k in range(count):
            for j in range(k + 1):
                pieces = [
                    (right - left) * (2 * p[k] * p[j] + p[k] * q[j] + q[k] * p[j] + 2 * q[k] * q[j]) / 6
                    for (left, p), (right, q) in pairwise(zip(knots, kappa, strict=True))
                ]
                if ball == "full":
                    pieces += [line[k] * line[j] for line in of_lines]
                gram[k, j] = gram[j, k] = fsum(pieces)
        worst_average = max(eigsy(gram, eigvals_only=True)) / count
    return gram, max(gram[k, k] for k in range(count)), worst_average


def _digits_lost(nodes, smoothing):
    """Decimal digits that elimination in the pentadiagonal system may lose: its condition number, bounded."""
    if len(nodes) <= 2 or isinf(smoothing):
        return 0
    gaps = [right - left for left, right in pairwise(nodes)]
    largest = max(gaps) + 16 * len(nodes) * mpf(smoothing) / min(gaps) ** 2
    # the rows of R are diagonally dominant by at least a third of the smallest gap
    condition = 3 * largest / min(gaps)
    return int(log10(condition)) + 1


def _scatter(row, order):
    """Undo the sorting of a row's columns."""
    scattered = [mpf(0)] * len(row)
    for entry, j in zip(row, order, strict=True):
        scattered[j] = entry
    return scattered


def _line_row(nodes, target):
    """Row of the least-squares line (of the constant, for one node)."""
    n = len(nodes)
    if n == 1:
        return [mpf(1)]
    mean = fsum(nodes) / n
    spread = fsum((x - mean) ** 2 for x in nodes)
    return [1 / mpf(n) + (target - mean) * (x - mean) / spread for x in nodes]


def _spline_rows(nodes, smoothing, targets):
    """Rows of the smoothing spline on three or more ordered nodes, for a finite smoothing."""
    n = len(nodes)
    weight = n * smoothing
    gaps = [right - left for left, right in pairwise(nodes)]
    # column j of Q holds the second difference around node j + 1
    Q = [(1 / g, -1 / g - 1 / h, 1 / h) for g, h in pairwise(gaps)]
    squares = [sum(entry**2 for entry in column) for column in Q]
    diagonal = [(g + h) / 3 + weight * square for (g, h), square in zip(pairwise(gaps), squares, strict=True)]
    first = [gaps[j + 1] / 6 + weight * (Q[j][1] * Q[j + 1][0] + Q[j][2] * Q[j + 1][1]) for j in range(n - 3)]
    second = [weight * Q[j][2] * Q[j + 2][0] for j in range(n - 4)]
    factors = _factor(diagonal, first, second)

    rows = []
    for t in targets:
        a, b = _hermite_row(nodes, gaps, t)
        right_side = [b[j + 1] - weight * fdot(zip(Q[j], a[j : j + 3], strict=True)) for j in range(n - 2)]
        for j, z in enumerate(_solve(factors, right_side)):
            for i in range(3):
                a[j + i] += Q[j][i] * z
        rows.append(a)
    return rows


def _hermite_row(nodes, gaps, target):
    """Coefficients a, b of the natural spline at a target, ``a . g + b . c``."""
    n = len(nodes)
    a, b = [mpf(0)] * n, [mpf(0)] * n
    i = min(max(bisect_right(nodes, target) - 1, 0), n - 2)
    h = gaps[i]
    p, q = (nodes[i + 1] - target) / h, (target - nodes[i]) / h
    a[i], a[i + 1] = p, q
    if q < 0:
        b[i + 1] = -(h**2) * q / 6
    elif p < 0:
        b[i] = -(h**2) * p / 6
    else:
        b[i], b[i + 1] = -(h**2) * p * q * (1 + p) / 6, -(h**2) * p * q * (1 + q) / 6
    return a, b


def _factor(diagonal, first, second):
    """L D L^T of a symmetric positive definite pentadiagonal matrix, given by its three diagonals."""
    pivots, below, far_below = [], [], []
    for j, pivot in enumerate(diagonal):
        if j >= 1:
            pivot -= below[j - 1] ** 2 * pivots[j - 1]
        if j >= 2:
            pivot -= far_below[j - 2] ** 2 * pivots[j - 2]
        pivots.append(pivot)
        if j < len(first):
            coupling = first[j]
            if j >= 1:
                coupling -= below[j - 1] * far_below[j - 1] * pivots[j - 1]
            below.append(coupling / pivot)
        if j < len(second):
            far_below.append(second[j] / pivot)
    return pivots, below, far_below


def _solve(factors, right_side):
    """Solve against the factors of `_factor`."""
    pivots, below, far_below = factors
    z = list(right_side)
    for j in range(len(z)):
        if j >= 1:
            z[j] -= below[j - 1] * z[j - 1]
        if j >= 2:
            z[j] -= far_below[j - 2] * z[j - 2]
    z = [entry / pivot for entry, pivot in zip(z, pivots, strict=True)]
    for j in reversed(range(len(z))):
        if j + 1 < len(z):
            z[j] -= below[j] * z[j + 1]
        if j + 2 < len(z):
            z[j] -= far_below[j] * z[j + 2]
    return z
