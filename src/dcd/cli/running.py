"""Running commands: exit codes, problems and warnings in one line each, and a clean end on Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import click

from dcd.cli.terminal import plain, remark
from dcd.cli.wording import input_error_lines, option_of, table_warning_words
from dcd.runtime.errors import InputError, TableWarning, TimeLimitError, suggest

FINE, PROBLEMS, BAD_INPUT, METHOD_FAILED, OUT_OF_TIME, INTERRUPTED, NO_READER = 0, 1, 2, 3, 124, 130, 141
_SYNONYMS = {  # that people try, and the options that they mean
    "--drop": "--exclude",
    "--ignore": "--exclude",
    "--output": "--report",
    "--threads": "--jobs",
}


@dataclass
class State:
    """The state of a run."""

    debug: bool = False  # show the traceback of an error
    when_interrupted: str = "no partial files were written"  # the message on an interrupt
    warned: set[str] = field(default_factory=set)  # the warnings shown so far


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001
    state = context.find_object(State)
    if value and state is not None:
        state.debug = True


with_debug = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_set_debug,
    help="Show where an error comes from.",
)


def run(command: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    state = State()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # for names outside the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    with _warnings_in_one_line(state):  # also during error handling, when joblib may warn
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
        if isinstance(error.__context__, KeyboardInterrupt):  # cleaning up after it failed, as joblib's may
            remark("interrupted", state.when_interrupted)
            return INTERRUPTED
        if state.debug:
            print("\n".join(map(plain, traceback.format_exc().split("\n"))), file=sys.stderr, end="")
        return _report_error(error)


def _without_reader(*streams: TextIO) -> int:
    """Redirect streams to nowhere, so that the interpreter can flush them at exit."""
    for stream in streams:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return NO_READER


def _invoke(command: click.Command, arguments: Sequence[str] | None, state: State) -> Any:
    """The return value of a command; a closed pipe, which click hides, raises an error again."""
    streams = sys.stdout, sys.stderr
    try:
        return command.main(
            None if arguments is None else list(arguments), prog_name="dcd", standalone_mode=False, obj=state
        )
    finally:
        hidden = sys.stdout is not streams[0]  # click wraps it when a pipe is closed
        sys.stdout, sys.stderr = streams
        if hidden:
            raise BrokenPipeError


def _report_error(error: Exception) -> int:
    """Print an error, each of its problems on one line, and return the exit code."""
    if isinstance(error, TimeLimitError):
        remark("out of time", error)
        return OUT_OF_TIME
    if isinstance(error, InputError):
        for line in input_error_lines(error):
            remark("error", line)
        return BAD_INPUT
    code, message = BAD_INPUT, str(error)
    if isinstance(error, click.ClickException):
        code, message = error.exit_code, _click_words(error)  # 2 for bad usage
        if isinstance(error, click.UsageError) and error.ctx is not None:
            message += f" See '{error.ctx.command_path} --help'."
    elif isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else message
    elif not isinstance(error, ImportError):
        code, message = METHOD_FAILED, f"{type(error).__name__}: {error} (--debug shows where)"
    remark("error", message)
    return code


def _click_words(error: click.ClickException) -> str:
    """The message of click, with the options that may be meant by one that does not exist, nearest first."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error.format_message()
    known = {option for parameter in error.ctx.command.params for option in parameter.opts}
    of_python = option_of(error.option_name.removeprefix("--").replace("-", "_"))
    meant = _SYNONYMS.get(error.option_name, of_python)
    if meant in known:
        return f"{error.message} Did you mean '{meant}'?"
    return (
        f"{error.message} {suggest(error.option_name, error.possibilities)}"
        if error.possibilities
        else error.message
    )


@contextlib.contextmanager
def _warnings_in_one_line(state: State) -> Iterator[None]:
    """Show warnings of this package as `warning: ...`, once each; others only with `--debug`."""

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = table_warning_words(message) if isinstance(message, TableWarning) else str(message)
        of_dcd = category.__module__.split(".")[0] == "dcd"
        if text not in state.warned and (state.debug or of_dcd):
            state.warned.add(text)
            remark("warning", text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def silent_children(*, really: bool) -> Iterator[None]:
    """Keep new processes from writing to standard error, if `really`.

    On Ctrl-C, worker processes that are just starting print tracebacks. They inherit file descriptor 2, which
    is redirected to nowhere; this process writes to a duplicate.
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
