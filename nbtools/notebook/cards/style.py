"""Inline styles of cards, for HTML without a stylesheet.

Hosts keep all styles (ipywidgets, VS Code, nbconvert, trusted notebooks), only plain declarations (JupyterLab's sanitizer drops
``color-mix``, ``inherit``, ``user-select`` and most ``var()``), or none (GitHub).  So every colour is written twice: a medium tone that is
readable on white and on black, then one mixed with the host's text colour.  Text and page colours are never set; borders and backgrounds
are translucent.
"""

from __future__ import annotations

from functools import lru_cache

AMBER, BLUE, GREEN, RED, GREY = "#b06c00", "#2f7bdc", "#1f8a56", "#d64550", "#7a7f87"
ACCENTS = {"awaiting_approval": AMBER, "executing": BLUE, "success": GREEN, "error": RED}
"""Colour by state; all other states are grey."""

RULE = "rgba(128,128,128,.28)"
GROUND = "rgba(128,128,128,.07)"
_MONO = "Menlo,Consolas,DejaVu Sans Mono,monospace"
_UI = "system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif"
MONO = f"font-family:{_MONO};font-family:var(--jp-code-font-family,{_MONO})"
_PRE = f"word-break:normal;margin:0;border:0;background:none;font-size:12.5px;line-height:1.5;{MONO}"


def tint(colour: str, share: int = 72) -> str:
    """Returns the CSS of a text colour: ``share`` percent ``colour``, the rest the host's text colour where ``color-mix`` is supported."""
    return f"color:{colour};color:color-mix(in srgb,{colour} {share}%,currentColor)"


_SMALL = "font-size:12px"
_CELL = "padding:0 6px;vertical-align:top;line-height:1.5"
_FRAME = (
    f"border:1px solid {RULE};border-radius:4px;overflow:hidden;margin:2px 0;font-size:13px;line-height:1.45;text-align:left;"
    f"font-family:{_UI};font-family:var(--jp-ui-font-family,{_UI})"
)
STYLES = {
    "frame": _FRAME,
    "card": f"{_FRAME};border-left:3px solid {GREY}",
    "head": "display:flex;align-items:center;gap:8px;padding:7px 10px;min-height:20px;white-space:nowrap",
    "tool": f"font-weight:600;font-size:12.5px;{MONO}",
    "subject": "overflow:hidden;text-overflow:ellipsis;min-width:3em;opacity:.72",
    "plus": tint(GREEN),
    "minus": tint(RED),
    "space": "flex:1;opacity:0",
    "status": _SMALL,
    "quiet": f"{_SMALL};opacity:.68",
    "block": f"border-top:1px solid {RULE}",
    "foot": f"display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;padding:7px 10px;border-top:1px solid {RULE};"
    f"background-color:{GROUND};{_SMALL};list-style:none",
    "record": "opacity:.78",
    "link": f"text-decoration:underline;{tint(BLUE, 80)}",
    "plain": "text-decoration:none;color:inherit",
    "fold": f"padding:2px 10px;background-color:{GROUND};font-size:11.5px;cursor:pointer;list-style:none",
    "dim": "opacity:.68",
    "pre": f"padding:8px 12px;white-space:pre-wrap;overflow-wrap:break-word;{_PRE}",
    "code": f"padding:6px 12px;white-space:pre;overflow-x:auto;{_PRE}",
    "path": f"padding:5px 12px 0;font-weight:600;font-size:12.5px;{MONO}",
    "number": "opacity:.6;user-select:none",
    "parts": f"padding:8px 12px;display:flex;flex-direction:column;gap:3px;font-size:12.5px;{MONO}",
    "part": "display:flex;flex-wrap:wrap;align-items:baseline;gap:0 10px",
    "command": f"margin:0;border:0;background:none;font-size:12.5px;padding:0;white-space:pre-wrap;"
    f"overflow-wrap:break-word;min-width:0;{MONO}",
    "note": f"font-size:11.5px;font-style:normal;opacity:.68;font-family:{_UI};font-family:var(--jp-ui-font-family,{_UI})",
    "alarm": f"font-size:11.5px;font-family:{_UI};font-family:var(--jp-ui-font-family,{_UI});{tint(AMBER)}",
    "warning": f"white-space:pre-wrap;overflow-wrap:break-word;{tint(AMBER)}",
    "text": "padding:8px 12px",
    "said": f"margin:2px 0;font-size:13px;line-height:1.45;text-align:left;font-family:{_UI};font-family:var(--jp-ui-font-family,{_UI})",
    "picture": "display:block;max-width:100%;max-height:480px;margin-bottom:4px",
    "asked": "white-space:pre-wrap;overflow-wrap:break-word",
    "choice": "padding:1px 0 1px 14px",
    "table": f"width:100%;table-layout:fixed;border-collapse:collapse;border:0;margin:0;font-size:12.5px;overflow-wrap:break-word;{MONO}",
    "lines": f"padding:0;white-space:pre-wrap;overflow-wrap:break-word;{_PRE}",
    "ground": "display:inline-block;min-width:100%",
    "row": "background:none",
    "gutter": f"{_CELL};padding:0 2px 0 0;text-align:right;white-space:pre;user-select:none",
    "line": f"{_CELL};text-align:left;white-space:pre-wrap",
    "added": "background-color:rgba(46,160,67,.15)",
    "removed": "background-color:rgba(248,81,73,.15)",
    "absent": f"background-color:{GROUND}",
    "middle": f"border-left:1px solid {RULE}",
    "words": "white-space:pre-wrap;overflow-wrap:anywhere",
    "sheet-code": "overflow-wrap:anywhere;word-break:keep-all;hyphens:none",
    "sheet-cell": "text-align:left;vertical-align:top;padding:3px 14px 3px 0",
    "comparison-cell": f"text-align:left;vertical-align:top;padding:3px 10px;border-top:1px solid {RULE};overflow:hidden",
    "trace-line": "display:flex;align-items:baseline;gap:8px;padding:3px 10px;white-space:nowrap",
    "trace-number": "min-width:2.6em;text-align:right;opacity:.6;font-size:12px",
    "trace-icon": "min-width:1.1em;text-align:center",
    "trace-code": f"{MONO};font-size:12px",
    "trace-strip": "display:flex;align-items:flex-end;height:36px;padding:8px 10px;"
    f"border-top:1px solid {RULE};border-bottom:1px solid {RULE}",
}
"""Part of a card or of the explorer → its style.  Elements carry the name as a class too, with ``nbt-`` before it."""

SPANS = {
    "k": f"{tint('#1f8a56', 80)};font-weight:600",
    "s": tint("#d64550", 80),
    "c": f"{tint('#4f8a8a', 80)};font-style:italic",
    "n": tint("#1f8a56", 80),
    "d": tint("#2f7bdc", 80),
    "b": tint("#9457d6", 80),
    "hit": "border-radius:2px;font-weight:normal;background-color:rgba(255,196,0,.38)",
    "mark": "border-radius:2px;text-decoration:none",
    "hidden": f"border:1px solid {RED};border-radius:2px;padding:0 1px;{tint(RED)}",
    "warn": tint(AMBER),
    "bold": "font-weight:bold",
    "dim": "opacity:.7",
    "italic": "font-style:italic",
    "underline": "text-decoration:underline",
    "strike": "text-decoration:line-through",
}

_TERMINAL = (
    *("#6a707a", RED, GREEN, AMBER, BLUE, "#b94fb0", "#1d8791", "#7a7f87"),
    *("#7a7f87", "#dc4a50", "#1f8a56", "#b06c00", "#2f7bdc", "#b94fb0", "#1d8791", "#7a7f87"),
)
_BACKGROUNDS = (
    *("#24292f", "#b92b27", "#0b6e3a", "#8a5a00", "#1a5fc4", "#9b2d92", "#0a6c74", "#d0d5da"),
    *("#57606a", "#e4605a", "#37b36f", "#e0b040", "#5c9cf0", "#cf7cc6", "#55bcc4", "#f4f6f8"),
)

MARKS = {"added": "background-color:rgba(46,160,67,.38)", "removed": "background-color:rgba(248,81,73,.38)"}
"""Style of the differences inside a line, by side."""


@lru_cache(maxsize=4096)
def span_style(words: str) -> str:
    """Returns the CSS of a span with these style words."""
    listed = words.split()
    foreground = next((word[2:] for word in listed if word.startswith("fg")), "")
    background = next((word[2:] for word in listed if word.startswith("bg")), "")
    colours = [_on_background(foreground, background)] if background else [_foreground(foreground)] if foreground else []
    return ";".join([*(SPANS[word] for word in listed if word in SPANS), *colours])


def _foreground(colour: str) -> str:
    return tint(_TERMINAL[int(colour) % 16] if colour.isdigit() else colour, 70)


def _on_background(foreground: str, background: str) -> str:
    back = _BACKGROUNDS[int(background) % 16] if background.isdigit() else background
    text = _BACKGROUNDS[int(foreground) % 16] if foreground.isdigit() else foreground
    return f"background-color:{back};color:{text or _readable_on(back)}"


def _readable_on(background: str) -> str:
    red, green, blue = (int(background[i : i + 2], 16) for i in (1, 3, 5))
    return "#101418" if 0.3 * red + 0.59 * green + 0.11 * blue > 128 else "#ffffff"
