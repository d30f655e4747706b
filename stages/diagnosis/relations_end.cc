#include "stages/diagnosis/relations_end.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lineage/multiple.h"
#include "sdfg/operator_library.h"
#include "stages/cone.h"

namespace planproof::stages {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxNearest = 3;

class EndOfRelations {
 public:
  explicit EndOfRelations(const lineage::Problem& problem)
      : problem_(problem), held_(problem.logical.tensors.size(), false) {
    const Cone cone = ConeOfRequired(problem);
    for (size_t t = 0; t < problem.lineage.size(); ++t) {
      const TensorId logical = LogicalOf(static_cast<TensorId>(t));
      if (cone.tensors[t] && logical != kNone) held_[logical] = true;
    }
    for (size_t t = 0; t < held_.size(); ++t) {
      if (problem.logical.tensors[t].producer == kNone) held_[t] = true;
    }
    // A rearrangement of what the plan has needs no tensor of its own.
    for (const sdfg::Operator& op : problem.logical.operators) {
      if (sdfg::OperatorLibrary::IsDataMovement(*op.function) && HasOperands(op)) SetHeld(op);
    }
  }

  std::optional<RelationsEnd> Find() {
    RelationsEnd end;
    for (const OperatorId id : Missing()) {
      if (!HasOperands(problem_.logical.operators[id])) continue;
      end.logical = id;
      break;
    }
    if (end.logical == kNone) return std::nullopt;
    end.nearest = Nearest(end.logical);
    if (!end.nearest.empty()) end.difference = Difference(end.logical, end.nearest[0]);
    return end;
  }

 private:
  // What the tensor is, or a multiple of; kNone where nothing is known.
  TensorId LogicalOf(TensorId parallel) const {
    const lineage::Lineage& l = problem_.lineage[parallel];
    if (l.kind != LineageKind::kFull) return kNone;
    return lineage::AsMultiple(problem_.logical, l.logical).of;
  }

  bool HasOperands(const sdfg::Operator& op) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId t) { return t == kNone || held_[t]; });
  }

  void SetHeld(const sdfg::Operator& op) {
    for (const TensorId t : op.outputs) {
      if (t != kNone) held_[t] = true;
    }
  }

  // Operators of the model that required outputs need and whose results the plan does not have,
  // with nothing in between that it has; in dataflow order.
  std::set<OperatorId> Missing() const {
    std::set<OperatorId> missing;
    std::vector<TensorId> work;
    for (const auto& r : problem_.required) {
      // What is required is claimed, whether it holds or not.
      const bool shown = LogicalOf(r.parallel) == r.lineage.logical &&
                         problem_.lineage[r.parallel].map == r.lineage.map;
      if (!shown) work.push_back(r.lineage.logical);
    }
    std::set<TensorId> seen(work.begin(), work.end());
    while (!work.empty()) {
      const OperatorId producer = problem_.logical.tensors[work.back()].producer;
      work.pop_back();
      if (producer == kNone) continue;
      missing.insert(producer);
      for (const TensorId t : problem_.logical.operators[producer].inputs) {
        if (t != kNone && !held_[t] && seen.insert(t).second) work.push_back(t);
      }
    }
    return missing;
  }

  std::set<TensorId> Operands(const sdfg::Operator& op, bool parallel) const {
    std::set<TensorId> operands;
    for (const TensorId t : op.inputs) {
      if (t == kNone) continue;
      operands.insert(parallel ? LogicalOf(t) : t);
    }
    return operands;
  }

  bool Unrelated(const sdfg::Operator& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) {
      return t != kNone && problem_.lineage[t].kind != LineageKind::kFull;
    });
  }

  std::vector<OperatorId> Nearest(OperatorId id) const {
    const sdfg::Operator& wanted = problem_.logical.operators[id];
    const std::set<TensorId> operands = Operands(wanted, /*parallel=*/false);
    // Other operands, another function, later.
    std::vector<std::tuple<size_t, bool, OperatorId>> found;
    const sdfg::Graph& graph = problem_.parallel;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      const sdfg::Operator& op = graph.operators[o];
      if (!Unrelated(op)) continue;
      const std::set<TensorId> own = Operands(op, /*parallel=*/true);
      std::vector<TensorId> common;
      std::set_intersection(own.begin(), own.end(), operands.begin(), operands.end(),
                            std::back_inserter(common));
      if (common.empty()) continue;
      const size_t others = own.size() + operands.size() - 2 * common.size();
      found.emplace_back(others, op.name != wanted.name, static_cast<OperatorId>(o));
    }
    std::sort(found.begin(), found.end());
    std::vector<OperatorId> nearest;
    for (const auto& [others, different, o] : found) {
      if (nearest.size() < kMaxNearest) nearest.push_back(o);
    }
    return nearest;
  }

  std::string NamesOf(const std::set<TensorId>& tensors, const std::set<TensorId>& without) const {
    std::vector<std::string> names;
    for (const TensorId t : tensors) {
      if (without.count(t) != 0) continue;
      names.push_back(t == kNone ? "what is no tensor of the model"
                                 : problem_.logical.tensors[t].name);
    }
    return absl::StrJoin(names, ", ");
  }

  std::string Difference(OperatorId logical, OperatorId parallel) const {
    const sdfg::Operator& wanted = problem_.logical.operators[logical];
    const sdfg::Operator& op = problem_.parallel.operators[parallel];
    std::vector<std::string> clauses;
    if (op.name != wanted.name) clauses.push_back(absl::StrCat("is ", op.name));
    const std::set<TensorId> own = Operands(op, true), operands = Operands(wanted, false);
    const std::string more = NamesOf(own, operands), less = NamesOf(operands, own);
    if (!more.empty() && !less.empty()) {
      clauses.push_back(absl::StrCat("reads ", more, " instead of ", less));
    } else if (!more.empty()) {
      clauses.push_back(absl::StrCat("also reads ", more));
    } else if (!less.empty()) {
      clauses.push_back(absl::StrCat("does not read ", less));
    }
    return absl::StrJoin(clauses, " and ");
  }

  const lineage::Problem& problem_;
  std::vector<bool> held_;  // by logical tensor: the plan has it, or needs none of its own
};

}  // namespace

std::optional<RelationsEnd> WhereRelationsEnd(const lineage::Problem& problem) {
  return EndOfRelations(problem).Find();
}

std::string InWords(const lineage::Problem& problem, const RelationsEnd& end) {
  std::string text = absl::StrCat(problem.logical.Describe(end.logical),
                                  ": the plan has its operands, but not its result");
  if (end.nearest.empty()) return text;
  absl::StrAppend(&text, "; nearest is ", problem.parallel.Describe(end.nearest[0]));
  if (!end.difference.empty()) absl::StrAppend(&text, ", which ", end.difference);
  return text;
}

}  // namespace planproof::stages
