#include "generator/emitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace planproof::generator {
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
    const auto fix = [&](const std::string& axis, int64_t at) {
      plan::Coordinate* coordinate = program.add_devices();
      coordinate->set_axis(axis);
      coordinate->add_values(at);
      program.set_name(trace_.StageName(stage));
    };
    if (layout.stages() > 1) fix("pp", stage);
    for (const std::string& axis : layout.Apart()) fix(axis, layout.OwnRank(axis));
    trace_.programs.push_back(std::move(program));
  }
}

Value Emitter::Add(ValueInfo info) {
  if (info.gradient.empty()) info.gradient = "grad." + info.name;
  info.chunk = chunk_;
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
    trace_.WriteCuts(declaration.dims, /*input=*/true, input->mutable_relation());
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
  const int dim = trace_.layout.ShardsParameters() ? trace_.layout.StateDim(dims) : -1;
  if (dim < 0) return Read(declaration);
  declaration.dims = trace_.layout.StateDims(dims);
  const Value shard = Read(declaration);
  const auto [at, fresh] = whole_.try_emplace(shard, kNoValue);
  if (fresh) {
    at->second = Gather(Step::Kind::kAllGather, shard, trace_.layout.state_axes(), dim, "@whole");
  }
  return at->second;
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
                                const Axes& partial) {
  Step step;
  bool differentiable = false;
  std::vector<std::string> names;
  Axes used_differently;  // over whose ranks the gradients of operands are sums
  for (const Argument& argument : call.in) {
    if (argument.value == kNoValue) continue;
    const ValueInfo& operand = trace_.values[argument.value];
    step.inputs.push_back(argument.value);
    differentiable = differentiable || operand.differentiable;
    used_differently = Union(used_differently, operand.gradient_partial);
  }
  for (const Out& result : out) {
    ValueInfo info;
    info.name = result.held_as.empty() ? result.name : result.held_as;
    names.push_back(info.name);
    info.logical = result.name;
    info.dims = result.dims;
    info.stage = stage_;
    info.partial = partial;
    info.gradient_partial = Minus(Minus(used_differently, AxesOf(result.dims)), partial);
    info.differentiable = differentiable && !result.integer && !call.stop_gradient;
    info.local = result.local;
    info.local_gradient = result.local_gradient;
    trace_.WriteLineage(info);
    step.outputs.push_back(Add(std::move(info)));
  }
  WriteCall(call, names);
  std::vector<Value> outputs = step.outputs;
  trace_.steps.push_back(std::move(step));
  return outputs;
}

std::vector<Value> Emitter::Apply(const Call& call, const std::vector<Out>& out) {
  return Run(call, out, {});
}

Value Emitter::Apply(const Call& call, const Out& out) { return Run(call, {out}, {})[0]; }

Value Emitter::ApplyTerm(const Call& call, const Out& out, const Axes& over) {
  Out term = out;
  if (!over.empty()) term.held_as = absl::StrCat(out.name, ".part");
  return Run(call, {term}, over)[0];
}

Value Emitter::Adopt(const std::string& name, const std::string& logical, const Dims& dims) {
  ValueInfo info;
  info.name = name;
  info.logical = logical;
  info.dims = dims;
  info.stage = stage_;
  return Add(std::move(info));
}

Value Emitter::Record(Step::Kind kind, Value from, const Axes& over, int dim, ValueInfo info) {
  Step step;
  step.kind = kind;
  step.inputs = {from};
  step.over = over;
  step.dim = dim;
  step.outputs = {Add(std::move(info))};
  trace_.steps.push_back(step);
  return step.outputs[0];
}

ValueInfo Emitter::Whole(Value term, const Out& out) const {
  ValueInfo info;
  info.name = out.name;
  info.logical = out.name;
  info.dims = out.dims;
  info.stage = stage_;
  info.local = out.local;
  info.differentiable = trace_.values[term].differentiable;
  info.gradient_partial = Minus(trace_.values[term].gradient_partial, AxesOf(out.dims));
  return info;
}

Value Emitter::ApplyAndReduce(const Call& call, const Out& out, const Axes& over,
                              const std::string& reduce) {
  if (over.empty()) return Apply(call, out);
  const Value term = ApplyTerm(call, out, over);
  trace_.WriteAllReduce(stage_, over, trace_.values[term].name, out.name, reduce);
  ValueInfo info = Whole(term, out);
  trace_.WriteLineage(info);
  return Record(Step::Kind::kAllReduce, term, over, 0, std::move(info));
}

Value Emitter::ApplyAndScatter(const Call& call, const Out& out, const Axes& over, int dim) {
  if (over.empty()) return Apply(call, out);
  Out whole = out;
  whole.dims[dim].over = Minus(whole.dims[dim].over, over);
  const Value term = ApplyTerm(call, whole, over);
  trace_.WriteAlong(stage_, "reduce_scatter", over, dim, trace_.values[term].name, out.name);
  ValueInfo info = Whole(term, out);
  trace_.WriteLineage(info);
  return Record(Step::Kind::kReduceScatter, term, over, dim, std::move(info));
}

ValueInfo Emitter::Renamed(Value x, const std::string& name) const {
  ValueInfo info = trace_.values[x];
  info.name = name;
  info.gradient = absl::StrCat("grad.", name);
  info.branch_of = kNoValue;
  return info;
}

Value Emitter::Gather(Step::Kind kind, Value x, const Axes& over, int dim,
                      const std::string& suffix) {
  const ValueInfo outside = trace_.values[x];
  ValueInfo info = Renamed(x, absl::StrCat(outside.name, suffix));
  info.branch_of = x;
  info.parameter = false;
  info.weight = outside.parameter;
  info.dims[dim].over = Minus(outside.dims[dim].over, over);
  if (kind == Step::Kind::kAllGather) {
    info.gradient_partial = Union(outside.gradient_partial, over);
  }
  trace_.WriteAlong(stage_, "all_gather", over, dim, outside.name, info.name);
  trace_.WriteLineage(info);
  return Record(kind, x, over, dim, std::move(info));
}

bool Emitter::IsCut(Value x, int dim, const Axes& over) const {
  const Axes& cut = trace_.values[x].dims[dim].over;
  return Minus(cut, over).size() < cut.size();
}

Value Emitter::EnterTensorParallel(Value x, int dim) {
  const Axes over = trace_.layout.tensor_axes();
  if (over.empty()) return x;
  if (const auto entered = entered_.find(x); entered != entered_.end()) return entered->second;
  Value inside = kNoValue;
  if (IsCut(x, dim, over)) {
    inside = Gather(Step::Kind::kAllGather, x, over, dim, "@gathered");
  } else {
    ValueInfo info = trace_.values[x];
    info.gradient = absl::StrCat("grad.", info.name, "@tp");
    info.gradient_partial = Union(info.gradient_partial, over);
    info.branch_of = x;
    inside = Record(Step::Kind::kCopy, x, over, dim, std::move(info));
  }
  entered_[x] = inside;
  return inside;
}

Value Emitter::GatherReplicated(Value x, int dim) {
  const Axes over = trace_.layout.tensor_axes();
  if (over.empty() || !IsCut(x, dim, over)) return x;
  return Gather(Step::Kind::kGatherReplicated, x, over, dim, "@alike");
}

Value Emitter::SplitReplicated(Value x, int dim) {
  const Axes over = trace_.layout.tensor_axes();
  if (over.empty()) return x;
  const std::string whole = trace_.values[x].name;
  ValueInfo info = Renamed(x, absl::StrCat(whole, "@split"));
  info.branch_of = x;
  info.dims[dim].over = Union(info.dims[dim].over, over);
  trace_.WriteAlong(stage_, "chunk", over, dim, whole, info.name);
  trace_.WriteLineage(info);
  return Record(Step::Kind::kSplitReplicated, x, over, dim, std::move(info));
}

Value Emitter::GatherContext(Value x, int dim) {
  const Axes over = trace_.layout.context_axes();
  if (over.empty() || !IsCut(x, dim, over)) return x;
  if (!trace_.layout.Zigzag()) return Gather(Step::Kind::kAllGather, x, over, dim, "@context");
  // Blocks come in the order of the ranks that hold them.
  const ValueInfo own = trace_.values[x];
  ValueInfo info = Renamed(x, absl::StrCat(own.name, "@blocks"));
  info.branch_of = x;
  info.local = true;
  info.dims[dim] = Layout::Whole(own.dims[dim].extent);
  info.gradient_partial = Union(own.gradient_partial, over);
  trace_.WriteAlong(stage_, "all_gather", over, dim, own.name, info.name);
  Out whole{own.logical, info.dims, false, false, absl::StrCat(own.name, "@context")};
  const Value blocks = Record(Step::Kind::kAllGather, x, over, dim, std::move(info));
  const Value joined = InOrder(blocks, dim, whole);
  trace_.values[joined].branch_of = x;
  return joined;
}

Value Emitter::InOrder(Value blocks, int dim, const Out& whole) {
  const Dims flat = trace_.values[blocks].dims;
  const std::string name = trace_.values[blocks].name;
  const int64_t block = trace_.layout.SequenceBlock(flat[dim].extent);
  const auto view = [&](Value x, const Dims& dims, Out out) {
    std::vector<int64_t> size;
    for (const Dim& d : dims) size.push_back(trace_.layout.Local(d));
    out.dims = dims;
    return Apply({"view", {x}, {{"size", size}}}, out);
  };
  Dims apart = flat;  // by rank, and by which of its two blocks it is
  apart[dim] = Layout::Whole(flat[dim].extent / (2 * block));
  apart.insert(apart.begin() + dim + 1, {Layout::Whole(2), Layout::Whole(block)});
  const auto out = [&](const char* what) {
    return Out{absl::StrCat(name, what), {}, false, /*local=*/true};
  };
  const Value by_rank = view(blocks, apart, out(".by_rank"));
  const Value early = Narrow(by_rank, dim + 1, 0, ".early", Layout::Whole(1));
  const Value late = Narrow(by_rank, dim + 1, 1, ".late", Layout::Whole(1));
  Out backwards = out(".late.backwards");
  backwards.dims = trace_.values[late].dims;
  const Value last_first =
      Apply({"flip", {late}, {{"dims", std::vector<int64_t>{dim}}}}, backwards);
  Out ordered = out(".ordered");
  ordered.dims = trace_.values[early].dims;
  ordered.dims[dim].extent *= 2;
  const Value joined = Apply({"concat", {early, last_first}, {{"dim", int64_t{dim}}}}, ordered);
  return view(joined, whole.dims, whole);
}

Value Emitter::NarrowAt(Value x, int dim, const Expression& start, const std::string& suffix,
                        const Dim& part) {
  const ValueInfo& from = trace_.values[x];
  Out out{from.logical, from.dims, false, from.local, absl::StrCat(from.name, suffix)};
  out.dims[dim] = part;
  out.local_gradient = true;  // it is one rank's contribution
  const int64_t length = trace_.layout.Local(part);
  return Apply({"narrow", {x}, {{"dim", int64_t{dim}}, {"start", start}, {"length", length}}}, out);
}

Value Emitter::Narrow(Value x, int dim, int64_t start, const std::string& suffix, const Dim& part,
                      bool local_gradient) {
  const ValueInfo from = trace_.values[x];
  Out out{from.logical, from.dims, false, from.local, absl::StrCat(from.name, suffix)};
  out.dims[dim] = part;
  out.local_gradient = local_gradient;
  return Apply({"narrow",
                {x},
                {{"dim", int64_t{dim}}, {"start", start}, {"length", trace_.layout.Local(part)}}},
               out);
}

Value Emitter::PassOn(Value x, int dim) {
  const Axes over = trace_.layout.context_axes();
  const ValueInfo own = trace_.values[x];
  const std::string& from = own.name;
  ValueInfo info = Renamed(x, absl::StrCat(own.logical, "@", own.dims[dim].shift + 1));
  info.dims[dim] = Layout::PassedOn(own.dims[dim]);
  info.local_gradient = true;  // of what the ranks from here on contribute
  trace_.WriteShift(stage_, over[0], 1, x, from, info.name);
  trace_.WriteLineage(info);
  return Record(Step::Kind::kShift, x, over, dim, std::move(info));
}

Value Emitter::ApplyAndLeave(const Call& call, const Out& out, int dim) {
  const Axes over = trace_.layout.tensor_axes();
  if (!over.empty() && Minus(out.dims[dim].over, over) != out.dims[dim].over) {
    return ApplyAndScatter(call, out, over, dim);
  }
  return ApplyAndReduce(call, out, over);
}

Value Emitter::AllToAll(Value x, const Out& out, const Axes& over, int split, int concat) {
  if (over.empty()) return x;
  ValueInfo info = Renamed(x, out.name);
  info.dims = out.dims;
  trace_.WriteAllToAll(stage_, over, split, concat, trace_.values[x].name, info.name);
  trace_.WriteLineage(info);
  const Value to = Record(Step::Kind::kAllToAll, x, over, split, std::move(info));
  trace_.steps.back().concat = concat;
  return to;
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
  return Record(Step::Kind::kMove, x, {}, 0, std::move(info));
}

void Emitter::BeginRecomputed() {
  region_ = {stage_, static_cast<int>(trace_.steps.size()),
             trace_.programs[stage_].operators_size(), 0, 0};
}

void Emitter::EndRecomputed() {
  region_.end_step = static_cast<int>(trace_.steps.size());
  region_.end_operator = trace_.programs[stage_].operators_size();
  trace_.recomputed.push_back(region_);
}

}  // namespace planproof::generator
