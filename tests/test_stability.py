import numpy as np
import pytest
from typer.testing import CliRunner

from convergence import stability
from convergence.__main__ import app
from letcc.exceptions import InvalidInput
from letcc.smoothers import BerrutRational

METHODS = ("berrut", "lagrange", "least-squares", "floater-hormann", "cubic-bspline")


@pytest.fixture(scope="module")
def measured():
    return stability.table(METHODS)


def test_no_cell_has_lost_a_digit(measured):
    assert stability.lost(measured, stability.committed()) == []


def test_every_method_and_dtype_is_committed_to():
    committed = stability.committed()
    assert set(committed["method"]) == set(stability.METHODS)
    assert set(committed["dtype"]) == {"float64", "float32", "float16"}
    # the errors that are committed to are themselves those of a right operator
    double = committed[committed["dtype"] == "float64"].groupby("method")["error"].max()
    # B-splines lose digits where two nodes are 1e-7 apart
    bars = {"spline": 1e-14, "sobolev": 1e-12, **dict.fromkeys(METHODS, 1e-14), "cubic-bspline": 1e-10}
    assert {method: error for method, error in double.items() if error > bars[method]} == {}


def test_a_lost_digit_is_named_with_its_cell(monkeypatch):
    exact = BerrutRational._sorted_operator

    def perturbed(self, nodes, targets):
        return exact(self, nodes, targets) * (1 + 1e-14 * (nodes.size == 12))

    monkeypatch.setattr(BerrutRational, "_sorted_operator", perturbed)
    losses = stability.lost(stability.table(("berrut",)), stability.committed())
    assert len(losses) == 1
    assert losses[0].startswith("berrut | case 3 | 12 |  | float64: error ")


def test_an_unknown_cell_and_a_nan_are_losses(measured):
    committed = stability.committed()
    cell = committed["method"].eq("lagrange").idxmax()
    (loss,) = stability.lost(measured, committed.drop(index=cell))
    assert loss.startswith("lagrange | case 0 | 2 | degree=None | float64: ")
    without = committed[committed["method"] != "berrut"]
    assert len(stability.lost(measured, without)) == (measured["method"] == "berrut").sum()
    broken = measured.assign(error=np.where(measured.index == 5, np.nan, measured["error"]))
    assert len(stability.lost(broken, committed)) == 1


def test_unknown_method():
    with pytest.raises(InvalidInput, match=r"\['splines'\].*sobolev"):
        stability.table(("splines",))


def test_the_program_fails_where_digits_were_lost(tmp_path, monkeypatch):
    def run(*words):
        return CliRunner().invoke(app, ["stability", "--out", str(tmp_path), *words])

    assert run("--scheme", "berrut").exit_code == 0
    assert (tmp_path / "stability.parquet").is_file()
    tight = stability.committed()
    tight.loc[tight["dtype"] == "float32", "error"] /= 1e6
    monkeypatch.setattr("convergence.__main__.committed", lambda: tight)
    monkeypatch.setattr(stability, "_LOSS", 0.01)
    failed = run("--scheme", "berrut")
    assert failed.exit_code == 1
    assert "lost digits: berrut | case" in failed.stderr
    assert run("--scheme", "nothing").exit_code == 2
    assert run("--update", "--scheme", "berrut").exit_code == 2
