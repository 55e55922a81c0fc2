"""The script letcc, and what all programs have in common: help, exit codes, and a line for a user's mistake."""

import importlib.metadata
import json
import math
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import convergence.__main__
import figures.__main__
import letcc
import letcc.cli.commands
import theory.__main__
from letcc import CodedScheme
from letcc.latency import Bimodal, Trace
from letcc.rates import Exponent
from letcc.stragglers import ConsecutiveBlock
from theory.cells import run_cells

CHECKOUT = Path(__file__).parents[1]
PROGRAMS = {
    "letcc": letcc.cli.commands.app,
    "theory": theory.__main__.app,
    "convergence": convergence.__main__.app,
    "figures": figures.__main__.app,
}
COMMANDS = [
    ("letcc", "schemes"),
    ("letcc", "certify"),
    ("letcc", "plan"),
    *((name,) for name in PROGRAMS),
    *(("convergence", command.name) for command in convergence.__main__.app.registered_commands),
]
SCRIPT = "import sys; sys.argv[0] = 'letcc'; from letcc.cli import main; main()"


def run(program, *words):
    return CliRunner().invoke(PROGRAMS[program], [*map(str, words)])


def answer(*words):
    finished = run("letcc", *words, "--json")
    assert finished.exit_code == 0, finished.stderr
    return json.loads(finished.stdout)


class TestHelp:
    @pytest.mark.parametrize("words", COMMANDS, ids="-".join)
    def test_fits_a_screen_with_an_example_and_the_exit_codes(self, words):
        finished = CliRunner(env={"COLUMNS": "80"}).invoke(PROGRAMS[words[0]], [*words[1:], "--help"])
        lines = finished.stdout.splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= 80
        text = " ".join(finished.stdout.split())
        assert "For example: " in text
        assert "Exits with 0" in text
        assert "2 for bad usage" in text or "2 where" in text
        assert "--debug" in text

    def test_a_command_is_listed_by_a_whole_sentence(self):
        listed = CliRunner(env={"COLUMNS": "80"}).invoke(PROGRAMS["letcc"], ["--help"]).stdout
        assert "..." not in listed.partition("Commands:")[2]

    def test_the_same_names_everywhere(self):
        shared = {"--seed", "--jobs", "--executor", "--quick", "--out", "--json"}
        for words in (("theory",), ("convergence",), ("convergence", "verify"), ("convergence", "table1")):
            text = run(*words, "--help").stdout
            assert {name for name in shared if name not in text} == set()


class TestSchemes:
    def test_says_what_there_is(self):
        rows = {(row["kind"], row["name"]): row for row in answer("schemes", "-K", 8, "--degree", 3)}
        assert rows["scheme", "lagrange"]["min_received"] == 7 * 3 + 1
        assert rows["scheme", "letcc"]["min_received"] == 1
        assert rows["smoother", "BerrutRational"]["description"].startswith("Berrut's rational interpolant")
        assert rows["latency", "pareto"]["parameters"] == "shift, tail"
        table = " ".join(run("letcc", "schemes").stdout.split())
        assert "ConsecutiveBlock" in table
        assert "K = 20" in table

    def test_the_fewest_received_are_those_of_the_schemes(self):
        rows = {row["name"]: row.get("min_received") for row in answer("schemes", "-K", 8, "--degree", 3)}
        for name in ("letcc", "bacc", "recommended"):
            assert rows[name] == getattr(CodedScheme, name)(8, 30).min_received
        assert rows["lagrange"] == CodedScheme.lagrange(8, 30, degree=3).min_received

    def test_no_code_is_made_for_many_inputs(self):
        rows = {row["name"]: row.get("min_received") for row in answer("schemes", "-K", 10**8, "--degree", 10**8)}
        assert rows["lagrange"] == (10**8 - 1) * 10**8 + 1
        assert rows["recommended"] == 1


class TestCertify:
    @pytest.mark.parametrize(
        ("words", "scheme", "options"),
        [
            ([], CodedScheme.letcc(20, 100), {}),
            (["--noise-std", 0.1, "--smoothing", "1e-5"], CodedScheme.letcc(20, 100, decoder_smoothing=1e-5), {}),
            (["--scheme", "bacc", "-K", 7, "-N", 64], CodedScheme.bacc(7, 64), {}),
            (["--scheme", "lagrange", "--degree", 2, "-K", 4, "-N", 9], CodedScheme.lagrange(4, 9, degree=2), {}),
            (["--points", "equispaced", "-N", 50], CodedScheme.letcc(20, 50, points="equispaced"), {}),
            (["--scheme", "recommended", "--ball", "full"], CodedScheme.recommended(20, 100), {"ball": "full"}),
        ],
        ids=["letcc", "noise", "bacc", "lagrange", "equispaced", "recommended"],
    )
    def test_numbers_are_those_of_the_library(self, words, scheme, options):
        options |= {"noise_std": 0.1} if "--noise-std" in words else {}
        found = answer("certify", *words)
        expected = letcc.certify(scheme.fit(np.arange(scheme.num_data)), **options)
        assert found["worst_pointwise_mse"] == expected.worst_pointwise_mse
        assert found["worst_average_mse"] == expected.worst_average_mse
        assert found["squared_bias"] == expected.squared_bias.tolist()
        assert found["noise_gain"] == expected.noise_gain.tolist()
        assert found["received"] == list(range(scheme.num_workers))

    def test_received(self):
        found = answer("certify", "-K", 4, "-N", 20, "--received", "0,3,5-9,19")
        received = [0, 3, 5, 6, 7, 8, 9, 19]
        scheme = CodedScheme.letcc(4, 20)
        assert found["received"] == received
        assert found["worst_pointwise_mse"] == letcc.certify(scheme, received).worst_pointwise_mse
        assert found["lebesgue_constant"] == letcc.metrics.lebesgue_constant(scheme.decoding_matrix(received))

    def test_the_worst_block(self):
        found = answer("certify", "-K", 4, "-N", 20, "-S", 5)
        scheme = CodedScheme.letcc(4, 20)
        every = [letcc.certify(scheme, f).worst_pointwise_mse for f in ConsecutiveBlock(5).all(20)]
        assert found["worst_pointwise_mse"] == pytest.approx(max(every), rel=1e-12)
        assert found["least_possible_squared_bias"] == pytest.approx(max(every), rel=1e-9)  # a spline is optimal
        printed = run("letcc", "certify", "-K", 4, "-N", 20, "-S", 5).stdout
        assert f"{found['worst_pointwise_mse']:.4g}" in printed
        away = sorted({*range(20)} - {*found["received"]})
        assert f"15 of 20, without {away[0]}-{away[-1]} " in printed
        words = ("certify", "-K", 4, "-N", 20, "--received", "0,3,5-9,11-19")
        assert "without 1-2,4,10 " in run("letcc", *words).stdout

    def test_a_scheme_of_one_s_own_whose_workers_are_in_any_order(self, tmp_path, monkeypatch):
        (tmp_path / "shuffled.py").write_text(
            "import letcc, numpy as np\n"
            "def make(k, n):\n"
            "    print('noise')\n"
            "    s = letcc.CodedScheme.letcc(k, n)\n"
            "    order = np.random.default_rng(0).permutation(n)\n"
            "    return letcc.CodedScheme(s.encoder, s.decoder, s.data_points, s.worker_points[order])\n"
        )
        monkeypatch.chdir(tmp_path)
        mine = answer("certify", "--scheme", "shuffled:make", "-K", 4, "-N", 20, "-S", 5)
        ours = answer("certify", "-K", 4, "-N", 20, "-S", 5)
        assert mine["worst_pointwise_mse"] == pytest.approx(ours["worst_pointwise_mse"], rel=1e-9)

    def test_a_scheme_of_other_sizes_than_asked_is_refused(self, tmp_path, monkeypatch):
        (tmp_path / "own_sizes.py").write_text("import letcc\ndef make(k, n): return letcc.CodedScheme.letcc(4, 30)\n")
        monkeypatch.chdir(tmp_path)
        for words in (["-K", 5, "-N", 30], ["-K", 4, "-N", 31]):
            finished = run("letcc", "certify", "--scheme", "own_sizes:make", *words)
            assert finished.exit_code == 2
            assert "made a scheme of K = 4 and N = 30 where K = " in finished.stderr
        assert run("letcc", "certify", "--scheme", "own_sizes:make", "-K", 4, "-N", 30).exit_code == 0

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("import sys\nsys.exit(0)", "leaves.py, line 2: SystemExit: 0"),
            ("import sys\ndef make(k, n):\n    sys.exit('enough')", "leaves.py, line 3: SystemExit: enough"),
            ("def make(k, n):\n    raise BaseException('odd')", "leaves.py, line 2: BaseException: odd"),
            ("\n\ndef make(k, n:", "leaves.py, line 3: SyntaxError: "),
        ],
    )
    def test_a_module_that_leaves_is_named(self, tmp_path, monkeypatch, text, message):
        (tmp_path / "leaves.py").write_text(text)
        monkeypatch.chdir(tmp_path)
        monkeypatch.delitem(sys.modules, "leaves", raising=False)
        finished = run("letcc", "certify", "--scheme", "leaves:make")
        assert finished.exit_code == 2
        assert "Error: leaves:make failed in " in finished.stderr
        assert message in finished.stderr

    def test_rates(self, monkeypatch):
        small = {"workers": (16, 32, 64, 128), "stragglers": (1, 3, 5), "straggler_workers": 64}
        expected = letcc.certify_rates(CodedScheme.letcc, **small)
        monkeypatch.setattr(letcc, "certify_rates", lambda make: expected)
        rates = answer("certify", "--rates")["rates"]
        assert rates["N"]["value"] == expected.exponent_n.value
        assert rates["ratio"] == expected.ratio
        assert "exponent in N: -3" in run("letcc", "certify", "--rates").stdout

    def test_rates_are_said_plainly(self, monkeypatch):
        nothing, flat = Exponent(math.nan, math.nan, math.nan, (), ()), Exponent(-0.001, -0.002, 0.5, (), ())
        report = letcc.RateReport(nothing, flat, "full", 2.0, 1.0, [])
        monkeypatch.setattr(letcc, "certify_rates", lambda make: report)
        printed = run("letcc", "certify", "--rates").stdout.splitlines()
        assert "exponent in N: none, for there was nothing to fit" in printed
        assert "exponent in S + 1: 0.00 (0.00 .. 0.50)" in printed
        assert "ball: full, since not every straight line is reproduced" in printed


class TestPlan:
    MODEL = "bimodal:fast=1,slow=10,probability=0.1,jitter=0.1"

    def test_is_that_of_the_library(self):
        words = (
            "numpy:sin",
            "-K",
            8,
            "-N",
            30,
            "--deadline",
            3,
            "--target",
            1e-2,
            "--latency",
            self.MODEL,
            "--seed",
            1,
        )
        expected = letcc.plan(np.sin, np.linspace(-1, 1, 8), 30, Bimodal(1, 10, 0.1, 0.1), 3.0, 1e-2, seed=1)
        found = answer("plan", *words)
        names = ("num_data", "wait_for", "stragglers", "deadline", "error", "elapsed")
        assert {name: found[name] for name in names} == {name: getattr(expected, name) for name in names}
        assert found["scheme"] == expected.name
        printed = run("letcc", "plan", *words).stdout
        assert str(expected.wait_for) in printed
        assert {"deadline (seconds)", "elapsed (seconds)", "error (root mean square)"} <= {
            line.strip().partition(")")[0] + ")" for line in printed.splitlines()
        }

    def test_a_trace_and_inputs_from_files(self, tmp_path):
        times, x = np.random.default_rng(0).uniform(1, 2, (50, 30)), np.linspace(0, 1, 6)[:, None]
        np.savetxt(tmp_path / "trace.txt", times)
        np.save(tmp_path / "x.npy", x)
        found = answer(
            *("plan", "numpy:sin", "-N", 30, "--deadline", 3, "--target", 1e-2),
            *("--trace", tmp_path / "trace.txt", "--inputs", tmp_path / "x.npy"),
        )
        expected = letcc.plan(np.sin, x, 30, Trace(np.loadtxt(tmp_path / "trace.txt")), 3.0, 1e-2)
        assert (found["wait_for"], found["error"]) == (expected.wait_for, expected.error)

    def test_no_plan(self):
        finished = run("letcc", "plan", "numpy:sin", "--deadline", 0.5, "--target", 0.1, "--latency", self.MODEL)
        assert finished.exit_code == 1
        assert finished.stderr.startswith("No plan: no scheme stays below 0.1")
        assert "too few of 100 workers answer in 0.5 seconds to decode anything" in finished.stderr


ODD_NUMERALS = ("", "+3", "1_0", "\u0663", "-3", "3-", "1-2-3", "1.0", "9" * 100)
PLAN = ("plan", "numpy:sin", "--deadline", 3, "--target", 0.1)

COUNTS = (
    *(("certify", option) for option in ("-K", "-N", "-S", "--degree")),
    *(("plan", option) for option in ("-K", "-N", "--seed", "--rounds")),
    ("schemes", "-K"),
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["certify", "--smoothing", "gcv"], "decoding is not linear"),
        (["certify", "--smoothing", "gcv", "--rates"], "--smoothing gcv is chosen from the outputs"),
        (["certify", "--scheme", "numpy:pi"], "numpy:pi is no function, but 3.14"),
        (["certify", "--scheme", "letcc:CodedScheme.lagrange"], "letcc:CodedScheme.lagrange failed: TypeError: "),
        (["certify", "--smoothing", "much"], "smoothing must be a number or one of gcv, loo, not 'much'"),
        (["certify", "--scheme", "lagrang"], "did you mean lagrange?"),
        (["certify", "--scheme", "lagrange"], "lagrange needs --degree"),
        (["certify", "--scheme", "bacc", "--smoothing", "0.1"], "--smoothing is no option of bacc"),
        (["certify", "--scheme", "numpy:sin", "--degree", 1], "no options of numpy:sin"),
        (["certify", "--scheme", "numpy:hypot"], "it must make a letcc.CodedScheme"),
        (["certify", "--scheme", "recommended"], "is infinite: use --ball full"),
        (["certify", "--ball", "half"], 'ball must be "seminorm" or "full"'),
        (["certify", "--points", "chebishev"], "did you mean chebyshev"),
        (["certify", "--noise-std", -1], "noise_std is -1.0"),
        (["certify", "-S", 100], "100 stragglers leave none of 100 workers"),
        (["certify", "-S", 1, "--received", "3"], "give one of them"),
        (["certify", "--received", "0-10000000000"], "the workers are numbered from 0 to 99"),
        (["certify", "--received", "0,,2"], "give numbers and spans of them"),
        (["certify", "--received", "0,9-5"], "'9-5' in --received runs backwards: give 5-9"),
        *((["certify", "--received", f"0,{part}"], f"{part!r} in --received: give") for part in ODD_NUMERALS),
        (["certify", "-K", 0], "-K"),
        *(([*words, 10**20], f"Invalid value for '{words[-1]}'") for words in COUNTS),
        (["certfy"], "certify"),
        ([*PLAN], "either --latency or --trace"),
        ([*PLAN, "--latency", "parreto:shift=1"], "did you mean pareto"),
        ([*PLAN, "--latency", "pareto:shift=1"], "give it as pareto:shift=...,tail=..."),
        ([*PLAN, "--latency", "pareto:shift=1,tail=a"], "give it as pareto:shift=...,tail=..."),
        ([*PLAN, "--latency", "pareto"], "tail=... (without shift and tail)"),
        ([*PLAN, "--latency", "pareto:shift=1,tail"], "could not convert string to float"),
        ([*PLAN, "--latency", "pareto:shift=1,tale=2"], "there is no parameter 'tale': did you mean tail?"),
        ([*PLAN, "--latency", "pareto:shift=1,tail=2,tail=3"], "(tail is given twice)"),
        ([*PLAN, "--latency", "pareto:shift=1,tail=2", "-K", 5, "--inputs", "x.npy"], "give one of them"),
        ([*PLAN, "--latency", "pareto:shift=-1,tail=1"], "shift is -1.0"),
        ([*PLAN, "--trace", "nowhere.txt"], "nowhere.txt cannot be read"),
        ([*PLAN, "--latency", "pareto:shift=1,tail=2", "--inputs", __file__], "cannot be read as .npy"),
        ([*PLAN, "--latency", "pareto:shift=1,tail=2", "--confidence", 2], "confidence is 2.0"),
        (["plan", "numpy", *PLAN[2:], "--latency", "pareto:shift=1,tail=2"], "give package.module:function"),
    ],
    ids=lambda value: "-".join(map(str, value))[:60] if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line(words, message):
    finished = run("letcc", *words)
    assert finished.exit_code == 2
    assert finished.stdout == ""
    assert message in " ".join(finished.stderr.split())
    assert isinstance(finished.exception, SystemExit)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["theory", "--claim", "letcc-noisles"], "did you mean letcc-noiseless"),
        (["theory", "--max-n", "256"], "max_n is 256"),
        (["theory", "--max-n", str(10**20)], "Invalid value for '--max-n'"),
        (["theory", "--jobs", str(10**20)], "Invalid value for '--jobs'"),
        (["convergence", "table1", "--trials", str(10**20)], "Invalid value for '--trials'"),
        (["convergence", "latency", "--real", str(10**20)], "Invalid value for '--real'"),
        (["theory", "--executor", "thread"], "it must be processes, threads, or dask://ADDRESS"),
        (["theory", "--executor", "notdask:x"], "it must be processes, threads, or dask://ADDRESS"),
        (["theory", "--out", f"{__file__}/results"], "nothing can be written to"),
        (["theory", "--quick", "--out", f"{__file__}/results"], "nothing can be written to"),
        (["convergence", "--out", f"{__file__}/results"], "nothing can be written to"),
        (["convergence", "stability", "--scheme", "splines"], "did you mean spline"),
        (["convergence", "stability", "--out", f"{__file__}/results"], "nothing can be written to"),
        (["convergence", "latency", "--task", "smoth"], "did you mean smooth?"),
        (["convergence", "table1", "--network", "lenet"], "did you mean lenet5"),
        (["convergence", "table1", "--dataset", "cifar"], "did you mean cifar10?"),
        (["convergence", "table1", "--study", "straglers"], "did you mean stragglers"),
        (["convergence", "table1", "--out", f"{__file__}/results"], "nothing can be written to"),
        (["convergence", "train", "lenet"], "did you mean lenet5"),
        (["convergence", "--seed", "1", "verify"], "--seed must follow verify"),
        (["figures", "--only", "extremal"], "did you mean extremal-function"),
        (["figures", "--format", "bmp"], "there is no format 'bmp'"),
    ],
    ids=lambda value: "-".join(value)[:40] if isinstance(value, list) else "",
)
def test_a_mistake_in_a_checkout_is_one_line(words, message):
    finished = run(*words)
    assert finished.exit_code == 2
    assert finished.stdout == ""
    assert message in " ".join(finished.stderr.split())


@pytest.mark.parametrize(("name", "content"), [("verdicts.json", "[{"), ("verdicts.json", "3"), ("a", "")])
def test_damaged_results_are_named(tmp_path, name, content):
    if name == "a":
        (tmp_path / "extremal.parquet").write_bytes(b"PAR1 and no more")
        only, damaged = "extremal-function", "extremal.parquet"
    else:
        (tmp_path / name).write_text(content)
        only, damaged = "error-against-workers", name
    finished = run("figures", "--only", only, "--out", tmp_path)
    assert finished.exit_code == 2
    assert f"{tmp_path / damaged} is damaged" in finished.stderr


def test_debug_shows_where():
    finished = run("letcc", "certify", "--scheme", "lagrange", "--debug")
    assert finished.exit_code == 2
    assert "Traceback" in finished.stderr
    assert "commands.py" in finished.stderr


def test_a_bug_is_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(letcc, "certify", broken)
    assert isinstance(run("letcc", "certify").exception, ZeroDivisionError)


@pytest.mark.parametrize("words", [[], ["--scheme", "letcc:CodedScheme.letcc"]])
@pytest.mark.parametrize("said", [[], ["Unable to allocate 7.28 TiB"]])
def test_too_little_memory_says_what_to_do(monkeypatch, words, said):
    def large(*_, **__):
        raise MemoryError(*said)

    monkeypatch.setattr(letcc, "certify", large)
    finished = run("letcc", "certify", *words)
    assert finished.exit_code == 2
    assert "Error: not enough memory: ask for fewer inputs, workers" in finished.stderr
    assert all(f"({text})" in finished.stderr for text in said)


def test_ctrl_c(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(letcc, "certify", interrupted)
    finished = run("letcc", "certify")
    assert (finished.exit_code, finished.stderr) == (130, "Interrupted\n")


def started(code, *words):
    return subprocess.run([sys.executable, "-c", code, *words], cwd=CHECKOUT, capture_output=True, text=True)


class TestAsAProgram:
    def test_without_the_extra(self):
        for name in ("typer", "rich"):
            finished = started(f"import sys; sys.modules['{name}'] = None\n{SCRIPT}", "certify")
            assert (finished.returncode, finished.stdout) == (2, "")
            assert finished.stderr.splitlines() == [
                'letcc: the command line needs typer and rich: pip install "letcc[cli]"'
            ]

    def test_prints_the_certificate(self):
        finished = started(SCRIPT, "certify", "-K", "4", "-N", "20", "--json")
        expected = letcc.certify(CodedScheme.letcc(4, 20)).worst_pointwise_mse
        assert json.loads(finished.stdout)["worst_pointwise_mse"] == expected
        assert finished.stderr == ""

    def test_what_a_function_prints_is_no_result_by_whatever_way(self, tmp_path):
        (tmp_path / "loud.py").write_text(
            "import ctypes, os, subprocess, sys, letcc\n"
            "def make(k, n):\n"
            "    print('by Python')\n"
            "    print('past it', file=sys.__stdout__)\n"
            "    os.write(1, b'by number\\n')\n"
            "    subprocess.run(['echo', 'by another'], check=True)\n"
            "    ctypes.CDLL(None).puts(b'by C')\n"
            "    return letcc.CodedScheme.letcc(k, n)\n"
        )
        code = f"import os, sys; sys.path.insert(0, os.getcwd()); os.chdir({str(tmp_path)!r})\n{SCRIPT}"
        finished = started(code, "certify", "--scheme", "loud:make", "-K", "4", "-N", "20", "--json")
        assert json.loads(finished.stdout)["scheme"] == "loud:make"
        said = {"by Python", "past it", "by number", "by another", "by C"}
        assert set(finished.stderr.splitlines()) == said

    @pytest.mark.parametrize("words", [["-c", SCRIPT], *(["-m", name] for name in PROGRAMS)], ids="-".join)
    def test_ctrl_c_while_it_imports(self, tmp_path, words):
        (tmp_path / "scipy.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)")
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{CHECKOUT}"}
        words = [sys.executable, *words, "--help"]
        finished = subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
        assert (finished.returncode, finished.stderr) == (130, "Interrupted\n")

    def test_ctrl_c_in_programs_of_others_is_theirs(self):
        finished = started("import sys, letcc; print(sys.excepthook is sys.__excepthook__)")
        assert finished.stdout == "True\n"

    def test_as_a_module_and_its_version(self):
        words = [sys.executable, "-m", "letcc", "--version"]
        finished = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True)
        assert (finished.returncode, finished.stdout) == (0, f"letcc {letcc.__version__}\n")

    def test_no_version_where_it_is_not_installed(self, monkeypatch):
        def missing(name):
            raise importlib.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(importlib.metadata, "version", missing)
        finished = run("letcc", "--version")
        assert finished.exit_code == 2
        assert "letcc is not installed" in finished.stderr

    @pytest.mark.parametrize("program", ["letcc", "theory"])
    def test_where_signs_cannot_be_printed(self, program):
        environment = os.environ | {"PYTHONIOENCODING": "ascii"}
        words = {"letcc": ["schemes"], "theory": ["--claim", "letcc-noiseless", "--max-n", "1024", "--jobs", "1"]}
        words = [sys.executable, "-m", program, *words[program]]
        finished = subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout.isascii()
        assert "Traceback" not in finished.stderr

    @pytest.mark.parametrize("words", ["schemes", "certify --json", "--help"])
    def test_where_nothing_can_be_printed(self, words):
        command = f"{sys.executable} -m letcc {words} >&-"
        finished = subprocess.run(command, shell=True, cwd=CHECKOUT, stderr=subprocess.PIPE, text=True)
        said = "Error: standard output is closed, so that nothing can be printed: send it to /dev/null instead\n"
        assert (finished.returncode, finished.stderr) == (2, said)

    def test_a_reader_who_leaves(self):
        """As with | head."""
        read, write = os.pipe()
        os.close(read)
        words = [sys.executable, "-c", SCRIPT, "schemes"]
        finished = subprocess.run(words, cwd=CHECKOUT, stdout=write, stderr=subprocess.PIPE, text=True)
        os.close(write)
        assert finished.stderr == ""

    def test_a_bar_on_a_terminal(self):
        ours, theirs = pty.openpty()
        code = "import math; from theory.cells import run_cells; run_cells(math.factorial, list(range(20)), 1, 'going')"
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
        finished = subprocess.run(
            [sys.executable, "-c", code], cwd=CHECKOUT, stderr=theirs, stdout=subprocess.PIPE, env=environment
        )
        os.close(theirs)
        shown = os.read(ours, 1 << 16).decode()
        os.close(ours)
        assert finished.stdout == b""
        assert "━" in shown
        assert "20/20" in shown

    def test_lines_on_a_pipe(self, capsys):
        run_cells(abs, list(range(20)), 1, "going")
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "━" not in shown.err
        assert shown.err.splitlines()[-1] == "going: 20/20"


@pytest.mark.parametrize("quick", [False, True])
def test_quick_is_recorded(quick):
    words = ["theory", "--claim", "bacc-sup", "--json", "--jobs", 1, "--max-n", 1024, *(["--quick"] if quick else [])]
    (row,) = json.loads(run(*words).stdout)
    assert row["provenance"]["spec"]["quick"] is quick
    assert row["provenance"]["spec"]["max_n"] == 1024


def test_quick_measures_fewer_cells_and_sets():
    from convergence.measurement import QUICK_SCOPE, QUICK_SETS, RANDOM_SETS, SCOPE, _cells
    from theory.claims import CLAIMS
    from theory.evidence import WorstBlocks

    claims = [claim for claim in CLAIMS if isinstance(claim.evidence, WorstBlocks)]
    whole, quick = (_cells(claims, 0, scope) for scope in (SCOPE, QUICK_SCOPE))
    assert {cell.sets for cell in whole} == {RANDOM_SETS}
    assert {cell.sets for cell in quick} == {QUICK_SETS}
    assert max(cell.num_workers for cell in quick) == 512
    assert {(c.setup, c.sweep) for c in quick} < {(c.setup, c.sweep) for c in whole}
