"""Inline styles of cards, for HTML without a stylesheet.

Hosts keep all styles (ipywidgets, VS Code, nbconvert, trusted notebooks), only plain declarations
(JupyterLab's sanitizer drops ``var()``), or none (GitHub).  Colours are CSS variables: where our stylesheet
``theme.css`` defines them, HTML has the colours of the theme, elsewhere a medium tone that is readable on
white and on black.  Text and page colours are never set; borders and backgrounds are translucent.  Every card
is stored with its notebook, so the styles are short and leave out what is inherited.
"""

from __future__ import annotations

from functools import lru_cache

TOKENS = {
    "amber": "#b06c00",
    "blue": "#2f7bdc",
    "green": "#1f8a56",
    "red": "#d64550",
    "grey": "#7a7f87",
    "k": "#1f8a56",
    "s": "#d64550",
    "c": "#4f8a8a",
    "n": "#1f8a56",
    "d": "#2f7bdc",
    "b": "#9457d6",
    "rule": "#8884",
    "ground": "#88888812",
    "hit": "#ffc40061",
    "added": "#2ea04326",
    "removed": "#f8514926",
    "added-mark": "#2ea04361",
    "removed-mark": "#f8514961",
}
"""Colours by name: ``theme.css`` has a variable ``--nbtools-NAME`` for each."""


MIXED = ("amber", "blue", "green", "red", "grey")
"""Colours of single words, which are mixed with the host's text colour;
that would make each of thousands of highlighted spans longer.
"""


def token(name: str) -> str:
    """Returns a colour for a style."""
    colour = TOKENS[name]
    shown = f"color-mix(in srgb,{colour} 72%,currentColor)" if name in MIXED else colour
    return f"var(--nbtools-{name},{shown})"


AMBER, BLUE, GREEN, RED, GREY = map(token, ("amber", "blue", "green", "red", "grey"))
ACCENTS = {"awaiting_approval": AMBER, "executing": BLUE, "success": GREEN, "error": RED}
"""Colour by state; all other states are grey."""

RULE, GROUND = token("rule"), token("ground")
_MONO = "font-family:ui-monospace,Consolas,monospace"
_UI = "system-ui,sans-serif"
_PRE = f"margin:0;border:0;background:none;font-size:12.5px;line-height:20px;{_MONO}"


def tint(colour: str) -> str:
    """Returns the CSS of a text colour."""
    return f"color:{colour}"


_SMALL = "font-size:12px"
_CELL = "padding:0 6px;vertical-align:top;line-height:20px"
_FRAME = (
    f"border:1px solid {RULE};border-radius:4px;overflow:hidden;margin:2px 0;font:13px/1.45"
    f" {_UI};text-align:left"
)
STYLES = {
    "frame": _FRAME,
    "card": f"{_FRAME};border-left:3px solid {GREY}",
    "head": "display:flex;align-items:center;gap:8px;padding:7px 10px;min-height:20px;white-space:nowrap",
    "tool": f"font-size:12.5px;{_MONO}",
    "subject": "overflow:hidden;text-overflow:ellipsis;min-width:3em;opacity:.72",
    "plus": tint(GREEN),
    "minus": tint(RED),
    "space": "flex:1;opacity:0",
    "status": _SMALL,
    "quiet": f"{_SMALL};opacity:.68",
    "block": f"border-top:1px solid {RULE}",
    "foot": (
        "display:flex;flex-wrap:wrap;gap:4px 10px;padding:7px 10px;border-top:1px solid"
        f" {RULE};background-color:{GROUND};{_SMALL}"
    ),
    "record": "opacity:.78",
    "link": "text-decoration:underline",
    "plain": "text-decoration:none;color:inherit",
    "fold": f"padding:2px 10px;background-color:{GROUND};font-size:11.5px",
    "more": f"padding:4px 12px 6px;{_SMALL};opacity:.68",
    "dim": "opacity:.68",
    "pre": f"padding:8px 12px;white-space:pre-wrap;overflow-wrap:anywhere;{_PRE}",
    "code": f"padding:6px 12px;white-space:pre;overflow-x:auto;{_PRE}",
    "path": f"padding:5px 12px 0;font-weight:600;font-size:12.5px;{_MONO}",
    "number": "opacity:.6",
    "parts": f"padding:8px 12px;font-size:12.5px;{_MONO}",
    "part": "display:flex;flex-wrap:wrap;align-items:baseline;gap:0 10px",
    "command": f"padding:0;white-space:pre-wrap;overflow-wrap:anywhere;{_PRE}",
    "note": f"font-size:11.5px;font-style:normal;opacity:.68;font-family:{_UI}",
    "alarm": f"font-size:11.5px;font-family:{_UI};{tint(AMBER)}",
    "warning": f"white-space:pre-wrap;overflow-wrap:anywhere;{tint(AMBER)}",
    "text": "padding:8px 12px",
    "said": f"margin:2px 0;font:13px/1.45 {_UI};text-align:left",
    "page": (
        "border:1px solid"
        f" {RULE};box-sizing:border-box;width:min(100%,440px);height:auto;vertical-align:top;margin:0 4px"
        " 4px 0"
    ),
    "picture": "display:block;max-width:100%;max-height:480px;margin-bottom:4px",
    "asked": "white-space:pre-wrap;overflow-wrap:anywhere",
    "choices": "margin:2px 0 0;padding-left:18px",
    "table": (
        f"width:100%;table-layout:fixed;border-collapse:collapse;border:0;margin:0;font-size:12.5px;overflow-wrap:anywhere;{_MONO}"
    ),
    "lines": f"padding:0;white-space:pre-wrap;overflow-wrap:anywhere;{_PRE}",
    "row": "background:none",
    "gutter": f"{_CELL};padding:0 2px 0 0;text-align:right;white-space:pre;user-select:none",
    "line": f"{_CELL};text-align:left;white-space:pre-wrap",
    "added": f"background-color:{token('added')}",
    "removed": f"background-color:{token('removed')}",
    "absent": f"background-color:{GROUND}",
    "middle": f"border-left:1px solid {RULE}",
    "words": "white-space:pre-wrap;overflow-wrap:anywhere",
    "sheet-code": "overflow-wrap:anywhere;word-break:keep-all;hyphens:none",
    "sheet-cell": "text-align:left;vertical-align:top;padding:3px 14px 3px 0",
    "comparison-cell": (
        f"text-align:left;vertical-align:top;padding:3px 10px;border-top:1px solid {RULE};overflow:hidden"
    ),
    "trace-line": "display:flex;align-items:baseline;gap:8px;padding:3px 10px;white-space:nowrap",
    "trace-number": "min-width:2.6em;text-align:right;opacity:.6;font-size:12px",
    "trace-icon": "min-width:1.1em;text-align:center",
    "trace-code": f"{_MONO};font-size:12px",
    "trace-strip": (
        "display:flex;align-items:flex-end;height:36px;padding:8px 10px;"
        f"border-top:1px solid {RULE};border-bottom:1px solid {RULE}"
    ),
}
"""Part of a card or of the explorer → its style."""

SPANS = {
    **{name: tint(token(name)) for name in "kscndb"},
    "hit": f"background-color:{token('hit')}",
    "mark": "text-decoration:none",
    "hidden": f"border:1px solid;border-radius:2px;{tint(RED)}",
    "warn": tint(AMBER),
    "bold": "font-weight:bold",
    "dim": "opacity:.7",
    "italic": "font-style:italic",
    "underline": "text-decoration:underline",
    "strike": "text-decoration:line-through",
}

_TERMINAL = (
    *("#6a707a", "#d64550", "#1f8a56", "#b06c00", "#2f7bdc", "#b94fb0", "#1d8791", "#7a7f87"),
    *("#7a7f87", "#dc4a50", "#1f8a56", "#b06c00", "#2f7bdc", "#b94fb0", "#1d8791", "#7a7f87"),
)
_BACKGROUNDS = (
    *("#24292f", "#b92b27", "#0b6e3a", "#8a5a00", "#1a5fc4", "#9b2d92", "#0a6c74", "#d0d5da"),
    *("#57606a", "#e4605a", "#37b36f", "#e0b040", "#5c9cf0", "#cf7cc6", "#55bcc4", "#f4f6f8"),
)

MARKS = {
    "added": f"background-color:{token('added-mark')}",
    "removed": f"background-color:{token('removed-mark')}",
}
"""Style of the differences inside a line, by side."""


@lru_cache(maxsize=4096)
def span_style(words: str) -> str:
    """Returns the CSS of a span with these style words."""
    listed = words.split()
    foreground = next((word[2:] for word in listed if word.startswith("fg")), "")
    background = next((word[2:] for word in listed if word.startswith("bg")), "")
    styles = [SPANS[word] for word in listed if word in SPANS]
    if background:
        styles.append(_on_background(foreground, background))
    elif foreground:
        styles.append(_foreground(foreground))
    return ";".join(styles)


def _foreground(colour: str) -> str:
    if not colour.isdigit():
        return tint(colour)
    number = int(colour) % 16
    return tint(f"var(--nbtools-ansi-{number},{_TERMINAL[number]})")


def _on_background(foreground: str, background: str) -> str:
    back = _BACKGROUNDS[int(background) % 16] if background.isdigit() else background
    text = _BACKGROUNDS[int(foreground) % 16] if foreground.isdigit() else foreground
    return f"background-color:{back};color:{text or _readable_on(back)}"


def _readable_on(background: str) -> str:
    red, green, blue = (int(background[i : i + 2], 16) for i in (1, 3, 5))
    return "#101418" if 0.3 * red + 0.59 * green + 0.11 * blue > 128 else "#ffffff"
