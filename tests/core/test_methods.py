"""A page calls methods of an object by name."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Queue

import pytest
from pydantic import BaseModel

from nbtools.core.errors import TraceError
from nbtools.core.methods import NoParams, method, methods_of, respond, respond_with


class Params(BaseModel):
    number: int


class Doubled(BaseModel):
    number: int


class Numbers:
    def __init__(self) -> None:
        self.later: Future[Doubled] = Future()
        self.forgotten = False

    @method("numbers.double")
    def double(self, params: Params) -> Doubled:
        return Doubled(number=2 * params.number)

    @method("numbers.rows")
    def rows(self, params: Params) -> tuple[Doubled, Sequence[bytes]]:
        return Doubled(number=params.number), [bytes(params.number)]

    @method("numbers.later")
    def computed(self, _: NoParams) -> Future[Doubled]:
        return self.later

    @method("numbers.forget")
    def forget(self, _: NoParams) -> None:
        self.forgotten = True

    @method("numbers.refuse")
    def refuse(self, _: NoParams) -> Doubled:
        raise TraceError("The log has changed.")

    @method("numbers.fail")
    def fail(self, _: NoParams) -> Doubled:
        raise ZeroDivisionError("by zero")

    @method("numbers.exit")
    def exit(self, _: NoParams) -> Doubled:
        raise SystemExit(3)

    def secret(self, _: NoParams) -> Doubled:
        raise AssertionError


@pytest.fixture
def numbers():
    return Numbers()


def ask(target, method, **params):
    """Returns the answers, each with its buffers."""
    answers = []
    respond(target, {"id": 7, "method": method, "params": params}, lambda *sent: answers.append(sent))
    return answers


def test_the_models_of_a_method_are_found_in_its_annotations():
    found = methods_of(Numbers)
    assert len(found) == 7
    rows, later, forget = found["numbers.rows"], found["numbers.later"], found["numbers.forget"]
    assert (rows.params, rows.result, rows.has_buffers) == (Params, Doubled, True)
    assert (later.params, later.result, later.has_buffers) == (NoParams, Doubled, False)
    assert (forget.result, forget.has_buffers) == (None, False)


def test_a_result_is_sent_with_the_id_of_the_request(numbers):
    assert ask(numbers, "numbers.double", number=3) == [({"id": 7, "result": {"number": 6}}, ())]


def test_a_result_has_binary_data(numbers):
    assert ask(numbers, "numbers.rows", number=2) == [({"id": 7, "result": {"number": 2}}, [b"\0\0"])]


def test_a_method_without_a_result_is_answered(numbers):
    assert ask(numbers, "numbers.forget") == [({"id": 7, "result": None}, ())]
    assert numbers.forgotten


def test_an_expected_error_is_the_problem(numbers):
    assert ask(numbers, "numbers.refuse") == [({"id": 7, "problem": "The log has changed."}, ())]


def test_a_bug_is_reported(numbers):
    [(answer, _)] = ask(numbers, "numbers.fail")
    assert "please report it: ZeroDivisionError: by zero" in answer["problem"]


def test_a_target_that_the_kernel_does_not_have_is_gone():
    assert ask(None, "numbers.double", number=3) == [({"id": 7, "gone": True}, ())]


@pytest.mark.parametrize(
    "message",
    [
        {"method": "numbers.double", "params": {"number": "three"}},
        {"method": "numbers.double", "params": {}},
        {"method": "numbers.double", "params": None},
        {"method": "numbers.double"},
        {"method": "numbers.secret", "params": {}},
        {"method": "secret", "params": {}},
        {"method": "__init__", "params": {}},
        {"method": ["numbers.double"], "params": {}},
        {"params": {}},
    ],
)
def test_a_request_that_is_not_offered_is_a_problem(numbers, message):
    answers = []
    respond(numbers, {"id": 7, **message}, lambda answer, _: answers.append(answer))
    [answer] = answers
    assert (answer["id"], "Reload the page" in answer["problem"]) == (7, True)


@pytest.mark.parametrize("message", [None, 3, [], {}, {"id": "7", "method": "numbers.forget", "params": {}}])
def test_a_message_without_an_id_has_no_answer_and_no_effect(numbers, message):
    respond(numbers, message, lambda *_: pytest.fail("answered"))
    assert not numbers.forgotten


def test_a_result_that_takes_longer_follows(numbers):
    answers = ask(numbers, "numbers.later")
    assert answers == [({"id": 7, "pending": True}, ())]
    numbers.later.set_result(Doubled(number=1))
    assert answers[1:] == [({"id": 7, "result": {"number": 1}}, ())]


def test_an_error_that_takes_longer_follows(numbers):
    answers = ask(numbers, "numbers.later")
    numbers.later.set_exception(TraceError("The log has changed."))
    assert answers[1:] == [({"id": 7, "problem": "The log has changed."}, ())]


def test_a_result_that_is_cancelled_is_no_bug(numbers):
    answers = ask(numbers, "numbers.later")
    numbers.later.cancel()
    numbers.later.set_running_or_notify_cancel()
    assert answers[1:] == [({"id": 7, "problem": "It was cancelled."}, ())]


def test_an_exit_in_a_thread_is_a_bug_and_leaves_the_thread_to_the_next_request(numbers):
    answers = Queue()
    with ThreadPoolExecutor(1) as executor:
        for name in ("exit", "forget"):
            message = {"id": 7, "method": f"numbers.{name}", "params": {}}
            respond_with(lambda: numbers, message, lambda answer, _: answers.put(answer), executor)
        final = []
        while len(final) < 2:
            final += [answer for answer in [answers.get(timeout=20)] if "pending" not in answer]
    assert final[0]["problem"].startswith("Internal error in nbtools")
    assert final[1] == {"id": 7, "result": None}


def test_a_result_that_is_there_is_sent_at_once(numbers):
    numbers.later.set_result(Doubled(number=1))
    assert ask(numbers, "numbers.later") == [({"id": 7, "result": {"number": 1}}, ())]
