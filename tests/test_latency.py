import math
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from convergence import latency
from convergence.__main__ import app
from letcc import CodedScheme, coded_map, stragglers
from letcc.exceptions import InvalidInput
from letcc.latency import Bimodal, Markov, Pareto, ShiftedExponential, Trace
from letcc.simulation import DelayedExecutor, batches, kth, replicated, simulate

MODELS = [
    ShiftedExponential(0.1, 0.05),
    Pareto(0.1, 3.0),
    Bimodal(0.1, 1.0, 0.2, jitter=0.1),
    Markov(0.1, 1.0, 0.1, 0.4, jitter=0.1),
    Trace([0.1, 0.2, 0.7]),
    Trace([[0.1, 0.2, 0.7, 0.3, 0.1]] * 3 + [[1, 1, 1, 1, 2.0]]),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@every_model
class TestEveryModel:
    def test_seeded_positive_and_of_the_asked_shape(self, model):
        times = model.sample(7, 5, 3)
        assert times.shape == (7, 5)
        assert (times > 0).all()
        np.testing.assert_array_equal(times, model.sample(7, 5, 3))
        np.testing.assert_array_equal(times, model.sample(7, 5, np.random.SeedSequence(3)))
        generator = np.random.default_rng(3)
        np.testing.assert_array_equal(times, model.sample(7, 5, generator))
        assert not np.array_equal(times, model.sample(7, 5, generator))

    def test_mean(self, model):
        times = model.sample(40_000, 5, 0)
        # rounds are independent but for slow spells, which are short
        deviation = 3 * times.mean(axis=1).std() / math.sqrt(len(times))
        assert abs(times.mean() - model.mean) < 5 * deviation

    @pytest.mark.parametrize(("rounds", "num_workers"), [(0, 5), (5, 0), (2.5, 5), (5, "3"), (True, 5)])
    def test_counts(self, model, rounds, num_workers):
        with pytest.raises(InvalidInput, match="integer of at least 1"):
            model.sample(rounds, num_workers, 0)


def exceeds(times, seconds):
    return (times > seconds).mean()


def test_shifted_exponential_tail():
    times = ShiftedExponential(0.1, 0.05).sample(20_000, 5, 0)
    assert times.min() >= 0.1
    for seconds in (0.12, 0.2, 0.3):
        assert exceeds(times, seconds) == pytest.approx(math.exp(-(seconds - 0.1) / 0.05), abs=0.008)


def test_pareto_tail():
    times = Pareto(0.1, 1.5).sample(20_000, 5, 0)
    assert times.min() >= 0.1
    for seconds in (0.2, 0.5, 2.0):
        assert exceeds(times, seconds) == pytest.approx((0.1 / seconds) ** 1.5, abs=0.008)
    assert Pareto(0.1, 1.0).mean == math.inf


def test_bimodal_without_jitter_has_two_times():
    times = Bimodal(0.1, 1.0, 0.2).sample(20_000, 5, 0)
    assert set(np.unique(times)) == {0.1, 1.0}
    assert exceeds(times, 0.5) == pytest.approx(0.2, abs=0.008)


@pytest.mark.parametrize(("slows_down", "recovers"), [(0.05, 0.2), (0.5, 0.5), (0.9, 0.7), (1.0, 1.0), (1.0, 0.3)])
def test_markov_transitions(slows_down, recovers):
    model = Markov(0.1, 1.0, slows_down, recovers)
    slow = model.sample(3000, 40, 0) > 0.5
    now, after = slow[:-1].ravel(), slow[1:].ravel()
    assert after[~now].mean() == pytest.approx(slows_down, abs=0.015)
    assert after[now].mean() == pytest.approx(1 - recovers, abs=0.015)
    assert slow.mean() == pytest.approx(slows_down / (slows_down + recovers), abs=0.02)
    first = np.array([model.sample(1, 40, seed) > 0.5 for seed in range(300)])
    assert first.mean() == pytest.approx(model.probability, abs=0.025)


def test_markov_is_the_chain_that_a_loop_computes():
    model = Markov(0.1, 1.0, 0.8, 0.6)
    slow = model.sample(200, 7, 5) > 0.5
    uniform = np.random.default_rng(5).random((200, 7))
    state = uniform[0] < model.probability
    for round_ in range(200):
        if round_:
            state = np.where(state, uniform[round_] < 1 - 0.6, uniform[round_] < 0.8)
        np.testing.assert_array_equal(slow[round_], state)


class TestTrace:
    def test_rounds_are_drawn_whole(self):
        table = np.arange(1.0, 13).reshape(4, 3)
        drawn = {tuple(row) for row in Trace(table).sample(200, 3, 0).tolist()}
        assert drawn == {tuple(row) for row in table.tolist()}
        assert Trace(table).sample(5, 2, 0).shape == (5, 2)

    @pytest.mark.parametrize("text", ["0.1,0.2\n0.3,0.4\n", "# seconds\n0.1 0.2\n\n0.3 0.4"])
    def test_read(self, tmp_path, text):
        path = tmp_path / "trace.csv"
        path.write_text(text)
        np.testing.assert_array_equal(Trace.read(path).times, [[0.1, 0.2], [0.3, 0.4]])

    def test_one_time_a_line_is_of_any_worker(self, tmp_path):
        path = tmp_path / "trace.csv"
        path.write_text("0.1\n0.2\n")
        assert Trace.read(path).sample(3, 50, 0).shape == (3, 50)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0.1,0.2\n0.3,-0.4\n", r"line 2 of .* has the time -0.4"),
            ("0.1,0.2\n0.3,\n", "line 2 of .* missing"),
            ("0.1,0.2\n0.3\n", "line 2 of .* has 1 times"),
            ("0.1,nan\n", "line 1 of .* has the time nan"),
            ("0.1,0\n", "line 1 of .* has the time 0"),
            ("worker 1\n", "line 1 of .* no number"),
            ("# nothing\n", "is empty"),
        ],
    )
    def test_bad_files(self, tmp_path, text, message):
        path = tmp_path / "trace.csv"
        path.write_text(text)
        with pytest.raises(InvalidInput, match=message):
            Trace.read(path)

    def test_no_file(self, tmp_path):
        with pytest.raises(InvalidInput, match="cannot be read"):
            Trace.read(tmp_path / "none.csv")

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            ([], r"shape .*\(0,\)"),
            ([[0.1], [0.1, 0.2]], "in rows of one length"),
            ([0.1, -1], r"at \(1,\) is -1.0: times are seconds, more than 0"),
            ([np.nan], r"at \(0,\) is nan: .* missing is no latency"),
            (["a"], "must be numbers"),
            (3.0, r"not \(\)"),
            ([[[1.0]]], r"not \(1, 1, 1\)"),
        ],
    )
    def test_bad_times(self, times, message):
        with pytest.raises(InvalidInput, match=message):
            Trace(times)

    def test_more_workers_than_it_has(self):
        with pytest.raises(InvalidInput, match="has 2 workers, not 3"):
            Trace([[0.1, 0.2]]).sample(1, 3, 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ShiftedExponential(-0.1, 1),
        lambda: ShiftedExponential(0.1, 0),
        lambda: ShiftedExponential(0.1, math.inf),
        lambda: Pareto(0, 2),
        lambda: Pareto(1, math.nan),
        lambda: Bimodal(0.2, 0.1, 0.5),
        lambda: Bimodal(0.1, 0.2, 1.1),
        lambda: Bimodal(0.1, 0.2, 0.5, -1),
        lambda: Markov(0.1, 0.2, 0, 0.5),
        lambda: Markov(0.1, 0.2, 0.5, 1.5),
        lambda: Pareto("1", 2),
        lambda: Pareto(True, 2),
    ],
)
def test_bad_parameters(make):
    with pytest.raises(InvalidInput, match="it must be a finite number"):
        make()


def test_latencies_stand_beside_the_other_models_of_stragglers():
    assert stragglers.Pareto is Pareto
    assert {"ShiftedExponential", "Pareto", "Bimodal", "Markov", "Trace", "AtMost"} <= set(dir(stragglers))


class InOrder(Executor):
    """Has tasks answered in the order of their times, as soon as somebody waits for all of them."""

    def __init__(self, times):
        self.times, self.futures, self.inputs, self.awaited = times, [], [], 0

    def submit(self, function, *arguments, **_):
        self.futures.append(Awaited(self))
        self.inputs.append(arguments[-1])
        return self.futures[-1]

    def answer(self):
        for task in np.argsort(self.times):
            self.futures[task].set_result(self.inputs[task])


class Awaited(Future):
    def __init__(self, executor):
        super().__init__()
        self.executor = executor

    def add_done_callback(self, fn):
        super().add_done_callback(fn)
        self.executor.awaited += 1
        if self.executor.awaited == len(self.executor.times):
            self.executor.answer()


class TestSimulator:
    model = ShiftedExponential(0.1, 0.05)

    @pytest.mark.parametrize("wait_for", [1, 6, 8, None])
    @pytest.mark.parametrize("deadline", [None, 0.13])
    def test_is_what_a_loop_over_rounds_finds(self, wait_for, deadline):
        rounds = simulate(self.model, 300, 8, 0, wait_for=wait_for, deadline=deadline)
        for times, elapsed, received in zip(self.model.sample(300, 8, 0), rounds.elapsed, rounds.received, strict=True):
            waited = sorted(times)[(wait_for or 8) - 1]
            stopped = min(waited, deadline or math.inf)
            assert elapsed == stopped
            assert set(np.flatnonzero(received)) == {n for n in range(8) if times[n] <= stopped}

    def test_order_statistics_of_exponentials(self):
        """E of the k-th of N is shift + scale * (H_N - H_{N-k})."""
        elapsed = simulate(self.model, 100_000, 20, 0, wait_for=15).elapsed
        expected = 0.1 + 0.05 * sum(1 / i for i in range(6, 21))
        assert elapsed.mean() == pytest.approx(expected, abs=5 * elapsed.std() / math.sqrt(elapsed.size))

    def test_replicated(self):
        times = np.array([[1.0, 9, 5, 2, 3, 8]])
        assert replicated(times, 2).tolist() == [5.0]  # min(1, 2), min(9, 3), min(5, 8)
        assert replicated(times, 1).tolist() == [9.0]
        assert kth(times, 6).tolist() == [9.0]
        assert kth(times, 2).tolist() == [2.0]

    def test_many_rounds_in_parts(self):
        parts = list(batches(self.model, 50_000, 100, 0))
        assert len(parts) > 1
        assert sum(map(len, parts)) == 50_000
        assert simulate(self.model, 50_000, 100, 0, wait_for=80).elapsed.size == 50_000

    @pytest.mark.parametrize(
        "arguments", [{"wait_for": 0}, {"wait_for": 9}, {"deadline": 0}, {"deadline": -1}, {"deadline": math.nan}]
    )
    def test_bad_arguments(self, arguments):
        ((name, value),) = arguments.items()
        with pytest.raises(InvalidInput, match=f"{name} is {value}: it must be"):
            simulate(self.model, 10, 8, 0, **arguments)

    @pytest.mark.parametrize(("rounds", "num_workers"), [(0, 8), (10, 0), (10, 2.5), ("1", 8)])
    def test_bad_counts(self, rounds, num_workers):
        with pytest.raises(InvalidInput, match="must be"):
            simulate(self.model, rounds, num_workers, 0)

    @pytest.mark.parametrize("wait_for", [1, 5, 8])
    def test_is_what_coded_map_does_when_its_workers_take_those_times(self, wait_for):
        scheme, rounds = CodedScheme.letcc(3, 8), 100
        simulated = simulate(self.model, rounds, 8, 0, wait_for=wait_for)
        for times, received in zip(self.model.sample(rounds, 8, 0), simulated.received, strict=True):
            executor = InOrder(times)
            result = coded_map(lambda u: u, [0.0, 0.5, 1.0], scheme, executor, wait_for=wait_for)
            answered = sorted(float(executor.inputs[task]) for task in np.flatnonzero(received))
            assert sorted(map(float, result.outputs)) == answered


class TestDelays:
    def test_tasks_take_the_times_in_order(self, monkeypatch):
        slept = []
        monkeypatch.setattr("letcc.simulation.time.sleep", slept.append)
        with ThreadPoolExecutor(1) as thread:
            executor = DelayedExecutor(thread, [[1.0, 2.0], [3.0, 4.0]])
            assert [executor.submit(pow, 2, n).result() for n in range(5)] == [1, 2, 4, 8, 16]
            assert slept == [1, 2, 3, 4, 1]
            scheme = CodedScheme.letcc(2, 6)
            result = coded_map(np.sin, [0.1, 0.2], scheme, DelayedExecutor(thread, [[0.5] * 6]), wait_for=5)
            assert len(result.received) == 5
        assert slept[5:10] == [0.5] * 5

    @pytest.mark.parametrize("times", [[], [1.0], [[-1.0]], [[math.nan]], [[math.inf]]])
    def test_bad_times(self, times):
        with pytest.raises(InvalidInput, match="times must be"):
            DelayedExecutor(ThreadPoolExecutor(1), times)


@pytest.fixture(scope="module")
def table():
    cells = [latency.Cell("bimodal", "smooth", scheme, 0) for scheme in (*latency.SCHEMES, *latency.BASELINES)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency, "ROUNDS", 3000)
        patch.setattr(latency, "SETS", 40)
        return pd.DataFrame([row for cell in cells for row in latency.measure(cell)])


class TestProgram:
    def test_intervals_hold_their_quantiles(self, table):
        waited = table[table["rule"] == "wait for"]
        for name in latency.QUANTILES:
            assert (waited[f"{name}_low"] <= waited[name]).all()
            assert (waited[name] <= waited[f"{name}_high"]).all()
        assert (waited["p50"] < waited["p99"]).all()

    def test_coded_computing_waits_for_as_many_answers_whatever_the_code(self, table):
        times = table[(table["rule"] == "wait for") & (table["wait_for"] == 80)].set_index("scheme")["p99"]
        assert set(times.index) == set(latency.SCHEMES)
        assert times.nunique() == 1

    def test_waiting_longer_is_better(self, table):
        for scheme in ("LeTCC", "BACC", "recommended"):
            rows = table[(table["scheme"] == scheme) & (table["rule"] == "wait for")]
            assert (np.diff(rows["p50"]) > 0).all()
            assert rows["rmse"].iloc[-1] < rows["rmse"].iloc[0] / 2
            late = table[(table["scheme"] == scheme) & (table["rule"] == "deadline")]
            assert late["rmse"].iloc[-1] < late["rmse"].iloc[0]

    def test_baselines_are_exact_and_do_without_a_code(self, table):
        rows = table[table["scheme"].isin(latency.BASELINES)]
        assert (rows["rmse"] == 0).all()
        waited = rows[rows["rule"] == "wait for"].set_index("scheme")
        assert waited.loc["replicated", "p99"] < waited.loc["uncoded", "p50"]

    def test_lagrange_decodes_nothing_below_its_threshold(self, table):
        rows = table[table["scheme"] == "Lagrange"]
        assert rows["wait_for"].min() == 39
        assert rows[rows["rule"] == "deadline"]["decoded"].iloc[0] == 0

    def test_shares_have_intervals(self):
        """Wilson's interval of 8 of 10."""
        ten = np.arange(10) < 8
        expected = {"decoded": 0.8, "decoded_low": 0.49016, "decoded_high": 0.94331}
        assert latency._share(ten, 0.0) == pytest.approx(expected, abs=1e-5)
        assert latency._share(np.tile(ten, 3), 0.5) == pytest.approx(expected, abs=1e-5)  # a third are independent
        assert latency._share(np.ones(200), 0.0)["decoded_high"] == 1

    def test_agreement_is_a_joint_statement(self):
        rows = [
            {"latency": name, "wait_for": wait, "quantile": q, "within": q == "p50", "p_value": p}
            for name, wait, p in (("a", 8, 0.04), ("a", 12, 0.9), ("b", 8, 0.5), ("b", 12, 0.5))
            for q in ("p50", "p90")
        ]
        said = latency.agreement(pd.DataFrame(rows))
        assert "agree: the least of 4 p-values is 0.04, where 0.013 is" in said  # 0.05 / 4, and not 0.05
        assert "4 of 8 quantiles lie within intervals of which 0.4 are expected to miss theirs" in said
        assert "differ: the least" in latency.agreement(pd.DataFrame(rows).replace(0.04, 0.012))

    def test_cells_of_other_images_are_other_cells(self, monkeypatch, tmp_path):
        pytest.importorskip("torch")
        asked = []
        monkeypatch.setattr(latency, "run_cells", lambda function, cells, *_: asked.append(cells) or [[{"x": 0}]])
        network, images, identity = latency._lenet5(None)
        for changed in (identity, "another"):
            monkeypatch.setattr(latency, "_lenet5", lambda root, changed=changed: (network, images, changed))
            latency.measure_latency(("smooth", "LeNet5"), None, 0, 1, tmp_path)
        smooth, other = (
            [[repr(c) for c in cells if c.task == task] for cells in asked] for task in ("smooth", "LeNet5")
        )
        assert smooth[0] == smooth[1]
        assert not set(other[0]) & set(other[1])
        assert images.checksum() in identity

    def test_quantiles_cover(self):
        generator = np.random.default_rng(0)
        held = 0
        for _ in range(400):
            found = latency._quantiles(generator.standard_exponential(300), {"p90": 0.9})
            held += found["p90_low"] <= math.log(10) <= found["p90_high"]
        assert 0.91 < held / 400 < 0.98

    def test_command(self, tmp_path):
        result = CliRunner().invoke(app, ["latency", "--task", "none", "--out", str(tmp_path)])
        assert result.exit_code == 2
        assert "there are smooth, LeNet5" in result.output
