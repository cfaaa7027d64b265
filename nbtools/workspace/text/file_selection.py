"""Takes some of the files and hunks of a change of several files, as a person chose them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nbtools.core.confirmation import FileChoice, FileParts, takes_nothing
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.partial_change import count_hunks, take_hunks
from nbtools.diff.text_lines import is_exact, with_lf
from nbtools.workspace.files.encoding import UTF8, DecodedText, decode, encode
from nbtools.workspace.files.line_endings import main_ending, with_original_endings
from nbtools.workspace.history.operations import Move, Remove, Step, Write
from nbtools.workspace.paths import printable_path
from nbtools.workspace.text.patch_plan import PatchedFile, PatchPlan
from nbtools.workspace.text.result_check import refuse_broken_notebook


def parts_of(file: PatchedFile) -> FileParts:
    """Returns what of a file's change can be taken or left out."""
    parts = content_parts(file.before, file.after)
    return replace(parts, action="move", former=file.former) if file.moved else parts


def content_parts(before: bytes | None, after: bytes | None) -> FileParts:
    """Returns what can be chosen of a file's change from ``before`` to ``after``; None: there is no file."""
    old, new = None if before is None else decode(before), None if after is None else decode(after)
    if before is None:
        return FileParts("create", is_text=new is not None)
    if after is None:
        return FileParts("delete")
    if old is None or new is None or not is_exact(old.text) or not is_exact(new.text):
        return FileParts("edit")
    return FileParts("edit", hunks=count_hunks(old.text, new.text), is_text=True)


def chosen_content(
    path: Path, subject: str, before: bytes | None, after: bytes, choice: tuple[bool, ...] | str
) -> bytes:
    """Returns the content by a choice: the chosen hunks, or a text in the file's encoding and line ends.

    Raises ``ToolFailure`` for a choice that the change does not have,
    and for a text that the file cannot hold.
    """
    old, new = None if before is None else decode(before), decode(after)
    if new is None or (before is not None and old is None):
        raise _refused(f"{subject} is not text. Its change is taken or left out as a whole.")
    content = _typed(old, choice) if isinstance(choice, str) else _hunks(subject, old, new, choice)
    refuse_broken_notebook(path, subject, before, content)
    return content


def _typed(old: DecodedText | None, text: str) -> bytes:
    if old is None:
        return encode(text, UTF8)
    return encode(
        with_original_endings(old.text, with_lf(text), main_ending(old.text)), old.encoding, old.text
    )


def _hunks(subject: str, old: DecodedText | None, new: DecodedText, choice: tuple[bool, ...]) -> bytes:
    count = count_hunks(old.text, new.text) if old else 0
    if old is None or len(choice) != count:
        raise _refused(f"{subject}: the choice is about {len(choice)} hunks; the change has {count}.")
    return encode(take_hunks(old.text, new.text, choice), new.encoding, old.text)


def select_files(plan: PatchPlan, choices: Sequence[FileChoice]) -> PatchPlan:
    """Returns the part of a plan that was chosen: one choice for each of its files, in their order.

    Raises ``ToolFailure`` (``invalid_tool_params``) for choices that do not fit,
    and where a change needs one that was left out.
    """
    if len(choices) != len(plan.files):
        raise _refused(f"The answer is about {len(choices)} files; the change has {len(plan.files)}.")
    chosen = {id(file): _selected(file, choice) for file, choice in zip(plan.files, choices, strict=True)}
    steps = tuple(_steps(plan, chosen))
    _check_dependencies(steps)
    return PatchPlan(steps, tuple(file for file in chosen.values() if file is not None), plan.notes)


def _selected(file: PatchedFile, choice: FileChoice) -> PatchedFile | None:
    """Returns a file's change as chosen; None if nothing of it is left."""
    if takes_nothing(choice, parts_of(file)):
        return None
    if isinstance(choice, bool):
        return file
    if file.after is None:
        raise _refused(f"The deletion of {printable_path(file.former)} is taken or left out as a whole.")
    subject = printable_path(file.name)
    after = chosen_content(file.path, subject, file.before, file.after, choice)
    if after == file.before and not file.moved:
        return None
    moves = [] if file.before is None else [step for step in file.steps if isinstance(step, Move)]
    writes = [] if after == file.before else [Write(file.path, subject, file.before, after)]
    places = 1 if isinstance(choice, str) else sum(choice)
    return replace(file, after=after, places=places, steps=[*moves, *writes])


def _steps(plan: PatchPlan, chosen: dict[int, PatchedFile | None]) -> Iterator[Step]:
    """Yields the chosen operations in the plan's order; a changed file's come where its last one was."""
    owners = {id(step): file for file in plan.files for step in file.steps}
    for step in plan.steps:
        owner = owners.get(id(step))
        if owner is None:  # of a file that the patch creates and deletes again
            yield step
            continue
        selected = chosen[id(owner)]
        if selected is None:
            continue
        if selected is owner or any(step is own for own in selected.steps):
            yield step
        if selected is not owner and step is owner.steps[-1]:
            yield from (own for own in selected.steps if isinstance(own, Write))


def _check_dependencies(steps: Sequence[Step]) -> None:
    """Raises ``ToolFailure`` if an operation needs one that was left out, as a deletion in its place."""
    present: dict[Path, bool] = {}

    def exists(path: Path) -> bool:
        return present.get(path, os.path.lexists(path))

    for step in steps:
        match step:
            case Write():
                fits = exists(step.path) is (step.before is not None)
                present[step.path] = True
            case Remove():
                fits = exists(step.path)
                present[step.path] = False
            case Move():
                fits = exists(step.path) and not exists(step.to)
                present[step.path], present[step.to] = False, True
            case _:
                fits = True
        if not fits:
            raise _refused(
                f"The change of {step.subject} needs another one that was left out. Take both, or leave out"
                " both."
            )


def describe_choices(
    names: Sequence[str], parts: Sequence[FileParts], choices: Sequence[FileChoice]
) -> tuple[str, ...]:
    """Returns what a person did to a change: ``left out b.py``, ``took 1 of 3 changes in a.py``."""
    return tuple(_descriptions(names, parts, choices))


def _descriptions(
    names: Sequence[str], parts: Sequence[FileParts], choices: Sequence[FileChoice]
) -> Iterator[str]:
    for name, part, choice in zip(names, parts, choices, strict=True):
        subject = printable_path(name)
        if takes_nothing(choice, part):
            what = {"create": "the new file ", "delete": "the deletion of ", "move": "the move to "}.get(
                part.action, ""
            )
            yield f"left out {what}{subject}"
        elif isinstance(choice, str):
            yield f"changed the text of {subject}"
        elif isinstance(choice, tuple) and not all(choice):
            yield f"took {sum(choice)} of {len(choice)} changes in {subject}"


def _refused(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{message} Nothing was changed.")
