#include "generator/backward.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::generator {
namespace {

// Of tensors that the backward pass computes again.
constexpr char kAgain[] = "@again";

class Backward {
 public:
  explicit Backward(Trace* trace) : trace_(*trace) {}

  std::map<Value, LocalGradient> Run(Value loss, const std::string& loss_name) {
    CountUses(loss);
    ValueInfo& seeded = trace_.values[loss];
    const std::string seed = absl::StrCat("grad.", loss_name);
    trace_.programs[seeded.stage].add_inputs()->set_name(seed);
    trace_.programs[seeded.stage].mutable_inputs()->rbegin()->mutable_relation();
    seeded.contributions = {seed};
    size_t region = trace_.recomputed.size();
    for (size_t s = trace_.steps.size(); s-- > 0;) {
      if (region > 0 && static_cast<int>(s) + 1 == trace_.recomputed[region - 1].end_step) {
        Recompute(trace_.recomputed[--region]);
      }
      Visit(trace_.steps[s]);
    }
    std::map<Value, LocalGradient> gradients;
    for (Value parameter : trace_.parameters) {
      gradients[parameter] = {Collect(parameter), trace_.values[parameter].gradient_partial};
    }
    return gradients;
  }

 private:
  bool Reaches(const Step& step) const {
    for (Value output : step.outputs) {
      if (trace_.values[output].uses > 0) return true;
    }
    return false;
  }

  // Only what leads to the loss is differentiated.
  void CountUses(Value loss) {
    trace_.values[loss].uses = 1;
    for (size_t s = trace_.steps.size(); s-- > 0;) {
      const Step& step = trace_.steps[s];
      if (!Reaches(step)) continue;
      for (Value input : step.inputs) {
        ValueInfo& info = trace_.values[input];
        if (!info.differentiable) continue;
        ++info.uses;
        if (info.parameter || info.weight) NoteParameterUse(step, &info);
      }
    }
    for (Value parameter : trace_.parameters) {
      ValueInfo& info = trace_.values[parameter];
      if (!info.gradient_partial.empty()) info.gradient += ".local";
    }
  }

  // A parameter's gradient differs between ranks that use it on different data.
  void NoteParameterUse(const Step& step, ValueInfo* parameter) const {
    if (step.kind == Step::Kind::kAllGather) {  // its backward reduces over the ranks
      const ValueInfo& whole = trace_.values[step.outputs[0]];
      parameter->gradient_partial =
          Union(parameter->gradient_partial, Minus(whole.gradient_partial, step.over));
      return;
    }
    Axes varies;
    for (Value input : step.inputs) varies = Union(varies, AxesOf(trace_.values[input].dims));
    for (Value output : step.outputs) {
      varies = Union(varies, AxesOf(trace_.values[output].dims));
      varies = Union(varies, trace_.values[output].gradient_partial);
    }
    parameter->gradient_partial =
        Union(parameter->gradient_partial, Minus(varies, AxesOf(parameter->dims)));
  }

  // The whole gradient of a tensor, all of whose consumers have been visited.
  std::string Collect(Value value) {
    ValueInfo& info = trace_.values[value];
    if (info.contributions.empty()) return "";
    if (info.contributions.size() == 1) return info.contributions[0];
    trace_.WriteSum(info.stage, info.contributions, info.gradient);
    info.contributions = {info.gradient};
    WriteGradientLineage(info, info.gradient);
    return info.gradient;
  }

  void WriteGradientLineage(const ValueInfo& info, const std::string& name) {
    if (info.local || info.local_gradient) return;
    if (info.branch_of != kNoValue && trace_.values[info.branch_of].uses > 1) return;
    trace_.WriteLineage(info.stage, name, absl::StrCat("grad.", info.logical), info.dims,
                        info.gradient_partial);
  }

  // A name for the next contribution to the gradient of `value`. The only one is the gradient.
  std::string Contribute(Value value) {
    ValueInfo& info = trace_.values[value];
    const std::string name = info.uses == 1
                                 ? info.gradient
                                 : absl::StrCat(info.gradient, ".", info.contributions.size() + 1);
    info.contributions.push_back(name);
    if (info.uses == 1) WriteGradientLineage(info, name);
    return name;
  }

  void Visit(const Step& step) {
    bool any = false;
    for (Value output : step.outputs) {
      trace_.BeginBackward(output);
      any = !Collect(output).empty() || any;
    }
    if (!any) return;
    if (step.kind == Step::Kind::kOperator) {
      VisitOperator(step);
      return;
    }
    const Value input = step.inputs[0];
    if (!trace_.values[input].differentiable) return;
    const std::string gradient = Collect(step.outputs[0]);
    const int stage = trace_.values[input].stage;
    switch (step.kind) {
      case Step::Kind::kAllReduce:  // the same tensor
        trace_.values[input].contributions.push_back(gradient);
        break;
      case Step::Kind::kReduceScatter:
      case Step::Kind::kSplitReplicated:
        trace_.WriteAlong(stage, "all_gather", step.over, step.dim, gradient, Contribute(input));
        break;
      case Step::Kind::kAllGather:
        trace_.WriteAlong(stage, "reduce_scatter", step.over, step.dim, gradient,
                          Contribute(input));
        break;
      case Step::Kind::kGatherReplicated:
        trace_.WriteAlong(stage, "chunk", step.over, step.dim, gradient, Contribute(input));
        break;
      case Step::Kind::kCopy:
        trace_.WriteAllReduce(stage, step.over, gradient, Contribute(input));
        break;
      case Step::Kind::kAllToAll:
        trace_.WriteAllToAll(stage, step.over, step.concat, step.dim, gradient, Contribute(input));
        break;
      case Step::Kind::kShift:
        trace_.WriteShift(stage, step.over[0], -1, input, gradient, Contribute(input));
        break;
      case Step::Kind::kMove: {
        trace_.BeginBackward(input);
        const int from = trace_.values[step.outputs[0]].stage;
        plan::Operator* move =
            trace_.Write(stage, "move", {absl::StrCat(trace_.StageName(from), ":", gradient)},
                         Contribute(input));
        move->mutable_collective();
        // Between two stages with several chunks gradients and activations go the same way.
        move->set_channel("backward");
        break;
      }
      case Step::Kind::kOperator:
        break;
    }
  }

  // The name under which the backward pass reads a tensor of the forward pass; "program:tensor" is
  // the one of another rank of the same stage.
  std::string Again(int stage, const std::string& name) const {
    const size_t program = name.find(':') + 1;  // 0 if there is none
    const auto found = again_.find({stage, name.substr(program)});
    return found == again_.end() ? name : name.substr(0, program) + found->second;
  }

  // Runs the region's operators again, up to the last, whose result the backward pass never reads.
  void Recompute(const RecomputedRegion& region) {
    plan::Program& program = trace_.programs[region.stage];
    trace_.BeginBackward(trace_.steps[region.first_step].outputs[0]);
    for (int i = region.first_operator; i + 1 < region.end_operator; ++i) {
      plan::Operator op = program.operators(i);
      for (plan::Operand& operand : *op.mutable_inputs()) {
        if (operand.has_tensor()) operand.set_tensor(Again(region.stage, operand.tensor()));
      }
      for (std::string& output : *op.mutable_outputs()) {
        output = again_[{region.stage, output}] = absl::StrCat(output, kAgain);
      }
      *program.add_operators() = std::move(op);
    }
    for (int s = region.first_step; s < region.end_step; ++s) {
      for (Value output : trace_.steps[s].outputs) {
        ValueInfo info = trace_.values[output];
        const auto again = again_.find({region.stage, info.name});
        if (again == again_.end() || trace_.steps[s].kind == Step::Kind::kCopy) continue;
        info.name = again->second;
        trace_.WriteLineage(info);
      }
    }
  }

  // Parameters that were gathered from shards are not kept between the passes.
  void GatherWeights(const Step& step) {
    for (Value input : step.inputs) {
      ValueInfo info = trace_.values[input];
      if (!info.weight || again_.count({info.stage, info.name}) > 0) continue;
      const Step& gather = GatherOf(input);
      const std::string again = absl::StrCat(info.name, kAgain);
      trace_.WriteAlong(info.stage, "all_gather", gather.over, gather.dim,
                        trace_.values[gather.inputs[0]].name, again);
      again_[{info.stage, info.name}] = again;
      info.name = again;
      trace_.WriteLineage(info);
    }
  }

  const Step& GatherOf(Value weight) const {
    return *std::find_if(trace_.steps.begin(), trace_.steps.end(),
                         [&](const Step& step) { return step.outputs[0] == weight; });
  }

  void VisitOperator(const Step& step) {
    plan::Operator op;
    const int stage = trace_.values[step.outputs[0]].stage;
    const std::string& forward = trace_.values[step.outputs[0]].name;
    const bool recomputed = again_.count({stage, forward}) > 0;
    for (Value output : step.outputs) {
      const std::string gradient = Collect(output);
      if (gradient.empty()) continue;
      plan::Binding* binding = op.add_gradients();
      binding->set_key(Again(stage, trace_.values[output].name));
      binding->set_value(gradient);
    }
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (!trace_.values[step.inputs[i]].differentiable) continue;
      plan::Binding* binding = op.add_produces();
      binding->set_key(absl::StrCat(i));
      binding->set_value(Contribute(step.inputs[i]));
    }
    if (op.produces_size() == 0) return;
    op.set_backward(Again(stage, forward));
    if (!recomputed) {
      GatherWeights(step);
      const bool any = std::any_of(step.inputs.begin(), step.inputs.end(), [&](Value input) {
        return again_.count({stage, trace_.values[input].name}) > 0;
      });
      for (Value input : step.inputs) {
        if (any) op.add_inputs()->set_tensor(Again(stage, trace_.values[input].name));
      }
    }
    *trace_.programs[stage].add_operators() = std::move(op);
  }

  std::map<std::pair<int, std::string>, std::string> again_;  // by stage and name
  Trace& trace_;
};

}  // namespace

std::map<Value, LocalGradient> WriteBackward(Trace* trace, Value loss,
                                             const std::string& loss_name) {
  return Backward(trace).Run(loss, loss_name);
}

}  // namespace planproof::generator
