"""The transformer cut into pipeline stages, with the names that its parameters have in the whole."""
from torch import nn


class Stage(nn.Module):
    """One of two halves: embedding and first layer, or second layer, norm and head."""

    def __init__(self, whole, stage):
        super().__init__()
        self.embedding = whole.embedding if stage == 0 else None
        self.layers = nn.ModuleDict({str(stage): whole.layers[stage]})
        self.norm, self.head = (whole.norm, whole.head) if stage == 1 else (None, None)

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers.values():
            x = layer(x)
        return self.head(self.norm(x)) if self.head is not None else x
