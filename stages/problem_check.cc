#include "stages/problem_check.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "lineage/map_range.h"
#include "sdfg/index_function_check.h"
#include "sdfg/narrow_types.h"

namespace planproof::stages {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::TensorId;

namespace {

absl::Status CheckOrder(const sdfg::Graph& g, const char* which) {
  std::vector<bool> ready(g.tensors.size(), false);
  for (size_t t = 0; t < g.tensors.size(); ++t) ready[t] = g.tensors[t].producer == kNone;
  for (size_t o = 0; o < g.operators.size(); ++o) {
    const sdfg::Operator& op = g.operators[o];
    if (op.inputs.size() != op.function->inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(which, " operator ", op.name, " ", op.label, " has ", op.inputs.size(),
                       " operands, its function ", op.function->inputs.size()));
    }
    for (TensorId t : op.inputs) {
      if (t < 0 || static_cast<size_t>(t) >= g.tensors.size() || !ready[t]) {
        return absl::InvalidArgumentError(absl::StrCat(which, " operator ", op.name, " ", op.label,
                                                       " reads a tensor before it is produced"));
      }
    }
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorId t = op.outputs[k];
      if (t == kNone) continue;
      if (g.tensors[t].producer != static_cast<sdfg::OperatorId>(o) ||
          g.tensors[t].producer_output != static_cast<int32_t>(k)) {
        return absl::InvalidArgumentError(absl::StrCat(which, " tensor ", g.tensors[t].name,
                                                       " is not the result of operator ", op.name,
                                                       " ", op.label, " that produces it"));
      }
      ready[t] = true;
    }
  }
  return absl::OkStatus();
}

enum class NumberKind : uint8_t { kUnknown, kReal, kInteger, kTruth, kComplex };

NumberKind KindOf(sdfg::DType dtype) {
  if (sdfg::IsFloating(dtype)) return NumberKind::kReal;
  if (sdfg::IsInteger(dtype)) return NumberKind::kInteger;
  switch (dtype) {
    case sdfg::DType::kBool:
      return NumberKind::kTruth;
    case sdfg::DType::kComplex64:
    case sdfg::DType::kComplex128:
      return NumberKind::kComplex;
    default:
      return NumberKind::kUnknown;
  }
}

// Who reads a required output computes with it as with the model's: truth values, integers and real
// numbers do not stand for each other, even where they are equal.
absl::Status CheckKind(const lineage::Problem& problem, const lineage::RequiredRelation& required) {
  const sdfg::DType given = problem.parallel.tensors[required.parallel].dtype;
  const sdfg::Tensor& wanted = problem.logical.tensors[required.lineage.logical];
  const NumberKind a = KindOf(given), b = KindOf(wanted.dtype);
  if (a == b || a == NumberKind::kUnknown || b == NumberKind::kUnknown) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "required output ", required.what, " has element type ", sdfg::DTypeName(given), ", ",
      wanted.name, " of the model has ", sdfg::DTypeName(wanted.dtype), "; convert it"));
}

// Readers check functions as well; a problem may also be made, or changed, in memory. What reads
// outside of a tensor is wrong even if nothing depends on what it reads.
absl::Status CheckFunctions(const sdfg::Graph& graph) {
  std::unordered_set<const sdfg::IndexFunction*> seen;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    const sdfg::Operator& op = graph.operators[o];
    if (!seen.insert(op.function.get()).second) continue;
    if (const absl::Status s = sdfg::CheckIndexFunction(*op.function); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat(graph.Describe(static_cast<sdfg::OperatorId>(o)),
                                                 ": ", std::string(s.message())));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLineage(const lineage::Problem& problem, TensorId parallel,
                          const lineage::Lineage& l, const std::string& what) {
  const sdfg::Tensor& p = problem.parallel.tensors[parallel];
  if (l.logical < 0 || static_cast<size_t>(l.logical) >= problem.logical.tensors.size()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": its lineage names no logical tensor"));
  }
  const sdfg::Tensor& t = problem.logical.tensors[l.logical];
  if (l.map.size() != t.shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": its lineage has ", l.map.size(),
                                                   " dimensions, ", t.name, " has ",
                                                   t.shape.size()));
  }
  // An input of a narrow type is not any number; what is computed has been checked to be held.
  const bool narrowed = p.producer == kNone && sdfg::IsNarrow(p.dtype) && p.dtype != t.dtype &&
                        !sdfg::IsNarrow(t.dtype);
  if (sdfg::IsInteger(p.dtype) != sdfg::IsInteger(t.dtype) || narrowed) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has element type ", sdfg::DTypeName(p.dtype), ", ", t.name,
                     " of its lineage has ", sdfg::DTypeName(t.dtype)));
  }
  if (std::find(p.shape.begin(), p.shape.end(), 0) != p.shape.end()) return absl::OkStatus();
  for (size_t d = 0; d < l.map.size(); ++d) {
    __int128 low, high;
    const absl::Status range = lineage::RangeOfMap(l.map[d], p.shape, &low, &high);
    if (!range.ok()) {
      return absl::Status(range.code(), absl::StrCat(what, ": ", std::string(range.message())));
    }
    if (low < 0 || high >= t.shape[d]) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": its lineage covers ", static_cast<int64_t>(low), " to ",
                       static_cast<int64_t>(high), " of dimension ", d, " of ", t.name,
                       ", which has extent ", t.shape[d]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProblem(const lineage::Problem& problem) {
  if (auto s = CheckOrder(problem.logical, "logical"); !s.ok()) return s;
  if (auto s = CheckOrder(problem.parallel, "parallel"); !s.ok()) return s;
  for (const sdfg::Graph* graph : {&problem.logical, &problem.parallel}) {
    if (auto s = CheckFunctions(*graph); !s.ok()) return s;
  }
  if (problem.lineage.size() != problem.parallel.tensors.size()) {
    return absl::InvalidArgumentError("not every parallel tensor has an entry for its lineage");
  }
  for (size_t t = 0; t < problem.lineage.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    const bool full = problem.lineage[t].kind == LineageKind::kFull;
    if (full) {
      auto s = CheckLineage(problem, static_cast<TensorId>(t), problem.lineage[t], tensor.name);
      if (!s.ok()) return s;
    } else if (tensor.producer == kNone && tensor.role != sdfg::TensorRole::kOne &&
               tensor.role != sdfg::TensorRole::kZero) {
      return absl::InvalidArgumentError(
          absl::StrCat("parallel tensor ", tensor.name,
                       " has neither a producer nor a lineage to a logical input"));
    }
    if (full && tensor.producer == kNone &&
        problem.lineage[t].provenance != lineage::Provenance::kAssumed &&
        problem.logical.tensors[problem.lineage[t].logical].producer != kNone) {
      return absl::InvalidArgumentError(
          absl::StrCat("parallel tensor ", tensor.name,
                       " has no producer, but its lineage names the computed tensor ",
                       problem.logical.tensors[problem.lineage[t].logical].name));
    }
  }
  for (const auto& r : problem.required) {
    if (r.parallel < 0 || static_cast<size_t>(r.parallel) >= problem.parallel.tensors.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("required output ", r.what, " does not exist"));
    }
    auto s = CheckLineage(problem, r.parallel, r.lineage, absl::StrCat("required output ", r.what));
    if (s.ok()) s = CheckKind(problem, r);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace planproof::stages
