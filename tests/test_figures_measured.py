"""Figures of what is measured, drawn from small made-up results; and the command that times decoding."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from convergence import speed, stability
from convergence.__main__ import app
from figures.registry import FIGURES
from figures.results import MissingResult, Results
from figures.style import WIDTHS, in_decimals, style
from theory.store import provenance, read_table, write_table

QUANTILES = {"p50": 2.0, "p95": 3.0, "p99": 4.0, "p99.9": 8.0}
NAMES = (
    "networks-against-stragglers",
    "smoothing-sensitivity",
    "coded-inputs",
    "numerical-stability",
    "latency-tails",
    "error-against-deadline",
    "tail-against-redundancy",
    "decoding-time",
)
INPUT = dict(zip(NAMES, ["studies", "studies", "coded_inputs", "lebesgue", *["latency"] * 3, "speed"], strict=True))
SUBJECTS = ({"network": "lenet5", "dataset": "digits"}, {"network": "vit", "dataset": "cifar10"})
every_width = pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)


def with_interval(column, value):
    return {column: value, f"{column}_low": 0.5 * value, f"{column}_high": 2 * value}


def studies():
    sizes = {"num_workers": 100, "num_data": 20}
    rows = []
    for scheme, level in (("BACC", 0.4), ("LeTCC", 0.2), ("recommended", 0.1)):
        for metric, sign in (("rmse", 1), ("relative_accuracy", 0.5), ("label_accuracy", 1e6)):
            for s in (0, 20, 40):
                about = {"study": "stragglers", "metric": metric, "scheme": scheme, "num_stragglers": s}
                rows.append(sizes | about | with_interval("mean", sign * level * (s + 1)))
    for e in (0.0, 1e-7, 1e-3):
        for d in (0.0, 1e-7, 1e-3):
            about = {"study": "smoothing", "metric": "rmse", "scheme": f"{e:g}, {d:g}", "num_stragglers": 40}
            # least at lambda_e = 1e-7 and lambda_d = 1e-3; 1.5 times that in its row, 9 times elsewhere
            error = 1.0 if (e, d) == (1e-7, 1e-3) else 1.5 if e == 1e-7 else 9.0
            rows.append(sizes | about | with_interval("mean", error))
    return pd.DataFrame([row | subject for subject in SUBJECTS for row in rows])


def coded_inputs():
    return pd.DataFrame(
        subject | {"scheme": scheme, "worker": worker, "shape": shape, "pixels": np.linspace(-0.1, 1.1, 4 * channels)}
        for subject, shape, channels in zip(SUBJECTS, ("1x2x2", "3x2x2"), (1, 3), strict=True)
        for scheme in ("BACC", "recommended")
        for worker in (0, 7, 19)
    )


def latency():
    rows = []
    for model, factor in (("Pareto", 1.0), ("bimodal", 10.0)):
        for task in ("smooth", "LeNet5"):
            for scheme in ("LeTCC", "BACC", "recommended", "Lagrange", "uncoded", "replicated"):
                about = {"latency": model, "task": task, "scheme": scheme, "workers": 100, "data": 20}
                baseline = scheme in ("uncoded", "replicated")
                for wait in (20,) if baseline else (39, 60, 80) if scheme == "Lagrange" else (50, 60, 80):
                    row = {"rule": "wait for", "wait_for": wait, "deadline": None} | with_interval("decoded", 1.0)
                    for name, value in QUANTILES.items():
                        row |= with_interval(name, factor * value * wait)
                    rows.append(about | row)
                for deadline, decoded in ((1.5, 0.01), (2.0, 0.6), (11.0, 1.0)):
                    row = {"rule": "deadline", "wait_for": None, "deadline": deadline}
                    row |= with_interval("decoded", decoded)
                    error = with_interval("rmse", factor / deadline)
                    accuracy = with_interval("relative_accuracy", 0.05 * deadline if task == "LeNet5" else np.nan)
                    rows.append(about | row | error | accuracy)
    return pd.DataFrame(rows)


def speeds():
    times = {"letcc": 1e-4, "letcc without numba": 1e-3, "SciPy": 2e-3, "csaps": 3e-3}
    return pd.DataFrame(
        {"method": method, "num_workers": n, "num_data": 20}
        | with_interval("seconds", n * seconds)
        | with_interval("ratio", seconds / 1e-4)
        for method, seconds in times.items()
        for n in (32, 128)
    )


def stabilities():
    rows = [
        {"method": method, "dtype": dtype, "error": error}
        for method in stability.METHODS
        for dtype, unit in (("float16", 1e-3), ("float32", 1e-7), ("float64", 1e-16))
        for error in (unit, 2 * unit, 8 * unit)
    ]
    return pd.DataFrame([*rows, {"method": "sobolev", "dtype": "float16", "error": np.inf}])


def lebesgues():
    return pd.DataFrame(
        {"method": method, "n": n} | with_interval("lebesgue", float(n * (place + 1)))
        for place, method in enumerate(stability.METHODS)
        for n in (8, 64)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("results")
    tables = {
        "studies": studies(),
        "coded_inputs": coded_inputs(),
        "latency": latency(),
        "speed": speeds(),
        "stability": stabilities(),
        "lebesgue": lebesgues(),
    }
    for name, table in tables.items():
        write_table(found / f"{name}.parquet", table, provenance({"program": "test"}))
    return found


@pytest.fixture
def draw(folder):
    figures = []

    def drawn(name, width=WIDTHS["page"]):
        figures.append(FIGURES[name].draw(Results(folder), width))
        return figures[-1]

    with style():
        yield drawn
        for figure in figures:
            plt.close(figure)


def lines(axis):
    return {line.get_label(): line for line in axis.lines}


def band(axis, number=0):
    """The x, low and high of a band."""
    points = axis.collections[number].get_paths()[0].vertices
    x = np.unique(points[:, 0])
    ends = [points[points[:, 0] == at, 1] for at in x]
    return x, [end.min() for end in ends], [end.max() for end in ends]


@every_width
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_or_overlaps(draw, name, width):
    figure = draw(name, width)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    assert figure.get_size_inches()[1] <= 9.2  # of a page
    figure.draw_without_rendering()
    paper = figure.bbox
    boxes = [axis.get_tightbbox() for axis in figure.axes]
    texts = [text for axis in figure.axes for text in (axis.title, axis.xaxis.label, axis.yaxis.label)]
    texts += [text for legend in figure.legends for text in legend.get_texts()]
    for box in [*boxes, *(text.get_window_extent() for text in texts if text.get_text())]:
        assert box.x0 >= paper.x0 - 1
        assert box.x1 <= paper.x1 + 1
        assert box.y0 >= paper.y0 - 1
        assert box.y1 <= paper.y1 + 1
    pairs = [(a, b) for number, a in enumerate(boxes) for b in boxes[:number]]
    assert not any(a.padded(-2).overlaps(b.padded(-2)) for a, b in pairs)
    for axis in figure.axes:
        for side in (axis.xaxis, axis.yaxis):
            labels = [label for label in side.get_ticklabels() if label.get_text() and label.get_rotation() == 0]
            extents = sorted((label.get_window_extent() for label in labels), key=lambda e: (e.x0, e.y0))
            assert not any(a.overlaps(b) for a, b in pairwise(extents)), [label.get_text() for label in labels]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_table_is_named_with_the_command_that_makes_it(tmp_path, name):
    commands = {
        "studies": "table1 --study all",
        "coded_inputs": "table1 --study all",
        "lebesgue": "stability",
        "latency": "latency",
        "speed": "speed",
    }
    with pytest.raises(
        MissingResult,
        match=f"{INPUT[name]}.parquet is missing: run python -m convergence {commands[INPUT[name]]} --out",
    ) as caught:
        FIGURES[name].draw(Results(tmp_path), 6.9)
    assert caught.value.optional


@pytest.mark.parametrize(
    ("made", "figure", "lacking"),
    [
        ("stragglers", "smoothing-sensitivity", "smoothing"),
        ("smoothing", "networks-against-stragglers", "stragglers"),
    ],
)
def test_a_study_that_was_not_made_is_named(tmp_path, made, figure, lacking):
    write_table(tmp_path / "studies.parquet", studies().query("study == @made"), provenance({"program": "test"}))
    why = f"is without the study '{lacking}': run python -m convergence table1 --study all --out"
    with pytest.raises(MissingResult, match=why) as caught:
        FIGURES[figure].draw(Results(tmp_path), 6.9)
    assert caught.value.optional


@every_width
def test_networks_against_stragglers(draw, width):
    figure = draw("networks-against-stragglers", width)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == [f"{who}, N = 100, K = 20" for who in ("LeNet5 on digits", "ViT on CIFAR-10") for _ in range(2)]
    for axis, (label, factor) in zip(figure.axes, 2 * [("RMSE", 1), ("relative accuracy", 0.5)], strict=True):
        assert axis.get_ylabel() == label
        for number, (scheme, level) in enumerate({"BACC": 0.4, "LeTCC": 0.2, "recommended": 0.1}.items()):
            expected = factor * level * np.array([1, 21, 41])
            np.testing.assert_allclose(lines(axis)[scheme].get_xydata().T, [[0, 20, 40], expected])
            np.testing.assert_allclose(band(axis, number), [[0, 20, 40], expected / 2, 2 * expected])


def test_smoothing_sensitivity(draw):
    axis = draw("smoothing-sensitivity").axes[0]
    image = axis.images[0].get_array()
    np.testing.assert_allclose(image, [[9, 9, 9], [1.5, 1.5, 1], [9, 9, 9]])  # lambda_e upwards, lambda_d across
    assert axis.images[0].origin == "lower"
    marked = {line.get_marker(): [] for line in axis.lines}
    for line in axis.lines:
        marked[line.get_marker()].append(tuple(line.get_xydata()[0]))
    # 1.5 / 2 is below 1 * 2, and 9 / 2 is not
    assert marked == {"*": [(2, 1)], ".": [(0, 1), (1, 1)]}
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0"]  # every fourth of the nine of a study


def test_coded_inputs(draw):
    figure = draw("coded-inputs")
    grid = np.array(figure.axes).reshape(4, 3)
    titles = [[axis.get_title() for axis in row] for row in grid]
    workers = [rf"$\beta_{{{n}}}$" for n in (0, 7, 19)]
    assert titles == [workers, [""] * 3, workers, [""] * 3]
    grey, colour = grid[0, 0].images[0].get_array(), grid[3, 2].images[0].get_array()
    np.testing.assert_allclose(grey, [[0, 0.3], [0.7, 1]])  # clipped to what can be seen
    assert colour.shape == (2, 2, 3)
    np.testing.assert_allclose(colour[0, 0], np.linspace(-0.1, 1.1, 12)[[0, 4, 8]].clip(0, 1))
    assert [row[0].get_ylabel() for row in grid[:2]] == ["LeNet5,\ndigits\nBACC", "recommended"]


def test_numerical_stability(draw):
    left, right = draw("numerical-stability").axes
    np.testing.assert_allclose(lines(left)["spline"].get_xydata(), [[8, 8], [64, 64]])
    np.testing.assert_allclose(band(left, 2), [[8, 64], [12, 96], [48, 384]])  # Lagrange, the third
    bars = {bars.get_label(): bars for bars in right.containers if bars.get_label() in ("float16", "float64")}
    low, high = bars["float64"].lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((1e-16, 8e-16))
    assert bars["float16"].lines[0].get_ydata() == pytest.approx(2e-3)
    infinite = [line for line in right.lines if line.get_marker() == r"$\infty$"]
    assert [line.get_xdata().tolist() for line in infinite] == [[4 - 0.25]]  # Sobolev, the fifth, in half precision


def test_latency_tails(draw):
    figure = draw("latency-tails")
    for axis, factor in zip(figure.axes, (1, 10), strict=True):
        waits = {"uncoded": 20, "replicated": 20, "coded, any 60 of 100": 60, "coded, any 80 of 100": 80}
        for number, (label, wait) in enumerate((waits | {"Lagrange, any 39": 39}).items()):
            expected = factor * wait * np.array(list(QUANTILES.values()))
            np.testing.assert_allclose(lines(axis)[label].get_ydata(), expected)
            np.testing.assert_allclose(band(axis, number)[1:], [expected / 2, 2 * expected])


def test_error_against_deadline(draw):
    axes = np.array(draw("error-against-deadline").axes).reshape(3, 4)
    for column, factor in zip(axes.T, (1, 10), strict=False):
        errors, accuracies, shares = map(lines, column)
        assert set(errors) == set(accuracies) == {"LeTCC", "BACC", "recommended", "Lagrange"}  # the others are exact
        # from the deadline on by which one round in twenty is decoded; counted from the fastest answer
        np.testing.assert_allclose(errors["BACC"].get_xydata(), [[1, factor / 2], [10, factor / 11]])
        np.testing.assert_allclose(accuracies["BACC"].get_xydata(), [[1, 0.1], [10, 0.55]])
        for scheme in (*errors, "uncoded", "replicated"):
            np.testing.assert_allclose(shares[scheme].get_xydata(), [[0.5, 0.01], [1, 0.6], [10, 1]])
        np.testing.assert_allclose(band(column[2], 0)[1:], [[0.005, 0.3, 0.5], [0.02, 1.2, 2]])


def test_tail_against_redundancy(draw):
    axis = draw("tail-against-redundancy").axes[1]
    found = lines(axis)
    waits = np.array([50, 60, 80])
    for quantile in ("p99", "p99.9"):
        expected = 10 * QUANTILES[quantile]
        np.testing.assert_allclose(found[f"coded, {quantile}"].get_xydata().T, [100 / waits, expected * waits])
        for scheme, redundancy in (("replicated", 5), ("uncoded", 1)):
            (bars,) = [each for each in axis.containers if each.get_label() == f"{scheme}, {quantile}"]
            assert bars.lines[0].get_xydata().tolist() == [[redundancy, 20 * expected]]
            assert bars.lines[2][0].get_segments()[0][:, 1] == pytest.approx([10 * expected, 40 * expected])


def test_decoding_time(draw):
    times, ratios = draw("decoding-time").axes
    np.testing.assert_allclose(lines(times)["SciPy"].get_xydata(), [[32, 64], [128, 256]])  # milliseconds
    np.testing.assert_allclose(band(times, 2), [[32, 128], [32, 128], [128, 512]])
    np.testing.assert_allclose(lines(ratios)["csaps"].get_ydata(), [30, 30])
    assert set(lines(ratios)) == set(lines(times)) == set(speed.decoders())


def test_decimals_on_a_logarithmic_axis():
    with style():
        figure, axis = plt.subplots()
        axis.set(xscale="log", xlim=(0.9, 22))
        in_decimals(axis.xaxis)
        figure.canvas.draw()
        shown = [text.get_text() for text in axis.get_xticklabels() if 0.9 <= float(text.get_text()) <= 22]
        assert shown == ["1", "2", "5", "10", "20"]
        plt.close(figure)


class TestSpeed:
    def test_all_ways_build_the_same_spline(self):
        decoders = speed.decoders()
        assert list(decoders) == ["letcc", "letcc without numba", "SciPy", "csaps"]
        rng = np.random.default_rng(0)
        nodes, targets = np.sort(rng.uniform(-1, 1, 64)), np.linspace(-0.9, 0.9, 7)
        outputs = rng.standard_normal((64, 3))
        answers = {name: decode(nodes, outputs, targets) for name, decode in decoders.items()}
        expected = ridge(nodes, outputs, targets, speed.SMOOTHING)
        for name, answer in answers.items():
            np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-8, err_msg=name)

    def test_what_is_not_installed_is_left_out(self, monkeypatch):
        monkeypatch.setattr(speed, "find_spec", lambda name: None)
        monkeypatch.setattr(speed.spline, "_compiled", lambda: None)
        assert list(speed.decoders()) == ["letcc", "SciPy"]

    def test_numba_is_left_aside_for_the_call_alone(self):
        compiled = speed.spline._compiled
        nodes = np.linspace(-1, 1, 9)
        speed.decoders()["letcc without numba"](nodes, nodes[:, None], nodes[1:3])
        assert speed.spline._compiled is compiled

    def test_the_program(self, tmp_path):
        finished = CliRunner().invoke(app, ["speed", "--quick", "--out", str(tmp_path)])
        assert finished.exit_code == 0, finished.output
        table = read_table(tmp_path / "speed.parquet")
        assert table.attrs["provenance"]["spec"] == {
            "program": "speed",
            "repeats": 10,
            "outputs": 10,
            "smoothing": 1e-6,
        }
        assert list(zip(table.num_workers, table.method, strict=True)) == [
            (n, method) for n in (32, 256, 2048) for method in speed.decoders()
        ]
        assert set(table.num_data) == {20}
        for column in ("seconds", "ratio"):
            low, middle, high = (table[column + end] for end in ("_low", "", "_high"))
            assert ((low > 0) & (low <= middle) & (middle <= high)).all()
        ours = table[table.method == "letcc"]
        assert (ours[["ratio_low", "ratio", "ratio_high"]] == 1).all(axis=None)
        assert (table[table.method != "SciPy"].deviation < 1e-9).all()
        for row in table[table.method != "letcc"].to_dict("records"):
            assert f"{row['ratio']:.3g} ({row['ratio_low']:.3g} .. {row['ratio_high']:.3g})" in finished.output

    def test_a_folder_that_cannot_be_written_to(self, tmp_path):
        (tmp_path / "file").touch()
        finished = CliRunner().invoke(app, ["speed", "--quick", "--out", str(tmp_path / "file" / "below")])
        assert finished.exit_code == 2
        assert "nothing can be written to" in finished.stderr


def ridge(nodes, outputs, targets, smoothing):
    """The smoothing spline from its kernel, densely."""
    n = nodes.size
    kernel = np.abs(nodes[:, None] - nodes) ** 3 / 12
    lines_ = np.stack([np.ones(n), nodes], axis=1)
    system = np.block([[kernel + n * smoothing * np.eye(n), lines_], [lines_.T, np.zeros((2, 2))]])
    solved = np.linalg.solve(system, np.concatenate([outputs, np.zeros((2, outputs.shape[1]))]))
    at = np.concatenate([np.abs(targets[:, None] - nodes) ** 3 / 12, np.stack([targets**0, targets], axis=1)], axis=1)
    return at @ solved


class TestLebesgueConstants:
    def test_methods_that_agree_on_straight_lines(self):
        table = stability.lebesgue(("spline", "berrut", "lagrange"))
        assert list(table.columns) == ["method", "n", "lebesgue", "lebesgue_low", "lebesgue_high"]
        assert (table.lebesgue_low <= table.lebesgue).all()
        assert (table.lebesgue <= table.lebesgue_high).all()
        assert (table.lebesgue_low >= 1).all()  # constants are reproduced
        last = table[table.n == max(stability.SIZES)].set_index("method").lebesgue
        assert last["spline"] < last["berrut"] < 100 < 1e12 < last["lagrange"]

    def test_the_same_sets_on_every_run_and_for_any_choice_of_methods(self):
        some = stability.lebesgue(("berrut",))
        pd.testing.assert_frame_equal(some, stability.lebesgue(("berrut",)))
        several = stability.lebesgue(("spline", "berrut"))
        pd.testing.assert_frame_equal(some, several[several.method == "berrut"].reset_index(drop=True))
