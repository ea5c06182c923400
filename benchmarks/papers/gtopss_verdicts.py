"""What the measurements say of G-ToPSS, and of our own aims."""

from __future__ import annotations

from benchmarks.papers.results import Measurement, Results
from benchmarks.papers.verdicts import Verdict, best, not_measured
from benchmarks.report import number, short

GTOPSS, SHARED, SPARSE = "gtopss", "gtopss, joins shared", "gtopss, sparse stars"
STRUCTURE, JOINS = "gtopss, structure", "gtopss, joins and constraints"
OPS, NAIVE, OURS, ENGINE = "ops", "naive", "ours", "ours, engine"
ALONE = "ours, joined one by one"
TRIPLES, OXIGRAPH, PARSED = "ours, from triples", "pyoxigraph", "pyoxigraph, only parsed"


def verdicts(results: Results) -> list[Verdict]:
    """All verdicts."""
    return [
        _memory(results),
        _time(results),
        _overlap(results),
        _size_memory(results),
        _size_time(results),
        _matching(results),
        _beats(results, "9g: G-ToPSS outperforms OPS", "always", GTOPSS, OPS, 1),
        _beats(results, "9h: OPS outperforms naive search", "far better", OPS, NAIVE, 1),
        _sparse(results),
        _shared(results),
        _alike(results),
        _beats(results, "ours: ops takes at least 20 × our time", "", OURS, OPS, 20),
        _beats(results, "ours: an ASK each takes at least 1,000 ×", "", OURS, OXIGRAPH, 1_000),
        _default(results, TRIPLES, "by itself"),
        _default(results, ENGINE, "in an engine"),
        _large(results, OURS, "by itself"),
        _large(results, ENGINE, "in an engine"),
        _bytes(results),
        _addition(results, OURS, "the index"),
        _addition(results, f"{ENGINE}, an expression", "an engine"),
        _documents(results, OURS, "by itself"),
        _documents(results, ENGINE, "in an engine"),
    ]


def _values(rows: list[Measurement]) -> str:
    return ", ".join(number(best(row)) for row in rows)


def _places(rows: list[Measurement]) -> str:
    return ", ".join(f"{row.x:g}" if row.x < 1 else short(int(row.x)) for row in rows)


def _memory(results: Results) -> Verdict:
    claim, theirs = "9a: memory grows linearly with the subscriptions", "linear"
    gm, ours = results.line("9a", GTOPSS), results.line("9a", OURS)
    if not gm or not ours:
        return not_measured(claim, theirs)
    each = f"GM {_values(gm)} bytes each at {_places(gm)}; ours {_values(ours)}"
    return Verdict(claim, theirs, each, max(map(best, gm)) <= 1.5 * min(map(best, gm)), "")


def _time(results: Results) -> Verdict:
    claim, theirs = "9b: time grows with the subscriptions, in both stages", "linear"
    first, second = results.line("9b", STRUCTURE), results.line("9b", JOINS)
    if len(first) < 2:
        return not_measured(claim, theirs)
    said = f"structure {_values(first)}, joins {_values(second)} µs at {_places(first)}"
    holds = best(first[-1]) > best(first[0]) and best(second[-1]) > best(second[0])
    return Verdict(claim, theirs, said, holds, "beyond the caches it grows faster")


def _overlap(results: Results) -> Verdict:
    claim, theirs = "9c: overlap makes GM smaller", "smaller"
    line = results.line("9c", GTOPSS)
    if not line:
        return not_measured(claim, theirs)
    said = f"{_values(line)} edges at overlap {_places(line)}"
    return Verdict(claim, theirs, said, best(line[-1]) < best(line[0]), "")


def _size_memory(results: Results) -> Verdict:
    claim, theirs = "9d: memory grows with the edges, not with the nodes", "edges only"
    edges, nodes = results.line("9d", GTOPSS), results.line("9d-nodes", GTOPSS)
    if not edges or not nodes:
        return not_measured(claim, theirs)
    said = f"{_values(edges)} at {_places(edges)} edges; {_values(nodes)} at {_places(nodes)} nodes"
    spread = max(map(best, nodes)) / min(map(best, nodes))
    return Verdict(claim, theirs, said, best(edges[-1]) > best(edges[0]) and spread < 1.3, "")


def _size_time(results: Results) -> Verdict:
    claim, theirs = "9e: time depends on the edges, not on the nodes", "edges only"
    nodes = results.line("9e-nodes", GTOPSS)
    edges = results.line("9e", GTOPSS)
    if not edges or not nodes:
        return not_measured(claim, theirs)
    said = (f"{_values(edges)} µs at {_places(edges)} edges; "
            f"{_values(nodes)} µs at {_places(nodes)} nodes")  # fmt: skip
    spread = max(map(best, nodes)) / min(map(best, nodes))
    rows = ", ".join(number(row.sums) for row in nodes)
    candidates = ", ".join(number(row.comparisons) for row in nodes)
    why = (
        f"binding tables of {rows} rows; {candidates} candidates. With fewer nodes more edges "
        "touch a variable (of 16 edges 10 with 5 nodes, 4 with 15), so joins are longer"
    )
    return Verdict(claim, theirs, said, spread < 2, why)


def _matching(results: Results) -> Verdict:
    claim, theirs = "9f: time grows quickly with the share that matches", "quickly"
    line = results.line("9f", GTOPSS)
    ours = results.line("9f", OURS)
    if len(line) < 2 or not ours:
        return not_measured(claim, theirs)
    said = f"{_values(line)} µs at {_places(line)}; ours {_values(ours)}"
    growth, share = best(line[-1]) / best(line[0]), line[-1].x / line[0].x
    each = ", ".join(number(best(row) / max(1.0, row.matches)) for row in line)
    own = ", ".join(number(best(row) / max(1.0, row.matches)) for row in ours)
    why = (
        f"it grows {growth:.1f} × where the matches grow {share:g} ×: below 1 % counting counts, "
        f"and it is above that the curve is steep. A match costs {each} µs; ours {own}, since "
        "G-ToPSS has the binding tables already, and we join in the publication"
    )
    return Verdict(claim, theirs, said, growth > share / 2, why)


def _beats(
    results: Results, claim: str, theirs: str, fast: str, slow: str, factor: float
) -> Verdict:
    rows = results.last("9g", fast, slow)
    if not rows:
        return not_measured(claim, theirs)
    ratio = best(rows[1]) / best(rows[0])
    said = f"{number(best(rows[0]))} against {number(best(rows[1]))} µs, {number(ratio)} ×"
    return Verdict(claim, theirs, f"{said} at {short(rows[0].subscriptions)}", ratio >= factor, "")


def _sparse(results: Results) -> Verdict:
    claim = "a better mapping of variables to stars makes GM sparser"
    plain, sparse = results.line("9c", GTOPSS), results.line("9c", SPARSE)
    if not plain or not sparse:
        return not_measured(claim, "open question")
    gains = [1 - best(b) / best(a) for a, b in zip(plain, sparse)]
    said = ", ".join(f"{gain:.1%}" for gain in gains) + f" fewer edges at overlap {_places(plain)}"
    why = "" if max(gains) > 0.05 else "constants tell most edges apart already"
    return Verdict(claim, "open question", said, max(gains) > 0.05, why)


def _shared(results: Results) -> Verdict:
    claim = "joins shared between overlapping subscriptions save time"
    pairs = [
        (results.at(figure, GTOPSS, row.x), row)
        for figure in ("9e", "9e-nodes", "9f")
        for row in results.line(figure, SHARED)
    ]
    ratios = [best(row) / best(plain) for plain, row in pairs if plain is not None]
    if not ratios:
        return not_measured(claim, "open question")
    said = f"{min(ratios):.2f} to {max(ratios):.2f} of the time without"
    why = "a pair that does not join spares whole joins; where all match, asking is added"
    return Verdict(claim, "open question", said, min(ratios) < 0.9, why)


def _alike(results: Results) -> Verdict:
    claim = "ours: subscriptions that differ only in their limits are worth joining once"
    alone, once = results.line("alike", ALONE), results.line("alike", OURS)
    if not alone or not once:
        return not_measured(claim, "open question")
    ratios = [best(slow) / best(fast) for slow, fast in zip(alone, once)]
    said = f"{_values(once)} against {_values(alone)} µs at {_places(once)} offers"
    why = f"{min(ratios):.1f} to {max(ratios):.1f} × faster; each tests its own limit only"
    return Verdict(claim, "open question", said, min(ratios) > 1, why)


def _default(results: Results, name: str, where: str) -> Verdict:
    claim = f"ours, {where}: at most 1 ms a publication at 30,000"
    row = results.at("9b", name, 30_000) or next(iter(results.line("9b", name)), None)
    if row is None:
        return not_measured(claim, "")
    said = f"{best(row) / 1_000:.2f} ms at {short(row.subscriptions)}"
    return Verdict(claim, "", said, best(row) <= 1_000, "")


def _large(results: Results, name: str, where: str) -> Verdict:
    claim = f"ours, {where}: a million with 30 matches takes at most 3 × 100,000"
    line = results.line("large", name)
    if len(line) < 2:
        return not_measured(claim, "")
    ratio = best(line[-1]) / best(line[0])
    said = f"{_values(line)} µs at {_places(line)}: {ratio:.2f} ×"
    return Verdict(claim, "", said, ratio <= 3, "")


def _bytes(results: Results) -> Verdict:
    claim = "ours: at most 300 bytes a subscription of 8 edges"
    line = results.line("large-memory", OURS)
    if not line:
        return not_measured(claim, "")
    said = f"{_values(line)} at {_places(line)}"
    why = "arrays; the dictionary of terms comes on top"
    return Verdict(claim, "", said, best(line[-1]) <= 300, why)


def _addition(results: Results, name: str, where: str) -> Verdict:
    claim = f"ours: an addition to {where} takes at most 100 µs"
    rows = results.line("addition", name)
    if not rows:
        return not_measured(claim, "")
    text = results.line("addition", f"{ENGINE}, a text")
    why = f"from text {number(best(text[0]))} µs, parsing included" if text else ""
    return Verdict(claim, "", f"{number(best(rows[0]))} µs", best(rows[0]) <= 100,
                   "" if name == OURS else why)  # fmt: skip


def _documents(results: Results, name: str, where: str) -> Verdict:
    claim = f"ours, {where}: documents take at most 3 × what pyoxigraph takes to parse them"
    rows = results.last("documents", PARSED, name)
    if not rows:
        return not_measured(claim, "")
    ratio = best(rows[1]) / best(rows[0])
    said = f"{number(best(rows[1]))} against {number(best(rows[0]))} s, {ratio:.2f} ×"
    return Verdict(claim, "", said, ratio <= 3, "")
