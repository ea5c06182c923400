"""Spark's daemon of Python workers, which loads the kernels before it forks workers.

Set it with ``spark.python.daemon.module``. A worker would need half a second to load Numba and the
compiled code; a forked one has them already. No thread may run during a fork; loading starts none.
"""

from __future__ import annotations

from pyspark.daemon import manager

from tamis.spark.session.warm import warm_up

if __name__ == "__main__":
    warm_up()
    manager()
