"""The decorators of all kernels, the prefetch instruction, and arrays by their addresses.

Flags: nopython, the GIL released (but see ``brief``), compiled code cached on disk. Numba decides
where the cache lives when a function is decorated and raises if no place is writable (a read-only
install, a worker without a home); then the kernel is compiled once a process instead.
"""

import logging
import os
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, overload

import numba
import numpy as np
from numba import carray, config, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.bytecode import FunctionIdentity
from numba.extending import intrinsic
from numpy.typing import NDArray

from tamis.arrays.types import Int64s

FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 64), None)  # type: ignore[assignment]
"""Numba counts the functions that it compiles in each process, and tells those of one name apart by
these numbers alone, such as the many helpers of ``sort``. Two processes that compile side by side
give one number to different functions. A process that loads both from the cache then calls one in
place of the other, and accesses memory that is not its own (numba/numba#10486). Numbers drawn at
random differ in all processes, also after a fork."""

_announced = False
_LOG = logging.getLogger("tamis")

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, allocates: bool) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, /, *, allocates: bool = True) -> Any:
    """Compile a function over flat arrays; plain Python under NUMBA_DISABLE_JIT=1.

    Say ``allocates=False`` of one that makes no arrays, where it is called from other kernels. It
    then borrows its arrays. Otherwise each call counts a reference to every array that it is
    handed, in atomic steps: evaluating a small formula took 1,770 ns so, and 255 without.
    """
    if function is None:
        return partial(kernel, allocates=allocates)
    return _compiled(function, allocates, nogil=True)


@overload
def brief(function: Function, /) -> Function: ...
@overload
def brief(*, allocates: bool) -> Callable[[Function], Function]: ...


def brief(function: Any = None, /, *, allocates: bool = True) -> Any:
    """Compile a function of some microseconds, which keeps the GIL: who lets it go for so short a
    time may wait milliseconds to get it back."""
    if function is None:
        return partial(brief, allocates=allocates)
    return _compiled(function, allocates)


def _compiled(function: Callable[..., Any], allocates: bool, **options: Any) -> Any:
    if not allocates:
        options["_nrt"] = False
    try:
        return numba.njit(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return numba.njit(error_model="numpy", **options)(function)


def inlined(function: Any) -> Any:
    """Compile a part of kernels into them: to hand arrays to a function costs a tenth of a
    microsecond, which counts where it is called for each edge."""
    return numba.njit(nogil=True, inline="always", error_model="numpy")(function)


def announce_compilation(function: Any) -> None:
    """Say so, once, if a kernel, and then all, must be compiled on this machine for the first
    time."""
    global _announced
    if _announced:
        return
    _announced = True
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


@intrinsic
def _pointer(typingctx: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(types.int64), generate


def addresses(arrays: Iterable[NDArray[Any]]) -> Int64s:
    """Where arrays lie and how long they are. Handed to a kernel instead of the arrays, they save
    it a tenth of a microsecond for each; somebody else must keep the arrays alive."""
    return np.array([(array.ctypes.data, array.size) for array in arrays], np.int64)


if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def array_from(address: Any, size: Any, dtype: Any) -> Any:
        """The array of so many elements that begins at an address."""
        import ctypes

        length = int(size) * np.dtype(dtype).itemsize
        buffer = (ctypes.c_char * length).from_address(int(address))
        return np.frombuffer(buffer, dtype)

    def array_at(place: Any, dtype: Any) -> Any:
        """The array that lies at a place."""
        return array_from(place[0], place[1], dtype)

else:

    @numba.njit(inline="always")
    def array_from(address: Any, size: Any, dtype: Any) -> Any:
        """The array of so many elements that begins at an address."""
        return carray(_pointer(address), (size,), dtype)  # type: ignore[call-arg]

    @numba.njit(inline="always")
    def array_at(place: Any, dtype: Any) -> Any:
        """The array that lies at a place."""
        return carray(_pointer(place[0]), (place[1],), dtype)  # type: ignore[call-arg]
