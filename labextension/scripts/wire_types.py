"""Write `model.ts` of `cards`, `approval`, `explorer`,
`sessions` and others in `labextension/src` from the models in `nbtools`.

Each model becomes an interface, and, if the kernel sends it, a parser that proves unknown JSON to be one.
`shared/methods.ts` has the types of all methods that pages call, `model.ts` the parsers of their results.
Exits 1 with one line when a file on disk is not what would be written.  Needs nbtools, no Node.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from nbtools.cards import card_model as call
from nbtools.cards.markup import ICON_PATHS
from nbtools.core.methods import Method, NoParams, methods_of
from nbtools.notebook.agent import run_messages as agent
from nbtools.notebook.approval import question_messages as approval
from nbtools.notebook.approval.labels import LABELS
from nbtools.notebook.card_requests import CardRequests
from nbtools.notebook.channel import CHANNEL_TARGET
from nbtools.notebook.forms.requests import Forms
from nbtools.notebook.open_notebooks import FrontendNotebooks
from nbtools.notebook.state import state_messages as state
from nbtools.notebook.state.comm import LOADED_EVENT, UNLOADED_EVENT
from nbtools.notebook.state.follower import Follower
from nbtools.notebook.state.requests import Page
from nbtools.notebook.traces.log_tabs import LogTabs
from nbtools.traces.columns import ColumnBlock
from nbtools.traces.comparison import comparison_messages as comparison
from nbtools.traces.comparison.view import ComparisonDisplay
from nbtools.traces.explorer import explorer_messages as trace
from nbtools.traces.explorer.explorer_view import TRACE_MIME, TraceView
from nbtools.traces.explorer.page_methods import PageMethods
from nbtools.traces.explorer.row_messages import TraceFacetRows, TraceRows
from nbtools.traces.session_list import session_messages as sessions
from nbtools.traces.session_list.view import SessionList
from nbtools.traces.sharing.model import SharedLog

ROOT = Path(__file__).resolve().parents[2]
HEADER = """\
// Generated from {source} by labextension/scripts/wire_types.py: run `make wire` after a change there.

"""
PLAIN = {
    "string": ("string", "parse.text"),
    "integer": ("number", "parse.number"),
    "number": ("number", "parse.number"),
    "boolean": ("boolean", "parse.flag"),
}
NULL = {"type": "null"}

Schema = dict[str, Any]


def literal(value: object) -> str:
    """A JSON value as TypeScript."""
    return json.dumps(value).replace('"', "'")


def name_of(reference: str) -> str:
    return reference.rsplit("/", 1)[1]


def translate(schema: Schema) -> tuple[str, str]:
    """A schema's TypeScript type and the expression of its parser."""
    if "default" in schema:
        kind, parser = translate({key: value for key, value in schema.items() if key != "default"})
        return (
            kind,
            parser if "const" in schema else f"parse.otherwise({parser}, {literal(schema['default'])})",
        )
    if "$ref" in schema:
        name = name_of(schema["$ref"])
        return name, f"parse{name}"
    if "const" in schema or "enum" in schema:
        values = [literal(value) for value in schema.get("enum", [schema.get("const")])]
        return " | ".join(values), f"parse.oneOf({', '.join(values)})"
    return translate_container(schema)


def translate_container(schema: Schema) -> tuple[str, str]:
    """Translates the schema of a list, a union or a plain value."""
    if "prefixItems" in schema:
        return "Span", "parse.pair"
    if "items" in schema:
        kind, parser = translate(schema["items"])
        return f"readonly ({kind})[]" if " " in kind else f"readonly {kind}[]", f"parse.list({parser})"
    if "discriminator" in schema:
        names = {tag: name_of(reference) for tag, reference in schema["discriminator"]["mapping"].items()}
        kind = " | ".join(names.values())
        return (
            kind,
            f"parse.tagged<{kind}>({{ {', '.join(f'{tag}: parse{name}' for tag, name in names.items())} }})",
        )
    if "anyOf" in schema:
        (some,) = [part for part in schema["anyOf"] if part != NULL]
        kind, parser = translate(some)
        return f"{kind} | null", f"parse.nullable({parser})"
    return PLAIN[schema["type"]]


def references(schema: Any) -> set[str]:
    """The names of the models that a schema mentions."""
    if isinstance(schema, dict):
        own = {name_of(schema["$ref"])} if "$ref" in schema else set()
        return own.union(*(references(value) for value in schema.values()))
    return set().union(*(references(value) for value in schema)) if isinstance(schema, list) else set()


def reachable(schemas: Mapping[str, Schema], names: Iterable[str]) -> set[str]:
    """These models and all that are in them."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += references(schemas[name])
    return found


def _paragraphs(docstring: str) -> str:
    """Returns a docstring with each paragraph on one line."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(docstring).split("\n\n"))


def interface(name: str, schema: Schema, *, received: bool) -> str:
    """The interface of one model, and its parser if the page receives it."""
    fields = {field: translate(part) for field, part in schema["properties"].items()}
    doc = f"/** {_paragraphs(schema['description'])} */\n" if "description" in schema else ""
    members = "".join(f"  readonly {field}: {kind};\n" for field, (kind, _) in fields.items())
    checks = "".join(f"  {field}: {check},\n" for field, (_, check) in fields.items())
    parser = f"export const parse{name}: parse.Parser<{name}> = parse.record<{name}>({{\n{checks}}});\n"
    return f"{doc}export interface {name} {{\n{members}}}\n{parser if received else ''}"


@dataclass(frozen=True)
class Format:
    """A module of models and the file made from it.

    ``received`` come from the kernel, ``sent`` are only sent to it;
    ``known`` are the models that another file has.
    """

    source: str
    target: str
    received: tuple[type[BaseModel], ...]
    sent: tuple[type[BaseModel], ...]
    constants: Mapping[str, object]
    prologue: str
    known: frozenset[str] = frozenset()
    owners: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    """The classes whose methods pages call, by the name of the constant with the parsers of their results."""

    @property
    def methods(self) -> list[Method]:
        """All methods, in the order of their names."""
        owners = [owner for classes in self.owners.values() for owner in classes]
        return sorted(
            (one for owner in owners for one in methods_of(owner).values()), key=lambda one: one.name
        )

    @property
    def results(self) -> list[type[BaseModel]]:
        return [one.result for one in self.methods if one.result is not None]

    @property
    def params(self) -> list[type[BaseModel]]:
        return [one.params for one in self.methods if one.params is not NoParams]

    @property
    def models(self) -> dict[str, Schema]:
        """The schemas of all models of this file, and of those that are in them."""
        return schemas((*self.received, *self.results, *self.sent, *self.params))

    def generate(self) -> str:
        """The whole file."""
        models = self.models
        parsed = reachable(models, (model.__name__ for model in (*self.received, *self.results)))
        order = TopologicalSorter(
            {name: sorted(references(models[name])) for name in sorted(models)}
        ).static_order()
        body = [
            interface(name, models[name], received=name in parsed) for name in order if name not in self.known
        ]
        constants = "".join(
            f"export const {name} = {literal(value)};\n" for name, value in self.constants.items()
        )
        tables = [parser_table(name, owners) for name, owners in self.owners.items()]
        return HEADER.format(source=self.source) + "\n".join(
            filter(None, [self.prologue, constants, *body, *tables])
        )


def parser_table(name: str, owners: Iterable[type]) -> str:
    """The parsers of the results of some classes' methods."""
    methods = sorted(
        (one for owner in owners for one in methods_of(owner).values()), key=lambda one: one.name
    )
    parsers = [
        (one.name, f"parse{one.result.__name__}" if one.result else "parse.nothing") for one in methods
    ]
    rows = "".join(f"  '{method}': {parser},\n" for method, parser in parsers)
    return f"export const {name} = {{\n{rows}}};\n"


def method_types() -> str:
    """The types of all methods."""
    homes = {name: one.target for one in FORMATS for name in one.models if name not in one.known}
    used: dict[str, set[str]] = {}
    rows = []
    for method in (method for one in FORMATS for method in one.methods):
        params = "Readonly<Record<string, never>>"
        if method.params is not NoParams:
            params = method.params.__name__
            used.setdefault(homes[params], set()).add(params)
        result = "undefined"
        if method.result is not None:
            result = method.result.__name__
            used.setdefault(homes[result], set()).add(result)
        buffers = " & Buffers" if method.has_buffers else ""
        rows.append(
            f"  '{method.name}': {{ readonly params: {params}; readonly result: {result}{buffers} }};\n"
        )
    imports = []
    for target, names in sorted(used.items()):
        module = target.removeprefix("labextension/src/").removesuffix(".ts")
        imports.append(f"import type {{ {', '.join(sorted(names))} }} from '../{module}.js';\n")
    header = HEADER.format(source=METHODS_SOURCE) + "".join(imports)
    constant = (
        f"\n/** Name of the comm target. */\nexport const CHANNEL_TARGET = {literal(CHANNEL_TARGET)};\n"
    )
    return f"{header}{constant}{METHODS_PROLOGUE}{''.join(sorted(rows))}}}\n"


def schemas(roots: Iterable[type[BaseModel]]) -> dict[str, Schema]:
    """Returns the schemas of the models and of all models in their fields, by name."""
    whole: list[tuple[type[BaseModel], Literal["serialization"]]] = [
        (model, "serialization") for model in roots
    ]
    _, top = models_json_schema(whole, ref_template="#/$defs/{model}")
    models: dict[str, Schema] = top.get("$defs", {})
    return models


METHODS_SOURCE, METHODS_TARGET = "the methods of nbtools", "labextension/src/shared/methods.ts"
METHODS_PROLOGUE = """\

/** Binary data that follows a result. */
export interface Buffers {
  readonly buffers: readonly ArrayBuffer[];
}

/** The methods that a page calls: their parameters and results. */
export interface Methods {
"""
SPAN = """\
import * as parse from '../shared/parse.js';

/** Text and its space-separated style words. */
export type Span = readonly [string, string];
"""
CALLS = (call.Card, call.NotebookRequest)
COLUMN_IMPORTS = """\
import * as parse from '../shared/parse.js';
import { parseColumnBlock, type ColumnBlock } from '../shared/columns_model.js';
"""
SESSIONS = (
    sessions.SessionsView,
    sessions.SessionRows,
    sessions.FoundSessions,
    sessions.AddedFolder,
    sessions.LeftOutFiles,
    sessions.SessionTotals,
    sessions.SessionReviews,
)
SESSION_PARAMS = (
    sessions.SessionRowsParams,
    sessions.SearchSessionsParams,
    sessions.AddFolderParams,
    sessions.LeftOutParams,
    sessions.SessionTotalsParams,
    sessions.OpenSessionsParams,
    sessions.SessionReviewsParams,
    sessions.ReviewSessionsParams,
    sessions.NextReviewParams,
)
COMPARISONS = (comparison.ComparisonView, comparison.ComparedRows, comparison.ComparedOutcomes)
COMPARISON_PARAMS = (
    comparison.ComparedRowsParams,
    comparison.BaselineParams,
    comparison.OutcomesParams,
    comparison.OpenRunParams,
    comparison.CompareWithParams,
)
TRACES = (TraceView,)
QUESTIONS = (approval.QuestionData, approval.WidgetReply)
FORMATS = (
    Format(
        "nbtools/cards/card_model.py",
        "labextension/src/cards/model.ts",
        CALLS,
        (),
        {
            "MIME": call.MIME,
            "GROUP_MIME": call.GROUP_MIME,
            "CELLS_EVENT": call.CELLS_EVENT,
            "ICON_PATHS": ICON_PATHS,
        },
        SPAN,
        owners={"CARD_METHODS": (CardRequests, FrontendNotebooks)},
    ),
    Format(
        "nbtools/notebook/approval/question_messages.py",
        "labextension/src/approval/model.ts",
        QUESTIONS,
        (approval.AnswerMessage,),
        {},
        "import * as parse from '../shared/parse.js';\n"
        "import { parseCard, parseDiffBlock, type Card, type DiffBlock } from '../cards/model.js';\n",
        frozenset(schemas(CALLS)),
    ),
    Format(
        "nbtools/traces/columns.py",
        "labextension/src/shared/columns_model.ts",
        (ColumnBlock,),
        (),
        {},
        "import * as parse from './parse.js';\n",
    ),
    # The types that every page registers: the models are loaded with the explorer.
    Format(
        "nbtools/traces/explorer/explorer_view.py",
        "labextension/src/explorer/mime_types.ts",
        (),
        (),
        {
            "TRACE_MIME": TRACE_MIME,
            "SESSIONS_MIME": sessions.SESSIONS_MIME,
            "COMPARISON_MIME": comparison.COMPARISON_MIME,
        },
        "",
    ),
    Format(
        "nbtools/traces/explorer/explorer_messages.py",
        "labextension/src/explorer/model.ts",
        TRACES,
        (),
        {},
        "import * as parse from '../shared/parse.js';\nimport { parseCard, type Card, type Span } from"
        " '../cards/model.js';\nimport { parseColumnBlock, type ColumnBlock } from"
        " '../shared/columns_model.js';\nimport { parseAddedFolder, parseFoundSessions, parseLeftOutFiles,"
        " parseSessionTotals, parseSessionReviews,"
        " parseSessionRows, parseSessionsView, type SessionsView } from '../sessions/model.js';\n"
        "import { parseComparedOutcomes, parseComparedRows, parseComparisonView, type ComparisonView }"
        " from '../comparison/model.js';\n",
        frozenset(
            (
                *schemas(CALLS),
                *schemas((ColumnBlock,)),
                *schemas((*SESSIONS, *SESSION_PARAMS)),
                *schemas((*COMPARISONS, *COMPARISON_PARAMS)),
            )
        ),
        {
            "TRACE_METHODS": (PageMethods,),
            "LOG_METHODS": (LogTabs,),
            "SESSION_METHODS": (SessionList,),
            "COMPARISON_METHODS": (ComparisonDisplay,),
        },
    ),
    Format(
        "nbtools/traces/session_list/session_messages.py",
        "labextension/src/sessions/model.ts",
        SESSIONS,
        SESSION_PARAMS,
        {},
        COLUMN_IMPORTS,
        frozenset(schemas((ColumnBlock,))),
    ),
    Format(
        "nbtools/traces/comparison/comparison_messages.py",
        "labextension/src/comparison/model.ts",
        COMPARISONS,
        COMPARISON_PARAMS,
        {},
        COLUMN_IMPORTS,
        frozenset(schemas((ColumnBlock,))),
    ),
    Format(
        "nbtools/traces/sharing/model.py",
        "labextension/src/explorer/shared_model.ts",
        (SharedLog,),
        (),
        {},
        "import * as parse from '../shared/parse.js';\nimport { parseTraceFacetRows, parseTraceOpened,"
        " parseTraceRows, parseTraceView, type TraceFacetRows, type TraceOpened, type TraceRows, type"
        " TraceView } from './model.js';\n",
        frozenset(schemas((TraceView, TraceRows, TraceFacetRows, trace.TraceOpened))),
    ),
    Format(
        "nbtools/notebook/forms",
        "labextension/src/lab/model.ts",
        (),
        (),
        {},
        "import * as parse from '../shared/parse.js';\n",
        owners={"FORM_METHODS": (Forms,)},
    ),
    Format(
        "nbtools/notebook/agent/run_messages.py",
        "labextension/src/agent/model.ts",
        (agent.RunView,),
        (),
        {"AGENT_MIME": agent.AGENT_MIME},
        "import * as parse from '../shared/parse.js';\nimport { parseCardAction, parseTextBlock, type"
        " CardAction, type TextBlock } from '../cards/model.js';\n",
        frozenset(schemas(CALLS)),
    ),
    Format(
        "nbtools/notebook/state/state_messages.py",
        "labextension/src/panel/model.ts",
        (state.KernelState,),
        (),
        {
            "STATE_EVENT": state.STATE_EVENT,
            "LOADED_EVENT": LOADED_EVENT,
            "UNLOADED_EVENT": UNLOADED_EVENT,
        },
        "import * as parse from '../shared/parse.js';\n"
        "import { parseQuestionData, type QuestionData } "
        "from '../approval/model.js';\nimport { parseCard, type Card } from '../cards/model.js';\n",
        frozenset((*schemas(CALLS), *schemas((*QUESTIONS, approval.AnswerMessage)))),
        owners={"STATE_METHODS": (Follower, Page)},
    ),
)


def is_current(path: Path, wanted: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == wanted


LABELS_SOURCE, LABELS_TARGET = "nbtools/notebook/approval/labels.py", "labextension/src/approval/labels.ts"


def labels() -> str:
    """The labels of answers as calls that the catalogue of translations and the page read."""
    lines = []
    for role, label in LABELS.items():
        text = label.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"  {role}: trans.__('{text}'{', scope' if '%1' in label else ''})")
    return (
        HEADER.format(source=LABELS_SOURCE)
        + "import type { TranslationBundle } from '@jupyterlab/translation';\n\n"
        + "/** The labels of answers; `scope` is what is always allowed. */\n"
        + "export const answerLabels = (trans: TranslationBundle, scope = '') => ({\n"
        + ",\n".join(lines)
        + "\n});\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    checks = parser.parse_args().check
    generated = [(one.source, one.target, one.generate()) for one in FORMATS]
    generated.append((LABELS_SOURCE, LABELS_TARGET, labels()))
    generated.append((METHODS_SOURCE, METHODS_TARGET, method_types()))
    stale = [one for one in generated if not is_current(ROOT / one[1], one[2])]
    for source, target, wanted in stale:
        if checks:
            print(f"{target} is not what {source} says: run `make wire`", file=sys.stderr)
        else:
            (ROOT / target).write_text(wanted, encoding="utf-8")
    return int(checks and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
