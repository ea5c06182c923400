"""Records in Protobuf, as Kafka has them, become JSON documents in the executors.

python examples/protobuf.py

If your Spark has the library spark-protobuf, `from_protobuf(value, 'shop.Order', 'orders.desc')`
gives typed columns instead, without Python. This way needs only Google's package `protobuf`.
"""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError

from tamis.spark import divided, match, session_builder

RULES = [
    ("cheap", "price < 5"),
    ("red", "items.color = 'red' and items.size >= 40"),
    ("large", "number > 9007199254740992"),  # 2^53
]
ORDERS = [
    {"id": "o1", "price": 3.5, "items": []},
    {"id": "o2", "price": 30.0, "items": [{"color": "red", "size": 42}]},
    {"id": "o3", "price": 30.0, "items": [{"color": "red", "size": 38}], "number": 2**53 + 1},
]
INTEGERS = ("number",)
"""Integers of 64 bits, which Protobuf's JSON writes as texts."""


def order_class() -> Any:
    """The class of an order. Usually `protoc` makes it, and you import it here."""
    text, real, whole = 9, 1, 3  # types of fields
    file = descriptor_pb2.FileDescriptorProto(name="orders.proto", package="shop", syntax="proto3")
    item = file.message_type.add(name="Item")
    item.field.add(name="color", number=1, type=text, label=1)
    item.field.add(name="size", number=2, type=5, label=1)
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=text, label=1)
    order.field.add(name="price", number=2, type=real, label=1)
    order.field.add(name="items", number=3, type=11, label=3, type_name=".shop.Item")
    order.field.add(name="number", number=4, type=whole, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The id and the JSON document of each record; of a broken one, its bytes as text."""
    orders = order_class()
    for batch in batches:
        ids, documents = [], []
        for value in batch["value"].to_pylist():
            try:
                order = orders.FromString(value)
            except DecodeError:
                ids.append("unknown")
                documents.append(value.hex())
                continue
            fields = json_format.MessageToDict(order, preserving_proto_field_name=True)
            fields |= {name: int(fields[name]) for name in INTEGERS if name in fields}
            ids.append(order.id)
            documents.append(json.dumps(fields))
        yield pa.RecordBatch.from_pydict({"id": ids, "document": documents})


def encoded(order: dict[str, Any]) -> bytes:
    """An order as a record."""
    value: bytes = json_format.ParseDict(order, order_class()()).SerializeToString()
    return value


def main() -> None:
    spark = (
        session_builder("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rules = spark.createDataFrame(RULES, "id string, subscription string")
    values = [*map(encoded, ORDERS), b"\x0a\x63 cut off"]
    records = spark.createDataFrame([(value,) for value in values], "value binary")
    orders = records.mapInArrow(decoded, "id string, document string")
    found = match(orders, rules, column="document", on_error="collect").cache()
    matches, rejected = divided(found)
    matches.select("event_id", "subscription_id").orderBy("event_id", "subscription_id").show()
    rejected.select("event_id", "reason").show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
