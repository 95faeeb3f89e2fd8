"""Random inputs respect dtypes, tables and masks."""

from textwrap import dedent

import numpy as np
import pytest
from onnx import parser

import gexplorer as gx
from gexplorer.validation.inputs import index_rows, random_inputs


def graph_of(text: str):
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>\n' + dedent(text))
    return gx.compile(model, fusion={"ALL": False}).steps["infer_shapes"].after


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("y = Gather(table, ids)", 5),
        ("y = Gather<axis = 1>(table, ids)", 3),
        ("y = GatherElements<axis = 1>(table, ids)", 3),
        ("y = GatherND(table, ids)", 3),
        ("y = ScatterElements(table, ids, table)", 5),
        ("i = Cast<to = 6>(ids)\n y = Gather(table, i)", 5),
        ("a = Gather(table, ids)\n y = Gather<axis = 1>(table, ids)", 3),
        ("y = Cast<to = 1>(ids)", None),
        ("y = Gather(open, ids)", None),
    ],
)
def test_indices_stay_inside_their_tables(line, rows):
    graph = graph_of(f"""
        g (int64[2, 2] ids, float[5, 3] table, float[n, 3] open) => (float[a, b] y) {{
            {line}
        }}
        """)
    assert index_rows(graph, "ids") == rows
    drawn = np.concatenate([random_inputs(graph, seed)["ids"].ravel() for seed in range(20)])
    assert drawn.min() == 0
    assert drawn.max() == (rows or 2) - 1


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_every_row_of_a_mask_sees_its_first_element(dtype):
    graph = graph_of(f"g ({dtype}[6, 3, 9] mask) => (float[6, 3, 9] y) {{ y = Cast<to = 1>(mask) }}")
    mask = random_inputs(graph, 3)["mask"]
    assert mask[..., 0].all()
    assert 0 < mask[..., 1:].mean() < 1


def test_equal_seeds_give_equal_inputs_and_others_others():
    graph = graph_of("g (float[4, n] x, float16[2] h) => (float[4, n] y) { y = Neg(x)\n z = Neg(h) }")
    one, same, other = (random_inputs(graph, seed, {"n": 7}) for seed in (1, 1, 2))
    assert one["x"].shape == (4, 7)
    assert one["h"].dtype == np.float16
    np.testing.assert_array_equal(one["x"], same["x"])
    assert (one["x"] != other["x"]).any()
