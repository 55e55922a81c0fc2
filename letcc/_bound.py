"""How far off an estimate may be, from nothing but what was received."""

import numpy as np

from letcc.arrays import Values, as_columns
from letcc.certificates import certify
from letcc.exceptions import InfiniteCertificate
from letcc.nodes import FloatArray, IndexArray
from letcc.scheme import CodedScheme

_OUTPUTS = Values("the outputs of workers", "leave those workers out of received")
_LEFT_OUT = 32  # workers that leave-one-out looks at, spread evenly


def error_bound(scheme: CodedScheme, outputs: object, received: IndexArray) -> FloatArray:
    """See `letcc.execute.CodedResult.error_bound`."""
    nodes, values = _sorted(scheme, outputs, received)
    if nodes.size < 3:
        return np.full(scheme.num_data, np.inf)  # two values lie on a line, whatever the function
    scheme = scheme.resolve(outputs, received)
    try:
        certificate, full = certify(scheme, received), False
    except InfiniteCertificate:
        certificate, full = certify(scheme, received, ball="full"), True
    bound: FloatArray = np.sqrt(certificate.squared_bias * np.mean(_squared_roughness(nodes, values, full)))
    return bound


def leave_one_out(scheme: CodedScheme, outputs: object, received: IndexArray) -> float:
    """See `letcc.execute.CodedResult.leave_one_out`."""
    nodes, values = _sorted(scheme, outputs, received)
    decoder = scheme.resolve(outputs, received).decoder
    if nodes.size < max(3, decoder.min_nodes + 1):
        return np.inf
    # the outermost are left in: without them the decoder would have to extrapolate, as it does for no data point
    inner = np.unique(np.linspace(1, nodes.size - 2, min(_LEFT_OUT, nodes.size - 2)).round().astype(int))
    others = np.array([np.delete(np.arange(nodes.size), n) for n in inner])
    operators = decoder.operators(nodes[others], nodes[inner])
    errors = [operators[i, i] @ values[others[i]] - values[n] for i, n in enumerate(inner)]
    return float(np.sqrt(np.mean(np.square(errors))))


def _sorted(scheme: CodedScheme, outputs: object, received: IndexArray) -> tuple[FloatArray, FloatArray]:
    order = np.argsort(scheme.worker_points[received])
    return scheme.worker_points[received][order], as_columns(outputs, _OUTPUTS, received)[order]


def _squared_roughness(nodes: FloatArray, values: FloatArray, full: bool) -> FloatArray:
    """Of the least rough function through the values: int u''^2, for the full norm with u(-1)^2 + u'(-1)^2."""
    from scipy.interpolate import CubicSpline  # costs more to import than the rest of letcc

    spline = CubicSpline(nodes, values, bc_type="natural")
    second = spline(nodes, 2)
    a, b = second[:-1], second[1:]
    rough: FloatArray = np.diff(nodes) @ (a * a + a * b + b * b) / 3
    if full:  # the least rough function goes on as a line
        slope = spline(nodes[0], 1)
        rough = rough + slope**2 + (values[0] + slope * (-1 - nodes[0])) ** 2
    return rough
