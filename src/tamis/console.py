"""Where the commands write: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from tamis.errors import ParseError, TamisError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class UsageError(TamisError):
    """Something that the caller must put right, such as a file that is not there."""


def say(message: str) -> None:
    """A line on standard error, beginning with the program's name."""
    print(f"tamis: {message}", file=sys.stderr)


@contextmanager
def located(place: str) -> Iterator[None]:
    """Put the place before the message of an error raised within."""
    try:
        yield
    except UsageError:
        raise
    except TamisError as error:
        raise TamisError(f"{place}: {error}") from error


def console(*, stderr: bool = False) -> Console:
    """A rich console on standard output, or on standard error."""
    from rich.console import Console

    class PipeConsole(Console):
        """Leaves a reader that went away to the caller; rich would end the process."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return PipeConsole(stderr=stderr, soft_wrap=False, highlight=False)


def progress_bar(*, visible: bool) -> Progress:
    """A progress bar on standard error that leaves no trace."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console(stderr=True), transient=True, disable=not visible)


def split_hint(error: TamisError) -> tuple[str, str | None]:
    """What is wrong, and what to do about it if the error says so."""
    return (error.problem, error.hint) if isinstance(error, ParseError) else (str(error), None)
