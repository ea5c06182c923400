"""Files of pipelines: what they may say, and that every mistake is found with its place."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest

from tamis.spark.pipeline import (
    SINKS,
    EventForm,
    EventSource,
    Parquet,
    PipelineError,
    SubscriptionSource,
    Throttle,
    read_configuration,
)
from tamis.spark.pipeline.configuration import Head
from tamis.spark.pipeline.settings import duration, local_path, location
from tamis.spark.pipeline.template import TEMPLATE

GOOD = """
folder = "state"
[source]
format = "json"
path = "incoming"
[subscriptions]
format = "csv"
path = "rules.csv"
[sinks.matches]
format = "parquet"
path = "matches"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "incoming").mkdir()
    (tmp_path / "rules.csv").write_text("id,subscription\na,x = 1\n")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    (folder / "pipeline.toml").write_text(text)
    return folder / "pipeline.toml"


def problems(folder: Path, text: str) -> list[str]:
    path = written(folder, text)
    with pytest.raises(PipelineError) as error:
        read_configuration(path)
    return [each.removeprefix(f"{path}: ") for each in error.value.problems]


def test_a_file(folder: Path) -> None:
    throttle = '[throttle]\nevery = "1 hour"\nsinks = ["matches"]\n'
    text = (
        GOOD
        + f'files = 2\n{throttle}[spark]\n"spark.master" = "local[2]"\n"spark.ui.enabled" = false\n'
    )
    found = read_configuration(written(folder, 'every = "2 minutes"\n' + text))
    assert found.spark == {"spark.master": "local[2]", "spark.ui.enabled": "false"}
    pipeline = found.pipeline
    assert pipeline.source == EventSource("json", str(folder / "incoming"))
    assert pipeline.subscriptions == SubscriptionSource("csv", str(folder / "rules.csv"))
    assert pipeline.sinks == {"matches": Parquet(str(folder / "matches"), 2)}
    assert pipeline.throttle == Throttle(every=3600.0, sinks=("matches",))
    assert (pipeline.folder, pipeline.every) == (str(folder / "state"), 120.0)


def test_all_mistakes_are_found_at_once(folder: Path) -> None:
    found = problems(
        folder,
        """
        foldr = "state"
        every = "often"
        [source]
        format = 3
        pth = "incoming"
        [subscription]
        path = "x"
        [sinks.matches]
        format = "parket"
        [sinks.other]
        format = "parquet"
        files = "many"
        [rejected.event]
        format = "json"
        """,
    )
    assert found == [
        "unknown table 'subscription'; did you mean 'subscriptions'?",
        "unknown key 'foldr'; did you mean 'folder'?",
        "every must be a duration such as '10 seconds', not 'often'",
        "the key 'folder' is missing",
        "[source]: format must be a text, not 3",
        "[source]: unknown key 'pth'; did you mean 'path'?",
        "the table [subscriptions] is missing",
        "[sinks.matches]: unknown format 'parket'; did you mean 'parquet'?",
        "[sinks.other]: files must be a whole number, not 'many'",
        "[sinks.other]: the key 'path' is missing",
        "[rejected]: unknown table 'event'; did you mean 'events'?",
    ]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('path = "incoming"', 'path = "nowhere"', "source: there is no directory "),
        ('path = "rules.csv"', 'path = "none.csv"', "subscriptions: there is no "),
        ('format = "json"', 'format = "csv"', "source: the format 'csv' needs columns"),
        (
            'format = "json"\npath = "incoming"',
            'format = "kafka"',
            "source: options need 'kafka.bootstrap.servers'",
        ),
        ('path = "matches"', 'path = "rules.csv"', "sinks.matches: "),
        (
            'format = "parquet"\npath = "matches"',
            'format = "kafka"\ntopic = "t"',
            "sinks.matches: options need 'kafka.bootstrap.servers'",
        ),
        (
            'format = "parquet"\npath = "matches"',
            'format = "jdbc"\nurl = "postgres://x"\ntable = "t"',
            "sinks.matches: url must begin with 'jdbc:'",
        ),
        (
            'format = "parquet"\npath = "matches"',
            'format = "webhook"\nurl = "example.org"',
            "sinks.matches: url must begin with 'http://'",
        ),
        (
            'format = "parquet"\npath = "matches"',
            'format = "call"\nfunction = "no_such_module:f"',
            "sinks.matches: cannot import 'no_such_module:f'",
        ),
        ("[sinks.matches]", '[events]\nschema = "s.json"\n[sinks.matches]', "events: there is no"),
        ('path = "rules.csv"', 'path = "rules.csv"\ntable = "t"', "subscriptions: takes only one"),
        (
            "[sinks.matches]",
            "[throttle]\nonce = true\nevery = 5\n[sinks.matches]",
            "throttle: needs",
        ),
        (
            "[sinks.matches]",
            '[throttle]\nonce = true\nsinks = ["match"]\n[sinks.matches]',
            "throttle: there is no sink 'match'; did you mean 'matches'?",
        ),
        (
            'format = "csv"',
            'format = "csv"\nchange_feed = true',
            "subscriptions: change_feed needs",
        ),
        (
            'format = "csv"\npath = "rules.csv"',
            'format = "iceberg"\npath = "rules.csv"\nchange_feed = true',
            "subscriptions: the change feed of Iceberg needs a table",
        ),
        (
            'format = "csv"\npath = "rules.csv"',
            'format = "broker"',
            "subscriptions: a broker needs the options 'address' and 'key'",
        ),
        (
            "[sinks.matches]",
            '[sinks.first]\nformat = "json"\npath = "matches/"\n[sinks.matches]',
            "sinks.matches: ",
        ),
        ('path = "matches"', 'path = "incoming"', "sinks.matches: "),
        ('path = "matches"', 'path = "state"', "sinks.matches: "),
        ('path = "rules.csv"', 'changes = "no"', "subscriptions: there is no directory "),
    ],
)
def test_places_and_remedies(folder: Path, before: str, after: str, problem: str) -> None:
    assert before in GOOD
    found = problems(folder, GOOD.replace(before, after, 1))
    assert any(each.startswith(problem) for each in found), found


def test_sinks_that_share_a_place(folder: Path) -> None:
    """Each would take the batches of the other one for its own."""
    found = problems(folder, GOOD + '[rejected.events]\nformat = "json"\npath = "./matches/"\n')
    assert found == [
        f"rejected.events: {folder}/matches is taken by sinks.matches: name another place"
    ]


def test_what_is_no_file_and_no_toml(folder: Path) -> None:
    assert problems(folder, "folder = ")[0].startswith("not TOML: ")
    with pytest.raises(PipelineError, match=r"no such file.*; 'tamis pipeline init' writes one"):
        read_configuration(folder / "none.toml")


def test_the_template_explains_every_key(folder: Path) -> None:
    """It is TOML, it runs once its paths exist, and nothing that one may say is missing in it."""
    (folder / "subscriptions.csv").write_text("id,subscription\na,x = 1\n")
    read_configuration(written(folder, TEMPLATE))
    lines = [line.lstrip("# ").split(" = ")[0] for line in TEMPLATE.splitlines()]
    for part in (Head, EventSource, EventForm, SubscriptionSource, Throttle, *SINKS.values()):
        for each in dataclasses.fields(part):
            if (part.__name__, each.name) != ("Console", "rows"):
                assert each.name in lines, (part, each.name)
    uncommented = [line.removeprefix("# ") for line in TEMPLATE.splitlines() if " = " in line]
    for line in uncommented:
        tomllib.loads(line.strip())


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (5, 5.0),
        ("10 seconds", 10.0),
        ("1 minute", 60.0),
        ("1.5 h", 5400.0),
        ("200ms", 0.2),
        ("3 s", 3.0),
    ],
)
def test_durations(given: object, seconds: float) -> None:
    assert duration(given) == pytest.approx(seconds)


@pytest.mark.parametrize("given", ["soon", -1, "5 parsecs", True, None, "minutes"])
def test_no_durations(given: object) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        duration(given)


def test_locations() -> None:
    assert location("a/b", Path("/x")) == "/x/a/b"
    assert location("/a", Path("/x")) == "/a"
    assert location("s3a://bucket/a", Path("/x")) == "s3a://bucket/a"
    assert local_path("file:///a/b") == Path("/a/b")
    assert local_path("s3a://bucket/a") is None
