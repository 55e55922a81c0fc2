"""coded_map on threads and processes. Workers are driven by events and files; only hang guards look at a clock."""

import asyncio
import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import workers

import letcc
from letcc import CodedScheme, coded_map, coded_stream
from letcc._pool import OwnPool
from letcc.exceptions import InvalidInput, LetccError, NonFiniteValues, PoolNotStarted, TooFewReceived, WorkerFailed

ROUNDS = int(os.environ.get("LETCC_ROUNDS", "4"))  # of what must never go wrong; 50 is what the project promises
GUARD = 60
SCHEME = CodedScheme.letcc(4, 12)
X = np.array([0.1, 0.2, 0.4, 0.3])
CHECKOUT = Path(__file__).parents[1]


class ByHand(Executor):
    """An executor whose workers answer when the test says so."""

    def __init__(self):
        self.tasks = []
        self.down = False

    def submit(self, function, *arguments, **_):
        if self.down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = Future()
        self.tasks.append((future, function, arguments))
        return future

    def answer(self, task):
        future, function, arguments = self.tasks[task]
        future.set_result(function(*arguments))


class AtOnce(ByHand):
    """Answers before it returns, except the tasks that it drops."""

    def __init__(self, dropped=()):
        super().__init__()
        self.dropped = dropped

    def submit(self, function, *arguments, **_):
        future = super().submit(function, *arguments)
        if len(self.tasks) - 1 not in self.dropped:
            self.answer(len(self.tasks) - 1)
        return future


def with_ids(scheme):
    """Data (value, worker) and a scheme, such that coded inputs tell the worker: see `workers.Scripted`."""
    # the worker's number is a straight line in the worker points where these are equispaced
    place = (scheme.data_points + 1) / 2 * (scheme.num_workers - 1)
    return np.stack([X, place], axis=1)


NUMBERED = CodedScheme.letcc(4, 12, points="equispaced")
NUMBERED_X = with_ids(NUMBERED)


def decoded(scheme, f, x, received):
    outputs = np.array([f(u) for u in scheme.encode(x)[received]])
    return scheme.decode(outputs, received)


def test_coded_inputs_tell_the_worker():
    np.testing.assert_allclose(NUMBERED.encode(NUMBERED_X)[:, 1], np.arange(12), atol=1e-9)


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


class TestResult:
    def test_own_processes(self):
        result = coded_map(np.sin, X, SCHEME)
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, range(12)))
        assert (result.received, result.late, dict(result.failed)) == (list(range(12)), [], {})
        assert result.elapsed > 0
        assert not own_processes()

    def test_threads_take_what_cannot_be_pickled(self):
        with ThreadPoolExecutor(3) as threads:
            result = coded_map(lambda u: np.sin(u), X, SCHEME, threads)
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, range(12)))

    def test_processes(self, processes):
        result = coded_map(np.sin, X, SCHEME, processes)
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, range(12)))
        pids = coded_map(workers.process_id, X, SCHEME, processes).outputs
        assert os.getpid() not in pids

    def test_stops_at_wait_for_and_calls_the_rest_off(self):
        executor = AtOnce(dropped=(1, 3, 8))
        result = coded_map(np.sin, X, SCHEME, executor, wait_for=9)
        assert len(result.received) == 9
        assert sorted(result.received + result.late) == list(range(12))
        assert all(executor.tasks[task][0].cancelled() for task in executor.dropped)
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, result.received))

    def test_no_more_than_wait_for_although_all_have_answered(self):
        assert len(coded_map(np.sin, X, SCHEME, AtOnce(), wait_for=5).received) == 5

    def test_first_tasks_are_spread_over_the_worker_points(self):
        scheme = CodedScheme(SCHEME.encoder, SCHEME.decoder, SCHEME.data_points, np.linspace(1, -1, 65))
        for waited in (5, 9, 17, 33):
            received = coded_map(np.sin, X, scheme, AtOnce(), wait_for=waited).received
            gaps = np.diff(np.sort(scheme.worker_points[received]))
            assert {scheme.worker_points[n] for n in received} >= {-1, 1}
            assert gaps.max() <= 2 * gaps.min()

    def test_arrival_order_does_not_change_a_bit(self):
        executor = ByHand()
        stream = coded_stream(np.sin, X, SCHEME, executor)
        thread = threading.Thread(target=lambda: answers(executor, range(11, -1, -1)))
        thread.start()
        *_, last = stream
        thread.join()
        np.testing.assert_array_equal(last.values, coded_map(np.sin, X, SCHEME, AtOnce()).values)

    def test_any_trailing_shape_and_complex_outputs(self):
        x = np.random.default_rng(0).normal(size=(4, 2, 3))
        result = coded_map(lambda u: np.exp(1j * u).sum(axis=0), x, SCHEME, AtOnce())
        assert result.values.shape == (4, 3)
        assert result.values.dtype == complex
        assert result.error_bound.shape == (4,)

    def test_python_numbers(self):
        assert coded_map(lambda u: float(u) ** 2, [1, 2, 3, 4], SCHEME, AtOnce()).values.shape == (4,)

    def test_an_adaptive_scheme_is_fitted(self):
        adaptive = CodedScheme.recommended(4, 12)
        result = coded_map(np.sin, X, adaptive, AtOnce())
        assert result.scheme == adaptive.fit(X)
        assert np.abs(result.values - np.sin(X)).max() < 1e-2

    def test_equal_inputs_are_computed_by_every_worker(self):
        calls = []
        coded_map(lambda u: calls.append(u) or 0.0, np.ones(4), SCHEME, AtOnce())
        assert len(calls) == 12


def answers(executor, order):
    while len(executor.tasks) < len(order):
        time.sleep(0.001)
    for task in order:
        executor.answer(task)


class TestStream:
    def test_estimates_improve_as_outputs_arrive(self):
        executor = ByHand()
        stream = coded_stream(np.sin, X, SCHEME, executor)
        errors = []
        threading.Thread(target=answers, args=(executor, range(12))).start()
        for estimate in stream:
            assert estimate.received == sorted(estimate.received)
            np.testing.assert_array_equal(estimate.values, decoded(SCHEME, np.sin, X, estimate.received))
            errors.append(np.abs(estimate.values - np.sin(X)).max())
        assert errors[-1] < 1e-3
        assert errors[-1] == min(errors)

    def test_leaving_the_loop_calls_the_rest_off(self):
        executor = ByHand()
        stream = coded_stream(np.sin, X, SCHEME, executor)
        threading.Thread(target=answers, args=(executor, range(1))).start()
        with contextlib.closing(stream):
            first = next(stream)
        assert len(first.received) == 1
        assert all(future.cancelled() for future, *_ in executor.tasks[1:])

    def test_arguments_are_checked_before_the_first_step(self):
        with pytest.raises(InvalidInput):
            coded_stream(np.sin, X, SCHEME, wait_for=0)

    def test_a_busy_caller_is_shown_all_that_has_arrived(self):
        executor = ByHand()
        stream = coded_stream(np.sin, X, SCHEME, executor)
        threading.Thread(target=answers, args=(executor, range(1))).start()
        next(stream)
        for task in range(1, 7):
            executor.answer(task)
        assert len(next(stream).received) == 7
        stream.close()

    def test_an_abandoned_stream_does_not_keep_the_interpreter(self, tmp_path):
        finished = script(
            """
            stream = letcc.coded_stream(workers.Scripted(folder, hold=tuple(range(1, 12))), X, SCHEME)
            print(next(stream).received)
            """,
            tmp_path,
        )
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout.split() == ["[0]"]


class TestAsync:
    def test_is_coded_map(self):
        result = asyncio.run(letcc.acoded_map(np.sin, X, SCHEME, AtOnce(), wait_for=7))
        assert len(result.received) == 7

    def test_the_loop_goes_on_meanwhile(self):
        executor = ByHand()

        async def main():
            waiting = asyncio.create_task(letcc.acoded_map(np.sin, X, SCHEME, executor))
            while len(executor.tasks) < 12:
                await asyncio.sleep(0.001)
            for task in range(12):
                executor.answer(task)
            return await waiting

        assert len(asyncio.run(main()).received) == 12

    def test_cancelling_calls_the_work_off(self):
        executor = ByHand()

        async def main():
            waiting = asyncio.create_task(letcc.acoded_map(np.sin, X, SCHEME, executor))
            while len(executor.tasks) < 12:
                await asyncio.sleep(0.001)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

        asyncio.run(main())  # which waits for the thread
        assert all(future.cancelled() for future, *_ in executor.tasks)

    def test_bad_arguments(self):
        with pytest.raises(InvalidInput, match="deadline is 0"):
            asyncio.run(letcc.acoded_map(np.sin, X, SCHEME, AtOnce(), deadline=0))


class TestDeadline:
    def test_decodes_what_is_there(self):
        executor = AtOnce(dropped=(2, 3))
        result = coded_map(np.sin, X, SCHEME, executor, deadline=0.05)
        assert len(result.received) == 10
        assert len(result.late) == 2
        assert 0.05 <= result.elapsed < 0.5 + GUARD
        np.testing.assert_array_equal(result.values, decoded(SCHEME, np.sin, X, result.received))

    def test_too_few_brings_what_there_is(self):
        lagrange = CodedScheme.lagrange(4, 12, degree=2)
        executor = AtOnce(dropped=range(3, 12))
        with pytest.raises(TooFewReceived, match=r"3 of 12 workers answered .* 9 were late.* at least 7") as caught:
            coded_map(np.square, X, lagrange, executor, deadline=0.05)
        assert len(caught.value.outputs) == 3
        for worker, output in caught.value.outputs.items():
            assert output == np.square(lagrange.encode(X)[worker])

    def test_all_hang_in_processes_of_the_call(self):
        started = time.monotonic()
        with pytest.raises(TooFewReceived):
            coded_map(workers.stuck, X, SCHEME, deadline=0.2)
        assert time.monotonic() - started < GUARD / 2  # of which starting the processes is most
        assert not own_processes()

    def test_the_interpreter_exits_after_all_have_hung(self, tmp_path):
        finished = script(
            """
            try:
                letcc.coded_map(workers.stuck, X, SCHEME, deadline=0.2)
            except letcc.exceptions.TooFewReceived:
                print("too few", time.monotonic())
            """,
            tmp_path,
        )
        assert finished.returncode == 0, finished.stderr
        *words, returned = finished.stdout.split()
        assert words == ["too", "few"]
        assert time.monotonic() - float(returned) < 10 * 2  # ten times what is promised
        assert finished.stderr == ""

    def test_late_answers_are_ignored(self):
        executor = AtOnce(dropped=(5,))
        result = coded_map(np.sin, X, SCHEME, executor, deadline=0.05)
        before = result.values.copy()
        assert executor.tasks[5][0].cancelled()
        assert len(result.received) == 11
        np.testing.assert_array_equal(result.values, before)


def script(code, folder):
    """Run code as a script that starts processes."""
    lines = [line.removeprefix(" " * 12) for line in code.splitlines()]
    path = folder / "script.py"
    path.write_text(
        "import sys, time\nimport numpy as np\n"
        f"sys.path[:0] = [{str(CHECKOUT)!r}, {str(CHECKOUT / 'tests')!r}]\n"
        "import letcc, workers\n"
        f"folder = {str(folder)!r}\n"
        'SCHEME = letcc.CodedScheme.letcc(4, 12, points="equispaced")\n'
        "X = np.stack([[0.1, 0.2, 0.4, 0.3], (SCHEME.data_points + 1) / 2 * 11], axis=1)\n"
        'if __name__ == "__main__":\n' + "".join(f"    {line}\n" for line in lines)
    )
    return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=GUARD, check=False)


class TestFailures:
    def test_raised_from_the_original_exception(self):
        with pytest.raises(WorkerFailed, match=r"worker \d+: KeyError\('spoiled'\)") as caught:
            coded_map(workers.fails, X, SCHEME, AtOnce())
        assert isinstance(caught.value.__cause__, KeyError)
        assert isinstance(caught.value.worker, int)
        assert isinstance(caught.value, LetccError)

    @pytest.mark.parametrize("where", ["own", "processes", "by hand"])
    def test_as_stragglers_with_the_traceback(self, where, processes, tmp_path):
        executor = {"own": None, "processes": processes, "by hand": AtOnce()}[where]
        f = workers.Scripted(str(tmp_path), fail=(3, 5), nan=(7,))
        result = coded_map(f, NUMBERED_X, NUMBERED, executor, on_error="straggler", nonfinite="straggler")
        assert result.received == [0, 1, 2, 4, 6, 8, 9, 10, 11]
        assert result.late == []
        assert sorted(result.failed) == [3, 5, 7]
        text = "".join(traceback.format_exception(result.failed[3]))
        assert 'raise ValueError(f"no output for {worker}")' in text
        assert "ValueError: no output for 3" in text
        assert isinstance(result.failed[7], NonFiniteValues)
        np.testing.assert_array_equal(result.values, decoded(NUMBERED, np.sin, NUMBERED_X, result.received))

    def test_all_fail(self):
        with pytest.raises(WorkerFailed, match="all 12 workers"):
            coded_map(workers.fails, X, SCHEME, AtOnce(), on_error="straggler")

    def test_all_but_one_fail_and_that_is_too_few(self, tmp_path):
        lagrange = CodedScheme.lagrange(4, 12, degree=1, points="equispaced")
        f = workers.Scripted(str(tmp_path), fail=tuple(range(11)))
        with pytest.raises(TooFewReceived, match="11 failed") as caught:
            coded_map(f, with_ids(lagrange), lagrange, AtOnce(), on_error="straggler")
        assert sorted(caught.value.failed) == list(range(11))
        assert isinstance(caught.value.__cause__, ValueError)

    def test_nonfinite_names_the_worker(self, tmp_path):
        f = workers.Scripted(str(tmp_path), nan=(7,))
        with pytest.raises(NonFiniteValues, match="worker 7 returned NaN"):
            coded_map(f, NUMBERED_X, NUMBERED, AtOnce())

    @pytest.mark.parametrize("f", [workers.exits, workers.fails_oddly, workers.unpicklable])
    def test_what_hardly_comes_back_from_a_process(self, f):
        with pytest.raises(WorkerFailed):
            coded_map(f, X, SCHEME)

    def test_exceptions_that_cannot_be_unpickled_are_told(self):
        with pytest.raises(WorkerFailed, match="Odd: this and that"):
            coded_map(workers.fails_oddly, X, SCHEME)

    @pytest.mark.parametrize("output", ["a", None, {}, object()])
    def test_outputs_that_are_no_numbers(self, output):
        with pytest.raises(InvalidInput, match="must return an array of numbers"):
            coded_map(lambda u: output, X, SCHEME, AtOnce())

    def test_outputs_of_different_shapes(self):
        shapes = iter(range(1, 13))
        with pytest.raises(InvalidInput, match="one"):
            coded_map(lambda u: np.zeros(next(shapes)), X, SCHEME, AtOnce())


def file_descriptors():
    return len(os.listdir("/proc/self/fd"))


def zombies():
    status = [Path(f"/proc/{pid}/stat") for pid in os.listdir("/proc") if pid.isdigit()]
    found = []
    for path in status:
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state == "Z":
                found.append(path)
    return found


def semaphores():
    """Mapped by this process: multiprocessing takes the name of each away as soon as it has it."""
    return sum("/sem." in line for line in Path("/proc/self/maps").read_text().splitlines())


def own_processes():
    return [process for process in multiprocessing.active_children() if process.name == "letcc-worker"]


def leaks():
    gc.collect()
    children = len(multiprocessing.active_children())
    return file_descriptors(), threading.active_count(), children, len(zombies()), semaphores()


def assert_no_more_leaks(before):
    """Threads and children that are ending may take a while on a busy machine, but nothing may stay."""
    ended = time.monotonic() + GUARD / 4
    while any(now > then for now, then in zip(leaks(), before, strict=True)) and time.monotonic() < ended:
        time.sleep(0.05)
    assert all(now <= then for now, then in zip(leaks(), before, strict=True)), (leaks(), before)


def test_leaks_are_seen():
    before = leaks()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(abs, 1).result()
        descriptors, threads, children, _, held = (now - then for now, then in zip(leaks(), before, strict=True))
        assert min(descriptors, threads, children, held) > 0
    del pool
    assert_no_more_leaks(before)


class TestDeaths:
    def test_a_killed_process_of_the_call_is_one_straggler(self, tmp_path):
        coded_map(np.sin, X, SCHEME)  # starts what the interpreter keeps for its life
        before = leaks()
        for round_ in range(ROUNDS):
            folder = tmp_path / str(round_)
            folder.mkdir()
            f = workers.Scripted(str(folder), die=(round_ % 12, (round_ + 5) % 12))
            result = coded_map(f, NUMBERED_X, NUMBERED, deadline=GUARD)
            assert result.late == sorted(f.die)
            np.testing.assert_array_equal(result.values, decoded(NUMBERED, np.sin, NUMBERED_X, result.received))
        assert_no_more_leaks(before)

    def test_all_die(self, tmp_path):
        f = workers.Scripted(str(tmp_path), die=tuple(range(12)))
        with pytest.raises(TooFewReceived, match="12 died"):
            coded_map(f, NUMBERED_X, NUMBERED, deadline=GUARD)

    def test_a_broken_standard_pool(self, tmp_path):
        """It breaks as a whole: what had been received is decoded, or there is too little."""
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            pool.submit(abs, 1).result()
        before = leaks()
        for round_ in range(ROUNDS):
            folder = tmp_path / str(round_)
            folder.mkdir()
            with ProcessPoolExecutor(2, mp_context=spawn) as pool:
                f = workers.Scripted(str(folder), die=(6,))  # in the midst of the order in which tasks are given
                result = coded_map(f, NUMBERED_X, NUMBERED, pool, deadline=GUARD)
                assert 6 in result.late
                assert result.received
                np.testing.assert_array_equal(result.values, decoded(NUMBERED, np.sin, NUMBERED_X, result.received))
                with pytest.raises(InvalidInput, match="takes no tasks"):
                    coded_map(f, NUMBERED_X, NUMBERED, pool)
        assert_no_more_leaks(before)

    def test_a_pool_that_breaks_at_once(self, tmp_path):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            f = workers.Scripted(str(tmp_path), die=tuple(range(12)))
            with pytest.raises(TooFewReceived, match="12 died"):
                coded_map(f, NUMBERED_X, NUMBERED, pool, deadline=GUARD)

    def test_killed_from_outside_while_it_computes(self, tmp_path):
        f = workers.Scripted(str(tmp_path), hold=(11,))  # the first to be given out
        result = []
        thread = threading.Thread(target=lambda: result.append(coded_map(f, NUMBERED_X, NUMBERED, deadline=GUARD)))
        thread.start()
        pid = wait_for_file(tmp_path / "pid-11")
        os.kill(int(pid), signal.SIGKILL)
        thread.join(GUARD)
        assert result[0].late == [11]

    def test_workers_end_with_a_killed_parent(self, tmp_path):
        code = f"""
import sys
sys.path[:0] = [{str(CHECKOUT)!r}, {str(CHECKOUT / "tests")!r}]
import test_execute, workers, letcc
if __name__ == "__main__":
    f = workers.Scripted({str(tmp_path)!r}, hold=tuple(range(12)))
    letcc.coded_map(f, test_execute.NUMBERED_X, test_execute.NUMBERED)
"""
        path = tmp_path / "script.py"
        path.write_text(code)
        with subprocess.Popen([sys.executable, path]) as parent:
            worker = int(wait_for_file(tmp_path / "pid-11"))
            parent.kill()
        ended = time.monotonic() + GUARD
        while is_running(worker) and time.monotonic() < ended:
            time.sleep(0.01)
        assert not is_running(worker)


def is_running(pid):
    """Not so if it is only left for the machine's first process to reap."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_for_file(path):
    ended = time.monotonic() + GUARD
    while not (path.exists() and path.read_text()) and time.monotonic() < ended:
        time.sleep(0.005)
    return path.read_text()


class TestHeavyFunctions:
    @pytest.mark.parametrize("where", ["own", "processes"])
    def test_are_loaded_once_in_each_process(self, where, processes, tmp_path):
        result = coded_map(workers.Weights(tmp_path), X, SCHEME, None if where == "own" else processes)
        np.testing.assert_array_equal(result.values, decoded(SCHEME, lambda u: 1.0 * u, X, range(12)))
        used = {path.name.split("-")[1] for path in tmp_path.glob("used-*")}
        loaded = sorted(path.name.split("-")[1] for path in tmp_path.glob("loaded-*"))
        assert used <= set(loaded)
        assert len(loaded) == len(set(loaded))

    def test_threads_share_it(self, tmp_path):
        with ThreadPoolExecutor(2) as threads:
            coded_map(workers.Weights(tmp_path), X, SCHEME, threads)
        assert not list(tmp_path.glob("loaded-*"))


@pytest.fixture
def module(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh()).eval().double()


class TestModules:
    def test_threads(self, torch, module):
        x = torch.randn(4, 3, dtype=torch.float64)
        with ThreadPoolExecutor(2) as threads:
            result = coded_map(module, x, SCHEME, threads)
        expected = SCHEME.decode(module(SCHEME.encode(x)))
        torch.testing.assert_close(result.values, expected)
        assert result.values.requires_grad
        assert result.error_bound.shape == (4,)

    def test_no_gradient_where_the_caller_wants_none(self, torch, module):
        x = torch.randn(4, 3, dtype=torch.float64)
        with ThreadPoolExecutor(2) as threads, torch.no_grad():
            assert not coded_map(module, x, SCHEME, threads).values.requires_grad

    def test_processes(self, torch, module, processes):
        x = torch.randn(4, 3, dtype=torch.float64)
        expected = SCHEME.decode(module(SCHEME.encode(x)))
        for executor in (None, processes):
            result = coded_map(module, x, SCHEME, executor)
            torch.testing.assert_close(result.values, expected.detach())
            assert not result.values.requires_grad

    def test_train_mode_is_refused_and_left_as_it_is(self, torch, module):
        module[1].train()
        with pytest.raises(InvalidInput, match=r"train mode \(1\)"):
            coded_map(module, torch.zeros(4, 3), SCHEME, AtOnce())
        assert module[1].training
        assert not module.training

    def test_numpy_inputs_are_refused(self, module):
        with pytest.raises(InvalidInput, match="torch module takes tensors"):
            coded_map(module, np.zeros((4, 3)), SCHEME, AtOnce())

    def test_outputs_that_are_no_tensor(self, torch):
        class Two(torch.nn.Module):
            def forward(self, u):
                return u, u

        with pytest.raises(WorkerFailed, match="must return one tensor with the batch axis"):
            coded_map(Two().eval(), torch.zeros(4, 3), SCHEME, AtOnce())

    def test_only_its_own_input_is_sent_to_a_worker(self, torch):
        executor = AtOnce()
        coded_map(torch.sin, torch.zeros(4, 1000), SCHEME, executor)
        argument = executor.tasks[0][2][-1]
        assert argument.untyped_storage().nbytes() == 4000


class TestErrorBound:
    @pytest.mark.parametrize(
        "scheme",
        [
            CodedScheme.letcc(8, 40),
            CodedScheme.letcc(8, 40, decoder_smoothing="gcv"),
            CodedScheme.bacc(8, 41),
            CodedScheme.recommended(8, 40),
        ],
        ids=["letcc", "gcv", "bacc", "recommended"],
    )
    @pytest.mark.parametrize("f", [np.sin, lambda u: np.exp(-(u**2)), lambda u: np.stack([u, np.tanh(3 * u)])])
    def test_covers_what_the_workers_resolve(self, scheme, f):
        x = np.linspace(-1, 1, 8)
        for lost in ((), (4, 20), (10, 11, 12)):
            executor = AtOnce(dropped=lost)
            result = coded_map(f, x, scheme, executor, wait_for=scheme.num_workers - len(lost))
            truth = np.array([f(value) for value in x])
            errors = np.sqrt(((result.values - truth) ** 2).reshape(8, -1).mean(axis=1))
            assert (errors <= result.error_bound + 1e-12).all()

    def test_is_exact_for_the_function_that_attains_it(self):
        """The least rough function through its own extremal's values is that function, but for what workers miss."""
        scheme = CodedScheme.letcc(5, 400)
        received = [n for n in range(400) if n % 40]
        extremal = letcc.certify(CodedScheme.letcc(5, 40), None).extremal
        outputs = extremal(scheme.worker_points[received])
        result = letcc.CodedResult(scheme, list(outputs), received, {}, 0.0)
        certificate = letcc.certify(scheme, received)
        # the unit ball: int g''^2 = 1 for the extremal function
        np.testing.assert_allclose(result.error_bound, np.sqrt(certificate.squared_bias), rtol=2e-2)

    def test_scales_with_the_outputs(self):
        small, large = (coded_map(lambda u, s=s: s * np.sin(u), X, SCHEME, AtOnce()) for s in (1, 100))
        np.testing.assert_allclose(large.error_bound, 100 * small.error_bound)
        np.testing.assert_allclose(large.leave_one_out, 100 * small.leave_one_out)

    def test_lines_have_no_error(self):
        result = coded_map(lambda u: 3 * u + 1, SCHEME.data_points, SCHEME, AtOnce())
        assert result.error_bound.max() < 1e-12
        assert result.leave_one_out < 1e-12

    def test_leave_one_out_is_what_it_says(self):
        result = coded_map(np.sin, 3 * SCHEME.data_points, SCHEME, AtOnce())
        points, outputs = SCHEME.worker_points, np.array(result.outputs)
        errors = []
        for n in range(1, 11):
            others = np.delete(np.arange(12), n)
            errors.append(SCHEME.decoder.operator(points[others], points[[n]]) @ outputs[others] - outputs[n])
        np.testing.assert_allclose(result.leave_one_out, np.sqrt(np.mean(np.square(errors))))

    def test_two_workers_tell_nothing(self):
        result = coded_map(np.sin, X, SCHEME, AtOnce(), wait_for=2)
        assert np.isinf(result.error_bound).all()
        assert result.leave_one_out == np.inf


class TestBadInput:
    """All of it is said before anything is submitted."""

    @pytest.fixture
    def executor(self):
        executor = ByHand()
        yield executor
        assert executor.tasks == []

    @pytest.mark.parametrize("wait_for", [0, -1, 13, 2.5, "3", True])
    def test_wait_for(self, executor, wait_for):
        with pytest.raises(InvalidInput, match="wait_for"):
            coded_map(np.sin, X, SCHEME, executor, wait_for=wait_for)

    def test_wait_for_too_few_to_decode(self, executor):
        with pytest.raises(InvalidInput, match="decodes from 7 to 12"):
            coded_map(np.sin, X, CodedScheme.lagrange(4, 12, degree=2), executor, wait_for=6)

    @pytest.mark.parametrize("deadline", [0, -1.0, float("nan"), float("inf"), "1", True])
    def test_deadline(self, executor, deadline):
        with pytest.raises(InvalidInput, match="deadline"):
            coded_map(np.sin, X, SCHEME, executor, deadline=deadline)

    @pytest.mark.parametrize("name", ["on_error", "nonfinite"])
    def test_policies(self, executor, name):
        with pytest.raises(InvalidInput, match=f'{name} must be "raise" or "straggler", not \'ignore\''):
            coded_map(np.sin, X, SCHEME, executor, **{name: "ignore"})

    def test_f(self, executor):
        with pytest.raises(InvalidInput, match="f must be a function"):
            coded_map(3, X, SCHEME, executor)

    def test_scheme(self, executor):
        with pytest.raises(InvalidInput, match="scheme must be a CodedScheme"):
            coded_map(np.sin, X, np.sin, executor)

    @pytest.mark.parametrize(
        ("x", "message"),
        [(np.zeros(5), "4 .*5"), (np.zeros((3, 4)), "4 .*3"), (1.0, "4 "), (["a"] * 4, "number")],
    )
    @pytest.mark.parametrize("scheme", [SCHEME, CodedScheme.recommended(4, 12)], ids=["fixed", "adaptive"])
    def test_x(self, executor, x, message, scheme):
        with pytest.raises(InvalidInput, match=message):
            coded_map(np.sin, x, scheme, executor)

    def test_nonfinite_x(self, executor):
        with pytest.raises(NonFiniteValues):
            coded_map(np.sin, [0, 1, np.nan, 3], SCHEME, executor)

    @pytest.mark.parametrize("executor", [3, "threads", multiprocessing])
    def test_executors_of_the_wrong_type(self, executor):
        with pytest.raises(InvalidInput, match=r"executor must be a concurrent.futures.Executor"):
            coded_map(np.sin, X, SCHEME, executor)

    @pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor, ByHand])
    def test_executors_that_are_shut_down(self, make):
        executor = make()
        executor.down = True
        executor.shutdown()
        with pytest.raises(InvalidInput, match="takes no tasks"):
            coded_map(np.sin, X, SCHEME, executor)

    def test_functions_that_cannot_be_pickled(self, processes):
        for executor in (None, processes):
            with pytest.raises(InvalidInput, match="cannot be sent to another process"):
                coded_map(lambda u: u, X, SCHEME, executor)


class TestOwnPool:
    def test_an_unguarded_script_is_told_what_to_do(self, tmp_path):
        path = tmp_path / "unguarded.py"
        path.write_text(
            f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\nimport numpy as np, letcc\n"
            "letcc.coded_map(np.sin, [1, 2, 3, 4], letcc.CodedScheme.letcc(4, 9))\n"
        )
        finished = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=GUARD, check=False)
        assert finished.returncode == 1
        assert 'must do so under if __name__ == "__main__"' in finished.stderr

    def test_functions_of_a_prompt_are_told_what_to_do(self):
        code = f"""
import sys
sys.path.insert(0, {str(CHECKOUT)!r})
import letcc
def f(u):
    return u
letcc.coded_map(f, [1, 2, 3, 4], letcc.CodedScheme.letcc(4, 9))
"""
        command = [sys.executable, "-c", code]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=False)
        assert finished.returncode == 1
        assert "f cannot be loaded in a worker process" in finished.stderr

    def test_nothing_is_left_of_it(self):
        with OwnPool(b"cnumpy\nsin\n.", 1):
            pass
        before = leaks()
        pool = OwnPool(b"cnumpy\nsin\n.", 2)
        assert pool.submit(0.0).result(GUARD) == 0
        alive = weakref.ref(pool)
        pool.close()
        del pool
        assert_no_more_leaks(before)
        assert alive() is None

    def test_a_function_that_cannot_be_loaded_leaves_nothing(self):
        before = leaks()
        with pytest.raises(InvalidInput, match="cannot be loaded"):
            OwnPool(b"cnumpy\nno_such_function\n.", 2)
        assert_no_more_leaks(before)

    def test_processes_that_end_while_they_start(self, monkeypatch):
        before = leaks()
        monkeypatch.setattr("letcc._pool._START", 1e-3)
        with pytest.raises(PoolNotStarted):
            OwnPool(b"cnumpy\nsin\n.", 2)
        assert_no_more_leaks(before)
