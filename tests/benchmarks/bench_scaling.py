"""Time per node and memory at large N: linear or not."""

import tracemalloc

import numpy as np
import pytest

from letcc import CodedScheme, certify
from letcc.nodes import chebyshev_first_kind, equispaced
from letcc.smoothers import SmoothingSpline

TARGETS = chebyshev_first_kind(20)


@pytest.mark.parametrize("smoothing", [0.0, 1e-6])
def test_building_at_a_million_nodes(side_by_side, smoothing):
    large, small = equispaced(10**6), [equispaced(10**4)] * 100
    smoother = SmoothingSpline(smoothing)
    side_by_side(
        f"100 times ten thousand nodes, beside a million at once, smoothing = {smoothing}",
        lambda: smoother.operator(large, TARGETS),
        lambda: [smoother.operator(nodes, TARGETS) for nodes in small],
        rounds=3,
        inner=1,
    )


@pytest.mark.parametrize("smoothing", [0.0, 1e-6])
def test_memory_at_a_million_nodes(benchmark, capsys, cost, smoothing):
    nodes, smoother = equispaced(10**6), SmoothingSpline(smoothing)
    tracemalloc.start()
    matrix = benchmark.pedantic(smoother.operator, (nodes, TARGETS), rounds=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    cost(peak / matrix.nbytes)
    with capsys.disabled():
        print(f"\npeak memory, smoothing = {smoothing}: {peak / matrix.nbytes:.3g} times the matrix itself")


def test_certificate_per_node(side_by_side):
    large = CodedScheme.letcc(20, 65536)
    small = CodedScheme.letcc(20, 1024)

    def certified(scheme, times):
        for shift in range(times):  # another set each time, so that nothing is remembered
            certify(scheme, np.delete(np.arange(scheme.num_workers), shift))

    name = "64 certificates of 1024 workers, beside one of 65536"
    side_by_side(name, lambda: certified(large, 1), lambda: certified(small, 64), rounds=5, inner=1)
