import re

import numpy as np
import pytest

from letcc.exceptions import InvalidInput, LetccError
from letcc.received import as_indices


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (None, [0, 1, 2, 3, 4]),
        ([4, 0, 2], [4, 0, 2]),
        ((3,), [3]),
        (range(1, 4), [1, 2, 3]),
        (np.array([2, 1], dtype=np.uint8), [2, 1]),
        (np.array([4, 3], dtype=np.uint64), [4, 3]),
        ([np.int32(1), 0], [1, 0]),
        ([False, True, False, True, True], [1, 3, 4]),
        (np.array([True, False, False, False, False]), [0]),
    ],
)
def test_any_form_becomes_indices_in_the_order_given(received, expected):
    indices = as_indices(received, 5)
    assert indices.dtype == np.intp
    np.testing.assert_array_equal(indices, expected)


def test_torch_indices(torch):
    np.testing.assert_array_equal(as_indices(torch.tensor([3, 1]), 5), [3, 1])
    np.testing.assert_array_equal(as_indices(torch.tensor([0, 1, 0, 0, 1], dtype=torch.bool), 5), [1, 4])


@pytest.mark.parametrize(
    ("received", "message"),
    [
        ([], "received is empty: no worker answered"),
        (np.zeros(5, dtype=bool), "received is empty: no worker answered"),
        ([0, 5], "received[1] is 5: the workers are numbered from 0 to 4"),
        ([0, 1, -1], "received[2] is -1: the workers are numbered from 0 to 4"),
        ([3, 0, 3], "worker 3 is named more than once"),
        ([True, False], "mask of length 2, but there are 5 workers"),
        (np.ones(6, dtype=bool), "mask of length 6, but there are 5 workers"),
        ([0.0, 1.0], "not float64: its first entry is"),
        (["0"], "not <U1: its first entry is"),
        ([None], "not object: its first entry is None"),
        ([2**70], f"its first entry is {2**70}"),
        ([[0, 1]], "one axis, not the shape (1, 2)"),
        (3, "received is a int"),
        ([[0], [1, 2]], "flat sequence of worker indices, not [[0], [1, 2]]"),
        ({0, 1}, "is a set, which has no order"),
        ({0: "a"}, "is a dict, which has no order"),
    ],
    ids=repr,
)
def test_anything_else_is_an_error_that_names_it(received, message):
    with pytest.raises(InvalidInput, match=re.escape(message)) as caught:
        as_indices(received, 5)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LetccError)
