import math

import numpy as np
import pytest

from letcc.exceptions import InvalidInput
from letcc.metrics import lebesgue_constant, relative_accuracy, rmse


class TestRmse:
    @pytest.mark.parametrize(
        ("estimate", "truth", "expected"),
        [
            ([1.0, 2.0], [1.0, 5.0], math.sqrt(9 / 2)),
            ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 2.0, 0.0], [4.0, 1.0, 6.0]], math.sqrt(25 / 6)),
            ([3 + 4j], [0], 5.0),
            ([1, 2], [True, False], math.sqrt(2)),
            (np.float16([250.0]), np.float16([-250.0]), 500.0),
            (np.array([1], dtype=np.uint8), np.array([2], dtype=np.uint8), 1.0),
        ],
        ids=str,
    )
    def test_value(self, estimate, truth, expected):
        computed = rmse(estimate, truth)
        assert type(computed) is float
        assert computed == pytest.approx(expected, rel=1e-14)

    def test_of_tensors(self, torch):
        estimate = torch.tensor([1.0, 2.0], requires_grad=True)
        assert rmse(estimate, torch.tensor([1.0, 5.0])) == pytest.approx(math.sqrt(9 / 2), rel=1e-14)
        assert rmse(estimate.to(torch.bfloat16), np.array([1.0, 5.0])) == pytest.approx(math.sqrt(9 / 2), rel=1e-14)
        assert rmse(torch.tensor([3 + 4j]), torch.tensor([0.0])) == pytest.approx(5.0, rel=1e-14)

    def test_nan_is_not_hidden(self):
        assert math.isnan(rmse([1.0, math.nan], [1.0, 2.0]))

    @pytest.mark.parametrize(("a", "b"), [([1, 2], [1, 2, 3]), ([[1, 2]], [1, 2]), ([], [])])
    def test_shapes(self, a, b):
        with pytest.raises(InvalidInput, match=r"not \(.*\) and \(.*\)"):
            rmse(a, b)


class TestRelativeAccuracy:
    def test_counts_the_rows_whose_largest_outputs_stand_at_the_same_place(self):
        estimate = [[0.1, 0.9], [5.0, 3.0], [-1.0, -2.0], [0.0, 1.0]]
        reference = [[0.4, 0.6], [2.0, 3.0], [8.0, -9.0], [7.0, 1.0]]
        assert relative_accuracy(estimate, reference) == 0.5
        assert relative_accuracy(estimate, estimate) == 1

    def test_of_tensors(self, torch):
        estimate, reference = torch.tensor([[0.1, 0.9], [5.0, 3.0]]), torch.tensor([[0.4, 0.6], [2.0, 3.0]])
        assert relative_accuracy(estimate, reference) == 0.5

    @pytest.mark.parametrize(
        ("a", "b"), [([1.0], [1.0]), ([[[1.0]]], [[[1.0]]]), ([[1.0, 2.0]], [[1.0]]), ([[]], [[]])]
    )
    def test_shapes(self, a, b):
        with pytest.raises(InvalidInput):
            relative_accuracy(a, b)


class TestLebesgueConstant:
    def test_is_the_largest_row_sum_of_absolute_values(self):
        assert lebesgue_constant([[1.0, -2.0, 0.5], [0.0, -1.0, 2.0], [0.1, 0.1, 0.1]]) == 3.5

    @pytest.mark.parametrize("matrix", [[], [[]], [1.0, 2.0], [[[1.0]]]])
    def test_shapes(self, matrix):
        with pytest.raises(InvalidInput, match="shape"):
            lebesgue_constant(matrix)
