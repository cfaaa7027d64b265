"""Whether Python runs in a browser (Pyodide, JupyterLite), which has neither threads nor processes."""

import json
import sys
from typing import Any

IN_BROWSER: bool = sys.platform == "emscripten"
NO_TOOLS = (
    "Tools and agents cannot run in the browser, where Python can start no process and no thread. Session"
    " logs can be read: %trace LOG. For everything else, install nbtools on a computer: pip install"
    ' "nbtools-agent[all]"'
)


def received(message: Any) -> Any:
    """Returns a message of the page with None for each ``null``,
    for which Pyodide has a value of its own (``jsnull``).
    """
    return json.loads(json.dumps(message, default=lambda _: None)) if IN_BROWSER else message
