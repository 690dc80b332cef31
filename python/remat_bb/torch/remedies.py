"""Remedies for refused graphs, by the text of Dynamo's reason."""

from __future__ import annotations

KNOWN = (
    (
        ("torch/distributed/fsdp", "fsdp/_fully_shard", "fully_shard"),
        "the step does not name its module of fully_shard (FSDP2): give the module itself to "
        "remat_bb.torch.compile, or a function whose closure, globals or arguments hold it",
    ),
    (
        ("nn.RNN", "nn.GRU", "nn.LSTM", "RNN/GRU/LSTM", "allow_rnn"),
        "set torch._dynamo.config.allow_rnn = True before the first call, and for nn.LSTM on the "
        "processor torch.backends.mkldnn.enabled = False",
    ),
    (
        ("past_key_values", "DynamicCache", "cache_utils"),
        "call the model with use_cache=False: training needs no cache of keys and values",
    ),
    (
        ("router_logits", "output_capturing", "enter a `lock` context manager"),
        "call the model with output_router_logits=False, output_attentions=False and "
        "output_hidden_states=False: transformers records these behind a lock",
    ),
    (
        ("chunked_logprob", "_ChunkedLogProbFunction"),
        "TRL's fused head runs kernels that no graph contains: plan the blocks before it, with "
        'rt.regional(trainer.model, inputs, budget, blocks="model.layers.*")',
    ),
    (
        ("Observed exception",),
        "the function itself raises an error: call it without compile to see where",
    ),
)
"""Words of a reason, and the remedy that works there."""


def of_break(reason: str) -> str:
    """The remedy for a graph break."""
    for words, remedy in KNOWN:
        if any(word in reason for word in words):
            return remedy
    return "take what breaks it out of the step"
