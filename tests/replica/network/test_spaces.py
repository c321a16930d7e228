"""Replicas in network namespaces, on links that go down, and lose, double and turn round."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

ROOT = Path(__file__).parents[3]
UNSHARE = ("unshare", "--map-root-user", "--net")


def unavailable() -> str | None:
    """Why this system has no network namespaces for its users; None if it has."""
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            return f"there is no `{tool}` here"
    probe = "ip link add probe0 type veth peer name probe1 && unshare --net true"
    tried = subprocess.run([*UNSHARE, "sh", "-c", probe], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"no network namespaces for this user: {tried.stderr.strip()}"


@pytest.mark.slow
def test_causal_exactly_once_and_the_same_in_the_end(tmp_path: Path) -> None:
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    ran = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.replica.spaces", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found.pop("lost") > 20
    assert found == {"messages": 30, "digests": 1, "codes": [0, 0, 0], "told": True, "faults": []}
