#include "frontend/models/backward.h"

#include "absl/strings/str_cat.h"

namespace planproof::models {
namespace {

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
    for (size_t s = trace_.steps.size(); s-- > 0;) Visit(trace_.steps[s]);
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
        if (info.parameter) NoteParameterUse(step, &info);
      }
    }
    for (Value parameter : trace_.parameters) {
      ValueInfo& info = trace_.values[parameter];
      if (!info.gradient_partial.empty()) info.gradient += ".local";
    }
  }

  // A parameter's gradient differs between ranks that use it on different data.
  void NoteParameterUse(const Step& step, ValueInfo* parameter) const {
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
    if (info.local) return;
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
    for (Value output : step.outputs) any = !Collect(output).empty() || any;
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
        trace_.WriteAlong(stage, "all_gather", step.over, step.dim, gradient, Contribute(input));
        break;
      case Step::Kind::kAllGather:
        trace_.WriteAlong(stage, "reduce_scatter", step.over, step.dim, gradient,
                          Contribute(input));
        break;
      case Step::Kind::kGatherAlike:
        trace_.WriteAlong(stage, "chunk", step.over, step.dim, gradient, Contribute(input));
        break;
      case Step::Kind::kCopy:
        trace_.WriteAllReduce(stage, step.over, gradient, Contribute(input));
        break;
      case Step::Kind::kMove: {
        const int from = trace_.values[step.outputs[0]].stage;
        trace_
            .Write(stage, "move", {absl::StrCat(trace_.StageName(from), ":", gradient)},
                   Contribute(input))
            ->mutable_collective();
        break;
      }
      case Step::Kind::kOperator:
        break;
    }
  }

  void VisitOperator(const Step& step) {
    plan::Operator op;
    for (Value output : step.outputs) {
      const std::string gradient = Collect(output);
      if (gradient.empty()) continue;
      plan::Binding* binding = op.add_gradients();
      binding->set_key(trace_.values[output].name);
      binding->set_value(gradient);
    }
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (!trace_.values[step.inputs[i]].differentiable) continue;
      plan::Binding* binding = op.add_produces();
      binding->set_key(absl::StrCat(i));
      binding->set_value(Contribute(step.inputs[i]));
    }
    if (op.produces_size() == 0) return;
    op.set_backward(trace_.values[step.outputs[0]].name);
    *trace_.programs[trace_.values[step.outputs[0]].stage].add_operators() = std::move(op);
  }

  Trace& trace_;
};

}  // namespace

std::map<Value, LocalGradient> WriteBackward(Trace* trace, Value loss,
                                             const std::string& loss_name) {
  return Backward(trace).Run(loss, loss_name);
}

}  // namespace planproof::models
