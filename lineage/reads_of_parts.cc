#include "lineage/reads_of_parts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "sdfg/index_range.h"

namespace planproof::lineage {

using sdfg::ExprId;
using sdfg::Graph;
using sdfg::IndexFunction;
using sdfg::IndexRange;
using sdfg::kNone;
using sdfg::Node;
using sdfg::Op;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

constexpr int kMaxCopies = 16;  // of what is joined, one of another, between it and its reader

// Elements [begin, end) of a tensor of one dimension: element i is element i + shift of `tensor`.
struct Part {
  int64_t begin = 0, end = 0, shift = 0;
  TensorId tensor = kNone;
};
using Parts = std::vector<Part>;  // ascending, each where the last one ends

bool Reads(const Node& node) { return node.op == Op::kElement || node.op == Op::kIntElement; }

// The expression is `dim` + shift.
bool IsShifted(const IndexFunction& f, ExprId id, sdfg::VarId dim, int64_t* shift) {
  const Node& node = f.nodes[id];
  *shift = 0;
  if (node.op == Op::kIndex) return node.var == dim;
  if (node.op != Op::kIntAdd) return false;
  for (const int constant : {0, 1}) {
    const Node& a = f.nodes[node.args[constant]];
    const Node& b = f.nodes[node.args[1 - constant]];
    if (a.op != Op::kIntConst || b.op != Op::kIndex || b.var != dim) continue;
    *shift = a.value;
    return true;
  }
  return false;
}

// One result of one dimension, without conditions.
bool IsFlat(const IndexFunction& f) {
  return f.outputs.size() == 1 && f.outputs[0].dims.size() == 1 && f.premises.empty();
}

// The index of the one operand, of one dimension, whose elements these are, each as it is; kNoExpr
// where the function is another one.
ExprId IndexRead(const IndexFunction& f) {
  if (f.inputs.size() != 1 || f.inputs[0].shape.size() != 1) return sdfg::kNoExpr;
  if (f.outputs.size() != 1 || !f.premises.empty()) return sdfg::kNoExpr;
  if (f.outputs[0].dtype != f.inputs[0].dtype) return sdfg::kNoExpr;
  const Node& body = f.nodes[f.outputs[0].body];
  return Reads(body) ? body.args[0] : sdfg::kNoExpr;
}

// What is computed of element i from element i of operands, which are all like the result.
bool IsElementByElement(const IndexFunction& f) {
  if (!IsFlat(f) || f.vars.size() != 1) return false;
  if (f.nodes[f.outputs[0].body].op == Op::kIndex) return false;  // its number, not an element
  for (const sdfg::FunctionInput& input : f.inputs) {
    if (input.shape != f.outputs[0].shape(f.vars)) return false;
    if (input.dtype != f.outputs[0].dtype) return false;
  }
  for (const Node& node : f.nodes) {
    switch (node.op) {
      case Op::kElement:
        if (f.nodes[node.args[0]].op != Op::kIndex) return false;
        break;
      case Op::kIndex:
      case Op::kReal:
      case Op::kAdd:
      case Op::kMul:
      case Op::kMax:
      case Op::kMin:
        break;
      default:
        return false;
    }
  }
  return true;
}

const Operator* ProducerOf(const Graph& graph, TensorId t) {
  const OperatorId producer = graph.tensors[t].producer;
  return producer == kNone ? nullptr : &graph.operators[producer];
}

bool IsPlain(const Graph& graph, TensorId t) { return graph.tensors[t].axes.empty(); }

// Of what tensors it is joined, one after another; empty if it is not.
Parts PartsOfJoined(const Graph& graph, TensorId t) {
  const Operator* op = ProducerOf(graph, t);
  if (op == nullptr || op->kind != sdfg::OperatorKind::kCompute || !IsFlat(*op->function) ||
      !IsPlain(graph, t)) {
    return {};
  }
  const IndexFunction& f = *op->function;
  const sdfg::VarId dim = f.outputs[0].dims[0];
  Parts parts;
  ExprId id = f.outputs[0].body;
  for (int64_t begin = 0;;) {
    const Node& node = f.nodes[id];
    Part part{.begin = begin, .end = f.vars[dim].extent};
    const bool more = node.op == Op::kSelect;
    if (more) {
      const Node& condition = f.nodes[node.args[0]];
      if (condition.op != Op::kIntLess) return {};
      const Node& index = f.nodes[condition.args[0]];
      const Node& end = f.nodes[condition.args[1]];
      if (index.op != Op::kIndex || index.var != dim || end.op != Op::kIntConst) return {};
      part.end = end.value;
    }
    const Node& element = more ? f.nodes[node.args[1]] : node;
    if (part.end <= begin || part.end > f.vars[dim].extent || !Reads(element) ||
        element.args.size() != 1 || !IsShifted(f, element.args[0], dim, &part.shift)) {
      return {};
    }
    part.tensor = op->inputs[element.input];
    if (part.tensor == kNone || !IsPlain(graph, part.tensor) ||
        f.inputs[element.input].dtype != f.outputs[0].dtype) {
      return {};
    }
    parts.push_back(part);
    if (!more) break;
    begin = part.end;
    id = node.args[2];
  }
  return parts.size() > 1 ? parts : Parts();
}

bool JoinsAny(const Graph& graph) {
  for (const Operator& op : graph.operators) {
    for (const TensorId t : op.outputs) {
      if (t != kNone && !PartsOfJoined(graph, t).empty()) return true;
    }
  }
  return false;
}

// What is added up part by part.
bool MayBeCut(const Operator& op) {
  const bool adds = op.kind == sdfg::OperatorKind::kCompute ||
                    op.kind == sdfg::OperatorKind::kAllReduce ||
                    op.kind == sdfg::OperatorKind::kAccumulate;
  return adds && IsElementByElement(*op.function);
}

// A graph, with reads of parts.
class Rewriting {
 public:
  explicit Rewriting(Graph* graph) : graph_(*graph) {}

  // Whether there was something to rewrite.
  bool Run() {
    std::vector<Operator> operators = graph_.operators;
    bool any = false;
    for (Operator& op : operators) any |= Rewrite(&op);
    if (!any) return false;
    // What is made for a reader goes before it, and those behind it get other numbers.
    graph_.operators.clear();
    for (Tensor& tensor : graph_.tensors) tensor.producer = kNone;
    size_t next = 0;
    for (size_t o = 0; o < operators.size(); ++o) {
      for (; next < made_.size() && made_[next].before == o; ++next) {
        graph_.AddOperator(std::move(made_[next].op));
      }
      graph_.AddOperator(std::move(operators[o]));
    }
    return true;
  }

  // Whether what is joined, or a sum of it, is still read, directly or not, for one of these.
  bool ReadsJoined(std::vector<TensorId> wanted) {
    std::vector<bool> seen(graph_.tensors.size(), false);
    while (!wanted.empty()) {
      const TensorId t = wanted.back();
      wanted.pop_back();
      if (t == kNone || seen[t]) continue;
      seen[t] = true;
      if (IsJoined(t)) return true;
      if (const Operator* op = ProducerOf(t); op != nullptr) {
        wanted.insert(wanted.end(), op->inputs.begin(), op->inputs.end());
      }
    }
    return false;
  }

 private:
  struct Made {
    size_t before = 0;
    Operator op;
  };

  const Operator* ProducerOf(TensorId t) const { return lineage::ProducerOf(graph_, t); }
  bool IsJoined(TensorId t) { return t != kNone && !PartsOf(t).empty(); }
  bool IsPlain(TensorId t) const { return lineage::IsPlain(graph_, t); }

  // Of what tensors it is joined, one after another; empty if it is not.
  const Parts& PartsOf(TensorId t) {
    const auto [known, fresh] = parts_.try_emplace(t);
    if (fresh) known->second = std::make_unique<Parts>(PartsOfJoined(graph_, t));
    return *known->second;
  }

  // The part in which all of these elements lie.
  const Part* PartAround(TensorId t, IndexRange elements) {
    const Parts& parts = PartsOf(t);
    const auto after =
        std::upper_bound(parts.begin(), parts.end(), elements.low,
                         [](int64_t element, const Part& part) { return element < part.end; });
    const bool inside =
        after != parts.end() && after->begin <= elements.low && elements.high < after->end;
    return inside ? &*after : nullptr;
  }

  // Where these elements of a tensor of one dimension are, if that is in a part. `reader`: the
  // operator that wants them.
  std::optional<Part> Find(TensorId t, IndexRange elements, OperatorId reader) {
    for (int copies = 0; copies <= kMaxCopies; ++copies) {
      if (const Part* part = PartAround(t, elements); part != nullptr) return *part;
      const Operator* op = ProducerOf(t);
      if (op == nullptr || !IsPlain(t) || !MayBeCut(*op)) return std::nullopt;
      const bool is_copy = Reads(op->function->nodes[op->function->outputs[0].body]);
      if (!is_copy || op->inputs.size() != 1) return FindSum(t, elements, reader);
      t = op->inputs[0];
    }
    return std::nullopt;
  }

  // The same of a tensor that is computed element by element of tensors that are joined alike.
  std::optional<Part> FindSum(TensorId t, IndexRange elements, OperatorId reader) {
    const Operator sum = *ProducerOf(t);
    if (sum.inputs.empty()) return std::nullopt;
    std::vector<TensorId> inputs;
    Part of_sum;
    for (const TensorId input : sum.inputs) {
      const Part* part = input == kNone ? nullptr : PartAround(input, elements);
      if (part == nullptr || part->shift != -part->begin ||
          graph_.tensors[part->tensor].shape != sdfg::Shape{part->end - part->begin}) {
        return std::nullopt;
      }
      if (inputs.empty()) of_sum = *part;
      if (part->begin != of_sum.begin || part->end != of_sum.end) return std::nullopt;
      inputs.push_back(part->tensor);
    }
    const auto [known, fresh] = sums_.try_emplace({t, of_sum.begin}, kNone);
    if (fresh) known->second = AddSum(sum, t, std::move(inputs), of_sum, reader);
    of_sum.tensor = known->second;
    return of_sum;
  }

  TensorId AddSum(Operator sum, TensorId of, std::vector<TensorId> inputs, const Part& part,
                  OperatorId reader) {
    const int64_t extent = part.end - part.begin;
    IndexFunction function = *sum.function;
    for (sdfg::FunctionInput& input : function.inputs) input.shape = {extent};
    function.vars[0].extent = extent;
    Tensor tensor = graph_.tensors[of];
    tensor.name = absl::StrCat(tensor.name, "[", part.begin, ":", part.end, "]");
    tensor.shape = {extent};
    tensor.producer = kNone;
    const TensorId result = graph_.AddTensor(std::move(tensor));
    sum.function = graph_.Intern(std::move(function));
    sum.inputs = std::move(inputs);
    sum.outputs = {result};
    sum.adjustable = nullptr;
    made_.push_back({static_cast<size_t>(reader), std::move(sum)});
    return result;
  }

  // The elements that are read.
  static std::optional<IndexRange> RangeOf(const IndexFunction& f, ExprId index) {
    std::vector<std::optional<IndexRange>> ranges(index + 1);
    for (ExprId id = 0; id <= index; ++id) {
      if (!sdfg::IntRangeOf(f.nodes[id], f.vars, ranges, &ranges[id])) return std::nullopt;
    }
    return ranges[index];
  }

  bool Rewrite(Operator* op) {
    if (op->kind != sdfg::OperatorKind::kCompute || op->inputs.size() != 1 ||
        op->outputs.size() != 1 || op->inputs[0] == kNone || op->outputs[0] == kNone) {
      return false;
    }
    const TensorId input = op->inputs[0], output = op->outputs[0];
    if (!IsPlain(input) || !IsPlain(output)) return false;
    const ExprId index = IndexRead(*op->function);
    if (index == sdfg::kNoExpr) return false;
    const std::optional<IndexRange> elements = RangeOf(*op->function, index);
    if (!elements.has_value()) return false;
    const std::optional<Part> part = Find(input, *elements, graph_.tensors[output].producer);
    if (!part.has_value()) return false;
    std::shared_ptr<const IndexFunction> function =
        Shifted(*op->function, index, part->shift, graph_.tensors[part->tensor].shape);
    if (function == nullptr) return false;
    op->function = std::move(function);
    op->inputs = {part->tensor};
    op->adjustable = nullptr;
    return true;
  }

  // The same elements where they are in a part. Null if they are not there.
  std::shared_ptr<const IndexFunction> Shifted(const IndexFunction& f, ExprId index, int64_t shift,
                                               const sdfg::Shape& shape) {
    sdfg::IndexFunctionBuilder builder(f.operator_name);
    builder.AddInput(f.inputs[0].name, shape, f.inputs[0].dtype);
    const int output =
        builder.AddOutput(f.outputs[0].name, f.outputs[0].shape(f.vars), f.outputs[0].dtype);
    if (f.outputs[0].stop_gradient) builder.SetStopGradient(output);
    for (const std::string& assumption : f.assumptions) builder.AddAssumption(assumption);
    std::map<sdfg::VarId, sdfg::VarId> var;
    for (size_t d = 0; d < f.outputs[0].dims.size(); ++d) {
      var[f.outputs[0].dims[d]] = builder.OutputDims(output)[d];
    }
    // What is added at the end is added once: parts that are read alike have one function.
    while (f.nodes[index].op == Op::kIntAdd) {
      const auto& args = f.nodes[index].args;
      const int constant = f.nodes[args[1]].op == Op::kIntConst ? 1 : 0;
      if (f.nodes[args[constant]].op != Op::kIntConst) break;
      shift += f.nodes[args[constant]].value;
      index = args[1 - constant];
    }
    bool plain = true;
    ExprId place = sdfg::FromLeavesUp(f, index, [&](ExprId id, const std::vector<ExprId>& done) {
      const Node& node = f.nodes[id];
      switch (node.op) {
        case Op::kIntConst:
          return builder.Int(node.value);
        case Op::kIndex:
          return builder.Index(var.at(node.var));
        case Op::kIntAdd:
          return builder.IntAdd(done[node.args[0]], done[node.args[1]]);
        case Op::kIntScale:
          return builder.IntScale(node.value, done[node.args[0]]);
        case Op::kIntDiv:
          return builder.IntDiv(done[node.args[0]], node.value);
        case Op::kIntMod:
          return builder.IntMod(done[node.args[0]], node.value);
        default:
          plain = false;
          return builder.Int(0);
      }
    });
    if (!plain) return nullptr;
    if (shift != 0) place = builder.IntAdd(place, builder.Int(shift));
    const bool integer = f.nodes[f.outputs[0].body].op == Op::kIntElement;
    builder.SetBody(output, integer ? builder.IntElement(0, {place}) : builder.Element(0, {place}));
    IndexFunction shifted;
    if (!builder.Finish(&shifted).ok()) return nullptr;
    return graph_.Intern(std::move(shifted));
  }

  Graph& graph_;
  absl::flat_hash_map<TensorId, std::unique_ptr<Parts>> parts_;
  absl::flat_hash_map<std::pair<TensorId, int64_t>, TensorId> sums_;
  std::vector<Made> made_;  // in the order of their readers
};

std::vector<TensorId> RequiredOf(const Problem& problem, bool of_plan) {
  std::vector<TensorId> required;
  for (const RequiredRelation& each : problem.required) {
    required.push_back(of_plan ? each.parallel : each.lineage.logical);
  }
  return required;
}

// What the plan says of tensors that it computes; these may be what was joined.
bool StatesAny(const Problem& problem) {
  for (size_t t = 0; t < problem.lineage.size(); ++t) {
    const bool computed = problem.parallel.tensors[t].producer != kNone;
    if (computed && problem.lineage[t].kind != LineageKind::kNone) return true;
  }
  return false;
}

}  // namespace

std::optional<Problem> WithReadsOfParts(const Problem& problem) {
  if (StatesAny(problem)) return std::nullopt;
  if (!JoinsAny(problem.logical) && !JoinsAny(problem.parallel)) return std::nullopt;
  Problem rewritten = problem;
  Rewriting of_model(&rewritten.logical), of_plan(&rewritten.parallel);
  const bool model = of_model.Run(), plan = of_plan.Run();
  if (!model && !plan) return std::nullopt;
  if (of_model.ReadsJoined(RequiredOf(rewritten, /*of_plan=*/false)) ||
      of_plan.ReadsJoined(RequiredOf(rewritten, /*of_plan=*/true))) {
    return std::nullopt;
  }
  rewritten.lineage.resize(rewritten.parallel.tensors.size());
  rewritten.schedule = {};
  return rewritten;
}

}  // namespace planproof::lineage
