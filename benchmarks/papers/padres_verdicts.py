"""What the measurements say of PADRES, and of our own aims."""

from __future__ import annotations

from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import Verdict, best, not_measured
from benchmarks.report import number, short

PLAIN, COVERING, PERFECT, IMPERFECT = "plain", "covering", "perfect", "imperfect"
LEARNED, RANDOM = "outputs, learned order", "outputs, random order"
MBD_NAME, NAIVE, SIEVE = "MBD", "naive", "sieve"
OURS = "box index"
ONE_PHASE, CACHED = "MBD, one phase, no cache", "MBD, one phase"
INSERTED = "MBD, insertion"
TWO_PHASES, BOTH_PHASES = "MBD, two phases, stopping early", "MBD, two phases"
STATES = (PLAIN, COVERING, PERFECT, IMPERFECT)
PRINTED = {
    "A": ((68.73, 300.71), (19.16, 73.41), (13.31, 49.89), (9.96, 43.83)),
    "B": ((82.28, 300.92), (38.15, 165.38), (33.37, 152.21), (29.19, 141.06)),
}
"""Table 2: milliseconds of MBD and of naive, by state."""


def verdicts(results: Results) -> list[Verdict]:
    """All verdicts."""
    found = []
    for name, share in (("A", 0.75), ("B", 0.45)):
        found += [
            _covered(results, name, share),
            _merged(results, name),
            _ahead_of_naive(results, name),
            _ahead_of_mbd(results, name),
            _cut(results, name),
        ]
    found += [_order(results), _cache(results), _one_phase(results), _insertion(results)]
    found += [_removal(results), _little_beyond(results), _promised(results), _false(results)]
    found += [_false_of_few(results)]
    found += [_messages(results), _merging_messages(results)]
    return found


def _sizes(results: Results, name: str) -> list[float]:
    return [row.evaluated for row in results.last(f"12-{name}", *STATES)]


def _covered(results: Results, name: str, share: float) -> Verdict:
    claim = f"figure 12, set {name}: covering alone removes much of the table"
    sizes, theirs = _sizes(results, name), f"about {share:.0%}"
    if not sizes:
        return not_measured(claim, theirs)
    ours = 1 - sizes[1] / sizes[0]
    return Verdict(claim, theirs, f"{ours:.0%}", abs(ours - share) < 0.05,
                   "the set is calibrated for it at 200,000 subscriptions")  # fmt: skip


def _merged(results: Results, name: str) -> Verdict:
    printed = [naive / PRINTED[name][1][1] for _, naive in PRINTED[name][2:]]
    claim = f"figure 12, set {name}: merging makes the covered table smaller"
    theirs = f"to {printed[0]:.0%}, imperfect {printed[1]:.0%} (by the times of naive)"
    sizes = _sizes(results, name)
    if not sizes:
        return not_measured(claim, theirs)
    ours = f"to {sizes[2] / sizes[1]:.0%}, imperfect {sizes[3] / sizes[1]:.0%}"
    why = ("a subscription with equalities is so unlikely that a threshold of 0.1 for each merger "
           "lets all mergers pass that differ in one attribute")  # fmt: skip
    return Verdict(claim, theirs, ours, sizes[3] < sizes[2] < sizes[1], why)


def _times(results: Results, name: str, way: str) -> list[float]:
    found = [results.line(f"2-{name}", f"{way}, {state}") for state in STATES]
    return [best(line[-1]) for line in found if line]


def _ratios(results: Results, name: str, slow: str, fast: str) -> list[float]:
    both = zip(_times(results, name, slow), _times(results, name, fast))
    return [one / other for one, other in both]


def _ahead_of_naive(results: Results, name: str) -> Verdict:
    printed = [naive / mbd for mbd, naive in PRINTED[name]]
    claim = f"table 2, set {name}: MBD is ahead of a scan in every state, by about 4"
    theirs = f"{min(printed):.1f} to {max(printed):.1f} times"
    ratios = _ratios(results, name, NAIVE, MBD_NAME)
    if not ratios:
        return not_measured(claim, theirs)
    why = ("a compiled scan leaves a subscription at its first false predicate, after a "
           "nanosecond or two; the sweep evaluates every node, each once")  # fmt: skip
    return Verdict(claim, theirs, _told(ratios), min(ratios) >= 3.5, why)


def _ahead_of_mbd(results: Results, name: str) -> Verdict:
    claim = f"table 2, set {name}: a table on the sieve is ahead of MBD in every state"
    ratios = _ratios(results, name, MBD_NAME, SIEVE)
    if not ratios:
        return not_measured(claim, "(ours)")
    times = _times(results, name, SIEVE)
    why = f"covering and merging leave the sieve {times[-1] / times[0]:.0%} of its time"
    return Verdict(claim, "(ours)", _told(ratios), min(ratios) > 1, why)


def _told(ratios: list[float]) -> str:
    return f"{', '.join(f'{ratio:.1f}' for ratio in ratios)} times"


def _cut(results: Results, name: str) -> Verdict:
    (first, _), (last, _) = PRINTED[name][0], PRINTED[name][-1]
    claim = f"table 2, set {name}: covering and merging cut MBD's routing time"
    theirs = f"by {1 - last / first:.1%}"
    times = _times(results, name, MBD_NAME)
    if not times:
        return not_measured(claim, theirs)
    cut, least = 1 - times[-1] / times[0], 0.8 if name == "A" else 0.5
    ours = f"by {cut:.0%} ({', '.join(map(number, times))} µs)"
    return Verdict(claim, theirs, ours, cut >= least, "")


def _order(results: Results) -> Verdict:
    claim = "figure 12: merging outputs with the same child finds more under a good order"
    theirs = "6,076 entries more with a random order"
    found = [row.evaluated for row in results.last("12-A", LEARNED, RANDOM)]
    if not found:
        return not_measured(claim, theirs)
    ours = f"{number(found[0])} learned, {number(found[1])} random"
    why = ("outputs differ in the attribute at the top of their chains alone; merging on any "
           "attribute finds more than either order")  # fmt: skip
    return Verdict(claim, theirs, ours, found[1] > found[0], why)


def _cache(results: Results) -> Verdict:
    claim = "figure 13: the dependency cache makes the index step cheaper"
    theirs = "23.41 to 2.46 ms"
    rows = results.last("13", ONE_PHASE, CACHED)
    if not rows:
        return not_measured(claim, theirs)
    ours = (f"{number(rows[0].comparisons)} to {number(rows[1].comparisons)} steps, "
            f"{number(best(rows[0]))} to {number(best(rows[1]))} µs in all")  # fmt: skip
    why = ("a side has 60 variables on its attribute: to compare all of them takes a tenth of a "
           "microsecond, against tens for the sweep over the diagrams")  # fmt: skip
    return Verdict(claim, theirs, ours, rows[1].comparisons < rows[0].comparisons, why)


def _one_phase(results: Results) -> Verdict:
    claim = "figure 13: one phase is faster than two separate algorithms, by 1.4 or more"
    theirs = "45.8 %"
    rows = results.last("13", BOTH_PHASES, TWO_PHASES, CACHED)
    if not rows:
        return not_measured(claim, theirs)
    both, early, one = map(best, rows)
    ours = f"{both / one:.2f} times; {early / one:.2f} times against two that stop early"
    why = ("two phases of which the second is left out when the first finds a coverer do the same "
           "early exit: most of what comes is covered, and one sweep with one bit is cheaper than "
           "one with two")  # fmt: skip
    return Verdict(claim, theirs, ours, both / one >= 1.4, why)


def _insertion(results: Results) -> Verdict:
    claim = "insertion with covering: 100 µs for ours, 3 ms for MBD with its cache"
    rows = results.last("13", OURS, INSERTED)
    if not rows:
        return not_measured(claim, "(ours)")
    ours, mbd = map(best, rows)
    told = f"{number(ours)} µs and {number(mbd)} µs at {short(rows[0].subscriptions)}"
    why = "ours from an expression on, MBD from a box on"
    return Verdict(claim, "(ours)", told, ours <= 100 and mbd <= 3_000, why)


def _removal(results: Results) -> Verdict:
    claim = "a coverer of 10,000 is gone within 100 ms"
    rows = results.of("removal")
    if not rows:
        return not_measured(claim, "(ours)")
    (row,) = rows
    told = f"{number(best(row))} ms with {short(row.subscriptions)} below it"
    return Verdict(claim, "(ours)", told, best(row) <= 100, "")


def _little_beyond(results: Results) -> Verdict:
    claim = "figure 14: beyond a threshold of 0.15 little is gained"
    theirs = "32,852 at 0, only slightly less beyond 0.15"
    line = results.line("14", "without advertisements")
    if not line:
        return not_measured(claim, theirs)
    at = {row.x: row.evaluated for row in line}
    middle = max(x for x in at if x <= 0.15)
    ours = f"{number(at[0.0])} at 0, {number(at[middle])} at {middle:g}, {number(at[1.0])} at 1"
    return Verdict(claim, theirs, ours, at[middle] - at[1.0] < 0.1 * (at[0.0] - at[middle]), "")


def _promised(results: Results) -> Verdict:
    claim = "figure 14: with advertisements more can be merged"
    theirs = "fewer entries at every threshold"
    lines = [
        results.line("14", f"with{rest}") for rest in ("out advertisements", " an advertisement")
    ]
    if not all(lines):
        return not_measured(claim, theirs)
    pairs = [(a.evaluated, b.evaluated) for a, b in zip(*lines)]
    ours = f"{number(pairs[0][0])} to {number(pairs[0][1])} at 0"
    return Verdict(claim, theirs, ours, all(b <= a for a, b in pairs), "")


def _false(results: Results) -> Verdict:
    claim = "figure 15: a threshold of 0.1 keeps false positives under 2.5 %"
    rows = [results.at("15", name, 0.1) for name in ("wanted", "passed on")]
    wanted, passed = rows
    if wanted is None or passed is None:
        return not_measured(claim, "2.5 % at 0.1")
    share = 1 - wanted.evaluated / passed.evaluated
    ours = f"{share:.2%} of {number(passed.evaluated)} events"
    why = "of the events that are passed on, those that no subscription matches"
    pairs = [results.at("15-entries", name, 0.1) for name in ("wanted", "matched")]
    if pairs[0] is not None and pairs[1] is not None:
        vain = 1 - pairs[0].evaluated / pairs[1].evaluated
        why += (f"; {number(wanted.evaluated)} events are wanted anyway. Of the mergers that an "
                f"event matches, {vain:.0%} have no member that it matches")  # fmt: skip
    return Verdict(claim, "2.5 % at 0.1", ours, share < 0.025, why)


def _false_of_few(results: Results) -> Verdict:
    claim = "figure 15: so it does where many events are wanted by nobody"
    theirs = "2.5 % at 0.1"
    lines = [results.line("15-few", name) for name in ("wanted", "passed on")]
    if not all(lines):
        return not_measured(claim, theirs)
    shares = {a.x: 1 - a.evaluated / b.evaluated for a, b in zip(*lines)}
    told = ", ".join(f"{share:.1%} at {x:g}" for x, share in shares.items() if x)
    ours = f"{told}, of {short(lines[0][0].subscriptions)} subscriptions"
    why = ("the threshold bounds each merger by itself, and thousands of mergers add up; choose it "
           "by how many subscriptions there are")  # fmt: skip
    return Verdict(claim, theirs, ours, shares[0.1] < 0.025, why)


def _traffic(results: Results, mode: str) -> tuple[float, float, float] | None:
    whats = ("subscribed", "withdrawn", "entries")
    rows = results.last("messages", *(f"{mode}, {what}" for what in whats))
    return (rows[0].evaluated, rows[1].evaluated, rows[2].evaluated) if rows else None


def _messages(results: Results) -> Verdict:
    claim = "an overlay sends half as many subscriptions with covering, or fewer"
    simple, covering = _traffic(results, "simple"), _traffic(results, "covering")
    if simple is None or covering is None:
        return not_measured(claim, "(ours)")
    ours = (f"{number(simple[0])} to {number(covering[0])} messages, "
            f"{number(simple[2])} to {number(covering[2])} entries")  # fmt: skip
    return Verdict(claim, "(ours)", ours, covering[0] <= 0.5 * simple[0], "")


def _merging_messages(results: Results) -> Verdict:
    claim = "with merging, fewer still"
    covering, merging = _traffic(results, "covering"), _traffic(results, "merging")
    if covering is None or merging is None:
        return not_measured(claim, "(ours)")
    ours = f"{number(merging[0])} messages, {number(merging[2])} entries"
    fewer = merging[0] < covering[0] and merging[2] < covering[2]
    return Verdict(claim, "(ours)", ours, fewer, "what comes together is merged before it is told")
