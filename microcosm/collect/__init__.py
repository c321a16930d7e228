"""Receives spans over OTLP and writes them as logs."""
