"""Models of transformers, tiny, split by `tp_plan="auto"`."""
import tempfile

import torch
import torch.distributed as dist
import transformers
from planproof.torch import Training, reduced
from transformers.distributed import DistributedConfig

from models import VOCABULARY
from transformer import batch_of

SIZES = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
             attention_dropout=0.0, bos_token_id=0, eos_token_id=1, pad_token_id=None)


def causal_model(config):
    """The causal language model of a configuration."""
    config = type(config)(**{**config.to_dict(), "attn_implementation": "eager"})
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.get_default_dtype())


def tensor_parallel(config, mesh, size=2, **options):
    """An iteration of the model with `size` sequences, split by its own plan; `options` are those of `DistributedConfig`."""
    model = causal_model(config)
    if mesh is not None:
        with tempfile.TemporaryDirectory() as own:
            shared = [own]
            dist.broadcast_object_list(shared)
            model.save_pretrained(shared[0])  # rank 0 does
            dist.barrier()
            model = transformers.AutoModelForCausalLM.from_pretrained(
                shared[0], attn_implementation="eager",
                distributed_config=DistributedConfig(tp_plan="auto", tp_size=mesh.size(), **options))
            dist.barrier()
    return training(model, batch_of(None, None, size))


def training(model, data, average=False):
    """An iteration with AdamW. `average`: the loss of the whole batch is the ranks' mean."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, labels, inputs = data

    def step():
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=labels, use_cache=False).loss
        loss.backward()
        optimizer.step()
        return {"loss": reduced(loss, "avg") if average else loss}

    return Training(step, model, optimizer, inputs)


transformers.utils.logging.disable_progress_bar()
