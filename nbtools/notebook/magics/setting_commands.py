"""The sub-commands ``%tools settings`` and ``%tools set``, which show and change settings of the session."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from nbtools.cards.tables import Sheet
from nbtools.core.errors import SessionError
from nbtools.core.message import did_you_mean
from nbtools.core.settings import Settings
from nbtools.notebook.magics.flags import word
from nbtools.notebook.magics.sub_commands import SubCommand, inside, sheet_of_lines

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_AT_START = {"plugins": "can only be set when a session is created"}
_AS_THE_DIALECT = "dialect"


class SettingCommands:
    """The sub-commands ``settings`` and ``set``."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.commands = (
            SubCommand("settings", "shows the settings: sandbox, secrets, undo and others", self._settings),
            SubCommand(
                "set",
                "changes a setting, as in: set sandbox required",
                self._set,
                (
                    word("name", offers=lambda *_: descriptions()),
                    word("value", offers=lambda before, _: choices(before[0])),
                ),
                "takes a setting and a value, as in %tools set sandbox required. %tools settings lists them.",
            ),
        )

    def _settings(self) -> Sheet:
        settings, meanings = self._runtime.session.settings, descriptions()
        rows = tuple(
            (field.name, spelled(field.name, getattr(settings, field.name)), meanings[field.name])
            for field in fields(Settings)
        )
        lines = ("%tools set NAME VALUE changes one for this session, as in %tools set sandbox required.",)
        return Sheet("", rows, lines, ("setting", "value", "meaning"), frozenset({0, 1}))

    def _set(self, name: str, value: str) -> Sheet:
        changed = with_setting(self._runtime.session.settings, name, value)
        inside(self._runtime, lambda session: setattr(session, "settings", changed))
        sandbox = (self._runtime.session.workspace.sandbox.description(changed),) if name == "sandbox" else ()
        return sheet_of_lines(
            f"{name} is now {spelled(name, getattr(changed, name))}. {descriptions()[name]}",
            *filter(None, sandbox),
        )


def descriptions() -> dict[str, str]:
    """Returns the description of each setting, from its docstring."""
    schema = TypeAdapter(Settings).json_schema()
    texts = {
        name: " ".join(about.get("description", "").replace("``", "").split())
        for name, about in schema["properties"].items()
    }
    return {name: text.replace("None:", f"{_AS_THE_DIALECT}:") for name, text in texts.items()}


def with_setting(settings: Settings, name: str, text: str) -> Settings:
    """Returns the settings with one value changed.
    Raises ``SessionError`` for an unknown setting or an invalid value.
    """
    known = [field.name for field in fields(Settings)]
    if name not in known:
        raise SessionError(
            f"There is no setting {name!r}.{did_you_mean(name, known)} %tools settings lists them."
        )
    if name in _AT_START:
        raise SessionError(f"{name} {_AT_START[name]}: Session(settings=Settings({name}=…)).")
    try:
        return TypeAdapter(Settings).validate_python({**asdict(settings), name: _value(name, text)})
    except ValidationError:
        raise SessionError(f"{name} cannot be {text!r}. It takes {values(name)}.") from None


def values(name: str) -> str:
    """Describes the values that a setting takes."""
    about = TypeAdapter(Settings).json_schema()["properties"][name]
    if name == "ignore_files":
        return f"names of files, as in .geminiignore,.aiexclude, none, or {_AS_THE_DIALECT}"
    if "enum" in about:
        return " or ".join(map(str, about["enum"]))
    kinds = {one.get("type") for one in about.get("anyOf", [about])}
    if "null" in kinds:
        return f"on, off or {_AS_THE_DIALECT}"
    if "boolean" in kinds:
        return "on or off"
    return "a size, as in 500MB" if name.endswith("_bytes") else "a number above 0"


def choices(name: str) -> tuple[str, ...]:
    """Returns the words that a setting takes; none for a number."""
    text = values(name) if name in descriptions() else ""
    return tuple(text.replace(",", " or").split(" or ")) if " or " in text else ()


def spelled(name: str, value: object) -> str:
    """Returns a value as it is typed."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        unit = (
            next((unit for unit in ("GB", "MB", "kB") if value % _UNITS[unit.lower()] == 0), "")
            if name.endswith("_bytes")
            else ""
        )
        return f"{value // _UNITS[unit.lower()]} {unit}" if unit and value else f"{value:,}"
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return _AS_THE_DIALECT if value is None else str(value)


def _value(name: str, text: str) -> Any:
    if text == _AS_THE_DIALECT and getattr(Settings(), name) is None:
        return None
    if name == "ignore_files":
        return () if text == "none" else tuple(part for part in text.split(",") if part)
    number = text.replace(",", "").replace("_", "").replace(" ", "").lower()
    unit = next(
        (unit for unit in ("kb", "mb", "gb", "b") if name.endswith("_bytes") and number.endswith(unit)), ""
    )
    digits = number.removesuffix(unit)
    if isinstance(getattr(Settings(), name), int) and not isinstance(getattr(Settings(), name), bool):
        return int(digits) * _UNITS.get(unit, 1) if digits.isdigit() and int(digits) else None
    return text.replace("-", "_") if name == "sandbox" else text
