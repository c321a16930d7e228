"""Records a running program: which events it had, in which order, and which message went with which.

    from microcosm.record import Recorder
    causality = Recorder("alice", "alice.jsonl")
    causality.event("got lease", key="x")
    header = causality.send("write x=1", to="store")    # goes with the message
    causality.receive(header, "write x=1")              # at the store, with its own recorder

Nothing but the standard library is imported here.
"""

from microcosm.record.recorder import Recorder, RecordHandler

__all__ = ["RecordHandler", "Recorder"]
