"""Three realistic faults for each plan of examples/daily: small edits of the right plan, each named by what somebody did.

An operator is named by its first output, a backward operator by "d " and the output of its forward operator, either
with "PROGRAM:" in front where several programs have one of that name.
"""
import copy

FAULTS = []


class Fault:

    def __init__(self, plan, name, what, edits):
        self.plan, self.name, self.what, self.edits = plan, name, what, edits

    def key(self):
        return f"{self.plan}/{self.name}"

    def apply(self, right):
        plan = copy.deepcopy(right)
        for edit in self.edits:
            edit(plan["plan"]["programs"])
        if plan == right:
            raise ValueError(f"{self.key()} changes nothing")
        return plan


def fault(plan, name, what, *edits):
    FAULTS.append(Fault(plan, name, what, edits))


def find(programs, name):
    """The list of operators and the place in it."""
    program, _, operator = name.rpartition(":")
    places = []
    for number, candidate in enumerate(programs):
        if program in ("", candidate.get("name", f"program{number}")):
            for place, entry in enumerate(candidate["operators"]):
                out = entry.get("out")
                label = "d " + entry["backward"] if "backward" in entry else out if isinstance(out, str) else out[0]
                if label == operator:
                    places.append((candidate["operators"], place))
    if len(places) != 1:
        raise ValueError(f"{len(places)} operators are named {name}")
    return places[0]


def change(name, **keys):
    """Sets keys of an operator; `reads` is its "in", None takes a key away."""

    def edit(programs):
        operators, place = find(programs, name)
        for key, value in keys.items():
            key = {"reads": "in"}.get(key, key)
            if value is None:
                del operators[place][key]
            else:
                operators[place][key] = value

    return edit


def attribute(name, **values):
    """Sets attributes of an operator; None takes one away, so that the default holds."""

    def edit(programs):
        operators, place = find(programs, name)
        attributes = {**operators[place].get("attrs", {}), **values}
        operators[place]["attrs"] = {key: value for key, value in attributes.items() if value is not None}

    return edit


def copied(name, operand=None):
    """The operator is forgotten: its result is its operand as it is (or another one)."""

    def edit(programs):
        operators, place = find(programs, name)
        entry = operators[place]
        reads = operand or (entry["in"] if isinstance(entry["in"], str) else entry["in"][0])
        operators[place] = {"op": "identity", "in": reads, "out": entry["out"]}
        if "phase" in entry:
            operators[place]["phase"] = entry["phase"]

    return edit


def replaced(name, *entries):
    """Other operators, or none, in its place."""

    def edit(programs):
        operators, place = find(programs, name)
        operators[place:place + 1] = [dict(entry) for entry in entries]

    return edit


def removed(*names):

    def edit(programs):
        for name in names:
            operators, place = find(programs, name)
            del operators[place]

    return edit


def held(**relations):
    """Other relations of inputs."""

    def edit(programs):
        programs[0]["inputs"].update(relations)

    return edit


def unclaimed(tensor):
    """A claim about a tensor that the wrong plan does not have."""

    def edit(programs):
        del next(p["lineage"] for p in programs if tensor in p["lineage"])[tensor]

    return edit


def scheduled(program, steps):

    def edit(programs):
        next(p for p in programs if p["name"] == program)["schedule"] = steps

    return edit


# 1 Megatron's sequence-parallel MLP
PLAN = "sequence_parallel_mlp"
fault(PLAN, "norm_gradient_not_summed_over_tp",
      "The layer norm saw a part of the sequence only, but its weight's gradient is reduced over dp alone.",
      change("grad.gamma", over="dp"))
fault(PLAN, "bias_added_by_every_rank",
      "The bias of the second product is added before the reduce_scatter, so once by every tensor-parallel rank.",
      change("o.part", reads=["act", "w2", "b2"]), copied("o"), removed("d o"),
      change("d o.part", out={"act": "grad.act", "w2": "d.w2", "b2": "d.b2"}), change("grad.b2", over="dp"))
fault(PLAN, "gather_without_reduction_backward",
      "The backward pass of the all_gather takes its own part of the gradient instead of reduce_scatter.",
      change("grad.a", op="chunk"))

# 2 1F1B pipeline
PLAN = "pipeline_1f1b"
fault(PLAN, "loss_not_divided_by_microbatches",
      "The loss of a microbatch is not divided by their number, while gradients are added up.",
      copied("loss.scaled"))
fault(PLAN, "last_backward_pass_not_scheduled",
      "The cool-down of the first stage ends one backward pass too early.",
      scheduled("stage0", ["F0:0", {"for": "i", "from": 0, "to": 3, "do": ["F0:i+1", "B0:i"]}, "update"]))
fault(PLAN, "gradient_overwritten_by_each_microbatch",
      "A microbatch assigns the gradient of the last stage instead of adding to it, so the last one's remains.",
      change("d.v.sum", op="broadcast", over="microbatch", root=3))

# 3 Tied vocabulary-parallel embeddings
PLAN = "tied_embeddings"
fault(PLAN, "gradients_of_the_two_copies_not_added",
      "The first and the last stage keep the gradient of their own use of the tied table.",
      copied("first:grad.table", "d.table.embedding"), copied("last:grad.table", "d.table.head"))
fault(PLAN, "target_not_shifted_by_the_vocabulary_part",
      "Every rank looks up the target as if its part of the vocabulary began at 0.",
      attribute("l.part", start=None))
fault(PLAN, "gradient_of_hidden_states_not_summed_over_tp",
      "The gradient that the head sends to the body is that of one part of the vocabulary.",
      copied("grad.tokens"))

# 4 ZeRO-1
PLAN = "zero1"
fault(PLAN, "gradients_summed_instead_of_averaged",
      "reduce_scatter adds where the loss is a mean.",
      change("g1", reduce=None), change("g2", reduce=None))
fault(PLAN, "wrong_offset_of_the_shard",
      "The rows of w1 that a rank updates begin at the offset of w2.",
      attribute("w1.shard", start="=dp * 2"))
fault(PLAN, "old_parameters_gathered",
      "The all_gather after the optimizer step gathers the shard from before it.",
      change("w2.new", reads="w2.shard"))

# 5 Mixture of experts
PLAN = "moe_all_to_all"
fault(PLAN, "expert_gradients_summed_over_ranks",
      "Gradients of expert weights are reduced over ep like those of shared ones, although every rank has other experts.",
      replaced("d h", {"backward": "h", "out": {"up": "d.up"}},
               {"op": "all_reduce", "over": "ep", "in": "d.up", "out": "grad.up",
                "source": "train.py:50: all_reduce(up.grad)"}))
fault(PLAN, "router_gradient_not_summed",
      "Every rank keeps the router's gradient of its own tokens.",
      copied("grad.router"))
fault(PLAN, "experts_placed_round_robin",
      "Ranks load experts ep and ep + 4, while tokens are sent to experts 2 ep and 2 ep + 1.",
      held(up={"map": ["i0 * 4 + ep", "i1", "i2"], "shape": [2, 12, 6]},
           down={"map": ["i0 * 4 + ep", "i1", "i2"], "shape": [2, 6, 12]}))

# 6 Ring attention
PLAN = "ring_attention"
fault(PLAN, "wrapped_block_not_masked",
      "The second block is masked as the block before the rank's own, on rank 0, too, to which the ring brings the last one.",
      attribute("m1", start=4), attribute("p1", start=4), attribute("w1", start=4))
fault(PLAN, "key_gradients_one_hop_short",
      "Gradients of keys are not sent the last hop, so every rank has those of its neighbour.",
      copied("grad.k"))
fault(PLAN, "result_not_rescaled",
      "What is accumulated is not rescaled when the third block raises the maximum.",
      change("o2", reads=["o1", "m2", "m2", "p2", "v2"]))

# 7 FSDP
PLAN = "fsdp"
fault(PLAN, "one_gradient_summed_instead_of_averaged",
      "The reduce_scatter of the first layer adds, the others average.",
      change("grad.w1", reduce=None))
fault(PLAN, "weight_not_gathered_again",
      "The backward pass of the first layer reads the gathered weight, whose buffer holds another one by then.",
      change("d h", reads=None))
fault(PLAN, "norm_gradient_cut_without_reduction",
      "The norm is left out of the reduction: each rank takes its part of its own gradient.",
      change("grad.scale", op="chunk", reduce=None))

# 8 LoRA
PLAN = "lora"
fault(PLAN, "gradient_of_low_rank_activations_not_summed",
      "B is cut by rows, so the gradient that reaches A is a partial sum; it is not reduced over tp.",
      copied("grad.low1"))
fault(PLAN, "scale_of_one_adapter_missing",
      "The second adapter is added without alpha / rank.",
      attribute("y", alpha=None))
fault(PLAN, "adapter_added_before_the_reduction",
      "The second adapter's result, complete on every rank, is added to the partial product and summed over tp with it.",
      removed("base2"),
      replaced("y", {"op": "add", "in": ["base2.part", "delta2"], "out": "y.part", "attrs": {"alpha": 2},
                     "source": "lora_tp.py:65: y = base + self.alpha / self.rank * delta"},
               {"op": "all_reduce", "over": "tp", "in": "y.part", "out": "y", "source": "lora_tp.py:66: all_reduce(y)"}),
      replaced("d y", {"backward": "y.part", "grad": {"y.part": "grad.y"},
                       "out": {"base2.part": "grad.base2", "delta2": "grad.delta2"}}))

# 9 Convolution with synchronised batch norm
PLAN = "convolution_sync_batch_norm"
fault(PLAN, "halo_missing",
      "The second convolution pads each part with zeros; neighbours exchange no rows.",
      removed("a.last", "a.above", "a.first", "a.below"),
      replaced("a.halo", {"op": "pad", "in": "a", "out": "a.halo", "attrs": {"pad": [0, 0, 1, 1]},
                          "source": "spatial.py:24: x = F.pad(x, (0, 0, 1, 1))"}),
      change("d a.halo", out={"a": "grad.a"}),
      removed("grad.a.last", "d a.last", "grad.a.first", "d a.first", "grad.a.1", "grad.a"))
fault(PLAN, "statistics_over_dp_only",
      "The batch norm's group is the data-parallel one: statistics of the other half of the rows are left out.",
      *[change(tensor, over="dp") for tensor in ("center", "variance", "grad.variance", "grad.center")])
fault(PLAN, "halo_gradient_not_returned",
      "Gradients of the rows that neighbours lent are dropped.",
      copied("grad.a", "grad.a.here"))

# 10 Scan
PLAN = "scan"
fault(PLAN, "state_not_handed_on",
      "Every rank scans its chunk from a state of zero.",
      copied("h"))
fault(PLAN, "state_after_the_chunk",
      "The states are those after each chunk, an inclusive scan, where those before it are needed.",
      attribute("state.all", first=1))
fault(PLAN, "gate_gradient_of_handed_on_states_forgotten",
      "The gates' gradient lacks what comes from the decay of states that pass through the chunk.",
      copied("grad.g.1"))

# 11 Mixed precision
PLAN = "mixed_precision"
fault(PLAN, "loss_scale_not_removed_from_one_gradient",
      "The bias is left out when gradients are divided by the loss scale.",
      copied("d.b1"))
fault(PLAN, "divided_by_the_next_loss_scale",
      "The scaler doubles its scale before gradients are divided by it.",
      *[change(f"d.{p}", reads=[f"grad.{p}.32", 2048]) for p in ("w1", "b1", "w2")])
fault(PLAN, "one_gradient_not_averaged",
      "The second weight has no hook: its gradient stays that of the rank.",
      copied("grad.w2"))

# 12 Clipping
PLAN = "gradient_clipping"
fault(PLAN, "norm_of_one_shard",
      "The squares of the first stage's shards are not added over tp.",
      copied("square.shards"))
fault(PLAN, "replicated_parameter_counted_twice",
      "The replicated scale's square is added before the sum over tp, so once by every rank.",
      removed("square.shards"), unclaimed("square.shards"),
      replaced("stage0:square.stage", {"op": "add", "in": ["square.shard", "square.replicated"], "out": "square.own",
                                       "source": "clip_pp_tp.py:23: total = shards + once"},
               {"op": "all_reduce", "over": "tp", "in": "square.own", "out": "square.stage",
                "source": "clip_pp_tp.py:24: all_reduce(total, tp)"}))
fault(PLAN, "norm_of_the_own_stage",
      "Each pipeline stage clips by the norm of its own parameters.",
      copied("stage0:square", "square.stage"), copied("stage1:square", "square.stage"))

# 13 Adafactor
PLAN = "adafactor"
fault(PLAN, "column_factors_of_the_own_rows",
      "The column factors are means over the rank's own rows.",
      copied("column.square"))
fault(PLAN, "column_factors_summed",
      "The means of the ranks are added instead of averaged.",
      change("column.square", reduce=None))
fault(PLAN, "update_clipped_by_its_own_shard",
      "The update is clipped by the root mean square of the rank's own rows.",
      copied("u.square"))

# 14 Muon
PLAN = "muon"
fault(PLAN, "norm_of_one_shard",
      "The Frobenius norm is that of the rank's own columns.",
      copied("square"))
fault(PLAN, "gram_matrix_of_one_shard",
      "The Gram matrix of the second Newton-Schulz step is not summed over tp.",
      copied("g1"))
fault(PLAN, "momentum_of_the_local_gradient",
      "Momentum takes the gradient from before the average over dp.",
      change("momentum.new", reads=["momentum", "d.w"]))

# 15 adaLN with group norm
PLAN = "adaln_group_norm"
fault(PLAN, "modulation_weight_cut_in_contiguous_rows",
      "The fused weight of shift, scale and gate is cut in half as a whole, not in each of its thirds.",
      held(wm={"0": "tp"}, bm={"0": "tp"}))
fault(PLAN, "statistics_of_the_own_part",
      "Mean and variance of the groups are those of the rank's part of the sequence.",
      *[copied(tensor) for tensor in ("center", "variance", "grad.variance", "grad.center")])
fault(PLAN, "modulation_gradient_not_summed_over_sp",
      "The gradients of the modulation, which the whole sequence shares, are not reduced over sp.",
      copied("grad.wm"), copied("grad.bm"))

# 16 Window and soft-cap attention
PLAN = "window_attention"
fault(PLAN, "mask_not_shifted",
      "The mask counts queries from 0 on every rank.",
      attribute("masked", start=None))
fault(PLAN, "window_without_the_query_itself",
      "The window is one key shorter: this kernel's window does not count the query's own position.",
      attribute("masked", window=3))
fault(PLAN, "soft_cap_before_the_scale",
      "Scores are capped before they are scaled.",
      change("scaled", op="soft_cap", reads="s", attrs={"cap": 50}, source="window_cp.py:40: s = cap * torch.tanh(s / cap)"),
      change("capped", op="mul", reads=["scaled", 0.5], attrs=None, source="window_cp.py:41: s = s * self.scale"))
