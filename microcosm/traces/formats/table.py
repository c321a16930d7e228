"""The table of formats: a new one is one entry. It is loaded where a log is not in the own format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats import (
    concuerror,
    csight,
    dag,
    etcd,
    histories,
    jsonl,
    mpi,
    parquet,
    shiviz,
    tlc,
)
from microcosm.traces.formats.plain import json_logs, log, text_logs
from microcosm.traces.formats.spans import chrome, tracing
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
    Format("chrome", chrome.detects, chrome.read),
    Format("console", tracing.detects_console, tracing.read_console),
    Format("csight", csight.detects, csight.read),
    Format("csight_2pc", csight.detects_two_phase, csight.read_two_phase),
    Format("csight_channels", csight.detects_channels, csight.read_channels),
    Format("dag", dag.detects, dag.read),
    Format("etcd", etcd.detects, etcd.read),
    Format("jaeger", tracing.detects_jaeger, tracing.read_jaeger),
    Format("jepsen", histories.detects, histories.read),
    Format("jsonl", jsonl.detects, jsonl.read),
    Format("mpi", mpi.detects, mpi.read),
    Format("nezha", tracing.detects_nezha, tracing.read_nezha),
    Format("otlp", tracing.detects_otlp, tracing.read_otlp),
    Format("parquet", parquet.detects, parquet.read),
    Format("porcupine", histories.detects_porcupine, histories.read_porcupine),
    Format("shiviz", shiviz.detects, shiviz.read),
    Format("tlc", tlc.detects, tlc.read),
    Format("zipkin", tracing.detects_zipkin, tracing.read_zipkin),
    # Plain logs come behind all others, which know more of what they read.
    *(
        Format(said.__name__, json_logs.detects(marks), partial(json_logs.read, said))
        for said, marks in (
            (json_logs.journald, json_logs.is_journald),
            (json_logs.docker, json_logs.is_docker),
            (json_logs.loguru, json_logs.is_loguru),
            (json_logs.structlog, json_logs.is_structlog),
            (json_logs.logging, json_logs.is_logging),
        )
    ),
    Format("cri", text_logs.detects_cri, text_logs.read_cri),
    Format("klog", text_logs.detects_klog, text_logs.read_klog),
    Format("syslog", text_logs.detects_syslog, text_logs.read_syslog),
    Format("logfmt", text_logs.detects_logfmt, text_logs.read_logfmt),
    Format("csv", text_logs.detects_csv, text_logs.read_csv),
    Format(log.PATTERN, log.detects_pattern, log.read_pattern),
)
"""The formats of this package. Of those that are equally sure of a log the first is taken."""
