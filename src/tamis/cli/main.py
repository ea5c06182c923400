"""The command line: one module a command, and one place where errors become exit codes."""

from __future__ import annotations

import inspect
import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tamis.cli import (
    bench,
    check,
    compact,
    compare,
    demo,
    explain,
    match,
    operators,
    pipeline,
    rss,
    schema,
    serve,
)
from tamis.console import UsageError, say
from tamis.errors import TamisError

PROBLEMS, WRONG_USAGE, INTERRUPTED = 1, 2, 130

# The class of all errors that typer finds in the arguments, wherever its version keeps it.
_ArgumentError: type[Any] = typer.BadParameter.__bases__[0]


class Commands(TyperGroup):
    """The commands, whose errors are one line on standard error and an exit code."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run, and end the process."""
        settings["standalone_mode"] = False
        try:
            code = super().main(*args, **settings)
        except _ArgumentError as error:
            context = error.ctx
            hint = f"; see '{context.command_path} --help'" if context else ""
            say(error.format_message().rstrip(".") + hint)
            code = WRONG_USAGE
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; its errors become messages and exit codes."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
        except KeyboardInterrupt:
            _discard_output()
            raise typer.Exit(INTERRUPTED) from None
        except TamisError as error:
            say(str(error))
            code = WRONG_USAGE if isinstance(error, UsageError) else PROBLEMS
            raise typer.Exit(code) from error
        except OSError as error:
            _discard_output()
            place = f"{error.filename}: " if error.filename else ""
            say(f"{place}{(error.strerror or str(error)).lower()}")
            raise typer.Exit(WRONG_USAGE) from error


def _discard_output() -> None:
    """Send what is still in the buffer of standard output nowhere, for its reader is gone."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except io.UnsupportedOperation:
        pass  # not the process's own standard output


def _epilog(examples: Iterable[str]) -> str:
    """Examples as the last part of a help page."""
    lines = [f"  [cyan]{example.replace('[', chr(92) + '[')}[/cyan]" for example in examples]
    return "\n".join(["[bold]Examples[/bold]", *lines])


def _help(command: Callable[..., None]) -> str:
    """The docstring of a command, its paragraphs without line breaks."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


_EXIT_CODES = """[bold]Exit codes[/bold]
  [cyan]0[/cyan]    all is well
  [cyan]1[/cyan]    problems in the data: a bad event, a bad subscription
  [cyan]2[/cyan]    wrong usage, or a file that cannot be read or written
  [cyan]130[/cyan]  interrupted"""

app = typer.Typer(
    cls=Commands,
    name="tamis",
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=_EXIT_CODES,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from tamis import __version__

        typer.echo(f"tamis {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Match events against standing subscriptions.

    Begin with [bold cyan]tamis demo[/bold cyan].
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_USAGE)


for command, examples in (
    (match.match, match.EXAMPLES),
    (explain.explain, explain.EXAMPLES),
    (check.check, check.EXAMPLES),
    (compare.compare, compare.EXAMPLES),
    (compact.compact, compact.EXAMPLES),
    (operators.operators, operators.EXAMPLES),
    (rss.rss, rss.EXAMPLES),
    (serve.serve, serve.EXAMPLES),
    (demo.demo, demo.EXAMPLES),
):
    app.command(help=_help(command), epilog=_epilog(examples))(command)


schemas = typer.Typer(
    name="schema",
    help=_help(schema.schema),
    rich_markup_mode="rich",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for function, uses in schema.COMMANDS.items():
    schemas.command(help=_help(function), epilog=_epilog(uses))(function)
app.add_typer(schemas)

pipelines = typer.Typer(
    name="pipeline",
    help=_help(pipeline.pipeline),
    rich_markup_mode="rich",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for function, uses in pipeline.COMMANDS.items():
    pipelines.command(help=_help(function), epilog=_epilog(uses))(function)
app.add_typer(pipelines)

benches = typer.Typer(
    name="bench",
    help=_help(bench.bench),
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)
benches.callback(invoke_without_command=True)(bench.bench)
benches.command(help=_help(bench.papers), epilog=_epilog(bench.EXAMPLES))(bench.papers)
app.add_typer(benches)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="tamis")


if __name__ == "__main__":
    main()
