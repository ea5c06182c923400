"""``tamis rss``: which items of feeds match which subscriptions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.subscription_files import load_engine
from tamis.console import say
from tamis.engine.engine import Engine
from tamis.errors import TamisError
from tamis.model.events.event import Event

EXAMPLES = (
    "tamis rss https://example.org/feed.rss -s subscriptions.csv",
    "tamis rss one.rss two.atom -s subscriptions.csv --state seen.json",
    "tamis rss https://example.org/feed.rss -s subscriptions.csv --state seen.json --every 600",
)


def rss(
    feeds: Annotated[
        list[str], typer.Argument(metavar="FEED...", help="Feeds: files, or addresses of HTTP.")
    ],
    subscriptions: Annotated[
        str,
        typer.Option("--subscriptions", "-s", help="Subscriptions: a file as for tamis match."),
    ],
    state: Annotated[
        str | None, typer.Option("--state", help="File that remembers which items were seen.")
    ] = None,
    every: Annotated[
        float | None,
        typer.Option("--every", min=1, help="Read the feeds again after this many seconds."),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Allow loopback and private addresses.")
    ] = False,
) -> None:
    """Write which items of feeds match which subscriptions.

    Feeds of RSS 1.0, RSS 2.0 and Atom become graphs with the terms of RSS 1.0 and Dublin Core, so
    that [bold]{ ?item dc:subject 'jazz' }[/bold] finds an item of that category. Each item is
    matched once. A match is a line such as
    [bold]{"feed": "a.rss", "item": "http://…", "subscription": "jazz"}[/bold].

    A feed that cannot be read is reported on standard error, and the others go on; the exit code
    is 1 then.
    """
    from tamis.graphs.rss import Feeds

    engine, _ = load_engine(subscriptions, None, None, skip_faulty=False)
    reader = Feeds(None if state is None else Path(state), private=private)
    while True:
        failed = 0
        for feed in feeds:
            try:
                _match_feed(engine, reader, feed)
            except (TamisError, OSError) as error:
                failed += 1
                say(f"{feed}: {error}")
        reader.save()
        if every is None:
            break
        time.sleep(every)
    if failed:
        raise typer.Exit(1)


def _match_feed(engine: Engine, reader: object, feed: str) -> None:
    from tamis.graphs.rss import Feeds

    assert isinstance(reader, Feeds)
    for item in reader.new_items(feed):
        for id in engine.match(Event({}, graph=item.graph)):
            line = {"feed": feed, "item": item.id, "subscription": id}
            typer.echo(json.dumps(line, ensure_ascii=False))
