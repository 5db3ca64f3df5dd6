"""Around every command: exit codes, errors and warnings in one line each, and a clean end on Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import click

from dcd.cli.terminal import plain, remark
from dcd.cli.wording import input_error_words, table_warning_words

FINE, PROBLEMS, BAD_INPUT, METHOD_FAILED, OUT_OF_TIME, INTERRUPTED, NO_READER = 0, 1, 2, 3, 124, 130, 141


@dataclass
class State:
    """What a run has to know when it ends early.

    Attributes
    ----------
    debug : show the traceback of an error.
    when_interrupted : what to tell somebody who interrupts.
    """

    debug: bool = False
    when_interrupted: str = "no file is half written"
    shown: set[str] = field(default_factory=set)


class MethodFailedError(click.ClickException):
    """A method gave no graph, for a reason other than its input."""

    exit_code = METHOD_FAILED


def with_debug(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option `--debug`, which any command takes."""

    def note(context: click.Context, parameter: click.Parameter, given: bool) -> None:  # noqa: ARG001
        state = context.find_object(State)
        if given and state is not None:
            state.debug = True

    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=note,
        help="Show where an error comes from.",
    )(command)


def run(command: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    state = State()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal's encoding lacks is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    with _warnings_in_one_line(state):  # around the handling of errors, too: ending workers makes joblib warn
        try:
            return _run(command, arguments, state)
        except BrokenPipeError:  # standard error has no reader either
            return _without_reader(sys.stdout, sys.stderr)


def _run(command: click.Command, arguments: Sequence[str] | None, state: State) -> int:
    try:
        code = _invoke(command, arguments, state)
        sys.stdout.flush()
        return code if isinstance(code, int) else FINE
    except (KeyboardInterrupt, click.Abort):
        remark("interrupted", state.when_interrupted)
        return INTERRUPTED
    except BrokenPipeError:
        return _without_reader(sys.stdout)
    except Exception as error:
        if state.debug:
            print(plain(traceback.format_exc(), keep_lines=True), file=sys.stderr, end="")
        return _told(error)


def _without_reader(*streams: TextIO) -> int:
    """Lead streams nowhere, or the interpreter complains when it flushes them at its end."""
    for stream in streams:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return NO_READER


def _invoke(command: click.Command, arguments: Sequence[str] | None, state: State) -> Any:
    """What the command returns; a closed pipe, which click hides, is an error again."""
    streams = sys.stdout, sys.stderr
    given = None if arguments is None else list(arguments)
    try:
        return command.main(given, prog_name="dcd", standalone_mode=False, obj=state)
    finally:
        hidden = sys.stdout is not streams[0]  # click puts a wrapper there when a pipe is closed
        sys.stdout, sys.stderr = streams
        if hidden:
            raise BrokenPipeError


def _told(error: Exception) -> int:
    """One line for an error, and the exit code that it leads to."""
    from dcd.runtime.errors import InputError, TimeLimitError

    if isinstance(error, click.UsageError):
        help_of = f" See '{error.ctx.command_path} --help'." if error.ctx is not None else ""
        remark("error", f"{error.format_message()}{help_of}")
        return BAD_INPUT
    if isinstance(error, click.ClickException):
        remark("error", error.format_message())
        return error.exit_code
    if isinstance(error, InputError):
        remark("error", input_error_words(error))
        return BAD_INPUT
    if isinstance(error, TimeLimitError):
        remark("out of time", error)
        return OUT_OF_TIME
    if isinstance(error, OSError):
        remark("error", f"{error.filename}: {error.strerror}" if error.filename else error)
        return BAD_INPUT
    if isinstance(error, ImportError):
        remark("error", error)
        return BAD_INPUT
    remark("error", f"{type(error).__name__}: {error} (--debug shows where)")
    return METHOD_FAILED


@contextlib.contextmanager
def _warnings_in_one_line(state: State) -> Iterator[None]:
    """Our own warnings as `warning: ...`, each once; those of other packages only with `--debug`."""

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        from dcd.runtime.errors import TableWarning

        text = table_warning_words(message) if isinstance(message, TableWarning) else str(message)
        if text not in state.shown and (state.debug or _for_users(category)):
            state.shown.add(text)
            remark("warning", text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def _for_users(category: type[Warning]) -> bool:
    return category.__module__.split(".")[0] == "dcd"


@contextlib.contextmanager
def silent_children(*, really: bool) -> Iterator[None]:
    """Keep processes that are started meanwhile from writing to standard error, if `really`.

    Ctrl-C goes to every process of a terminal, and a worker that is just starting answers with a traceback.
    Processes inherit file 2, so that one leads nowhere here, and our own standard error goes around it.
    """
    if not really or not _is_file_2(sys.stderr):
        yield
        return
    ours = sys.stderr
    ours.flush()
    true = os.dup(2)
    with (
        open(os.devnull, "wb") as nowhere,
        open(os.dup(true), "w", encoding=ours.encoding, errors=ours.errors, buffering=1) as around,
    ):
        os.dup2(nowhere.fileno(), 2)
        sys.stderr = around
        try:
            yield
        finally:
            around.flush()
            sys.stderr = ours
            os.dup2(true, 2)
            os.close(true)


def _is_file_2(stream: object) -> bool:
    try:
        return stream.fileno() == 2  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
