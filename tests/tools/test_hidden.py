"""Files that the policy hides are left out of every listing and search, and the result says so."""

import pytest

from nbtools import Policy, Session

SECRET = "hush-hush"


@pytest.fixture
def session(tmp_path):
    for name, text in (
        ("a.txt", "open needle"),
        ("secrets/key.txt", f"{SECRET} needle"),
        ("sub/x.pem", f"{SECRET} needle"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "way").symlink_to("secrets")
    (tmp_path / "short").symlink_to("sub/x.pem")
    return Session(tmp_path, policy=Policy(mode="yolo"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ls", {}),
        ("tree", {}),
        ("glob", {"pattern": "**/*"}),
        ("glob", {"pattern": "way/*"}),
        ("glob", {"pattern": "secrets/*", "ignored": True, "hidden": True}),
        ("grep", {"pattern": "needle"}),
        ("grep", {"pattern": "needle", "glob": "*.pem", "ignored": True, "hidden": True}),
        ("grep", {"pattern": "needle", "mode": "files"}),
        ("grep", {"pattern": "needle", "mode": "count"}),
        ("read_many", {"paths": ["."]}),
        ("replace_in_files", {"pattern": "needle", "replacement": "x"}),
    ],
    ids=lambda value: str(value)[:50],
)
async def test_hidden_files_are_left_out_and_counted(session, tool, arguments):
    session.workspace.hidden = ("secrets/", "*.pem")
    result = await session.call(tool, arguments)
    assert result.ok, result
    said = repr((result.llm_content, result.return_display, result.data))
    assert SECRET not in said
    assert "key.txt" not in said
    assert "x.pem" not in said
    assert "policy" in str(result.llm_content)
    await session.close()


async def test_a_name_that_is_hidden_is_not_suggested(session):
    session.workspace.hidden = ("*.pem",)
    result = await session.call("read", {"path": "x.pem"})
    assert "sub/x.pem" not in str(result.llm_content)
    await session.close()
