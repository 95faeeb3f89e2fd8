"""What validation says, as sentences over parameters: one catalogue for all checks."""

from __future__ import annotations

from immutables import Map

from gexplorer.trace.records import Message

MESSAGES = Map(
    {
        # The graph.
        "graph_valid": Message("{nodes} nodes and {values} values keep every invariant"),
        "graph_invalid": Message("{fault}"),
        "results_renamed": Message("the results are called {now}, not {before}"),
        # The memory plan and the streams.
        "memory_sound": Message("{buffers} buffers, {tensors} tensors: no two live ones share a byte"),
        "streams_sound": Message("{kernels} kernels on {streams}: every write waits for the last use of its bytes"),
        "one_stream": Message("{kernels} kernels on one stream, in the order that memory was planned for"),
        "no_schedule": Message("nothing is scheduled"),
        "finding": Message("{sentence}", "{cure}"),
        "more_findings": Message("{count} more of {codes}"),
        # What comparing numbers needs.
        "weights_absent": Message(
            "{size} of weights absent ({tensor} is the first)",
            "put the weight files beside the model, or build the zoo's model with small=true or weights=random",
        ),
        "no_inputs": Message("{why}", "give the inputs, or their shapes with --shape"),
        "does_not_run": Message("the original does not run: {why}"),
        "draws_random_numbers": Message("the model draws random numbers: two runs of the original differ"),
        "over_budget": Message("{needed}, over the budget of {budget}; --validate full runs it", "--validate full"),
        "budget_spent": Message(
            "only {left} of the budget of {budget} left; --validate full runs it", "--validate full"
        ),
        "too_large": Message("the values between the kernels are {size}, more than the {limit} that are kept"),
        "no_kernel": Message("no kernel is left whose result could be compared"),
        "only_full": Message("left out: --validate full compares what every kernel gives", "--validate full"),
        # The dry run.
        "equal": Message("{outputs}, {runs}: {error}; {original} against the compiled graph in {evaluator}"),
        "no_finite_number": Message("no output holds a finite number, so that equal results prove nothing"),
        "ill_conditioned": Message(
            "output {node} cannot be judged: {fault}, but the original itself moves by {moved} when its inputs change "
            "in their last bits"
        ),
        "compiled_does_not_run": Message("the compiled graph does not run, the original does: {why}"),
        "output_differs": Message(
            "output {node}: {fault}, limit {limit}, cosine error {cosine}, seed {seed}{sizes}",
            "gexplorer bisect MODEL finds the pass and the rewrite",
        ),
        "more_outputs_differ": Message("{count} more"),
        "first_step": Message("first wrong after step {node}", "--off {node}, and gexplorer bisect MODEL"),
        "size_left_out": Message("not with {sizes}: {why}"),
        "fallback": Message("{evaluator} ran it, because {why}"),
        # Kernel by kernel.
        "kernels_agree": Message("{kernels} give what the original gives there, {error}"),
        "kernel_differs": Message(
            "the first kernel that drifts is {node} ({op}): its result {value} has {fault}",
            "gexplorer bisect MODEL finds the pass and the rewrite",
        ),
        "inner_value_differs": Message(
            "{value} of {node} ({op}) is another value under the same name ({fault}), and every output agrees"
        ),
        # The pool.
        "pool_equal": Message("{instructions} in a pool of {pool}, {runs}: bit-equal to private buffers"),
        "pool_differs": Message(
            "output {node} is another than with private buffers ({bytes} of its bytes differ): memory is reused too "
            "early",
            "plan with GE_MEM_PLANNING_MODE=safe, or --memory safe",
        ),
        "program_differs": Message(
            "output {node} of the program is not the original's, with private buffers too: {fault}, limit {limit}"
        ),
        "clobbered": Message(
            "{node} reads {tensor}, whose bytes are no longer what its writer left there{culprit}",
            "plan with GE_MEM_PLANNING_MODE=safe, or --memory safe",
        ),
        "first_kernel": Message("{node} is the first that gives other bits"),
        "pool_does_not_run": Message("the program does not run in its pool: {why}"),
        "pool_cannot_run": Message("no kernel can be run for it: {why}"),
        "not_steady": Message("{node} gives other bits on equal inputs, so that bits cannot be compared"),
        "held_aside": Message(
            "Input shape is not supported: dynamic shape detected: {tensors} outside the pool ({tensor}: {why})"
        ),
    }
)
