"""Which access key each box gets: a facility location problem, solved on a sample.

An event pays a probe for every signature whose attributes it has, and a test for every box that
it then meets. A box with six constraints could stand under dozens of signatures; the fewer are
open, the fewer probes, and the more boxes are met in vain:

    cost = sum over open signatures of  P(attributes present) * PROBE
         + sum over boxes of            P(its key is hit)     * (TEST, or COPY if pure)

Opening every signature degenerates when there are thousands (W5: tens of thousands), and so does
the best key for each box alone, without the first sum. So: rich-get-richer rounds (a signature's
probe is shared by the boxes that chose it last time), then closing what is not worth its probe.
Complexity: rounds run on SAMPLE boxes; the final choice looks at the 33 candidates of every box.
What is rare has no signature by a sample; the boxes that could be found much cheaper than they are,
those left to the last resort among them, choose again among themselves, for a thousand such boxes
cost every event hundreds of tests.
"""

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.jit import kernel
from tamis.arrays.key_table import EMPTY, LOAD, find_entry, hash_keys
from tamis.arrays.types import Buckets, Flags, Float64s, Int32s, Int64s
from tamis.matching.boxes.layout import Boxes, Constraints
from tamis.matching.sieve.signatures import (
    CANDIDATES,
    LAST_RESORT,
    NONE,
    PLACES,
    REQUIRED,
    SORTED,
    TEST,
    encode_candidates,
    make_subsets,
)

PROBE = 15.0  # nanoseconds, as TEST
SAMPLE = 1 << 13
ROUNDS, CLOSING_ROUNDS, CHOICES = 6, 24, 8
MAX_SIGNATURES = 4096  # that are opened at once
MOST_SIGNATURES = 2 * MAX_SIGNATURES
WASTE = 0.1 * TEST  # what a box may cost an event, on average, beyond its cheapest signature


@kernel
def list_candidates(
    chosen: Int64s,
    boxes: Boxes,
    constraints: Constraints,
    code: Int64s,
    cost: NDArray[np.float32],
) -> None:
    """Write the candidates of the chosen boxes, a row each."""
    work = make_subsets()
    for i in range(len(chosen)):
        n = encode_candidates(chosen[i], boxes, constraints, work)
        code[i, :n] = work.code[:n]
        cost[i, :n] = work.cost[:n]


def choose_keys(boxes: Boxes, constraints: Constraints) -> tuple[Int64s, Int32s]:
    """Return the codes of the open signatures, ascending, and for each box the place of its own."""
    everything = np.arange(len(boxes.owner))
    choice = np.zeros(len(boxes.owner), np.int32)
    wasted = np.zeros(len(boxes.owner), np.float32)
    left, codes = everything, np.array([LAST_RESORT])
    for _ in range(CHOICES):
        more = np.union1d(codes, choose_signatures(left, boxes, constraints, codes))
        if len(more) > MOST_SIGNATURES or len(more) == len(codes) > 1:
            break
        codes = more
        assign_cheapest(everything, boxes, constraints, number_codes(codes), choice, wasted)
        is_sample = len(left) > SAMPLE
        left = np.flatnonzero(wasted > WASTE)
        if not is_sample or not len(left):
            break
    return codes, choice


def choose_signatures(
    among: Int64s, boxes: Boxes, constraints: Constraints, known: Int64s
) -> Int64s:
    """Return the codes of the signatures to open for some boxes, ascending, given those that are
    open already; the last resort is among them."""
    chosen = among
    if len(among) > SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(among, SAMPLE, replace=False))
    code = np.full((len(chosen), CANDIDATES), NONE, np.int64)
    cost = np.full((len(chosen), CANDIDATES), np.inf, np.float32)
    list_candidates(chosen, boxes, constraints, code, cost)
    names, candidate = number_candidates(code)
    probe = probe_costs(names, constraints.presence) * (len(chosen) / max(len(among), 1))
    probe[np.isin(names, known) & (names != LAST_RESORT)] = 0.0
    share = np.bincount(candidate.ravel(), minlength=len(names)).astype(float)
    for _ in range(ROUNDS):
        price = np.divide(probe, share, out=np.full(len(names), np.inf), where=share > 0)
        best = (cost + price.astype(np.float32)[candidate]).argmin(axis=1)
        share = np.bincount(candidate[np.arange(len(best)), best], minlength=len(names))
    is_open = share > 0
    is_open[names == LAST_RESORT] = True
    close_signatures(is_open, names, candidate, cost, probe)
    return np.sort(names[is_open & (names >= 0)])


def number_candidates(code: Int64s) -> tuple[Int64s, Int64s]:
    """Return the distinct codes, NONE and the last resort first, and each one's number."""
    number = np.zeros(code.shape, np.int64)
    room = 1 << 10
    while True:
        names = np.empty(room, np.int64)
        names[:2] = NONE, LAST_RESORT
        table = np.full(2 * int(room / LOAD), EMPTY)
        count = number_names(code.ravel(), table, names, number.ravel())
        if count:
            return names[:count], number
        room *= 8


@kernel
def number_names(
    code: Int64s,
    table: Buckets,
    names: Int64s,
    number: Int64s,
) -> int:
    """Write the distinct codes and the number of each; return how many, or 0 if they are more."""
    at = find_entry(LAST_RESORT, table)
    table[at], table[at + 1] = LAST_RESORT, 1
    count = 2
    for i in range(len(code)):
        if code[i] == NONE:
            continue
        at = find_entry(code[i], table)
        if table[at] == EMPTY:
            if count == len(names):
                return 0
            table[at], table[at + 1], names[count] = code[i], count, code[i]
            count += 1
        number[i] = table[at + 1]
    return count


def probe_costs(names: Int64s, presence: NDArray[np.float32]) -> Float64s:
    """Return for each signature what an event pays on average to probe it."""
    padded = np.concatenate(([1.0], presence, np.ones(REQUIRED)))
    probe = np.full(len(names), PROBE)
    for shift in (SORTED, *PLACES):
        probe *= padded[names >> shift & REQUIRED - 1]
    return probe


def close_signatures(
    is_open: Flags,
    names: Int64s,
    candidate: Int64s,
    cost: NDArray[np.float32],
    probe: Float64s,
) -> None:
    """Close, half of them at a time, signatures that save their boxes less than a probe costs.

    Of two that replace each other neither saves anything, but both are not closed at once.
    """
    rows = np.arange(len(candidate))
    for _ in range(CLOSING_ROUNDS):
        total = np.where(is_open[candidate], cost, np.float32(np.inf))
        best = total.argmin(axis=1)
        least = total[rows, best]
        total[rows, best] = np.inf
        next_best = total.argmin(axis=1)
        second = np.minimum(total[rows, next_best], TEST)
        saved = np.bincount(candidate[rows, best], weights=second - least, minlength=len(names))
        worth = np.where(is_open & (names != LAST_RESORT), saved - probe, np.inf)
        too_many = max(int(is_open.sum()) - MAX_SIGNATURES, 0)
        idle = int((worth < 0).sum())
        if not idle and not too_many:
            return
        count = max(too_many, (idle + 1) // 2)
        closed = np.zeros(len(names), bool)
        closed[np.argpartition(worth, count - 1)[:count]] = True
        if not too_many:
            both = np.flatnonzero(
                closed[candidate[rows, best]] & closed[candidate[rows, next_best]]
            )
            pair = candidate[both, best[both]], candidate[both, next_best[both]]
            left = np.where(is_open[candidate[both]] & ~closed[candidate[both]], cost[both], TEST)
            lost = left.min(axis=1, initial=TEST) - second[both]
            keep_replacements(closed, pair, lost, worth, probe)
        is_open[closed] = False


def keep_replacements(
    closed: Flags,
    pair: tuple[Int64s, Int64s],
    lost: NDArray[np.float32],
    worth: Float64s,
    probe: Float64s,
) -> None:
    """Take back that both signatures of a pair are closed, if boxes lose more than a probe by it:
    the one that is worth more stays."""
    place = np.empty(len(worth), np.int64)
    place[np.argsort(worth, kind="stable")] = np.arange(len(worth))
    better = np.where(place[pair[0]] > place[pair[1]], *pair)
    closed &= np.bincount(better, weights=lost, minlength=len(worth)) <= probe


def number_codes(codes: Int64s) -> Buckets:
    """Return the table from codes to their places."""
    number = np.arange(len(codes))
    return hash_keys(codes, number, number)


@kernel
def assign_cheapest(
    chosen: Int64s,
    boxes: Boxes,
    constraints: Constraints,
    table: Buckets,
    choice: Int32s,
    wasted: NDArray[np.float32],
) -> None:
    """Write for each chosen box the number, in a table of codes, of its cheapest signature, and
    what that costs more than the cheapest one of all."""
    work = make_subsets()
    for b in chosen:
        least, cheapest = np.float32(np.inf), np.float32(np.inf)
        for j in range(encode_candidates(b, boxes, constraints, work)):
            cheapest = min(cheapest, work.cost[j])
            if work.cost[j] < least:
                at = find_entry(work.code[j], table)
                if table[at] == work.code[j]:
                    choice[b] = table[at + 1] >> 32
                    least = work.cost[j]
        wasted[b] = least - cheapest
