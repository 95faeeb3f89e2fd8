"""What is said of a place that a rule looked at: sentences, and the kinds that places are counted by."""

from __future__ import annotations

from collections.abc import Mapping

from immutables import Map

from gexplorer.trace.records import Message

# Sentences for what the matcher itself finds; a rule adds its own codes.
MATCHER_MESSAGES: Mapping[str, Message] = Map(
    in_between=Message(
        "{blocker} ({op}) stands between {behind} ({wanted}) and {user} ({user_op})",
        "move {blocker} before {behind} or behind {user}, if the results stay the same",
    ),
    other_operator=Message("{user} ({user_op}) reads {blocker} ({op}), not {wanted}"),
    no_operator=Message("{user} reads {blocker}, which no {wanted} makes: it is an input or a constant"),
    boundary=Message(
        "{user} reads {blocker}, which is made outside of the branch or loop body that {user} is in",
        "export the model without data-dependent branches and loops",
    ),
    taken=Message(
        "the {wanted} that {user} ({user_op}) reads went into {blocker} ({op}) by a rule that runs before",
        "switch that rule off, and see what it costs",
    ),
    taken_here=Message("the {wanted} that {user} ({user_op}) reads went into {blocker} ({op}), which this rule fused"),
    not_constant=Message(
        "{node} ({op}) reads {blocker}, which is computed at run time; {wanted} is needed",
        "make {blocker} a constant, if it never changes",
    ),
    constant_value=Message("the constant {blocker} that {node} ({op}) reads is not {wanted}"),
    attribute=Message("{blocker} ({op}) has {attribute} = {value}"),
    inputs=Message("{blocker} ({op}) has {count} inputs, for which the kernel has no room"),
    different_values=Message("{first} and {second} would have to be the same value ({name})"),
    other_user=Message("{value}, which {inner} makes, is also used by {blocker} ({op})"),
    comes_back=Message(
        "{value}, which {inner} makes, is used outside too, and {blocker} may come of it: it would wait for itself"
    ),
    engine=Message(
        "{blocker} ({op}) runs on {engine}, not on the AI Core like the rest{why}",
        "give {blocker} another element type",
    ),
    not_allowed=Message(
        "its {attribute} would be {value}, and the switch file allows {allowed}", "add {value} to the switch file"
    ),
    match_off=Message("this match is switched off", "switch it on: --on {rule}:{blocker:q}"),
    fused=Message("{count} operators become one {kernel} kernel: {members}"),
    is_result=Message(
        "{value}, which {blocker} ({op}) makes, is a result of the graph", "take {value} off the results"
    ),
    swallowed=Message("{node} became part of what this rule fused at {blocker}"),
    part_off=Message(
        "{node} is part of the match at {blocker}, which is switched off", "switch it on: --on {rule}:{blocker:q}"
    ),
)

# Sentences for what a price says of a fusion that was tried (``passes/fusion/price.py``).
PRICE_MESSAGES: Mapping[str, Message] = Map(
    does_not_pay=Message(
        "fused to {kernel}, {node} would take {after_us:.1f} us; apart, {kernels} kernels take {before_us:.1f} us"
        " (HBM: {before_bytes:,.0f} bytes apart, {after_bytes:,.0f} fused)",
        "fuse_when=always fuses all the same",
    ),
    does_not_fit=Message(
        "fused to {kernel}, {node} would want {need_bytes:,.0f} bytes of {buffer}, {excess_bytes:,.0f} more than there"
        " are: {spilled_bytes:,.0f} bytes would go to memory and back, and it would take {after_us:.1f} us; apart,"
        " {kernels} kernels take {before_us:.1f} us (HBM: {before_bytes:,.0f} bytes apart, {after_bytes:,.0f} fused)",
        "fuse_when=always fuses all the same",
    ),
)

# The same without names of nodes and values, for counting: what many places have in common.
MATCHER_KINDS: Mapping[str, str] = Map(
    in_between="{user_op} with {op} between it and {wanted}",
    other_operator="{user_op} without {wanted} before it",
    no_operator="{user_op} without {wanted} before it",
    boundary="{wanted} outside of the branch or loop",
    taken="{user_op} whose {wanted} another rule took",
    taken_here="{user_op} whose {wanted} is part of another match",
    not_constant="{op} without {wanted}",
    constant_value="{op} with a constant that is not {wanted}",
    attribute="{op} with {attribute} = {value}",
    inputs="{op} with {count} inputs",
    different_values="two values that should be one",
    other_user="a value inside with another user",
    comes_back="a value inside that would be waited for",
    engine="{op} on {engine}",
    not_allowed="{attribute} not in the switch file",
    match_off="switched off",
    is_result="a value inside that is a result",
    swallowed="part of another match",
    part_off="part of a match that is switched off",
)

PRICE_KINDS: Mapping[str, str] = Map(
    does_not_pay="part of a fusion that does not pay",
    does_not_fit="part of a fusion that does not fit {buffer}",
)
