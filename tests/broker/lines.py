"""Standard output for lines of JSON alone, in processes that tests read from."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any


class Lines:
    """Takes standard output for itself; whatever else prints there goes to standard error."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._output = os.fdopen(os.dup(1), "w")
        self._lock = threading.Lock()
        os.dup2(2, 1)

    def say(self, what: Any) -> None:
        """Write one line, from any thread."""
        with self._lock:
            self._output.write(json.dumps(what) + "\n")
            self._output.flush()
