"""Options, profiles and fixtures of all tests.

`HYPOTHESIS_PROFILE` is `dev` (the default: quick), `ci` (fewer, the same ones each time) or
`thorough` (many). `pytest --rewrite-goldens` writes what people read into `tests/golden`; the diff is the
review.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from microcosm.order.bits import use_gmp
from tests.faulty import FaultyCopy

GOLDEN = Path(__file__).with_name("golden")

DEV = settings(
    max_examples=50, deadline=None, suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large)
)
settings.register_profile("dev", DEV)
settings.register_profile("ci", DEV, max_examples=30, derandomize=True, print_blob=True)
settings.register_profile("thorough", DEV, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_configure() -> None:
    """What a test starts can be interrupted, also where the tests run in the background of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What is collected stays until the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-goldens`: take what is printed now for what should be printed; `--spark`: tests/spark."""
    parser.addoption(
        "--spark",
        choices=("classic", "connect"),
        default="classic",
        help="run the tests of jobs on Spark in a session of their own, or through a Spark Connect server",
    )
    parser.addoption(
        "--rewrite-goldens", action="store_true", help="write tests/golden anew instead of comparing with it"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Of the tests of orders and of the engine one half lists members by GMP and one without.

    `MICROCOSM_GMP=on` or `off` has all of them done one way.
    """
    if {"order", "engine"} & {*item.path.parts}:
        told = os.environ.get("MICROCOSM_GMP")
        use_gmp(crc32(item.nodeid.encode()) % 2 == 1 if told is None else told == "on")


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> FaultyCopy:
    """A copy of the package and its tests to put faults in; one for all tests of a process."""
    return FaultyCopy(tmp_path_factory.mktemp("faulty"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with `tests/golden/NAME`, or write it there under `--rewrite-goldens`."""
    rewrite = request.config.getoption("--rewrite-goldens")

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if rewrite:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        assert file.is_file(), f"no {file.name} in tests/golden; `pytest --rewrite-goldens` writes it"
        assert text == file.read_text(encoding="utf-8")

    return compare
