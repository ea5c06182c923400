"""What Le Subscribe claims of its algorithms, against what was measured."""

from __future__ import annotations

from itertools import pairwise

from benchmarks.papers.contenders import FAIR, NAIVE, PREFERRED, QUARANTINING, SIEVE
from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import (
    Verdict,
    best,
    descends,
    exponent,
    not_measured,
    operations,
    times,
)
from benchmarks.report import number, short

THEIRS = (FAIR, PREFERRED, QUARANTINING)
"""The three algorithms that the paper measures, slowest first."""
LARGE = 10_000
"""Subscriptions from which on the order of curves counts; below, all take a few microseconds."""
ALIKE = 1.25
"""The factor within which two times are called the same."""
PRINTED_ADDITION = 32.2
"""Milliseconds."""
PRINTED_FACTOR = 10_000
NEAR_AT = 400_000
"""Subscriptions at which quarantining is held against the sieve, or the most below."""
ADDITION_FLOOR = 50
"""Microseconds."""


def verdicts(results: Results) -> list[Verdict]:
    """All claims."""
    return [
        order(results, "9a"),
        order(results, "9b"),
        handing_over(results),
        naive_factor(results),
        shares(results),
        same_without_ranges(results),
        growth(results),
        addition(results),
        cheapest_addition(results),
        engine_addition(results),
        tiny(results),
        domains(results),
        types(results),
        near_the_sieve(results),
    ]


def order(results: Results, figure: str) -> Verdict:
    """Figure 9: the order of the curves."""
    claim = f"{figure}: quarantining is fastest, then equality-preferred, then fair predicate"
    lines = [{row.x: row for row in results.line(figure, each)} for each in THEIRS]
    common = sorted(x for x in set.intersection(*map(set, lines)) if x >= LARGE)
    if not common:
        return not_measured(claim, "order of curves")
    wrong = [x for x in common if not descends([line[x] for line in lines])]
    rows = [line[common[-1]] for line in lines]
    work = [f"{each.algorithm} {number(operations(each))}" for each in rows]
    why = f"operations an event at {short(int(common[-1]))}: {', '.join(work)}"
    if wrong:
        why += f"; another order at {', '.join(short(int(x)) for x in wrong)}"
    return Verdict(claim, "order of curves", times(rows), not wrong, why)


def handing_over(results: Results) -> Verdict:
    """Figure 9b: what the result adds."""
    claim = "9b: handing over the result adds little, and more with more subscriptions"
    before, after = (results.line(figure, QUARANTINING) for figure in ("9a", "9b"))
    pairs = [(a, b) for a, b in zip(before, after) if a.x == b.x and a.x >= LARGE]
    if len(pairs) < 2:
        return not_measured(claim, "")
    added = [best(b) - best(a) for a, b in pairs]
    first, last = pairs[0][0], pairs[-1][0]
    ours = (
        f"quarantining: {number(added[0])} µs at {short(first.subscriptions)}, "
        f"{number(added[-1])} µs of {number(best(pairs[-1][1]))} at {short(last.subscriptions)}"
    )
    holds = added[-1] > added[0] and added[-1] < best(last)
    each = added[-1] * 1e3 / max(last.matches, 1)
    why = f"{number(last.matches)} matches an event, {number(each)} ns to hand one over"
    return Verdict(claim, "a slight increase", ours, holds, why)


def naive_factor(results: Results) -> Verdict:
    """What naive takes more than quarantining."""
    claim = "naive takes almost ten thousand times as long as quarantining at 400k"
    theirs = f"about {number(PRINTED_FACTOR)}"
    found = results.last("naive", NAIVE, QUARANTINING)
    if not found:
        return not_measured(claim, theirs)
    naive, ours = found
    factor, work = best(naive) / best(ours), operations(naive) / operations(ours)
    why = (
        f"naive evaluates {number(naive.evaluated)} predicates, quarantining does "
        f"{number(operations(ours))} evaluations, sums and comparisons: {number(work)} times "
        f"fewer, and each {number(factor / work)} times cheaper, as most go through memory in "
        "order. More than that is no matter of algorithms: theirs were written in K, where a loop "
        "is interpreted and a vector operation is not; here all are compiled"
    )
    text = f"{number(factor)} at {short(naive.subscriptions)}"
    return Verdict(claim, theirs, text, factor >= PRINTED_FACTOR / 3, why)


def shares(results: Results) -> Verdict:
    """Figure 10: fewer inequalities, less time."""
    claim = "10: the lower the share of inequalities, the faster all three"
    lines = [results.line("10", each) for each in THEIRS]
    if any(len(line) < 2 for line in lines):
        return not_measured(claim, "falling curves")
    falls = [all(best(b) <= best(a) * 1.05 for a, b in pairwise(line)) for line in lines]
    ours = "; ".join(
        f"{line[0].algorithm} {number(best(line[0]))} → {number(best(line[-1]))} µs"
        for line in lines
    )
    fair = lines[0]
    why = (
        f"fair predicate adds {number(fair[0].sums)} hits an event at p = {fair[0].x:g} and "
        f"{number(fair[-1].sums)} at p = {fair[-1].x:g}: an inequality is true of half of the "
        "events that have its attribute, an equality of one in hundreds"
    )
    return Verdict(claim, "falling curves", ours, all(falls), why)


def same_without_ranges(results: Results) -> Verdict:
    """Figure 10 at p = 1."""
    claim = "10: without inequalities equality-preferred and quarantining take the same"
    preferred, ours = (results.at("10", each, 1.0) for each in (PREFERRED, QUARANTINING))
    if preferred is None or ours is None:
        return not_measured(claim, "the same")
    ratio = max(best(preferred), best(ours)) / min(best(preferred), best(ours))
    why = (
        "all subscriptions are in equality clusters, and nothing is left to count or verify; "
        f"equality-preferred still compares a hit count for each candidate "
        f"({number(preferred.comparisons)})"
    )
    return Verdict(claim, "the same", times([preferred, ours]), ratio <= ALIKE, why)


def growth(results: Results) -> Verdict:
    """Figure 11: how time grows."""
    claim = "11: with equality only, time has a threshold and then grows slightly, like a logarithm"
    line = [row for row in results.line("11", QUARANTINING) if row.x >= LARGE]
    if len(line) < 2:
        return not_measured(claim, "logarithmic")
    power = exponent([(row.x, best(row)) for row in line])
    ours = (
        f"{number(best(line[0]))} µs at {short(line[0].subscriptions)}, {number(best(line[-1]))} "
        f"at {short(line[-1].subscriptions)}: N to the power of {power:.2f}"
    )
    each = best(line[-1]) * 1e3 / max(line[-1].matches, 1)
    why = (
        f"the lookups are the threshold; but matches grow with N, to {number(line[-1].matches)} an "
        f"event at the end, and each takes time ({number(each)} ns with everything)"
    )
    return Verdict(claim, "logarithmic", ours, power < 0.5, why)


def addition(results: Results) -> Verdict:
    """One addition with quarantining."""
    claim = "one addition to 3.2M subscriptions with quarantining"
    theirs = f"{PRINTED_ADDITION} ms"
    rows = results.line("addition", QUARANTINING)
    if not rows:
        return not_measured(claim, theirs)
    row = rows[-1]
    ours = f"{number(best(row))} µs at {short(row.subscriptions)}"
    why = f"a few places in flat arrays change, whatever N is; {row.note}, when arrays double"
    return Verdict(claim, theirs, ours, best(row) <= PRINTED_ADDITION * 1e3, why)


def cheapest_addition(results: Results) -> Verdict:
    """Additions compared."""
    claim = "equality-preferred takes a similar time for an addition, fair predicate less"
    rows = results.last("addition", *THEIRS)
    if not rows:
        return not_measured(claim, "")
    fair, preferred, ours = (best(row) for row in rows)
    holds = fair < min(preferred, ours) and max(preferred, ours) <= 2 * min(preferred, ours)
    why = "an addition is a handful of calls, and what it does to the arrays is small beside them"
    return Verdict(claim, "fair < the others", times(rows), holds, why)


def engine_addition(results: Results) -> Verdict:
    """One addition with all that an engine does for it."""
    claim = f"one addition to 3.2M through an engine takes at most {ADDITION_FLOOR} µs"
    rows = results.last("subscribe", FAIR, QUARANTINING)
    if not rows:
        return not_measured(claim, "ours to show")
    why = "the text is recognised by its template, the id looked up, and a few arrays change"
    holds = max(map(best, rows)) <= ADDITION_FLOOR
    return Verdict(claim, "ours to show", times(rows), holds, why)


def tiny(results: Results) -> Verdict:
    """W1-tiny."""
    claim = "with equalities that are not selective, equality-preferred wins (three values)"
    rows = results.last("tiny", PREFERRED, QUARANTINING)
    if not rows:
        return not_measured(claim, "expected")
    preferred, ours = rows
    why = (
        f"quarantining verifies {number(ours.evaluated)} predicates, equality-preferred adds "
        f"{number(preferred.sums)} hits and compares {number(preferred.comparisons)}"
    )
    return Verdict(claim, "expected", times(rows), best(preferred) < best(ours), why)


def domains(results: Results) -> Verdict:
    """Where equality-preferred overtakes quarantining."""
    claim = "the same with fewer values"
    lines = [results.line("domains", each) for each in (PREFERRED, QUARANTINING)]
    if not all(lines):
        return not_measured(claim, "expected")
    pairs = list(zip(*lines))
    won = [preferred.x for preferred, ours in pairs if best(preferred) < best(ours)]
    first, second = pairs[0]
    ours_text = f"with {first.x:g}: {times([first, second])}"
    crossing = f"it wins with up to {max(won):g} values" if won else "it never wins"
    why = (
        f"{crossing}; with {first.x:g}, quarantining verifies {number(second.evaluated)} "
        f"predicates, equality-preferred adds {number(first.sums)} hits and compares "
        f"{number(first.comparisons)}"
    )
    return Verdict(claim, "expected", ours_text, bool(won), why)


def types(results: Results) -> Verdict:
    """Event types."""
    claim = "several event types: qualified names handle them as efficiently as own structures"
    ways = [f"{QUARANTINING}, {way}" for way in ("structures", "names")]
    rows = results.last("types", *ways)
    if not rows:
        return not_measured(claim, "")
    apart, together = rows
    ours = (
        f"{QUARANTINING} with {apart.x:g} types: structures {number(best(apart))}, names "
        f"{number(best(together))} µs"
    )
    why = (
        f"operations {number(operations(apart))} and {number(operations(together))}; bytes each "
        f"{number(apart.bytes / apart.subscriptions)} and "
        f"{number(together.bytes / together.subscriptions)}"
    )
    return Verdict(claim, "in an efficient way", ours, best(together) <= 2 * best(apart), why)


def near_the_sieve(results: Results) -> Verdict:
    """Quarantining against ours."""
    claim = "quarantining is within three times of our sieve on W1 at 400k"
    lines = [results.line("9a", each) for each in (QUARANTINING, SIEVE)]
    rows = [[row for row in line if row.x <= NEAR_AT][-1] for line in lines if line]
    if len(rows) < len(lines) or rows[0].x != rows[1].x:
        return not_measured(claim, "ours to show")
    ratio = best(rows[0]) / best(rows[1])
    why = f"{number(rows[0].matches)} matches an event, which both must write"
    return Verdict(claim, "ours to show", f"{ratio:.2f} x: {times(rows)}", ratio <= 3, why)
