"""Loaded and unloaded in real shells; nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
import textwrap

TRACES = textwrap.dedent("""
    import signal, sys, threading
    from comm import get_comm_manager
    ip = get_ipython()
    def traces():
        found = {
            "line magics": sorted(ip.magics_manager.magics["line"]),
            "cell magics": sorted(ip.magics_manager.magics["cell"]),
            "registry": sorted(ip.magics_manager.registry),
            "names": [name for name in ("tools",) if name in ip.user_ns or name in ip.user_ns_hidden],
            "matchers": ip.Completer.custom_matchers,
            "tokens": ip.input_transformer_manager.token_transformers,
            "handler": ip.kernel.shell_handlers["execute_request"],
            "run_cell_async": "run_cell_async" in vars(ip),
            "targets": sorted(get_comm_manager().targets),
            "threads": [thread.name for thread in threading.enumerate() if "nbtools" in thread.name],
            "hooks": [type(ip.display_trap.hook), type(sys.displayhook)],
            "events": ip.events.callbacks["pre_run_cell"],
            "formatters": list(ip.display_formatter.mimebundle_formatter.type_printers),
            "interrupts": signal.getsignal(2),
        }
        return {name: str(value) for name, value in found.items()}
""")


def test_unloading_leaves_no_trace(bare):
    bare.run("%reload_ext storemagic")  # IPython brings its own magics for extensions with the first one
    bare.run(TRACES)
    before = bare.value("traces()")
    bare.run("%load_ext nbtools\n%tool ls")
    bare.run("await tools.ls.start()")
    loaded = bare.value("traces()")
    assert {name for name in before if before[name] == loaded[name]} == {"interrupts"}
    assert bare.run("%unload_ext nbtools").error == ""
    assert bare.value("traces()") == before
    bare.run("%load_ext nbtools")
    assert "0 files" in bare.run("%tool ls").text or bare.run("%tool ls").error == ""


def test_the_first_line_comes_once_and_only_for_a_person(bare):
    silent = bare.run("%load_ext nbtools", stdin=False)
    assert silent.text == ""
    bare.run("%unload_ext nbtools")
    bare.run("from nbtools.notebook import extension\nextension._extensions_before.clear()")
    first = bare.run("%load_ext nbtools")
    assert [output.get("name") for output in first.outputs] == ["stdout"]
    for example in ("%tool grep", "%tool edit?", "%trace"):
        assert example in first.text
    assert len(first.text.splitlines()) == 1
    assert bare.run("%reload_ext nbtools").text == ""


def test_loading_twice_changes_nothing(bare):
    bare.run("%load_ext nbtools")
    assert "already loaded" in bare.run("%load_ext nbtools").text
    assert bare.run("%reload_ext nbtools\n%tool ls").error == ""


def test_a_name_of_ones_own_stays(bare):
    bare.run("tools = 5")
    loaded = bare.run("%load_ext nbtools")
    assert "already exists and is not replaced" in loaded.text
    assert {output["name"] for output in loaded.outputs} == {"stdout"}
    assert bare.value("tools") == 5
    bare.run("%unload_ext nbtools")
    assert bare.value("tools") == 5


def test_a_magic_of_ones_own_comes_back(bare):
    bare.run(
        "from IPython.core.magic import register_line_magic\n@register_line_magic\ndef tool(line): return 'mine'"
    )
    bare.run("%load_ext nbtools")
    assert "what it does" in bare.run("%tool").text
    bare.run("%unload_ext nbtools")
    assert "mine" in bare.run("%tool").text


def test_importing_nbtools_imports_no_jupyter():
    code = "import sys, nbtools; print([m for m in ('IPython', 'ipykernel', 'ipywidgets', 'greenback', 'pydantic') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_loading_leaves_the_heavy_things_for_later(bare):
    heavy = (
        *("ipywidgets", "pygments.lexers.python", "tree_sitter", "jsonschema", "markdown_it", "nh3"),
        *("mcp", "mcp_types", "httpx2", "keyring", "pydantic", "pydantic_ai", "openai"),
    )
    bare.run("import sys")
    before = bare.value(f"[m for m in {heavy} if m in sys.modules]")
    bare.run("%load_ext nbtools")
    assert bare.value(f"[m for m in {heavy} if m in sys.modules]") == before


def test_the_workspace_is_the_checkout_around_the_notebook(bare, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "here.txt").write_text("x")
    bare.run("import os\nos.chdir('notebooks')\n%load_ext nbtools")
    assert "here.txt" in bare.run("%tool ls").text


def test_another_package_of_the_name_is_named_in_one_line(bare, tmp_path):
    other = tmp_path / "elsewhere" / "nbtools-24.8.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: nbtools\nVersion: 24.8.0\n")
    cell = bare.run(f"import sys\nsys.path.append({str(other.parent)!r})\n%load_ext nbtools")
    assert "UsageError: The package nbtools 24.8.0" in cell.text
    assert "pip uninstall nbtools" in cell.text
    assert bare.run("%tool").error or "not found" in bare.run("%tool").text


def test_loading_does_not_import_what_only_cards_need():
    """Card models, templates and highlighting take longer to import than everything else that ``%load_ext``
    needs.
    """
    code = "import sys, nbtools.notebook.extension; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    heavy = {"nbtools.cards.card_model", "nbtools.cards.markup", "jinja2", "nbtools.session", "duckdb", "mcp"}
    assert loaded & heavy == set()


def test_the_first_call_loads_its_tool_and_its_card_and_no_other_product(cold):
    """The imports of the first ``%tool`` of a kernel decide how long it takes;
    recording it writes a log and reads none.
    """
    cold.run(
        "%load_ext nbtools\nimport sys\nopen('a.py', 'w').write('def a(): pass')\nbefore = set(sys.modules)"
    )
    assert "def a" in cold.run("%tool grep def").text
    loaded = cold.value("sorted(name for name in sys.modules.keys() - before if name.startswith('nbtools.'))")
    recorder = {"recording", "display_json", "model", "line_reading", "json_access", "atif_extra"}
    traces = {name.split(".")[2] for name in loaded if name.startswith("nbtools.traces.")}
    assert "nbtools.traces.recording.session_logs" in loaded, "the call is recorded"
    assert traces <= recorder
    others = ("replay", "lesson", "agents", "mcp", "notebook.traces")
    assert [name for name in loaded if name.startswith(tuple(f"nbtools.{other}" for other in others))] == []
    tools = {name.removeprefix("nbtools.tools.") for name in loaded if name.startswith("nbtools.tools.")}
    assert tools == {"grep", "workspace_tool"}, "the tool and the base of those that use the workspace"
    late = (
        "processes.terminal",
        "processes.sandbox",
        "history.snapshots",
        "history.undo",
        "shell.analysis",
        "approval.widget",
    )
    assert [name for name in loaded if name.endswith(late)] == []
    assert len(loaded) <= 140


def test_an_exception_of_a_tool_of_ones_own_names_the_cell(bare):
    bare.run("%load_ext nbtools\nfrom nbtools import tool")
    bare.run(
        'import json\n\n@tool(kind="read")\ndef broken(text: str) -> dict:\n    "Reads."\n    return json.loads(text)'
    )
    number = bare.value(
        "get_ipython().compile.format_code_name(broken.function.__code__.co_filename)[1]"
    ).strip("'In[]")
    text = bare.run("%tool broken x").text
    assert f"cell {number}, line 6" in text
    assert "JSONDecodeError" in text
