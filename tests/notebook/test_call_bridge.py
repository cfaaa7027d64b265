"""Calls made from cells, threads and loops:
what they return, how they are interrupted, what goes on beside them.
"""

from __future__ import annotations

import psutil
import pytest

LONG = "echo started; sleep 60"


def children(lab):
    """The processes below the kernel that sleep."""
    kernel = psutil.Process(lab.manager.provisioner.pid)
    return [child for child in kernel.children(recursive=True) if "sleep" in child.name()]


@pytest.mark.parametrize(
    "code",
    [
        f"%tool shell {LONG}",
        f"tools.shell({LONG!r})",
        f"await tools.shell.start({LONG!r})",
        f"import asyncio\nawait asyncio.sleep(0)\ntools.shell({LONG!r})",
    ],
)
def test_an_interrupt_ends_a_running_call_and_its_processes(lab, code):
    lab.run("%tools allow shell")
    cell = lab.start(code)
    lab.until(lambda: "started" in cell.text and children(lab))
    lab.interrupt()
    lab.until(lambda: cell.done)
    assert cell.error == "KeyboardInterrupt"
    assert "Cancelled" in cell.text
    lab.until(lambda: not children(lab))
    assert lab.value("1 + 1") == 2


@pytest.mark.parametrize(
    "code", ["%tool write a.txt x", "tools.write('a.txt', 'x')", "await tools.write.start('a.txt', 'x')"]
)
def test_an_interrupt_takes_a_question_back(lab, project, code):
    cell = lab.start(code)
    lab.until(lab.question)
    lab.interrupt()
    lab.until(lambda: cell.done)
    assert cell.error == "KeyboardInterrupt"
    assert "Cancelled" in cell.text
    lab.until(lambda: not lab.widgets)
    assert lab.value("1 + 1") == 2
    assert not (project / "a.txt").exists()


def test_an_interrupt_stops_all_that_a_cell_awaits(lab):
    lab.run("%tools allow shell\nimport asyncio")
    cell = lab.start(f"await asyncio.gather(tools.shell.start({LONG!r}), tools.shell.start({LONG!r}))")
    lab.until(lambda: "started" in cell.text)
    lab.interrupt()
    lab.until(lambda: cell.done)
    assert cell.error in {"CancelledError", "KeyboardInterrupt"}
    lab.until(lambda: not children(lab))
    assert lab.value("1 + 1") == 2


def test_the_old_handler_is_back_after_a_call(lab):
    ours = "__import__('signal').getsignal(2) is __import__('signal').default_int_handler"
    assert lab.value(f"{ours}, tools.ls().ok, {ours}") == (True, True, True)
    lab.run("await tools.ls.start()")
    assert lab.value(ours)


def test_other_code_is_interrupted_as_ever(lab):
    lab.run("%tool ls")
    cell = lab.start("print('on', flush=True)\nimport time\ntime.sleep(60)")
    lab.until(lambda: "on" in cell.text)
    lab.interrupt()
    lab.until(lambda: cell.done)
    assert cell.error == "KeyboardInterrupt"


def test_a_background_call_ends_while_another_cell_blocks(lab, project):
    lab.run("%tools allow shell")
    first = lab.run(
        "call = tools.shell.background('until [ -e go ]; do sleep 0.05; done; echo finished')\ncall.done"
    )
    assert first.text.endswith("False")
    blocked = lab.start("import pathlib, time\nwhile not pathlib.Path('over').exists(): time.sleep(0.02)")
    lab.until(lambda: blocked.count("execute_input"))
    (project / "go").touch()
    lab.until(lambda: "finished" in first.text and "Done" in first.text)
    assert not blocked.done
    (project / "over").touch()
    lab.until(lambda: blocked.done)
    assert lab.value("call.done, call.result().ok, call.result().data is not None") == (True, True, True)


def test_a_background_call_can_ask_and_be_cancelled(lab):
    cell = lab.run(f"call = tools.shell.background({LONG!r})")
    lab.answer_with("once")
    lab.until(lambda: "started" in cell.text)
    lab.run("call.cancel()")
    lab.until(lambda: "Cancelled" in cell.text)
    assert lab.value("call.result().error.code.value") == "cancelled"


def test_waiting_for_a_background_call_lets_clicks_through(lab):
    lab.run("call = tools.shell.background('echo clicked')")
    cell = lab.start("call.result().ok")
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert cell.text.endswith("True")


def test_a_console_answers_before_a_background_call_starts(lab):
    cell = lab.start("call = tools.shell.background('echo typed')", cell_id=None)
    lab.answer("y")
    lab.until(lambda: cell.done)
    assert lab.value("call.result().ok")


def test_a_card_is_cancelled_from_its_button(lab):
    lab.run("%tools allow shell")
    cell = lab.start(f"r = %tool shell {LONG}\nprint(r.error.code)")
    lab.until(lambda: "started" in cell.text)
    card = cell.outputs[0]["data"]["application/vnd.nbtools.call.v1+json"]
    assert card["cancellable"]
    lab.request("cards.cancel", call=card["id"])
    lab.until(lambda: cell.done)
    assert "cancelled" in cell.text
    assert cell.error == ""


def test_calls_work_in_threads(lab, project):
    code = """
import asyncio, threading
results = []
threads = [threading.Thread(target=lambda n=n: results.append(tools.write(f"{n}.txt", "x").ok)) for n in range(2)]
for thread in threads: thread.start()
while any(thread.is_alive() for thread in threads): await asyncio.sleep(0.05)
print(results)
"""
    cell = lab.start(code)
    lab.answer_with("once")
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert "[True, True]" in cell.text
    assert (project / "0.txt").exists()
    assert (project / "1.txt").exists()


def test_a_thread_asks_in_its_cell_whatever_has_come_since(lab, project):
    code = """
import pathlib, threading, time
def later():
    while not pathlib.Path("go").exists(): time.sleep(0.02)
    tools.write("later.txt", "x")
threading.Thread(target=later).start()
"""
    cell = lab.run(code)
    lab.open_comm("nbtools", {})
    lab.for_a_while(0.5)
    (project / "go").touch()
    lab.answer_with("once")
    lab.until(lambda: "Done" in cell.text)
    assert "Approved once by you" in cell.text
    assert (project / "later.txt").read_text() == "x"


def test_input_and_the_debugger_still_work(lab):
    cell = lab.start("name = input('name? ')\nprint('hello', name)")
    assert lab.answer("you") == "name? "
    lab.until(lambda: cell.done)
    assert "hello you" in cell.text
    cell = lab.start("from IPython.core.debugger import set_trace\nset_trace()\nx = 1")
    lab.answer("c")
    lab.until(lambda: cell.done)
    assert lab.value("1 + 1") == 2


def test_results_come_in_the_order_of_the_code(lab):
    cell = lab.run("print('before')\n%tool ls\nprint('after')")
    kinds = [output.get("text", "card").strip() for output in cell.outputs]
    assert kinds == ["before", "card", "after"]


@pytest.mark.parametrize("call", ["tools.quiet.ls()", "await tools.quiet.ls.start()"])
def test_no_interrupt_is_lost_whenever_it_comes(lab, call):
    for delay in range(15):
        cell = lab.start(f"print('on', flush=True)\nfor _ in range(20000): {call}")
        lab.until(lambda cell=cell: "on" in cell.text)
        lab.for_a_while(delay * 0.007)
        lab.interrupt()
        lab.until(lambda cell=cell: cell.done)
        # Python itself drops what is raised in a weak reference's callback, and says so.
        dropped = "Exception ignored in: <function WeakSet" in cell.text
        assert dropped or cell.error in {"KeyboardInterrupt", "CancelledError"}, cell.outputs
    assert lab.run("%tool ls").error == ""


@pytest.mark.parametrize("code", [f"%tool shell {LONG}", f"call = tools.shell.background({LONG!r})"])
def test_a_restart_leaves_no_process_behind(bare, code):
    bare.run("%load_ext nbtools\n%tools allow shell")
    bare.start(code)
    bare.until(lambda: children(bare))
    started = children(bare)
    bare.manager.restart_kernel(now=False)
    bare.client.wait_for_ready(timeout=60)
    bare.until(
        lambda: not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in started)
    )
