"""The table of formats: a new one is one entry. It is loaded where a log is not in the own format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats import (
    concuerror,
    csight,
    dag,
    etcd,
    jsonl,
    mpi,
    parquet,
    shiviz,
    tlc,
)
from microcosm.traces.formats.spans import tracing
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines


class Format(NamedTuple):
    """A format: its name, how it is told, and how it is read; as `microcosm.traces.reading.Format` says."""

    NAME: str
    detects: Callable[[str, str], int]
    read: Callable[[Lines, str, Report, Options], Iterator[TraceEvent]]


FORMATS = (
    Format("concuerror", concuerror.detects, concuerror.read),
    Format("csight", csight.detects, csight.read),
    Format("csight_2pc", csight.detects_two_phase, csight.read_two_phase),
    Format("csight_channels", csight.detects_channels, csight.read_channels),
    Format("dag", dag.detects, dag.read),
    Format("etcd", etcd.detects, etcd.read),
    Format("jaeger", tracing.detects_jaeger, tracing.read_jaeger),
    Format("jsonl", jsonl.detects, jsonl.read),
    Format("mpi", mpi.detects, mpi.read),
    Format("nezha", tracing.detects_nezha, tracing.read_nezha),
    Format("otlp", tracing.detects_otlp, tracing.read_otlp),
    Format("parquet", parquet.detects, parquet.read),
    Format("shiviz", shiviz.detects, shiviz.read),
    Format("tlc", tlc.detects, tlc.read),
    Format("zipkin", tracing.detects_zipkin, tracing.read_zipkin),
)
"""The formats of this package. Of those that are equally sure of a log the first is taken."""
