"""coded_map on other people's engines: Dask, with separate worker processes, and loky."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import workers
from test_execute import GUARD, NUMBERED, NUMBERED_X, ROUNDS, SCHEME, X, decoded, wait_for_file, with_ids

from letcc import CodedScheme, coded_map, coded_stream
from letcc.exceptions import InvalidInput, TooFewReceived, WorkerFailed

SIX = CodedScheme.letcc(4, 6, points="equispaced")


@pytest.fixture(scope="module")
def loky():
    return pytest.importorskip("loky", reason="loky is not installed: pip install letcc[test]")


@pytest.fixture(scope="module")
def executor(loky):
    with loky.ProcessPoolExecutor(2) as executor:
        yield executor
        executor.shutdown(kill_workers=True)


class TestLoky:
    def test_takes_lambdas(self, executor):
        result = coded_map(lambda u: np.sin(u), X, SCHEME, executor)
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, range(12)))

    def test_loads_heavy_functions_once_in_each_process(self, executor, tmp_path):
        coded_map(workers.Weights(tmp_path), X, SCHEME, executor)
        loaded = [path.name.split("-")[1] for path in tmp_path.glob("loaded-*")]
        assert 1 <= len(loaded) == len(set(loaded))

    def test_a_killed_worker(self, loky, tmp_path):
        with loky.ProcessPoolExecutor(2) as executor:
            f = workers.Scripted(str(tmp_path), die=(6,))
            result = coded_map(f, NUMBERED_X, NUMBERED, executor, deadline=GUARD)
            assert 6 in result.late
            np.testing.assert_array_equal(result.values, decoded(NUMBERED, np.sin, NUMBERED_X, result.received))

    def test_shut_down(self, loky):
        executor = loky.ProcessPoolExecutor(1)
        executor.shutdown()
        with pytest.raises(InvalidInput, match="takes no tasks"):
            coded_map(np.sin, X, SCHEME, executor)


@pytest.fixture(scope="module")
def distributed():
    return pytest.importorskip("distributed", reason="Dask is not installed: pip install letcc[dask]")


def cluster_of(distributed, workers):
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 50}
    return distributed.LocalCluster(n_workers=workers, **options)


@pytest.fixture(scope="module")
def client(distributed):
    # workers log to the terminal of a test what they are made to suffer
    with cluster_of(distributed, 2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
class TestDask:
    def test_takes_lambdas(self, client):
        result = coded_map(lambda u: np.sin(u), X, SCHEME, client.get_executor())
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, range(12)))

    def test_computes_equal_inputs_on_every_worker(self, client):
        result = coded_map(lambda u: np.random.default_rng().normal(), np.ones(4), SCHEME, client.get_executor())
        assert len({float(output) for output in result.outputs}) == 12

    def test_failures_with_their_traceback(self, client, tmp_path):
        f = workers.Scripted(str(tmp_path), fail=(3,), nan=(7,))
        options = {"on_error": "straggler", "nonfinite": "straggler"}
        result = coded_map(f, NUMBERED_X, NUMBERED, client.get_executor(), **options)
        assert sorted(result.failed) == [3, 7]
        assert 'raise ValueError(f"no output for {worker}")' in result.failed[3].__notes__[0]
        with pytest.raises(WorkerFailed):
            coded_map(workers.fails, X, SCHEME, client.get_executor())

    def test_loads_heavy_functions_once_in_each_process(self, client, tmp_path):
        result = coded_map(workers.Weights(tmp_path), X, SCHEME, client.get_executor())
        assert len(result.received) == 12
        used = {path.name.split("-")[1] for path in tmp_path.glob("used-*")}
        # Dask may load what it has scattered once more where it moves it, but never once a task
        assert len(list(tmp_path.glob("loaded-*"))) <= 2 * max(2, len(used))

    def test_modules(self, client):
        torch = pytest.importorskip("torch")
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(3, 400), torch.nn.Tanh(), torch.nn.Linear(400, 100)).double()
        x = torch.randn(4, 3, dtype=torch.float64)
        result = coded_map(module.eval(), x, SCHEME, client.get_executor())
        torch.testing.assert_close(result.values, SCHEME.decode(module(SCHEME.encode(x))).detach())

    def test_stream(self, client):
        *_, last = coded_stream(np.sin, X, SCHEME, client.get_executor())
        assert len(last.received) == 12

    def test_late_tasks_are_forgotten(self, client, tmp_path):
        f = workers.Scripted(str(tmp_path), hold=(1, 3, 5))
        result = coded_map(f, NUMBERED_X, NUMBERED, client.get_executor(), wait_for=2)
        assert len(result.received) == 2
        (tmp_path / "go").touch()
        # the same workers take the next call
        assert len(coded_map(np.sin, X, SCHEME, client.get_executor(), deadline=GUARD).received) == 12

    def test_the_client_itself_is_no_executor(self, client):
        with pytest.raises(InvalidInput, match=r"client\.get_executor"):
            coded_map(np.sin, X, SCHEME, client)

    @pytest.mark.parametrize("round_", range(ROUNDS if ROUNDS >= 50 else 1))
    def test_two_of_six_killed_in_the_midst(self, distributed, tmp_path, round_):
        """What they computed is lost or computed again by others; the answer is what decoding what came gives."""
        # a cluster for each round, since not every process that Dask starts anew comes up
        with cluster_of(distributed, 6) as cluster, distributed.Client(cluster) as client:
            client.run(__import__, "workers")  # the deadline is for started workers
            client.run(__import__, "letcc")
            killed = round_ % 6, (round_ + 1 + round_ % 5) % 6
            f = workers.Scripted(str(tmp_path), hold=killed)
            deadline = 1.0 if ROUNDS >= 50 else 4.0  # on a busy machine it takes long until all have been started
            options = {"executor": client.get_executor(), "deadline": deadline}
            with ThreadPoolExecutor(1) as thread:
                started = time.monotonic()
                call = thread.submit(coded_map, f, with_ids(SIX), SIX, **options)
                for worker in killed:  # both hold: they are in the midst
                    os.kill(int(wait_for_file(tmp_path / f"pid-{worker}")), signal.SIGKILL)
                result = call.result(GUARD)
                assert time.monotonic() - started < deadline + GUARD / 4
            (tmp_path / "go").touch()  # those who were given the tasks of the dead go on
            assert set(result.late) >= set(killed)
            assert sorted(result.received + result.late) == list(range(6))
            expected = decoded(SIX, np.sin, with_ids(SIX), result.received)
            np.testing.assert_array_equal(result.values, expected)
            print(f"ROUND {round_} {result.received} {result.elapsed:.3f}")

    def test_all_hang(self, client, tmp_path):
        f = workers.Scripted(str(tmp_path), hold=tuple(range(12)))
        with pytest.raises(TooFewReceived):
            coded_map(f, NUMBERED_X, NUMBERED, client.get_executor(), deadline=0.3)
        (tmp_path / "go").touch()
