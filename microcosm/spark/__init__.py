"""Logs, microcosms and questions as jobs on Spark, as functions of DataFrames, and in SQL (`register`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from microcosm.spark.frames import register

__all__ = ["register"]


def __getattr__(name: str) -> object:
    if name == "register":  # Spark is loaded by whoever asks for it
        from microcosm.spark.frames import register

        return register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
