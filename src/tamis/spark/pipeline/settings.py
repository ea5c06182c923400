"""Read the parts of a pipeline from tables of TOML, and list every mistake with its place.

A part is a frozen dataclass. Its fields are the keys of its table, their types say what a key may
hold. ``tamis pipeline init`` explains all of them (template.py).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from tamis.errors import TamisError, suggestion

Location = Annotated[str, "location"]
"""A file or folder on any file system; without a scheme, beside the file of the pipeline."""
Duration = Annotated[float, "duration"]
"""Seconds, or a text such as ``"5 minutes"``."""
FunctionName = Annotated[Any, "function"]
"""``"module:name"``; in Python, the function itself."""
Options = Mapping[str, str]
"""Settings of Spark, by name."""

_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1, "second": 1, "minute": 60, "hour": 3600}
_UNITS |= {"min": 60, "h": 3600, "d": 86400, "day": 86400}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

Part = TypeVar("Part")


class PipelineError(TamisError):
    """A pipeline that cannot run; ``problems`` lists everything that is wrong with it."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(slots=True)
class Problems:
    """The mistakes found so far."""

    folder: Path = field(default_factory=Path.cwd)
    """The folder that relative locations start from."""
    found: list[str] = field(default_factory=list)

    def add(self, place: str, what: str) -> None:
        """Note a mistake."""
        self.found.append(f"{place}: {what}" if place else what)

    def check(self) -> None:
        """Raise if there are any."""
        if self.found:
            raise PipelineError(self.found)

    def unknown(self, place: str, what: str, name: str, known: Any) -> None:
        """Note a name that does not exist."""
        hint = suggestion(name, known) or f"known are {', '.join(sorted(known))}"
        self.add(place, f"unknown {what} {name!r}; {hint}")


def read_part(part: type[Part], table: Any, place: str, problems: Problems) -> Part | None:
    """A part from its table, or None if the table has mistakes."""
    if not isinstance(table, Mapping):
        problems.add(place, f"must be a table, not {_kind(table)}")
        return None
    hints = get_type_hints(part, include_extras=True)
    fields: dict[str, Any] = {each.name: each for each in dataclasses.fields(part)}  # type: ignore[arg-type]
    before = len(problems.found)
    given = {}
    for name, value in table.items():
        if name not in fields:
            problems.unknown(place, "key", name, fields)
            continue
        try:
            given[name] = converted(value, hints[name], problems.folder)
        except ValueError as error:
            problems.add(place, f"{name} {error}")
    for name, each in fields.items():
        needed = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        if needed and name not in table:
            problems.add(place, f"the key {name!r} is missing")
    return part(**given) if len(problems.found) == before else None


def converted(value: Any, hint: Any, folder: Path) -> Any:
    """A value of TOML as a field of this type; raises ValueError."""
    hints = [each for each in get_args(hint) if each is not NoneType]
    if NoneType in get_args(hint):
        hint = hints[0]
    if hint == Duration:
        return duration(value)
    if hint == FunctionName:
        return _of(str, "a text such as 'module:name'", value)
    if hint == Location:
        return location(_of(str, "a text", value), folder)
    if hint == Options:
        return {name: _option(name, each) for name, each in _of(dict, "a table", value).items()}
    if hint == tuple[str, ...]:
        items = _of(list, "a list of texts", value)
        return tuple(_of(str, "a list of texts", each) for each in items)
    what = {str: "a text", int: "a whole number", bool: "true or false"}[hint]
    return _of(hint, what, value)


def _of(kind: type, what: str, value: Any) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"must be {what}, not {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    return f"{value!r}" if isinstance(value, str | int | float) else type(value).__name__


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"has an option {name!r} that is not a text, a number or a boolean")


def duration(value: Any) -> float:
    """Seconds, from a number or a text such as ``"5 minutes"``; raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", str(value).lower())
    if isinstance(value, str) and found:
        unit = found[2] if found[2] in _UNITS else f"{found[2]}s"
        if unit in _UNITS:
            return float(found[1]) * _UNITS[unit]
    raise ValueError(f"must be a duration such as '10 seconds', not {value!r}")


def location(text: str, folder: Path) -> str:
    """A location; one without a scheme starts from a folder."""
    return text if _SCHEME.match(text) else str(folder.absolute() / text)


def local_path(place: str) -> Path | None:
    """The path of a location on this machine; None if it is elsewhere."""
    if place.startswith("file:"):
        return Path("/" + place.removeprefix("file:").lstrip("/"))
    return None if _SCHEME.match(place) else Path(place)
