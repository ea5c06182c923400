"""Saved searches over auctions, on Spark: first a batch, then a stream whose subscriptions change.

python examples/auctions.py
"""

import json
import tempfile
from pathlib import Path

from tamis.spark import Index, Snapshots, match, session_builder

AUCTION = (
    "auction bigint, title string, category string, price double, city string, "
    "bids array<struct<by string, amount double>>"
)
MONDAY = [
    (1, "Oak rocking chair", "rocking chair", 80.0, "Lyon", [("ada", 85.0), ("ben", 90.0)]),
    (2, "Tin train set", "train set", 35.0, "Oslo", []),
    (3, "Brass radio", "radio", 20.0, "Lyon", [("ada", 21.0)]),
    (4, "Laptop, broken", "laptop", 15.0, "Oslo", None),
]
TUESDAY = [
    (5, "Walnut radio", "radio", 45.0, "Oslo", [("ada", 50.0)]),
    (6, "Train set, boxed", "train set", 95.0, "Lyon", [("ben", 99.0)]),
    (7, "Laptop", "laptop", 300.0, "Lyon", []),
]
SUBSCRIPTIONS = [
    ("antiques", "ada@example.org", "category is a 'antique' and price < 100", 1),
    ("toys", "ben@example.org", "category is a 'toy' and city = 'Oslo'", 1),
    # A single bid must be Ben's and above 88. Ada's 85 and Ben's 90 are two bids.
    ("ben-bids", "eve@example.org", "bids.by = 'ben' and bids.amount > 88", 1),
    ("scrap", "eve@example.org", "title like '%broken%' and price <= 20", 1),
]
TAXONOMY = {
    "rocking chair": ["chair", "antique"],
    "radio": ["electronics", "antique"],
    "laptop": ["electronics"],
    "train set": ["toy"],
}

spark = session_builder("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
folder = Path(tempfile.mkdtemp(prefix="tamis-auctions-"))


def drop(auctions: list, name: str) -> None:
    """Add a file to the folder of auctions."""
    file = spark.createDataFrame(auctions, AUCTION).coalesce(1)
    file.write.mode("append").parquet(str(folder / name))


# A batch: a table of auctions and a table of subscriptions go in, a table of matches comes out.

drop(MONDAY, "auctions")
auctions = spark.read.parquet(str(folder / "auctions"))
subscriptions = spark.createDataFrame(
    SUBSCRIPTIONS, "id string, email string, subscription string, version long"
)
index = Index.of(subscriptions, columns=["email"], taxonomy=TAXONOMY)
matches = match(auctions, index, event_id="auction", keep=["title"], subscription_columns=["email"])
print("Monday's auctions, as a batch:")
matches.orderBy("event_id", "subscription_id").show(truncate=False)

# The same as a stream. To change subscriptions, put a file into a folder. Each row adds or replaces
# a subscription, or removes it if the text is null. A micro-batch sees the subscriptions as they
# are when it begins.

(folder / "changes").mkdir()
with Snapshots.from_changes(
    folder / "snapshots", folder / "changes", initial=index
) as subscriptions:
    stream = spark.readStream.schema(AUCTION).parquet(str(folder / "auctions"))
    query = (
        match(stream, subscriptions, event_id="auction", keep=["title"])
        .writeStream.format("parquet")
        .option("path", str(folder / "matches"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    query.processAllAvailable()

    changes = [
        {"id": "toys", "subscription": "category is a 'toy' and price < 100", "version": 2},
        {"id": "laptops", "subscription": "category = 'laptop'", "version": 1},
        {"id": "antiques", "subscription": None},
        {"id": "typo", "subscription": "price betwen 1 and 5"},
    ]
    new = folder / "changes" / ".0001.ndjson"
    new.write_text("".join(json.dumps(row) + "\n" for row in changes))
    new.rename(folder / "changes" / "0001.ndjson")
    number = subscriptions.refresh()  # or wait a second: a thread checks for changes
    print(f"snapshot {number} has {len(subscriptions.index)} subscriptions; rejected:")
    for row in subscriptions.index.rejected.to_pylist():
        print(f"  {row['id']}: {row['error']}")

    drop(TUESDAY, "auctions")
    query.processAllAvailable()
    query.stop()

print("\nMonday's and Tuesday's auctions, as a stream; on Tuesday, toys has version 2:")
found = spark.read.parquet(str(folder / "matches"))
found.orderBy("event_id", "subscription_id").show(truncate=False)
spark.stop()
