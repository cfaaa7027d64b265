"""``%tools settings`` and ``%tools set``: what the session does beyond its rules."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from nbtools.core.errors import SessionError
from nbtools.core.parameters import did_you_mean
from nbtools.core.settings import Settings
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, inside, refused, said

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_LATE = {"plugins": "counts only when a session starts"}
_AS_THE_DIALECT = "dialect"


class SettingCommands:
    """The sub-commands.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {
            "settings": SubCommand("", "what the session does beyond its rules: sandbox, secrets, what can be undone", self._settings),
            "set": SubCommand("NAME VALUE", "change a setting, as in: set sandbox required", self._set),
        }

    def _settings(self, _: list[str]) -> Sheet:
        settings, said_of = self._bench.session.settings, descriptions()
        rows = tuple((field.name, spelled(field.name, getattr(settings, field.name)), said_of[field.name]) for field in fields(Settings))
        lines = ("%tools set NAME VALUE changes one for this session, as in %tools set sandbox required.",)
        return Sheet("", rows, lines, ("setting", "value", "what it means"), frozenset({0, 1}))

    def _set(self, rest: list[str]) -> Sheet:
        if len(rest) != 2:
            raise refused("%tools set takes a setting and its value, as in %tools set sandbox required. %tools settings lists them.")
        changed = with_setting(self._bench.session.settings, *rest)
        inside(self._bench, lambda session: setattr(session, "settings", changed))
        name = rest[0]
        confined = (self._bench.session.workspace.sandbox.words(changed),) if name == "sandbox" else ()
        return said(f"{name} is {spelled(name, getattr(changed, name))} now. {descriptions()[name]}", *filter(None, confined))


def descriptions() -> dict[str, str]:
    """What each setting means, as its docstring says it."""
    schema = TypeAdapter(Settings).json_schema()
    said_of = {name: " ".join(about.get("description", "").replace("``", "").split()) for name, about in schema["properties"].items()}
    return {name: text.replace("None:", f"{_AS_THE_DIALECT}:") for name, text in said_of.items()}


def with_setting(settings: Settings, name: str, text: str) -> Settings:
    """The settings with another value for one.  Raises ``SessionError`` that says which values there are."""
    known = [field.name for field in fields(Settings)]
    if name not in known:
        raise SessionError(f"There is no setting {name!r}.{did_you_mean(name, known)} %tools settings lists them.")
    if name in _LATE:
        raise SessionError(f"{name} {_LATE[name]}: Session(settings=Settings({name}=…)).")
    try:
        return TypeAdapter(Settings).validate_python({**asdict(settings), name: _value(name, text)})
    except ValidationError:
        raise SessionError(f"{name} cannot be {text!r}: it is {values(name)}.") from None


def values(name: str) -> str:
    """What a setting may be, in words."""
    about = TypeAdapter(Settings).json_schema()["properties"][name]
    if "enum" in about:
        return " or ".join(map(str, about["enum"]))
    kinds = {one.get("type") for one in about.get("anyOf", [about])}
    if "null" in kinds:
        return f"on, off or {_AS_THE_DIALECT}"
    return "on or off" if "boolean" in kinds else "a size, as in 500MB" if name.endswith("_bytes") else "a number above 0"


def choices(name: str) -> tuple[str, ...]:
    """The words that a setting may be, none where it is a number."""
    said_of = values(name) if name in descriptions() else ""
    return tuple(said_of.replace(",", " or").split(" or ")) if " or " in said_of else ()


def spelled(name: str, value: object) -> str:
    """A value as it is typed."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        unit = next((unit for unit in ("GB", "MB", "kB") if value % _UNITS[unit.lower()] == 0), "") if name.endswith("_bytes") else ""
        return f"{value // _UNITS[unit.lower()]} {unit}" if unit and value else f"{value:,}"
    return _AS_THE_DIALECT if value is None else str(value)


def _value(name: str, text: str) -> Any:
    if text == _AS_THE_DIALECT and name == "read_first":
        return None
    number = text.replace(",", "").replace("_", "").replace(" ", "").lower()
    unit = next((unit for unit in ("kb", "mb", "gb", "b") if name.endswith("_bytes") and number.endswith(unit)), "")
    digits = number.removesuffix(unit)
    if isinstance(getattr(Settings(), name), int) and not isinstance(getattr(Settings(), name), bool):
        return int(digits) * _UNITS.get(unit, 1) if digits.isdigit() and int(digits) else None
    return text.replace("-", "_") if name == "sandbox" else text
