import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from typer.testing import CliRunner

import figures.__main__
import figures.report
from figures.inline import inline
from figures.notation import notation
from figures.report import write_report
from figures.results import MissingResult, Results
from figures.style import style
from letcc.rates import Verdict
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS
from theory.evidence.attainment import extremal_curves
from theory.report import UNMET
from theory.store import provenance, write_rows, write_table

CHECKOUT = Path(__file__).parents[1]
VALUES = {claim.id: -0.1 - place for place, claim in enumerate(CLAIMS)}  # of certified exponents, all different
RMSE = {"BACC": 3.7, "LeTCC": 10.25, "LeTCC, lambda = 0": 3.19}


def draw_lines(results, width):
    figure, axis = plt.subplots(figsize=(width, 2))
    axis.plot([1, 2], [1, 2], "o-", color="0.4", label="a line")
    axis.legend()
    return figure


def draw_image(results, width):
    figure, axis = plt.subplots(figsize=(width, 2))
    axis.imshow(np.eye(3), cmap="gray")
    return figure


def draw_missing(results, width):
    return results.table("latency")


PICTURES = {
    "lines": SimpleNamespace(CAPTION="Lines of g''^2.", CLAIMS=("letcc-noiseless", "bacc-rate"), draw=draw_lines),
    "more-lines": SimpleNamespace(CAPTION="More lines.", CLAIMS=("bacc-rate",), draw=draw_lines),
    "an-image": SimpleNamespace(CAPTION="Pixels.", CLAIMS=(), draw=draw_image),
    "latency-tails": SimpleNamespace(CAPTION="How long workers take.", CLAIMS=(), draw=draw_missing),
}


def every_row():
    rows = []
    for claim in CLAIMS:
        value = VALUES[claim.id]
        found = {
            name: {"value": value, "low": value - 0.25, "high": value + 0.25, "window": [32.0, 4096.0], "judged": True}
            for name in claim.exponents
        } | {"not judged": {"value": 7.5, "low": 7.0, "high": 8.0, "window": [], "judged": False}, "note": "by eye"}
        if not claim.exponents:
            found = {"largest ratio": 0.5, "another number": 1e-12} | found
        measured = {"lenet5, RMSE - BACC's": {"value": -0.5, "low": -0.75, "high": -0.25}}
        kinds = {"measured": measured} if claim.evidence is None else {"certified": found}
        rows.append(claim_row(claim, claim.expected, **kinds))
    return rows


def write_results(folder, rows=None, **about):
    origin = provenance({"program": "verify", "images": "digits"}, 0) | about
    write_rows(folder / "verdicts.json", rows or every_row(), origin)
    table = [
        {"network": "lenet5", "dataset": "digits", "num_workers": 100, "num_data": 20, "num_stragglers": 60}
        | {"scheme": scheme, "rmse_mean": rmse, "rmse_std": 0.5, "relacc_mean": 0.9, "relacc_std": 0.05, "trials": 100}
        | {"paper_rmse": None, "rmse_difference": rmse - RMSE["BACC"]}
        | {"rmse_difference_low": rmse - RMSE["BACC"] - 0.1, "rmse_difference_high": rmse - RMSE["BACC"] + 0.1}
        for scheme, rmse in RMSE.items()
    ]
    write_rows(folder / "table1.json", table, origin)
    return folder


@pytest.fixture(scope="module")
def pictures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures.report, "FIGURES", PICTURES)
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory, pictures):
    return write_report(write_results(tmp_path_factory.mktemp("results")))


@pytest.fixture(scope="module")
def page(path):
    return path.read_text(encoding="utf-8")


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def words(markup):
    inside = re.sub(r"</?(?:a|code|span|strong|sub|sup)\b[^>]*>", "", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", inside)).split())


def sections(page):
    """The text of every claim in full."""
    return {
        name: words(content)
        for name, content in re.findall(r'<details class="claim" id="claim-([^"]+)">(.*?)</details>', page, re.DOTALL)
    }


class TestContent:
    def test_every_claim_with_its_verdict(self, page):
        table = page.split("<tbody>")[1].split("</tbody>")[0]
        rows = [words(row) for row in table.split("</tr>")[:-1]]
        assert len(rows) == len(CLAIMS) == len(sections(page))
        for row, claim, in_full in zip(rows, CLAIMS, sections(page).items(), strict=True):
            assert row.startswith(f"{claim.id} {claim.expected} ")
            assert ("false claim" in row) == claim.control
            if claim.exponents and claim.evidence:
                assert f"{VALUES[claim.id]:.2f} ± 0.25".replace("-", "−") in row
            name, text = in_full
            assert name == claim.id
            assert words(notation(claim.statement)) in text
            assert words(notation(claim.citation)) in text
            for assumption in claim.assumptions:
                met, why = assumption.check(claim)
                statement = words(notation(assumption.statement))
                shown = f"{'Met' if met else 'Not met'} {statement} {words(notation(why))}"
                assert shown + ("" if met else f". {words(UNMET)}") in text
            command = f"python -m theory --claim {claim.id}" if claim.evidence else "python -m convergence"
            assert text.endswith(f"Again {command}")

    def test_numbers_of_a_claim(self, page):
        text = sections(page)["letcc-noisy"]
        value = f"−{-VALUES['letcc-noisy']:.2f} ± 0.25"
        assert f"N −0.6 {value} fitted from 32 to 4096 S 1.6 {value} fitted from 32 to 4096" in text
        assert "not judged (7.50 ± 0.50)" in text
        assert "note by eye" in text
        assert "σ = 0.03" in text

    def test_columns_without_numbers_are_left_out(self, page):
        text = sections(page)
        assert "Numbers Quantity Measured lenet5, RMSE − BACC's −0.50 ± 0.25 Again" in text["table-1"]
        assert "Numbers Quantity Predicted Certified N −3 " in text["letcc-noiseless"]
        assert "λd tuned on training images" in text["table-1"]

    def test_windows_have_few_digits(self, tmp_path, pictures):
        rows = every_row()
        rows[0]["certified"]["N"]["window"] = [0.000244140625, 0.0859375]
        text = sections(write_report(write_results(tmp_path, rows)).read_text(encoding="utf-8"))["letcc-noiseless"]
        assert "fitted from 0.00024 to 0.086" in text

    def test_names_that_are_not_plain_are_explained(self, tmp_path, pictures, page):
        rows = every_row()
        rows[0]["certified"] |= {"growth, S=3": rows[0]["certified"]["N"], "at a single data point": "1"}
        text = sections(write_report(write_results(tmp_path, rows)).read_text(encoding="utf-8"))["letcc-noiseless"]
        assert "growth: exponent in N of the error over the claimed rate" in text
        assert "at a single data point: the same ratio" in text
        assert "growth: " not in sections(page)["letcc-noiseless"]

    def test_a_source_does_not_contradict_itself(self, page):
        text = sections(page)
        assert "no paper: made up to be refuted" in text["bacc-n3"]
        assert "own finding" not in text["bacc-n3"]
        assert "this project (own finding)" in text["bacc-rate"]
        assert "arXiv:1806.00939 (recalled)" in text["lagrange-threshold"]

    def test_the_table_shows_what_the_verdict_rests_on(self, page):
        rows = dict(re.findall(r'<th scope="row"><a href="#claim-([^"]+)">(.*?)</tr>', page, re.DOTALL))
        assert "N−3/5 S8/5" in words(rows["letcc-noisy"])
        assert "largest ratio: 0.5" in words(rows["certificate"])
        assert "another number" not in rows["certificate"]
        assert "by eye" not in page.split("Claims in full")[0]

    def test_all_as_expected(self, page):
        controls = sum(claim.control for claim in CLAIMS)
        text = words(page)
        assert f"{len(CLAIMS)} of {len(CLAIMS)} verdicts are as expected" in text
        assert f"{controls} of {controls} false claims, which are here on purpose, are refuted." in text
        assert 'class="alarm"' not in page

    def test_what_is_not_as_expected_is_said_on_top(self, tmp_path, pictures):
        rows = every_row()
        rows[0]["verdict"], rows[-1]["verdict"] = Verdict.INCONCLUSIVE, Verdict.HOLDS
        page = write_report(write_results(tmp_path, rows)).read_text(encoding="utf-8")
        top = words(page.split("<nav")[0])
        controls = sum(claim.control for claim in CLAIMS)
        assert f"{len(CLAIMS) - 2} of {len(CLAIMS)} verdicts are as expected" in top
        assert f"{controls - 1} of {controls} false claims" in top
        assert f"{CLAIMS[0].id}: inconclusive expected: {CLAIMS[0].expected}" in top
        assert f"{CLAIMS[-1].id}: holds expected: refuted" in top

    def test_what_is_inconclusive_is_no_alarm(self, tmp_path, pictures):
        rows = every_row()
        rows[0]["verdict"] = Verdict.INCONCLUSIVE
        page = write_report(write_results(tmp_path, rows)).read_text(encoding="utf-8")
        assert "alarm" not in {attributes.get("class") for _, attributes in Tags(page).found}
        assert 'unexpected"' not in page
        rows[0]["verdict"] = Verdict.REFUTED
        page = write_report(write_results(tmp_path, rows)).read_text(encoding="utf-8")
        assert 'class="alarm"' in page
        assert 'class="badge refuted unexpected"' in page

    def test_a_quick_run_is_marked_on_top(self, tmp_path, pictures, page):
        rows = every_row()
        rows[0]["verdict"] = Verdict.INCONCLUSIVE
        out = write_results(tmp_path, rows, spec={"program": "verify", "quick": True})
        top = words(write_report(out).read_text(encoding="utf-8").split("<h1")[0])
        assert top.endswith("Quick run: short sweeps, some verdicts inconclusive")
        assert "short sweeps" not in page

    @pytest.mark.parametrize(
        ("about", "theory", "convergence"),
        [
            ({"seed": 3}, "--claim letcc-noiseless --seed 3 ", "convergence --seed 3"),
            (
                {"seed": 3, "spec": {"program": "verify", "quick": True}},
                "--claim letcc-noiseless --seed 3 --quick ",
                "convergence --seed 3 --quick",
            ),
            (
                {"spec": {"program": "verify", "images": "mnist"}},
                "--claim letcc-noiseless ",
                "convergence --data-root FOLDER",
            ),
        ],
    )
    def test_commands_of_other_runs(self, tmp_path, pictures, about, theory, convergence):
        rows = every_row()
        rows[0]["measured"] = rows[0]["certified"]
        page = write_report(write_results(tmp_path, rows, **about)).read_text(encoding="utf-8")
        assert sections(page)["letcc-noiseless"].endswith(f"Again python -m theory {theory}python -m {convergence}")

    def test_table_1(self, page):
        tables = page.split('<h2 id="table-1">')[1].split("</section>")[0].split("<tbody>")[1:]
        rows, papers = ([words(row) for row in table.split("</tbody>")[0].split("</tr>")[:-1]] for table in tables)
        assert rows == [
            "LeNet5 digits (100, 20, 60) BACC 3.70 ± 0.50 – 0.900 ± 0.050",
            "LeNet5 digits (100, 20, 60) LeTCC 10.25 ± 0.50 +6.45 to +6.65 0.900 ± 0.050",
            "LeNet5 digits (100, 20, 60) LeTCC, λ = 0 3.19 ± 0.50 −0.61 to −0.41 0.900 ± 0.050",
        ]
        assert "LeNet5 MNIST LeTCC 2.18 ± 0.51 0.94 ± 0.04" in papers

    def test_provenance(self, page, path):
        text = words(page.split('<h2 id="provenance">')[1])
        origin = Results(path.parents[1]).rows("verdicts")[0]["provenance"]
        assert f"Seed 0 Versions letcc {origin['versions']['letcc']}, numpy {np.__version__}, " in text
        assert f"Revision {origin['revision'] or 'unknown'}" in text
        assert "Spec program: verify, images: digits" in text
        for name in ("table1.json", "verdicts.json"):
            digest = hashlib.sha256((path.parents[1] / name).read_bytes()).hexdigest()
            assert f"{name} verify, seed 0 {(origin['revision'] or 'unknown')[:12]} {digest}" in text


class TestMarkup:
    def test_hostile_texts_are_shown_not_run(self, tmp_path, pictures, monkeypatch):
        hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> {{ 7 * 6 }}"
        rows = every_row()
        for row in rows[:2]:
            row |= {"statement": hostile, "source": hostile, "certified": {hostile: 0.5, "note": hostile}}
        captions = {"lines": SimpleNamespace(CAPTION=hostile, CLAIMS=(), draw=draw_lines)}
        monkeypatch.setattr(figures.report, "FIGURES", captions)
        out = write_results(tmp_path, rows, seed=hostile, versions={hostile: hostile}, spec={"program": hostile})
        page = write_report(out).read_text(encoding="utf-8")
        tags = Tags(page).found
        assert [tag for tag, _ in tags].count("script") == 1
        assert not [tag for tag, _ in tags if tag == "img"]
        assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
        assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 8
        assert "42" not in sections(page)["letcc-noiseless"].split("Assumptions")[0]

    def test_nothing_comes_from_elsewhere(self, page):
        tags = Tags(page).found
        for tag, attributes in tags:
            for name in ("src", "srcset", "href", "data", "action", "poster"):
                target = attributes.get(name, "#")
                assert target.startswith(("#", "data:")) or (tag == "a" and target.startswith("https://arxiv.org/abs/"))
        assert set(re.findall(r"url\((.)", page)) == {"#"}
        assert "@import" not in page
        policies = [a["content"] for t, a in tags if t == "meta" and "http-equiv" in a]
        assert policies[0].startswith("default-src 'none';")

    def test_ids_are_unique_and_links_lead_to_them(self, page):
        tags = Tags(page).found
        ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
        assert sorted(set(ids)) == sorted(ids)
        links = {a["href"][1:] for _, a in tags if a.get("href", "").startswith("#")}
        links |= set(re.findall(r"url\(#([^)]+)\)", page))
        links |= {each for _, a in tags for each in a.get("aria-labelledby", "").split()}
        assert len(links) > 2 * len(CLAIMS)
        assert links <= set(ids)

    def test_pictures_have_text_alternatives(self, page):
        drawn = [name for name in PICTURES if name != "latency-tails"]
        pictures = [attributes for tag, attributes in Tags(page).found if tag == "svg"]
        assert all(picture["role"] == "img" for picture in pictures)
        shown = [picture["aria-labelledby"] for picture in pictures]
        in_claims = ["lines", "lines", "more-lines"]
        assert shown == [f"title-{name} desc-{name}" for name in [*in_claims, *drawn]]
        for name in drawn:
            assert f'<desc id="desc-{name}">{html.escape(PICTURES[name].CAPTION, quote=False)}' in page.replace(
                "&#39;", "'"
            )

    def test_pictures_take_the_colours_of_the_page_unless_they_have_images(self):
        with style():
            lines, pixels = inline(draw_lines(None, 3.0), "lines"), inline(draw_image(None, 3.0), "pixels")
        assert (lines.on_paper, pixels.on_paper) == (False, True)
        assert not re.search(r"#([0-9a-f]{2})\1\1\b", lines.content)
        assert "color-mix(in srgb, var(--ink) 60%, var(--card))" in lines.content  # of 0.4
        assert "var(--" not in pixels.content
        assert "<metadata" not in lines.content
        assert "<style" not in lines.content
        assert {name.split("-")[0] for name in re.findall(r'(?:id="|#)([a-zA-Z][^"); ]*)', lines.content)} == {"lines"}


class TestNotation:
    @pytest.mark.parametrize(
        ("plain", "shown"),
        [
            ("O(S^(8/5) N^(-3/5))", "O(S<sup>8/5</sup> N<sup>−3/5</sup>)"),
            ("O(N^(6/5 (a-1)))", "O(N<sup>6/5 (a−1)</sup>)"),
            ("log_{1/p}^3(N) N^-3.", "log<sub>1/p</sub><sup>3</sup>(N) N<sup>−3</sup>."),
            ("pi^2/4", "π<sup>2</sup>/4"),
            ("int g''^2 <= 1", "∫ g″<sup>2</sup> ≤ 1"),
            ("(1/n) sum (y - u)^2", "(1/n) Σ (y − u)<sup>2</sup>"),
            (
                "the loss over the sum of its two parts; the sum (of both)",
                "the loss over the sum of its two parts; the sum (of both)",
            ),
            ("lambda_e/4 int x''^2.", "λ<sub>e</sub>/4 ∫ x″<sup>2</sup>."),
            ("the encoder's, |F| >= (K-1) deg f", "the encoder&#39;s, |F| ≥ (K−1) deg f"),
            ("8.88e-16", "8.88 × 10<sup>−16</sup>"),
            ("3.4e+03", "3.4 × 10<sup>3</sup>"),
            ("B-spline, letcc-n3.5, not-a-knot", "B-spline, letcc-n3.5, not-a-knot"),
            ("arXiv 2406.00300 v2", '<a href="https://arxiv.org/abs/2406.00300">arXiv:2406.00300 v2</a>'),
            ("<b>^2 & 'x'", "&lt;b&gt;<sup>2</sup> &amp; &#39;x′"),
        ],
    )
    def test_of_plain_formulas(self, plain, shown):
        assert notation(plain) == shown


class TestProgram:
    def test_the_same_bytes_on_every_run(self, tmp_path):
        """With a figure of the project's own, under another hash seed and in another time zone."""
        write_results(tmp_path)
        write_table(tmp_path / "extremal.parquet", extremal_curves(), provenance({"program": "theory"}, 0))
        code = (
            "from pathlib import Path; from figures import report; name = 'extremal-function'; "
            "report.FIGURES = {name: report.FIGURES[name]}; report.write_report(Path('.'))"
        )
        pages = []
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
            environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(CHECKOUT)}
            subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
            pages.append((tmp_path / "report" / "index.html").read_bytes())
        assert pages[0] == pages[1]
        assert b'<g id="drawing-extremal-function">' in pages[0]

    def test_what_is_missing_is_said_with_the_command(self, tmp_path, pictures):
        write_results(tmp_path)
        (tmp_path / "table1.json").unlink()
        text = words(write_report(tmp_path).read_text(encoding="utf-8"))
        latency = f"Latency tails — python -m convergence latency --out {tmp_path} latency.parquet is missing"
        assert f"Not drawn, for want of results {latency} Provenance" in text
        assert "How long workers take." not in text
        assert f"Table 1 {tmp_path}/table1.json is missing: run python -m convergence verify --out {tmp_path}" in text

    def test_without_verdicts(self, tmp_path):
        with pytest.raises(MissingResult, match=rf"run python -m convergence verify --out {tmp_path} first"):
            write_report(tmp_path)

    @pytest.fixture
    def no_figures(self, monkeypatch):
        monkeypatch.setattr(figures.report, "FIGURES", {})
        monkeypatch.setattr(figures.__main__, "_NAMES", ())

    def test_prints_its_path_last(self, tmp_path, no_figures):
        finished = CliRunner().invoke(figures.__main__.app, ["--out", str(write_results(tmp_path))])
        assert finished.exit_code == 0
        assert finished.stdout.splitlines()[-1] == str(tmp_path / "report" / "index.html")

    def test_verdicts_of_another_revision(self, tmp_path, no_figures):
        rows = [*every_row(), every_row()[0] | {"claim": "letcc-gone"}]
        finished = CliRunner().invoke(figures.__main__.app, ["--out", str(write_results(tmp_path, rows))])
        assert finished.exit_code == 2
        assert "there is no claim 'letcc-gone' in this one: run python -m convergence verify" in finished.stderr
        assert not (tmp_path / "report").exists()
        with pytest.raises(MissingResult):
            write_report(tmp_path)

    def test_verdicts_that_lack_a_claim(self, tmp_path, no_figures):
        first, *rows = every_row()
        finished = CliRunner().invoke(figures.__main__.app, ["--out", str(write_results(tmp_path, rows))])
        assert finished.exit_code == 2
        assert f"it has no verdict on {first['claim']!r}: run python -m convergence verify" in finished.stderr

    def test_the_main_job_ends_with_it(self, tmp_path, monkeypatch, capsys):
        pytest.importorskip("torch")
        from convergence import verify

        rows = every_row()
        monkeypatch.setattr(verify, "images_used", lambda data_root: {"images": "digits"})
        monkeypatch.setattr(verify, "certify_all", lambda *_, **__: [row for row in rows if row["certified"]])
        monkeypatch.setattr(verify, "measure", lambda *_, **__: [row for row in rows if row["measured"]])

        def run(command, **_):
            assert command[1:] == ["-m", "figures", "--out", str(tmp_path)]
            return SimpleNamespace(returncode=0)

        monkeypatch.setattr(verify, "subprocess", SimpleNamespace(run=run, DEVNULL=None))
        assert verify.verify(None, 0, 1, tmp_path) == 0
        assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "report" / "index.html")


FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    programs = [shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")]
    if None in programs:
        pytest.skip("no chromium with chromedriver is installed (Debian: apt-get install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=programs[1])
    with webdriver.Chrome(options=options, service=service) as driver:
        yield driver


@pytest.fixture
def opened(browser, path):
    """From a width and a colour scheme to the page, just loaded."""

    def open_page(width=1200, scheme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")  # a new load, also where only the fragment differs
        browser.get(path.as_uri())
        return browser

    return open_page


def press(browser, selector, *keys):
    """Press keys on an element that has the focus."""
    browser.execute_script("document.querySelector(arguments[0]).focus()", selector)
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def claims_of(browser):
    links = "document.querySelectorAll('#claims ~ .scroll tbody th a')"
    return browser.execute_script(f"return [...{links}].map(link => link.text)")


def is_open(browser, claim):
    return browser.execute_script("return document.getElementById(arguments[0]).open", f"claim-{claim}")


UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true })"


class TestInABrowser:
    def test_opens_without_errors_and_shows_every_claim(self, opened):
        browser = opened()
        assert [entry["message"] for entry in browser.get_log("browser")] == []
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
        for selector in ("#claims ~ .scroll tbody tr", "details.claim > summary"):
            elements = browser.find_elements("css selector", selector)
            assert len(elements) == len(CLAIMS)
            assert all(element.is_displayed() for element in elements)

    def test_unfolds_by_keyboard(self, opened):
        browser = opened()
        from selenium.webdriver.common.keys import Keys

        facts = browser.find_element("css selector", "#claim-bacc-rate dl")
        press(browser, "#claim-best-linear > summary", Keys.TAB, Keys.ENTER)
        assert is_open(browser, "bacc-rate")
        assert facts.is_displayed()
        assert "every consecutive block" in facts.text
        browser.switch_to.active_element.send_keys(Keys.SPACE)
        assert not is_open(browser, "bacc-rate")

    def test_a_link_of_the_table_unfolds_the_claim(self, opened):
        browser = opened()
        from selenium.webdriver.common.keys import Keys
        from selenium.webdriver.support.ui import WebDriverWait

        press(browser, "a[href='#claim-letcc-n3.5']", Keys.ENTER)
        WebDriverWait(browser, 20).until(lambda _: is_open(browser, "letcc-n3.5"))  # browsers tell of it a moment later
        assert not is_open(browser, "letcc-noiseless")
        assert browser.switch_to.active_element.text.startswith("letcc-n3.5")
        press(browser, "#unfold", Keys.ENTER)
        assert all(is_open(browser, claim) for claim in BY_ID)
        press(browser, "#unfold", Keys.ENTER)
        assert not any(is_open(browser, claim) for claim in BY_ID)

    def test_sorts_by_keyboard(self, opened):
        browser = opened()
        from selenium.webdriver.common.keys import Keys

        def sorted_by():
            heads = browser.find_elements("css selector", "#claims ~ .scroll thead th")
            return {head.text: order for head in heads if (order := head.get_attribute("aria-sort"))}

        assert claims_of(browser) == list(BY_ID)
        assert sorted_by() == {}
        press(browser, "#claims ~ .scroll th:nth-child(1) button", Keys.ENTER)
        assert sorted_by() == {"Claim": "ascending"}
        assert claims_of(browser) == sorted(BY_ID)
        certified = [c.id for c in CLAIMS if c.evidence]
        values = {name: VALUES[name] if BY_ID[name].exponents else 0.5 for name in certified}
        press(browser, "#claims ~ .scroll th:nth-child(3) button", Keys.TAB, Keys.SPACE)
        assert sorted_by() == {"Certified": "ascending"}
        ascending = claims_of(browser)
        assert [values[name] for name in ascending[:-1]] == sorted(values.values())
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        assert sorted_by() == {"Certified": "descending"}
        descending = claims_of(browser)
        assert [values[name] for name in descending[:-1]] == sorted(values.values(), reverse=True)
        assert ascending[-1] == descending[-1] == "table-1"  # which is not certified

    @pytest.mark.parametrize(("column", "first"), [(5, ["3.19", "3.70", "10.25"]), (6, ["−0.61", "+6.45", "–"])])
    def test_numbers_are_not_sorted_as_texts(self, opened, column, first):
        browser = opened()
        from selenium.webdriver.common.keys import Keys

        press(browser, f"#table-1 ~ .scroll th:nth-child({column}) button", Keys.ENTER)
        cells = browser.find_elements("css selector", f"#table-1 ~ .scroll tbody td:nth-child({column})")
        assert [cell.text.split()[0] for cell in cells][: len(first)] == first

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_is_accessible(self, opened, scheme):
        axe = pytest.importorskip("axe_core_python.selenium").Axe()
        browser = opened(scheme=scheme)
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground))) < 64) == (scheme == "dark")
        browser.execute_script(UNFOLD)
        options = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}
        found = axe.run(browser, options=options)
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
        assert "color-contrast" in {each["id"] for each in found["passes"]}

    @pytest.mark.parametrize("unfolded", [False, True])
    def test_on_a_telephone_only_boxes_scroll(self, opened, unfolded):
        browser = opened(375)
        if unfolded:
            browser.execute_script(UNFOLD)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 375
        for name in ("claims", "table-1"):
            box = browser.find_element("css selector", f"#{name} ~ .scroll")
            assert box.get_property("scrollWidth") > box.get_property("clientWidth")
            assert box.get_property("tabIndex") == 0

    def test_what_does_not_fit_says_so(self, opened):
        browser = opened(375)
        from selenium.webdriver.support.ui import WebDriverWait

        hint = "return getComputedStyle(document.querySelector('#table-1 ~ .scroll'), '::before').content"
        wait = WebDriverWait(browser, 20)  # which the page needs a frame for
        wait.until(lambda _: "Scroll sideways" in browser.execute_script(hint))
        size = {"width": 1600, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wait.until(lambda _: browser.execute_script(hint) == "none")
        assert [entry["message"] for entry in browser.get_log("browser")] == []

    def test_is_printed_in_full(self, opened):
        browser = opened()
        browser.execute_script("document.querySelector('details').open = true; dispatchEvent(new Event('beforeprint'))")
        assert all(is_open(browser, claim) for claim in BY_ID)
        browser.execute_script("dispatchEvent(new Event('afterprint'))")
        assert [claim for claim in BY_ID if is_open(browser, claim)] == [CLAIMS[0].id]
