"""One Spark session for all tests marked `spark`; without Java or pyspark they say why they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from microcosm.errors import MicrocosmError
from microcosm.spark.java import find_java
from microcosm.spark.session import require_packages, session

LIGHT = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    try:
        require_packages()
        find_java()
    except MicrocosmError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("spark")
    folders = {"spark.local.dir": str(folder / "local"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    with session(options={**LIGHT, **folders}) as started:
        yield started


def table(folder: Path | str, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a job, sorted."""
    import pyarrow.parquet as pq

    return sorted(pq.read_table(Path(folder) / name).to_pylist(), key=repr)
