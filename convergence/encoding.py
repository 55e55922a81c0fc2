"""What the encoder costs, measured on data of the zoo: the split of the loss, and the training error."""

from dataclasses import replace
from typing import Any

import numpy as np

from convergence.problems import EDGE_POWER, Array, Problem, zoo
from letcc import CodedScheme
from letcc.nodes import IndexArray
from letcc.rates import Verdict
from letcc.stragglers import AtMost
from theory.bounds import training_error
from theory.certification import claim_row
from theory.claims import BY_ID
from theory.evidence import LossSplit, Scope, TrainingError

_SETS = 5
# where the kernel, as wide as lambda^(1/4), is well inside the interval: beyond, data are flattened whatever they are
_SMOOTHINGS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
_ROUNDING = 1e-9


def measure_loss_split(seed: int) -> list[dict[str, Any]]:
    """The largest loss over its bound, on runs of the zoo with data in ascending and in random order.

    Parameters
    ----------
    seed : int

    Returns
    -------
    list of dict
        A row for the claim and one for its control, see `theory.certification.claim_row`.
    """
    rows = []
    for name in ("loss-split", "loss-split-1"):
        claim = BY_ID[name]
        assert isinstance(claim.evidence, LossSplit)
        table = []
        for cell in claim.evidence.cells(claim, Scope(seed=seed)):
            scheme = CodedScheme.letcc(cell.num_data, cell.num_workers, encoder_smoothing=cell.parameter)
            rng = np.random.default_rng([seed, cell.num_workers, cell.num_data])
            orders = scheme.data_points, rng.permutation(scheme.data_points)
            received = [AtMost(cell.stragglers).sample(cell.num_workers, rng) for _ in range(_SETS)]
            for problem in zoo(scheme.data_points).values():
                error = max(loss_ratio(scheme, problem, problem.inputs(order), received) for order in orders)
                error *= 2 / claim.evidence.factor
                smooth = error if "smooth" in problem.tags else 0.0
                table.append({"parameter": cell.parameter, "error": error, "smooth": smooth})
        verdict, evidence = claim.evidence.judge(claim, table)
        rows.append(claim_row(claim, verdict, measured=evidence))
    return rows


def loss_ratio(scheme: CodedScheme, problem: Problem, x: Array, received_sets: list[IndexArray]) -> float:
    """L / (L_dec + L_enc) of one run, in expectation over received sets.

    Parameters
    ----------
    scheme : CodedScheme
    problem : Problem
    x : ndarray, shape (K, ...)
    received_sets : list of ndarray of int

    Returns
    -------
    float
        0 where nothing is lost.
    """
    encoder = scheme.encoder.operator(scheme.data_points, scheme.data_points)
    between = problem.function(np.tensordot(encoder, x, axes=1))  # f(u_e(alpha_k))
    truth, outputs = problem.function(x), problem.function(scheme.encode(x))
    decoded = [scheme.decode(outputs[received], received) for received in received_sets]
    loss = np.mean([np.sum((estimate - truth) ** 2) for estimate in decoded])
    decoding = np.mean([np.sum((estimate - between) ** 2) for estimate in decoded])
    parts = 2 * decoding + 2 * np.sum((between - truth) ** 2)
    return float(loss / parts) if loss else 0.0


def measure_training_error() -> dict[str, Any]:
    """The encoder's training error against its bound: its exponent on data at the edge of the space.

    Returns
    -------
    dict
        See `theory.certification.claim_row`. Data on smooth curves must be within the bound, and have no exponent that
        could reach the claimed one.
    """
    claim = BY_ID["encoder-training-error"]
    assert isinstance(claim.evidence, TrainingError)
    edge, smooth = [], [0.0]
    for cell in replace(claim.evidence, smoothings=_SMOOTHINGS).cells(claim, Scope()):
        scheme = CodedScheme.letcc(
            cell.num_data, cell.num_workers, encoder_smoothing=cell.parameter, points=cell.points
        )
        points, problems = scheme.data_points, zoo(scheme.data_points)
        errors = {
            name: _training_error(scheme, x)
            for name, x in (("edge", problems["edge"].function(points)), ("curve", problems["vector"].inputs(points)))
        }
        bound = training_error(cell.parameter, _edge_roughness(points[points.size // 2]))
        edge.append(
            {"sweep": cell.sweep, "parameter": cell.parameter, "error": errors["edge"], "bound": bound},
        )
        if cell.parameter:
            smooth.append(errors["curve"] / training_error(cell.parameter, 8))  # of (t, t^2): the integral of 2^2
    verdict, evidence = claim.evidence.judge(claim, edge)
    evidence = {"largest measured/bound": evidence.pop("largest exact/bound")} | evidence
    evidence["largest measured/bound on a smooth curve"] = max(smooth)
    if max(smooth) > 1 + _ROUNDING:
        verdict = Verdict.REFUTED
    return claim_row(claim, verdict, measured=evidence)


def _training_error(scheme: CodedScheme, x: Array) -> float:
    off = scheme.encoder.operator(scheme.data_points, scheme.data_points) @ x - x
    return float(np.sum(off**2) / len(x))


def _edge_roughness(kink: float) -> float:
    """Integral of the squared second derivative of |t - kink|^p over [-1, 1]."""
    power = 2 * EDGE_POWER - 3
    return float((EDGE_POWER * (EDGE_POWER - 1)) ** 2 * ((1 - kink) ** power + (1 + kink) ** power) / power)
