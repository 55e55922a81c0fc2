"""How each kind of claim is examined: one kind, one file, every one an `AbstractEvidence`."""

from theory.evidence.adversarial import Adversaries
from theory.evidence.attainment import Attainment
from theory.evidence.base import QUICK, AbstractEvidence, Cell, Scope
from theory.evidence.bernoulli import IndependentLosses
from theory.evidence.blocks import CURVES, WorstBlocks
from theory.evidence.bound import SupremumBound
from theory.evidence.cost import DecodeCost
from theory.evidence.encoder import TrainingError
from theory.evidence.loss import LossSplit
from theory.evidence.optimality import SplineOptimality
from theory.evidence.recovery import BestLinear, OptimalRecovery
from theory.evidence.threshold import RecoveryThreshold

__all__ = [
    "CURVES",
    "QUICK",
    "AbstractEvidence",
    "Adversaries",
    "Attainment",
    "BestLinear",
    "Cell",
    "DecodeCost",
    "IndependentLosses",
    "LossSplit",
    "OptimalRecovery",
    "RecoveryThreshold",
    "Scope",
    "SplineOptimality",
    "SupremumBound",
    "TrainingError",
    "WorstBlocks",
]
