"""Inputs at the edge of what is allowed, each of which once went wrong."""

import numpy as np
import pytest

from letcc import CodedScheme, certify, certify_many
from letcc.exceptions import InvalidInput
from letcc.nodes import chebyshev_first_kind, chebyshev_second_kind
from letcc.smoothers import BerrutRational, LagrangePolynomial, SmoothingSpline, SobolevRidge
from letcc.stragglers import Bernoulli

NODES = chebyshev_second_kind(12)
VALUES = (np.sin(3 * NODES) + 0.1 * np.random.default_rng(0).normal(size=12))[:, None]


class TestRemembered:
    def test_byte_order_is_part_of_what_was_received(self):
        scheme = CodedScheme.letcc(3, 600)
        scheme.decode([1.0, 5.0], np.array([256, 512], "<i2"))
        swapped = scheme.decode([1.0, 5.0], np.array([1, 2], ">i2"))
        np.testing.assert_array_equal(swapped, scheme.decode([1.0, 5.0], [1, 2]))

    @pytest.mark.filterwarnings("default")  # torch warns of its own tracing
    def test_stand_ins_of_torch_are_not_remembered(self, torch):
        from torch._subclasses.fake_tensor import FakeTensorMode

        scheme, outputs = CodedScheme.letcc(4, 20), torch.rand(20, 3)
        with FakeTensorMode() as mode:
            scheme.decode(mode.from_tensor(outputs), check_finite=False)
        assert type(scheme.decode(outputs)) is torch.Tensor

    def test_rules_leave_nothing_behind(self):
        scheme = CodedScheme.letcc(2, 30, decoder_smoothing="gcv")
        from letcc._prepared import PREPARED

        before = len(PREPARED._entries)
        scheme.decode(np.random.default_rng(0).random((30, 2)))
        assert len(PREPARED._entries) == before


class TestInput:
    def test_masked_entries_are_refused(self):
        scheme = CodedScheme.letcc(4, 3)
        with pytest.raises(InvalidInput, match=r"\[1\] masked"):
            scheme.decode(np.ma.array([1.0, 99.0, 2.0], mask=[0, 1, 0]))
        with pytest.raises(InvalidInput, match="masked"):
            scheme.decode(np.ones(2), np.ma.array([0, 1], mask=[0, 1]))

    def test_booleans_among_integers_are_refused(self):
        scheme = CodedScheme.letcc(4, 9)
        scheme.decoding_matrix([1, 2, 3])
        with pytest.raises(InvalidInput, match="mixes"):
            scheme.decoding_matrix([True, 2, 3])

    def test_a_list_of_tensors_stays_torch(self, torch):
        outputs = [torch.full((2,), float(n), requires_grad=True) for n in range(3)]
        decoded = CodedScheme.letcc(4, 9).decode(outputs, [0, 4, 8])
        assert isinstance(decoded, torch.Tensor)
        decoded.sum().backward()
        assert outputs[1].grad is not None
        with pytest.raises(InvalidInput, match="one shape"):
            CodedScheme.letcc(4, 9).decode([torch.ones(2), torch.ones(3)], [0, 1])

    @pytest.mark.parametrize("received", [(n for n in range(3)), "012", slice(3), 5])
    def test_what_is_no_sequence_is_named(self, received):
        with pytest.raises(InvalidInput, match=f"received .*{type(received).__name__}|float|<U"):
            CodedScheme.letcc(4, 9).decode(np.ones(3), received)

    def test_no_sets_and_no_outputs(self):
        scheme = CodedScheme.letcc(4, 9)
        assert scheme.decoding_matrices(np.zeros((0, 9), dtype=bool)).shape == (0, 4, 9)
        ruled = CodedScheme.letcc(4, 9, decoder_smoothing="gcv")
        assert ruled.decode(np.zeros((9, 0))).shape == (4, 0)

    @pytest.mark.parametrize("noise_std", [-1.0, np.nan, np.inf, 1e200, None, "a", 1j])
    def test_noise_is_a_number(self, noise_std):
        with pytest.raises(InvalidInput, match="noise_std"):
            certify(CodedScheme.letcc(4, 9), noise_std=noise_std)

    @pytest.mark.parametrize(
        ("smoother", "nodes"),
        [
            (SobolevRidge(1e-100, 1e-3), [0.0, 0.5, 1.0]),
            (SmoothingSpline(1e-3), [0.0, 1e-160, 2e-160]),
            (BerrutRational(), [0.0, 5e-324]),
        ],
        ids=str,
    )
    def test_beyond_double_precision_is_an_error_or_finite(self, smoother, nodes):
        try:
            assert np.isfinite(smoother.operator(nodes, [0.2])).all()
        except InvalidInput as error:
            assert "double precision" in str(error)  # noqa: PT017  either outcome is right

    def test_any_setting_for_floating_point_errors(self):
        with np.errstate(all="raise"):
            CodedScheme.letcc(8, 3000).decode(np.ones((3000, 2)))
            SobolevRidge(1e-3, 1e-6).operator(NODES, [0.3])


class TestRules:
    @pytest.mark.parametrize("scale", [1e-200, 1e-170, 1e155, 1e200])
    @pytest.mark.parametrize("smoother", [SmoothingSpline("gcv"), SobolevRidge("likelihood", "likelihood")], ids=str)
    def test_outputs_of_any_size(self, smoother, scale):
        plain, scaled = smoother.resolve(NODES, VALUES), smoother.resolve(NODES, scale * VALUES)
        assert scaled.smoothing == pytest.approx(plain.smoothing, rel=1e-6)

    def test_a_constant_does_not_matter(self):
        smoother = SobolevRidge("likelihood", "likelihood")
        plain, shifted = smoother.resolve(NODES, VALUES), smoother.resolve(NODES, VALUES + 1e8)
        assert shifted.length_scale == pytest.approx(plain.length_scale, rel=1e-3)

    def test_a_gap_of_many_lengths(self):
        rng = np.random.default_rng(0)
        kept = np.delete(np.arange(300), slice(75, 225))
        nodes = chebyshev_second_kind(300)[kept]
        values = (np.sin(5 * nodes) + 0.5 * rng.normal(size=150))[:, None]
        assert SobolevRidge(0.01, "gcv").resolve(nodes, values).smoothing == pytest.approx(1.8e-10, rel=0.5)
        assert SobolevRidge("gcv", "gcv").resolve(nodes, values).length_scale > 0.05

    def test_infinite_smoothing_leaves_nothing_to_choose(self):
        assert SobolevRidge("gcv", np.inf).resolve(NODES, VALUES).smoothing == np.inf

    def test_a_conjugated_tensor(self, torch):
        scheme = CodedScheme.letcc(4, 12, decoder_smoothing="gcv")
        outputs = torch.tensor(VALUES * (1 + 2j))
        torch.testing.assert_close(scheme.decode(outputs.conj()), scheme.decode(outputs).conj())

    @pytest.mark.filterwarnings("default")
    def test_vmap_is_refused_clearly(self, torch):
        scheme = CodedScheme.letcc(4, 12, decoder_smoothing="gcv")
        with pytest.raises(InvalidInput, match="resolve"):
            torch.func.vmap(scheme.decode)(torch.rand(3, 12, 2, dtype=torch.float64))


class TestNumbers:
    def test_least_squares_at_the_threshold_is_interpolation(self):
        received = np.sort(np.random.default_rng(0).permutation(100)[:39])
        nodes, targets = chebyshev_second_kind(100)[received], chebyshev_first_kind(20)
        exact = LagrangePolynomial().operator(nodes, targets)
        np.testing.assert_array_equal(LagrangePolynomial(38).operator(nodes, targets), exact)

    def test_certificates_where_decoding_amplifies(self):
        scheme = CodedScheme.letcc(8, 10_000)
        assert certify(scheme, [0, 1, 2]).worst_pointwise_mse == pytest.approx(2.59, abs=0.01)
        assert certify_many(scheme, [[0, 1, 2]]).worst_pointwise_mse[0] == pytest.approx(2.59, abs=0.01)

    @pytest.mark.parametrize("length", [1e4, 3e4, 1e5, 1e6])
    def test_the_kernel_of_long_lengths(self, length):
        difference = SobolevRidge(length, 1e-4).operator(NODES, [0.1]) - SmoothingSpline(1e-4).operator(NODES, [0.1])
        scaled = length * np.abs(difference).max()
        reference = (
            1e3
            * np.abs(
                SobolevRidge(1e3, 1e-4).operator(NODES, [0.1]) - SmoothingSpline(1e-4).operator(NODES, [0.1])
            ).max()
        )
        assert scaled == pytest.approx(reference, rel=5e-3)

    def test_nearly_everyone_lost(self):
        assert Bernoulli(1 - 1e-12).sample(1, 0).tolist() == [0]
        sizes = [Bernoulli(0.9).sample(3, seed).size for seed in range(4000)]
        assert np.mean(sizes) == pytest.approx(3 * 0.1 / (1 - 0.9**3), abs=0.02)
        firsts = [Bernoulli(0.9).sample(3, seed)[0] for seed in range(4000)]
        assert np.mean(np.array(firsts) == 0) == pytest.approx(0.1 / (1 - 0.9**3), abs=0.03)
