"""MCP servers in a real kernel: added, looked at, trusted, called, left."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.notebook.magics.test_completion import offered
from tests.warm_python import warm_python

SHOP = str(Path(__file__).with_name("shop_server.py"))


@pytest.fixture(autouse=True)
def own_file():
    """The person's file, without servers again at the end."""
    path = Path(os.environ["NBTOOLS_CONFIG"]) / "mcp.json"
    yield path
    path.unlink(missing_ok=True)


def entry():
    """The entry of the shop, which does not have to import the SDK when it starts."""
    return {"command": warm_python(), "args": [SHOP]}


def declare(path, **servers):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))


def rows(text):
    """The first two columns of a sheet."""
    return [line.split("  ")[0] for line in text.splitlines()]


def test_nothing_of_it_is_loaded_or_started_before_it_is_needed(cold, tmp_path):
    declare(tmp_path / ".mcp.json", shop={"command": "touch", "args": ["started"]})
    cold.run("%load_ext nbtools\n%tool ls")
    code = "import sys; print(sorted({'mcp', 'nbtools.mcp.client.servers', 'nbtools.notebook.mcp.commands'} & set(sys.modules)))"
    assert cold.run(code).text.strip() == "[]"
    listed = cold.run("%tool").text
    assert "mcp__shop__…" in listed
    assert "not trusted" in listed
    assert "not trusted" in cold.run("%tools mcp").text
    assert not (tmp_path / "started").exists()
    assert cold.value("'mcp' in sys.modules") is False


def test_serving_without_the_sdk_says_what_to_install(cold):
    cold.run("import sys\nsys.modules['mcp'] = None\n%load_ext nbtools")
    cell = cold.run("%tools serve")
    assert cell.error == ""
    assert 'pip install "nbtools-agent[mcp]"' in cell.text
    assert "\n" not in cell.text.strip()


def test_a_server_is_added_called_and_removed(lab, own_file):
    assert "No MCP servers are configured" in lab.run("%tools mcp").text
    added = lab.run(f"%tools mcp add shop -- {warm_python()} {SHOP}").text
    assert f"Added to {own_file}" in added
    assert "connected" in added
    assert json.loads(own_file.read_text()) == {"mcpServers": {"shop": entry()}}
    lab.run("%tools allow mcp__shop__*")
    assert "3 pears: 1.20 €" in lab.run("%tool mcp__shop__price pears --count 3").text
    assert lab.value("tools.mcp__shop__price('figs').llm_content") == "1 figs: 0.40 €"
    nested = """tools.mcp__shop__order({"items": [{"name": "figs", "count": 2}]}, express=True, tags=["a"]).llm_content"""
    assert lab.value(nested) == "2 figs express ['a']"
    line = """r = %tool mcp__shop__order '{"items": [{"name": "plums"}]}' --tags x --tags y"""
    lab.run(line)
    assert lab.value("r.llm_content") == "1 plums ['x', 'y']"
    shown = lab.run("%tools mcp").text
    assert "your own file" in shown
    assert "Removed shop from" in lab.run("%tools mcp remove shop").text
    assert json.loads(own_file.read_text()) == {"mcpServers": {}}
    assert "There is no tool" in lab.run("%tool mcp__shop__price figs").text


def test_a_tool_connects_its_server_when_it_is_called(lab, own_file):
    declare(own_file, shop=entry())
    lab.run("%tools allow mcp__shop__*")
    assert "not connected yet" in lab.run("%tool").text
    assert "1 pears: 0.40 €" in lab.run("%tool mcp__shop__price pears").text
    lab.run("%reload_ext nbtools\n%tools allow mcp__shop__*")
    assert lab.value("tools.mcp__shop__price('figs').llm_content") == "1 figs: 0.40 €"
    lab.run("%reload_ext nbtools")
    page = lab.run("%tool mcp__shop__price?").text
    assert "Returns the price of a fruit" in page
    assert "--count" in page


def test_a_server_of_the_project_needs_approval_in_the_cell(lab, project):
    declare(project / ".mcp.json", shop={**entry(), "env": {"LEVEL": "high"}})
    lab.run("%tools allow mcp__shop__*")
    cell = lab.start("%tool mcp__shop__price pears")
    (field,) = lab.question_data(lab.until(lambda: lab.question("answers")))["fields"]
    assert "LEVEL=high" in field["text"]
    lab.answer_with("answers", answers=[field["options"][0]["value"]])
    lab.until(lambda: cell.done, 60)
    assert "1 pears: 0.40 €" in cell.text


def test_trust_is_shown_and_given(lab, project):
    declare(
        project / ".cursor" / "mcp.json",
        shop={**entry(), "env": {"LEVEL": "high", "API_TOKEN": "abcdefgh12345"}},
    )
    shown = lab.run("%tools mcp trust shop").text
    assert all(
        part in shown
        for part in (
            ".cursor/mcp.json: not trusted",
            "shop_server.py",
            "API_TOKEN=… LEVEL=high",
            "trust shop yes",
        )
    )
    given = lab.run("%tools mcp trust shop yes").text
    assert "Trusted until its entry in the file changes" in given
    assert "connected" in given
    lab.run("%reload_ext nbtools")
    assert ".cursor/mcp.json: trusted" in lab.run("%tools mcp trust shop").text
    declare(project / ".cursor" / "mcp.json", shop={**entry(), "args": [SHOP, "--evil"]})
    assert "changed, not trusted" in lab.run("%tools mcp").text
    assert "no longer trusted" in lab.run("%tools mcp trust shop no").text


def test_states_of_servers_are_shown_with_the_next_step(lab, own_file, project):
    declare(
        own_file,
        gone={"command": "no-such-program-at-all"},
        crash={"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]},
    )
    (project / ".mcp.json").write_text('{\n  "mcpServers": {\n    oops\n}}')
    declare(project / ".cursor" / "mcp.json", web={"url": "http://h/${NOT_SET_AT_ALL}"})
    text = lab.run("%tools mcp").text
    assert (
        "there is no program no-such-program-at-all. Install it, or give its full path. %tools mcp restart gone"
        in text
    )
    assert "exit code 3" in text
    assert "invalid JSON at line 3, column 5" in text
    assert "the variable NOT_SET_AT_ALL is not set" in text
    assert "NOT_SET_AT_ALL is not set" in lab.run("%tools mcp connect web").text
    assert "Did you mean gone" in lab.run("%tools mcp restart gon").text


def test_one_may_be_switched_off_here(lab, own_file):
    declare(own_file, shop=entry())
    assert "shop is disabled in this workspace" in lab.run("%tools mcp disable shop").text
    lab.run("%reload_ext nbtools")
    assert "shop is disabled in this workspace" in lab.run("%tools mcp").text
    assert "%tools mcp enable shop" in lab.run("%tool mcp__shop__price figs").text
    lab.run("%tools mcp enable shop")
    assert "connected" in lab.run("%tools mcp restart shop").text


def test_the_tools_of_a_server_are_listed(lab, own_file):
    declare(own_file, shop=entry())
    text = lab.run("%tools mcp tools shop").text
    assert "A shop that sells fruit" in text
    assert "only reads" in text
    assert "none" in text
    assert "shop://opening" in lab.run("%tools mcp resources shop").text
    assert "From nine to five." in lab.run("%tools mcp read shop shop://opening").text
    assert "From nine to five." in lab.run("%tools mcp read shop://opening").text


def test_prompts_are_listed_filled_in_and_returned(lab, own_file):
    declare(own_file, shop=entry())
    listed = lab.run("%tools prompt").text
    assert "shop:review  topic=… [tone=…]  Asks for a review." in listed
    cell = lab.run("text = %tools prompt shop:review topic='two pears' tone=stern")
    assert "Please write a stern review of two pears." in cell.text
    assert lab.value("text") == "Please write a stern review of two pears."
    assert lab.run("%tools prompt shop:review figs").text.count("kind review of figs") == 1
    assert "shop:review needs topic" in lab.run("%tools prompt shop:review").text
    assert (
        "has no argument 'tpic=x'. Its arguments: topic, tone. Did you mean topic"
        in lab.run("%tools prompt shop:review tpic=x").text
    )
    assert "has no prompt 'reviw'. Did you mean review" in lab.run("%tools prompt shop:reviw").text
    assert "%tools prompt shop:review" in offered(lab, "%tools prompt sh")
    assert "%tools prompt shop:review topic=" in offered(lab, "%tools prompt shop:review to")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("%tools mcp ad x", "%tools mcp has no sub-command 'ad'. Did you mean add"),
        ("%tools mcp add", "needs a name, and either a command or a URL"),
        ("%tools mcp add x", "needs a name, and either a command or a URL"),
        ("%tools mcp add x__y -- z", "a server's name consists of letters"),
        ("%tools mcp add x --heder a http://h", "%tools mcp add has no flag --heder. Did you mean --header"),
        ("%tools mcp add x --header a http://h", "'a' is not valid. Write --header 'Name: value'"),
        ("%tools mcp add x --timeout soon -- z", "--timeout must be a number of seconds above 0, not 'soon'"),
        ("%tools mcp add x --sse -- z", "--header and --sse only work with a URL"),
        ("%tools mcp add x --env A=1 http://h", "For a URL use --header"),
        ("%tools mcp add x http://h/${NOT_SET_AT_ALL}", "the variable NOT_SET_AT_ALL is not set"),
        ("%tools mcp restart", "needs the name of a server. Known servers: none yet"),
        ("%tools mcp remove x", "There is no MCP server 'x'. %tools mcp add NAME"),
        ("%tools mcp trust", "needs a name, then yes or no"),
        ("%tools prompt x", "needs a server and a prompt's name"),
        ("%tools prompt x:y", "There is no MCP server 'x'"),
    ],
)
def test_an_error_is_one_line(lab, code, says, own_file):
    cell = lab.run(code)
    assert cell.error == ""
    assert says in cell.text
    assert "\n" not in cell.text.strip()
    assert not own_file.exists()


def test_entries_are_written_as_others_read_them(lab, own_file, project):
    lab.run(
        "%tools mcp add web http://127.0.0.1:1/mcp --header 'X-Key: ${HOME}' --timeout 2 --include a,b --exclude c --trust"
    )
    assert json.loads(own_file.read_text())["mcpServers"]["web"] == {
        "type": "http",
        "url": "http://127.0.0.1:1/mcp",
        "headers": {"X-Key": "${HOME}"},
        "includeTools": ["a", "b"],
        "excludeTools": ["c"],
        "timeout": 2000,
        "trust": True,
    }
    text = lab.run(f"%tools mcp add --project -e LEVEL=3 here {warm_python()} {SHOP} --flag").text
    assert "connected" in text
    assert json.loads((project / ".mcp.json").read_text()) == {
        "mcpServers": {"here": {"command": warm_python(), "args": [SHOP, "--flag"], "env": {"LEVEL": "3"}}}
    }
    assert "An MCP server named 'here' exists already (.mcp.json)" in lab.run("%tools mcp add here -- x").text


def test_tab_knows_them_and_waits_for_none(lab, own_file):
    declare(own_file, shop=entry())
    assert offered(lab, "%tools mcp re") == [
        "%tools mcp remove",
        "%tools mcp restart",
        "%tools mcp resources",
        "%tools mcp read",
    ]
    assert offered(lab, "%tools mcp restart s") == ["%tools mcp restart shop"]
    assert "%tools mcp add x --header" in offered(lab, "%tools mcp add x --h")
    assert offered(lab, "%tool mcp__") == ["%tool mcp__shop__"]
    assert offered(lab, "%tools prompt s") == ["%tools prompt shop:"]
    assert "not connected yet" in lab.run("%tool").text
    lab.run("%tools mcp connect shop")
    assert offered(lab, "%tool mcp__shop__pr") == ["%tool mcp__shop__price"]
    assert offered(lab, "%tool mcp__shop__price --c") == ["%tool mcp__shop__price --count"]
