"""What a server says of itself when it is connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp import Client


@dataclass(frozen=True, slots=True)
class Greeting:
    """``instructions`` are for the model that uses its tools, ``protocol`` is the date of the one that both sides speak."""

    instructions: str
    protocol: str
    version: str
    has_resources: bool


NOTHING_SAID = Greeting("", "", "", has_resources=False)


def greeting_of(client: Client) -> Greeting:
    version = client.server_info.version if client.server_info else ""
    has_resources = client.server_capabilities is not None and client.server_capabilities.resources is not None
    return Greeting(client.instructions or "", client.protocol_version, version, has_resources)
