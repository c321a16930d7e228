"""Receives spans over OTLP and writes them as logs that every command reads.

`bodies` says what a request holds and how it is answered, `folder` keeps it, `intake` puts both behind limits
and counts; `serving` is the ways in, HTTP and gRPC.
"""
