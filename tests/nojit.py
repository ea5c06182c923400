"""Runs the kernels as plain Python: ``NUMBA_DISABLE_JIT=1 python -m tests.nojit``.

``SELECTION`` says which tests execute the kernels of which modules. A fast test holds that it
names every module; whether each one is executed indeed is seen here, where this module, as a plugin
of pytest, notes the kernels that are called, and the run fails if those of a module are not.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba import config

from tamis.arrays import jit

SELECTION = {
    "arrays.arrow_buffers": "published/frame/test_comparisons.py",
    "arrays.documents": "arrays/documents/test_documents.py",
    "arrays.gathering": "arrays/test_gathering.py",
    "arrays.hash_table": "arrays/test_hash_table.py",
    "arrays.ip_addresses": "matching/lines/test_forms.py",
    "arrays.key_table": "matching/segments/test_one_event.py",
    "arrays.radix": "matching/segments/test_one_event.py",
    "arrays.string_search": "published/frame/test_comparisons.py",
    "arrays.string_union": "matching/segments/test_matcher.py",
    "arrays.substring_search": "arrays/test_substring_search.py",
    "arrays.thresholds": "published/frame/test_comparisons.py",
    "graphs": "graphs/test_index.py",
    "graphs.binding_tables": "graphs/test_gtopss.py",
    "graphs.general_search": "graphs/test_gtopss.py",
    "graphs.line_scan": "graphs/test_line_scan.py",
    "graphs.merged_graph": "graphs/test_gtopss.py",
    "matching.boxes.layout": "matching/sieve/test_sieve.py",
    "matching.boxes.unresolved": "matching/segments/test_one_event.py",
    "matching.evaluation": "matching/segments/test_one_event.py",
    "matching.lines": "matching/lines/test_forms.py",
    "matching.pairs": "matching/segments/test_matcher.py",
    "matching.segments": "matching/segments/test_matcher.py",
    "matching.segments.merging": "matching/segments/test_merging.py",
    "matching.sieve": "matching/sieve/test_sieve.py",
    "matching.sieve.listed": "matching/segments/test_lists.py",
    "operators.estimates": "operators/test_estimates.py",
    "operators.leaf_kinds": "operators/test_decider.py",
    "operators.residues": "operators/test_decider.py",
    "operators.schedules": "operators/test_schedules.py",
    "published.boxes": "published/frame/test_comparisons.py",
    "published.clusters": "published/clusters/test_equality_clusters.py",
    "published.clusters.equality_preferred": "published/clusters/test_equality_preferred.py",
    "published.clusters.quarantining": "published/clusters/test_quarantining.py",
    "published.counting": "published/counting/test_counting.py",
    "published.counting.fair_predicate": "published/counting/test_fair_predicate.py",
    "published.counting.predicate_clusters": "published/counting/test_predicate_clusters.py",
    "published.counting.predicate_loading": "published/counting/test_predicate_clusters.py",
    "published.frame": "published/frame/test_comparisons.py",
    "published.gough": "published/test_gough.py",
    "published.gryphon": "published/gryphon/test_gryphon.py",
    "published.interval": "published/interval/test_tree.py",
    "published.interval.hanson": "published/interval/test_hanson.py",
    "published.mbd": "published/mbd/test_mbd.py",
    "published.mbd.covering": "published/mbd/test_covering.py",
    "published.mbd.dependencies": "published/mbd/test_covering.py",
    "published.naive": "published/test_naive.py",
    "published.neon": "published/neon/test_neon.py",
    "published.predicates": "published/frame/test_comparisons.py",
    "published.selectivity": "published/interval/test_hanson.py",
    "routing": "routing/test_covering.py",
}
"""By module, or by folder, the tests that execute its kernels."""

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "tamis"
_DECORATED = re.compile(r"^\s*@(?:kernel|brief)(?:\(allocates=False\))?$", re.MULTILINE)
_WRAPS = "ignore:overflow encountered:RuntimeWarning"
"""Hashes multiply integers that wrap around; compiled, they do so in silence."""
_CALLED: set[str] = set()
"""The modules whose kernels were called in this process."""


def kernel_modules() -> set[str]:
    """The modules that define kernels, without the name of the package."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in SOURCE.rglob("*.py")
        if _DECORATED.search(path.read_text("utf-8"))
    }


def selection_for(module: str) -> str | None:
    """The tests that execute the kernels of a module: its own entry, or that of its folder."""
    while module and module not in SELECTION:
        module = module.rpartition(".")[0]
    return SELECTION.get(module)


def _noted(function: Callable[..., Any], *_: bool, **_options: bool) -> Callable[..., Any]:
    """A kernel in plain Python that notes its module when it is called."""
    module = (function.__module__ or "").removeprefix("tamis.")

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        _CALLED.add(module)
        return function(*arguments)

    return call


class Record:
    """Gathers the modules that were executed, by all workers, and fails if one is missing."""

    def __init__(self) -> None:
        jit._compiled = _noted

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was called, or look at it."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["called"] = sorted(_CALLED)
        elif session.exitstatus == pytest.ExitCode.OK and (missing := kernel_modules() - _CALLED):
            print(f"\nkernels that no test executed: {', '.join(sorted(missing))}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker called."""
        _CALLED.update(node.workeroutput["called"])


def pytest_configure(config: pytest.Config) -> None:
    """Begin to note calls, in the process that starts the workers and in each of them."""
    config.pluginmanager.register(Record())


def main() -> int:
    """Run the tests of the selection."""
    if not config.DISABLE_JIT:  # type: ignore[attr-defined]
        sys.exit("set NUMBA_DISABLE_JIT=1")
    tests = sorted({str(TESTS / name) for name in SELECTION.values()})
    return pytest.main(["-n", "2", "-p", "tests.nojit", "-W", _WRAPS, *tests])


if __name__ == "__main__":
    sys.exit(main())
