"""The kernel: whether a derivation is one, and what has to be trusted so that its word counts.

The trusted base, by module: what runs when `kernel.check.check` decides. A fault in one of these may let a
wrong proof pass; nothing else of the package can. `tests/kernel/test_trusted_base.py` walks the imports,
holds this list to them, and counts the lines.

The kernel's own, which nothing that finds proofs uses:

    kernel.check           the laws by which a step is valid, and the walk over all steps
    kernel.node            what a node of JSON says, and what is wrong with its form
    kernel.plan            rules as plans of a search, and as patterns of steps
    kernel.search          the search that decides what is denied, and premises without a node; the givens of
                           one event, row by row

What it shares with the search for proofs, so that a fault there deceives both:

    givens.relation  relations, their converses, which is more accurate; a given, read from either end;
                     what two clocks say of each other, and two stamps rule out
    givens.facts     whether a single fact is given, and by what; what a rule may ask of messages;
                     of which events a complete log tells all
    logic.rule       the three judgements; a rule as data, and its instances
    text.names       how a name is written in a fault
    errors           the errors

It is handed two values and believes them: the givens (the fields of `givens.givens.Givens`, and the events
that they name) and the rules (the field `rules` of a rule book). Who has them read from files trusts the
readers as well: `text.mc_reader` and `text.json_form`, `logic.rulebook` with what these import.

`kernel.consistent` is not trusted: it only says when no engine need be asked whether givens contradict each
other, before anything is checked.
"""
