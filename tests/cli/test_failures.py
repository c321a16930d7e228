"""Whatever goes wrong: one message, the right exit code, no traceback, no half-written file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from microcosm import files
from microcosm.cli import exits
from tests.cli.conftest import Run

BAD_FILES = {
    "malformed": b"a < b\na <\n",
    "latin-1": b"a < caf\xe9\n",
    "an order of an event to itself": b"a < a\n",
    "an internal event twice": b"internal a < b\ninternal b\n",
    "JSON nested deeply": b'{"external": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "JSON cut off": b'{"external": [["a", "<", "b"]',
    "JSON of another kind": b'{"processes": 3}',
    "a line of garbage": b"\x01\x02<<<" * 200_000 + b"\n",
    "zeros": bytes(1000),
    "unfinished quotes": b'"' * 10_000,
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_bad_file_is_named_with_what_is_wrong(run: Run, kind: str) -> None:
    Path("bad.mc").write_bytes(BAD_FILES[kind])
    for command, *rest in (("online", "a", "b"), ("check",), ("evolve",), ("table",)):
        ran = run(command, "bad.mc", *rest, "--json")
        assert ran.refused(4)
        assert ran.err.startswith("error: bad.mc:")
        assert ran.err.count("error: ") == 1
        assert len(ran.err) < 2000


def test_a_path_that_is_no_file(run: Run) -> None:
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    for path in ("folder", "nowhere", "loop", "folder/nowhere", "a" * 5000, "\0"):
        ran = run("online", path, "a", "b")
        assert ran.refused(4)
        assert ran.err.startswith("error: ")


def test_a_file_that_may_not_be_read(run: Run, album: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    ran = run("online", album, "a", "b")
    assert (ran.code, ran.err) == (4, "error: album.mc: cannot be read: Permission denied\n")


@pytest.mark.parametrize("out", ["folder/new.mc", "folder", "."])
def test_a_place_that_cannot_be_written(run: Run, album: str, out: str) -> None:
    if out == "folder":
        Path(out).mkdir()
    before = sorted(Path().rglob("*"))
    ran = run("evolve", album, "--add", "a < b", "-o", out)
    assert ran.refused(4)
    assert "cannot be written" in ran.err
    assert sorted(Path().rglob("*")) == before


def test_a_pipe_and_a_link_stay_what_they_are(run: Run, album: str) -> None:
    os.mkfifo("pipe")
    Path("link.mc").symlink_to("linked.mc")
    Path("linked.mc").write_text("old", encoding="utf-8")
    with ThreadPoolExecutor() as pool:
        read = pool.submit(Path("pipe").read_text, encoding="utf-8")
        for out in ("pipe", "link.mc"):
            assert run("evolve", album, "--add", "a < b", "-o", out).code == 0
    assert Path("pipe").is_fifo()
    assert Path("link.mc").is_symlink()
    assert Path("linked.mc").read_text(encoding="utf-8") == read.result(10)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_microcosm_on_standard_output_is_nothing_else(run: Run, form: tuple[str, ...]) -> None:
    assert run("simulate", "ks", "--messages", "3", "--trace", "a.jsonl").code == 0
    found = run("extract", "a.jsonl", "-o", "-", *form)
    assert (found.code, found.out) == (0, run("extract", "a.jsonl", *form).out)


@pytest.mark.parametrize(
    "command",
    [
        ("order", "a.jsonl", "--explain", "causal", "--svg", "-"),
        ("assert", "a.ask", "a.mc", "--junit", "-"),
        ("simulate", "ks", "--trace", "-", "--json"),
    ],
    ids=" ".join,
)
def test_what_needs_a_file_does_not_go_to_standard_output(run: Run, command: tuple[str, ...]) -> None:
    assert run(*command).refused(2)
    assert not Path("-").exists()


@pytest.mark.parametrize(
    "command", [("evolve", "album.mc", "--add", "a < b"), ("merge", "album.mc", "album.mc")], ids=" ".join
)
def test_an_interrupt_leaves_the_old_file(
    run: Run, album: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("out.mc").write_text("old", encoding="utf-8")

    class HalfWritten:
        """A stream that is interrupted after some text."""

        def __init__(self, stream: IO[str]) -> None:
            self.stream = stream

        def __enter__(self) -> HalfWritten:
            return self

        def __exit__(self, *of: object) -> None:
            self.stream.close()

        def write(self, text: str) -> int:
            self.stream.write(text[: len(text) // 2])
            raise KeyboardInterrupt

        def writelines(self, lines: Iterable[str]) -> None:
            self.write("".join(lines))

    opened = os.fdopen
    monkeypatch.setattr(files.os, "fdopen", lambda *given, **named: HalfWritten(opened(*given, **named)))
    ran = run(*command, "-o", "out.mc")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")
    assert Path("out.mc").read_text(encoding="utf-8") == "old"
    assert {path.name for path in Path().iterdir()} == {"album.mc", "out.mc"}


def test_a_fault_of_the_program_is_one_line(run: Run, album: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(path: object) -> bytes:
        raise ZeroDivisionError("of\nours")

    monkeypatch.setattr(files, "read_bytes", fault)
    ran = run("online", album, "a", "b")
    assert ran.refused(exits.FAULT)
    assert ran.err == (
        "error: a fault of this program, please report it (ZeroDivisionError: of ours); "
        "MICROCOSM_DEBUG=1 shows the traceback\n"
    )


def test_a_traceback_where_it_is_asked_for(
    album: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from microcosm.cli.app import main

    monkeypatch.setenv(exits.DEBUG, "1")
    monkeypatch.setattr(files, "read_bytes", lambda path: 1 / 0)
    assert main(["online", album, "a", "b"]) == exits.FAULT
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_without_the_signs_or_the_names(run: Run, encoding: str) -> None:
    text = "café < 事件 < c".encode()
    for command in (("online", "-", "café", "c"), ("why", "-", "café", "c"), ("table", "-")):
        ran = run(*command, stdin=text, encoding=encoding)
        assert ran.code == 0
        assert "⊢" not in ran.out
    assert "|-0 " in run("online", "-", "café", "c", stdin=text, encoding=encoding).out
    ran = run("online", "-", "café", "事件", "--json", stdin=text, encoding=encoding)
    assert ran.json["pair"] == ["café", "事件"]


@pytest.mark.parametrize(
    "command",
    ["evolve -", "merge -", "extract - --pattern (?<event>.*)", "draw -", "page - -o - --title 事件"],
)
def test_what_is_a_file_elsewhere_is_utf_8_on_standard_output_too(command: str, run: Run) -> None:
    """What was written could not be read again."""
    text = "café < 事件 < c".encode()
    said = run(*command.split(), stdin=text).out
    assert "事件" in said
    assert run(*command.split(), stdin=text, encoding="latin-1").out.encode("latin-1").decode() == said


@pytest.mark.skipif(os.name == "nt", reason="pipes are closed otherwise there")
def test_a_closed_pipe_is_left_quietly(tmp_path: Path) -> None:
    links = "\n".join(f"e{k} < e{k + 1}" for k in range(4_000))
    (tmp_path / "long.mc").write_text(links, encoding="utf-8")
    command = [sys.executable, "-m", "microcosm", "online", "long.mc", "e0", "e4000", "--full"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == exits.PIPE_CLOSED


@pytest.mark.skipif(os.name == "nt", reason="pipes are closed otherwise there")
@pytest.mark.parametrize("line", ["--help", "--version", "online --help", "rules show Un-1"])
def test_a_pipe_that_nobody_reads_is_left_as_one_that_is_closed(
    run: Run, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from microcosm.cli.app import main

    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(line.split()) == exits.PIPE_CLOSED
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_said_once(
    album: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from microcosm.cli.app import main

    monkeypatch.chdir(tmp_path)
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["online", album, "unshare", "view"]) == exits.BAD_INPUT
    assert capsys.readouterr().err == "error: standard output: No space left on device\n"


def test_closed_streams_are_no_fault(album: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from microcosm.cli.app import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["online", album, "unshare", "nobody"]) == exits.UNDECIDED
    sys.stdout.close()
    sys.stderr.close()


@pytest.mark.parametrize("argv", [("online", "-", "a", "b"), ("check", "-"), ("events", "-"), ("order", "-")])
def test_closed_standard_input_cannot_be_read(
    argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from microcosm.cli.app import main

    monkeypatch.setattr(sys, "stdin", None)
    assert main([*argv]) == exits.BAD_INPUT
    assert "<stdin>: is closed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [("online", "m.mc", "a", "b"), ("check", "m.mc"), ("evolve", "red.mc", "--remove", '"\\u001b[31m" < b')],
)
def test_no_error_has_what_a_terminal_would_obey(run: Run, argv: tuple[str, ...]) -> None:
    Path("m.mc").write_text('"\\u001b[31m" < "\\u202eb" \n "\\u202eb" < "\\u001b[31m"', encoding="utf-8")
    Path("red.mc").write_text('"\\u001b[31m" || b', encoding="utf-8")
    ran = run(*argv)
    assert '"\\u001b[31m" <' in ran.out + ran.err
    assert not {"\x1b", "\u202e"} & {*ran.out, *ran.err}


@pytest.mark.parametrize("loaded", ["microcosm.tuning", "microcosm.cli.app"])
def test_an_interrupt_while_the_commands_are_loaded_shows_no_traceback(loaded: str) -> None:
    """A module that raises as Ctrl-C would, in a process of its own."""
    told = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == '{loaded}':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from microcosm.__main__ import main\n"
        "sys.exit(main())\n"
    )
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr == "interrupted\n"
