"""Protocols of the package mteb, one per version: the code of that version determines the score."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version as version_of

from theodolite.engine.errors import UserError
from theodolite.engine.protocols.mteb import MTEB_V2
from theodolite.engine.protocols.protocol import Protocol

SHORT = "mteb"
"""Alias of the installed version's protocol."""
TASK = "mteb"
"""The type of MTEB's own tasks."""
_NAME = re.compile(r"mteb-([0-9]+(?:\.[0-9a-z]+)+)")


@cache
def version() -> str | None:
    """Return the installed version of mteb without importing it; None if not installed."""
    try:
        return version_of("mteb")
    except PackageNotFoundError:
        return None


def installed_protocol() -> str | None:
    """Return the name of the installed version's protocol; None if mteb is not installed."""
    here = version()
    return here and f"{SHORT}-{here}"


def is_package(name: str) -> bool:
    """Whether a protocol is the package's, of any version."""
    return _NAME.fullmatch(name) is not None


def of(name: str) -> Protocol | None:
    """Return the protocol `mteb-X.Y.Z`, installed or not, or `mteb`'s; None for other names."""
    if name == SHORT:
        here = installed_protocol()
        if here is None:
            raise UserError(
                "Protocol mteb is scored by the package mteb, which is not installed.",
                "Install it: pip install 'theodolite[mteb]'; or use mteb-v2, which needs no more.",
                code="unsupported",
            )
        name = here
    match = _NAME.fullmatch(name)
    return (
        None
        if match is None
        else Protocol(
            name=name,
            description=f"What MTEB's own package, version {match[1]}, gives on the same vectors.",
            types=(*MTEB_V2.types, TASK),
            seed=42,
            choices=(
                ("everything", f"as the code of mteb {match[1]} decides it"),
                ("similarity", "cosine, as mteb computes it"),
                ("prompts", "those that the encoder's spec names"),
                ("vectors with NaN", "an error"),
            ),
            sources=("embeddings-benchmark/mteb",),
        )
    )
