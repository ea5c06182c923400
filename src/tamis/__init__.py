"""Tamis matches a stream of events against millions of standing subscriptions."""

from tamis.engine.engine import Engine
from tamis.engine.explanation import Explanation
from tamis.engine.loading import Subscribed
from tamis.engine.matches import Incomplete, Match, Matches
from tamis.engine.registry import Algorithm
from tamis.engine.relations import (
    Relation,
    Verdict,
    covers,
    equivalent,
    hull,
    intersect,
    overlaps,
    relation,
)
from tamis.engine.rows import Rejected, Subscription
from tamis.errors import (
    CostlyWarning,
    DuplicateIdError,
    EventError,
    IncompleteWarning,
    InvalidEventError,
    LimitError,
    MissingExtraError,
    NeverMatchesWarning,
    OperatorWarning,
    ParseError,
    RejectedWarning,
    SchemaError,
    StorageError,
    SubscriptionError,
    TamisError,
    TaxonomyError,
    TimestampError,
    UnknownIdError,
    UnsupportedError,
)
from tamis.graphs.reader import read_graph
from tamis.language import dialects
from tamis.language.json_form import from_json, to_json
from tamis.language.parser import parse
from tamis.language.python import attr, call, pattern, quantity, timestamp, var
from tamis.language.template import Templates
from tamis.model.events.event import Event
from tamis.model.events.readers import read_events, read_json, read_ndjson
from tamis.model.limits import Limits
from tamis.model.schema.conformity import Violation
from tamis.model.schema.schema import Schema
from tamis.model.taxonomy.taxonomy import Taxonomy
from tamis.model.timestamp import Timestamp
from tamis.operators.operator import Operator
from tamis.operators.registry import operator
from tamis.predicates.expression import Expression, all_of, any_of
from tamis.predicates.facts import Facts, KnownFacts

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "CostlyWarning",
    "DuplicateIdError",
    "Engine",
    "Event",
    "EventError",
    "Explanation",
    "Expression",
    "Facts",
    "Incomplete",
    "IncompleteWarning",
    "InvalidEventError",
    "KnownFacts",
    "LimitError",
    "Limits",
    "Match",
    "Matches",
    "MissingExtraError",
    "NeverMatchesWarning",
    "Operator",
    "OperatorWarning",
    "ParseError",
    "Rejected",
    "RejectedWarning",
    "Relation",
    "Schema",
    "SchemaError",
    "StorageError",
    "Subscribed",
    "Subscription",
    "SubscriptionError",
    "TamisError",
    "Taxonomy",
    "TaxonomyError",
    "Templates",
    "Timestamp",
    "TimestampError",
    "UnknownIdError",
    "UnsupportedError",
    "Verdict",
    "Violation",
    "all_of",
    "any_of",
    "attr",
    "call",
    "covers",
    "dialects",
    "equivalent",
    "from_json",
    "hull",
    "intersect",
    "operator",
    "overlaps",
    "parse",
    "pattern",
    "quantity",
    "read_events",
    "read_graph",
    "read_json",
    "read_ndjson",
    "relation",
    "timestamp",
    "to_json",
    "var",
]
