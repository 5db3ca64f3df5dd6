"""The exceptions and warnings of the package, and the checks that raise them.

An `InputError` names the parameter or column, the problem and the remedy, in one form:

    column 'age': 3 missing values. Drop these rows or fill them in before fitting.
    parameter 'alpha': must be above 0 and below 1, got 5. Try alpha=0.05.
"""

from __future__ import annotations

import difflib
import math
import numbers
import operator
from collections.abc import Mapping, Sequence
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class InputError(ValueError):
    """Bad input: its `subject` (a parameter, a column, a file), the `problem` and the `remedy`."""

    def __init__(self, subject: str, problem: str, remedy: str) -> None:
        self.subject, self.problem, self.remedy = subject, problem, remedy
        super().__init__(f"{subject}: {problem}. {remedy}")

    def __reduce__(self) -> tuple[type[InputError], tuple[Any, ...]]:
        # Exceptions are pickled by their args; a worker process must be able to return this one.
        return type(self), (self.subject, self.problem, self.remedy)


class SeveralProblemsError(InputError):
    """Several problems of one `subject`: `errors` has an `InputError` for each."""

    def __init__(self, subject: str, errors: Sequence[InputError]) -> None:
        self.errors = tuple(errors)
        remedy = "\n  ".join(["Fix each of them:", *map(str, errors)])
        super().__init__(subject, f"has {len(errors)} problems", remedy)

    def __reduce__(self) -> tuple[type[InputError], tuple[Any, ...]]:
        return type(self), (self.subject, self.errors)


class MissingLibraryError(InputError, ImportError):
    """A package, or the compiled part of this one, is not installed; the `remedy` says how to install it."""


class TimeLimitError(RuntimeError):
    """A run has exceeded its time limit, or is estimated to.

    Attributes
    ----------
    limit : the limit in seconds.
    elapsed : the seconds taken so far.
    estimate : estimated seconds in all, without the stages after the current one; None if unknown.
    """

    def __init__(self, message: str, limit: float, elapsed: float, estimate: float | None) -> None:
        super().__init__(message)
        self.limit, self.elapsed, self.estimate = limit, elapsed, estimate


class BaselineError(RuntimeError):
    """A method of another package returned no graph; `outcome` has the status and the reason."""

    def __init__(self, method: str, outcome: Any) -> None:
        self.outcome = outcome
        super().__init__(f"method {method!r} gave no graph: {outcome.reason}")


class TableWarning(UserWarning):
    """A file was read, but something in it may have been misinterpreted; has `problem` and `remedy`."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem} {remedy}".strip())


class SmallSampleWarning(UserWarning):
    """The table has so few rows that an absent edge is weak evidence."""


class RowsLostWarning(UserWarning):
    """Rows with missing values were left out."""


class SearchCutWarning(UserWarning):
    """Some Markov boundaries were too large to search in full."""


class LongRunWarning(UserWarning):
    """A fit is expected to take long; raised before the work begins, or as soon as this can be estimated."""


class FailedResamplesWarning(UserWarning):
    """The method could not be fitted to some of the resamples."""


# --- checks ----------------------------------------------------------------------------------------------


_MOST_WHOLE = 2**63 - 1
_OWN = ("builtins", "collections", "dcd")
_COMPARE = {"above": gt, "at least": ge, "below": lt, "at most": le}


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    whole: bool = False,
    suggestion: object,
) -> None:
    """Raise `InputError` unless `value` is a (whole) number within the given bounds.

    Whole numbers are limited to 64 bits in any case.
    """
    at_most = _MOST_WHOLE if whole and at_most is None and below is None else at_most
    bounds = {"above": above, "at least": at_least, "below": below, "at most": at_most}
    given = {word: bound for word, bound in bounds.items() if bound is not None}
    real = is_whole(value) or (not whole and _is_float(value))
    try:
        number = float(value) if real else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not all(_COMPARE[word](number, bound) for word, bound in given.items()):
        told = {word: bound for word, bound in given.items() if bound != _MOST_WHOLE or number > bound}
        allowed = " and ".join(f"{word} {bound:g}" for word, bound in told.items())
        expected = f"{'a whole number' if whole else 'a number'} {allowed}".strip()
        problem = f"must be {expected}, got {value!r}"
        raise InputError(f"parameter '{name}'", problem, f"Try {name}={suggestion!r}.")


def is_whole(value: object) -> bool:
    """Whether it is a whole number; Booleans and time spans are not, though they derive from integers."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_float(value: object) -> bool:
    """Whether NumPy treats it as a float; fractions and decimal numbers are objects to NumPy."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, numbers.Rational))


def make_generator(random_state: object) -> np.random.Generator:
    """The generator of a call, from None, a seed or a generator; raises `InputError` for anything else."""
    import numpy as np  # not at the top: `dcd --help` loads this module but not NumPy

    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if is_whole(random_state) and random_state >= 0:  # type: ignore[operator]
        return np.random.default_rng(int(random_state))  # type: ignore[call-overload]
    problem = f"must be None, a whole number at least 0 or a numpy.random.Generator, got {random_state!r}"
    raise InputError("parameter 'random_state'", problem, "Try random_state=0.")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise `InputError` unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:  # other objects may define == differently
        problem = f"must be one of {', '.join(map(repr, choices))}, got {value!r}"
        near = _nearest(value, choices)
        raise InputError(f"parameter '{name}'", problem, near or "Choose one of them.")


def check_flag(name: str, value: object) -> None:
    """Raise `InputError` unless `value` is True or False."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):  # NumPy's
        problem = f"must be True or False, got {value!r:.80}"
        raise InputError(f"parameter '{name}'", problem, f"Try {name}=True.")


def check_type(name: str, value: object, expected: type | tuple[type, ...], remedy: str) -> None:
    """Raise `InputError` unless `value` is an instance of one of these classes."""
    if not isinstance(value, expected):
        classes = expected if isinstance(expected, tuple) else (expected,)
        problem = f"must be {' or '.join(map(_class_name, classes))}, got {type(value).__name__}"
        raise InputError(f"parameter '{name}'", problem, remedy)


def _class_name(kind: type) -> str:
    """The name of a class in a message, with its package if that is not ours, because names may coincide."""
    package = kind.__module__.partition(".")[0]
    known = {str: "text", type(None): "None"}
    return known.get(kind, f"a {kind.__name__}" if package in _OWN else f"{package}'s {kind.__name__}")


def name_list(name: str, value: object) -> tuple[str, ...]:
    """The names in a list, or the letters of a text; raises `InputError` for other types."""
    names = as_tuple(f"parameter '{name}'", value, f"{name}=['a', 'b']")
    if not all(isinstance(one, str) or is_whole(one) for one in names):
        problem = f"must be a list of names, got {value!r:.80}"
        raise InputError(f"parameter '{name}'", problem, f"Try {name}=['a', 'b'].")
    return names


def as_tuple(
    subject: str, value: object, example: str, *, letters: bool = True, allowed: str = "must be a list"
) -> tuple[Any, ...]:
    """The items of a container, or the `letters` of a text; raises `InputError` unless it is list-like."""
    try:
        if not isinstance(value, (bytes, bytearray, Mapping)) and (letters or not isinstance(value, str)):
            return tuple(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InputError(subject, f"{allowed}, got {value!r:.80}", f"Try {example}.")


def check_contract(name: str, value: Any, *, methods: Sequence[str], example: str) -> None:
    """Raise `InputError` unless an object has the methods of a strategy and passes its `check`, if any."""
    lacking = [method for method in methods if not callable(getattr(value, method, None))]
    if isinstance(value, (type, str, bytes, bytearray)) or lacking:
        wanted = " and ".join(f"{method}()" for method in methods)
        problem = f"must be None or an object with {wanted}, got {value!r}"
        raise InputError(f"parameter '{name}'", problem, f"Try {example}.")
    if callable(check := getattr(value, "check", None)):
        check()


def suggest(wrong: object, known: Sequence[str]) -> str:
    """A remedy that offers the names nearest to a wrong one."""
    if near := _nearest(wrong, known):
        return near
    shown = ", ".join(repr(name) for name in known[:10])
    return f"Choose from {shown}{f' and {len(known) - 10} more' if len(known) > 10 else ''}."


def _nearest(wrong: object, known: Sequence[str]) -> str:
    """The question whether the nearest names were meant; empty if none is near."""
    near = difflib.get_close_matches(str(wrong), known, n=3, cutoff=0.5)
    if not near:
        by_folded_case = {name.casefold(): name for name in known}
        folded = difflib.get_close_matches(str(wrong).casefold(), list(by_folded_case), n=3, cutoff=0.5)
        near = [by_folded_case[name] for name in folded]
    return f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
