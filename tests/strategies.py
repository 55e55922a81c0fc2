"""What the laws are drawn over: points that keep a distance, targets on and beside them, received sets."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def point_sets(draw, min_size=1, max_size=12, steps=1000):
    """Points in [-1, 1] in any order, distinct multiples of 1 / steps."""
    places = st.integers(-steps, steps)
    return np.array(draw(st.lists(places, min_size=min_size, max_size=max_size, unique=True))) / steps


@st.composite
def targets_near(draw, nodes, reach=1.25):
    """Targets anywhere within reach, on nodes, and one unit in the last place beside them."""
    anywhere = st.floats(-reach, reach, allow_subnormal=False)
    on = st.sampled_from(nodes.tolist())
    beside = st.builds(np.nextafter, on, st.sampled_from([-2.0, 2.0]))
    return np.array(draw(st.lists(anywhere | on | beside, min_size=1, max_size=8)))


@st.composite
def received_sets(draw, num_workers, min_size=1):
    """Distinct worker indices in order of arrival."""
    order = draw(st.permutations(range(num_workers)))
    return np.array(order[: draw(st.integers(min_size, num_workers))])


def values(size):
    """Values of order one."""
    return st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=size, max_size=size).map(np.array)
