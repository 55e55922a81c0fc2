"""Corrupted workers on the real pipeline: the function and the corruption on which a scheme errs most."""

from dataclasses import asdict
from typing import Any

import numpy as np

from letcc import CodedScheme, certify
from theory.certification import claim_row
from theory.claims import BY_ID
from theory.evidence import Adversaries, Scope

_SCOPE = Scope(max_n=2048)


def measure_corruption() -> dict[str, Any]:
    """Reach the certified worst case of corrupted workers.

    Returns
    -------
    dict
        See `theory.certification.claim_row`.
    """
    claim = BY_ID["letcc-adversarial"]
    assert isinstance(claim.evidence, Adversaries)
    table, off = [], []
    for cell in claim.evidence.cells(claim, _SCOPE):
        certified = claim.evidence.examine(claim, cell)
        scheme = CodedScheme.letcc(cell.num_data, cell.num_workers, decoder_smoothing=certified["smoothing"])
        error = corrupted_error(scheme, int(cell.parameter), claim.evidence.magnitude)
        table.append(asdict(cell) | {"error": error})
        off.append(abs(error / certified["error"] - 1))
    verdict, evidence = claim.evidence.judge(claim, table)
    return claim_row(claim, verdict, measured=evidence | {"largest |reached/certified - 1|": max(off)})


def corrupted_error(scheme: CodedScheme, q: int, magnitude: float) -> float:
    """The largest squared error at any data point where its worst function meets its worst corruption.

    Parameters
    ----------
    scheme : CodedScheme
        Whose encoder reproduces lines.
    q : int
        Corrupted workers.
    magnitude : float
        M, of what each adds to its output.

    Returns
    -------
    float
    """
    worst = 0.0
    x, weights = scheme.data_points, scheme.decoding_matrix()
    for k, row in enumerate(weights):
        alone = CodedScheme(scheme.encoder, scheme.decoder, x[k : k + 1], scheme.worker_points)
        function = certify(alone).extremal  # on data x_k = alpha_k, where the encoder is the identity
        outputs = function(scheme.encode(x))
        corrupted = np.argpartition(-np.abs(row), q - 1)[:q]
        # the extremal function exceeds its estimate, which these push further down
        outputs[corrupted] -= magnitude * np.sign(row[corrupted])
        worst = max(worst, float((scheme.decode(outputs)[k] - function(x[k])) ** 2))
    return worst
