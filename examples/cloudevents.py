"""CloudEvents on Spark, in both of their modes, as records of Kafka have them.

python examples/cloudevents.py

Structured: the whole event is the record's value, a JSON document. Binary: the attributes are
headers of the record (``ce_type``, ``ce_source``, …), and the value is only the data.
"""

import json

from tamis.spark import divided, match, session_builder

RULES = [
    ("large", "type = 'org.example.order' and data.amount > 1000"),
    ("lyon", "source = 'shop/lyon' and data.items.color = 'red' and data.items.size >= 40"),
    ("failed", "type starts with 'org.example.payment' and data.error is present"),
]
EVENTS = [
    ("e1", "org.example.order", "shop/lyon", {"amount": 1200, "items": []}),
    ("e2", "org.example.order", "shop/lyon", {"items": [{"color": "red", "size": 42}]}),
    ("e3", "org.example.payment.card", "shop/oslo", {"error": {"code": 51}}),
    ("e4", "org.example.payment.card", "shop/oslo", {"amount": 1500}),
]

spark = session_builder("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
rules = spark.createDataFrame(RULES, "id string, subscription string")

# Structured: hand the value over as it is. The id of an event stands in it.
structured = [
    (json.dumps({"specversion": "1.0", "id": id, "type": type, "source": source, "data": data}),)
    for id, type, source, data in EVENTS
]
structured.append(('{"specversion": "1.0", "id": "e5", "type": ',))  # cut off on its way
records = spark.createDataFrame(structured, "value string").selectExpr(
    "coalesce(try_variant_get(try_parse_json(value), '$.id', 'string'), 'unknown') AS id", "value"
)
found = match(records, rules, column="value", on_error="collect").cache()
matches, rejected = divided(found)
matches.select("event_id", "subscription_id").orderBy("event_id").show()
rejected.show(truncate=False)

# Binary: put attributes and data together to one document.
binary = [
    (
        [("ce_id", id.encode()), ("ce_type", type.encode()), ("ce_source", source.encode())],
        json.dumps(data).encode(),
    )
    for id, type, source, data in EVENTS
]
headers = "headers array<struct<key string, value binary>>, value binary"
documents = (
    spark.createDataFrame(binary, headers)
    .selectExpr(
        """map_from_entries(transform(filter(headers, h -> startswith(h.key, 'ce_')),
           h -> struct(substring(h.key, 4), decode(h.value, 'UTF-8')))) AS attributes""",
        "decode(value, 'UTF-8') AS data",
    )
    .selectExpr(
        "attributes['id'] AS id",
        """concat(rtrim('}', to_json(attributes)), ', "data": ', data, '}') AS event""",
    )
)
same = match(documents, rules, column="event").select("event_id", "subscription_id")
pairs = matches.select("event_id", "subscription_id")
print("Binary events match the same:", sorted(same.collect()) == sorted(pairs.collect()))
spark.stop()
