"""The faults of FAULTS.md as runs: which program, from which step on, and what an alarm is to name."""
import dataclasses

from monitored_run import Settings


@dataclasses.dataclass(frozen=True)
class Fault:
    """`step`: the first whose journal differs from a healthy run's; the alarm is to be of it or the next. None: the run's last.

    `subjects`: substrings (of the subject, the statement or `others` of the first alarm), of which one is to be there.
    `reference`: whether facts learned from healthy runs may be needed."""

    name: str
    program: str
    step: int
    subjects: tuple
    reference: bool = False
    variant: str = ""
    steps: int = 12
    note: str = ""

    def settings(self, seed, fault=True):
        return Settings(self.program, self.variant, self.name if fault else "", seed=seed, steps=self.steps)

    @property
    def window(self):
        """Steps at which the first alarm counts."""
        return (self.step, self.step + 1)


#: The faults that begin at a step do so at this one, the default of `Settings`.
AT = Settings.fault_step

FAULTS = (
    Fault("loss_scale", "language_model", AT, ("backward", "loss")),
    Fault("momentum_lost", "language_model", AT, ("exp_avg", "weight", "bias")),
    Fault("no_zero_grad", "language_model", 0, ("gradient", "zero_grad")),
    Fault("no_scheduler", "language_model", 1, ("LambdaLR", "scheduler", "learning rate", "lr"), True),
    Fault("no_eval", "language_model", AT + 2, ("training", "eval", "forward", "model"), True,
          note="the first evaluation after step 6 is that which follows step 7"),
    Fault("no_clip", "language_model", AT, ("clip",), True),
    Fault("same_batch", "language_model", 1, ("batch", "input", "tokens", "labels"), True),
    Fault("shifted_labels", "language_model", AT, ("batch", "input", "labels", "shift"), True),
    Fault("untied_head", "language_model", 0, ("head.weight", "tokens.weight"), True),
    Fault("frozen_layer", "language_model", 0, ("blocks.1",), True),
    Fault("replaced_layer", "language_model", 0, ("blocks.1.up",)),
    Fault("lost_update", "language_model", AT, ("parameter", "weight", "bias", "model", "AdamW"), variant="master_weights",
          note="copies in float32 are not written back"),
    Fault("other_state_dict", "language_model", 8, ("state",), note="saved after steps 3 and 7; the first is right"),
    Fault("initialised_twice", "language_model", AT, ("weight", "bias", "parameter")),
    Fault("no_autocast", "mixed_precision", AT, ("autocast", "forward", "bfloat16", "dtype"), True),
    Fault("dropped_samples", "convolutional", AT, ("batch", "input", "shape"), True),
    Fault("ends_early", "convolutional", AT, ("end", "step", "eval", "state", "forward"), True),
    Fault("evaluation_first", "convolutional", 0, ("eval", "forward", "training", "model"), True),
    Fault("no_sync", "replicated", AT, ("all_reduce", "gradient", "weight", "bias")),
    Fault("inner_module", "replicated", AT, ("all_reduce", "gradient", "weight", "bias", "forward", "module")),
    Fault("unequal_start", "replicated", 0, ("weight", "bias")),
    Fault("clip_one_rank", "replicated", AT, ("clip",)),
    Fault("own_norm", "sharded", AT, ("clip", "norm")),
    Fault("counted_twice", "sharded_tensor_parallel", AT, ("clip", "norm")),
    Fault("sum_for_average", "replicated", AT, ("weight", "bias", "gradient"), variant="hook"),
    Fault("same_data", "replicated", 0, ("batch", "input", "data")),
    Fault("drift", "replicated", AT, ("3.weight",)),
    Fault("lost_part", "replicated", AT, ("weight", "bias", "gradient", "all_reduce"), variant="hook"),
    Fault("flipped_bit", "replicated", AT, ("3.weight",)))
