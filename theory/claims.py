"""The registry: every claim once, with its exponents, assumptions, smoothing rule and citation."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from letcc import CodedScheme
from letcc.rates import Verdict
from theory.bounds import bacc_sup

LETCC = "arXiv 2406.00300 v2, NeurIPS 2024"
BACC = "arXiv 2009.08327"


class Provenance(StrEnum):
    """How we know of a claim."""

    READ = "read"
    RECALLED = "recalled"
    OWN = "own finding"


@dataclass(frozen=True)
class SmoothingRule:
    """How a claim chooses the decoder's lambda.

    Attributes
    ----------
    formula : str
        For people.
    evaluate : callable
        From the number of workers and the noise's standard deviation to lambda, mean form.
    """

    formula: str
    evaluate: Callable[[int, float], float] = field(repr=False)


CURVES: dict[str, Callable[[int], int]] = {"S=sqrt(N)": math.isqrt, "S=N/4": lambda workers: workers // 4}


@dataclass(frozen=True)
class Design:
    """The grids on which a claim is examined.

    N is doubled with all workers received; then at `straggler_workers` workers every consecutive block of S is lost.
    All N are even: for N = 2^m + 1 every data point of K = 8 is a worker point, where the error vanishes.

    Where the slope in S settles nowhere in reach, S grows with N along `curves` instead, and the claim stands if the
    error divided by S^s N^n does not grow.
    """

    workers: tuple[int, ...] = (32, 64, 128, 256, 512)
    num_data: int = 8
    stragglers: tuple[int, ...] = ()
    straggler_workers: int = 512
    straggler_num_data: int = 32
    curves: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One claim: the worst pointwise mean squared error is O(S^s N^n).

    Attributes
    ----------
    id : str
    statement : str
    citation : str
        Paper, theorem where known.
    provenance : Provenance
        Whether the claim was read in the paper, is recalled from it, or is this project's own finding.
    method : {"letcc", "bacc"}
        Constructor of `CodedScheme`.
    exponent_n, exponent_s : Fraction or None
        None where the claim does not speak of it. Exponents in S are held against S + 1.
    ball : {"seminorm", "full"}
        What the decoded function ranges over.
    assumptions : tuple of str
    smoothing : SmoothingRule
    noise_std : float
        sigma of the workers' independent noise.
    bound : callable or None
        Where constants are printed: from N and S to the bound on the error of every function with |g''| <= 1 and
        |g'| <= 1, checked at every point of the grid.
    expected : Verdict
        What the evidence has said so far; a change is an event.
    control : bool
        A false claim that the suite must refute.
    design : Design
    """

    id: str
    statement: str
    citation: str
    provenance: Provenance
    method: Literal["letcc", "bacc"]
    expected: Verdict
    exponent_n: Fraction | None = None
    exponent_s: Fraction | None = None
    ball: Literal["seminorm", "full"] = "seminorm"
    assumptions: tuple[str, ...] = ()
    smoothing: SmoothingRule = SmoothingRule("0", lambda workers, noise_std: 0.0)
    noise_std: float = 0.0
    bound: Callable[[int, int], float] | None = field(default=None, repr=False)
    control: bool = False
    design: Design = Design()

    def scheme(self, num_data: int, num_workers: int) -> CodedScheme:
        """The scheme that the claim is about.

        Parameters
        ----------
        num_data, num_workers : int
            K and N.

        Returns
        -------
        CodedScheme
        """
        if self.method == "bacc":
            return CodedScheme.bacc(num_data, num_workers)
        smoothing = self.smoothing.evaluate(num_workers, self.noise_std)
        return CodedScheme.letcc(num_data, num_workers, decoder_smoothing=smoothing)


_SOBOLEV = "f o u_e in the unit ball of the second-order Sobolev space, int g''^2 <= 1"
_BOUNDED_GAPS = "bounded ratio of the largest to the smallest gap (Chebyshev worker points do not meet it)"
_NOISE = "independent zero-mean noise of bounded variance on every worker's output"
_PAPER_RULE = SmoothingRule("0.01 N^(-4/5)", lambda workers, noise_std: 0.01 * workers**-0.8)
_OPTIMAL_RULE = SmoothingRule("sigma^2 / N", lambda workers, noise_std: noise_std**2 / workers)
_STRAGGLERS = (1, 3, 7, 15, 31)  # of one parity, on which BACC depends

CLAIMS = (
    Claim(
        id="letcc-noiseless",
        statement="Without noise the worst-case error of LeTCC is O(S^3 N^-3).",
        citation=LETCC,
        provenance=Provenance.READ,
        method="letcc",
        expected=Verdict.ATTAINED,
        exponent_n=Fraction(-3),
        exponent_s=Fraction(3),
        assumptions=(_SOBOLEV, _BOUNDED_GAPS, "lambda_d -> 0"),
        design=Design(stragglers=_STRAGGLERS),
    ),
    Claim(
        id="letcc-noisy",
        statement="With noise the error of LeTCC is O(S^(8/5) N^(-3/5)).",
        citation=LETCC,
        provenance=Provenance.READ,
        method="letcc",
        expected=Verdict.HOLDS,
        exponent_n=Fraction(-3, 5),
        exponent_s=Fraction(8, 5),
        assumptions=(_SOBOLEV, _BOUNDED_GAPS, _NOISE, "lambda_d ~ N^(-4/5) (recalled)"),
        smoothing=_PAPER_RULE,
        noise_std=0.03,
        design=Design(workers=(64, 128, 256, 512, 1024, 2048), stragglers=_STRAGGLERS, curves=tuple(CURVES)),
    ),
    Claim(
        id="letcc-noisy-optimal",
        statement="With lambda_d = sigma^2 / N, the best linear predictor, the error of LeTCC is O(N^(-3/4)).",
        citation="this project",
        provenance=Provenance.OWN,
        method="letcc",
        expected=Verdict.ATTAINED,
        exponent_n=Fraction(-3, 4),
        assumptions=(_SOBOLEV, _NOISE),
        smoothing=_OPTIMAL_RULE,
        noise_std=0.1,
        design=Design(workers=(32, 64, 128, 256, 512, 1024)),
    ),
    Claim(
        id="bacc-rate",
        statement="Without noise the worst-case error of BACC is O(S^2 N^-2), S^2 along odd S.",
        citation="this project",
        provenance=Provenance.OWN,
        method="bacc",
        expected=Verdict.ATTAINED,
        exponent_n=Fraction(-2),
        exponent_s=Fraction(2),
        ball="full",
        assumptions=("g(-1)^2 + g'(-1)^2 + int g''^2 <= 1",),
        design=Design(stragglers=_STRAGGLERS),
    ),
    Claim(
        id="bacc-sup",
        statement=(
            "The error of BACC is at most 2 (1 + R) sin((S+1) pi / 2(N-1)) G with R = (S+1)(S+3) pi^2/4, "
            "G = max|g''| if |F| is even and max|g''| + max|g'| if odd."
        ),
        citation=BACC,
        provenance=Provenance.RECALLED,
        method="bacc",
        expected=Verdict.HOLDS,
        ball="full",
        bound=bacc_sup,
        assumptions=("g' and g'' bounded", "Chebyshev points of the second kind"),
        design=Design(workers=(32, 64, 128), num_data=16, stragglers=(0, 1, 2, 3, 4, 7, 8, 15, 16)),
    ),
    Claim(
        id="table-1",
        statement="On LeNet5 with (N, K, S) = (100, 20, 60) the RMSE of LeTCC is below that of BACC.",
        citation=LETCC,
        provenance=Provenance.READ,
        method="letcc",
        expected=Verdict.HOLDS,
        assumptions=("uniformly random stragglers", "(N, K, S) is recalled"),
        design=Design(workers=()),
    ),
    Claim(
        id="bacc-n3",
        statement="Without noise the worst-case error of BACC is O(N^-3).",
        citation="nobody",
        provenance=Provenance.OWN,
        method="bacc",
        expected=Verdict.REFUTED,
        exponent_n=Fraction(-3),
        ball="full",
        control=True,
    ),
    Claim(
        id="letcc-n3.5",
        statement="Without noise the worst-case error of LeTCC is O(N^(-7/2)).",
        citation="nobody",
        provenance=Provenance.OWN,
        method="letcc",
        expected=Verdict.REFUTED,
        exponent_n=Fraction(-7, 2),
        assumptions=(_SOBOLEV,),
        control=True,
    ),
    Claim(
        id="noisy-n1",
        statement="With noise the error of LeTCC at its best smoothing is O(N^-1).",
        citation="nobody",
        provenance=Provenance.OWN,
        method="letcc",
        expected=Verdict.REFUTED,
        exponent_n=Fraction(-1),
        assumptions=(_SOBOLEV, _NOISE),
        smoothing=_OPTIMAL_RULE,
        noise_std=0.1,
        control=True,
        design=Design(workers=(32, 64, 128, 256, 512, 1024)),
    ),
)

BY_ID = {claim.id: claim for claim in CLAIMS}
