"""Every code block and command of the README and of docs/, and every example of a docstring, runs."""

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import typer
import yaml

import figures.page
import letcc

CHECKOUT = Path(__file__).parents[1]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (CHECKOUT / "README.md", *CHECKOUT.glob("docs/*.md"))}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"(python -m|letcc|tox -e|pip install) ")
MODULES = [module.name for module in pkgutil.walk_packages(letcc.__path__, "letcc.") if "cli" not in module.name]
STANDS_FOR = {"NETWORK": "lenet5", "ID": "bacc-sup", "NAME": "coded-inputs", "~/letcc-data": ".", "FOLDER": "."}
# what takes minutes, or changes the machine: its options are checked, and its work is tested elsewhere
LONG = re.compile(r"\b(pip|tox|table1|verify|train|latency|stability|import-data)\b")


def blocks(page, *languages):
    return [(language, code) for language, code in BLOCK.findall(PAGES[page]) if language in languages]


@cache
def names_of(page):
    """What the names of a page's code stand for at its end."""
    names = {}
    for language, code in blocks(page, "python", "pycon"):
        if language == "python":
            exec(code, names)
        else:
            examples = doctest.DocTestParser().get_doctest(code, names, page, page, 0)
            examine(examples)
            names |= examples.globs
    return names


def examine(examples):
    report = []
    doctest.DocTestRunner().run(examples, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def commands(page):
    """Every command of a page: the lines of its blocks, and what of it stands in the text."""
    lines = [line for _, code in blocks(page, "bash") for line in code.splitlines()]
    text = BLOCK.sub("", PAGES[page])
    lines += [code for code in re.findall(r"`([^`]+)`", text) if PROGRAM.match(code)]
    return [shlex.split(part) for line in lines for part in line.split(" && ")]


QUICK = dict.fromkeys(
    line for page in PAGES for _, code in blocks(page, "bash") for line in code.splitlines() if not LONG.search(line)
)


def check(words):
    """Raise unless a program takes these options, and values like these."""
    program, *rest = (STANDS_FOR.get(word, word) for word in words)
    program = Path(program).name
    if rest[:2] == ["-m", "letcc"]:
        program, rest = "letcc", rest[2:]
    if program == "tox":
        check_tox(rest)
    elif program == "pip":
        extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert rest[0] == "install"
        assert {*re.findall(r"\[(\w+)\]", " ".join(rest))} <= {*extras}
    elif program == "letcc":
        parse(importlib.import_module("letcc.cli.commands").app, rest)
    elif rest[1].endswith(".page"):
        assert (CHECKOUT / f"{rest[1].replace('.', '/')}.py").is_file()
        assert len(rest) == 2
    elif rest[1] != "venv":
        parse(importlib.import_module(f"{rest[1]}.__main__").app, rest[2:])


def parse(app, words):
    command = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", ()):
        command, *words = command.commands[words[0]], *words[1:]
    with suppress(typer.Exit):  # as --version does once it is read
        command.make_context("", words).close()


def check_tox(words):
    tox = ConfigParser()
    tox.read(CHECKOUT / "tox.ini")
    assert words[0] == "-e"
    (section,) = (name for name in tox if words[1] in re.split(r"[:{},]+", name)[1:])
    run = tox[section]["commands"].strip().splitlines()[-1]
    if words[2:]:
        assert words[2] == "--"
        check(shlex.split(run.rpartition(" -- ")[2].replace("{posargs}", " ".join(words[3:]))))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python", "pycon")])
def test_the_code_runs_as_printed(page):
    assert names_of(page)


@pytest.mark.parametrize("module", ["letcc", *MODULES])
def test_the_examples_of_docstrings_run(module):
    for examples in doctest.DocTestFinder().find(importlib.import_module(module)):
        examine(examples)


def test_what_people_call_first_has_an_example():
    first = letcc.CodedScheme, letcc.certify, letcc.certify_rates, letcc.coded_map, letcc.optimal_squared_bias
    for function in (*first, letcc.plan, letcc.rates.fit_exponent, letcc.simulation.simulate):
        assert doctest.DocTestParser().get_examples(function.__doc__)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_programs_take_the_commands(page):
    for words in commands(page):
        check(words)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("python -m theory --clam x", "--clam"),
        ("python -m figures --only none", "none"),
        ("tox -e verify -- --max-n 3", "--max-n"),
        ("tox -e none", "expected 1, got 0"),
        ("pip install .[none]", "none"),
        ("python -m nothing", "nothing"),
    ],
)
def test_what_no_program_takes_is_found(command, why):
    with pytest.raises(Exception, match=why):
        check(shlex.split(command))


@pytest.mark.parametrize("command", QUICK)
def test_commands_run_as_printed(command, tmp_path):
    program, *words = shlex.split(command)
    program = {"python": [], "letcc": ["-c", "import letcc.cli; letcc.cli.main()"]}[program]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(CHECKOUT)}
    finished = subprocess.run(
        [sys.executable, *program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    folder = CHECKOUT if page == "README.md" else CHECKOUT / "docs"
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", BLOCK.sub("", PAGES[page])):
        assert (folder / target).exists(), target


def test_the_readme_says_what_its_code_finds():
    names = names_of("README.md")
    assert np.abs(names["y"] - np.tanh(names["x"])).max() < 0.5
    assert names["y"].shape == (20, 3)
    assert names["certificate"].worst_pointwise_mse > 0


def test_the_commands_are_those_of_continuous_integration():
    line = "python3 -m venv .venv && .venv/bin/pip install -q tox && .venv/bin/tox -e tests\n"
    assert line in PAGES["README.md"]
    assert line in (CHECKOUT / ".ci" / "run").read_text()


def test_the_page_on_schemes_of_one_s_own_says_what_its_code_finds():
    names = names_of("your-own-scheme.md")
    ours = letcc.certify_rates(letcc.CodedScheme.letcc, **names["stragglers"])
    rows = re.findall(r"^\| (?:Floater|LeTCC).*$", PAGES["your-own-scheme.md"], flags=re.MULTILINE)
    for row, report in zip(rows, (names["report"], names["better"], ours), strict=True):
        printed = [cell.strip() for cell in row.split("|")[2:-1]]
        found = report.exponent_n.value, report.exponent_s.value, report.ratio, report.lebesgue
        for text, value in zip(printed, found, strict=True):
            assert abs(float(text) - value) <= 0.51 * 10.0 ** -len(text.partition(".")[2])
    assert names["report"].exponent_n.judge(-3.0) == "refuted"
    assert names["better"].exponent_n.judge(-3.0) == "attained"
    code = blocks("your-own-scheme.md", "python")[-1][1]
    assert len([line for line in code.splitlines() if line]) <= 20


def test_the_page_on_running_says_what_its_code_finds():
    names = names_of("running.md")
    assert np.abs(names["result"].values - np.tanh(names["x"])).max() < 0.5
    assert names["estimate"].leave_one_out < 0.1
    assert names["rounds"].elapsed.size == 10_000


def test_the_page_of_the_figures_is_that_of_the_registry():
    assert PAGES["figures.md"] == figures.page.render()


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert citation["version"] == letcc.__version__
    assert {"cff-version", "message", "title", "authors"} <= {*citation}
