import dataclasses
import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import convergence.encoding
import convergence.measurement
from convergence.corruption import corrupted_error, measure_corruption
from convergence.encoding import loss_ratio, measure_loss_split, measure_training_error
from convergence.measurement import NOISE_DRAWS, SETUP, SETUPS, YARDSTICK, Cell, measure, measure_rates, setup_of
from convergence.polynomials import measure_polynomials
from convergence.problems import EDGE_POWER, zoo
from convergence.tables import print_polynomials, print_zoo
from convergence.verify import join
from letcc import CodedScheme, certify
from letcc.nodes import chebyshev_first_kind
from letcc.rates import Verdict
from letcc.stragglers import ConsecutiveBlock
from theory.cells import run_cells
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS
from theory.evidence import Scope, WorstBlocks
from theory.evidence.adversarial import worst_corruption
from theory.report import exit_status
from theory.store import read_table

DATA_POINTS = chebyshev_first_kind(8)
CENTRE = DATA_POINTS[4]
ZOO = zoo(DATA_POINTS)


def tagged(tag):
    return [name for name, problem in ZOO.items() if tag in problem.tags]


def decoded_function(problem):
    """g = f o u_e where the encoder gives the inputs back, summed over outputs."""
    return lambda t: problem.function(problem.inputs(t)).reshape(t.size, -1).sum(axis=1)


def kink_of(name):
    return {"edge": CENTRE, "edge-between": (DATA_POINTS[3] + CENTRE) / 2}.get(name, CENTRE)


class TestZoo:
    def test_names_and_both_sides_of_the_space(self):
        assert all(problem.name == name for name, problem in ZOO.items())
        assert all(("smooth" in problem.tags) != ("edge" in problem.tags) for problem in ZOO.values())
        assert tagged("kink on data") == ["edge"]
        assert tagged("kink off data") == ["edge-between"]
        assert "kink on data" in ZOO[YARDSTICK].tags

    @pytest.mark.parametrize("name", [name for name in ZOO if "unordered" not in ZOO[name].tags])
    def test_energy_near_the_kink(self, name):
        """int g''^2 over r < t - c < 2r falls like r^(2p - 3): at p = 3/2 it would not fall, and diverge in sum."""
        radii = 2.0 ** -np.arange(3, 11)
        energies = []
        for radius in radii:
            t = kink_of(name) + radius * np.linspace(1, 2, 101)
            step = 1e-2 * radius
            g = decoded_function(ZOO[name])
            bent = (g(t + step) - 2 * g(t) + g(t - step)) / step**2
            energies.append(np.mean(bent**2) * radius)
        slopes = np.diff(np.log(energies)) / np.diff(np.log(radii))
        if name in tagged("edge"):
            np.testing.assert_allclose(slopes, 2 * EDGE_POWER - 3, atol=1e-6)
            np.testing.assert_allclose(2 * EDGE_POWER - 3, 0.02)
        else:
            assert slopes[-1] == pytest.approx(1, abs=0.3)  # bounded curvature

    def test_edge_has_its_kink_on_a_data_point_right_of_the_middle(self):
        values = ZOO["edge"].function(DATA_POINTS)
        assert np.flatnonzero(values == 0).tolist() == [4]
        assert DATA_POINTS[4] > 0
        np.testing.assert_allclose(values[[3, 5]], np.abs(DATA_POINTS[[3, 5]] - CENTRE) ** 1.51)

    def test_edge_between_has_its_kink_half_way(self):
        values = ZOO["edge-between"].function(DATA_POINTS)
        assert np.argsort(values)[:2].tolist() in ([3, 4], [4, 3])
        np.testing.assert_allclose(values[[3, 4]], ((DATA_POINTS[4] - DATA_POINTS[3]) / 2) ** 1.51)

    @pytest.mark.parametrize("name", ZOO)
    @pytest.mark.parametrize("scheme", [CodedScheme.letcc(8, 20), CodedScheme.bacc(8, 20)], ids=["letcc", "bacc"])
    def test_shapes(self, name, scheme):
        problem = ZOO[name]
        x = problem.inputs(DATA_POINTS)
        outputs = problem.function(scheme.encode(x))
        features, width = {
            "vector": ((2,), (3,)),
            "matrix product": ((2, 4, 4), (4, 4)),
            "Gram matrix": ((6, 4), (4, 4)),
        }.get(name, ((), ()))
        assert x.shape == (8, *features)
        assert outputs.shape == (20, *width)
        assert scheme.decode(outputs).shape == problem.function(x).shape == (8, *width)

    @pytest.mark.parametrize(("name", "crossings"), [("smooth", 0), ("oscillating", 13)])
    def test_oscillation(self, name, crossings):
        values = ZOO[name].function(np.linspace(-1, 1, 2000))
        assert np.count_nonzero(np.diff(np.sign(values))) == crossings

    @pytest.mark.parametrize("name", tagged("polynomial"))
    def test_degree_of_polynomial_maps(self, name):
        """Along any line, differences of one order more than the degree vanish, and those of the degree do not."""
        problem = ZOO[name]
        start, direction = np.random.default_rng(0).standard_normal((2, *problem.inputs(DATA_POINTS).shape[1:]))
        values = problem.function(np.array([start + step * direction for step in range(6)]))
        assert np.abs(np.diff(values, problem.degree, axis=0)).max() > 1
        np.testing.assert_allclose(np.diff(values, problem.degree + 1, axis=0), 0, atol=1e-11)

    def test_only_polynomials_have_a_degree(self):
        assert [name for name, problem in ZOO.items() if problem.degree is not None] == tagged("polynomial")

    def test_maps_of_matrices(self):
        pairs, matrices = (ZOO[name].inputs(DATA_POINTS) for name in ("matrix product", "Gram matrix"))
        product, gram = ZOO["matrix product"].function(pairs), ZOO["Gram matrix"].function(matrices)
        np.testing.assert_allclose(product, np.einsum("kij,kjl->kil", pairs[:, 0], pairs[:, 1]), atol=1e-12)
        np.testing.assert_allclose(gram, np.einsum("kji,kjl->kil", matrices, matrices), atol=1e-12)

    def test_data_on_a_smooth_curve_and_in_no_order(self):
        """Halving the gaps halves the steps along a curve; independent data know of no curve."""
        steps = {
            name: [np.abs(np.diff(ZOO[name].inputs(np.linspace(-1, 1, n)), axis=0)).mean() for n in (101, 201)]
            for name in tagged("polynomial")
        }
        assert steps["matrix product"][1] / steps["matrix product"][0] == pytest.approx(0.5, abs=0.01)
        assert steps["Gram matrix"][1] / steps["Gram matrix"][0] == pytest.approx(1, abs=0.1)


def cell(setup="letcc-noiseless", model="consecutive", n=64, k=8, s=0, seed=0):
    """Of a claim's scheme, or of the three things by which a scheme is known."""
    return Cell(*(setup_of(BY_ID[setup]) if isinstance(setup, str) else setup), model, "N", n, k, s, seed)


def measured_of(cell, problem="edge"):
    (row,) = (row for row in measure(cell) if row["problem"] == problem)
    return row


def error_of(cell, problem="edge"):
    return measured_of(cell, problem)["error"]


def noise_of(cell, draws=NOISE_DRAWS):
    """What every scheme meets at these sizes."""
    root = np.random.SeedSequence([cell.seed, cell.num_workers, cell.num_data, cell.stragglers])
    return cell.noise * np.random.default_rng(root.spawn(2)[0]).standard_normal((cell.num_workers, draws))


NOISY_BACC = ("bacc", "0", 0.1)
LAGRANGE = ("lagrange", "0", 0.0)
NOISY_LAGRANGE = ("lagrange", "0", 0.1)


class TestMeasure:
    @pytest.mark.parametrize(
        ("setup", "problem", "exponent", "tolerance"),
        [
            ("letcc-noiseless", "edge", -3.02, 0.05),
            ("bacc-rate", "edge", -2, 0.05),
            ("bacc-rate", "smooth", -2, 0.05),
            ("letcc-noisy", "edge", -0.6, 0.05),
            ("letcc-noisy-optimal", "edge", -0.75, 0.08),
            (NOISY_BACC, "edge", 0, 0.05),  # interpolates the noise
            (NOISY_LAGRANGE, "Gram matrix", -1, 0.05),  # fits 15 numbers
            # what makes a check on a smooth function vacuous: it passes N^-3 with five orders to spare
            ("letcc-noiseless", "smooth", -8, 0.15),
            ("letcc-noiseless", "oscillating", -8, 0.5),
            # the encoder's spline is what is smooth there: f o u_e has jumps in its third derivative at the data
            ("letcc-noiseless", "vector", -6, 0.4),
            ("letcc-noiseless", "matrix product", -6, 0.4),
            ("letcc-noiseless", "Gram matrix", -6, 0.4),
            ("bacc-rate", "Gram matrix", -2, 0.1),
        ],
    )
    def test_exponents_in_n(self, setup, problem, exponent, tolerance):
        workers = np.array([64, 128, 256, 512])
        errors = [error_of(cell(setup, n=n), problem) for n in workers]
        assert np.polyfit(np.log(workers), np.log(errors), 1)[0] == pytest.approx(exponent, abs=tolerance)

    @pytest.mark.parametrize(("claim", "exponent"), [("letcc-noiseless", 3), ("bacc-rate", 2.2)])
    def test_exponents_in_s_of_the_worst_block(self, claim, exponent):
        stragglers = np.array([3, 7, 15])
        errors = [error_of(cell(claim, n=256, k=16, s=s)) for s in stragglers]
        assert np.polyfit(np.log(stragglers + 1), np.log(errors), 1)[0] == pytest.approx(exponent, abs=0.3)

    @pytest.mark.parametrize(
        ("claim", "model", "stragglers"), [("letcc-noiseless", "consecutive", 3), ("letcc-noisy", "random", 3)]
    )
    def test_seed_decides(self, claim, model, stragglers):
        errors = [error_of(cell(claim, model, s=stragglers, seed=seed)) for seed in (0, 0, 1)]
        assert errors[0] == errors[1]
        assert (errors[1] == errors[2]) == (model == "consecutive")  # nothing random there

    @pytest.mark.parametrize("stragglers", [0, 3])
    @pytest.mark.parametrize("num_workers", [32, 128])
    def test_never_above_the_certificate(self, num_workers, stragglers):
        """The edge function has the energy (p (p-1))^2 int |t - c|^(2p-4) dt."""
        power = 2 * EDGE_POWER - 3
        energy = (EDGE_POWER * (EDGE_POWER - 1)) ** 2 * ((1 - CENTRE) ** power + (1 + CENTRE) ** power) / power
        scheme = CodedScheme.letcc(8, num_workers)
        blocks = ConsecutiveBlock(stragglers).all(num_workers)
        worst = max(certify(scheme, received).worst_pointwise_mse for received in blocks)
        assert 0.01 < error_of(cell(n=num_workers, s=stragglers)) / (energy * worst) <= 1

    @pytest.mark.parametrize("claim", ["letcc-noisy", "letcc-noisy-optimal"])
    def test_noise_adds_its_variance(self, claim):
        """4800 draws settle a variance to sqrt(2/4800) = 2 %."""
        scheme, problem = BY_ID[claim].scheme(8, 64), ZOO["edge"]
        x = scheme.data_points
        bias = scheme.decode(problem.function(scheme.encode(x))) - problem.function(x)
        variance = BY_ID[claim].noise_std ** 2 * (scheme.decoding_matrix() ** 2).sum(axis=1)
        assert error_of(cell(claim)) == pytest.approx((bias**2 + variance).max(), rel=0.06)

    @pytest.mark.parametrize("problem", ["edge", "vector", "Gram matrix"])
    def test_noise_decoded_once_is_noise_decoded_with_the_outputs(self, problem):
        """One draw is of all m outputs; the same numbers serve every problem."""
        asked = cell("letcc-noisy", n=24)
        scheme, chosen = BY_ID["letcc-noisy"].scheme(8, 24), ZOO[problem]
        x = chosen.inputs(scheme.data_points)
        outputs, truth = (
            values.reshape(len(values), -1) for values in (chosen.function(scheme.encode(x)), chosen.function(x))
        )
        noise = noise_of(asked).reshape(24, -1, truth.shape[1])
        decoded = scheme.decode(outputs[:, None] + noise)
        errors = ((decoded - truth[:, None]) ** 2).mean(axis=2)
        k = errors.mean(axis=1).argmax()
        found = measured_of(asked, problem)
        assert found["error"] == pytest.approx(errors[k].mean(), rel=1e-9)
        spread = errors[k].std(ddof=1) / errors.shape[1] ** 0.5
        assert found["uncertainty"] == pytest.approx(spread / errors[k].mean(), rel=1e-9)

    def test_consecutive_is_the_worst_block_and_random_a_mean(self):
        scheme, problem = CodedScheme.letcc(8, 24), ZOO["edge"]
        x, outputs = scheme.data_points, problem.function(scheme.encode(scheme.data_points))
        errors = [
            np.abs(scheme.decode(outputs[f], f) - problem.function(x)).max() ** 2 for f in ConsecutiveBlock(5).all(24)
        ]
        worst, mean = (measured_of(cell(model=model, n=24, s=5)) for model in ("consecutive", "random"))
        assert worst["error"] == pytest.approx(max(errors), rel=1e-9)
        assert mean["error"] < worst["error"] / 5

    def test_uncertainty_is_of_what_is_random(self):
        assert np.isnan(measured_of(cell(n=24, s=5))["uncertainty"])
        # another seed's mean over 200 sets is as far off as this one's uncertainty says
        rows = [measured_of(cell(model="random", n=24, s=5, seed=seed)) for seed in range(12)]
        spread = np.std([row["error"] for row in rows], ddof=1)
        said = np.mean([row["uncertainty"] * row["error"] for row in rows])
        assert 0.5 < said / spread < 2

    def test_errors_of_several_outputs_are_averaged(self):
        scheme, problem = CodedScheme.letcc(8, 24), ZOO["vector"]
        x = problem.inputs(scheme.data_points)
        off = scheme.decode(problem.function(scheme.encode(x))) - problem.function(x)
        assert error_of(cell(n=24), "vector") == pytest.approx((off**2).mean(axis=1).max(), rel=1e-9)

    def test_lagrange_meets_polynomial_maps_and_is_exact(self):
        rows = measure(cell(LAGRANGE, n=64))
        assert [row["problem"] for row in rows] == tagged("polynomial")
        assert all(row["error"] < 1e-26 for row in rows)
        for others in ("letcc-noiseless", "bacc-rate"):
            assert all(error_of(cell(others, n=64), row["problem"]) > 1e-14 for row in rows)

    def test_what_lagrange_makes_of_noise(self):
        matrix = CodedScheme.lagrange(8, 64, degree=2).decoding_matrix()
        expected = 0.1**2 * (matrix**2).sum(axis=1).max()
        assert error_of(cell(NOISY_LAGRANGE), "Gram matrix") == pytest.approx(expected, rel=0.06)


class TestCommonRandomNumbers:
    @pytest.fixture
    def decoded(self, monkeypatch):
        """Outputs and received sets of every decoding of a cell."""
        calls, original = [], CodedScheme.decode

        def spy(scheme, outputs, received=None):
            calls.append((np.array(outputs), received.tolist()))
            return original(scheme, outputs, received)

        def of(cell):
            calls.clear()
            measure(cell)
            return list(calls)

        monkeypatch.setattr(CodedScheme, "decode", spy)
        return of

    @pytest.mark.parametrize(
        "setup", ["bacc-rate", "letcc-noisy", "letcc-noisy-optimal", NOISY_BACC, LAGRANGE, NOISY_LAGRANGE]
    )
    def test_all_schemes_meet_the_same_stragglers(self, decoded, setup):
        reference = [received for _, received in decoded(cell(model="random", n=24, s=5))]
        assert len(set(map(tuple, reference))) > 100
        assert {len(received) for received in reference} == {19}
        assert [received for _, received in decoded(cell(setup, "random", n=24, s=5))] == reference

    @pytest.mark.parametrize(("stragglers", "draws"), [(0, 4800), (3, 192)])
    def test_all_schemes_meet_the_same_noise(self, decoded, stragglers, draws):
        noise = []
        for setup in ("letcc-noisy", "letcc-noisy-optimal", NOISY_BACC, NOISY_LAGRANGE):
            (outputs, received), *_ = decoded(asked := cell(setup, s=stragglers))
            noise.append(outputs[:, -draws:] / asked.noise)
            np.testing.assert_array_equal(outputs[:, -draws:], noise_of(asked, draws)[received])
        assert noise[0].shape == (64 - stragglers, draws)
        assert noise[0].std() == pytest.approx(1, abs=0.03)
        for other in noise[1:]:
            np.testing.assert_allclose(other, noise[0], atol=1e-12)


KINDS = ("letcc-noiseless", "letcc-noisy", "bacc-rate", "bacc-sup", "bacc-n3")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A registry of a few claims, on grids that take no time."""
    grid = WorstBlocks(first_workers=16, stragglers=(1, 3, 5), straggler_workers=32, straggler_num_data=8)
    claims = tuple(
        dataclasses.replace(BY_ID[name], evidence=grid)
        if isinstance(BY_ID[name].evidence, WorstBlocks)
        else BY_ID[name]
        for name in KINDS
    )
    out = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convergence.measurement, "CLAIMS", claims)
        patch.setattr(convergence.measurement, "BY_ID", {claim.id: claim for claim in claims})
        patch.setattr(convergence.measurement, "SCOPE", Scope(max_n=128))
        rows, slopes = measure_rates(seed=7, jobs=1, out=out)
    return rows, slopes, read_table(out / "measured.parquet"), read_table(out / "slopes.parquet")


class TestMeasureRates:
    def test_rows(self, measured):
        rows, *_ = measured
        assert [row["claim"] for row in rows] == ["letcc-noiseless", "letcc-noisy", "bacc-rate", "bacc-n3"]  # the rates
        assert all(row["certified"] is None for row in rows)
        # and not the sweep in which some are always lost, of which no claim speaks
        assert [set(row["measured"]) for row in rows] == [{"N", "S"}, {"N", "S"}, {"N", "S"}, {"N"}]
        assert rows[0]["measured"]["N"]["value"] == pytest.approx(-3.05, abs=0.05)
        assert rows[2]["measured"]["N"]["value"] == rows[3]["measured"]["N"]["value"]
        assert rows[3]["measured"]["N"]["value"] == pytest.approx(-2.1, abs=0.15)  # not yet -2 on so few workers

    def test_table(self, measured):
        *_, table, _ = measured
        assert table.attrs["provenance"]["seed"] == 7
        assert set(table.seed) == {7}
        keys = ["problem", *SETUP, "model", "sweep", "num_workers", "stragglers"]
        assert not table.duplicated(keys).any()
        for setup, cells in table.groupby(SETUP):
            assert set(cells.problem) == set(tagged("polynomial") if setup[0] == "lagrange" else ZOO)
            # N: 4; N with three lost: 4 under two models; S: 3 under two models
            each = 4 if setup[0] == "lagrange" else 4 + 2 * 4 + 2 * 3
            assert len(cells) == each * cells.problem.nunique()
        assert set(table.groupby(SETUP).groups) == set(SETUPS)
        assert table.query("stragglers == 0").model.unique().tolist() == ["consecutive"]
        sampled = (table.noise > 0) | (table.model == "random")
        assert (table.uncertainty.notna() == sampled).all()
        assert (table.uncertainty[sampled] > 0).all()
        assert (table.error > 0).all()

    def test_slopes_are_those_of_the_table_and_the_row(self, measured):
        rows, found, _, slopes = measured
        pd.testing.assert_frame_equal(found, slopes)
        query = "scheme == 'letcc' and noise == 0 and problem == 'edge' and model == 'consecutive' and sweep == 'S'"
        (fitted,) = slopes.query(query).to_dict("records")
        assert fitted["exponent"] == rows[0]["measured"]["S"]["value"]
        assert fitted["low"] < fitted["exponent"] < fitted["high"]
        assert (fitted["first"], fitted["last"]) == (2, 6)  # S + 1
        exact = slopes.query("scheme == 'lagrange' and noise == 0")
        assert len(exact) == 2
        assert exact.exponent.isna().all()

    def test_the_same_for_any_number_of_jobs(self):
        cells = [
            cell(setup, model, n=32, s=3)
            for setup in ("letcc-noiseless", "letcc-noisy", "bacc-rate", NOISY_LAGRANGE)
            for model in ("consecutive", "random")
        ]
        here, elsewhere = (
            pd.DataFrame([row for rows in run_cells(measure, cells, jobs, "measuring") for row in rows])
            for jobs in (1, 2)
        )
        pd.testing.assert_frame_equal(here, elsewhere, check_exact=True)
        assert here.error.nunique() == len(here)


@pytest.fixture(scope="module")
def polynomials(tmp_path_factory):
    out = tmp_path_factory.mktemp("polynomials")
    row, table = measure_polynomials(3, out)
    pd.testing.assert_frame_equal(read_table(out / "polynomials.parquet"), table, check_like=True)
    return row, table


class TestPolynomials:
    def test_lagrange_is_exact_from_the_threshold_on_and_refused_below(self, polynomials):
        """2 (K - 1) + 1 workers determine a product of two matrices: 7, 15 and 39 of them."""
        row, table = polynomials
        lagrange, others = table[table.scheme == "lagrange"], table[table.scheme != "lagrange"]
        assert lagrange.groupby("num_data").threshold.first().to_dict() == {4: 7, 8: 15, 20: 39}
        assert set(lagrange.problem) == {"matrix product", "Gram matrix"}
        assert (lagrange.refused == (lagrange.received < lagrange.threshold)).all()
        assert (lagrange[lagrange.num_data == 4].error.dropna() < 1e-10).all()
        assert (lagrange[lagrange.received > lagrange.threshold].error < 1e-10).all()
        assert not others.refused.any()
        assert others.error.min() > 1e-7
        assert (row["verdict"], row["expected"]) == ("holds", "holds")
        assert row["measured"]["largest error above the threshold, for K = 4 at it"] < 1e-10
        assert row["measured"]["refused below it"] == "6 of 6"

    def test_a_decoder_of_too_low_a_degree_is_refuted(self, monkeypatch, tmp_path):
        original = CodedScheme.lagrange
        monkeypatch.setattr(CodedScheme, "lagrange", lambda data, workers, degree: original(data, workers, degree=1))
        row, table = measure_polynomials(3, tmp_path)
        assert row["verdict"] == "refuted"
        assert not table.refused.any()


class TestEncoding:
    def test_loss_ratio(self):
        """By hand, on a constant encoder: its line through 2 data points is far from the third."""
        scheme = CodedScheme.letcc(3, 16, encoder_smoothing=1e6)
        problem, x = ZOO["smooth"], np.array([0.0, 1.0, 0.0])
        line = np.polynomial.Polynomial.fit(scheme.data_points, x, 1)
        outputs = problem.function(line(scheme.worker_points))
        estimate, between = scheme.decode(outputs), problem.function(line(scheme.data_points))
        loss = np.sum((estimate - problem.function(x)) ** 2)
        parts = 2 * np.sum((estimate - between) ** 2) + 2 * np.sum((between - problem.function(x)) ** 2)
        assert loss_ratio(scheme, problem, x, [np.arange(16)]) == pytest.approx(loss / parts, rel=1e-4)

    def test_an_interpolating_encoder_costs_nothing(self):
        scheme = CodedScheme.letcc(8, 32)
        for problem in ZOO.values():
            ratio = loss_ratio(scheme, problem, problem.inputs(DATA_POINTS), [np.arange(32), np.arange(3, 32)])
            assert ratio == pytest.approx(1 / 2, rel=1e-6)

    def test_the_split_holds_with_factors_of_two_only(self):
        found, control = measure_loss_split(5)
        assert (found["claim"], found["verdict"]) == ("loss-split", "holds")
        assert (control["claim"], control["verdict"]) == ("loss-split-1", "refuted")
        name = "largest L / (L_dec + L_enc)"
        assert 0.6 < found["measured"][name] < 1
        assert control["measured"][name] == pytest.approx(2 * found["measured"][name])
        assert found["measured"]["at lambda_e = 0"] == pytest.approx(1 / 2)

    def test_training_error(self):
        row = measure_training_error()
        assert (row["verdict"], row["expected"]) == ("attained", "attained")
        for family in ("chebyshev", "equispaced"):
            assert row["measured"][f"lambda_e, {family}"]["value"] == pytest.approx(1, abs=0.1)
        assert 0.1 < row["measured"]["largest measured/bound on a smooth curve"] < 1
        assert row["measured"]["at lambda_e = 0"] < 1e-20

    def test_a_bound_that_is_too_low_is_refuted(self, monkeypatch):
        original = convergence.encoding.training_error
        monkeypatch.setattr(convergence.encoding, "training_error", lambda *about: original(*about) / 10)
        assert measure_training_error()["verdict"] == "refuted"


class TestCorruption:
    @pytest.mark.parametrize(("workers", "q", "smoothing"), [(64, 1, 1e-3), (64, 5, 1e-2), (33, 3, 0.0)])
    def test_the_pipeline_reaches_the_certificate(self, workers, q, smoothing):
        scheme = CodedScheme.letcc(8, workers, decoder_smoothing=smoothing)
        certified = worst_corruption(scheme, q, 0.5)
        assert corrupted_error(scheme, q, 0.5) == pytest.approx(certified, rel=1e-9)

    def test_row(self):
        row = measure_corruption()
        assert (row["verdict"], row["expected"]) == ("attained", "attained")
        assert row["measured"]["q/N, q=1"]["value"] == pytest.approx(1.2, abs=0.02)
        assert row["measured"]["largest |reached/certified - 1|"] < 1e-9


class TestTables:
    def test_zoo(self, measured):
        """Nothing is cut at the width that is promised, and every row is there."""
        output = Console(width=140, record=True, file=io.StringIO())
        print_zoo(measured[1], output)
        text = output.export_text()
        assert "…" not in text
        edge, *_ = (line.split() for line in text.splitlines() if line.split()[:2] == ["edge", "LeTCC"])
        assert float(edge[2]) == pytest.approx(-3.05, abs=0.05)
        for name in ZOO:
            rows = [line for line in text.splitlines() if line.strip().startswith(f"{name} ")]
            assert len(rows) == (3 if ZOO[name].degree else 2)
        lagrange = [line for line in text.splitlines() if " Lagrange " in line]
        assert all(line.split("Lagrange")[1].split()[0] == "exact" for line in lagrange)

    def test_polynomials(self, polynomials):
        output = Console(width=140, record=True, file=io.StringIO())
        print_polynomials(polynomials[1], output)
        text = output.export_text()
        assert "…" not in text
        assert text.count("refused") == 4
        assert text.count("(threshold)") == 4


def row_of(claim, verdict, **evidence):
    return claim_row(BY_ID[claim], Verdict(verdict), **evidence)


class TestJoin:
    @pytest.mark.parametrize(
        ("certified", "measured", "verdict"),
        [
            ("attained", None, "attained"),
            ("inconclusive", None, "inconclusive"),
            (None, "holds", "holds"),
            (None, "refuted", "refuted"),
            ("holds", "attained", "holds"),  # the certificate is exact over the whole ball
            ("attained", "holds", "attained"),
            ("attained", "inconclusive", "attained"),
            ("inconclusive", "attained", "inconclusive"),
            ("attained", "refuted", "refuted"),  # one function is enough
            ("inconclusive", "refuted", "refuted"),
            ("refuted", "attained", "refuted"),
            ("refuted", "inconclusive", "refuted"),
        ],
    )
    @pytest.mark.parametrize("claim", ["letcc-noiseless", "bacc-n3"])
    def test_one_verdict(self, claim, certified, measured, verdict):
        exact = [row_of(claim, certified, certified={"N": 1})] if certified else []
        seen = [row_of(claim, measured, measured={"N": 2})] if measured else []
        (row,) = join(exact, seen)
        expected = BY_ID[claim].expected
        assert row.pop("statement") == BY_ID[claim].statement
        assert row.pop("source") == BY_ID[claim].citation
        assert row.pop("provenance_of_claim") == BY_ID[claim].provenance
        assert row.pop("assumptions") == [assumption.statement for assumption in BY_ID[claim].assumptions]
        for about in ("superseded_by", "quantity", "stragglers", "smoothing"):
            row.pop(about)
        assert row == {
            "claim": claim,
            "verdict": verdict,
            "expected": expected,
            "control": claim == "bacc-n3",
            "predicted": {"N": -3, "S": 3} if claim == "letcc-noiseless" else {"N": -3},
            "certified": {"N": 1} if certified else None,
            "measured": {"N": 2} if measured else None,
        }
        assert exit_status([row]) == (verdict != expected)

    def test_in_the_order_of_the_registry(self):
        exact = [row_of(*row, certified={"N": 1}) for row in (("bacc-n3", "refuted"), ("letcc-noiseless", "attained"))]
        seen = [row_of("table-1", "holds"), row_of("bacc-n3", "refuted"), row_of("letcc-noisy", "holds")]
        joined = [row["claim"] for row in join(exact, seen)]
        assert joined == ["letcc-noiseless", "letcc-noisy", "table-1", "bacc-n3"]
        assert join([], []) == []

    def test_rows_read_back_from_disk(self):
        """Verdicts are plain strings there, and carry their provenance."""
        (row,) = join(
            [row_of("bacc-rate", "attained", certified={"N": 1}) | {"verdict": "attained", "provenance": {}}], []
        )
        assert row["verdict"] is Verdict.ATTAINED
        assert "provenance" not in row

    def test_every_claim_has_evidence_of_some_kind(self):
        assert [claim.id for claim in CLAIMS if claim.evidence is None] == ["table-1"]
