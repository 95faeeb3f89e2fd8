"""Cube operators get the storage formats that they work on; TransData stands where formats meet."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node, Value
from gexplorer.ir.types import TensorType
from gexplorer.ops.formats import in_formats, layout_of, stored_type, trans_data, trans_data_body
from gexplorer.ops.traits import is_elementwise
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message

# Formats of inputs and output by operator: what the real GE prefers on 910-class chips.
FORMATS = {
    "Conv": ("NC1HWC0", "FRACTAL_Z", "ND", "NC1HWC0"),
    "MatMul": ("FRACTAL_NZ", "FRACTAL_NZ", "FRACTAL_NZ"),
}
_TYPES = (DType.FLOAT16, DType.FLOAT32)


class FormatAssignment(Pass):
    """Gives Conv and MatMul their storage formats, lets elementwise operators follow, and cancels what meets.

    before:  a = Conv(x: NCHW, w); b = Relu(a); y = Conv(b, v)
    after:   x' = TransData(x); a' = Conv(x', w'); b' = Relu(a'); y' = Conv(b', v'); y = TransData(y')

    Off by default, since it changes the drawing a lot. A Conv or MatMul on stored tensors keeps a body that says
    what it computes in terms of plain ones, so every step still runs.
    """

    name = "format_assignment"
    ge_name = "RefineRunningFormat"
    order = 800
    default = False
    messages = Map(
        cube=Message("{node} ({op}) works on {formats}"),
        follows=Message("{node} ({op}) works on {format} like what feeds it"),
        cancelled=Message("{node} packs again what {inner} unpacked"),
        same=Message("{node} packs what {kept} packs too"),
        unused=Message("nothing reads what {node} unpacks: all users took the stored tensor"),
        unfit=Message("{node} ({op}): {format} cannot hold {blocker}, which is {type}"),
        dynamic=Message("{node} ({op}): the shape of {blocker} is not known before run time", "bind it with --shape"),
        grouped=Message("{node} is a convolution in {group} groups, which has a format of its own (FRACTAL_Z_G)"),
        element_type=Message("{node} ({op}) works on {dtype}, for which no format is modelled"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """One sweep in program order; what a node reads has its format by then."""
        if draft.opsets.get("", 0) < 11:
            return
        for node in draft.base.order:
            if node.domain or node.body is not None:
                continue
            current = draft.node(node.name)
            if node.op in FORMATS:
                self._assign(current, FORMATS[node.op], draft, log)
            elif is_elementwise(node):
                self._follow(current, draft, log)
        self._cancel(draft, log)

    def _assign(self, node: Node, formats: tuple[str, ...], draft: Draft, log: Log) -> None:
        types = [draft.tensor(name) for name in node.inputs]
        output = draft.tensor(node.outputs[0])
        group = node.integer("group", 1)
        if group != 1:
            log.reject(node, "grouped", group=group)
            return
        wanted = (*formats[: len(node.inputs)], formats[-1])
        for name, type_, format_ in zip((*node.inputs, node.outputs[0]), (*types, output), wanted, strict=True):
            if not name or format_ == "ND":
                continue
            if type_ is not None and type_.dtype not in _TYPES:
                log.reject(node, "element_type", op=node.op, dtype=type_.dtype.label)
                return
            if type_ is not None and type_.elements is not None and layout_of(type_, format_) is None:
                log.reject(node, "unfit", blocker=name, op=node.op, format=format_, type=str(type_))
                return
            if type_ is None or layout_of(type_, format_) is None:
                log.reject(node, "dynamic", blocker=name, op=node.op)
                return
        assert output is not None
        with log.rewrite(node, "cube", op=node.op, formats=" x ".join(wanted[:-1]) + f" -> {wanted[-1]}"):
            body = in_formats(node, types, output, wanted, draft.opsets)
            inputs = [
                _pack(draft, node, name, type_, format_) if type_ is not None and format_ != "ND" else name
                for name, type_, format_ in zip(node.inputs, types, wanted, strict=False)
            ]
            kernel = replace(node, inputs=tuple(name for name in inputs if name), domain="ge", body=body)
            _unpack_output(draft, kernel, output, wanted[-1])

    def _follow(self, node: Node, draft: Draft, log: Log) -> None:
        output = draft.tensor(node.outputs[0])
        if output is None or len(node.outputs) != 1 or not node.inputs:
            return
        sources: list[str] = []
        format_ = ""
        for name in node.inputs:
            producer = draft.producer(name) if name else None
            type_ = draft.tensor(name) if name else None
            if producer is None or producer.op != "TransData" or producer.attribute("dst_format") != "ND":
                return
            if type_ is None or type_.shape != output.shape or type_.dtype not in _TYPES:
                return
            sources.append(producer.inputs[0])
            format_ = str(producer.attribute("src_format"))
        stored = {str(draft.tensor(source)) for source in sources}
        if len(stored) != 1 or output.dtype not in _TYPES or layout_of(output, format_) is None:
            return
        if str(replace_dtype(draft.tensor(sources[0]), output.dtype)) != str(stored_type(output, format_)):
            return
        with log.rewrite(node, "follows", op=node.op, format=format_):
            _unpack_output(draft, replace(node, inputs=tuple(sources)), output, format_)

    def _cancel(self, draft: Draft, log: Log) -> None:
        packed: dict[tuple[str, str], str] = {}
        for node in draft.candidates("TransData"):
            if node.attribute("src_format") != "ND":
                continue
            inner = draft.producer(node.inputs[0])
            same = (node.inputs[0], str(node.attribute("dst_format")))
            if (
                inner is not None
                and inner.op == "TransData"
                and draft.tensor(inner.inputs[0]) == draft.tensor(node.outputs[0])
            ):
                with log.rewrite(node, "cancelled", inner=inner.name):
                    draft.replace_uses(node.outputs[0], inner.inputs[0])
                    draft.remove(draft.node(node.name))
            elif same in packed:
                kept = draft.node(packed[same])
                with log.rewrite(node, "same", kept=kept.name):
                    draft.replace_uses(node.outputs[0], kept.outputs[0])
                    draft.remove(draft.node(node.name))
            else:
                packed[same] = node.name
        for node in reversed(draft.candidates("TransData")):
            if not draft.use_count(node.outputs[0]):
                with log.rewrite(node, "unused"):
                    draft.remove(draft.node(node.name))


def replace_dtype(type_: TensorType | None, dtype: DType) -> TensorType | None:
    """A type with another element type."""
    return None if type_ is None else replace(type_, dtype=dtype)


def _pack(draft: Draft, node: Node, name: str, type_: TensorType, format_: str) -> str:
    body = trans_data_body(type_, format_, draft.opsets, back=False)
    template = trans_data("", name, "", format_, body, back=False)
    return draft.insert(
        node,
        "TransData",
        (name,),
        (stored_type(type_, format_),),
        attributes=template.attributes,
        domain=template.domain,
        origin=(),
        body=body,
    ).outputs[0]


def _unpack_output(draft: Draft, kernel: Node, output: TensorType, format_: str) -> None:
    """Puts a kernel whose output is stored, and behind it a TransData that gives the plain value as before."""
    plain = kernel.outputs[0]
    stored = draft.fresh(f"{plain}/{format_}")
    body = trans_data_body(output, format_, draft.opsets, back=True)
    unpack = trans_data(draft.fresh(f"{kernel.name}/TransData"), stored, plain, format_, body, back=True)
    unpack = replace(unpack, origin=kernel.origin, position=kernel.position + 1, scope=kernel.scope)
    draft.put_value(Value(stored, stored_type(output, format_), producer=kernel.name))
    draft.put_node(replace(kernel, outputs=(stored,)))
    value = draft.own_value(plain)
    assert value is not None
    draft.put_value(replace(value, producer=unpack.name))
    draft.put_node(unpack)
