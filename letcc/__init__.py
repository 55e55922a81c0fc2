"""Coded computing for general functions: schemes, and exact certificates of their worst error."""

from letcc import exceptions, metrics, nodes, ordering, smoothers, stragglers
from letcc.certificate_sets import Certificates, certify_many
from letcc.certificates import Certificate, certify
from letcc.certify_rates import RateReport, certify_rates
from letcc.optimum import optimal_squared_bias
from letcc.scheme import CodedScheme


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # not needed by those who do not ask

        return version("letcc")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Certificate",
    "Certificates",
    "CodedScheme",
    "RateReport",
    "certify",
    "certify_many",
    "certify_rates",
    "exceptions",
    "metrics",
    "nodes",
    "optimal_squared_bias",
    "ordering",
    "smoothers",
    "stragglers",
]
