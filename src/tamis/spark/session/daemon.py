"""Spark's daemon of Python workers, which loads the kernels before it forks them.

Chosen by ``spark.python.daemon.module``. Loading Numba and compiled code takes a worker half a
second; forked, it has them. No thread may run at the time of a fork: loading starts none.
"""

from __future__ import annotations

from pyspark.daemon import manager

from tamis.spark.session.warm import warm_up

if __name__ == "__main__":
    warm_up()
    manager()
