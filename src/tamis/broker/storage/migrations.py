"""The tables of a broker, by version; opening a store brings it to the last one.

    subscriptions ──< matches >── events        one row of matches for an event, with the numbers of
                                                its subscriptions as an array of int64

A notification is a pair of a row of ``matches`` and one of its subscriptions. Its place in the
queue of the subscription is the row's ``sequence``. So an event is stored once, and what it matched
once, in the order of commits, at the end of the table: however many subscriptions match, no page
in the middle of a table or an index is written for each of them.
"""

from __future__ import annotations

import uuid

from tamis.broker.storage.database import Database
from tamis.errors import StorageError

MIGRATIONS: list[list[str]] = [
    [
        """create table api_keys (
            number bigint primary key, name text not null, tenant text not null,
            roles text not null, hash {blob} not null unique, quotas text not null,
            created double precision not null, revoked integer not null)""",
        """create table subscriptions (
            number bigint primary key, id text not null unique, tenant text not null,
            owner bigint not null, ticket {blob} not null, text text not null,
            dialect text not null, source text, metadata text not null, webhook text,
            enabled integer not null, lease double precision not null,
            expires double precision not null, warned integer not null,
            created double precision not null, changed bigint not null,
            acknowledged bigint not null, lost bigint not null, lost_upto bigint not null,
            checksum bigint not null)""",
        "create index subscriptions_expires on subscriptions (expires)",
        "create index subscriptions_owner on subscriptions (tenant, owner, number)",
        "create index subscriptions_changed on subscriptions (changed)",
        """create table removals (
            changed bigint primary key, number bigint not null, tenant text not null)""",
        """create table requests (
            owner bigint not null, name text not null, digest {blob} not null,
            nonce {blob} not null, answer text not null, created double precision not null,
            primary key (owner, name))""",
        "create index requests_created on requests (created)",
        """create table events (
            sequence bigint primary key, tenant text not null, publisher bigint not null,
            source text not null, id text not null, digest {blob} not null,
            body {blob} not null, graph text, envelope text, size integer not null,
            time double precision not null, matched integer not null,
            incomplete integer not null)""",
        "create unique index events_id on events (publisher, source, id)",
        """create table matches (
            sequence bigint primary key, event bigint, kind text not null,
            subscriptions {blob} not null, bindings text, time double precision not null,
            checksum bigint not null)""",
        "create index matches_event on matches (event)",
        """create table undecided (
            event bigint not null, subscription bigint not null, reason text not null,
            tries integer not null, next double precision not null,
            primary key (event, subscription))""",
        "create index undecided_next on undecided (next)",
        """create table dead_letters (
            subscription bigint not null, position bigint not null, reason text not null,
            tries integer not null, time double precision not null,
            primary key (subscription, position))""",
    ],
    ["create table outgoing (event bigint primary key)"],
    ["alter table undecided add column text text"],
]


def migrate(database: Database) -> None:
    """Bring the tables to the last version, each step in a transaction of its own."""
    database.begin()
    try:
        database.execute(
            "create table if not exists meta (name text primary key, value text not null)"
        )
        database.commit()
    except BaseException:
        database.rollback()
        raise
    version = int(
        (database.read("select value from meta where name = 'version'") or [("0",)])[0][0]
    )
    if version > len(MIGRATIONS):
        raise StorageError(
            f"the store is of version {version}, and this Tamis knows {len(MIGRATIONS)}: use a "
            "newer Tamis, or restore a backup"
        )
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        database.begin()
        try:
            for statement in statements:
                database.execute(statement.format(blob=database.blob))
            database.execute(
                "insert into meta values ('version', ?) "
                "on conflict (name) do update set value = excluded.value",
                (str(number),),
            )
            database.execute(
                "insert into meta values ('store', ?) on conflict (name) do nothing",
                (uuid.uuid4().hex,),
            )
            database.commit()
        except BaseException:
            database.rollback()
            raise
