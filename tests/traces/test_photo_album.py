"""The example log: part of it never arrived, and yet it can be asked."""

from __future__ import annotations

from microcosm import Microcosm, Relation, files
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.report import Report

LOG = files.shipped("examples") / "photo-album.jsonl"


def test_the_example_answers_as_promised() -> None:
    report = Report()
    found = extract(formats.read([LOG], report=report), report=report)
    assert (found.events, found.processes, found.messages) == (15, 4, 7)
    assert found.reported == {"seq-gap": 1, "unmatched-receive": 1, "unreceived-send": 2}
    assert found.isolated == 0
    album = Microcosm(found.givens)
    assert album.online("unshare", "upload") is Relation.BEFORE
    assert album.online("edit", "unshare") is Relation.CONCURRENT
    assert album.online("upload", "look") is Relation.UNKNOWN
    assert album.online("acl-seen", "digest") is Relation.SILENT


def test_the_proof_goes_through_two_messages() -> None:
    found = extract(formats.read([LOG]))
    sources = [fact.source for fact in found.givens.external.values()]
    assert "message acl" in sources
    assert "message news" in sources
    less = extract(event for event in formats.read([LOG]) if event.message != "news")
    assert Microcosm(less.givens).online("unshare", "upload") is not Relation.BEFORE


def test_what_a_device_could_know_is_less() -> None:
    view = extract(formats.read([LOG]), process="phone")
    assert view.givens.internal == ["unshare", "digest-seen", "like-seen"]
    assert (view.events, view.outside) == (10, 5)
    assert not {"upload", "edit", "backup", "acl-seen", "choose"} & set(view.givens.named())


def test_an_extracted_microcosm_can_be_written_and_read() -> None:
    givens = extract(formats.read([LOG])).givens
    again = read_givens(write_mc(givens))
    assert again.external == givens.external
    assert again.clocks == givens.clocks
    assert again.messages == givens.messages
