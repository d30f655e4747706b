"""Which scripts are healthy, and which are healthy but unusual: programs with their variants and optimizers."""
import dataclasses

from monitored_run import Settings


@dataclasses.dataclass(frozen=True)
class Script:
    program: str
    variant: str = ""
    optimizer: str = ""

    def settings(self, seed, steps=12, every=1):
        return Settings(self.program, self.variant, optimizer=self.optimizer, seed=seed, steps=steps, every=every)

    @property
    def name(self):
        return self.settings(0).script

    @property
    def plain(self):
        """The program of which this is a variant."""
        return Script(self.program, "", self.optimizer)


HEALTHY = (
    *(Script("language_model", optimizer=name) for name in ("adamw", "adam", "sgd", "nesterov", "adamw_foreach", "adamw_fused")),
    *(Script("convolutional", optimizer=name) for name in ("sgd", "nesterov", "adamw", "sgd_foreach", "sgd_fused")),
    Script("mixture"), Script("mixture", optimizer="adam_fused"),
    Script("mixed_precision"), Script("mixed_precision", optimizer="sgd"),
    Script("replicated"), Script("replicated", optimizer="sgd"),
    Script("sharded"), Script("sharded_tensor_parallel"),
    Script("staged"), Script("staged", optimizer="nesterov"))

UNUSUAL = (
    *(Script("language_model", name) for name in (
        "accumulation", "small_last_batch", "warmup_from_zero", "resumed", "loaded_within", "average_for_evaluation", "averaged_model",
        "lookahead", "unfrozen_halfway", "added_halfway", "checkpointing", "zeroed_gradients", "cleared_after", "bfloat16",
        "group_without_decay", "two_backwards", "sum_of_losses", "frozen_backbone", "part_of_the_model", "distillation",
        "second_forward", "skips_non_finite", "master_weights")),
    Script("language_model", "bfloat16", "sgd"), Script("language_model", "lookahead", "sgd"),
    Script("convolutional", "small_last_batch"), Script("convolutional", "augmented"),
    Script("mixture", "idle_experts"), Script("mixture", "idle_experts", "sgd"),
    Script("mixed_precision", "scaler"), Script("mixed_precision", "scaler_skips"), Script("mixed_precision", "scaler_skips", "sgd"),
    Script("adversarial"), Script("closure"), Script("closure", "lbfgs"),
    Script("replicated", "accumulation"), Script("replicated", "hook"),
    Script("sharded", "accumulation"), Script("sharded", "mixed_precision"), Script("sharded_tensor_parallel", "bfloat16"))
