"""Which of many subscriptions an index refuses, so that all others can go in.

An index takes all boxes or, raising, none: Gough's tree may have so many nodes and no more. Here
the subscriptions go into a copy of the state, all at once, and halves of those that do not:

    0 1 2 3 4 5 6 7   refused
    0 1 2 3   4 5 6 7   refused
              4 5   6 7   refused
                    6   7   refused: 7

That takes one attempt if nothing is refused, else about two for each halving of each refusal. A
subscription is refused if it does not go in after those before it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.arrays.types import Numbers
from tamis.errors import LimitError
from tamis.matching.axes.live import NoRoomError
from tamis.matching.setting import Slot
from tamis.published.frame.new_boxes import BoxesOfMany
from tamis.published.frame.rebuilding import rebuilt
from tamis.published.frame.state import State


def refusals_of(
    state: State, slots: Numbers, boxes_of: Callable[[State, Numbers], BoxesOfMany]
) -> dict[Slot, LimitError]:
    """The slots whose boxes a state refuses, and why; the state itself stays as it is.

    boxes_of: the boxes of some slots, in the labels of a state.
    """
    trial = rebuilt(state, state.axes.terms)
    refused: dict[Slot, LimitError] = {}
    waiting = [np.sort(slots)]
    while waiting:
        some = waiting.pop()
        try:
            try:
                new = boxes_of(trial, some)
            except NoRoomError:
                trial = rebuilt(trial, trial.axes.terms)
                new = boxes_of(trial, some)
            trial.add(new)
        except LimitError as error:
            if len(some) == 1:
                refused[int(some[0])] = error
            else:
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
    return refused
