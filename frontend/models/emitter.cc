#include "frontend/models/emitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace planproof::models {
namespace {

void SetAttribute(const std::string& name, const AttributeValue& value, plan::Operator* op) {
  plan::Attribute* attribute = op->add_attributes();
  attribute->set_name(name);
  plan::AttributeValue* out = attribute->mutable_value();
  struct Visitor {
    plan::AttributeValue* out;
    void operator()(int64_t integer) const { out->set_integer(integer); }
    void operator()(bool boolean) const { out->set_boolean(boolean); }
    void operator()(const std::string& text) const { out->set_text(text); }
    void operator()(const Expression& expression) const { out->set_expression(expression.text); }
    void operator()(const Number& number) const { out->set_real(number.text); }
    void operator()(const std::vector<int64_t>& list) const {
      for (int64_t element : list) out->mutable_list()->add_elements()->set_integer(element);
    }
  };
  std::visit(Visitor{out}, value);
}

}  // namespace

Emitter::Emitter(const Layout& layout, bool logical) {
  trace_.layout = layout;
  trace_.logical = logical;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    plan::Program program;
    if (layout.stages() > 1) {
      program.set_name(trace_.StageName(stage));
      plan::Coordinate* coordinate = program.add_devices();
      coordinate->set_axis("pp");
      coordinate->add_values(stage);
    }
    trace_.programs.push_back(std::move(program));
  }
}

Value Emitter::Add(ValueInfo info) {
  if (info.gradient.empty()) info.gradient = "grad." + info.name;
  trace_.values.push_back(std::move(info));
  return static_cast<Value>(trace_.values.size() - 1);
}

int64_t Emitter::LocalExtent(Value value, int dim) const {
  return trace_.layout.Local(trace_.values[value].dims[dim]);
}

Value Emitter::Read(const Declaration& declaration) {
  const auto [at, fresh] = read_.try_emplace({stage_, declaration.name}, kNoValue);
  if (!fresh) return at->second;
  const bool known =
      std::any_of(trace_.declarations.begin(), trace_.declarations.end(),
                  [&](const Declaration& other) { return other.name == declaration.name; });
  if (!known) trace_.declarations.push_back(declaration);
  if (!trace_.logical) {
    plan::NamedRelation* input = trace_.programs[stage_].add_inputs();
    input->set_name(declaration.name);
    plan::Relation* relation = input->mutable_relation();
    for (size_t d = 0; d < declaration.dims.size(); ++d) {
      if (declaration.dims[d].over.empty()) continue;
      plan::ShardedDim* cut = relation->add_dims();
      cut->set_dim(static_cast<int>(d));
      for (const std::string& axis : declaration.dims[d].over) cut->add_over(axis);
    }
  }
  ValueInfo info;
  info.name = declaration.name;
  info.logical = declaration.name;
  info.dims = declaration.dims;
  info.stage = stage_;
  info.parameter = declaration.role == plan::ROLE_PARAMETER;
  info.differentiable = info.parameter;
  at->second = Add(std::move(info));
  if (trace_.values[at->second].parameter) trace_.parameters.push_back(at->second);
  return at->second;
}

Value Emitter::Parameter(const std::string& name, const Dims& dims) {
  Declaration declaration;
  declaration.name = name;
  declaration.role = plan::ROLE_PARAMETER;
  declaration.dims = dims;
  return Read(declaration);
}

void Emitter::WriteCall(const Call& call, const std::vector<std::string>& outputs) {
  plan::Operator* op = trace_.programs[stage_].add_operators();
  op->set_op(call.op);
  for (const Argument& argument : call.in) {
    if (argument.value != kNoValue) {
      op->add_inputs()->set_tensor(trace_.values[argument.value].name);
    } else {
      op->add_inputs()->set_literal(argument.literal);
    }
  }
  for (const std::string& output : outputs) op->add_outputs(output);
  for (const auto& [name, value] : call.attributes) SetAttribute(name, value, op);
}

std::vector<Value> Emitter::Run(const Call& call, const std::vector<Out>& out,
                                const std::string& suffix, const Axes& partial) {
  Step step;
  bool differentiable = false;
  Axes used_differently;  // over whose ranks the gradients of operands are sums
  for (const Argument& argument : call.in) {
    if (argument.value == kNoValue) continue;
    const ValueInfo& operand = trace_.values[argument.value];
    step.inputs.push_back(argument.value);
    differentiable = differentiable || operand.differentiable;
    used_differently = Union(used_differently, operand.gradient_partial);
  }
  std::vector<std::string> names;
  for (const Out& result : out) {
    ValueInfo info;
    info.name = absl::StrCat(result.name, suffix);
    info.logical = result.name;
    info.dims = result.dims;
    info.stage = stage_;
    info.partial = partial;
    info.gradient_partial = Minus(Minus(used_differently, AxesOf(result.dims)), partial);
    info.differentiable = differentiable && !result.integer && !call.stop_gradient;
    names.push_back(info.name);
    info.local = result.local;
    trace_.WriteLineage(info);
    step.outputs.push_back(Add(std::move(info)));
  }
  WriteCall(call, names);
  const std::vector<Value> outputs = step.outputs;
  trace_.steps.push_back(std::move(step));
  return outputs;
}

std::vector<Value> Emitter::Apply(const Call& call, const std::vector<Out>& out) {
  return Run(call, out, "", {});
}

Value Emitter::Apply(const Call& call, const Out& out) { return Run(call, {out}, "", {})[0]; }

Value Emitter::ApplyTerm(const Call& call, const Out& out, const Axes& over) {
  return Run(call, {out}, over.empty() ? "" : ".part", over)[0];
}

Value Emitter::Adopt(const std::string& name, const Dims& dims) {
  ValueInfo info;
  info.name = name;
  info.logical = name;
  info.dims = dims;
  info.stage = stage_;
  return Add(std::move(info));
}

Value Emitter::ApplyAndReduce(const Call& call, const Out& out, const Axes& over,
                              const std::string& reduce) {
  if (over.empty()) return Apply(call, out);
  const Value term = Run(call, {out}, ".part", over)[0];
  trace_.WriteAllReduce(stage_, over, trace_.values[term].name, out.name, reduce);
  ValueInfo info;
  info.name = out.name;
  info.logical = out.name;
  info.dims = out.dims;
  info.stage = stage_;
  info.local = out.local;
  info.differentiable = trace_.values[term].differentiable;
  trace_.WriteLineage(info);
  Step step;
  step.kind = Step::Kind::kAllReduce;
  step.inputs = {term};
  step.outputs = {Add(std::move(info))};
  step.over = over;
  trace_.steps.push_back(step);
  return step.outputs[0];
}

Value Emitter::ApplyAndScatter(const Call& call, const Out& out, const Axes& over, int dim) {
  if (over.empty()) return Apply(call, out);
  Out whole = out;
  whole.dims[dim].over = Minus(whole.dims[dim].over, over);
  const Value term = Run(call, {whole}, ".part", over)[0];
  trace_.WriteAlong(stage_, "reduce_scatter", over, dim, trace_.values[term].name, out.name);
  ValueInfo info;
  info.name = out.name;
  info.logical = out.name;
  info.dims = out.dims;
  info.stage = stage_;
  info.local = out.local;
  info.differentiable = trace_.values[term].differentiable;
  trace_.WriteLineage(info);
  Step step;
  step.kind = Step::Kind::kReduceScatter;
  step.inputs = {term};
  step.outputs = {Add(std::move(info))};
  step.over = over;
  step.dim = dim;
  trace_.steps.push_back(step);
  return step.outputs[0];
}

Value Emitter::EnterTensorParallel(Value x, int dim) {
  const Axes over = trace_.layout.tensor_axes();
  if (over.empty()) return x;
  if (const auto entered = entered_.find(x); entered != entered_.end()) return entered->second;
  const ValueInfo outside = trace_.values[x];
  ValueInfo info;
  info.logical = outside.logical;
  info.dims = outside.dims;
  info.stage = stage_;
  info.differentiable = outside.differentiable;
  info.gradient = absl::StrCat("grad.", outside.name, "@tp");
  info.gradient_partial = over;
  info.branch_of = x;
  Step step;
  step.inputs = {x};
  step.over = over;
  step.dim = dim;
  if (AxesOf({outside.dims[dim]}).empty() || Minus(over, outside.dims[dim].over) == over) {
    step.kind = Step::Kind::kCopy;
    info.name = outside.name;
  } else {
    step.kind = Step::Kind::kAllGather;
    info.name = absl::StrCat(outside.name, "@gathered");
    info.dims[dim].over = Minus(info.dims[dim].over, over);
    trace_.WriteAlong(stage_, "all_gather", over, dim, outside.name, info.name);
    trace_.WriteLineage(info);
  }
  step.outputs = {Add(std::move(info))};
  trace_.steps.push_back(step);
  entered_[x] = step.outputs[0];
  return step.outputs[0];
}

Value Emitter::GatherAlike(Value x, int dim) {
  const ValueInfo outside = trace_.values[x];
  const Axes over = trace_.layout.tensor_axes();
  if (over.empty() || Minus(outside.dims[dim].over, over) == outside.dims[dim].over) return x;
  ValueInfo info;
  info.name = absl::StrCat(outside.name, "@alike");
  info.branch_of = x;
  info.logical = outside.logical;
  info.dims = outside.dims;
  info.dims[dim].over = Minus(info.dims[dim].over, over);
  info.stage = stage_;
  info.differentiable = outside.differentiable;
  trace_.WriteAlong(stage_, "all_gather", over, dim, outside.name, info.name);
  trace_.WriteLineage(info);
  Step step;
  step.kind = Step::Kind::kGatherAlike;
  step.inputs = {x};
  step.outputs = {Add(std::move(info))};
  step.over = over;
  step.dim = dim;
  trace_.steps.push_back(step);
  return step.outputs[0];
}

Value Emitter::ApplyAndLeave(const Call& call, const Out& out, int dim) {
  const Axes over = trace_.layout.tensor_axes();
  if (!over.empty() && Minus(out.dims[dim].over, over) != out.dims[dim].over) {
    return ApplyAndScatter(call, out, over, dim);
  }
  return ApplyAndReduce(call, out, over);
}

Value Emitter::MoveTo(int stage, Value x) {
  const ValueInfo& here = trace_.values[x];
  if (here.stage == stage) return x;
  ValueInfo info = here;
  info.stage = stage;
  info.gradient = "grad." + info.name;
  trace_
      .Write(stage, "move", {absl::StrCat(trace_.StageName(here.stage), ":", here.name)}, info.name)
      ->mutable_collective();
  trace_.WriteLineage(info);
  Step step;
  step.kind = Step::Kind::kMove;
  step.inputs = {x};
  step.outputs = {Add(std::move(info))};
  trace_.steps.push_back(step);
  return step.outputs[0];
}

}  // namespace planproof::models
