"""Makes a project with the server of the garden in its ``.mcp.json``:
``%run garden/new_project.py scratch/garden``.
"""

import json
import shutil
import sys
from pathlib import Path

folder = Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
shutil.copy(Path(__file__).with_name("garden.py"), folder)
server = {"command": sys.executable, "args": ["garden.py"]}
text = json.dumps({"mcpServers": {"garden": server}}, indent=2)
(folder / ".mcp.json").write_text(f"{text}\n")
