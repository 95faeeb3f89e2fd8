"""The zoo's small variants, fused: every step gives the same numbers, in float32 and in float16."""

from __future__ import annotations

import pytest

from gexplorer.compiler import compile
from gexplorer.frontends import zoo
from gexplorer.validation.equality import compare_steps

# Greatest error of fused against unfused, relative to the largest magnitude of an output.
LIMITS = {"float32": 1e-5, "float16": 2e-3}
MODELS = [
    *((f"{name}:small=true", "float32") for name in zoo.names()),
    *(
        (f"{name}:small=true,dtype=float16", "float16")
        for name in ("llama2-7b", "qwen2.5-7b", "mixtral-8x7b", "bert-base")
    ),
    *((f"{name}:small=true,mode=decode", "float32") for name in ("llama2-7b", "qwen2.5-7b", "mixtral-8x7b")),
    ("qwen2.5-7b:small=true,seq=s,batch=1", "float32"),
    ("bert-base:small=true,seq=s,batch=b", "float32"),
]


@pytest.mark.parametrize(("model", "dtype"), MODELS, ids=[model for model, _ in MODELS])
def test_fused_is_equal_at_every_step(model, dtype):
    name, _, options = model.partition(":")
    if "dtype" not in options and dtype == "float32":
        model = f"{name}:{options},dtype=float32"
    compiled = compile(model)
    assert any(step.is_fusion and step.rewrites for step in compiled.steps)
    found = compare_steps(compiled.steps, (0, 1, 2), sizes={"s": 5, "b": 2})
    assert {c.index for c in found} == {step.index for step in compiled.steps if step.changed}
    assert [c for c in found if c.fault] == []
    assert max(c.relative_error for c in found) <= LIMITS[dtype]
