"""Random ONNX models, valid by construction: what the passes rewrite is in them far more often than in real ones.

Every value has a known element type and shape, so each operator is drawn among those that take some value at hand.
Dimension ``n`` of the inputs is symbolic in the file and ``N`` when the model runs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

N = 3
SIZES = {"n": N}
OPSETS = (11, 12, 13, 17, 18, 20, 21, 23)
FLOATS = {np.dtype(t) for t in (np.float16, np.float32, np.float64)}
INTEGERS = {np.dtype(t) for t in (np.int32, np.int64)}
BOOL = np.dtype(bool)
TYPES = [
    *[np.dtype(np.float32)] * 4,
    np.dtype(np.float16),
    np.dtype(np.float64),
    np.dtype(np.int64),
    np.dtype(np.int32),
]
_CHOSEN = {np.dtype(np.float32), np.dtype(np.int64)}  # what onnxruntime has a Where for at every version
MOST_ELEMENTS = 400

Shape = tuple[int, ...]


class ModelMaker:
    """Draws one model.

    Args:
        pick: source of all choices.
    """

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self.opset = pick.choice(OPSETS)
        self.count = 0
        self.scopes: list[Scope] = []

    def model(self) -> onnx.ModelProto:
        """The model; ``onnx.checker`` takes it."""
        top = self.push()
        inputs = [self.input() for _ in range(self.pick.randint(1, 3))]
        for _ in range(self.pick.randint(5, 25)):
            self.step()
        made = [name for node in top.nodes for name in node.output if name in top.values]
        late = [*made[-6:], *made] or [inputs[0].name]
        outputs = list(dict.fromkeys(self.pick.choice(late) for _ in range(self.pick.randint(1, 4))))
        if self.pick.random() < 0.2:
            outputs = list(dict.fromkeys([*outputs, self.pick.choice(inputs).name]))
        graph = helper.make_graph(
            top.nodes, "random", inputs, [self.info(name) for name in outputs], initializer=top.constants
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    # -- scopes and names ---------------------------------------------------------------------------------------

    @property
    def here(self) -> Scope:
        return self.scopes[-1]

    def push(self) -> Scope:
        self.scopes.append(Scope())
        return self.here

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def input(self) -> onnx.ValueInfoProto:
        name, dtype = self.fresh("x"), self.pick.choice(TYPES)
        shape = tuple(self.dim() for _ in range(self.pick.choice((0, 1, 2, 3, 4, 4))))
        self.here.values[name] = dtype, shape
        dims: list[int | str] = list(shape)
        if dims and self.pick.random() < 0.5:
            self.here.values[name] = dtype, (N, *shape[1:])
            dims[0] = "n"
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), dims)

    def dim(self) -> int:
        return self.pick.choice((1, 1, 2, 3, 4, 4, 8, 0) if self.pick.random() < 0.1 else (1, 2, 3, 4))

    def info(self, name: str) -> onnx.ValueInfoProto:
        dtype, shape = self.type(name)
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), [None] * len(shape))

    def type(self, name: str) -> tuple[np.dtype, Shape]:
        for scope in reversed(self.scopes):
            if name in scope.values:
                return scope.values[name]
        raise KeyError(name)

    def constant(self, array: object, dtype: object = np.int64) -> str:
        """A constant in this scope or one around, perhaps one that is there already."""
        data = np.asarray(array, dtype)
        scope = self.here if self.pick.random() < 0.7 else self.pick.choice(self.scopes)
        key = (data.dtype, data.shape, data.tobytes())
        if key in scope.known and self.pick.random() < 0.5:
            return scope.known[key]
        name = scope.known[key] = self.fresh("c")
        if self.pick.random() < 0.8:
            scope.constants.append(numpy_helper.from_array(data, name))
        else:
            value = numpy_helper.from_array(data, name)
            scope.nodes.insert(0, helper.make_node("Constant", [], [name], name=self.fresh("n"), value=value))
        scope.values[name] = data.dtype, data.shape
        return name

    def emit(self, op: str, inputs: list[str], *results: tuple[object, Shape], **attributes: object) -> str:
        """Adds a node; returns its first output. Now and then the same node is added twice."""
        outputs = [self.fresh("v") for _ in results]
        self.here.nodes.append(helper.make_node(op, inputs, outputs, name=self.fresh("n"), **attributes))
        for name, (dtype, shape) in zip(outputs, results, strict=True):
            self.here.values[name] = np.dtype(dtype), tuple(shape)
        if self.pick.random() < 0.1:
            return self.emit(op, inputs, *results, **attributes)
        return outputs[0]

    def value(self, fits: Callable[[np.dtype, Shape], bool] = lambda dtype, shape: True) -> str | None:
        """A value at hand, recent ones more often."""
        names = [name for scope in self.scopes for name, type_ in scope.values.items() if fits(*type_)]
        if not names:
            return None
        return self.pick.choice(names[-4:] if self.pick.random() < 0.6 else names)

    # -- operators ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Adds an operator, or a few that belong together."""
        draws = _DRAWS if len(self.scopes) < 3 else [draw for draw in _DRAWS if draw not in _CONTROL]
        self.pick.choice(draws)(self)

    def unary(self) -> str | None:
        name = self.value(lambda dtype, _: dtype in FLOATS)
        if name is None:
            return None
        ops = ["Relu", "Sigmoid", "Neg", "Abs", "Tanh"] + ["Erf"] * (self.type(name)[0] != np.float64)
        return self.emit(self.pick.choice(ops), [name], self.type(name))

    def same(self) -> str | None:
        """Identity and Dropout."""
        name = self.value(lambda dtype, _: dtype in FLOATS)
        if name is None or self.pick.random() < 0.5:
            name = name or self.value()
            return name and self.emit("Identity", [name], self.type(name))
        results = [self.type(name)] + ([(BOOL, self.type(name)[1])] if self.pick.random() < 0.3 else [])
        if self.opset < 12:
            return self.emit("Dropout", [name], *results, ratio=0.5)
        ratio, off = self.constant(0.5, np.float32), self.constant(False, bool)
        return self.emit(
            "Dropout", self.pick.choice(([name], [name, ratio], [name, ratio, off], [name, "", off])), *results
        )

    def binary(self) -> str | None:
        name = self.value(lambda dtype, _: dtype in FLOATS | INTEGERS)
        if name is None:
            return None
        dtype, shape = self.type(name)
        other = self.operand(dtype, shape)
        result = np.broadcast_shapes(shape, self.type(other)[1])
        if math.prod(result) > MOST_ELEMENTS:
            return None
        ops = ["Add", "Mul", "Sub"] + ["Max", "Min"] * (self.opset > 11)
        if dtype in FLOATS or self.is_one(other):
            ops.append("Div")
        op = self.pick.choice(ops)
        if self.pick.random() < 0.1 and op in ("Max", "Min"):
            return self.emit(op, [name], (dtype, shape))
        pair = [name, other] if op == "Div" or self.pick.random() < 0.5 else [other, name]
        return self.emit(op, pair, (dtype, result))

    def operand(self, dtype: np.dtype, shape: Shape) -> str:
        """A constant, neutral more often than not, or a value of the same type."""
        if self.pick.random() < 0.4:
            found = self.value(lambda d, s: d == dtype and _broadcasts(shape, s))
            if found is not None:
                return found
        wider = (1, *shape) if self.pick.random() < 0.3 else shape
        own = tuple(1 if self.pick.random() < 0.5 else d for d in shape)
        chosen = self.pick.choice(((), (1,), own, shape, wider, tuple(2 if d == 1 else d for d in shape)))
        fill = self.pick.choice((0, 1, 1, 0, -0.0, 2, 0.5))
        return self.constant(np.full(chosen, fill), dtype)

    def is_one(self, name: str) -> bool:
        return any(
            key[2] == np.ones(key[1], key[0]).tobytes() for s in self.scopes for key, n in s.known.items() if n == name
        )

    def cast(self) -> str | None:
        name = self.value()
        if name is None:
            return None
        dtype, shape = self.type(name)
        # Of two casts in a row to the type they have already, onnxruntime loses one that a nested graph captures.
        idle = () if any(name in node.output for node in self.here.nodes if node.op_type == "Cast") else (dtype,)
        targets = sorted(FLOATS | ({BOOL} | INTEGERS if dtype not in FLOATS else set()), key=str)
        to = self.pick.choice([*(t for t in targets if t != dtype), *idle])
        wide = self.emit("Cast", [name], (to, shape), to=helper.np_dtype_to_tensor_dtype(to))
        if self.pick.random() < 0.5 and not (to in FLOATS and dtype not in FLOATS):
            return self.emit("Cast", [wide], (dtype, shape), to=helper.np_dtype_to_tensor_dtype(dtype))
        return wide

    def view(self) -> str | None:
        name = self.value()
        if name is None:
            return None
        dtype, shape = self.type(name)
        kind = self.pick.choice(("Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "back"))
        if kind == "Flatten":
            axis = self.pick.randint(0, len(shape))
            result = (math.prod(shape[:axis]), math.prod(shape[axis:]))
            return self.emit("Flatten", [name], (dtype, result), axis=axis)
        if kind == "Squeeze":
            axes = [i for i, d in enumerate(shape) if d == 1 and self.pick.random() < 0.7]
            return (
                self.axes_node("Squeeze", name, axes, tuple(d for i, d in enumerate(shape) if i not in axes))
                if axes
                else None
            )
        if kind == "Unsqueeze":
            axis = self.pick.randint(0, len(shape))
            given = axis if self.pick.random() < 0.5 else axis - len(shape) - 1
            return (
                self.axes_node("Unsqueeze", name, [given], (*shape[:axis], 1, *shape[axis:]))
                if len(shape) < 5
                else None
            )
        if kind == "back":
            flat = self.emit("Reshape", [name, self.constant([-1])], (dtype, (math.prod(shape),)))
            return self.emit("Reshape", [flat, self.constant(shape)], (dtype, shape)) if 0 not in shape else flat
        wanted = self.another_shape(shape)
        target = [-1 if self.pick.random() < 0.2 else d for d in wanted]
        if target.count(-1) > 1 or (-1 in target and 0 in shape):
            target = list(wanted)
        zeros = {}
        if 0 in target:
            if self.opset < 14:
                return None
            zeros = {"allowzero": 1}
        elif self.pick.random() < 0.3:
            target = [0 if i < len(shape) and shape[i] == wanted[i] and d > 0 else d for i, d in enumerate(target)]
        return self.emit("Reshape", [name, self.constant(target)], (dtype, wanted), **zeros)

    def another_shape(self, shape: Shape) -> Shape:
        rest, dims = math.prod(shape), []
        if rest == 0:
            return tuple(self.pick.sample(shape, len(shape)))
        while rest > 1 and len(dims) < 3:
            dims.append(self.pick.choice([d for d in range(1, rest + 1) if rest % d == 0]))
            rest //= dims[-1]
        dims += [rest] if rest > 1 or self.pick.random() < 0.3 else []
        return tuple(self.pick.choice((dims, list(shape))))

    def axes_node(self, op: str, name: str, axes: list[int], result: Shape, **attributes: object) -> str:
        """An operator whose axes were an attribute once and are an input now."""
        since = 18 if op.startswith("Reduce") and op != "ReduceSum" else 13
        dtype = self.type(name)[0]
        if self.opset < since:
            return self.emit(op, [name], (dtype, result), axes=axes, **attributes)
        return self.emit(op, [name, self.constant(axes)], (dtype, result), **attributes)

    def transpose(self) -> str | None:
        name = self.value(lambda _, shape: len(shape) > 1)
        if name is None:
            return None
        for _ in range(self.pick.randint(1, 2)):
            dtype, shape = self.type(name)
            perm = self.pick.sample(range(len(shape)), len(shape))
            swap = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            perm = self.pick.choice((perm, swap, list(reversed(range(len(shape))))))
            given = {} if perm == sorted(perm)[::-1] and self.pick.random() < 0.5 else {"perm": perm}
            name = self.emit("Transpose", [name], (dtype, tuple(shape[i] for i in perm)), **given)
        return name

    def spread(self) -> str | None:
        name = self.value()
        if name is None:
            return None
        dtype, shape = self.type(name)
        if self.pick.random() < 0.5:
            wanted = tuple(self.dim() if d == 1 and self.pick.random() < 0.5 else d for d in shape)
            wanted = self.pick.choice((wanted, (2, *wanted)))
            if math.prod(wanted) > MOST_ELEMENTS or len(wanted) > 5:
                return None
            return self.emit("Expand", [name, self.constant(wanted)], (dtype, wanted))
        repeats = [self.pick.choice((1, 1, 1, 2)) for _ in shape]
        wanted = tuple(d * r for d, r in zip(shape, repeats, strict=True))
        if math.prod(wanted) > MOST_ELEMENTS or not shape:
            return None
        return self.emit("Tile", [name, self.constant(repeats)], (dtype, wanted))

    def slice(self) -> str | None:
        name = self.value(lambda dtype, shape: len(shape) > 0 and dtype != BOOL)
        if name is None:
            return None
        dtype, shape = self.type(name)
        axis = self.pick.randrange(len(shape))
        start, end = self.pick.choice((0, 0, 1, -1, -9)), self.pick.choice((99, shape[axis], 1, -1))
        step = self.pick.choice((1, 1, 2, -1))
        if step < 0:
            start, end = -1, -99
        length = len(range(*slice(start, None if step < 0 else end, step).indices(shape[axis])))
        given = [self.constant([start]), self.constant([end]), self.constant([axis])]
        if step != 1 or self.pick.random() < 0.5:
            given.append(self.constant([step]))
        return self.emit("Slice", [name, *given], (dtype, (*shape[:axis], length, *shape[axis + 1 :])))

    def pad(self) -> str | None:
        name = self.value(
            lambda dtype, shape: len(shape) > 0 and 0 not in shape and dtype in FLOATS | {np.dtype(np.int64)}
        )
        if name is None:
            return None
        dtype, shape = self.type(name)
        pads = [self.pick.choice((0, 0, 0, 0, 1, -1)) if self.pick.random() < 0.6 else 0 for _ in (*shape, *shape)]
        result = tuple(d + a + b for d, a, b in zip(shape, pads[: len(shape)], pads[len(shape) :], strict=True))
        if min(result) < 1 or math.prod(result) > MOST_ELEMENTS:
            return None
        return self.emit("Pad", [name, self.constant(pads)], (dtype, result))

    def concat(self) -> str | None:
        name = self.value(lambda _, shape: len(shape) > 0)
        if name is None:
            return None
        dtype, shape = self.type(name)
        axis = self.pick.randrange(len(shape))
        parts = [name] * self.pick.choice((1, 1, 2))
        other = self.value(
            lambda d, s: d == dtype and len(s) == len(shape) and _without(s, axis) == _without(shape, axis)
        )
        parts += [other] if other and self.pick.random() < 0.7 else []
        total = sum(self.type(part)[1][axis] for part in parts)
        result = (*shape[:axis], total, *shape[axis + 1 :])
        return self.emit("Concat", parts, (dtype, result), axis=axis) if math.prod(result) <= MOST_ELEMENTS else None

    def split(self) -> str | None:
        name = self.value(lambda dtype, shape: len(shape) > 0 and 0 not in shape and dtype != BOOL)
        if name is None:
            return None
        dtype, shape = self.type(name)
        axis = self.pick.randrange(len(shape))
        cut = self.pick.randint(0, shape[axis] - 1)
        parts = [cut, shape[axis] - cut] if cut else [shape[axis]]
        results = [(dtype, (*shape[:axis], part, *shape[axis + 1 :])) for part in parts]
        if self.opset < 13:
            return self.emit("Split", [name], *results, axis=axis, split=parts)
        if len(parts) == 1 and self.pick.random() < 0.5:
            given = {"num_outputs": 1} if self.opset >= 18 else {}
            return self.emit("Split", [name], *results, axis=axis, **given)
        return self.emit("Split", [name, self.constant(parts)], *results, axis=axis)

    def gather(self) -> str | None:
        name = self.value(lambda _, shape: len(shape) > 0 and 0 not in shape)
        if name is None:
            return None
        dtype, shape = self.type(name)
        axis = self.pick.randrange(len(shape))
        index = np.array(self.pick.choice((0, [0], [-1, 0], [[0]])))
        result = (*shape[:axis], *index.shape, *shape[axis + 1 :])
        if len(result) > 5 or math.prod(result) > MOST_ELEMENTS:
            return None
        return self.emit("Gather", [name, self.constant(index)], (dtype, result), axis=axis)

    def shape_arithmetic(self) -> str | None:
        """Reshape or Expand to a shape that is computed from a shape."""
        name = self.value(lambda _, shape: 0 < len(shape) < 5 and 0 not in shape)
        if name is None:
            return None
        dtype, shape = self.type(name)
        size = self.emit("Shape", [name], (np.int64, (len(shape),)))
        match self.pick.randint(0, 4):
            case 0:
                return self.emit("Reshape", [name, size], (dtype, shape))
            case 1:
                return self.emit("Expand", [name, size], (dtype, shape))
            case 2:
                first = self.emit("Gather", [size, self.constant([0])], (np.int64, (1,)), axis=0)
                joined = self.emit("Concat", [first, self.constant([-1])], (np.int64, (2,)), axis=0)
                return self.emit("Reshape", [name, joined], (dtype, (shape[0], math.prod(shape[1:]))))
            case 3:
                total = self.emit("ReduceProd", [size], (np.int64, (1,)), keepdims=1)
                return self.emit("Reshape", [name, total], (dtype, (math.prod(shape),)))
            case _:
                one = self.constant(np.ones(len(shape)))
                doubled = self.emit("Mul", [size, one], (np.int64, (len(shape),)))
                value = numpy_helper.from_array(np.array([1.5], np.float32))
                return self.emit("ConstantOfShape", [doubled], (np.float32, shape), value=value)

    def matmul(self) -> str | None:
        name = self.value(lambda dtype, shape: dtype == np.float32 and len(shape) > 1 and 0 not in shape)
        if name is None:
            return None
        dtype, shape = self.type(name)
        other = self.value(lambda d, s: d == dtype and len(s) == 2 and s[0] == shape[-1] and s[1] > 0)
        if other is None or self.pick.random() < 0.5:
            other = self.constant(_numbers(self.pick, (shape[-1], self.pick.choice((1, 4, 8)))), dtype)
        return self.emit("MatMul", [name, other], (dtype, (*shape[:-1], self.type(other)[1][-1])))

    def conv(self) -> str | None:
        name = self.value(lambda dtype, shape: dtype == np.float32 and len(shape) == 4 and 0 not in shape)
        if name is None:
            return None
        dtype, (n, c, h, w) = self.type(name)
        group = self.pick.choice((1, 1, 1, c))
        kernel = self.constant(_numbers(self.pick, (4 * group, c // group, 1, 1)), dtype)
        inputs = [name, kernel] + (
            [self.constant(_numbers(self.pick, (4 * group,)), dtype)] if self.pick.random() < 0.5 else []
        )
        if 4 * group * n * h * w > MOST_ELEMENTS:
            return None
        return self.emit("Conv", inputs, (dtype, (n, 4 * group, h, w)), kernel_shape=[1, 1], group=group)

    def reduce(self) -> str | None:
        name = self.value(lambda dtype, shape: dtype in FLOATS and len(shape) > 0 and 0 not in shape)
        if name is None:
            return None
        dtype, shape = self.type(name)
        axis = self.pick.randrange(len(shape))
        keep = self.pick.randint(0, 1)
        result = (*shape[:axis], *[1] * keep, *shape[axis + 1 :])
        if self.pick.random() < 0.3:
            return self.emit("Softmax", [name], (dtype, shape), axis=axis)
        return self.axes_node(
            self.pick.choice(("ReduceMean", "ReduceMax", "ReduceSum")), name, [axis], result, keepdims=keep
        )

    def logic(self) -> str | None:
        condition = self.value(lambda dtype, _: dtype == BOOL)
        if condition is None or self.pick.random() < 0.4:
            name = self.value(lambda dtype, _: dtype in FLOATS | INTEGERS)
            if name is None:
                return None
            dtype, shape = self.type(name)
            return self.emit(self.pick.choice(("Greater", "Less")), [name, self.constant(0, dtype)], (BOOL, shape))
        shape = self.type(condition)[1]
        a = self.value(lambda dtype, s: dtype in _CHOSEN and _broadcasts(shape, s))
        if a is None:
            return self.emit("Not", [condition], (BOOL, shape))
        dtype = self.type(a)[0]
        both = np.broadcast_shapes(shape, self.type(a)[1])
        b = self.value(lambda d, s: d == dtype and _broadcasts(both, s)) or a
        result = np.broadcast_shapes(both, self.type(b)[1])
        return self.emit("Where", [condition, a, b], (dtype, result)) if math.prod(result) <= MOST_ELEMENTS else None

    # -- control flow -------------------------------------------------------------------------------------------

    def branch(self) -> str | None:
        """An If whose branches give a value of the same type, made of one around."""
        name = self.value(lambda dtype, _: dtype in FLOATS)
        if name is None:
            return None
        condition = self.value(lambda dtype, shape: dtype == BOOL and shape == ()) or self.constant(True, bool)
        then, other = (self.nested(name, []) for _ in range(2))
        return self.emit("If", [condition], self.type(name), then_branch=then, else_branch=other)

    def loop(self) -> str | None:
        """A Loop with one state and one scan output."""
        name = self.value(lambda dtype, _: dtype in FLOATS)
        if name is None:
            return None
        dtype, shape = self.type(name)
        trips = self.pick.randint(1, 3)  # for 0 onnxruntime makes up the shape of the copies
        inputs = [self.constant(trips), self.pick.choice(("", self.constant(True, bool))), name]
        state = self.fresh("s")
        formals = [(self.fresh("i"), np.dtype(np.int64), ()), (self.fresh("on"), BOOL, ()), (state, dtype, shape)]
        body = self.nested(state, formals, loop=True)
        return self.emit("Loop", inputs, (dtype, shape), (dtype, (trips, *shape)), body=body)

    def nested(self, start: str, formals: list[tuple[str, np.dtype, Shape]], *, loop: bool = False) -> onnx.GraphProto:
        """A nested graph that gives a value of the type of ``start``; for a loop also its condition and a copy."""
        scope = self.push()
        for name, dtype, shape in formals:
            scope.values[name] = dtype, shape
        current = start
        for _ in range(self.pick.randint(0, 3)):
            self.step()
        for _ in range(self.pick.randint(1, 3)):
            same = self.value(lambda dtype, shape: (dtype, shape) == self.type(start))
            current = self.emit(self.pick.choice(("Relu", "Identity", "Neg")), [same or current], self.type(start))
        outputs = [current]
        if loop:
            going = self.emit("Identity", [formals[1][0]], (BOOL, ()))
            outputs = [going, current, self.emit(self.pick.choice(("Neg", "Identity")), [current], self.type(start))]
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), [None] * len(shape))
            for name, dtype, shape in formals
        ]
        results = [self.info(name) for name in outputs]
        graph = helper.make_graph(scope.nodes, self.fresh("g"), infos, results, initializer=scope.constants)
        self.scopes.pop()
        return graph


class Scope:
    """What one graph holds so far."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.values: dict[str, tuple[np.dtype, Shape]] = {}
        self.known: dict[tuple[np.dtype, Shape, bytes], str] = {}


_CONTROL = (ModelMaker.branch, ModelMaker.loop)
_DRAWS = [
    ModelMaker.unary, ModelMaker.same, ModelMaker.same, ModelMaker.binary, ModelMaker.binary, ModelMaker.binary,
    ModelMaker.cast, ModelMaker.cast, ModelMaker.view, ModelMaker.view, ModelMaker.view, ModelMaker.transpose,
    ModelMaker.transpose, ModelMaker.spread, ModelMaker.slice, ModelMaker.pad, ModelMaker.concat, ModelMaker.split,
    ModelMaker.gather, ModelMaker.shape_arithmetic, ModelMaker.matmul, ModelMaker.conv, ModelMaker.reduce,
    ModelMaker.logic, ModelMaker.branch, ModelMaker.loop,
]  # fmt: skip


def _broadcasts(a: Shape, b: Shape) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def _numbers(pick: random.Random, shape: Shape) -> np.ndarray:
    """Weights, small multiples of 1/4 so that sums are exact."""
    return np.array([pick.randint(-4, 4) / 4 for _ in range(math.prod(shape))]).reshape(shape)
