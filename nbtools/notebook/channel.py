"""The comm target ``nbtools``: a page opens one comm for each kernel, and calls methods over it.

``serve`` says which object has the methods that begin with a word: ``forms`` has ``forms.tools``.
A page never waits for a cell where the kernel has subshells; its messages may arrive in any thread.
All messages of a page come over one subshell, so methods that may take long are called in another thread, one
for each page: else a file to share would keep an answer to a question waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtools.core.background import background_thread
from nbtools.core.browser import received
from nbtools.notebook.subshells import answer_on_subshell

if TYPE_CHECKING:
    from pydantic import BaseModel

CHANNEL_TARGET = "nbtools"
"""Name of the comm target."""


class PageChannel:
    """The comm of one page."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.id: str = comm.comm_id
        comm.on_msg(self.receive)

    def receive(self, message: Any) -> None:
        data = received(message["content"].get("data"))
        if isinstance(data, dict) and "method" in data:
            from nbtools.core.methods import (  # noqa: PLC0415 - pydantic is not needed to load the extension
                respond_with,
            )

            method, params = data["method"], data.get("params")
            word = method.partition(".")[0] if isinstance(method, str) else ""
            service, takes_long = _services.get(word, (None, False))

            def target() -> object | None:
                return None if service is None or not isinstance(params, dict) else service(self, params)

            respond_with(target, data, self._send, self._thread if takes_long else None)

    @cached_property
    def _thread(self) -> Executor:
        """Calls methods that may take long, one after the other."""
        return background_thread("nbtools-page")

    def notify(self, event: str, params: BaseModel | None = None) -> None:
        """Sends an event to this page."""
        self._send(_event(event, params), ())

    def on_close(self, callback: Callable[[], object]) -> None:
        """Calls ``callback`` when the page closes the comm.  A page that is lost does not."""
        self._comm.on_close(lambda _: callback())

    def _send(self, data: dict[str, Any], buffers: Sequence[bytes]) -> None:
        self._comm.send(data, buffers=list(buffers))
        answer_on_subshell(self._comm)


Service: TypeAlias = Callable[[PageChannel, Mapping[str, Any]], object | None]
"""Returns the object that has the methods, for a page and a method's parameters;
None if the kernel does not have it.
"""
_services: dict[str, tuple[Service, bool]] = {}


def serve(word: str, service: Service, *, takes_long: bool = False) -> None:
    """Offers methods whose names begin with ``word`` and a dot.  ``takes_long``: some of them may."""
    _services[word] = service, takes_long


def withdraw(word: str, service: Service) -> None:
    if word in _services and _services[word][0] == service:
        del _services[word]


def register(comms: Any) -> None:
    """Registers the target with ``comms``, the kernel's comm manager."""
    comms.register_target(CHANNEL_TARGET, _on_open)


def unregister(comms: Any) -> None:
    """Pages cannot open comms any more; those that are open stay."""
    if comms.targets.get(CHANNEL_TARGET) is _on_open:
        comms.unregister_target(CHANNEL_TARGET, _on_open)


def broadcast(event: str, params: BaseModel | None = None) -> Callable[[], None]:
    """Sends an event to every page with a notebook of this kernel, whether or not it has opened a comm.
    Until the returned function is called, pages that ask for the comms of the target find one.
    """
    import comm  # noqa: PLC0415 - only available in a kernel

    close: Callable[[], None] = comm.create_comm(target_name=CHANNEL_TARGET, data=_event(event, params)).close
    return close


def _event(name: str, params: BaseModel | None) -> dict[str, Any]:
    return {"event": name, "params": {} if params is None else params.model_dump(mode="json")}


def _on_open(comm: Any, message: Any) -> None:
    PageChannel(comm).receive(message)
