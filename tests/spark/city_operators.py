"""Declares the operators of the city example: executors import this, with the example beside it."""

import city_watch  # type: ignore[import-not-found]  # shipped with it

city_watch.declare()
