"""``tamis serve``: a broker over HTTP, with a console."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tamis.console import UsageError, say
from tamis.errors import MissingExtraError

EXAMPLES = (
    "tamis serve",
    "tamis serve --config tamis.toml",
    "tamis serve --port 9000 --store postgresql://tamis@localhost/tamis",
    "tamis serve --name paris --link rome=wss://rome.example:8099",
)


def serve(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="TOML file with settings.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Where everything is kept: sqlite:///FILE or postgresql://…"),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen at.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of this broker among those it is linked to.")
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL", help="A broker to link to, by its name; an empty URL: it dials."
        ),
    ] = None,
) -> None:
    """Serve a broker over HTTP: subscriptions, durable delivery, a console.

    Without settings it listens on this machine only and keeps everything in tamis.db in the current
    folder. When it starts for the first time, it prints a key: log in to the console with it.
    """
    try:
        from tamis.server import logs
        from tamis.server.serve import address_of, bound_socket, first_key, open_broker
        from tamis.server.serve import serve as run
        from tamis.server.settings import Settings, SettingsError, read_settings
    except ImportError as error:
        raise MissingExtraError(
            f"a broker over HTTP needs more packages ({error.name}): pip install 'tamis[server]'"
        ) from error
    try:
        settings = Settings() if config is None else read_settings(config)
        server = settings.server
        server = server if host is None else replace(server, host=host)
        server = server if port is None else replace(server, port=port)
        table = dict(settings.broker)
        given = (("store", store), ("name", name), ("links", _links(link)))
        table |= {field: value for field, value in given if value is not None}
        settings = Settings(server, table)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    logs.set_up(settings.server.log, settings.server.log_level)
    listener = bound_socket(settings.server)
    with listener, open_broker(settings) as broker:
        key = first_key(broker)
        address = address_of(listener, settings.server)
        if settings.server.console:
            say(f"the console is at {address}/")
        say(f"the API is at {address}/v1, its description at {address}/v1/openapi.json")
        if key is not None:
            say(f"the key of the administrator, shown only once: {key}")
        run(broker, settings.server, listener)


def _links(given: list[str] | None) -> dict[str, str] | None:
    """The brokers to link to: names and addresses."""
    if not given:
        return None
    links = {}
    for each in given:
        name, sign, url = each.partition("=")
        if not name or not sign:
            raise UsageError(f"--link {each!r}: write NAME=URL")
        links[name] = url
    return links
