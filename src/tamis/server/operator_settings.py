"""What operators may reach is said by the settings of the broker, never by a subscription.

[broker]
operators = ["ask", "lookup", "near", "mine"]
operator_modules = ["my_company.operators"]     # modules that declare operators
places = ["places.geojson"]

[broker.services.mob]
url = "https://models.example/mob"
reads = ["camera", "frame"]

[broker.queries.owner]
database = "postgresql://reader@localhost/cars"  # or sqlite:///cars.db
attribute = "plate"
sql = "select plate, name from cars where plate in ({})"
"""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from tamis.errors import MissingExtraError, TamisError
from tamis.server.settings import SettingsError

FIELDS = ("operator_modules", "places", "services", "queries")


def configure_operators(table: Mapping[str, Any]) -> None:
    """Let operators use what the table [broker] names for them."""
    for name in _texts(table, "operator_modules"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise SettingsError(
                f"operator_modules: {name!r} cannot be imported: {error}"
            ) from error
    for path in _texts(table, "places"):
        from tamis.operators.library.spatial import load_places

        try:
            load_places(path)
        except (OSError, ValueError, TamisError) as error:
            raise SettingsError(f"places: {path}: {error}") from error
    for name, form in _tables(table, "services", {"url": str, "reads": list}, {"timeout": float}):
        from tamis.operators.library.http import use_service

        try:
            use_service(name, form["url"], tuple(form["reads"]), form.get("timeout", 10.0))
        except TamisError as error:
            raise SettingsError(f"services.{name}: {error}") from error
    wanted = {"database": str, "attribute": str, "sql": str}
    for name, form in _tables(table, "queries", wanted, {}):
        from tamis.operators.library.database import use_database

        connect, placeholder = _connection(form["database"], name)
        try:
            use_database(connect, {name: (form["attribute"], form["sql"])}, placeholder)
        except TamisError as error:
            raise SettingsError(f"queries.{name}: {error}") from error


def _connection(url: str, name: str) -> tuple[Callable[[], Any], str]:
    """How to connect to a database, and its placeholder."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        file = f"file:{rest[1:]}?mode=ro"
        return (lambda: sqlite3.connect(file, uri=True)), "?"
    if scheme in ("postgresql", "postgres"):
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError(
                "PostgreSQL needs psycopg: pip install 'tamis[server]'"
            ) from error
        return (lambda: psycopg.connect(url)), "%s"
    raise SettingsError(
        f"queries.{name}.database: {url[:200]!r} is not a database: write sqlite:///file.db or "
        "postgresql://…"
    )


def _texts(table: Mapping[str, Any], name: str) -> list[str]:
    found = table.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise SettingsError(f"{name} must be a list of strings, but is {found!r:.100}")
    return found


def _tables(
    table: Mapping[str, Any], name: str, wanted: Mapping[str, type], optional: Mapping[str, type]
) -> list[tuple[str, dict[str, Any]]]:
    """The tables below one, each with the fields that are wanted, and perhaps optional ones."""
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise SettingsError(f"{name} is a table, [broker.{name}.NAME], not {found!r:.100}")
    for each, form in found.items():
        place = f"{name}.{each}"
        if not isinstance(form, dict):
            raise SettingsError(f"{place} is a table, [broker.{place}], not {form!r:.100}")
        if unknown := form.keys() - wanted.keys() - optional.keys():
            known = ", ".join((*wanted, *optional))
            raise SettingsError(f"unknown setting {place}.{min(unknown)}; there are {known}")
        if missing := wanted.keys() - form.keys():
            raise SettingsError(f"{place} needs {', '.join(sorted(missing))}")
        for field, kind in {**wanted, **optional}.items():
            value = form.get(field, kind())
            is_number = kind is float and type(value) in (int, float)
            if not (isinstance(value, kind) or is_number):
                raise SettingsError(
                    f"{place}.{field} must be a {kind.__name__}, not {value!r:.100}"
                )
    return list(found.items())
