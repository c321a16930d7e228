"""Access to files for everything below the command line: text is read, and files are written whole.

Reading gives one clear `TextError` for whatever is wrong with a path. Writing goes beside the target
and is renamed over it, so that an interrupt leaves either the old file or the new one; a device or a pipe is
written to.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from microcosm.errors import MicrocosmError, TextError

AnyPath = str | os.PathLike[str]

STDIN = "-"
"""Wherever a path is read, `-` is standard input."""


IN_MEMORY = 64 << 20
"""Bytes of standard input that are kept in memory; more are put aside in a temporary file."""

GLOB = re.compile(r"[*?\[]").search
"""Whether a path may be a pattern of paths."""

aside: dict[str, BinaryIO] = {}
"""What came through pipes, by their names, until it is forgotten: a pipe gives it only once."""

_numbers = re.compile(r"([0-9]{1,18})")


@contextmanager
def explaining(name: str) -> Iterator[None]:
    """What keeps the file `name` from being opened or read, as one `TextError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def unreadable(name: str, error: OSError | ValueError) -> TextError:
    """What keeps the file `name` from being opened or read, in words."""
    if not name:
        return TextError("an empty text names no file")
    if isinstance(error, IsADirectoryError):
        return TextError("is a directory, not a file", file=name)
    if isinstance(error, FileNotFoundError):
        return TextError("no such file", file=name, hint="Check the path; `-` reads standard input.")
    reason = getattr(error, "strerror", None) or str(error)
    return TextError(f"cannot be read: {reason}", file=name)


def read_bytes(path: AnyPath) -> bytes:
    """The content of `path` (`-`: standard input). Raises `TextError` for what cannot be read."""
    name = os.fspath(path)
    with explaining(name):
        if name in aside:
            rewind(name)
            return aside[name].read()
        return standard_input().read() if name == STDIN else Path(name).read_bytes()


def standard_input() -> BinaryIO:
    """The bytes of standard input. Raises `TextError` where it is closed."""
    if sys.stdin is None:
        raise TextError("is closed", file=display_name(STDIN))
    return sys.stdin.buffer


def read_text(path: AnyPath) -> str:
    """The content of `path` as UTF-8 (a byte order mark is dropped)."""
    return decode(read_bytes(path), display_name(path))


def display_name(path: AnyPath) -> str:
    """The name of a path in messages; bytes of it that are no UTF-8 are escaped, for it is written, too."""
    name = os.fspath(path)
    return "<stdin>" if name == STDIN else name.encode("utf-8", "backslashreplace").decode()


def is_json_name(path: AnyPath) -> bool:
    """Whether a file name asks for the JSON form."""
    return os.fspath(path).endswith(".json")


def decode(content: bytes, file: str) -> str:
    """UTF-8 bytes as text; a bad byte is reported with its line and column."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        begin = content.rfind(b"\n", 0, error.start) + 1
        column = len(content[begin : error.start].decode("utf-8", "replace")) + 1
        raise TextError(
            f"byte 0x{content[error.start]:02x} is not valid UTF-8",
            file=file,
            line=line,
            column=column,
            hint="Save the file as UTF-8 (e.g. `iconv -f latin1 -t utf8`).",
        ) from None


def host_and_port(host: str, port: int) -> str:
    """An address as one text, as options take it: a host of IPv6 is in brackets.

    >>> host_and_port("::1", 7001), host_and_port("album.example", 7001)
    ('[::1]:7001', 'album.example:7001')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def natural(name: str) -> list[tuple[int, str]]:
    """What to sort names by, of files and of events, so that numbers in them count: p:2 before p:10.

    >>> sorted(["p:10", "p:2", "a"], key=natural)
    ['a', 'p:2', 'p:10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _numbers.split(name) if part]


def expanded(paths: Sequence[AnyPath]) -> list[str]:
    """The files that paths name: of a folder all in it and below, of a pattern (`*.log`) all that match.

    Names that begin with a dot are left out, and with `_` where Spark wrote a table, which `_SUCCESS` marks.
    Numbers in names count: `run2` comes before `run10`. Raises `TextError` where there is no such file.
    """
    found: list[str] = []
    for path in (os.fspath(each) for each in paths):
        if os.path.isdir(path):
            inside = [
                os.path.normpath(os.path.join(folder, name))
                for folder, below, names in os.walk(path)
                for name in names
                if not name.startswith(".")
                and not any(part[0] == "." != part for part in os.path.relpath(folder, path).split(os.sep))
            ]
            inside = [each for each in inside if not _is_mark(each)]
            if not inside:
                raise TextError("is a directory without files", file=path)
            found += sorted(inside, key=natural)
        elif GLOB(path) and not os.path.exists(path):
            from glob import glob

            every = glob(path, recursive=True)
            matching = [each for each in every if not (os.path.isdir(each) or _is_mark(each))]
            if not matching:
                raise TextError("no such file, and none that matches", file=path)
            found += sorted(matching, key=natural)
        else:
            found.append(path)
    return found


def distinct(paths: Iterable[AnyPath]) -> list[AnyPath]:
    """The paths without those of a file that one before them names."""
    found: dict[object, AnyPath] = {}
    for path in paths:
        try:
            found.setdefault(os.path.realpath(path), path)
        except ValueError:  # no file has such a name, of which opening it tells
            found[path] = path
    return [*found.values()]


def _is_mark(path: str) -> bool:
    """Whether a file is one with which Spark marks a table that it wrote, and none of its parts."""
    folder, name = os.path.split(path)
    return name.startswith("_") and os.path.exists(os.path.join(folder, "_SUCCESS"))


def put_aside(path: AnyPath = STDIN) -> None:
    """Let standard input, or a pipe, be gone through more than once: it is put aside in a temporary file."""
    name = os.fspath(path)
    if name == STDIN:
        stream = standard_input()
        if not stream.seekable():
            from io import TextIOWrapper

            with explaining(display_name(STDIN)):
                kept = _kept(stream)
            sys.stdin = TextIOWrapper(kept, encoding="utf-8", errors="surrogateescape")
    elif name not in aside and os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name)):
        with explaining(name), open(name, "rb") as stream:
            aside[name] = _kept(stream)


def _kept(stream: BinaryIO) -> BinaryIO:
    """A copy that can be sought in."""
    from io import BytesIO
    from shutil import copyfileobj
    from tempfile import TemporaryFile  # here, as most commands write no file

    kept: BinaryIO = BytesIO(stream.read(IN_MEMORY))
    if more := stream.read(1):
        begun, kept = kept, cast(BinaryIO, TemporaryFile())  # noqa: SIM115 (it is read later)
        copyfileobj(begun, kept)
        kept.write(more)
        copyfileobj(stream, kept)
    kept.seek(0)
    return kept


def rewind(path: AnyPath) -> None:
    """Let what was put aside be read from its beginning; files always are."""
    name = os.fspath(path)
    if name == STDIN:
        standard_input().seek(0)
    elif name in aside:
        aside[name].seek(0)


def listing(directory: str | os.PathLike[str]) -> list[Path]:
    """The entries of a directory, sorted by name. Raises `TextError` where it cannot be listed."""
    name = os.fspath(directory)
    try:
        return sorted(Path(name).iterdir())
    except NotADirectoryError:
        raise TextError("is not a directory", file=name) from None
    except FileNotFoundError:
        raise TextError("no such directory", file=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TextError(f"cannot be listed: {reason}", file=name) from None


def make_folder(path: AnyPath) -> None:
    """A folder, with those that it is in; one that is there stays as it is. Raises `OSError`."""
    Path(os.fspath(path)).mkdir(parents=True, exist_ok=True)


@contextmanager
def writing(path: AnyPath) -> Iterator[IO[str]]:
    """A text stream whose content replaces `path` when the block ends well, and not otherwise."""
    with _replacing(path, encoding="utf-8", newline="\n") as stream:
        yield stream


@contextmanager
def writing_bytes(path: AnyPath) -> Iterator[IO[bytes]]:
    """A stream of bytes whose content replaces `path` when the block ends well, and not otherwise."""
    with _replacing(path) as stream:
        yield stream


@contextmanager
def _replacing(path: AnyPath, encoding: str | None = None, newline: str | None = None) -> Iterator[IO[Any]]:
    try:
        from tempfile import mkstemp

        target = Path(path)
        if target.exists() and not (target.is_file() or target.is_dir()):  # a device, a pipe: it stays one
            descriptor, beside = os.open(target, os.O_WRONLY), ""
        else:
            target = Path(os.path.realpath(path))  # and so does a link
            descriptor, beside = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TextError(f"cannot be written: {reason}", file=os.fspath(path)) from None
    try:
        if beside and hasattr(os, "fchmod"):  # Windows has it from Python 3.13 on
            os.fchmod(descriptor, _mode(target))
        with os.fdopen(descriptor, "w" if encoding else "wb", encoding=encoding, newline=newline) as stream:
            yield stream
        if beside:
            os.replace(beside, target)
    except OSError as error:
        _discard(beside)
        raise TextError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from None
    except BaseException:
        _discard(beside)
        raise


def write_text(path: AnyPath, text: str) -> None:
    """Replace the content of `path` by `text`, whole or not at all."""
    with writing(path) as stream:
        stream.write(text)


def _mode(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask


def _discard(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def shipped(folder: str) -> Path:
    """A folder that stands at the top of the project and ships inside the wheel (`rules`, `examples`)."""
    package = Path(__file__).parent
    inside = package / folder
    return inside if inside.is_dir() else package.parent / folder


def require_posix(what: str) -> None:
    """Raise `MicrocosmError` on a system without the locks of POSIX, which `what` cannot do without."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        message = f"{what} need a POSIX system, such as Linux or macOS (docs/reference/platforms.md)"
        raise MicrocosmError(message) from None


def other_project(folder: str | os.PathLike[str] | None = None) -> str | None:
    """The version of the other project that pip calls `microcosm`, where it is installed over this one.

    Both write into one package, so that one has overwritten files of the other. `folder` is where this
    package stands, if not said. Cost: a listing of it.
    """
    home = Path(__file__).parents[1] if folder is None else Path(folder)
    with suppress(OSError):
        for name in os.listdir(home):
            if name.startswith("microcosm-") and name.endswith(".dist-info"):
                entries = home / name / "entry_points.txt"  # this project once had that name, too
                if not entries.is_file() or "microcosm.cli.app" not in entries.read_text(encoding="utf-8"):
                    return name.removeprefix("microcosm-").removesuffix(".dist-info")
    return None
