"""What is in files: microcosms, logs of which microcosms are made, and derivations for the kernel to check.

Whether a file is a microcosm or a log is decided here and nowhere else. To have a derivation checked nothing
is deduced: the kernel shares no code with the search that finds proofs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn, Protocol

from microcosm import files
from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.kernel.check import check
from microcosm.logic.derivation import Derivation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.text.mc_reader import read_givens

MICROCOSM_ENDING = ".mc"


def read(path: files.AnyPath) -> Givens:
    """What a file gives: `.mc`, JSON, or a log of any format, packed or not. Raises `TextError`.

    Standard input (`-`) is a microcosm: of a stream it cannot be told which log it is before it is read.
    Cost: linear, and for a log that of extraction.
    """
    givens = givens_in(files.read_bytes(path), path)
    if givens is None:
        from microcosm.traces.extract import microcosm_of_logs

        return microcosm_of_logs([path]).givens
    return givens


def givens_in(content: bytes, path: files.AnyPath) -> Givens | None:
    """What the content of a microcosm file gives; None where it is that of a log. Raises `TextError`."""
    file = files.display_name(path)
    if path == files.STDIN or file.endswith(MICROCOSM_ENDING) or not _may_be_log(path):
        return read_givens(files.decode(content, file), file)
    try:
        return read_givens(files.decode(content, file), file)
    except TextError:
        return None


def _may_be_log(path: files.AnyPath) -> bool:
    from microcosm.traces import reading as formats
    from microcosm.traces.report import Report
    from microcosm.traces.text.lines import open_lines

    try:
        with open_lines(path, Report()) as stream:
            formats.detect(stream.head, stream.file)
    except TextError:  # no log, so whatever is wrong is wrong with a microcosm
        return False
    return True


@dataclass(frozen=True, slots=True)
class Verification:
    """What the kernel says of a derivation: whether it is `valid`, and if not the `fault`. No truth value."""

    valid: bool
    fault: str | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verification is neither true nor false; ask whether it is `valid`")


class Known(Protocol):
    """What has givens and rules, as a microcosm does."""

    @property
    def givens(self) -> Givens: ...
    @property
    def rules(self) -> RuleBook: ...


def verify(
    given: files.AnyPath | Givens | Known,
    proof: Derivation | files.AnyPath | dict[str, Any],
    *,
    rules: RuleBook | None = None,
) -> Verification:
    """Have the kernel check a derivation against a microcosm, some givens, or a file; nothing is deduced.

    `proof` is a `Derivation`, its JSON form as a dictionary, or a JSON file of it. `rules` are those of the
    microcosm, else the shipped ones. Raises `TextError` for files that cannot be read. Cost: linear in the
    derivation, and a search for each absence.

    >>> from microcosm import Microcosm
    >>> album = Microcosm.parse("a < b < c")
    >>> verify(album, album.why("a", "c"))
    Verification(valid=True, fault=None)
    """
    if isinstance(given, str | PathLike):
        given = read(given)
    if not isinstance(given, Givens):
        rules = given.rules if rules is None else rules
        given = given.givens
    stated: object = proof
    if isinstance(proof, Derivation):
        stated = proof.to_json()
    elif isinstance(proof, str | PathLike):
        text = files.read_text(proof)
        try:
            stated = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TextError(f"is no JSON: {error}", file=files.display_name(proof)) from None
    fault = check(given, rules if rules is not None else read_rules(), stated)
    return Verification(fault is None, fault)
