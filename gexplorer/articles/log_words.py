"""Row 29: the words that one greps a log for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import onnx

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.views.log import log_lines

_WORDS = ("FusionOp", "AutoFusion", "UnsupportedOp")
_MODEL = """<ir_version: 10, opset_import: ["": 20, "com.example": 1]>
layer (float16[64,64] x, float16[64,64] w, float16[64] b) => (float16[64,64] y) {
  p = MatMul(x, w)
  s = Add(p, b)
  f = com.example.Foo(s)
  y = Relu(f)
}"""


class LogWords(Row):
    """MatMul and Add, an operator that nobody knows, and Relu: the log with all its levels."""

    row = 29
    title = "Debugging: what to grep for in the log"
    article = says(level="GE_LOG_LEVEL=0", file="ge_log.txt", words=list(_WORDS))
    note = "``gexplorer compile MODEL --log FILE`` writes these lines in the frame of CANN's own log."

    def compute(self) -> Mapping[str, object]:
        """How many lines have each word, and the first of them that tells of something done."""
        lines = [line.message for line in log_lines(compile_(onnx.parser.parse_model(_MODEL)).steps)]
        counts = Counter(word for line in lines for word in _WORDS if word in line)
        told = [next(line for line in lines if word in line and "effect_times 0" not in line) for word in _WORDS]
        rows = zip(_WORDS, told, strict=True)
        return {"lines": len(lines), "words": [{"word": w, "lines": counts[w], "line": line} for w, line in rows]}
