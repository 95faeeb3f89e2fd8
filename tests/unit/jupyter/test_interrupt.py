"""A real kernel, without a browser: whoever interrupts gets their own error back, and everything works as before."""

from __future__ import annotations

import queue
import time

import pytest

pytest.importorskip("ipykernel", reason="ipykernel is not installed (the extra 'lab')")
manager = pytest.importorskip("jupyter_client.manager", reason="jupyter_client is not installed (the extra 'lab')")

# The same objects as before, doing what they did before; and the garbage collector is on again.
CHECK = """
import gc
assert gc.isenabled()
assert [row.name for row in c.steps] == names and len(c.kernels) == kernels
assert e.wait(60)
e.change(memory="safe"); assert e.wait(60) and e.compilation.options.memory == "safe", e.compilation.options.memory
e.reset(); assert e.wait(60) and e.compilation is c
assert len(c.replace(fusion={"flash_attention": False}).kernels) == without
print("usable")
"""
LONG = {
    "a compilation, early": ("while True: gx.compile('qwen2.5-7b')", 0.1),
    "a compilation, later": ("while True: gx.compile('qwen2.5-7b')", 1.2),
    "compiling again": ("while True: c.replace(fusion={'matmul_bias': False})", 0.3),
    "waiting": ("e.change(fusion={'matmul_bias': False})\nwhile True: e.wait()", 0.3),
}


class Kernel:
    """A kernel of its own, and what it says."""

    def __init__(self):
        self.manager, self.client = manager.start_new_kernel(kernel_name="python3")

    def run(self, code, interrupted_after_s=None):
        """Runs code; returns texts and names of errors in order. Interrupts it so long after its first text."""
        request, said, begun = self.client.execute(code), [], None
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if interrupted_after_s is not None and begun and time.monotonic() - begun > interrupted_after_s:
                self.manager.interrupt_kernel()
                interrupted_after_s = None
            try:
                message = self.client.get_iopub_msg(timeout=0.02)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                said.append(content["text"])
                begun = begun or time.monotonic()
            elif message["msg_type"] == "error":
                said.append(f"{content['ename']}: {content['evalue']}")
            elif content.get("execution_state") == "idle":
                return "".join(said).split("\n")
        raise AssertionError(said)


@pytest.fixture(scope="module")
def kernel():
    opened = Kernel()
    said = opened.run(
        "import gexplorer as gx\n"
        "c = gx.compile('bert-base:layers=2', validate='off')\n"
        "names, kernels = [row.name for row in c.steps], len(c.kernels)\n"
        "without = len(c.replace(fusion={'flash_attention': False}).kernels)\n"
        "e = c.explore(); assert without > kernels; print('ready')"
    )
    assert said == ["ready", ""]
    yield opened
    opened.client.stop_channels()
    opened.manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("what", LONG)
def test_an_interrupt_leaves_everything_usable(kernel, what):
    code, after_s = LONG[what]
    assert kernel.run(f"print('begun', flush=True)\n{code}", after_s) == ["begun", "KeyboardInterrupt: "]
    assert kernel.run("e.reset(); e.wait(60)\n" + CHECK) == ["usable", ""]
