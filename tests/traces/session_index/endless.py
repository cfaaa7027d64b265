"""A background process that would never end."""

from __future__ import annotations

import threading

from nbtools.traces.session_index.index import SessionIndex
from nbtools.traces.session_index.worker import _end_with_stdin

threading.Thread(target=_end_with_stdin, args=(SessionIndex(),), daemon=True).start()
threading.Event().wait()
