"""The extremal function through the real pipeline: encode, compute, lose, decode."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd

from letcc import Certificate, CodedScheme, certify
from letcc.nodes import FloatArray, IndexArray
from letcc.rates import Verdict
from letcc.scheme import PointFamily
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope

if TYPE_CHECKING:
    from theory.claims import Claim

_EQUAL = 1e-8


@final
@dataclass(frozen=True)
class Attainment(AbstractEvidence):
    """How far the pipeline's error on the extremal function is from the certificate, relative to it.

    Attributes
    ----------
    sizes : tuple of (N, K, S)
        Of both parities of K and |F|: Berrut's encoder does not reproduce lines where K is odd.
    families : tuple of str
    """

    sizes: tuple[tuple[int, int, int], ...] = ((62, 8, 0), (64, 7, 5), (63, 8, 12), (63, 7, 13))
    families: tuple[PointFamily, ...] = ("chebyshev", "equispaced")

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, scheme, n, k, s, smoothing, points=points)
            for points in self.families
            for scheme, smoothing in (("LeTCC", 0.0), ("LeTCC, lambda = 1e-4", 1e-4), ("BACC", 0.0))
            for n, k, s in self.sizes
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """See `AbstractEvidence.examine`."""
        if cell.sweep == "BACC":
            scheme = CodedScheme.bacc(cell.num_data, cell.num_workers, points=cell.points)
        else:
            scheme = CodedScheme.letcc(
                cell.num_data, cell.num_workers, decoder_smoothing=cell.parameter, points=cell.points
            )
        received = without_middle(cell.num_workers, cell.stragglers)
        certificate = certify(scheme, received, ball="full")
        decoded = decode_extremal(scheme, certificate, received)
        reached = float(((decoded - certificate.extremal(scheme.data_points)) ** 2).max())
        certified = float(certificate.squared_bias.max())
        return {"error": abs(reached / certified - 1), "certified": certified, "reached": reached}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        largest = max(row["error"] for row in table)
        return (Verdict.HOLDS if largest <= _EQUAL else Verdict.REFUTED), {"largest |reached/certified - 1|": largest}


def without_middle(num_workers: int, stragglers: int) -> IndexArray:
    """The received workers where a block in the middle is lost.

    Parameters
    ----------
    num_workers, stragglers : int

    Returns
    -------
    ndarray of int, shape (N - S,)
    """
    start = (num_workers - stragglers) // 2
    return np.delete(np.arange(num_workers), slice(start, start + stragglers))


def decode_extremal(scheme: CodedScheme, certificate: Certificate, received: IndexArray) -> FloatArray:
    """Run the pipeline on a function that the encoder turns into the extremal one.

    Parameters
    ----------
    scheme : CodedScheme
    certificate : Certificate
    received : ndarray of int, shape (|F|,)

    Returns
    -------
    ndarray, shape (K,)
        The estimates.
    """
    x = np.stack([scheme.data_points, scheme.data_points**2], axis=1)
    times = np.concatenate([scheme.data_points, scheme.worker_points])
    curve = np.concatenate([x, scheme.encode(x)])

    def function(inputs: FloatArray) -> FloatArray:
        # on the encoded curve, which in the plane does not cross itself at these points, f(u_e(t)) = g(t)
        nearest = ((inputs[:, None] - curve) ** 2).sum(axis=2).argmin(axis=1)
        values: FloatArray = certificate.extremal(times[nearest])
        return values

    outputs = function(scheme.encode(x))
    return scheme.decode(outputs[received], received)


def extremal_curves() -> pd.DataFrame:
    """The extremal function of each scheme, and what the decoder makes of it, to be drawn.

    Returns
    -------
    DataFrame
        Columns scheme, part ("extremal", "decoder", "received" or "data"), t and value.
    """
    t = np.linspace(-1, 1, 801)
    received, parts = without_middle(32, 6), []
    for name, scheme in (("LeTCC", CodedScheme.letcc(8, 32)), ("BACC", CodedScheme.bacc(8, 32))):
        certificate = certify(scheme, received, ball="full")
        nodes = scheme.worker_points[received]
        values = certificate.extremal(nodes)
        decoder = scheme.decoder.operator(nodes, t) @ values
        for part, points, heights in (
            ("extremal", t, certificate.extremal(t)),
            ("decoder", t, decoder),
            ("received", nodes, values),
            ("data", scheme.data_points, certificate.extremal(scheme.data_points)),
        ):
            parts.append(pd.DataFrame({"scheme": name, "part": part, "t": points, "value": heights}))
    return pd.concat(parts, ignore_index=True)
