import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import typer

import figures.__main__
from figures import error_against_workers, extremal_function
from figures.results import MissingResult, Results
from figures.style import save, style
from letcc.rates import Verdict
from theory.certification import claim_row
from theory.claims import BY_ID
from theory.evidence.attainment import extremal_curves
from theory.store import provenance, write_rows, write_table

CHECKOUT = Path(__file__).parents[1]
CLAIMS = ("letcc-noiseless", "bacc-rate", "letcc-noisy", "letcc-noisy-optimal")
EXPONENTS = {"letcc-noiseless": -3, "bacc-rate": -2, "letcc-noisy": -0.6, "letcc-noisy-optimal": -0.75}
LEVEL = {"certified": 1.0, "measured": 0.1}
WORKERS = (32, 64, 128, 256, 512)
FIGURES = ("error-against-workers", "extremal-function")


def write_results(folder):
    """Exact powers of N, with points of other sweeps and problems, far off, that no figure may show."""
    origin = provenance({"program": "test"})
    for kind in ("certified", "measured"):
        rows = []
        for claim in CLAIMS:
            workers, about = np.array(WORKERS), BY_ID[claim]
            setup = {"scheme": about.method, "smoothing": about.smoothing.formula, "noise": about.noise_std}
            shown = LEVEL[kind] * workers ** float(EXPONENTS[claim])
            for sweep, problem, error in (
                ("N", "edge", shown),
                ("N", "smooth", 1e9 * shown),
                ("S", "edge", 1e9 * shown),
            ):
                if kind == "certified" and problem != "edge":
                    continue
                rows += [
                    {"sweep": sweep, "num_workers": n, "stragglers": 0, "error": e}
                    | ({"claim": claim} if kind == "certified" else {"problem": problem} | setup)
                    for n, e in zip(workers, error, strict=True)
                ]
        write_table(folder / f"{kind}.parquet", pd.DataFrame(rows), origin)
    write_table(folder / "extremal.parquet", extremal_curves(), origin)
    fits = {c: {"N": {"value": e - 0.013, "low": e - 0.093, "high": e + 0.067}} for c, e in EXPONENTS.items()}
    rows = [claim_row(BY_ID[c], Verdict.ATTAINED, certified=fits[c], measured=fits[c]) for c in CLAIMS]
    write_rows(folder / "verdicts.json", rows, origin)
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return write_results(tmp_path_factory.mktemp("results"))


def run_figures(out, **environment):
    command = [sys.executable, "-m", "figures", "--out", str(out)]
    return subprocess.run(command, cwd=CHECKOUT, env=os.environ | environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def drawn(results):
    """The files of one run, as bytes."""
    finished = run_figures(results, PYTHONHASHSEED="1")
    assert finished.returncode == 0, finished.stderr
    names = [f"{name}.{suffix}" for name in FIGURES for suffix in ("pdf", "png")]
    assert finished.stdout.splitlines() == [str(results / "figures" / name) for name in names]
    assert sorted(os.listdir(results / "figures")) == names
    return {name: (results / "figures" / name).read_bytes() for name in names}


def streams_of(pdf):
    """A PDF with the contents of its compressed streams in the clear, one after the other."""
    parts = [pdf]
    for stream in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            parts.append(zlib.decompress(stream[1]))
        except zlib.error:
            continue  # not compressed
    assert len(parts) > 3
    return b"\n".join(parts)


class TestFiles:
    @pytest.mark.parametrize("user", ["another hash seed", "a style of their own"])
    def test_the_same_bytes_on_every_run(self, drawn, tmp_path, user):
        (tmp_path / "matplotlibrc").write_text("lines.markeredgewidth: 5\nfont.family: serif\npdf.compression: 0\n")
        environment = {
            "another hash seed": {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo"},
            "a style of their own": {"MATPLOTLIBRC": str(tmp_path)},
        }[user]
        out = write_results(tmp_path / "elsewhere")
        assert run_figures(out, **environment).returncode == 0
        different = [name for name, content in drawn.items() if (out / "figures" / name).read_bytes() != content]
        assert different == []

    @pytest.mark.parametrize("name", FIGURES)
    def test_fonts_are_truetype(self, drawn, name):
        pdf = streams_of(drawn[f"{name}.pdf"])
        assert b"/FontFile2" in pdf
        assert re.search(rb"/Subtype\s*/(CIDFontType2|TrueType)\b", pdf)
        assert not re.search(rb"/(Subtype|FontType)\s*/Type3\b", pdf)

    @pytest.mark.parametrize("name", FIGURES)
    def test_no_dates(self, drawn, name):
        pdf, png = drawn[f"{name}.pdf"], drawn[f"{name}.png"]
        assert pdf.startswith(b"%PDF-")
        assert b"CreationDate" not in streams_of(pdf)
        assert png.startswith(b"\x89PNG")
        assert b"tIME" not in png
        assert b"Creation Time" not in png

    @pytest.mark.parametrize(("name", "height"), list(zip(FIGURES, (4.6, 2.5), strict=True)))
    def test_size_in_print(self, drawn, name, height):
        """6.9 inches: the full width of a two-column page."""
        box = re.search(rb"/MediaBox\s*\[([^\]]*)\]", drawn[f"{name}.pdf"])[1]
        np.testing.assert_allclose([float(n) / 72 for n in box.split()], [0, 0, 6.9, height], atol=0.01)
        header = drawn[f"{name}.png"][16:24]
        assert [int.from_bytes(header[:4]), int.from_bytes(header[4:])] == [1380, round(200 * height)]

    def test_an_interrupted_save_keeps_the_old_figure(self, tmp_path):
        class Interrupted:
            def savefig(self, path, **_):
                path.write_bytes(b"%PDF-half")
                raise KeyboardInterrupt

        (tmp_path / "a.pdf").write_bytes(b"old")
        with pytest.raises(KeyboardInterrupt):
            save(Interrupted(), tmp_path, "a")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.pdf": b"old"}


class TestErrorAgainstWorkers:
    @pytest.fixture
    def axes(self, results):
        with style():
            figure = error_against_workers.draw(Results(results))
            yield dict(zip([(k, n) for k in LEVEL for n in (False, True)], figure.axes, strict=True))
            plt.close(figure)

    @pytest.mark.parametrize("kind", LEVEL)
    @pytest.mark.parametrize(("noise", "claims"), [(False, CLAIMS[:2]), (True, CLAIMS[2:])])
    def test_curves_and_claimed_slopes(self, axes, kind, noise, claims):
        axis = axes[kind, noise]
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
        found = {}
        for points, claimed in zip(axis.lines[::2], axis.lines[1::2], strict=True):
            workers, error = points.get_data()
            level, exponent = fit(workers, error)
            claim = next(each for each in claims if EXPONENTS[each] == round(exponent, 6))
            assert level == pytest.approx(LEVEL[kind] / (BY_ID[claim].noise_std or 1) ** 2)  # in units of the noise
            assert points.get_label().endswith(f"slope {exponent - 0.013:.2f} ± 0.08")
            assert tuple(claimed.get_xdata()) == tuple(workers)
            beside, slope = fit(*claimed.get_data())
            assert slope == pytest.approx(exponent)
            assert beside / level == pytest.approx(1.7)
            found[round(exponent, 6)] = tuple(workers)
        assert found == {EXPONENTS[claim]: WORKERS for claim in claims}
        slopes = {text.get_text() for text in axis.texts}
        assert slopes == {f"$N^{{{BY_ID[claim].exponents['N']}}}$" for claim in claims}


class TestExtremalFunction:
    def test_draws_what_was_certified(self, results):
        table = Results(results).table("extremal")
        with style():
            figure = extremal_function.draw(Results(results))
            for axis, method in zip(figure.axes, ("LeTCC", "BACC"), strict=True):
                parts = dict(iter(table[table.scheme == method].groupby("part")))
                assert axis.get_title() == f"{method}, N = 32, K = 8, S = 6"
                labels = {
                    "extremal": "extremal function",
                    "decoder": f"{method}'s answer",
                    "received": "received workers",
                    "data": "data points",
                }
                drawn = {line.get_label(): line.get_xydata() for line in axis.lines}
                assert set(drawn) == set(labels.values())
                for part, label in labels.items():
                    np.testing.assert_array_equal(drawn[label], parts[part][["t", "value"]].to_numpy())
                decoder, received = drawn[labels["decoder"]], drawn[labels["received"]]
                through = np.interp(received[:, 0], *decoder.T)
                assert np.abs(through - received[:, 1]).max() < 1e-3  # it interpolates
            plt.close(figure)


def fit(x, y):
    """Level and exponent of an exact power."""
    exponents = np.diff(np.log(y)) / np.diff(np.log(x))
    np.testing.assert_allclose(exponents, exponents[0], rtol=1e-9)
    return y[0] / x[0] ** exponents[0], exponents[0]


class TestMissingResults:
    @pytest.mark.parametrize("name", ["verdicts.json", "certified.parquet", "measured.parquet", "extremal.parquet"])
    def test_the_command_that_makes_them_is_named(self, tmp_path, capsys, name):
        out = write_results(tmp_path / "out")
        (out / name).unlink()
        with pytest.raises(typer.Exit) as caught:
            figures.__main__.main(out)
        assert caught.value.exit_code == 2
        message = capsys.readouterr().err
        assert message == f"Error: {out / name} is missing: run python -m convergence verify --out {out} first\n"
        drawn = {path.stem for path in (out / "figures").glob("*")}
        assert drawn == ({FIGURES[0]} if name == "extremal.parquet" else set())

    def test_as_a_program(self, tmp_path):
        finished = run_figures(tmp_path / "nowhere")
        assert finished.returncode == 2
        assert f"python -m convergence verify --out {tmp_path / 'nowhere'}" in finished.stderr
        assert "Traceback" not in finished.stderr
        assert os.listdir(tmp_path) == []

    def test_partial_files_of_a_killed_run_are_not_results(self, tmp_path):
        (tmp_path / ".partial-killed").mkdir()
        (tmp_path / ".partial-killed" / "verdicts.json").write_text("[")
        with pytest.raises(MissingResult, match=r"verdicts\.json is missing"):
            Results(tmp_path).verdicts()
