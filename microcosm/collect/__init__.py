"""Receives spans over OTLP and writes them as logs that every command reads.

`bodies` says what a request holds, `folder` keeps it, `intake` puts both behind limits and counts;
`over_http` and `over_grpc` are the two ways in, and `serving` runs them until it is told to stop.
"""
