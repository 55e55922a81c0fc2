import math

import numpy as np
import pytest

from letcc import CodedScheme
from letcc.exceptions import InvalidInput, NonFiniteValues

torch = pytest.importorskip("torch")

SCHEME = CodedScheme.letcc(4, 20, decoder_smoothing=1e-6)
RECEIVED = [7, 11, 3, 15, 0, 18]
MATRIX = SCHEME.decoding_matrix(RECEIVED)
RNG = np.random.default_rng(0)
TORCH_FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
OUTPUTS = RNG.standard_normal((6, 2, 3))


def exact(outputs):
    """Sums of products in double precision, one output at a time."""
    outputs = np.asarray(outputs)
    flat = outputs.reshape(6, -1)
    sums = [[sum(w * y for w, y in zip(row, column, strict=True)) for column in flat.T] for row in MATRIX.tolist()]
    return np.array(sums, dtype=np.result_type(outputs, float)).reshape(4, *outputs.shape[1:])


def decode(outputs, **options):
    return SCHEME.decode(outputs, RECEIVED, **options)


class TestDtypes:
    @pytest.mark.parametrize("dtype", ["e", "f", "d", "g", "F", "D", "G", ">f4", ">f8"])
    def test_numpy_floats_keep_theirs(self, dtype):
        outputs = OUTPUTS.astype(dtype)
        decoded = decode(outputs)
        assert type(decoded) is np.ndarray
        assert decoded.dtype == np.dtype(dtype)
        eps = np.finfo(decoded.dtype).eps if dtype not in "gG" else np.finfo(float).eps
        np.testing.assert_allclose(decoded, exact(outputs.astype("D" if dtype in "FDG" else "d")), atol=8 * eps, rtol=0)

    @pytest.mark.parametrize("dtype", ["?", "b", "B", "i", "q", "Q"])
    def test_numpy_integers_and_booleans_become_doubles(self, dtype):
        outputs = np.array([[0], [1], [2], [1], [0], [1]]).astype(dtype)
        decoded = decode(outputs)
        assert decoded.dtype == np.float64
        np.testing.assert_allclose(decoded, exact(outputs.astype(float)), rtol=1e-14)

    @pytest.mark.parametrize("dtype", TORCH_FLOATS)
    def test_torch_floats_keep_theirs(self, dtype):
        dtype = getattr(torch, dtype)
        outputs = torch.tensor(OUTPUTS).to(dtype)
        decoded = decode(outputs)
        assert type(decoded) is torch.Tensor
        assert decoded.dtype == dtype
        wide = torch.complex128 if dtype.is_complex else torch.float64
        error = decoded.to(wide).numpy() - exact(outputs.to(wide).numpy())
        assert np.abs(error).max() <= 8 * torch.finfo(dtype).eps

    @pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
    @pytest.mark.parametrize("default", [torch.float32, torch.float64])
    def test_torch_integers_and_booleans_become_the_default_float(self, dtype, default):
        before = torch.get_default_dtype()
        torch.set_default_dtype(default)
        try:
            decoded = decode(torch.tensor([0, 1, 2, 1, 0, 1]).to(getattr(torch, dtype)))
        finally:
            torch.set_default_dtype(before)
        assert decoded.dtype == default
        np.testing.assert_allclose(decoded, exact([0, 1, 1 if dtype == "bool" else 2, 1, 0, 1]), rtol=1e-5)

    def test_complex_outputs_are_decoded_part_by_part(self):
        outputs = OUTPUTS + 1j * OUTPUTS[::-1]
        for kind in (np.asarray, torch.tensor):
            decoded = np.asarray(decode(kind(outputs)))
            np.testing.assert_allclose(decoded.real, exact(OUTPUTS), atol=1e-14)
            np.testing.assert_allclose(decoded.imag, exact(OUTPUTS[::-1]), atol=1e-14)

    def test_lists_become_arrays(self):
        np.testing.assert_allclose(decode([[1], [2], [3], [4], [5], [6]]), exact([[1], [2], [3], [4], [5], [6]]))
        np.testing.assert_allclose(
            SCHEME.encode([True, False, True, True]), SCHEME.encoding_matrix()[:, [0, 2, 3]].sum(1)
        )


class TestPrecision:
    """Accumulated in at least single precision and rounded once: (|F| + 3) u Lebesgue max|y| + u' |result|."""

    SCHEME = CodedScheme.letcc(5, 300)

    @pytest.mark.parametrize(
        ("library", "dtype", "working"),
        [
            (library, dtype, torch.promote_types(dtype, torch.float32))
            for library in ("numpy", "torch")
            for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
            if library == "torch" or dtype is not torch.bfloat16  # which numpy does not have
        ],
    )
    def test_error_bound(self, library, dtype, working):
        # offset, so that sums in half precision would lose whole digits
        outputs = (100 + torch.rand(300, 50, generator=torch.Generator().manual_seed(0))).to(dtype)
        decoded = self.SCHEME.decode(outputs.numpy() if library == "numpy" else outputs)
        decoded = torch.as_tensor(decoded).to(torch.float64).numpy()
        matrix = self.SCHEME.decoding_matrix().astype(np.longdouble)
        expected = matrix @ outputs.to(torch.float64).numpy().astype(np.longdouble)
        lebesgue, largest = np.abs(matrix).sum(axis=1, keepdims=True), 101
        bound = 303 * torch.finfo(working).eps / 2 * lebesgue * largest + torch.finfo(dtype).eps / 2 * np.abs(expected)
        assert (np.abs(decoded - expected) <= bound).all()
        if dtype != working:
            assert (np.abs(decoded - expected) > torch.finfo(working).eps * largest).any()

    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
    def test_half_precision_may_overflow_on_the_way_but_not_in_the_end(self, kind):
        scheme, received = CodedScheme.letcc(4, 20), [9, 10, 11, 12]
        largest = np.array([60_000, -60_000, 60_000, 0], dtype=np.float16)
        with pytest.raises(NonFiniteValues, match=r"the result overflows .*float16: pass .* in a wider dtype"):
            scheme.decode(kind(largest), received)
        infinite = np.asarray(scheme.decode(kind(largest), received, check_finite=False))
        assert np.isinf(infinite).any()
        same = CodedScheme.letcc(4, 20).decode(kind(np.full(4, 60_000, dtype=np.float16)), received)
        np.testing.assert_array_equal(np.asarray(same), np.full(4, 60_000))

    @pytest.mark.parametrize(
        ("kind", "dtype"),
        [*((np.array, dtype) for dtype in "efdgFD"), *((torch.tensor, getattr(torch, d)) for d in TORCH_FLOATS)],
    )
    def test_the_largest_finite_values_are_no_error(self, kind, dtype):
        info = np.finfo(dtype) if isinstance(dtype, str) else torch.finfo(dtype)
        outputs = kind([float(min(info.max, np.finfo(float).max)) / 8] * 20, dtype=dtype)
        decoded = SCHEME.decode(outputs)
        eps = max(float(info.eps), np.finfo(float).eps)  # of the matrix, for long doubles
        assert bool((abs(decoded / outputs[:4] - 1) < 4 * eps).all())


class TestShapes:
    @pytest.mark.parametrize("shape", [(), (1,), (5,), (0,), (2, 0, 3), (2, 3), (1, 1, 1, 2)])
    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
    @pytest.mark.parametrize("dtype", ["f", "D"])
    def test_trailing_axes_are_kept(self, shape, kind, dtype):
        outputs = RNG.standard_normal((6, *shape)).astype(dtype)
        decoded = decode(kind(outputs))
        assert tuple(decoded.shape) == (4, *shape)
        np.testing.assert_allclose(np.asarray(decoded), exact(outputs), atol=1e-5)
        assert tuple(SCHEME.encode(kind(outputs[:4])).shape) == (20, *shape)

    @pytest.mark.parametrize(
        "view",
        [
            lambda y: y.transpose(0, 2, 1),
            lambda y: y[::-1],
            lambda y: y[:, ::2, 1:],
            lambda y: np.asfortranarray(y),
            lambda y: np.broadcast_to(y[:, :1], y.shape),
        ],
    )
    @pytest.mark.parametrize("factor", [1, 1 + 2j])
    def test_non_contiguous_arrays(self, view, factor):
        outputs = view(OUTPUTS * factor)
        np.testing.assert_allclose(decode(outputs), exact(outputs), atol=1e-14)

    @pytest.mark.parametrize(
        "view",
        [
            lambda y: y.transpose(1, 2),
            lambda y: y.flip(0).transpose(1, 2),
            lambda y: y[:, ::2, 1:],
            lambda y: y[:, :1].expand(6, 2, 3),
            lambda y: y.conj(),
            lambda y: y.conj().imag,
        ],
    )
    def test_non_contiguous_tensors(self, view):
        outputs = view(torch.tensor(OUTPUTS * (1 + 2j)))
        expected = exact(outputs.resolve_conj().resolve_neg().numpy())
        np.testing.assert_allclose(decode(outputs).resolve_conj().resolve_neg().numpy(), expected, atol=1e-14)

    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
    def test_the_outputs_are_left_as_they_were(self, kind):
        outputs = kind(OUTPUTS.copy())
        decode(outputs)
        np.testing.assert_array_equal(np.asarray(outputs), OUTPUTS)


class TestTorch:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
    def test_gradients(self, dtype):
        inputs = torch.rand(4, 2, dtype=dtype, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: decode(SCHEME.encode(x)[RECEIVED] ** 2), inputs)

    def test_the_gradient_is_the_transposed_matrix(self):
        outputs = torch.zeros(6, dtype=torch.float64, requires_grad=True)
        decode(outputs)[2].backward()
        np.testing.assert_allclose(outputs.grad, MATRIX[2], rtol=1e-15)

    def test_vmap_without_looking_at_values_or_a_clear_refusal(self):
        batch = torch.rand(5, len(RECEIVED), 2, dtype=torch.float64)
        together = torch.func.vmap(lambda outputs: SCHEME.decode(outputs, RECEIVED, check_finite=False))(batch)
        torch.testing.assert_close(together, torch.stack([decode(outputs) for outputs in batch]))
        with pytest.raises(InvalidInput, match="check_finite=False"):
            torch.func.vmap(decode)(batch)

    @pytest.mark.filterwarnings("default")  # torch.compile itself warns of what it looks at
    def test_compile(self):
        scheme = CodedScheme.letcc(4, 10)  # of which nothing is prepared yet
        received = [8, 1, 4, 5, 0, 7]
        compiled = torch.compile(
            lambda x: scheme.decode(torch.tanh(scheme.encode(x))[received], received), backend="eager"
        )
        x = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
        expected = scheme.decode(torch.tanh(scheme.encode(x))[received], received)
        torch.testing.assert_close(compiled(x), expected)
        (gradient,) = torch.autograd.grad(compiled(x).sum(), x)
        torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), x)[0])

    def test_no_grad_and_detached(self):
        outputs = torch.tensor(OUTPUTS, requires_grad=True)
        assert decode(outputs).requires_grad
        assert not decode(outputs.detach()).requires_grad
        with torch.no_grad():
            assert not decode(outputs).requires_grad
        with torch.inference_mode():
            np.testing.assert_allclose(decode(outputs), exact(OUTPUTS), atol=1e-14)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
    def test_autocast_is_off_inside(self, dtype):
        outputs = (100 + torch.rand(6, 50)).to(dtype)
        outside = decode(outputs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert (outputs.float().T @ outputs.float()).dtype == torch.bfloat16
            inside = decode(outputs)
            assert (outputs.float().T @ outputs.float()).dtype == torch.bfloat16
        assert inside.dtype == dtype
        assert torch.equal(inside, outside)


class TestNonFinite:
    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, complex(0, math.nan)])
    @pytest.mark.parametrize("dtype", ["f", "d", "D"])
    def test_the_worker_is_named_whatever_the_order(self, kind, bad, dtype):
        if isinstance(bad, complex) and dtype != "D":
            bad = bad.imag
        outputs = OUTPUTS.astype(dtype)
        outputs[3, 1, 2] = bad
        with pytest.raises(NonFiniteValues, match=r"outputs of workers 15 contain NaN or infinity"):
            decode(kind(outputs))

    def test_several_are_named_and_many_are_counted(self):
        outputs = OUTPUTS.copy()
        outputs[[0, 2, 4]] = math.nan
        with pytest.raises(NonFiniteValues, match="workers 7, 3, 0 contain"):
            decode(outputs)
        with pytest.raises(NonFiniteValues, match="workers 0, 1, 2, 3, 4 and 15 more contain"):
            SCHEME.decode(np.full(20, math.inf))

    def test_even_where_its_weight_is_zero(self):
        scheme = CodedScheme.bacc(2, 9)  # whose data points are worker points: all other weights are zero
        outputs = np.zeros(9)
        outputs[4] = math.nan
        assert (scheme.decoding_matrix()[:, 4] == 0).all()
        with pytest.raises(NonFiniteValues, match="workers 4 contain"):
            scheme.decode(outputs)

    def test_a_mask_names_the_worker_too(self):
        outputs = np.zeros(3)
        outputs[1] = math.nan
        with pytest.raises(NonFiniteValues, match="workers 8 contain"):
            SCHEME.decode(outputs, np.isin(np.arange(20), [19, 8, 5]))

    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
    def test_inputs(self, kind):
        with pytest.raises(NonFiniteValues, match="the inputs 2 contain NaN"):
            SCHEME.encode(kind([1.0, 2.0, math.nan, 4.0]))

    @pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
    def test_unchecked_nan_goes_through(self, kind):
        outputs = OUTPUTS.copy()
        outputs[1, 0, 0] = math.nan
        decoded = np.asarray(decode(kind(outputs), check_finite=False))
        assert np.isnan(decoded[:, 0, 0]).all()
        np.testing.assert_allclose(decoded[:, 1], exact(OUTPUTS)[:, 1], atol=1e-14)
        assert np.isnan(np.asarray(SCHEME.encode(kind([math.nan, 1.0, 1.0, 1.0]), check_finite=False))).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("outputs", "message"),
        [
            (np.zeros((5, 2)), r"must have 6 entries on their first axis, but their shape is \(5, 2\)"),
            (torch.zeros(7), r"must have 6 entries on their first axis, but their shape is \(7,\)"),
            (3.0, r"must have 6 entries on their first axis, but their shape is \(\)"),
            (torch.tensor(3.0), r"must have 6 entries on their first axis, but their shape is \(\)"),
            ([[1], [1, 2], [1], [1], [1], [1]], "must form one array"),
            ([None] * 6, "must be numbers, not object"),
            (["1"] * 6, "must be numbers, not <U1"),
            (np.zeros(6, dtype="M8[s]"), "must be numbers, not datetime64"),
        ],
    )
    def test_outputs(self, outputs, message):
        with pytest.raises(InvalidInput, match=f"the outputs of workers {message}"):
            decode(outputs)

    def test_inputs(self):
        with pytest.raises(InvalidInput, match="the inputs must have 4 entries"):
            SCHEME.encode(np.zeros(5))
