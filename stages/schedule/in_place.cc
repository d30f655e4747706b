#include "stages/schedule/in_place.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "sdfg/index_algebra.h"

namespace planproof::stages {
namespace {

using sdfg::ExprId;
using sdfg::kNone;
using sdfg::Node;
using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

// Compares places in memory, as affine forms of an operator's indices.
class Places {
 public:
  explicit Places(const sdfg::IndexFunction& function)
      : function_(function), builder_(function.operator_name), algebra_(&builder_) {
    for (const sdfg::IndexVariable& var : function.vars) builder_.AddVar(var.name, var.extent);
  }

  // The element of a tensor of this shape at `indices`, counted in row-major order, is the one of
  // the other tensor at the others.
  bool Same(const sdfg::Shape& shape, const std::vector<ExprId>& indices, const sdfg::Shape& other,
            const std::vector<sdfg::VarId>& variables) {
    sdfg::AffineIndex difference;
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const std::optional<sdfg::AffineIndex> index = Index(indices[d]);
      if (!index.has_value()) return false;
      difference = algebra_.Sum(difference, *index, stride);
      if (__builtin_mul_overflow(stride, shape[d], &stride)) return false;
    }
    difference = algebra_.ToAffine(algebra_.FromAffine(std::move(difference)));
    stride = 1;
    for (size_t d = other.size(); d-- > 0;) {
      difference = algebra_.Sum(difference, Variable(variables[d]), -stride);
      if (__builtin_mul_overflow(stride, other[d], &stride)) return false;
    }
    return !algebra_.overflowed() && difference.terms.empty() && difference.constant == 0;
  }

 private:
  sdfg::AffineIndex Variable(sdfg::VarId var) {
    if (function_.vars[var].extent == 1) return {};
    return {0, {{builder_.Index(var), 1}}};
  }

  // Nothing if the index depends on data.
  std::optional<sdfg::AffineIndex> Index(ExprId id) {
    const Node& node = function_.nodes[id];
    if (node.op == Op::kIntConst) return sdfg::AffineIndex{node.value, {}};
    if (node.op == Op::kIndex) return Variable(node.var);
    if (node.op != Op::kIntAdd && node.op != Op::kIntScale && node.op != Op::kIntDiv &&
        node.op != Op::kIntMod) {
      return std::nullopt;
    }
    const std::optional<sdfg::AffineIndex> first = Index(node.args[0]);
    if (!first.has_value()) return std::nullopt;
    if (node.op == Op::kIntScale) return algebra_.Sum({}, *first, node.value);
    if (node.op == Op::kIntAdd) {
      const std::optional<sdfg::AffineIndex> second = Index(node.args[1]);
      if (!second.has_value()) return std::nullopt;
      return algebra_.Sum(*first, *second, 1);
    }
    const ExprId whole = algebra_.FromAffine(*first);
    return algebra_.ToAffine(node.op == Op::kIntDiv ? algebra_.Div(whole, node.value)
                                                    : algebra_.Mod(whole, node.value));
  }

  const sdfg::IndexFunction& function_;
  sdfg::IndexFunctionBuilder builder_;
  sdfg::IndexAlgebra algebra_;
};

// Calls visit(node) for each element that the output is computed from.
template <typename Visit>
void VisitReads(const sdfg::IndexFunction& function, size_t output, const Visit& visit) {
  std::vector<bool> seen(function.nodes.size(), false);
  std::vector<ExprId> pending = {function.outputs[output].body};
  while (!pending.empty()) {
    const ExprId id = pending.back();
    pending.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = function.nodes[id];
    pending.insert(pending.end(), node.args.begin(), node.args.end());
    if (node.op == Op::kElement || node.op == Op::kIntElement) visit(node);
  }
}

bool IsWanted(const sdfg::Operator& op, size_t output) {
  return output < op.outputs.size() && op.outputs[output] != kNone;
}

class ReadCheck {
 public:
  ReadCheck(const sdfg::Graph& graph, const sdfg::Operator& op)
      : graph_(graph), op_(op), function_(*op.function), places_(function_) {}

  std::vector<std::vector<InputReads>> Run() {
    std::vector<std::vector<InputReads>> reads(function_.outputs.size());
    for (size_t o = 0; o < reads.size(); ++o) {
      reads[o].resize(function_.inputs.size());
      if (!IsWanted(op_, o)) continue;
      VisitReads(function_, o, [&](const Node& node) {
        InputReads& of = reads[o][node.input];
        of.any = true;
        of.own_element = of.own_element && AtOwnElement(o, node);
      });
    }
    return reads;
  }

 private:
  const std::vector<sdfg::AxisId>& AxesOf(TensorId tensor) const {
    static const auto* const none = new std::vector<sdfg::AxisId>();
    return op_.lifted ? *none : graph_.tensors[tensor].axes;
  }

  bool AtOwnElement(size_t output, const Node& read) {
    const TensorId from = op_.inputs[read.input];
    const TensorId to = op_.outputs[output];
    const sdfg::DType dtype = graph_.tensors[from].dtype;
    if (dtype != graph_.tensors[to].dtype || dtype == sdfg::DType::kUnknown) return false;
    const std::vector<sdfg::AxisId>& from_axes = AxesOf(from);
    const std::vector<sdfg::AxisId>& to_axes = AxesOf(to);
    const std::vector<sdfg::VarId>& dims = function_.outputs[output].dims;
    for (size_t d = 0; d < from_axes.size(); ++d) {
      // Which microbatch is read is no question of places (ProgramBuffers tells them apart).
      const sdfg::Axis& axis = graph_.axes[from_axes[d]];
      if (axis.extent == 1 || axis.kind == sdfg::AxisKind::kMicrobatch || MayRunInPlace(op_))
        continue;
      const auto own = std::find(to_axes.begin(), to_axes.end(), from_axes[d]);
      const Node& index = function_.nodes[read.args[d]];
      if (own == to_axes.end() || index.op != Op::kIndex ||
          index.var != dims[own - to_axes.begin()]) {
        return false;  // another rank's
      }
    }
    const sdfg::Shape& whole = function_.inputs[read.input].shape;
    const std::vector<sdfg::VarId> local(dims.begin() + to_axes.size(), dims.end());
    sdfg::Shape extents;
    for (sdfg::VarId var : local) extents.push_back(function_.vars[var].extent);
    return places_.Same({whole.begin() + from_axes.size(), whole.end()},
                        {read.args.begin() + from_axes.size(), read.args.end()}, extents, local);
  }

  const sdfg::Graph& graph_;
  const sdfg::Operator& op_;
  const sdfg::IndexFunction& function_;
  Places places_;
};

}  // namespace

std::vector<std::vector<InputReads>> ReadsOf(const sdfg::Graph& graph, const sdfg::Operator& op) {
  return ReadCheck(graph, op).Run();
}

std::vector<bool> InputsRead(const sdfg::Operator& op) {
  std::vector<bool> read(op.inputs.size(), false);
  for (size_t o = 0; o < op.function->outputs.size(); ++o) {
    if (!IsWanted(op, o)) continue;
    VisitReads(*op.function, o, [&read](const Node& node) { read[node.input] = true; });
  }
  return read;
}

bool MayRunInPlace(const sdfg::Operator& collective) {
  return sdfg::ReducesInPlace(collective.kind);
}

InPlace::InPlace(const StepOrder& order) : order_(order), graph_(order.problem().parallel) {
  for (size_t id = 0; id < graph_.operators.size(); ++id) {
    const lineage::Place place = order.PlaceOf(graph_.operators[id]);
    if (place.program == kNone || place.entry == kNone) continue;
    entries_[{place.program, place.entry}].push_back(static_cast<OperatorId>(id));
  }
}

std::vector<OperatorId> InPlace::EntryOf(OperatorId op) const {
  const lineage::Place place = order_.PlaceOf(graph_.operators[op]);
  const auto entry = entries_.find({place.program, place.entry});
  return entry == entries_.end() ? std::vector<OperatorId>{op} : entry->second;
}

const std::string& InPlace::Conflict(OperatorId op, TensorId written, TensorId there,
                                     bool same_places) {
  const auto [at, fresh] = known_.try_emplace({op, written, there});
  if (fresh) at->second = FindConflict(op, written, there, same_places);
  return at->second;
}

std::string InPlace::FindConflict(OperatorId op, TensorId written, TensorId there,
                                  bool same_places) const {
  const int program = order_.PlaceOf(graph_.operators[op]).program;
  const auto name = [this](TensorId tensor) { return graph_.tensors[tensor].name; };
  std::set<TensorId> from = {there};  // computed from it, element by element
  bool varies_by_rank = false;
  std::string conflict;
  for (OperatorId id : EntryOf(op)) {
    const sdfg::Operator& step = graph_.operators[id];
    varies_by_rank = varies_by_rank || step.kind == sdfg::OperatorKind::kRankOverride;
    std::vector<std::vector<InputReads>> reads;
    for (size_t i = 0; i < step.inputs.size() && conflict.empty(); ++i) {
      if (from.count(step.inputs[i]) == 0) continue;
      if (reads.empty()) reads = ReadsOf(graph_, step);
      const auto wanted = std::count_if(step.outputs.begin(), step.outputs.end(),
                                        [](TensorId output) { return output != kNone; });
      bool read = false;
      for (size_t o = 0; o < reads.size() && conflict.empty(); ++o) {
        if (!reads[o][i].any) continue;
        read = true;
        from.insert(step.outputs[o]);
        if (!same_places) {
          conflict = absl::StrCat(step.name, " reads ", name(there),
                                  ", whose elements lie at other places of that memory");
        } else if (!reads[o][i].own_element) {
          conflict = absl::StrCat(step.name, " reads other elements of ", name(there),
                                  " than the one that it overwrites");
        } else if (wanted > 1 && !step.memory.one_pass && step.outputs[o] != written) {
          conflict =
              absl::StrCat(name(step.outputs[o]), " is computed from ", name(there), ", too");
        }
      }
      const bool meets = std::any_of(step.inputs.begin(), step.inputs.end(), [&](TensorId input) {
        return order_.PlaceOf(input).program != program;
      });
      if (read && meets && conflict.empty() && !MayRunInPlace(step)) {
        conflict = absl::StrCat("other ranks read ", name(there), " in the same ", step.name);
      }
    }
  }
  // Which operators run one after the other on one rank is not told.
  if (conflict.empty() && varies_by_rank && from.size() > 1) {
    conflict = "some ranks compute it otherwise (\"exceptions\")";
  }
  return conflict;
}

}  // namespace planproof::stages
