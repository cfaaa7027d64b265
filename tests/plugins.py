"""The plugins of pytest that the suite uses, instead of every one that is installed:
``PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTEST_PLUGINS=tests.plugins``, as ``make test`` sets them.

LangSmith's takes 0.7 seconds of a processor in each process, and nbval imports ``jsonschema``, which compiles
the grammar of IRIs for 1.3 seconds unless nbtools imports it first.
"""

from __future__ import annotations

from nbtools.core.schema.validation import import_jsonschema

import_jsonschema()

pytest_plugins = (
    *("xdist.plugin", "pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin"),
    *("anyio.pytest_plugin", "nbval.plugin"),
)
