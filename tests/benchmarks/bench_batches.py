"""Many received sets at once: operators and certificates, beside loops over one at a time."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from letcc import CodedScheme, certify_many
from letcc.stragglers import ConsecutiveBlock

SETS = 10_000


@pytest.mark.parametrize("smoothing", [0.0, 1e-5])
@pytest.mark.parametrize("loop", ["scipy", "letcc"])
def test_operators_of_random_sets(side_by_side, loop, smoothing):
    scheme = CodedScheme.letcc(20, 100, decoder_smoothing=smoothing)
    sets = np.sort(np.argsort(np.random.default_rng(0).random((SETS, 100)), axis=1)[:, :40], axis=1)
    some = sets[:: SETS // 200]  # the loops are timed on a part, and multiplied up
    outputs = np.random.default_rng(1).standard_normal((40, 10))
    one = {
        "scipy": lambda nodes: make_smoothing_spline(nodes, outputs, lam=40 * smoothing)(scheme.data_points),
        "letcc": lambda nodes: scheme.decoder.operator(nodes, scheme.data_points),
    }[loop]

    def theirs():
        for received in some:
            one(scheme.worker_points[received])

    name = f"loop over {loop} ({len(some)} of {SETS} sets: multiply by {SETS // len(some)}), smoothing = {smoothing}"
    side_by_side(name, lambda: scheme.decoding_matrices(sets), theirs, rounds=5, inner=1)


def test_certificates_of_all_blocks(side_by_side):
    scheme = CodedScheme.letcc(16, 1024)
    blocks = np.array(list(ConsecutiveBlock(8).all(1024)))
    some = blocks[::100]

    def dense():
        for received in some:
            weights = np.concatenate([-scheme.decoding_matrix(received), np.eye(16)], axis=1)
            points = np.concatenate([scheme.worker_points[received], scheme.data_points])
            kernel = np.abs(points[:, None] - points) ** 3 / 12
            np.einsum("kp,pq,kq->k", weights, kernel, weights, optimize=True)

    name = f"dense kernel ({len(some)} of {len(blocks)} blocks: multiply by {len(blocks) / len(some):.1f})"
    side_by_side(name, lambda: certify_many(scheme, blocks), dense, rounds=5, inner=1)
