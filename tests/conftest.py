"""Profiles of hypothesis: no deadline anywhere, the same examples on every run of continuous integration.

And both ways to build a spline: compiled by numba, and plainly, as for those who have no numba.
"""

import os
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, settings

# drawing nodes and targets from st.data() costs more than hypothesis expects of one example
settings.register_profile("local", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@contextmanager
def building(way):
    from letcc.smoothers import spline  # not above: the benchmarks choose a number of threads before numpy is imported

    with pytest.MonkeyPatch.context() as patch:
        if way == "plain":
            patch.setattr(spline, "_compiled", lambda: None)
        else:
            pytest.importorskip("numba")
            assert spline._compiled() is not None
        yield


@pytest.fixture(scope="module", params=["compiled", "plain"])
def both_ways(request):
    with building(request.param):
        yield
