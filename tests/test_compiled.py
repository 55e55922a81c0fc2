"""Splines compiled by numba: taken where they can be, and never in the way; that they are right is tested elsewhere."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind
from letcc.smoothers import SmoothingSpline, spline
from tests.conftest import building

pytest.importorskip("numba")
ROOT = Path(__file__).parents[1]
NODES, TARGETS = chebyshev_second_kind(30), chebyshev_first_kind(7)
BUILD = """
from letcc.smoothers import SmoothingSpline, spline
matrices = [SmoothingSpline(smoothing).operator([-1, 0, 0.5, 1], [0.2]) for smoothing in (0, 1e-3)]
print(abs(sum(matrices).sum() - 2) < 1e-15, spline._compiled() is not None)
"""


def plainly(smoothing, nodes=NODES, targets=TARGETS):
    with building("plain"):
        return SmoothingSpline(smoothing).operator(nodes, targets)


def run(code, *flags, path=ROOT, **variables):
    finished = subprocess.run(
        [sys.executable, *flags, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(ROOT), *sys.path]), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.stdout.split() or finished.stderr


@pytest.mark.parametrize("smoothing", [0.0, 1e-300, 1e-100, 1e-90, 1e-9, 1.0, 1e300, np.inf])
@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1.0, 1e30, 1e60])
def test_any_scale(smoothing, scale):
    matrix = SmoothingSpline(smoothing).operator(scale * NODES, scale * TARGETS)
    np.testing.assert_allclose(matrix, plainly(smoothing, scale * NODES, scale * TARGETS), rtol=0, atol=1e-14)


@pytest.mark.parametrize("smoothing", [0.0, 1e-6])
def test_points_in_any_memory(smoothing):
    frozen, packed = NODES.copy(), np.zeros(30, dtype="u1, f8")
    frozen.setflags(write=False)
    packed["f1"] = NODES
    assert not packed["f1"].flags.aligned
    for nodes in (frozen, packed["f1"], np.repeat(NODES, 2)[::2], NODES.astype(">f8"), NODES[::-1][::-1]):
        for targets in (TARGETS, np.repeat(TARGETS, 2)[::2]):
            matrix = SmoothingSpline(smoothing).operator(nodes, targets)
            np.testing.assert_allclose(matrix, plainly(smoothing), rtol=0, atol=1e-15)
            assert matrix.flags.c_contiguous


@pytest.mark.parametrize("smoothing", [0.0, 1e-6])
def test_many_threads(smoothing):
    sets = [np.delete(NODES, range(first, first + 5)) for first in range(25)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda nodes: SmoothingSpline(smoothing).operator(nodes, TARGETS), sets * 20))
    for matrix, nodes in zip(together, sets * 20, strict=True):
        np.testing.assert_array_equal(matrix, SmoothingSpline(smoothing).operator(nodes, TARGETS))


def test_it_is_taken_where_it_can_be():
    assert spline._compiled() is not None
    assert run(BUILD, "-W", "error") == ["True", "True"]


def test_no_folder_to_keep_it_in():
    nowhere = "import numba.core.caching as caching\ncaching.CacheImpl._locator_classes = []\n"
    assert run(nowhere + BUILD) == ["True", "True"]
    assert run(BUILD, NUMBA_CACHE_DIR="/dev/null/folder") == ["True", "True"]


def test_a_numba_that_compiles_nothing():
    assert run(BUILD, NUMBA_DISABLE_JIT="1") == ["True", "False"]


@pytest.mark.parametrize("fault", ["raise ImportError('needs an older NumPy')", "raise AttributeError", "njit = 0"])
def test_a_numba_that_does_not_work(tmp_path, fault):
    (tmp_path / "numba.py").write_text(fault)
    assert run(BUILD, path=tmp_path) == ["True", "False"]


def test_a_numba_that_warns():
    noise = """
import sys, warnings

class Noise:
    def find_spec(self, name, *_):
        name == "numba" and warnings.warn("old", stacklevel=1)

sys.meta_path.insert(0, Noise())
"""
    assert run(noise + BUILD, "-W", "error") == ["True", "True"]
