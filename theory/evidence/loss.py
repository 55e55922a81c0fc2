"""The split of the loss into the decoder's and the encoder's part, and how tight it is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from letcc import CodedScheme
from letcc.nodes import FloatArray, IndexArray
from letcc.rates import Verdict
from letcc.stragglers import AtMost
from theory.evidence.base import AbstractEvidence, Cell, Row, Scope

if TYPE_CHECKING:
    from theory.claims import Claim

_SETS = 5  # received sets over which the expectation is taken
_ROUNDING = 1e-9
_DECIMALS = 12  # to which two points are one, where f has one value


@final
@dataclass(frozen=True)
class LossSplit(AbstractEvidence):
    """The largest L / (L_dec + L_enc) over all functions f, by singular values.

    With f's values at the inputs, the coded inputs and the encoder's own values there as unknowns, all three losses
    are quadratic forms, so that no function can be missed.

    Attributes
    ----------
    factor : float
        In front of both parts: 2, or 1 for the control.
    smoothings : tuple of float
        lambda_e.
    sizes : tuple of (N, K, S)
    """

    factor: float = 2.0
    smoothings: tuple[float, ...] = (0.0, 1e-5, 1e-3, 1e-1)
    sizes: tuple[tuple[int, int, int], ...] = ((32, 8, 0), (32, 8, 8), (66, 16, 21))

    def cells(self, claim: "Claim", scope: Scope) -> list[Cell]:
        """See `AbstractEvidence.cells`."""
        return [
            Cell(claim.id, "lambda_e", n, k, s, parameter=smoothing, seed=scope.seed)
            for n, k, s in self.sizes
            for smoothing in self.smoothings
        ]

    def examine(self, claim: "Claim", cell: Cell) -> Row:
        """The largest ratio, and the one for a smooth function; see `AbstractEvidence.examine`."""
        scheme = CodedScheme.letcc(cell.num_data, cell.num_workers, encoder_smoothing=cell.parameter)
        rng = np.random.default_rng(cell.seed)
        x = rng.permutation(scheme.data_points)  # not a line, or the encoder would make no error
        model = AtMost(cell.stragglers)
        received = [model.sample(cell.num_workers, rng) for _ in range(_SETS)]
        own = scheme.encoder.operator(scheme.data_points, scheme.data_points) @ x
        points, place = np.unique(np.concatenate([x, own, scheme.encode(x)]).round(_DECIMALS), return_inverse=True)
        loss, parts = (form @ np.eye(points.size)[place] for form in _losses(scheme, received))
        values = np.exp(np.sin(3 * points))
        smooth = float(np.sum((loss @ values) ** 2) / np.sum((parts @ values) ** 2)) / self.factor
        return {"error": _largest_ratio(loss, parts) / self.factor, "smooth": smooth}

    def judge(self, claim: "Claim", table: list[Row]) -> tuple[Verdict, dict[str, Any]]:
        """See `AbstractEvidence.judge`."""
        largest = max(row["error"] for row in table)
        interpolating = [row["error"] for row in table if row["parameter"] == 0]
        evidence = {
            "largest L / (L_dec + L_enc)": largest,
            "at lambda_e = 0": max(interpolating),
            "for a smooth f": max(row["smooth"] for row in table),
        }
        return Verdict.HOLDS if largest <= 1 + _ROUNDING else Verdict.REFUTED, evidence


def _losses(scheme: CodedScheme, received: list[IndexArray]) -> tuple[FloatArray, FloatArray]:
    """What is squared and summed in L, and in L_dec + L_enc; columns are f at the inputs, u_e there, coded inputs."""
    k, n = scheme.num_data, scheme.num_workers
    decoder = np.zeros((len(received), k, 2 * k + n))
    decoder[:, np.arange(k), k + np.arange(k)] = -1
    for part, workers in zip(decoder, received, strict=True):
        part[:, 2 * k + workers] += scheme.decoding_matrix(workers)
    encoder = np.concatenate([-np.eye(k), np.eye(k), np.zeros((k, n))], axis=1)
    loss = (decoder + encoder).reshape(-1, 2 * k + n)
    return loss, np.concatenate([decoder.reshape(-1, 2 * k + n), np.sqrt(len(received)) * encoder])


def _largest_ratio(loss: FloatArray, parts: FloatArray) -> float:
    """Supremum of |loss v|^2 / |parts v|^2; what `parts` maps to zero, `loss` does too."""
    _, sizes, directions = np.linalg.svd(parts, full_matrices=False)
    kept = sizes > sizes[0] * _ROUNDING
    return float(np.linalg.norm(loss @ (directions[kept].T / sizes[kept]), 2) ** 2)
