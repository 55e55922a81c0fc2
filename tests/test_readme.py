import re
from pathlib import Path

import numpy as np

import letcc

CHECKOUT = Path(__file__).parents[1]
README = (CHECKOUT / "README.md").read_text()
OWN_SCHEME = (CHECKOUT / "docs" / "your-own-scheme.md").read_text()


def run_code_of(page):
    """What the names of a page's code stand for at its end."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(block, names)
    return names


def test_the_code_runs_as_printed():
    names = run_code_of(README)
    assert np.abs(names["y"] - np.tanh(names["x"])).max() < 0.5
    assert names["y"].shape == (20, 3)
    assert names["certificate"].worst_pointwise_mse > 0
    assert names["mine"].num_workers == 100


def test_the_commands_are_those_of_continuous_integration():
    line = "python3 -m venv .venv && .venv/bin/pip install -q tox && .venv/bin/tox -e tests\n"
    assert line in README
    assert line in (CHECKOUT / ".ci" / "run").read_text()


def test_the_page_on_schemes_of_one_s_own_says_what_its_code_finds():
    names = run_code_of(OWN_SCHEME)
    ours = letcc.certify_rates(letcc.CodedScheme.letcc, **names["stragglers"])
    rows = re.findall(r"^\| (?:Floater|LeTCC).*$", OWN_SCHEME, flags=re.MULTILINE)
    for row, report in zip(rows, (names["report"], names["better"], ours), strict=True):
        printed = [cell.strip() for cell in row.split("|")[2:-1]]
        found = report.exponent_n.value, report.exponent_s.value, report.ratio, report.lebesgue
        for text, value in zip(printed, found, strict=True):
            assert abs(float(text) - value) <= 0.51 * 10.0 ** -len(text.partition(".")[2])
    assert names["report"].exponent_n.judge(-3.0) == "refuted"
    assert names["better"].exponent_n.judge(-3.0) == "attained"
    (block,) = re.findall(r"```python\n(.*?)```", OWN_SCHEME, flags=re.DOTALL)
    assert len([line for line in block.splitlines() if line]) <= 20
