"""Decoding again with a received set seen before, the result checked finite, beside the bare matrix product."""

import numpy as np

from letcc import CodedScheme


def test_a_set_seen_before(side_by_side):
    scheme = CodedScheme.letcc(20, 100)
    received = np.random.default_rng(0).permutation(100)[:40].tolist()
    outputs = np.random.default_rng(1).standard_normal((40, 1000))
    matrix = scheme.decoding_matrix(received)
    side_by_side("bare product", lambda: scheme.decode(outputs, received), lambda: matrix @ outputs, inner=50)
