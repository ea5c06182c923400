"""What the paper on Gryphon claims of its tree, against what was measured."""

from __future__ import annotations

from math import log

from benchmarks.papers.contenders import GRYPHON, NAIVE, SIEVE
from benchmarks.papers.gryphon_variants import AGGRESSIVE, COLLAPSED, FACTORED, PLAIN, SUCCESSORS
from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import Verdict, best, exponent, not_measured, times
from benchmarks.report import number, short
from benchmarks.workloads import CHOICES, LEVELS
from tamis.published.gryphon.gryphon import expected_visits

SUBLINEAR = 0.9
"""A fitted exponent up to which growth is clearly below linear."""
LINEAR = 1.05
"""A fitted exponent up to which growth is called linear."""

SUBLINEARITY = log(LEVELS + 1) / (log(CHOICES) + log(LEVELS + 1))
"""1 - λ, the power of N in the theorem."""


def bound(subscriptions: float) -> float:
    """The theorem's bound on the nodes that an event of W4 visits on average."""
    return expected_visits(int(subscriptions), LEVELS, CHOICES)


def verdicts(results: Results) -> list[Verdict]:
    """All claims."""
    return [
        under_the_bound(results),
        sublinear(results, "w4"),
        sublinear(results, "constant"),
        sublinear_time(results),
        linear_space(results, PLAIN),
        linear_space(results, SUCCESSORS),
        collapse(results),
        successor_sets(results),
        fewer_successors(results),
        factoring(results),
        against_the_others(results),
    ]


def under_the_bound(results: Results) -> Verdict:
    """The theorem."""
    claim = "the theorem: an event visits fewer nodes of the plain tree than its bound, on average"
    line = results.line("w4", PLAIN)
    if not line:
        return not_measured(claim, "")
    parts = [row.visited / bound(row.x) for row in line]
    ours = ", ".join(
        f"{number(row.visited)} of {number(bound(row.x))} at {short(row.subscriptions)}"
        for row in (line[0], line[-1])
    )
    why = (
        f"{min(parts):.1%} to {max(parts):.1%} of the bound, which is for the most unfavourable "
        "subscriptions; these test the first attributes more than the last"
    )
    return Verdict(claim, "≤ bound", ours, max(parts) <= 1, why)


def sublinear(results: Results, name: str) -> Verdict:
    """How the number of nodes grows."""
    held = " with matches held constant" if name == "constant" else ""
    claim = f"nodes visited grow sublinearly with N{held}"
    theirs = f"N to the power of {SUBLINEARITY:.3f} at most"
    line = [row for row in results.line(name, PLAIN) if row.visited]
    if len(line) < 2:
        return not_measured(claim, theirs)
    power = exponent([(row.x, row.visited) for row in line])
    first, last = line[0], line[-1]
    ours = f"N to the power of {power:.3f}"
    why = (
        f"{number(first.visited)} nodes at {short(first.subscriptions)}, {number(last.visited)} at "
        f"{short(last.subscriptions)}; matches {number(first.matches)} and {number(last.matches)}"
    )
    return Verdict(claim, theirs, ours, power <= SUBLINEAR, why)


def sublinear_time(results: Results) -> Verdict:
    """How time grows."""
    claim = "time grows as the number of nodes visited does"
    line = [row for row in results.line("w4", PLAIN) if row.visited]
    if len(line) < 2:
        return not_measured(claim, "")
    nodes = exponent([(row.x, row.visited) for row in line])
    power = exponent([(row.x, best(row)) for row in line])
    each = [best(row) * 1e3 / row.visited for row in line]
    ours = f"N to the power of {power:.3f}, nodes {nodes:.3f}"
    why = (
        f"a node takes {number(each[0])} ns at {short(line[0].subscriptions)} and "
        f"{number(each[-1])} at {short(line[-1].subscriptions)}, where the tree is larger than the "
        "caches"
    )
    return Verdict(claim, "proportional", ours, power <= SUBLINEAR, why)


def linear_space(results: Results, variant: str) -> Verdict:
    """How space grows."""
    claim = f"space is linear in N ({variant})"
    line = [row for row in results.line("w4", variant) if row.space]
    if len(line) < 2:
        return not_measured(claim, "linear")
    power = exponent([(row.x, row.space) for row in line])
    each = [row.space / row.subscriptions for row in line]
    ours = (
        f"N to the power of {power:.3f}; {number(each[0])} edges and successors a subscription at "
        f"{short(line[0].subscriptions)}, {number(each[-1])} at {short(line[-1].subscriptions)}"
    )
    why = f"a subscription adds at most {LEVELS} edges, and the fewer the more are there to share"
    return Verdict(claim, "linear", ours, power <= LINEAR, why)


def collapse(results: Results) -> Verdict:
    """The first optimisation."""
    return gain(results, "collapsing chains of stars shortens matching", PLAIN, COLLAPSED)


def successor_sets(results: Results) -> Verdict:
    """The second optimisation."""
    claim = "successor sets shorten it further, for more space, still linear"
    otherwise = (
        "a node has a list to read then, elsewhere in memory, and few nodes are left to save when "
        "chains of stars are gone"
    )
    return gain(results, claim, COLLAPSED, SUCCESSORS, otherwise)


def fewer_successors(results: Results) -> Verdict:
    """Its second form."""
    claim = "knowing that a blocked test has failed leads to fewer nodes"
    rows = results.last("gains", SUCCESSORS, AGGRESSIVE)
    if not rows:
        return not_measured(claim, "fewer nodes")
    before, after = rows
    ours = f"{number(before.visited)} → {number(after.visited)} nodes visited"
    why = (
        f"successors {number(before.successors)} → {number(after.successors)}, "
        f"time {number(best(before))} → {number(best(after))} µs"
    )
    return Verdict(claim, "fewer nodes", ours, after.visited < before.visited, why)


def factoring(results: Results) -> Verdict:
    """The third optimisation."""
    claim = "factoring on the first 1, 2, 3 attributes shortens matching, for more space"
    rows = results.last("gains", COLLAPSED, *FACTORED)
    if not rows:
        return not_measured(claim, "shorter")
    ours = " → ".join(number(best(row)) for row in rows) + f" µs at {short(rows[0].subscriptions)}"
    holds = best(rows[-1]) < best(rows[0])
    why = "edges " + " → ".join(number(row.edges) for row in rows)
    if not holds:
        why += (
            "; each attribute saves one node of a path, but copies who does not care about it, "
            "until the trees are larger than the caches"
        )
    return Verdict(claim, "shorter", ours, holds, why)


def gain(results: Results, claim: str, without: str, with_it: str, otherwise: str = "") -> Verdict:
    """What an optimisation gains, and why if it does not."""
    rows = results.last("gains", without, with_it)
    if not rows:
        return not_measured(claim, "shorter")
    before, after = rows
    change = best(after) / best(before) - 1
    at = short(before.subscriptions)
    ours = f"{number(best(before))} → {number(best(after))} µs at {at} ({change:+.0%})"
    why = (
        f"nodes visited {number(before.visited)} → {number(after.visited)}, "
        f"space {number(before.space)} → {number(after.space)}"
    )
    if change >= 0 and otherwise:
        why += f"; {otherwise}"
    return Verdict(claim, "shorter", ours, change < 0, why)


def against_the_others(results: Results) -> Verdict:
    """Where the tree stands."""
    claim = "matching is much faster than testing every subscription"
    rows = results.last("w4", GRYPHON, NAIVE, SIEVE)
    if not rows:
        return not_measured(claim, "")
    tree, naive, _ = rows
    factor = best(naive) / best(tree)
    why = (
        f"naive evaluates {number(naive.evaluated)} predicates, the tree visits "
        f"{number(tree.visited)} nodes"
    )
    return Verdict(claim, "sublinear against linear", times(rows), factor > 1, why)
