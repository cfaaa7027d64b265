"""Methods that a page calls by name, over its channel with the kernel.

A function of a class becomes one with ``@method("trace.open")``.  It takes one model, and returns a model,
a model and binary buffers (``tuple[Model, Sequence[bytes]]``), or None; or a ``Future`` of one of these,
where it takes longer.  The types must be there when the method is first called, so they are not imported for
a type checker only.

The page sends ``{"id", "method", "params"}``.  The answer is one of

- ``{"id", "result"}``, with the buffers;
- ``{"id", "problem"}``: a sentence for the person;
- ``{"id", "gone": true}``: the kernel does not have what the method is about;
- ``{"id", "pending": true}``: one of the others follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, wait
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import NbtoolsError

F = TypeVar("F", bound=Callable[..., Any])
Send: TypeAlias = Callable[[dict[str, Any], Sequence[bytes]], object]
"""Sends an answer to the page.  Called in any thread."""
_WAIT = 0.02
"""Seconds that an answer waits for a future, before the page is told that it takes longer."""
_ATTRIBUTE = "_method_name"


class NoParams(BaseModel):
    """The parameters of a method that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class Method:
    """One method: its name, the function's name in its class, and the models."""

    name: str
    function: str
    params: type[BaseModel]
    result: type[BaseModel] | None
    has_buffers: bool


def method(name: str) -> Callable[[F], F]:
    """Lets pages call the function under ``name``: a noun for the class, a dot, and what it does."""

    def decorate(function: F) -> F:
        setattr(function, _ATTRIBUTE, name)
        return function

    return decorate


@cache
def methods_of(owner: type[Any]) -> Mapping[str, Method]:
    """Returns the methods of a class and its bases, by name."""
    found = {}
    for attribute in dir(owner):
        function = getattr(owner, attribute)
        name = getattr(function, _ATTRIBUTE, None)
        if name is not None:
            hints = get_type_hints(function)
            returned = hints.pop("return")
            (params,) = hints.values()
            found[name] = Method(name, attribute, params, _model(returned), "bytes" in str(returned))
    return found


def _model(hint: Any) -> type[BaseModel] | None:
    """Returns the model in a type such as ``Future[tuple[Model, Sequence[bytes]]]``."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint
    return next(filter(None, map(_model, get_args(hint))), None)


def respond(target: Any, message: Any, send: Send) -> None:
    """Answers a message of a page by calling a method of ``target``; None: the kernel does not have it.

    Never raises, except what ``send`` raises.  A message without an id gets no answer.
    """
    respond_with(lambda: target, message, send)


def respond_with(find: Callable[[], Any], message: Any, send: Send, executor: Executor | None = None) -> None:
    """Answers like ``respond``, with the target that ``find`` returns; where there is an executor, it finds
    the target and calls the method.
    """
    if not isinstance(message, dict) or not isinstance(message.get("id"), int):
        return
    identity = message["id"]

    def answer(compute: Callable[[], Any]) -> None:
        buffers: Sequence[bytes] = ()
        try:
            result = compute()
            if isinstance(result, Future):
                _answer_later(result, identity, answer, send)
                return
            if isinstance(result, tuple):
                result, buffers = result
            reply = {"result": None if result is None else result.model_dump(mode="json")}
        except _Gone:
            reply = {"gone": True}
        except NbtoolsError as error:
            reply = {"problem": str(error)}
        except CancelledError:
            reply = {"problem": "It was cancelled."}
        except Exception as error:  # noqa: BLE001 - the page waits for an answer, so a bug is reported there
            problem = f"Internal error in nbtools, please report it: {type(error).__name__}: {error}"
            reply = {"problem": problem}
        send({"id": identity, **reply}, buffers)

    def call() -> Any:
        return _call(find(), message)

    answer(call if executor is None else lambda: executor.submit(call))


class _Gone(Exception):  # noqa: N818 - a message, not a failure
    """The kernel does not have what the method is about."""


def _answer_later(
    future: Future[Any], identity: int, answer: Callable[[Callable[[], Any]], None], send: Send
) -> None:
    wait([future], _WAIT)
    if not future.done():
        send({"id": identity, "pending": True}, ())
    future.add_done_callback(lambda done: answer(lambda: _result(done)))


def _result(done: Future[Any]) -> Any:
    """Returns the result of a future, or raises its error."""
    # In a callback, an exit or another ``BaseException`` would end the thread of the executor, whose next
    # work then waits for ever.
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, Exception):
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
    return done.result()


def _call(target: Any, message: Mapping[str, Any]) -> Any:
    """Validates the parameters and calls the method.
    Raises ``NbtoolsError`` if the page asks for what this kernel does not offer.
    """
    if target is None:
        raise _Gone
    name = message.get("method")
    owner = type(target)
    methods = methods_of(owner)  # type: ignore[arg-type]  # mypy does not know that classes are hashable
    found = methods.get(name) if isinstance(name, str) else None
    if found is None:
        raise NbtoolsError(_unsupported(f"no method {name!r:.80}"))
    try:
        params = found.params.model_validate(message.get("params"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise NbtoolsError(_unsupported(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")) from None
    return getattr(target, found.function)(params)


def _unsupported(why: str) -> str:
    return f"The page sent a request that this kernel does not support ({why}). Reload the page."
