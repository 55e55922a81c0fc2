import dataclasses

import numpy as np
import pandas as pd
import pytest

import convergence.measurement
from convergence import table1
from convergence.measurement import PROBLEMS, YARDSTICK, Cell, measure, measure_claims
from convergence.problems import EDGE_POWER, zoo
from convergence.verify import join
from letcc import CodedScheme, certify
from letcc.nodes import chebyshev_first_kind
from letcc.rates import Verdict
from letcc.stragglers import ConsecutiveBlock
from theory.cells import run_cells
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS, Design
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
        assert set(ZOO) == set(PROBLEMS)
        assert all(problem.name == name for name, problem in ZOO.items())
        assert all(("smooth" in problem.tags) != ("edge" in problem.tags) for problem in ZOO.values())
        assert tagged("kink on data") == ["edge"]
        assert tagged("kink off data") == ["edge-between"]
        assert "kink on data" in ZOO[YARDSTICK].tags

    @pytest.mark.parametrize("name", ZOO)
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
        features, width = ((2,), (3,)) if name in tagged("vector") else ((), ())
        assert x.shape == (8, *features)
        assert outputs.shape == (20, *width)
        assert scheme.decode(outputs).shape == problem.function(x).shape == (8, *width)

    @pytest.mark.parametrize(("name", "crossings"), [("smooth", 0), ("oscillating", 13)])
    def test_oscillation(self, name, crossings):
        values = ZOO[name].function(np.linspace(-1, 1, 2000))
        assert np.count_nonzero(np.diff(np.sign(values))) == crossings


def cell(claim="letcc-noiseless", problem="edge", model="consecutive", n=64, k=8, s=0, seed=0):
    return Cell(claim, problem, model, "N", n, k, s, seed)


def measured_slope(claim, problem):
    workers = np.array([64, 128, 256, 512])
    return np.polyfit(np.log(workers), np.log([measure(cell(claim, problem, n=n))["error"] for n in workers]), 1)[0]


class TestMeasure:
    @pytest.mark.parametrize(
        ("claim", "problem", "exponent", "tolerance"),
        [
            ("letcc-noiseless", "edge", -3.02, 0.05),
            ("bacc-rate", "edge", -2, 0.05),
            ("bacc-rate", "smooth", -2, 0.05),
            # what makes a check on a smooth function vacuous: it passes N^-3 with five orders to spare
            ("letcc-noiseless", "smooth", -8, 0.15),
            ("letcc-noiseless", "oscillating", -8, 0.5),
        ],
    )
    def test_rates_without_noise(self, claim, problem, exponent, tolerance):
        assert measured_slope(claim, problem) == pytest.approx(exponent, abs=tolerance)

    @pytest.mark.parametrize(
        ("claim", "model", "stragglers"), [("letcc-noiseless", "consecutive", 3), ("letcc-noisy", "random", 3)]
    )
    def test_seed_decides(self, claim, model, stragglers):
        errors = [measure(cell(claim, model=model, s=stragglers, seed=seed))["error"] for seed in (0, 0, 1)]
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
        found = measure(cell(n=num_workers, s=stragglers))["error"]
        assert 0.01 < found / (energy * worst) <= 1

    @pytest.mark.parametrize("claim", ["letcc-noisy", "letcc-noisy-optimal"])
    def test_noise_adds_its_variance(self, claim):
        """5000 draws settle a variance to sqrt(2/5000) = 2 %."""
        scheme, problem = BY_ID[claim].scheme(8, 64), ZOO["edge"]
        x = scheme.data_points
        bias = scheme.decode(problem.function(scheme.encode(x))) - problem.function(x)
        variance = BY_ID[claim].noise_std ** 2 * (scheme.decoding_matrix() ** 2).sum(axis=1)
        assert measure(cell(claim))["error"] == pytest.approx((bias**2 + variance).max(), rel=0.06)

    def test_consecutive_is_the_worst_block_and_random_a_mean(self):
        scheme, problem = CodedScheme.letcc(8, 24), ZOO["edge"]
        x, outputs = scheme.data_points, problem.function(scheme.encode(scheme.data_points))
        errors = [
            np.abs(scheme.decode(outputs[f], f) - problem.function(x)).max() ** 2 for f in ConsecutiveBlock(5).all(24)
        ]
        worst = measure(cell(n=24, s=5))["error"]
        assert worst == pytest.approx(max(errors), rel=1e-9)
        assert measure(cell(n=24, s=5, model="random"))["error"] < worst / 5

    def test_errors_of_several_outputs_are_averaged(self):
        scheme, problem = CodedScheme.letcc(8, 24), ZOO["vector"]
        x = problem.inputs(scheme.data_points)
        off = scheme.decode(problem.function(scheme.encode(x))) - problem.function(x)
        assert measure(cell(problem="vector", n=24))["error"] == pytest.approx((off**2).mean(axis=1).max(), rel=1e-9)


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

    @pytest.mark.parametrize("problem", ["edge", "vector"])
    @pytest.mark.parametrize("claim", ["bacc-rate", "letcc-noisy", "letcc-noisy-optimal"])
    def test_all_schemes_and_problems_meet_the_same_stragglers(self, decoded, claim, problem):
        reference = [received for _, received in decoded(cell(model="random", n=24, s=5))]
        assert len(set(map(tuple, reference))) > 100
        assert {len(received) for received in reference} == {19}
        assert [received for _, received in decoded(cell(claim, problem, model="random", n=24, s=5))] == reference

    def test_all_schemes_meet_the_same_noise(self, decoded):
        (exact, _), *_ = decoded(cell())
        noise = []
        for claim in ("letcc-noisy", "letcc-noisy-optimal"):
            ((outputs, _),) = decoded(cell(claim))
            noise.append((outputs - exact) / BY_ID[claim].noise_std)
        assert noise[0].shape == (64, 1, 5000)
        assert noise[0].std() == pytest.approx(1, abs=0.01)
        np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A registry of one claim of each kind, on grids that take no time."""
    design = Design(workers=(16, 32, 64), stragglers=(1, 3, 5), straggler_workers=32, straggler_num_data=8)
    kinds = ("letcc-noiseless", "letcc-noisy", "bacc-sup", "bacc-n3")
    claims = tuple(dataclasses.replace(BY_ID[claim], design=design) for claim in kinds)
    out = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convergence.measurement, "CLAIMS", claims)
        rows = measure_claims(seed=7, jobs=1, out=out)
    return rows, read_table(out / "measured.parquet"), read_table(out / "slopes.parquet")


class TestMeasureClaims:
    def test_rows(self, measured):
        rows, *_ = measured
        assert [row["claim"] for row in rows] == ["letcc-noiseless", "letcc-noisy", "bacc-n3"]  # the rates
        assert all(row["certified"] is None for row in rows)
        assert [set(row["measured"]) for row in rows] == [{"N", "S"}, {"N", "S"}, {"N"}]
        assert rows[0]["measured"]["N"]["window"] == (16, 64)
        assert rows[0]["measured"]["N"]["value"] == pytest.approx(-3.1, abs=0.05)
        assert rows[2]["measured"]["N"]["value"] == pytest.approx(-2.3, abs=0.05)  # not yet -2 on so few workers

    def test_table(self, measured):
        _, table, _ = measured
        assert table.attrs["provenance"]["seed"] == 7
        assert set(table.seed) == {7}
        assert (table.error > 0).all()
        keys = ["claim", "problem", "model", "sweep", "num_workers", "stragglers"]
        assert not table.duplicated(keys).any()
        assert set(table.query("claim == 'bacc-n3'").problem) == {YARDSTICK}
        assert set(table.query("claim == 'letcc-noisy'").problem) == set(PROBLEMS)
        assert table.query("stragglers == 0").model.unique().tolist() == ["consecutive"]
        assert len(table) == 2 * 5 * (3 + 3 + 3) + (3 + 3 + 3)

    def test_slopes_are_those_of_the_table_and_the_row(self, measured):
        rows, _, slopes = measured
        query = "claim == 'letcc-noiseless' and problem == 'edge' and model == 'consecutive' and sweep == 'S'"
        (found,) = slopes.query(query).to_dict("records")
        assert found["exponent"] == rows[0]["measured"]["S"]["value"]
        assert found["low"] < found["exponent"] < found["high"]

    def test_the_same_for_any_number_of_jobs(self):
        cells = [
            cell(claim, problem, model, n=32, s=3)
            for claim in ("letcc-noiseless", "letcc-noisy", "bacc-rate")
            for problem in ("edge", "vector")
            for model in ("consecutive", "random")
        ]
        here, elsewhere = (pd.DataFrame(run_cells(measure, cells, jobs, "measuring")) for jobs in (1, 2))
        pd.testing.assert_frame_equal(here, elsewhere, check_exact=True)
        assert here.error.nunique() == len(cells)


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
        assert row.pop("assumptions") == list(BY_ID[claim].assumptions)
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
        exact = [row_of("bacc-n3", "refuted"), row_of("letcc-noiseless", "attained")]
        seen = [row_of("table-1", "holds"), row_of("bacc-n3", "refuted"), row_of("letcc-noisy", "holds")]
        joined = [row["claim"] for row in join(exact, seen)]
        assert joined == ["letcc-noiseless", "letcc-noisy", "table-1", "bacc-n3"]
        assert join([], []) == []

    def test_rows_read_back_from_disk(self):
        """Verdicts are plain strings there, and carry their provenance."""
        (row,) = join([row_of("bacc-rate", "attained") | {"verdict": "attained", "provenance": {}}], [])
        assert row["verdict"] is Verdict.ATTAINED
        assert "provenance" not in row

    def test_every_claim_has_evidence_of_some_kind(self):
        for claim in CLAIMS:
            assert claim.exponent_n is not None or claim.bound or claim.id == "table-1"


class TestTable1:
    @pytest.mark.parametrize(
        ("less", "verdict"),
        [([0.5, 0.7, 0.6], "holds"), ([-0.5, -0.7, -0.6], "refuted"), ([2, -2, 0.1], "inconclusive")],
    )
    def test_verdict_is_on_the_paired_difference(self, monkeypatch, tmp_path, less, verdict):
        """The trials themselves differ by far more than the schemes do."""
        less = np.tile(less, 10)
        level = np.linspace(1, 100, less.size)
        trials = pd.DataFrame(
            {
                "trial": np.repeat(np.arange(less.size), 2),
                "scheme": ["BACC", "LeTCC"] * less.size,
                "rmse": np.stack([level, level - less], axis=1).ravel(),
                "relative_accuracy": 0.9,
                "label_accuracy": 0.9,
            }
        )
        asked = {}

        def run_trials(network, images, schemes, stragglers, count, seed):
            asked.update(schemes=schemes, stragglers=stragglers, count=count, seed=seed)
            return trials

        monkeypatch.setattr(table1, "trained", lambda *_, **__: (None, {"dataset": "digits"}))
        monkeypatch.setattr(table1, "run_trials", run_trials)
        row, summary = table1.measure_network(None, 3, tmp_path)
        assert (row["claim"], row["verdict"], row["expected"]) == ("table-1", verdict, "holds")
        (evidence,) = row["measured"].values()
        assert evidence["value"] == pytest.approx(-less.mean())
        assert evidence["low"] < evidence["value"] < evidence["high"]
        assert asked["schemes"] == {"BACC": CodedScheme.bacc(20, 100), "LeTCC": CodedScheme.letcc(20, 100)}
        assert (asked["stragglers"], asked["seed"]) == (60, 3)
        assert asked["count"] >= 30
        assert set(summary.network) == {"LeNet5 / digits"}
        pd.testing.assert_frame_equal(read_table(tmp_path / "networks.parquet"), trials, check_like=True)
