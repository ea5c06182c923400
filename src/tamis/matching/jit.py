"""The one decorator of all kernels, and the prefetch instruction.

Flags: nopython, the GIL released, compiled code cached on disk. Numba decides where the cache
lives when a function is decorated and raises if no place is writable (a read-only install, a
worker without a home); then the kernel is compiled once a process instead.
"""

import logging
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

_LOG = logging.getLogger("tamis")

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function over flat arrays; plain Python under NUMBA_DISABLE_JIT=1."""
    try:
        return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))


def announce_compilation(function: Any) -> None:
    """Say so if a kernel, and then all, must be compiled on this machine for the first time."""
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    index = getattr(file, "_index_path", None)
    if not config.DISABLE_JIT and (index is None or not os.path.exists(index)):  # type: ignore[attr-defined]
        _LOG.warning("compiling the kernels, once on this machine: about half a minute")


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Emit llvm.prefetch for the cache line that holds `array[index]` (array one-dimensional)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        array_type, index_type = signature.args
        view = context.make_array(array_type)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], index_type, types.intp)
        address = builder.gep(view.data, [position])
        pointer = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]),
            "llvm.prefetch.p0",
        )
        read, keep, data = flag(0), flag(3), flag(1)
        builder.call(function, [builder.bitcast(address, pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, index), generate


if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def prefetch(array: Any, index: Any) -> None:
        """Do nothing: without the JIT there is no instruction to emit."""

else:

    @numba.njit(nogil=True, inline="always")
    def prefetch(array: Any, index: Any) -> None:
        """Ask for the cache line of `array[index]`, without waiting for it."""
        _prefetch(array, index)  # type: ignore[call-arg]
