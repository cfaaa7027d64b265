"""An S3-compatible server on loopback: prints its port and serves until it is ended.

With the argument ``auth``, it checks credentials after the first request, which makes the bucket.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "1" if "auth" in sys.argv else "1000000000"

    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server

    server = make_server(
        "127.0.0.1",
        0,
        DomainDispatcherApplication(create_backend_app),
        threaded=True,
        request_handler=MotoRequestHandler,
    )
    print(server.server_port, flush=True)
    server.serve_forever()
