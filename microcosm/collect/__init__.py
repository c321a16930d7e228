"""Receives spans over OTLP and writes them as logs that every command reads.

`bodies` says what a request holds and how it is answered, `intake` keeps it, behind limits, and counts;
`serving` is the ways in, HTTP and gRPC.
"""
