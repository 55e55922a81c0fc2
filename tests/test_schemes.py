"""Anyone's scheme by ``python -m theory --scheme``."""

import json
import os

import pytest
from typer.testing import CliRunner

from theory.__main__ import app

MODULE = """
import letcc

def ours(num_data, num_workers):
    return letcc.CodedScheme.bacc(num_data, num_workers)

def loud(num_data, num_workers):
    print("working")
    return ours(num_data, num_workers)

def failing(num_data, num_workers):
    raise RuntimeError("out of luck")

number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "a_module_of_a_user.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [*words])


@pytest.mark.parametrize("as_json", [False, True])
def test_a_function_of_a_module_in_the_current_folder(folder, monkeypatch, as_json):
    import theory.__main__
    from letcc import certify_rates

    small = {"workers": (16, 32, 64, 128), "stragglers": (1, 3, 5, 7), "straggler_workers": 64, "straggler_num_data": 8}
    monkeypatch.setattr(theory.__main__, "certify_rates", lambda make: certify_rates(make, **small))
    finished = run("--scheme", "a_module_of_a_user:ours", *(["--json"] if as_json else []))
    assert finished.exit_code == 0
    if as_json:
        (row,) = json.loads(finished.stdout)
        assert row["scheme"] == "a_module_of_a_user:ours"
        assert row["N"]["value"] == pytest.approx(-2.1, abs=0.1)
        assert row["ball"] == "full"
    else:
        assert "exponent in N: -2.05 (" in finished.stdout
        assert "ball: full" in finished.stdout
    assert [path for path in os.listdir(folder) if path != "__pycache__"] == ["a_module_of_a_user.py"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module_here:ours", "there is no module 'no_such_module_here'"),
        ("a_module_of_a_user:yours", "a_module_of_a_user has no 'yours'"),
        ("a_module_of_a_user", "give package.module:function"),
        ("a_module_of_a_user:failing", "line 12: RuntimeError: out of luck"),
        ("a_module_of_a_user:number", "is no function, but 3: name one that can be called"),
    ],
)
def test_what_is_no_function_of_a_module(folder, name, message):
    finished = run("--scheme", name)
    assert finished.exit_code == 2
    assert finished.stdout == ""
    assert message in finished.stderr


def test_what_a_scheme_prints_is_no_result(folder, monkeypatch):
    import theory.__main__
    from letcc import certify_rates

    small = {"workers": (16, 32, 64), "stragglers": (1, 3, 5), "straggler_workers": 24, "straggler_num_data": 4}
    monkeypatch.setattr(theory.__main__, "certify_rates", lambda make: certify_rates(make, **small))
    finished = run("--scheme", "a_module_of_a_user:loud", "--json")
    assert len(json.loads(finished.stdout)) == 1
    assert "working" in finished.stderr


def test_no_other_option_goes_with_a_scheme(folder):
    finished = run("--scheme", "a_module_of_a_user:ours", "--max-n", "8192")
    assert finished.exit_code == 2
    assert "--scheme goes with --json only" in finished.stderr
