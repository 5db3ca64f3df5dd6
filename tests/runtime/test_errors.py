import pickle

import numpy as np
import pytest

from dcd import InputError
from dcd.runtime.errors import SeveralProblemsError, check_choice, check_number, make_generator, suggest


def test_the_message_has_one_form():
    with pytest.raises(InputError) as caught:
        check_number("alpha", 5, above=0, below=1, suggestion=0.05)
    assert (
        str(caught.value) == "parameter 'alpha': must be a number above 0 and below 1, got 5. Try alpha=0.05."
    )


def test_the_error_survives_the_way_back_from_a_worker():
    error = InputError("column 'a'", "is odd", "Drop it.")
    several = SeveralProblemsError("the table", [error, InputError("column 'b'", "is empty", "Fill it.")])
    for one in (error, several):
        assert str(pickle.loads(pickle.dumps(one))) == str(one)
    assert [one.subject for one in pickle.loads(pickle.dumps(several)).errors] == ["column 'a'", "column 'b'"]


@pytest.mark.parametrize("value", [0, 1, -1, float("nan"), "1", None, True, 1j])
def test_numbers_outside_their_bounds(value):
    with pytest.raises(InputError, match="parameter 'x'"):
        check_number("x", value, above=0, below=1, suggestion=0.5)


def test_infinity_is_no_number():
    with pytest.raises(InputError, match="got inf"):
        check_number("x", float("inf"), above=0, suggestion=1)
    with pytest.raises(InputError):
        check_number("x", 10**400, above=0, suggestion=1)


def test_generators():
    rng = np.random.default_rng(3)
    assert make_generator(rng) is rng
    assert make_generator(np.int64(3)).random() == make_generator(3).random()
    make_generator(None)
    for wrong in (-1, "a", 1.5, True):
        with pytest.raises(InputError, match="parameter 'random_state'"):
            make_generator(wrong)


def test_numbers_inside_their_bounds():
    check_number("x", 0.5, above=0, below=1, suggestion=0.5)
    check_number("x", 0, at_least=0, below=1, whole=True, suggestion=0)
    with pytest.raises(InputError, match="a whole number at least 1"):
        check_number("x", 1.0, at_least=1, whole=True, suggestion=1)


def test_choices_and_near_names():
    check_choice("graph", "ring", ["ring", "star"])
    with pytest.raises(InputError, match=r"must be one of 'ring', 'star', got 'rings'\. Did you mean 'ring'"):
        check_choice("graph", "rings", ["ring", "star"])
    assert suggest("PKC_a", ["Raf", "PKC", "PKA"]) == "Did you mean 'PKC' or 'PKA'?"
    assert suggest("raf", ["RAF", "Mek"]) == "Did you mean 'RAF'?"
    assert suggest("zzz", [f"v{i}" for i in range(12)]).endswith("'v9' and 2 more.")
