import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from letcc.rates import Verdict
from theory.certification import claim_row
from theory.claims import BY_ID, CLAIMS
from theory.page import render
from theory.report import print_verdict, print_verdicts
from theory.store import read_rows


def printed(rows, width=140, **spec):
    output = io.StringIO()
    print_verdicts(rows, Console(file=output, width=width), spec)
    return output.getvalue()


class TestTable:
    @pytest.mark.parametrize("width", [80, 140])
    def test_every_claim_with_its_verdict(self, rows, width):
        lines = printed(list(rows.values()), width).splitlines()
        for claim in CLAIMS:
            found = [line.split() for line in lines if line.split()[:1] == [claim.id]]
            assert len(found) == 1
            assert found[0][1] == (claim.expected if claim.evidence else "measured")

    def test_counts_what_was_judged(self, rows):
        text = " ".join(printed(list(rows.values())).split())
        controls = sum(claim.control for claim in CLAIMS)
        judged = len(CLAIMS) - 1
        assert f"{judged} of {judged} verdicts are as expected, the refutation of {controls} false claims" in text

    @pytest.mark.parametrize(
        ("spec", "options"),
        [
            ({}, ""),
            ({"max_n": 4096, "seed": 0, "full": False, "quick": False}, ""),
            ({"max_n": 1024, "quick": True}, " --quick"),
            ({"max_n": 512, "quick": True, "seed": 2}, " --max-n 512 --seed 2 --quick"),
            ({"max_n": 1024, "full": True}, " --max-n 1024 --full"),
        ],
    )
    def test_the_command_repeats_the_options_of_the_run(self, rows, spec, options):
        assert printed(list(rows.values()), 400, **spec).rstrip().endswith(f"python -m theory --claim ID{options}")

    @pytest.mark.parametrize(
        ("spec", "short"),
        [
            ({"quick": True}, "Quick run"),
            ({"max_n": 512}, "Run up to N = 512 only"),
            ({"max_n": 8192}, None),
            ({}, None),
        ],
    )
    def test_marks_a_short_run(self, spec, short):
        claim = BY_ID["letcc-noiseless"]
        unmeasured = claim_row(BY_ID["table-1"], Verdict.INCONCLUSIVE)
        lines = {
            verdict: printed([claim_row(claim, verdict), unmeasured], **spec).splitlines()
            for verdict in (Verdict.ATTAINED, Verdict.INCONCLUSIVE)
        }
        assert (f"{short}: short sweeps." in lines[Verdict.ATTAINED]) == bool(short)
        assert (f"{short}: short sweeps, some verdicts inconclusive." in lines[Verdict.INCONCLUSIVE]) == bool(short)
        assert any("short sweeps" in line for line in lines[Verdict.INCONCLUSIVE]) == bool(short)

    def test_only_what_contradicts_is_red(self):
        claim = BY_ID["letcc-noiseless"]
        shown = {verdict: print_verdict(claim_row(claim, verdict)) for verdict in Verdict}
        assert {verdict for verdict, text in shown.items() if "red]" in text} == {Verdict.REFUTED, Verdict.HOLDS}
        assert "expected: attained" in shown[Verdict.INCONCLUSIVE]

    def test_says_what_was_expected(self):
        unfit = {"N": {"value": None, "low": None, "high": None, "window": [], "local_slopes": []}}
        measured = {"N": {"value": -2.03, "low": -2.13, "high": -1.93}}
        text = printed(
            [
                claim_row(BY_ID["letcc-noiseless"], Verdict.REFUTED, certified=unfit),
                claim_row(BY_ID["bacc-n3"], Verdict.REFUTED, measured=measured),
            ]
        )
        assert text.count("expected:") == 1
        assert "attained" in text
        assert "N: too few points" in text
        assert "N: -2.03 ± 0.10" in text
        assert "1 of 2 verdicts" in text


class TestPage:
    def test_has_every_claim_with_what_was_found(self, rows):
        page = render(list(rows.values()))
        sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
        assert list(sections) == [claim.id for claim in CLAIMS]
        for claim in CLAIMS:
            section = sections[claim.id]
            assert claim.statement in section
            assert claim.citation in section
            verdict = claim.expected if claim.evidence else "measured only"
            assert f"- Verdict: **{verdict}**" in section
            assert (", a negative control" in section) == claim.control
            for assumption in claim.assumptions:
                assert f"- Assumes that {assumption.statement} (" in section
            command = f"`python -m theory --claim {claim.id}`" if claim.evidence else "`python -m convergence`"
            assert command in section
        assert page.count("- `growth`: exponent in N of the error over the claimed rate") == 1
        assert "(**not met**: " in sections["letcc-noiseless"]
        assert "N: -3.02 ± 0.07" in sections["letcc-noiseless"]

    def test_its_links_lead_to_its_headings(self, rows):
        """GitHub's anchors are headings in lower case without dots."""
        page = render(list(rows.values()))
        links = [line.split("](#")[1].split(")")[0] for line in page.splitlines() if line.startswith("| [")]
        headings = [line[3:].lower().replace(".", "") for line in page.splitlines() if line.startswith("## ")]
        assert links == headings


def test_the_committed_page_of_claims_is_what_the_results_give(certified):
    """Numbers printed with two or three digits are the same on other machines but for those that are rounding."""
    committed = (Path(__file__).parents[1] / "docs" / "claims.md").read_text(encoding="utf-8")

    def comparable(page):
        return [
            line for line in page.splitlines() if not re.search(r"e-\d+|by: |distance from 1: |ratio of all: ", line)
        ]

    assert comparable(render(read_rows(certified[1] / "certified.json"))) == comparable(committed)
