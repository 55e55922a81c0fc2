"""Coded computing for general functions: schemes, and exact certificates of their worst error."""

from letcc.cli import interrupt as _interrupt  # noqa: F401  # first, for its effect on the script

# isort: split

from letcc import exceptions, latency, metrics, nodes, ordering, simulation, smoothers, stragglers
from letcc.certificate_sets import Certificates, certify_many
from letcc.certificates import Certificate, certify
from letcc.execute import CodedResult, acoded_map, coded_map, coded_stream
from letcc.optimum import optimal_squared_bias
from letcc.planning import Plan, plan
from letcc.rate_certificates import RateReport, certify_rates
from letcc.scheme import CodedScheme


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # not needed by those who do not ask

        return version("letcc")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Certificate",
    "Certificates",
    "CodedResult",
    "CodedScheme",
    "Plan",
    "RateReport",
    "acoded_map",
    "certify",
    "certify_many",
    "certify_rates",
    "coded_map",
    "coded_stream",
    "exceptions",
    "latency",
    "metrics",
    "nodes",
    "optimal_squared_bias",
    "ordering",
    "plan",
    "simulation",
    "smoothers",
    "stragglers",
]
