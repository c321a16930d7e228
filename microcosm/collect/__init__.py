"""Receives spans over OTLP and writes them as logs that every command reads.

`bodies` says what a request holds, `folder` keeps it, `intake` puts both behind limits and counts;
`over_http` is one way in, `serving` the other, gRPC, and runs both until it is told to stop.
"""
