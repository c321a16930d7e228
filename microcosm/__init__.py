"""Which of two events came first, are they concurrent, or do we not know?  With a proof.

    >>> from microcosm import Microcosm
    >>> known = Microcosm.parse("unshare < upload < view")
    >>> known.online("unshare", "view")
    Relation.BEFORE

Nothing is imported before it is asked for (PEP 562), so that the command line starts at once.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without `typing`, in whose import a Ctrl-C would show a traceback
if TYPE_CHECKING:
    from microcosm.compare.bisimilarity import Bisimilarity, bisimilar
    from microcosm.compare.difference import diff
    from microcosm.errors import (
        Contradiction,
        MicrocosmError,
        RuleError,
        TextError,
        TraceError,
        Undefined,
        UnknownEvent,
    )
    from microcosm.givens.relation import Correspondence, Relation
    from microcosm.state.microcosm import Microcosm
    from microcosm.state.opening import Verification, verify
    from microcosm.worlds.world import World

    __version__: str

_HOME = {
    "Bisimilarity": "microcosm.compare.bisimilarity",
    "Contradiction": "microcosm.errors",
    "Correspondence": "microcosm.givens.relation",
    "Microcosm": "microcosm.state.microcosm",
    "MicrocosmError": "microcosm.errors",
    "Relation": "microcosm.givens.relation",
    "RuleError": "microcosm.errors",
    "TextError": "microcosm.errors",
    "TraceError": "microcosm.errors",
    "Undefined": "microcosm.errors",
    "UnknownEvent": "microcosm.errors",
    "Verification": "microcosm.state.opening",
    "World": "microcosm.worlds.world",
    "bisimilar": "microcosm.compare.bisimilarity",
    "diff": "microcosm.compare.difference",
    "verify": "microcosm.state.opening",
}

__all__ = [
    "Bisimilarity",
    "Contradiction",
    "Correspondence",
    "Microcosm",
    "MicrocosmError",
    "Relation",
    "RuleError",
    "TextError",
    "TraceError",
    "Undefined",
    "UnknownEvent",
    "Verification",
    "World",
    "bisimilar",
    "diff",
    "verify",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = _version()
    elif name in _HOME:
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _version() -> str:
    """The version of the installed distribution; a bare checkout has none."""
    from importlib.metadata import PackageNotFoundError, version

    from microcosm.errors import DISTRIBUTION

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+checkout"
