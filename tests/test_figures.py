import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from itertools import combinations
from pathlib import Path

import matplotlib.colors
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from figures import table_1
from figures.registry import FIGURES
from figures.results import DamagedResult, MissingResult, Results
from figures.style import LOOK, WIDTHS, save, style
from letcc.rates import Verdict
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS
from theory.evidence import CURVES
from theory.evidence.attainment import extremal_curves
from theory.store import SCHEMA_VERSION, provenance, write_rows, write_table

CHECKOUT = Path(__file__).parents[1]
RATES = ("letcc-noiseless", "bacc-rate", "letcc-noisy", "letcc-noisy-optimal")
LEVEL = {"certified": 1e-3, "measured": 1e-4}
WORKERS = (32, 64, 128, 256, 512)
LOST = (1, 3, 7, 15, 31)
# of results that the main job does without: tests/test_figures_measured.py looks at them
OTHERS = {"networks-against-stragglers", "smoothing-sensitivity", "coded-inputs", "numerical-stability"}
OTHERS |= {"latency-tails", "error-against-deadline", "tail-against-redundancy", "decoding-time"}
MADE = tuple(name for name in FIGURES if name not in OTHERS)


def fitted(exponent):
    """A fit that is off by 0.013, give or take 0.08, and has settled from the second point on."""
    found = {"value": exponent - 0.013, "low": exponent - 0.093, "high": exponent + 0.067, "judged": True}
    return found | {"window": (WORKERS[1], WORKERS[-1]), "local_slopes": [exponent + i / 100 for i in range(4)]}


def rows_of_rates(claim, kind):
    """Exact powers of N and S; along the curves the error outgrows them by N^0.1."""
    about = BY_ID[claim]
    n, s = (float(about.exponents.get(name, 0)) for name in ("N", "S"))
    points = [(sweep, n, 0) for sweep in ("N", "N, equispaced") for n in WORKERS]
    points += [(sweep, workers, lost) for sweep, workers in (("S", 512), ("S, N = 4096", 4096)) for lost in LOST]
    points += [(curve, n, lost(n)) for curve, lost in CURVES.items() for n in WORKERS]
    for sweep, workers, lost in points:
        error = LEVEL[kind] * workers**n * (lost + 1) ** s * (workers**0.1 if sweep in CURVES else 1)
        family = "equispaced" if sweep.endswith("equispaced") else "chebyshev"
        yield {"sweep": sweep, "num_workers": workers, "stragglers": lost, "points": family, "error": error}


def certified():
    rows = [row | {"claim": claim} for claim in RATES for row in rows_of_rates(claim, "certified")]
    for row in rows:
        row["optimum"] = row["error"] / row["num_workers"]

    def add(claim, **numbers):
        rows.append({"claim": claim, "points": "chebyshev", "stragglers": 0} | numbers)

    for n in WORKERS:
        for claim, error in (
            ("letcc-bernoulli", np.log(n) ** 3 * n**-3.0),
            ("bacc-bernoulli-log2", np.log(n) ** 2 * n**-2.0),
        ):
            add(claim, sweep="N", num_workers=n, error=error, low=0.9 * error, high=1.2 * error, uncertainty=0.1)
        for sweep, cost in (("building", 32 * n), ("applying", 8 * n)):
            add("decode-cost", sweep=sweep, num_workers=n, error=cost)
        for sweep, q in (("q=1", 1), ("q=N^(3/4)", 4)):
            add("letcc-adversarial", sweep=sweep, num_workers=n, parameter=q, error=(q / n) ** 1.2)
        add("best-linear", sweep="N", num_workers=n, error=1.0)
    for smoothing in (0.0, 1e-6, 1e-4, 1e-2):
        sizes = {"num_workers": 32, "parameter": smoothing}
        add("encoder-training-error", sweep="lambda_e, chebyshev", error=smoothing / 5, bound=smoothing / 4, **sizes)
        add("loss-split", sweep="lambda_e", error=0.75 + smoothing, smooth=0.5, **sizes)
        add("loss-split-1", sweep="lambda_e", error=1.5 + smoothing, smooth=1.0, **sizes)
        for side in ("encoder", "decoder"):
            add("spline-optimality", sweep=side, error=1e-25, **sizes)
            add("not-a-knot-optimality", sweep=side, error=0.1, **sizes)
    for lost in LOST:
        add("bacc-sup", sweep="NS", num_workers=64, error=0.02 * lost, bound=lost, stragglers=lost)
    for family in ("chebyshev", "equispaced"):
        for name, median in (("LeTCC", 1.0), ("BACC", 32.0)):
            numbers = {"num_workers": 40, "median": median, "least": 1.0, "most": 3 * median}
            rows.append({"claim": "optimal-recovery", "sweep": name, "points": family} | numbers)
    return pd.DataFrame(rows)


def measured():
    """What belongs in no figure is far off."""
    rows = []
    for claim in RATES:
        about = BY_ID[claim]
        setup = {"scheme": about.method, "smoothing": about.smoothing.formula, "noise": about.noise_std}
        for row in rows_of_rates(claim, "measured"):
            for problem, far in (("edge", 1.0), ("smooth", 1e9)):
                known = {"problem": problem, "error": far * row["error"]}
                noise = 0.02 if about.noise_std else np.nan
                rows.append(row | setup | known | {"model": "consecutive", "uncertainty": noise})
                if row["stragglers"]:
                    rows.append(row | setup | known | {"model": "random", "uncertainty": 0.1})
    bacc = {"scheme": "bacc", "smoothing": "0", "noise": 0.1, "model": "consecutive", "problem": "edge"}
    rows += [
        bacc | {"sweep": "N", "num_workers": n, "stragglers": 0, "error": 0.01, "uncertainty": 0.02} for n in WORKERS
    ]
    return pd.DataFrame(rows).drop(columns="points")


def slopes():
    setups = measured()[["scheme", "smoothing", "noise"]].drop_duplicates().to_dict("records")
    fit = fitted(0.5)
    numbers = {"problem": "edge", "exponent": fit["value"], "low": fit["low"], "high": fit["high"]}
    kinds = (("N", "consecutive"), ("S", "random"))
    return pd.DataFrame(
        [setup | numbers | {"sweep": sweep, "model": model} for setup in setups for sweep, model in kinds]
    )


def evidence(claim):
    exponents = {name: float(value) for name, value in claim.exponents.items()}
    found = {}
    for name in ("N", "N, equispaced") if "N" in exponents else ():
        found[name] = fitted(exponents["N"])
    for name in ("S", "S, N = 4096") if "S" in exponents else ():
        found[name] = fitted(exponents["S"])
    if {"N", "S"} <= exponents.keys():
        found |= {f"growth, {curve}": fitted(0.0) for curve in CURVES}
    if claim.id == "letcc-adversarial":
        found |= {"q/N, q=1": fitted(1.2), "q/N, q=N^(3/4)": "inconclusive: local slopes 0.41 to 1.20"}
    if claim.id == "encoder-training-error":
        found["lambda_e, chebyshev"] = fitted(1.0)
    if claim.id == "decode-cost":
        found |= {"|F|, building": fitted(1.0), "|F|, applying": fitted(1.0) | {"value": None}}
    return found


def table1():
    def row(network, dataset, scheme, mean, low, high):
        return {
            "network": network,
            "dataset": dataset,
            "scheme": scheme,
            "num_workers": 100,
            "num_data": 20,
            "num_stragglers": 60,
            "rmse_mean": mean,
            "rmse_std": 0.5,
            "relacc_mean": 0.9,
            "relacc_std": 0.03,
            "rmse_difference": mean - 2.5,
            "rmse_difference_low": low,
            "rmse_difference_high": high,
            "trials": 100,
        }

    return [
        row("lenet5", "mnist", "BACC", 2.5, 0.0, 0.0),
        row("lenet5", "mnist", "LeTCC", 2.25, -0.375, -0.125),
        row("lenet5", "mnist", "Lagrange (not defined for networks)", 9.5, 6.0, 8.0),
        row("lenet5", "mnist", "LeTCC, lambda = 0", 2.75, 0.125, 0.375),
    ]


def write_results(folder):
    origin = provenance({"program": "test"})
    write_table(folder / "certified.parquet", certified(), origin)
    write_table(folder / "measured.parquet", measured(), origin)
    write_table(folder / "slopes.parquet", slopes(), origin)
    write_table(folder / "extremal.parquet", extremal_curves(), origin)
    polynomials = [
        {"problem": problem, "scheme": scheme, "num_workers": 10, "num_data": 4, "received": received, "threshold": 7}
        | {"typical": level, "error": 10 * level, "refused": scheme == "lagrange" and received < 7}
        for problem in ("matrix product", "Gram matrix")
        for scheme, level in (("lagrange", 1e-15), ("letcc", 1e-3), ("bacc", 1e-2))
        for received in (6, 7, 10)
    ]
    write_table(folder / "polynomials.parquet", pd.DataFrame(polynomials), origin)
    kinds = {"certified": evidence, "measured": evidence}
    verdicts = [
        claim_row(claim, Verdict.ATTAINED, **{kind: found(claim) for kind, found in kinds.items()}) for claim in CLAIMS
    ]
    write_rows(folder / "verdicts.json", verdicts, origin)
    write_rows(folder / "table1.json", table1(), origin)
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return write_results(tmp_path_factory.mktemp("results"))


def run_figures(out, *options, **environment):
    command = [sys.executable, "-m", "figures", "--out", str(out), *options]
    return subprocess.run(command, cwd=CHECKOUT, env=os.environ | environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def finished(results):
    done = run_figures(results, PYTHONHASHSEED="1")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def drawn(results, finished):
    """The files of one run, as bytes."""
    *paths, report = map(Path, finished.stdout.splitlines())
    assert report == results / "report" / "index.html"
    assert sorted(path.name for path in paths) == sorted(os.listdir(results / "figures"))
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture
def axes(results):
    """Draw a figure in the width of a page: its panels."""

    def draw(name, width="page"):
        figure = FIGURES[name].draw(Results(results), WIDTHS[width])
        return figure.axes

    with style():
        yield draw
        plt.close("all")


def curves(axis):
    """Points by label, of lines and of error bars."""
    found = {line.get_label(): line.get_xydata() for line in axis.lines if not line.get_label().startswith("_")}
    return found | {bars.get_label(): bars[0].get_xydata() for bars in axis.containers}


def fit(points):
    """Level and exponent of an exact power."""
    x, y = np.transpose(points)
    exponents = np.diff(np.log(y)) / np.diff(np.log(x))
    np.testing.assert_allclose(exponents, exponents[0], rtol=1e-9)
    return y[0] / x[0] ** exponents[0], exponents[0]


def half_widths(bars):
    """Of the error bars' segments, along the axis on which they lie."""
    return np.abs(np.diff(bars[2][0].get_segments(), axis=1)).max(axis=(1, 2)) / 2


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


class TestRegistry:
    def test_every_claim_is_illustrated(self):
        shown = {claim for module in FIGURES.values() for claim in module.CLAIMS}
        assert shown == set(BY_ID)

    def test_names_are_those_of_the_modules(self):
        for name, module in FIGURES.items():
            assert module.__name__ == f"figures.{name.replace('-', '_')}"
            assert 40 < len(module.CAPTION) < 420

    @pytest.mark.parametrize("module", [*FIGURES.values(), table_1])
    def test_captions_are_plain_text(self, module):
        """They stand in pages and sidecars, where nothing sets TeX."""
        assert not set(module.CAPTION) & set("$\\{}")

    def test_looks_are_told_apart_in_grey(self):
        for a, b in combinations(LOOK.values(), 2):
            assert a["marker"] != b["marker"]
            assert a["linestyle"] != b["linestyle"]
            assert a["color"] != b["color"]
        for look in LOOK.values():  # on white
            assert np.dot(matplotlib.colors.to_rgb(look["color"]), [0.299, 0.587, 0.114]) < 0.7


class TestFiles:
    def test_all_are_made(self, drawn):
        names = {f"{name}.{suffix}" for name in MADE for suffix in ("pdf", "png", "svg", "json")}
        assert names | {f"table-1.{suffix}" for suffix in ("tex", "md", "csv", "json")} <= drawn.keys()

    def test_what_the_main_job_does_without_is_left_out(self, results, finished, drawn):
        assert "coded-inputs.png" not in drawn
        missing = results / "coded_inputs.parquet"
        command = f"python -m convergence table1 --study all --out {results}"
        assert f"Left out: coded-inputs. {missing} is missing: run {command} first\n" in finished.stderr

    def test_the_same_bytes_on_every_run(self, drawn, tmp_path):
        (tmp_path / "matplotlibrc").write_text("lines.markeredgewidth: 5\nfont.family: serif\npdf.compression: 0\n")
        out = write_results(tmp_path / "elsewhere")
        done = run_figures(out, PYTHONHASHSEED="2", TZ="Asia/Tokyo", MATPLOTLIBRC=str(tmp_path))
        assert done.returncode == 0, done.stderr
        pictures = {name: content for name, content in drawn.items() if not name.endswith(".json")}
        different = [name for name, content in pictures.items() if (out / "figures" / name).read_bytes() != content]
        assert different == []

    @pytest.mark.parametrize("name", MADE)
    def test_fonts_are_truetype(self, drawn, name):
        pdf = streams_of(drawn[f"{name}.pdf"])
        assert b"/FontFile2" in pdf
        assert re.search(rb"/Subtype\s*/(CIDFontType2|TrueType)\b", pdf)
        assert not re.search(rb"/(Subtype|FontType)\s*/Type3\b", pdf)

    @pytest.mark.skipif(not shutil.which("pdffonts"), reason="pdffonts (poppler-utils) is not installed")
    def test_pdffonts_agrees(self, results, drawn):
        for name in drawn:
            if name.endswith(".pdf"):
                command = ["pdffonts", str(results / "figures" / name)]
                fonts = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                types = [line[37:54].strip() for line in fonts.splitlines()[2:]]
                assert set(types) == {"CID TrueType"}, fonts

    @pytest.mark.parametrize("name", MADE)
    def test_no_dates(self, drawn, name):
        pdf, png, svg = (drawn[f"{name}.{suffix}"] for suffix in ("pdf", "png", "svg"))
        assert pdf.startswith(b"%PDF-")
        assert b"CreationDate" not in streams_of(pdf)
        assert png.startswith(b"\x89PNG")
        assert b"tIME" not in png
        assert b"Creation Time" not in png
        assert b"<dc:date>" not in svg

    @pytest.mark.parametrize("name", MADE)
    def test_size_in_print(self, drawn, name):
        """6.9 inches: the full width of a two-column page, which is some 9.5 high."""
        box = [float(n) for n in re.search(rb"/MediaBox\s*\[([^\]]*)\]", drawn[f"{name}.pdf"])[1].split()]
        assert box[:3] == [0, 0, pytest.approx(6.9 * 72, abs=0.5)]
        assert 1 < box[3] / 72 < 9.5
        size = [int.from_bytes(drawn[f"{name}.png"][at : at + 4]) for at in (16, 20)]
        assert size == [1380, pytest.approx(box[3] / 72 * 200, abs=1)]

    @pytest.mark.parametrize("name", MADE)
    @pytest.mark.parametrize("width", WIDTHS)
    def test_axes_say_what_they_show(self, axes, name, width):
        panels = axes(name, width)
        figure = panels[0].figure
        assert figure.get_size_inches()[0] == WIDTHS[width]
        assert figure.get_size_inches()[1] < 9.5
        figure.canvas.draw()
        inside = figure.bbox.padded(1)
        for axis in panels:
            assert axis.get_xlabel()
            categories = not re.search(r"\d", "".join(label.get_text() for label in axis.get_yticklabels()[:1]))
            assert axis.get_ylabel() or categories or len(axis.get_yticks()) > 3
            box = axis.get_tightbbox()
            assert inside.contains(box.x0, box.y0)
            assert inside.contains(box.x1, box.y1)
        if width == "column":  # below each other
            assert len({round(axis.get_subplotspec().colspan.start) for axis in panels}) == 1

    @pytest.mark.parametrize("name", MADE)
    def test_each_is_the_same_alone(self, results, drawn, tmp_path, name):
        with style():
            (path,) = save(FIGURES[name].draw(Results(results), WIDTHS["page"]), tmp_path, name, ["svg"])
        assert path.read_bytes() == drawn[path.name]

    def test_an_interrupted_save_keeps_the_old_figure(self, tmp_path):
        class Interrupted(Figure):
            def savefig(self, path, **_):
                path.write_bytes(b"%PDF-half")
                raise KeyboardInterrupt

        (tmp_path / "a.pdf").write_bytes(b"old")
        with pytest.raises(KeyboardInterrupt):
            save(Interrupted(), tmp_path, "a")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.pdf": b"old"}


class TestSidecars:
    def test_inputs_are_what_was_read(self, results, drawn):
        expected = {
            "error-over-claim": {"verdicts.json", "certified.parquet"},
            "extremal-function": {"extremal.parquet"},
            "table-1": {"table1.json"},
        }
        for name, files in expected.items():
            inputs = json.loads(drawn[f"{name}.json"])["inputs"]
            assert set(inputs) == files
            for file, about in inputs.items():
                assert about["sha256"] == hashlib.sha256((results / file).read_bytes()).hexdigest()
                assert about["provenance"]["spec"] == {"program": "test"}

    def test_files_are_what_was_written(self, drawn):
        for name, suffixes in (("bounds", ("pdf", "png", "svg")), ("table-1", table_1.FORMATS)):
            about = json.loads(drawn[f"{name}.json"])
            expected = {f"{name}.{suffix}" for suffix in suffixes}
            assert about["files"] == {file: hashlib.sha256(drawn[file]).hexdigest() for file in expected}
            assert "--format" not in about["command"]

    @pytest.mark.parametrize("name", ["extremal-function", "table-1"])
    def test_the_command_makes_the_same_again(self, results, drawn, name):
        command = shlex.split(json.loads(drawn[f"{name}.json"])["command"])
        assert command[:5] == ["python", "-m", "figures", "--only", name]
        made = {path for path in drawn if path.startswith(f"{name}.")}
        for path in made:
            (results / "figures" / path).unlink()
        subprocess.run([sys.executable, *command[1:]], cwd=CHECKOUT, check=True, capture_output=True)
        assert {path: (results / "figures" / path).read_bytes() for path in made} == {
            path: drawn[path] for path in made
        }

    def test_says_what_made_it(self, drawn):
        about = json.loads(drawn["local-slopes.json"])
        assert about["spec"] == {"program": "figures", "figure": "local-slopes"}
        assert about["versions"]["matplotlib"] == matplotlib.__version__
        assert about["caption"] == FIGURES["local-slopes"].CAPTION
        assert about["claims"] == list(FIGURES["local-slopes"].CLAIMS)


class TestErrors:
    """Of N, S and both."""

    @pytest.mark.parametrize(
        ("panel", "kind", "claims"),
        [
            (0, "certified", RATES[:2]),
            (1, "certified", RATES[2:]),
            (2, "measured", RATES[:2]),
            (3, "measured", RATES[2:]),
        ],
    )
    def test_against_workers(self, axes, panel, kind, claims):
        axis = axes("error-against-workers")[panel]
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
        found, dotted = curves(axis), [line.get_xydata() for line in axis.lines if line.get_linestyle() == ":"]
        for claim in claims:
            units, exponent = (BY_ID[claim].noise_std or 1) ** 2, float(BY_ID[claim].exponents["N"])
            power = next(
                (label, fit(points))
                for label, points in found.items()
                if "optimum" not in label and fit(points)[1] == pytest.approx(exponent)
            )
            assert power[1][0] == pytest.approx(LEVEL[kind] / units)
            assert power[0].endswith(f"slope {exponent - 0.013:.2f} ± 0.08".replace("-", "−"))
            level, _ = next(fit(points) for points in dotted if fit(points)[1] == pytest.approx(exponent))
            assert level == pytest.approx(1.7 * LEVEL[kind] / units)
        texts = {text.get_text() for text in axis.texts}
        assert texts == {f"$N^{{{BY_ID[claim].exponents['N']}}}$" for claim in claims}
        noises = {BY_ID[claim].noise_std for claim in claims if kind == "certified"}
        best = {rf"optimum, $\sigma = {noise:g}$" if noise else "optimum" for noise in noises}
        assert {label for label in found if "optimum" in label} == best

    def test_the_optimum_is_the_certified_one(self, axes):
        line = axes("error-against-workers")[0].lines
        best = [fit(each.get_xydata()) for each in line if each.get_label() == "optimum"]
        assert [exponent for _, exponent in best] == pytest.approx([-4, -3])

    def test_the_optimum_at_each_noise(self, axes):
        """With less noise less is possible; the claims' levels differ, and each stands by its own optimum."""
        found = curves(axes("error-against-workers")[1])
        for claim in RATES[2:]:
            noise, exponent = BY_ID[claim].noise_std, float(BY_ID[claim].exponents["N"])
            best = fit(found[rf"optimum, $\sigma = {noise:g}$"])
            assert best == pytest.approx((LEVEL["certified"] / noise**2, exponent - 1))

    def test_intervals_where_there_is_noise(self, axes):
        without, with_noise = axes("error-against-workers")[2:]
        assert all(not bars.has_yerr for bars in without.containers)
        for bars in with_noise.containers:
            np.testing.assert_allclose(half_widths(bars), 1.96 * 0.02 * bars[0].get_xydata()[:, 1])
        assert any(label.startswith("BACC, ") for label in curves(with_noise))

    def test_against_stragglers(self, axes):
        panels = axes("error-against-stragglers")
        for panel, exponents in ((0, (3, 2)), (2, (3, 2)), (1, (1.6,))):
            found = sorted(fit(points)[1] for points in curves(panels[panel]).values())
            assert found == pytest.approx(sorted(exponents))
            assert {tuple(points[:, 0]) for points in curves(panels[panel]).values()} == {(2, 4, 8, 16, 32)}
        level, _ = fit(curves(panels[2])["LeTCC: slope 2.99 ± 0.08"])
        assert level == pytest.approx(LEVEL["measured"] * 512.0**-3)
        assert set(curves(panels[3])) == {"LeTCC: slope 0.49 ± 0.08", "BACC: slope 0.49 ± 0.08"}
        for bars in panels[3].containers:
            np.testing.assert_allclose(half_widths(bars), 1.96 * 0.1 * bars[0].get_xydata()[:, 1])

    def test_over_claim(self, axes):
        panels = dict(zip(FIGURES["error-over-claim"].CLAIMS, axes("error-over-claim"), strict=True))
        for label, points in curves(panels["letcc-noisy"]).items():
            assert label.endswith(": slope −0.01 ± 0.08")
            assert fit(points) == pytest.approx((32**-0.1, 0.1))
        by_first_version = curves(panels["letcc-noiseless-v1"])["$S = N/4$: slope −0.01 ± 0.08"]
        assert by_first_version[-1, 1] == pytest.approx(16**0.1 * (9 / 129))


class TestSlopes:
    def test_local_slopes_and_their_window(self, axes):
        first, *_, lost, _ = axes("local-slopes")
        points = curves(first)["Chebyshev: slope −3.01 ± 0.08"]
        np.testing.assert_allclose(points[:, 0], np.sqrt(np.multiply(WORKERS[1:], WORKERS[:-1])))
        np.testing.assert_allclose(points[:, 1], [-3, -2.99, -2.98, -2.97])
        assert (first.patches[0].get_x(), first.patches[0].get_width()) == (64, 448)
        band = first.collections[0].get_datalim(first.transData)
        assert (band.y0, band.y1) == pytest.approx((-3.093, -2.933))
        claimed = {text.get_text(): text.xy[1] for text in first.texts}
        assert claimed == {"$N^{-3}$": -3, "$N^{-7/2}$, false": -3.5}
        assert {text.get_text() for text in lost.texts} == {"$S^{3}$", "$S^{4}$", "$S^{2}$, false"}

    def test_claimed_exponents(self, axes):
        (axis,) = axes("claimed-exponents")
        names = [label.get_text() for label in axis.get_yticklabels()]
        assert names[:3] == [f"letcc-noiseless, {part} (attained)" for part in ("N", "S", "growth")]
        assert r"encoder-training-error, $\lambda_e$ (attained)" in names
        assert axis.get_ylim() == (0.5 - len(names), 0.5)  # no empty band
        bars = {each.get_label(): each for each in axis.containers}
        for kind in ("certified", "measured"):
            excess = dict(zip(names, bars[kind][0].get_xydata()[:, 0], strict=True))
            assert excess["letcc-noiseless, S (attained)"] == pytest.approx(-0.013)
            assert excess["letcc-adversarial, q/N (attained)"] == pytest.approx(0.013)  # towards 0, the error is larger
            segments = dict(zip(names, bars[kind][2][0].get_segments(), strict=True))
            low, high = segments["letcc-adversarial, q/N (attained)"][:, 0]
            assert (low, high) == pytest.approx((-0.067, 0.093))

    def test_of_other_variables(self, axes):
        corrupted, smoothed, cost = axes("other-rates")
        assert set(curves(corrupted)) == {"$q=1$: 1.19 ± 0.08", "$q=N^{3/4}$: unsettled"}
        assert fit(curves(corrupted)["$q=1$: 1.19 ± 0.08"]) == pytest.approx((1, 1.2))
        assert fit(curves(smoothed)["Chebyshev: 0.99 ± 0.08"]) == pytest.approx((0.2, 1))
        assert fit(curves(cost)["building: 0.99 ± 0.08"]) == pytest.approx((32, 1))
        assert "applying: unsettled" in curves(cost)
        texts = [text.get_text() for axis in (corrupted, smoothed, cost) for text in axis.texts]
        assert texts == ["$(q/N)^{6/5}$", r"$\lambda_e$", "$|F|$"]

    def test_lost_at_random(self, axes):
        letcc, bacc = axes("lost-at-random")
        flat = curves(letcc)[r"$\log^{3} N \cdot N^{-3}$"]
        np.testing.assert_allclose(flat[:, 1], 1)
        rising = curves(letcc)["$N^{-3}$, false"]
        np.testing.assert_allclose(rising[:, 1], (np.log(WORKERS) / np.log(32)) ** 3)
        rising = curves(bacc)[r"$\log^{3} N \cdot N^{-3}$, false"]
        np.testing.assert_allclose(rising[:, 1], (np.divide(WORKERS, 32)) * np.log(32) / np.log(WORKERS))
        np.testing.assert_allclose(half_widths(letcc.containers[0]), 0.15)


class TestBounds:
    def test_ratio_to_optimum(self, axes):
        against_workers, over_sets = axes("ratio-to-optimum")
        np.testing.assert_allclose(curves(against_workers)["BACC"], np.transpose([WORKERS, WORKERS]))
        best = next(points for label, points in curves(against_workers).items() if "sigma" in label)
        np.testing.assert_array_equal(best[:, 1], 1)
        assert [label.get_text() for label in over_sets.get_yticklabels()] == ["LeTCC", "BACC"]
        for bars in over_sets.containers:
            np.testing.assert_array_equal(bars[0].get_xydata()[:, 0], [1, 32])
            np.testing.assert_allclose([segment[:, 0] for segment in bars[2][0].get_segments()], [[1, 3], [1, 96]])

    def test_bounds(self, axes):
        supremum, split, optimality = axes("bounds")
        np.testing.assert_allclose(curves(supremum)["$N = 64$"], np.transpose([np.add(LOST, 1), [0.02] * 5]))
        assert curves(split)["with factors 2, worst $f$"][:, 1].max() == pytest.approx(0.76)
        assert curves(split)["without, false, worst $f$"][:, 1].max() == pytest.approx(1.51)
        assert [line.get_ydata()[0] for line in split.lines if line.get_linestyle() == ":"] == [1]
        assert set(curves(optimality)["natural spline, encoder"][:, 1]) == {1e-25}
        assert set(curves(optimality)["not-a-knot, false, decoder"][:, 1]) == {0.1}

    def test_lagrange_threshold(self, axes):
        (axis,) = axes("lagrange-threshold")
        np.testing.assert_array_equal(curves(axis)["Lagrange"], [[7, 1e-15], [10, 1e-15]])  # refused from 6
        np.testing.assert_array_equal(curves(axis)["LeTCC"][:, 0], [6, 7, 10])
        (refused,) = axis.patches
        assert refused.get_x() + refused.get_width() == 6.5
        assert axis.get_xlim()[0] == refused.get_x() < 6
        top = [segment[1, 1] for segment in axis.containers[2][2][0].get_segments()]
        assert top == pytest.approx([0.1] * 3)


class TestExtremalFunction:
    def test_draws_what_was_certified(self, results, axes):
        table = Results(results).table("extremal")
        for axis, method in zip(axes("extremal-function"), ("LeTCC", "BACC"), strict=True):
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


class TestTable1:
    def test_differences(self, axes):
        (axis,) = axes("rmse-differences")
        assert axis.get_title("left") == "LeNet5 on MNIST, $(N, K, S)$ = (100, 20, 60), 100 trials"
        assert [label.get_text() for label in axis.get_yticklabels()] == ["LeTCC", "LeTCC, λ = 0"]
        (bars,) = axis.containers
        np.testing.assert_allclose(bars[0].get_xydata()[:, 0], [-0.25, 0.25])
        np.testing.assert_allclose(half_widths(bars), 0.125)

    def test_the_paper_stands_beside(self, results):
        table = table_1.rows(Results(results)).set_index(["network", "images", "scheme"])
        letcc = table.loc["LeNet5", "MNIST", "LeTCC"]
        assert letcc["RMSE"] == "2.25 ± 0.50"
        assert letcc["minus BACC's"] == "−0.38 to −0.12"
        assert letcc["paper: RMSE"] == "2.18 ± 0.51"
        assert letcc["paper: relative accuracy"] == "0.94 ± 0.04"
        assert table.loc["LeNet5", "MNIST", "LeTCC, λ = 0"]["paper: RMSE"] == "–"
        not_tried = table.loc["ViT-B/16", "ImageNet", "BACC"]
        assert (not_tried["RMSE"], not_tried["paper: RMSE"]) == ("–", "0.68 ± 0.13")

    def test_formats(self, drawn):
        tex, md, csv = (drawn[f"table-1.{suffix}"].decode() for suffix in table_1.FORMATS)
        assert tex.count(r"\toprule") == tex.count(r"\midrule") == tex.count(r"\bottomrule") == 1
        row = r"LeNet5 & MNIST & (100, 20, 60) & LeTCC & 2.25 $\pm$ 0.50 & $-$0.38 to $-$0.12 & 0.900 $\pm$ 0.030 & "
        assert row + r"2.18 $\pm$ 0.51 & 0.94 $\pm$ 0.04 \\" in tex
        assert tex.isascii()
        lines = md.splitlines()
        assert {line.count("|") for line in lines} == {10}
        assert set(lines[1]) == set("|- ")
        assert "| LeNet5 | MNIST | (100, 20, 60) | LeTCC | 2.25 ± 0.50 |" in md
        assert csv.splitlines()[2].startswith('LeNet5,MNIST,"(100, 20, 60)",LeTCC,2.25 ± 0.50,')
        assert len(csv.splitlines()) == len(lines) - 1 == 1 + 4 + 4


class TestMissingResults:
    @pytest.mark.parametrize(
        ("name", "figure"),
        [
            ("verdicts.json", "error-against-workers"),
            ("certified.parquet", "bounds"),
            ("measured.parquet", "error-against-stragglers"),
            ("extremal.parquet", "extremal-function"),
            ("polynomials.parquet", "lagrange-threshold"),
            ("table1.json", "rmse-differences"),
        ],
    )
    def test_the_command_that_makes_them_is_named(self, results, tmp_path, name, figure):
        shutil.copytree(results, tmp_path / "out", ignore=shutil.ignore_patterns(name, "figures"))
        with pytest.raises(MissingResult) as caught:
            FIGURES[figure].draw(Results(tmp_path / "out"), 6.9)
        plt.close("all")
        path, command = tmp_path / "out" / name, f"python -m convergence verify --out {tmp_path / 'out'}"
        assert str(caught.value) == f"{path} is missing: run {command} first"
        assert not caught.value.optional

    def test_what_another_version_made_is_not_taken(self, results, tmp_path):
        older = provenance({"program": "test"}) | {"schema": 1}
        write_table(tmp_path / "certified.parquet", certified(), older)
        with pytest.raises(
            MissingResult, match=r"certified\.parquet is of another version of this program: run python"
        ):
            Results(tmp_path).table("certified")

    @pytest.mark.parametrize(
        ("name", "text", "why"),
        [
            ("verdicts.json", "[]", "it has no rows"),
            ("verdicts.json", '{"claim": "bacc-sup"}', "dictionary update sequence"),
            ("verdicts.json", '[{"claim": "bacc-sup"}]', "it does not say what made it"),
            ("table1.json", "[{", "Expecting property name"),
        ],
    )
    def test_json_of_another_content(self, tmp_path, name, text, why):
        (tmp_path / name).write_text(text)
        command = re.escape(f"run python -m convergence verify --out {tmp_path} first")
        with pytest.raises(DamagedResult, match=rf"{name} is damaged \({why}.*\): {command}"):
            Results(tmp_path).rows(name.removesuffix(".json"))

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"verdict": ...}, "it lacks verdict"),
            ({"claim": ["a"]}, r"\['a'\] is no claim"),
            ({"predicted": None}, "predicted of .* is None, no mapping"),
            ({"certified": ["N"]}, r"certified of .* is \['N'\], no mapping"),
            (
                {"measured": {"N": {"value": 1.0}}},
                "N of .*, measured, is {'value': 1.0}, no exponent with its interval",
            ),
            ({"provenance": ["who"]}, "it does not say what made it"),
            ({"provenance": {"schema": SCHEMA_VERSION}}, "it does not say what made it"),
        ],
    )
    def test_verdicts_of_another_content(self, results, tmp_path, change, why):
        rows = json.loads((results / "verdicts.json").read_text())
        rows[1] = {key: value for key, value in (rows[1] | change).items() if value is not ...}
        (tmp_path / "verdicts.json").write_text(json.dumps(rows))
        with pytest.raises(DamagedResult, match=rf"verdicts\.json is damaged \({why}\): run python"):
            Results(tmp_path).verdicts()

    @pytest.mark.parametrize(
        ("certified", "why"),
        [
            (None, "bacc-rate has no certified evidence"),
            ({"S": fitted(2.0)}, "bacc-rate, certified, lacks N"),
        ],
    )
    def test_evidence_that_a_figure_lacks(self, results, tmp_path, certified, why):
        shutil.copytree(results, tmp_path / "out", ignore=shutil.ignore_patterns("figures", "report"))
        rows = json.loads((results / "verdicts.json").read_text())
        rows = [row | ({"certified": certified} if row["claim"] == "bacc-rate" else {}) for row in rows]
        (tmp_path / "out" / "verdicts.json").write_text(json.dumps(rows))
        with pytest.raises(DamagedResult, match=rf"verdicts\.json is damaged \({why}\): run python"):
            FIGURES["error-against-workers"].draw(Results(tmp_path / "out"), 6.9)
        plt.close("all")

    @pytest.mark.parametrize("fit", ["inconclusive: local slopes 0.41 to 1.20", fitted(1.0) | {"value": None}])
    def test_fits_that_have_not_settled_are_no_damage(self, results, tmp_path, fit):
        shutil.copytree(results, tmp_path / "out", ignore=shutil.ignore_patterns("figures", "report"))
        rows = json.loads((results / "verdicts.json").read_text())
        for row in rows:
            row |= {kind: dict.fromkeys(row[kind] or {"another": 1.0}, fit) for kind in ("certified", "measured")}
        (tmp_path / "out" / "verdicts.json").write_text(json.dumps(rows))
        with style():
            for name in MADE:
                FIGURES[name].draw(Results(tmp_path / "out"), 6.9)
        plt.close("all")

    @pytest.mark.parametrize(
        ("table", "why"),
        [
            (certified().drop(columns=["optimum", "bound"]), "it lacks bound, optimum"),
            (certified().iloc[:0], "it has no rows"),
        ],
    )
    def test_tables_of_another_content(self, tmp_path, table, why):
        write_table(tmp_path / "certified.parquet", table, provenance({"program": "test"}))
        with pytest.raises(DamagedResult, match=rf"certified\.parquet is damaged \({why}\): run python"):
            Results(tmp_path).table("certified")

    def test_what_is_damaged_is_never_left_out(self, results, tmp_path):
        """Not even where the main job does without."""
        shutil.copytree(results, tmp_path / "out", ignore=shutil.ignore_patterns("figures", "report"))
        write_table(tmp_path / "out" / "speed.parquet", pd.DataFrame({"method": ["letcc"]}), provenance({}))
        done = run_figures(tmp_path / "out", "--format", "tex")
        assert done.returncode == 0  # it is not read
        done = run_figures(tmp_path / "out", "--only", "decoding-time")
        assert done.returncode == 2
        assert "is damaged (it lacks num_workers, ratio, " in done.stderr
        assert f"run python -m convergence speed --out {tmp_path / 'out'} first" in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
        assert not DamagedResult(tmp_path / "speed.parquet", "").optional

    @pytest.mark.parametrize("options", [(), ("--only", "coded-inputs")])
    def test_as_a_program(self, tmp_path, options):
        """Where the main job makes them, or they were asked for."""
        out = tmp_path / "nowhere"
        done = run_figures(out, *options)
        assert done.returncode == 2
        command = "table1 --study all" if options else "verify"
        assert f"is missing: run python -m convergence {command} --out {out} first" in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
        assert os.listdir(tmp_path) == []

    def test_partial_files_of_a_killed_run_are_not_results(self, tmp_path):
        (tmp_path / ".partial-killed").mkdir()
        (tmp_path / ".partial-killed" / "verdicts.json").write_text("[")
        with pytest.raises(MissingResult, match=r"verdicts\.json is missing"):
            Results(tmp_path).verdicts()

    @pytest.mark.parametrize(
        ("lost", "added", "why"),
        [
            ("bacc-sup", None, "it has no verdict on 'bacc-sup'"),
            (None, "letcc-gone", "there is no claim 'letcc-gone' in this one"),
            ("bacc-sup", "letcc-gone", "there is no claim 'letcc-gone' in this one"),
        ],
    )
    def test_verdicts_on_other_claims(self, results, tmp_path, lost, added, why):
        rows = json.loads((results / "verdicts.json").read_text())
        rows = [row for row in rows if row["claim"] != lost] + [rows[0] | {"claim": added}] * bool(added)
        (tmp_path / "verdicts.json").write_text(json.dumps(rows))
        with pytest.raises(MissingResult, match=f"verdicts.json is of another revision, since {why}: run python -m"):
            Results(tmp_path).verdicts()


class TestSeeds:
    @pytest.mark.parametrize("seed", [0, 1, None])
    def test_different_ones_are_warned_of_once(self, tmp_path, seed):
        write_table(tmp_path / "slopes.parquet", slopes(), provenance({}, 0))
        write_table(tmp_path / "measured.parquet", measured(), provenance({}, 0))
        write_rows(tmp_path / "table1.json", table1(), provenance({}, seed))
        (tmp_path / "certified.parquet").write_text("damaged, which is not said here")
        done = run_figures(tmp_path, "--only", "rmse-differences", "--only", "table-1")
        assert done.returncode == 0, done.stderr
        files = "measured.parquet, slopes.parquet of seed 0; table1.json of seed 1"
        warned = f"Warning: {tmp_path} has results of different seeds, so that figures may mix runs: {files}\n"
        assert done.stderr == (warned if seed == 1 else "")


class TestOptions:
    def test_list(self, tmp_path):
        done = run_figures(tmp_path, "--list")
        assert done.returncode == 0
        assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [*FIGURES, "table-1"]
        assert os.listdir(tmp_path) == []

    def test_only_format_and_width(self, results, tmp_path):
        out = tmp_path / "out"
        shutil.copytree(results, out, ignore=shutil.ignore_patterns("figures"))
        options = ("--only", "extremal-function", "--only", "table-1", "--format", "svg", "--format", "md")
        done = run_figures(out, *options, "--width", "column")
        assert done.returncode == 0, done.stderr
        expected = ["extremal-function.json", "extremal-function.svg", "table-1.json", "table-1.md"]
        assert sorted(os.listdir(out / "figures")) == expected
        svg = (out / "figures" / "extremal-function.svg").read_text()
        assert f'width="{3.35 * 72:g}pt"' in svg  # points, of 1/72 inch
        about, table = (json.loads((out / "figures" / name).read_text()) for name in expected[::2])
        assert "--width column" in about["command"]
        assert list(about["files"]) == ["extremal-function.svg"]
        assert "--only extremal-function --width column --format svg --out" in about["command"]
        assert "--only table-1 --format md --out" in table["command"]

    def test_a_format_that_it_does_not_come_in(self, results):
        done = run_figures(results, "--only", "table-1", "--format", "svg")
        assert done.returncode == 2
        assert "table-1 comes as tex, md, csv, not as svg" in done.stderr

    @pytest.mark.parametrize(
        ("option", "there_are"),
        [
            ("--only", ("error-against-workers", "table-1")),
            ("--format", ("pdf", "tex")),
            ("--width", ("column", "page")),
        ],
    )
    def test_a_wrong_name(self, tmp_path, option, there_are):
        done = run_figures(tmp_path, option, "qqq", COLUMNS="400")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "qqq" in done.stderr
        assert all(name in done.stderr for name in there_are)
