import numpy as np
import pytest

from letcc import CodedScheme, certify, certify_many
from letcc.exceptions import InvalidInput, Unresolved
from letcc.nodes import chebyshev_second_kind
from letcc.smoothers import BerrutRational, SmoothingSpline, SobolevRidge

NODES = np.sort(np.random.default_rng(1).uniform(-1, 1, 30))
VALUES = np.sin(4 * NODES)[:, None] + 0.1 * np.random.default_rng(2).standard_normal((30, 3))


def hat(smoother, nodes):
    return smoother.operator(nodes, nodes)


def gcv(smoother, nodes, values):
    h = hat(smoother, nodes)
    return len(nodes) * ((values - h @ values) ** 2).sum() / np.trace(np.eye(len(nodes)) - h) ** 2


def loo(smoother, nodes, values):
    """By leaving each node out and fitting the others, with n lambda held."""
    n, error = len(nodes), 0.0
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        parameters = {**vars(smoother), "smoothing": smoother.smoothing * n / (n - 1)}
        row = type(smoother)(**parameters).operator(nodes[rest], nodes[[i]])
        error += ((values[i] - row @ values[rest]) ** 2).sum()
    return error / n


def likelihood(smoother, nodes, values):
    """Minus twice the restricted log-likelihood of a Gaussian process with an unknown constant, scale profiled out."""
    n, length = len(nodes), smoother.length_scale
    r = np.sqrt(3) * np.abs(nodes[:, None] - nodes) / length
    covariance = length**3 / (12 * np.sqrt(3)) * (1 + r) * np.exp(-r) + n * smoother.smoothing * np.eye(n)
    inverse = np.linalg.inv(covariance)
    of_one = inverse.sum(axis=1)
    projected = inverse - np.outer(of_one, of_one) / of_one.sum()
    fit = (n - 1) * np.log(np.einsum("im,ij,jm", values, projected, values))
    return fit + np.linalg.slogdet(covariance)[1] + np.log(of_one.sum())


SCORES = {"gcv": gcv, "loo": loo, "likelihood": likelihood}


class TestChoice:
    @pytest.mark.parametrize("rule", ["gcv", "loo"])
    @pytest.mark.parametrize("nodes", [NODES, chebyshev_second_kind(30)], ids=["random", "chebyshev"])
    def test_the_spline_is_the_best_of_a_dense_grid(self, rule, nodes):
        chosen = SmoothingSpline(rule).resolve(nodes, VALUES)
        grid = [SCORES[rule](SmoothingSpline(each), nodes, VALUES) for each in np.geomspace(1e-10, 1e2, 300)]
        assert 1e-10 < chosen.smoothing < 1e2
        assert SCORES[rule](chosen, nodes, VALUES) <= min(grid) * (1 + 1e-9)

    @pytest.mark.parametrize("rule", ["gcv", "loo", "likelihood"])
    def test_length_and_smoothing_are_the_best_of_a_dense_grid(self, rule):
        chosen = SobolevRidge(rule, rule).resolve(NODES, VALUES)
        grid = [
            SCORES[rule](SobolevRidge(length, smoothing), NODES, VALUES)
            for length in np.geomspace(0.05, 10, 25)
            for smoothing in np.geomspace(1e-9, 1e-1, 25)
        ]
        best, found = min(grid), SCORES[rule](chosen, NODES, VALUES)
        assert found <= best + 1e-3 * abs(best)

    @pytest.mark.parametrize("smoother", [SmoothingSpline("gcv"), SobolevRidge("likelihood", "likelihood")], ids=str)
    def test_the_scale_of_points_and_outputs_does_not_matter(self, smoother):
        plain = smoother.resolve(NODES, VALUES)
        scaled = smoother.resolve(1000 * NODES + 5, 1e-8 * VALUES)
        assert scaled.smoothing / 1000**3 == pytest.approx(plain.smoothing, rel=1e-6)
        if isinstance(smoother, SobolevRidge):
            assert scaled.length_scale / 1000 == pytest.approx(plain.length_scale, rel=1e-6)

    def test_one_choice_is_made_for_all_outputs_jointly_however_many(self):
        many = np.tile(VALUES, (1, 40))  # more columns than nodes
        chosen = SmoothingSpline("gcv").resolve(NODES, many)
        assert chosen.smoothing == pytest.approx(SmoothingSpline("gcv").resolve(NODES, VALUES).smoothing, rel=1e-3)

    def test_the_order_of_the_nodes_does_not_matter(self):
        order = np.random.default_rng(0).permutation(30)
        assert SmoothingSpline("gcv").resolve(NODES[order], VALUES[order]) == SmoothingSpline("gcv").resolve(
            NODES, VALUES
        )

    def test_exact_values_of_a_rough_function_are_interpolated(self):
        rough = np.sign(NODES)[:, None] * np.abs(NODES[:, None]) ** 0.1
        assert SmoothingSpline("gcv").resolve(NODES, rough).smoothing < 1e-4
        assert SmoothingSpline("loo").resolve(NODES, rough).smoothing < 1e-4

    def test_pure_noise_is_smoothed_to_nearly_a_line(self):
        noise = np.random.default_rng(0).standard_normal((30, 200))
        assert SmoothingSpline("gcv").resolve(NODES, noise).smoothing > 0.1

    def test_exactly_a_line_is_fitted_as_one(self):
        chosen = SmoothingSpline("gcv").resolve(NODES, NODES[:, None])
        np.testing.assert_allclose(chosen.operator(NODES, [2.0]) @ NODES, [2.0], rtol=1e-12)

    def test_a_given_length_or_smoothing_is_kept(self):
        assert SobolevRidge(0.25, "gcv").resolve(NODES, VALUES).length_scale == 0.25
        assert SobolevRidge("gcv", 1e-4).resolve(NODES, VALUES).smoothing == 1e-4

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("smoother", [SmoothingSpline("loo"), SobolevRidge("gcv", "gcv")], ids=str)
    def test_few_nodes_resolve_to_something_usable(self, smoother, n):
        nodes = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        values = np.random.default_rng(n).standard_normal((n, 2))
        chosen = smoother.resolve(nodes, values)
        assert chosen.resolved
        assert np.isfinite(chosen.operator(nodes, [0.3]) @ values).all()


class TestScheme:
    scheme = CodedScheme.letcc(8, 40, decoder_smoothing="gcv")
    received = np.random.default_rng(0).permutation(40)[:25]

    def outputs(self):
        noise = np.random.default_rng(3).standard_normal((25, 2, 3))
        return np.sin(3 * self.scheme.worker_points[self.received])[:, None, None] + 0.1 * noise

    def test_decode_is_resolve_plus_one_product(self):
        resolved = self.scheme.resolve(self.outputs(), self.received)
        again = CodedScheme.letcc(8, 40, decoder_smoothing=resolved.decoder.smoothing)
        fit = np.tensordot(again.decoding_matrix(self.received), self.outputs(), 1)
        np.testing.assert_allclose(self.scheme.decode(self.outputs(), self.received), fit, atol=1e-12)
        assert resolved == again

    def test_a_resolved_scheme_resolves_to_itself(self):
        resolved = self.scheme.resolve(self.outputs(), self.received)
        assert resolved.resolve(self.outputs(), self.received) is resolved

    def test_complex_and_torch_outputs_choose_as_their_real_parts(self, torch):
        outputs = self.outputs()
        pairs = outputs[..., :2].copy().view(complex)
        expected = self.scheme.resolve(outputs[..., :2], self.received)
        assert self.scheme.resolve(pairs, self.received).decoder.smoothing == pytest.approx(
            expected.decoder.smoothing, rel=1e-6
        )
        tensor = torch.tensor(outputs, requires_grad=True)
        assert self.scheme.resolve(tensor, self.received) == self.scheme.resolve(outputs, self.received)
        self.scheme.decode(tensor, self.received).sum().backward()
        assert tensor.grad is not None

    @pytest.mark.parametrize(
        "use",
        [
            lambda scheme: scheme.decoding_matrix(),
            lambda scheme: scheme.decoding_matrices([[0, 1, 2]]),
            certify,
            lambda scheme: certify_many(scheme, [[0, 1, 2]]),
        ],
    )
    def test_what_needs_numbers_says_how_to_get_them(self, use):
        with pytest.raises(Unresolved, match="resolve"):
            use(self.scheme)

    def test_only_a_decoder_can_choose(self):
        with pytest.raises(InvalidInput, match="encoder"):
            CodedScheme.letcc(8, 40, encoder_smoothing="gcv")

    def test_smoothers_without_rules_resolve_to_themselves(self):
        berrut = BerrutRational()
        assert berrut.resolve(NODES, VALUES) is berrut


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SmoothingSpline("likelihood"), "gcv, loo"),
        (lambda: SmoothingSpline("best"), "best"),
        (lambda: SobolevRidge("gcv", "loo"), "different rules"),
        (lambda: SmoothingSpline("gcv").resolve(NODES, VALUES[:-1]), r"\(30, m\)"),
        (lambda: SmoothingSpline("gcv").resolve(NODES, VALUES * np.nan), "finite"),
        (lambda: SmoothingSpline("gcv").resolve(np.zeros(30), VALUES), "distinct"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
