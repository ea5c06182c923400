"""The file that ``tamis pipeline init`` writes: every key of a pipeline, explained."""

TEMPLATE = """# A pipeline of Tamis:   tamis pipeline check FILE    finds every mistake in this file
#                        tamis pipeline run FILE      runs it; --once ends when all is done
#
# Paths start from the folder of this file, unless they have a scheme: s3a://bucket/events

name = "alerts"               # in the keys of sinks, and in Spark's pages
folder = "state"              # what a restart needs, on any file system that Spark can write
# every = "5 seconds"         # start a batch so often; without it, one after the other
# patience = "5 minutes"      # how long a sink may be unavailable before the pipeline ends
# limit = 100                 # the most matches of an event
# bindings = true             # a column with the values of variables, as JSON

[source]
format = "json"               # files of JSON (a document in each line), csv, parquet, kafka, delta,
                              # iceberg, rate, or any other streaming source by its name
path = "incoming"             # the directory, for files and Delta tables
# table = "catalog.events"    # a table of the catalog, instead of a path
# columns = "id long, price double"     # names and types, for files
# options = { maxFilesPerTrigger = 10 } # options of the source, as in Spark's documentation
#
# From Kafka (the value of a record is the event, as JSON):
# format = "kafka"
# options = { "kafka.bootstrap.servers" = "localhost:9092", subscribe = "events" }

[events]
# id = "get_json_object(document, '$.id')"   # a column, or an SQL expression over the source
# column = "document"         # the column that holds whole events, if it is not the usual one
# where = "topic <> 'tests'"  # an SQL condition over the source's columns: skip other rows
# select = ["*"]              # SQL expressions that make the events from the source's columns
# keep = ["document"]         # columns that matches and rejected events carry along
# schema = "schema.json"      # events that break this schema are rejected
# types = ["offer"]           # types of events that do not name their own

[subscriptions]
format = "csv"                # csv, json, parquet, delta, iceberg, kafka, broker, or any of Spark
path = "subscriptions.csv"    # with the columns id, subscription, and optionally version
# table = "catalog.rules"     # a table of the catalog, instead of a path
# function = "rules:all"      # a Python function that returns all subscriptions, instead of a path
# change_feed = true          # Delta, Iceberg: the table tells what has changed, read only that
# changes = "changes"         # a folder of change files: id, subscription (null removes), version
# options = { header = true } # options of Spark's reader
# columns = ["email"]         # more columns of the table, for the matches
# taxonomy = "taxonomy.json"  # maps each term to its parents
# operators = ["operators"]   # modules that declare operators
# every = "10 seconds"        # look for changes at most so often

[sinks.matches]               # as many as you like, each with a name of its own
format = "parquet"            # parquet or json: a folder for each batch
path = "matches"
# files = 1                   # write at most so many files for a batch
# options = { compression = "zstd" }
#
# format = "kafka"            # the key of a record is the list of event and subscription
# topic = "matches"
# options = { "kafka.bootstrap.servers" = "localhost:9092" }
#
# format = "jdbc"             # the rows of a batch are replaced in one transaction
# url = "jdbc:postgresql://localhost/alerts"
# table = "matches"
# user = "tamis"
# password = ""
#
# format = "webhook"          # rows are posted as JSON
# url = "https://example.org/matches"
# rows = 500                  # rows in a request
# timeout = "30 seconds"
# attempts = 5
# headers = { authorization = "…" }
#
# format = "broker"           # a broker of Tamis delivers them
# address = "http://127.0.0.1:8080"
# key = "…"                   # of an administrator
# event = "document"          # the column with whole events as JSON
#
# format = "call"             # a Python function of the rows and the number of a batch
# function = "sinks:notify"
#
# format = "console"          # the first rows of each batch
#
# format = "delta"            # a Delta table
# path = "s3a://bucket/matches"

# [throttle]                  # hold back matches of a subscription that had one a while ago
# every = "1 hour"            # how long a subscription is quiet after a match
# once = true                 # instead: for ever, until its version changes
# time = "timestamp"          # the event's time, as SQL over the source; else that of the batch
# delay = "10 minutes"        # how late events may be
# sinks = ["matches"]         # the sinks that get only what is not held back; else all

[rejected.events]             # events that cannot be read, or that break the schema
format = "json"
path = "rejected/events"

[rejected.subscriptions]      # subscriptions that cannot be parsed
format = "json"
path = "rejected/subscriptions"

[spark]                       # settings of the session
"spark.master" = "local[*]"
# "spark.jars.packages" = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
"""
