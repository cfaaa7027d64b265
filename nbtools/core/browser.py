"""Whether Python runs in a browser (Pyodide, JupyterLite), which has neither threads nor processes."""

import sys

IN_BROWSER: bool = sys.platform == "emscripten"
NO_TOOLS = (
    "Tools and agents cannot run in the browser, where Python can start no process and no thread. Session logs can be read: %trace LOG. "
    'For everything else, install nbtools on a computer: pip install "nbtools-agent[all]"'
)
