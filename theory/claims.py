"""The registry: every claim once, with its exponents, assumptions, smoothing rule, citation and evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from letcc import CodedScheme
from letcc.rates import Verdict
from letcc.scheme import PointFamily
from letcc.smoothers import CubicBSpline, SmoothingSpline
from theory import assumptions as assume
from theory.assumptions import Assumption
from theory.bounds import bacc_sup
from theory.evidence import (
    CURVES,
    AbstractEvidence,
    Adversaries,
    Attainment,
    BestLinear,
    DecodeCost,
    IndependentLosses,
    LossSplit,
    OptimalRecovery,
    RecoveryThreshold,
    SplineOptimality,
    SupremumBound,
    TrainingError,
    WorstBlocks,
)

LETCC = "arXiv 2406.00300 v2, NeurIPS 2024"
LETCC_V1 = "arXiv 2406.00300 v1"
BACC = "arXiv 2009.08327"
LAGRANGE = "arXiv 1806.00939"
ADVERSARIAL = "arXiv 2502.08058"
BERNOULLI = "arXiv 2608.28910"
SWAPPED = "arXiv 2502.00645, abstract"
OWN = "this project"
NOBODY = "no paper: made up to be refuted"


class Provenance(StrEnum):
    """How we know of a claim."""

    READ = "read"
    RECALLED = "recalled"
    OWN = "own finding"


class Quantity(StrEnum):
    """Which error a claim bounds."""

    POINTWISE = "worst mean squared error at any data point"
    AVERAGE = "mean squared error over the data points"
    SUPREMUM = "supremum of the squared error over the interval"
    RMSE = "root mean squared error over the data points"
    OTHER = "as the claim states it"


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


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes
    ----------
    id : str
    statement : str
    citation : str
        Paper, theorem where known.
    provenance : Provenance
        Whether the claim was read in the paper, is recalled from it, or is this project's own finding.
    expected : Verdict
        What the evidence has said so far; a change is an event.
    evidence : AbstractEvidence or None
        How it is examined exactly; None where it is only measured.
    exponents : mapping of str to Fraction
        By variable: "N", "S" (held against S + 1), "log N" and so on. Empty where the claim is no rate.
    quantity : Quantity
    method : {"letcc", "bacc"}
        Constructor of `CodedScheme`.
    ball : {"seminorm", "full"}
        What the decoded function ranges over.
    assumptions : tuple of Assumption
    smoothing : SmoothingRule
    noise_std : float
        sigma of the workers' independent noise.
    stragglers : str
        Which workers are lost.
    control : bool
        A false claim that the suite must refute.
    shares : str
        Id of the claim on whose table this one is judged; empty for its own.
    superseded_by : str
        Id of the claim that replaced this one in the literature.
    """

    id: str
    statement: str
    citation: str
    provenance: Provenance
    expected: Verdict
    evidence: AbstractEvidence | None
    exponents: Mapping[str, Fraction] = field(default_factory=lambda: MappingProxyType({}))
    quantity: Quantity = Quantity.POINTWISE
    method: Literal["letcc", "bacc"] = "letcc"
    ball: Literal["seminorm", "full"] = "seminorm"
    assumptions: tuple[Assumption, ...] = ()
    smoothing: SmoothingRule = SmoothingRule("0", lambda workers, noise_std: 0.0)
    noise_std: float = 0.0
    stragglers: str = "none"
    control: bool = False
    shares: str = ""
    superseded_by: str = ""

    @property
    def source(self) -> str:
        """The citation, and how we know of the claim where that is not plain from it."""
        return self.citation if self.citation == NOBODY else f"{self.citation} ({self.provenance})"

    @property
    def examined_as(self) -> str:
        """Id of the claim whose cells are the evidence."""
        return self.shares or self.id

    def scheme(self, num_data: int, num_workers: int, points: PointFamily = "chebyshev") -> CodedScheme:
        """The scheme that the claim is about.

        Parameters
        ----------
        num_data, num_workers : int
            K and N.
        points : {"chebyshev", "equispaced"}

        Returns
        -------
        CodedScheme
        """
        if self.method == "bacc":
            return CodedScheme.bacc(num_data, num_workers, points=points)
        smoothing = self.smoothing.evaluate(num_workers, self.noise_std)
        return CodedScheme.letcc(num_data, num_workers, decoder_smoothing=smoothing, points=points)


def power(**exponents: str) -> Mapping[str, Fraction]:
    """Exponents by variable.

    Parameters
    ----------
    **exponents : str
        Such as ``N="-3/5"`` or ``log_N="3"``.

    Returns
    -------
    mapping of str to Fraction
    """
    return MappingProxyType({name.replace("log_", "log "): Fraction(value) for name, value in exponents.items()})


_NO_RULE = SmoothingRule("", lambda workers, noise_std: 0.0)
_PAPER_RULE = SmoothingRule("0.01 N^(-4/5)", lambda workers, noise_std: 0.01 * workers**-0.8)
_OPTIMAL_RULE = SmoothingRule("sigma^2 / N", lambda workers, noise_std: noise_std**2 / workers)
_BLOCKS = "every consecutive block of at most S"
_LOST = (1, 3, 7, 15, 31)  # of one parity, on which BACC depends
_NOISELESS = WorstBlocks(stragglers=_LOST, curves=tuple(CURVES), every_set_of=14)

CLAIMS = (
    Claim(
        id="letcc-noiseless",
        statement="Without noise the worst-case error of LeTCC is O(S^3 N^-3).",
        citation=LETCC,
        provenance=Provenance.READ,
        expected=Verdict.ATTAINED,
        evidence=_NOISELESS,
        exponents=power(N="-3", S="3"),
        assumptions=(assume.SOBOLEV, assume.BOUNDED_GAPS, assume.VANISHING_SMOOTHING),
        stragglers=_BLOCKS,
    ),
    Claim(
        id="letcc-noiseless-v1",
        statement="Without noise the worst-case error of LeTCC is O(S^4 N^-3).",
        citation=LETCC_V1,
        provenance=Provenance.READ,
        expected=Verdict.HOLDS,
        evidence=_NOISELESS,
        exponents=power(N="-3", S="4"),
        assumptions=(assume.SOBOLEV, assume.BOUNDED_GAPS, assume.VANISHING_SMOOTHING),
        stragglers=_BLOCKS,
        shares="letcc-noiseless",
        superseded_by="letcc-noiseless",
    ),
    Claim(
        id="letcc-noisy",
        statement="With noise the error of LeTCC is O(S^(8/5) N^(-3/5)).",
        citation=LETCC,
        provenance=Provenance.READ,
        expected=Verdict.HOLDS,
        evidence=WorstBlocks(64, stragglers=_LOST, curves=tuple(CURVES), settles_in_s=False, every_set_of=14),
        exponents=power(N="-3/5", S="8/5"),
        assumptions=(assume.SOBOLEV, assume.BOUNDED_GAPS, assume.NOISE, assume.PAPER_SMOOTHING),
        smoothing=_PAPER_RULE,
        noise_std=0.03,
        stragglers=_BLOCKS,
    ),
    Claim(
        id="letcc-noisy-optimal",
        statement="With lambda_d = sigma^2 / (n R^2), the best linear predictor, the error of LeTCC is O(N^(-3/4)).",
        citation=OWN,
        provenance=Provenance.OWN,
        expected=Verdict.ATTAINED,
        evidence=WorstBlocks(),
        exponents=power(N="-3/4"),
        assumptions=(assume.SOBOLEV, assume.NOISE, assume.BEST_SMOOTHING),
        smoothing=_OPTIMAL_RULE,
        noise_std=0.1,
    ),
    Claim(
        id="certificate",
        statement="The certificate is attained: on the extremal function the real pipeline errs by exactly as much.",
        citation=OWN,
        provenance=Provenance.OWN,
        expected=Verdict.HOLDS,
        evidence=Attainment(),
        smoothing=_NO_RULE,
        ball="full",
        assumptions=(assume.FULL_NORM,),
        stragglers="a block in the middle",
    ),
    Claim(
        id="optimal-recovery",
        statement="Without noise no decoder, linear or not, has a smaller worst-case error than LeTCC at lambda_d = 0.",
        citation="Micchelli and Rivlin, Optimal Estimation in Approximation Theory, 1977",
        provenance=Provenance.RECALLED,
        expected=Verdict.HOLDS,
        evidence=OptimalRecovery(),
        assumptions=(assume.SOBOLEV, assume.VANISHING_SMOOTHING),
        stragglers="100 random sets of at most S",
    ),
    Claim(
        id="best-linear",
        statement="With noise no linear decoder has a smaller worst pointwise error than LeTCC at sigma^2 / n.",
        citation=OWN,
        provenance=Provenance.OWN,
        expected=Verdict.HOLDS,
        evidence=BestLinear(),
        assumptions=(assume.SOBOLEV, assume.NOISE, assume.BEST_SMOOTHING),
        smoothing=_OPTIMAL_RULE,
        noise_std=0.1,
        stragglers="random sets of S = N/4",
    ),
    Claim(
        id="bacc-rate",
        statement="Without noise the worst-case error of BACC is O(S^2 N^-2), S^2 along odd S.",
        citation=OWN,
        provenance=Provenance.OWN,
        expected=Verdict.ATTAINED,
        evidence=_NOISELESS,
        exponents=power(N="-2", S="2"),
        method="bacc",
        ball="full",
        assumptions=(assume.FULL_NORM,),
        stragglers=_BLOCKS,
    ),
    Claim(
        id="bacc-sup",
        statement=(
            "The error of BACC is at most 2 (1 + R) sin((S+1) pi / 2(N-1)) G with R = (S+1)(S+3) pi^2/4, "
            "G = max|g''| if |F| is even and max|g''| + max|g'| if odd."
        ),
        citation=BACC,
        provenance=Provenance.RECALLED,
        expected=Verdict.HOLDS,
        evidence=SupremumBound(bacc_sup),
        quantity=Quantity.OTHER,
        method="bacc",
        ball="full",
        assumptions=(assume.DERIVATIVES, assume.SECOND_KIND),
        stragglers=_BLOCKS,
    ),
    Claim(
        id="letcc-bernoulli",
        statement="With workers lost with probability p the error of LeTCC is O(log_{1/p}^3(N) N^-3).",
        citation=BERNOULLI,
        provenance=Provenance.READ,
        expected=Verdict.ATTAINED,
        evidence=IndependentLosses(),
        exponents=power(N="-3", log_N="3"),
        quantity=Quantity.SUPREMUM,
        assumptions=(assume.SOBOLEV, assume.INDEPENDENT, assume.SUPREMUM, assume.VANISHING_SMOOTHING),
        stragglers="each with probability 0.2",
    ),
    Claim(
        id="bacc-bernoulli",
        statement="With workers lost with probability p the error of BACC is O(log_{1/p}^4(N) N^-2).",
        citation=BERNOULLI,
        provenance=Provenance.READ,
        expected=Verdict.HOLDS,
        evidence=IndependentLosses(),
        exponents=power(N="-2", log_N="4"),
        quantity=Quantity.SUPREMUM,
        method="bacc",
        ball="full",
        assumptions=(assume.FULL_NORM, assume.INDEPENDENT, assume.SUPREMUM),
        stragglers="each with probability 0.2",
        shares="bacc-bernoulli-log2",
    ),
    Claim(
        id="bacc-bernoulli-log2",
        statement="With workers lost with probability p the error of BACC is O(log_{1/p}^2(N) N^-2).",
        citation=OWN,
        provenance=Provenance.OWN,
        expected=Verdict.ATTAINED,
        evidence=IndependentLosses(),
        exponents=power(N="-2", log_N="2"),
        quantity=Quantity.SUPREMUM,
        method="bacc",
        ball="full",
        assumptions=(assume.FULL_NORM, assume.INDEPENDENT, assume.SUPREMUM),
        stragglers="each with probability 0.2",
    ),
    Claim(
        id="letcc-bernoulli-swapped",
        statement="With workers lost with probability p the error of LeTCC is O(log_{1/p}^4(N) N^-2): true, but weak.",
        citation=SWAPPED,
        provenance=Provenance.READ,
        expected=Verdict.HOLDS,
        evidence=IndependentLosses(),
        exponents=power(N="-2", log_N="4"),
        quantity=Quantity.SUPREMUM,
        assumptions=(assume.SOBOLEV, assume.INDEPENDENT, assume.SUPREMUM, assume.VANISHING_SMOOTHING),
        stragglers="each with probability 0.2",
        shares="letcc-bernoulli",
        superseded_by="letcc-bernoulli",
    ),
    Claim(
        id="letcc-adversarial",
        statement="With q = N^a corrupted workers the error of LeTCC is O(N^(6/5 (a-1))), that is O((q/N)^(6/5)).",
        citation=ADVERSARIAL,
        provenance=Provenance.READ,
        expected=Verdict.ATTAINED,
        evidence=Adversaries(),
        exponents=MappingProxyType({"q/N": Fraction(6, 5)}),
        assumptions=(assume.SOBOLEV, assume.BOUNDED_CORRUPTION, assume.ADVERSARIAL_SMOOTHING),
        smoothing=SmoothingRule("c (q/N)^(8/5)", lambda workers, noise_std: 0.1 * workers**-1.6),
    ),
    Claim(
        id="loss-split",
        statement="The loss is at most L_dec + L_enc, twice the decoder's and twice the encoder's mean squared error.",
        citation=LETCC,
        provenance=Provenance.RECALLED,
        expected=Verdict.HOLDS,
        evidence=LossSplit(),
        quantity=Quantity.AVERAGE,
        assumptions=(assume.ANY_FUNCTION,),
        stragglers="random sets, in expectation",
    ),
    Claim(
        id="spline-optimality",
        statement="The optimal encoder and decoder are natural smoothing splines.",
        citation=LETCC,
        provenance=Provenance.READ,
        expected=Verdict.HOLDS,
        evidence=SplineOptimality(SmoothingSpline),
        smoothing=_NO_RULE,
        quantity=Quantity.OTHER,
        assumptions=(assume.CUBIC,),
        stragglers="a random set",
    ),
    Claim(
        id="encoder-training-error",
        statement=(
            "For a q-Lipschitz f, L_enc is at most 2 q^2 times the encoder's training error, which is at most "
            "lambda_e/4 int x''^2."
        ),
        citation=f"{LETCC}; the constant 1/4: this project",
        provenance=Provenance.RECALLED,
        expected=Verdict.ATTAINED,
        evidence=TrainingError(),
        exponents=power(lambda_e="1"),
        smoothing=_NO_RULE,
        quantity=Quantity.AVERAGE,
        assumptions=(assume.LIPSCHITZ,),
    ),
    Claim(
        id="lagrange-threshold",
        statement="Lagrange coded computing is exact iff |F| >= (K-1) deg f + 1.",
        citation=LAGRANGE,
        provenance=Provenance.RECALLED,
        expected=Verdict.HOLDS,
        evidence=RecoveryThreshold(),
        smoothing=_NO_RULE,
        quantity=Quantity.OTHER,
        assumptions=(assume.POLYNOMIAL,),
        stragglers="every set of threshold size, and one less",
    ),
    Claim(
        id="decode-cost",
        statement="Building and applying the decoder is linear in |F|.",
        citation=LETCC,
        provenance=Provenance.RECALLED,
        expected=Verdict.ATTAINED,
        evidence=DecodeCost(),
        exponents=MappingProxyType({"|F|": Fraction(1)}),
        quantity=Quantity.OTHER,
        smoothing=_PAPER_RULE,
    ),
    Claim(
        id="table-1",
        statement="On LeNet5 with (N, K, S) = (100, 20, 60) the RMSE of LeTCC is below that of BACC.",
        citation=LETCC,
        provenance=Provenance.READ,
        expected=Verdict.HOLDS,
        evidence=None,
        quantity=Quantity.RMSE,
        smoothing=SmoothingRule("tuned on training images", lambda workers, noise_std: 0.0),
        assumptions=(assume.UNIFORM, assume.RECALLED_SIZES),
        stragglers="60 of 100, uniformly at random",
    ),
    Claim(
        id="bacc-n3",
        statement="Without noise the worst-case error of BACC is O(N^-3).",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=WorstBlocks(),
        exponents=power(N="-3"),
        method="bacc",
        ball="full",
        control=True,
        shares="bacc-rate",
    ),
    Claim(
        id="letcc-n3.5",
        statement="Without noise the worst-case error of LeTCC is O(N^(-7/2)).",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=WorstBlocks(),
        exponents=power(N="-7/2"),
        assumptions=(assume.SOBOLEV,),
        control=True,
        shares="letcc-noiseless",
    ),
    Claim(
        id="letcc-s2",
        statement="Without noise the worst-case error of LeTCC is O(S^2).",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=WorstBlocks(),
        exponents=power(S="2"),
        assumptions=(assume.SOBOLEV,),
        stragglers=_BLOCKS,
        control=True,
        shares="letcc-noiseless",
    ),
    Claim(
        id="noisy-n1",
        statement="With noise the error of LeTCC at its best smoothing is O(N^-1).",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=WorstBlocks(),
        exponents=power(N="-1"),
        assumptions=(assume.SOBOLEV, assume.NOISE),
        smoothing=_OPTIMAL_RULE,
        noise_std=0.1,
        control=True,
        shares="letcc-noisy-optimal",
    ),
    Claim(
        id="bacc-bernoulli-swapped",
        statement="With workers lost with probability p the error of BACC is O(log_{1/p}^3(N) N^-3).",
        citation=SWAPPED,
        provenance=Provenance.READ,
        expected=Verdict.REFUTED,
        evidence=IndependentLosses(),
        exponents=power(N="-3", log_N="3"),
        quantity=Quantity.SUPREMUM,
        method="bacc",
        ball="full",
        assumptions=(assume.FULL_NORM, assume.INDEPENDENT, assume.SUPREMUM),
        stragglers="each with probability 0.2",
        control=True,
        shares="bacc-bernoulli-log2",
    ),
    Claim(
        id="letcc-bernoulli-no-log",
        statement="With workers lost with probability p the error of LeTCC is O(N^-3), without a logarithm.",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=IndependentLosses(),
        exponents=power(N="-3"),
        quantity=Quantity.SUPREMUM,
        assumptions=(assume.SOBOLEV, assume.INDEPENDENT, assume.SUPREMUM),
        stragglers="each with probability 0.2",
        control=True,
        shares="letcc-bernoulli",
    ),
    Claim(
        id="loss-split-1",
        statement="The loss is at most the decoder's mean squared error plus the encoder's, without the factors 2.",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=LossSplit(factor=1.0),
        quantity=Quantity.AVERAGE,
        assumptions=(assume.ANY_FUNCTION,),
        control=True,
    ),
    Claim(
        id="not-a-knot-optimality",
        statement="The not-a-knot cubic spline is the smoothest interpolant.",
        citation=NOBODY,
        provenance=Provenance.OWN,
        expected=Verdict.REFUTED,
        evidence=SplineOptimality(lambda smoothing: CubicBSpline(), smoothings=(0.0,)),
        quantity=Quantity.OTHER,
        assumptions=(assume.CUBIC,),
        control=True,
    ),
)

BY_ID = {claim.id: claim for claim in CLAIMS}

# of table-1: RMSE and relative accuracy, each with its standard deviation (arXiv 2406.00300)
PAPER = {
    ("lenet5", "mnist", "BACC"): (2.55, 0.43, 0.92, 0.04),
    ("lenet5", "mnist", "LeTCC"): (2.18, 0.51, 0.94, 0.04),
    ("repvgg", "cifar10", "BACC"): (2.44, 0.38, 0.83, 0.05),
    ("repvgg", "cifar10", "LeTCC"): (2.04, 0.42, 0.87, 0.05),
    ("vit-b16", "imagenet", "BACC"): (0.68, 0.13, 0.90, 0.07),
    ("vit-b16", "imagenet", "LeTCC"): (0.62, 0.11, 0.94, 0.06),
}
