"""What the nodes of a tree are: frozen dataclasses with slots that are quick to make.

A long text has thousands of nodes. The constructor of a frozen dataclass sets each field by
``object.__setattr__``, which looks for the field by its name. That of a node knows its slots, as if
it were written

    def __init__(self, attribute, values, ignore_case=False):
        set_attribute(self, attribute)           # In.attribute.__set__
        set_values(self, values)
        set_ignore_case(self, ignore_case)
        self.__post_init__()

and takes half the time.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True)
def node(kind: type[Kind]) -> type[Kind]:
    """Make a class with annotated fields one of nodes."""
    made: Any = dataclass(frozen=True, slots=True, repr=False)(kind)
    known = {f"set_{each.name}": getattr(made, each.name).__set__ for each in fields(made)}
    known |= {f"default_{each.name}": each.default for each in fields(made)}
    parameters = [
        each.name if each.default is MISSING else f"{each.name}=default_{each.name}"
        for each in fields(made)
    ]
    lines = [f"def __init__(self, {', '.join(parameters)}):"]
    lines += [f"    set_{each.name}(self, {each.name})" for each in fields(made)]
    if hasattr(made, "__post_init__"):
        lines.append("    self.__post_init__()")
    exec("\n".join(lines), known)
    made.__init__ = known["__init__"]
    finished: type[Kind] = made
    return finished
