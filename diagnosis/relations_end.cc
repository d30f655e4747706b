#include "diagnosis/relations_end.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/describe.h"
#include "diagnosis/multiples.h"
#include "diagnosis/odd_operator.h"
#include "diagnosis/operands.h"
#include "inference/copies.h"
#include "inference/integer_patterns.h"
#include "lineage/multiple.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"
#include "stages/cone.h"

namespace planproof::diagnosis {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxNearest = 3;

class EndOfRelations {
 public:
  EndOfRelations(const lineage::Problem& problem, const std::vector<bool>& shown)
      : problem_(problem),
        shown_(shown),
        cone_(stages::ConeOfRequired(problem)),
        multiples_(problem),
        copy_of_(inference::FirstOfCopies(problem.logical)),
        whole_(inference::MadeOfIntegers(problem.parallel)),
        has_(problem.logical.tensors.size(), Has::kNot),
        term_of_(problem.parallel.tensors.size(), kNone) {
    for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
      by_name_.emplace(problem.logical.tensors[t].name, static_cast<TensorId>(t));
    }
    for (size_t t = 0; t < problem.lineage.size(); ++t) {
      const TensorId logical = Related(static_cast<TensorId>(t));
      if (cone_.tensors[t] && logical != kNone) has_[logical] = Has::kItself;
    }
    // Integers and constants are not related (inference/integer_patterns.h); what reads them is.
    const std::vector<bool> whole = inference::MadeOfIntegers(problem.logical);
    for (size_t t = 0; t < has_.size(); ++t) {
      if (problem.logical.tensors[t].producer == kNone || whole[t]) has_[t] = Has::kItself;
    }
    for (size_t r = 0; r < shown.size(); ++r) {
      if (shown[r]) has_[problem.required[r].lineage.logical] = Has::kItself;
    }
    FollowDataMovement();
    BelieveInOperandsOfResults();
    ShareAmongCopies();
    FindTerms();
    right_ = Right();
    believed_ = WithOperands(problem.parallel, right_);
  }

  std::optional<RelationsEnd> Find() const {
    RelationsEnd end;
    for (const bool also_terms : {false, true}) {
      for (const OperatorId id : Missing()) {
        const sdfg::Operator& op = problem_.logical.operators[id];
        if (end.logical != kNone || !HasOperandsOfMissing(op)) continue;
        if (also_terms || !HasTerms(op)) end.logical = id;
      }
    }
    for (const auto& [logical, parallel] : modified_) {
      if (!Unrelated(problem_.parallel.operators[parallel])) continue;
      end.logical = logical;
      end.nearest = {parallel};
      end.difference = "is another function of the same operands";
      return end;
    }
    std::optional<OperatorId> misnamed;
    if (problem_.names_tell) misnamed = FirstMisnamed();
    if (misnamed.has_value()) {
      end.logical = problem_.logical.tensors[NamesakeOfResult(*misnamed)].producer;
      end.nearest = {*misnamed};
      end.elsewhere = has_[NamesakeOfResult(*misnamed)] == Has::kItself;
      end.difference = Difference(end.logical, *misnamed);
      return end;
    }
    if (end.logical == kNone) return std::nullopt;
    end.nearest = Nearest(end.logical);
    if (!end.nearest.empty()) {
      if (const std::optional<OperatorId> odd = OddOneOut(end.logical, end.nearest[0])) {
        end.difference = "is another function than those beside it";
        end.nearest = {*odd};
        return end;
      }
    }
    std::optional<OddOperator> odd;
    if (problem_.names_tell) odd = FindOddOperator(problem_, cone_.tensors, believed_);
    const bool multiple = !problem_.names_tell && !end.nearest.empty() &&
                          multiples_.AreReadBy(problem_.parallel.operators[end.nearest[0]]);
    if (!odd.has_value() && !end.nearest.empty() && !multiple) {
      // A tensor of the model may be computed from the right part of one that is wrong elsewhere.
      odd = FindOddOperator(problem_,
                            NotRightBehind(problem_.parallel, end.nearest[0],
                                           problem_.names_tell ? right_ : believed_),
                            problem_.names_tell ? right_ : believed_);
    }
    if (odd.has_value()) {
      end.nearest = {odd->odd};
      end.difference = std::move(odd->difference);
    } else if (!end.nearest.empty()) {
      end.difference = Difference(end.logical, end.nearest[0]);
    }
    return end;
  }

 private:
  // What the plan has of a logical tensor.
  enum class Has : uint8_t { kNot, kTerms, kItself };

  // The logical tensor that this one is, or a multiple of; kNone where nothing is known.
  TensorId Related(TensorId parallel) const {
    const lineage::Lineage& l = problem_.lineage[parallel];
    if (l.kind != LineageKind::kFull) return kNone;
    return copy_of_[lineage::AsMultiple(problem_.logical, l.logical).of];
  }

  TensorId LogicalOf(TensorId parallel) const {
    const TensorId related = Related(parallel);
    return related != kNone ? related : term_of_[parallel];
  }

  bool HasOperands(const sdfg::Operator& op) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId t) { return t == kNone || has_[t] != Has::kNot; });
  }

  // What results that the plan does not have are computed from.
  bool HasOperandsOfMissing(const sdfg::Operator& op) const {
    const auto read = OperandsByOutput(problem_.logical, op);
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone || has_[op.outputs[o]] == Has::kItself) continue;
      if (std::all_of(read[o].begin(), read[o].end(),
                      [&](TensorId t) { return has_[t] != Has::kNot; })) {
        return true;
      }
    }
    return false;
  }

  bool HasTerms(const sdfg::Operator& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(),
                       [&](TensorId t) { return t != kNone && has_[t] == Has::kTerms; });
  }

  // A rearrangement of what the plan has needs no tensor of its own.
  void FollowDataMovement() {
    for (const sdfg::Operator& op : problem_.logical.operators) {
      if (!sdfg::OperatorLibrary::IsDataMovement(*op.function) || !HasOperands(op)) continue;
      for (const TensorId t : op.outputs) {
        if (t != kNone) has_[t] = Has::kItself;
      }
    }
  }

  // Nor does what a result of the plan is computed from: masked scores before their softmax.
  void BelieveInOperandsOfResults() {
    std::vector<bool> right;
    for (const Has has : has_) right.push_back(has == Has::kItself);
    right = WithOperands(problem_.logical, std::move(right));
    for (size_t t = 0; t < has_.size(); ++t) {
      if (right[t]) has_[t] = Has::kItself;
    }
  }

  void ShareAmongCopies() {
    const auto elements = [&](size_t t) {
      return sdfg::ElementCount(problem_.logical.tensors[t].shape);
    };
    for (size_t t = 0; t < has_.size(); ++t) {
      Has& of_first = has_[copy_of_[t]];
      if (elements(t) >= elements(copy_of_[t])) of_first = std::max(of_first, has_[t]);
    }
    for (size_t t = 0; t < has_.size(); ++t) has_[t] = std::max(has_[t], has_[copy_of_[t]]);
  }

  // Of operands of the same shapes: not a part of what the model computes, but something else.
  static bool IsModified(const sdfg::IndexFunction& logical, const sdfg::IndexFunction& parallel) {
    const auto same = [](const sdfg::FunctionInput& a, const sdfg::FunctionInput& b) {
      return a.shape == b.shape;
    };
    return std::equal(logical.inputs.begin(), logical.inputs.end(), parallel.inputs.begin(),
                      parallel.inputs.end(), same) &&
           logical.Serialize() != parallel.Serialize();
  }

  // The same operator of the same operands, of parts of them perhaps: what it gives may be a term
  // of the model's result.
  void FindTerms() {
    std::map<std::vector<TensorId>, std::vector<OperatorId>> by_operands;
    for (size_t o = 0; o < problem_.logical.operators.size(); ++o) {
      std::vector<TensorId> operands = problem_.logical.operators[o].inputs;
      for (TensorId& t : operands) t = t == kNone ? kNone : copy_of_[t];
      by_operands[std::move(operands)].push_back(static_cast<OperatorId>(o));
    }
    for (const sdfg::Operator& op : problem_.parallel.operators) {
      std::vector<TensorId> operands;
      for (const TensorId t : op.inputs) {
        operands.push_back(t == kNone || !multiples_.Factor(t).IsOne() ? kNone : Related(t));
      }
      const auto found = by_operands.find(operands);
      if (found == by_operands.end()) continue;
      for (const OperatorId id : found->second) {
        const sdfg::Operator& logical = problem_.logical.operators[id];
        if (logical.name != op.name || logical.outputs.size() != op.outputs.size()) continue;
        // Steps of a recurrence have the same operands, but for the parts that they read.
        if (found->second.size() > 1 && logical.label != op.label) continue;
        if (IsModified(*logical.function, *op.function)) {
          modified_.emplace_back(id,
                                 static_cast<OperatorId>(&op - &problem_.parallel.operators[0]));
          continue;
        }
        for (size_t i = 0; i < op.outputs.size(); ++i) {
          const TensorId part = op.outputs[i], whole = logical.outputs[i];
          if (part == kNone || whole == kNone || Related(part) != kNone) continue;
          term_of_[part] = copy_of_[whole];
          if (has_[whole] == Has::kNot) has_[whole] = Has::kTerms;
        }
      }
    }
  }

  // Operators of the model that required outputs need and whose results the plan does not have,
  // with nothing in between that it has; in dataflow order.
  std::set<OperatorId> Missing() const {
    std::set<OperatorId> missing;
    std::vector<TensorId> work;
    for (const auto& r : problem_.required) {
      // What is required is claimed, whether it holds or not.
      const bool shown = Related(r.parallel) == copy_of_[r.lineage.logical] &&
                         problem_.lineage[r.parallel].map == r.lineage.map;
      if (!shown) work.push_back(r.lineage.logical);
    }
    std::set<TensorId> seen(work.begin(), work.end());
    while (!work.empty()) {
      const sdfg::Tensor& tensor = problem_.logical.tensors[work.back()];
      work.pop_back();
      if (tensor.producer == kNone) continue;
      missing.insert(tensor.producer);
      const auto read =
          OperandsByOutput(problem_.logical, problem_.logical.operators[tensor.producer]);
      for (const TensorId t : read[tensor.producer_output]) {
        if (has_[t] != Has::kItself && seen.insert(t).second) work.push_back(t);
      }
    }
    return missing;
  }

  std::set<TensorId> Operands(const sdfg::Operator& op, bool parallel) const {
    std::set<TensorId> operands;
    for (const TensorId t : op.inputs) {
      if (t == kNone) continue;
      operands.insert(parallel ? LogicalOf(t) : copy_of_[t]);
    }
    return operands;
  }

  bool Unrelated(const sdfg::Operator& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) {
      if (t == kNone || Related(t) != kNone || whole_[t]) return false;
      return problem_.names_tell || !believed_[t];
    });
  }

  std::vector<OperatorId> Nearest(OperatorId id) const {
    const sdfg::Operator& wanted = problem_.logical.operators[id];
    const std::set<TensorId> operands = Operands(wanted, /*parallel=*/false);
    const bool has_terms = HasTerms(wanted);
    // Another operator of the program or another operator, other operands, later.
    std::vector<std::tuple<bool, bool, size_t, OperatorId>> found;
    const sdfg::Graph& graph = problem_.parallel;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      const sdfg::Operator& op = graph.operators[o];
      // Terms of an operand are there already.
      if (!Unrelated(op) || (!has_terms && GivesTermsOfAny(op, operands))) continue;
      const std::set<TensorId> own = Operands(op, /*parallel=*/true);
      std::vector<TensorId> common;
      std::set_intersection(own.begin(), own.end(), operands.begin(), operands.end(),
                            std::back_inserter(common));
      if (common.empty()) continue;
      const size_t others = own.size() + operands.size() - 2 * common.size();
      const bool elsewhere = !problem_.names_tell && op.label != wanted.label;
      found.emplace_back(elsewhere, op.name != wanted.name, others, static_cast<OperatorId>(o));
    }
    std::sort(found.begin(), found.end());
    std::vector<OperatorId> nearest;
    for (const auto& [elsewhere, different, others, o] : found) {
      if (nearest.size() < kMaxNearest) nearest.push_back(o);
    }
    return nearest;
  }

  // The logical tensor of that name; names of the plan may say which program, and which part.
  TensorId Namesake(TensorId parallel) const {
    std::string_view name = problem_.parallel.tensors[parallel].name;
    if (const size_t colon = name.rfind(':'); colon != name.npos) name.remove_prefix(colon + 1);
    name = name.substr(0, name.find('@'));
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? kNone : found->second;
  }

  // Of the first result that is not what its name says.
  TensorId NamesakeOfResult(OperatorId id) const {
    for (const TensorId t : problem_.parallel.operators[id].outputs) {
      if (t == kNone || !cone_.tensors[t] || LogicalOf(t) != kNone || believed_[t]) continue;
      const TensorId logical = Namesake(t);
      const bool computed = logical != kNone && problem_.logical.tensors[logical].producer != kNone;
      if (computed) return logical;
    }
    return kNone;
  }

  std::vector<bool> Right() const {
    std::vector<bool> right(problem_.parallel.tensors.size());
    for (size_t i = 0; i < right.size(); ++i) {
      const auto t = static_cast<TensorId>(i);
      right[i] = whole_[t] || (Related(t) != kNone && multiples_.Factor(t).IsOne());
    }
    for (size_t r = 0; r < shown_.size(); ++r) {
      if (shown_[r]) right[problem_.required[r].parallel] = true;
    }
    return right;
  }

  // The first operator whose operands are the model's and whose result is not, although it has the
  // name of a tensor of the model.
  std::optional<OperatorId> FirstMisnamed() const {
    const auto& operators = problem_.parallel.operators;
    for (size_t o = 0; o < operators.size(); ++o) {
      const bool related = std::all_of(operators[o].inputs.begin(), operators[o].inputs.end(),
                                       [&](TensorId t) { return t == kNone || right_[t]; });
      const auto id = static_cast<OperatorId>(o);
      if (related && NamesakeOfResult(id) != kNone) return id;
    }
    return std::nullopt;
  }

  // Where operators that are the same add up the operands of the missing one, the one that is not.
  std::optional<OperatorId> OddOneOut(OperatorId missing, OperatorId nearest) const {
    constexpr int kAlike = 3;
    const auto& operators = problem_.parallel.operators;
    const size_t arity = operators[nearest].inputs.size();
    const std::set<TensorId> operands = Operands(problem_.logical.operators[missing], false);
    std::set<TensorId> within;  // parallel
    std::map<const sdfg::IndexFunction*, std::vector<OperatorId>> alike;
    for (size_t o = 0; o < operators.size(); ++o) {
      const sdfg::Operator& op = operators[o];
      const bool all = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) {
        return t != kNone && (within.count(t) != 0 || operands.count(LogicalOf(t)) != 0);
      });
      if (!all || op.inputs.size() != arity || op.outputs.size() != 1 || !Unrelated(op)) continue;
      within.insert(op.outputs[0]);
      alike[op.function.get()].push_back(static_cast<OperatorId>(o));
    }
    if (alike.size() != 2) return std::nullopt;
    const auto& [first, second] = std::minmax(alike.begin()->second, alike.rbegin()->second,
                                              [](auto& x, auto& y) { return x.size() < y.size(); });
    if (first.size() != 1 || second.size() < kAlike) return std::nullopt;
    return first[0];
  }

  // The operator after which what leads to this tensor is no tensor of the model any more.
  OperatorId OriginOf(TensorId unrelated) const {
    for (;;) {
      const OperatorId producer = problem_.parallel.tensors[unrelated].producer;
      if (producer == kNone) return kNone;
      const auto& inputs = problem_.parallel.operators[producer].inputs;
      const auto next = std::find_if(inputs.begin(), inputs.end(), [&](TensorId t) {
        return t != kNone && LogicalOf(t) == kNone && !whole_[t];
      });
      // What joins ranks computes nothing: one of them is another tensor.
      const bool joins =
          problem_.parallel.operators[producer].kind == sdfg::OperatorKind::kSelectInstance;
      const auto odd = std::find_if(inputs.begin(), inputs.end(), [&](TensorId t) {
        return joins && t != kNone && Related(t) == kNone;
      });
      if (next == inputs.end() && odd == inputs.end()) return producer;
      unrelated = next != inputs.end() ? *next : *odd;
    }
  }

  bool GivesTermsOfAny(const sdfg::Operator& op, const std::set<TensorId>& tensors) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) {
      return t != kNone && term_of_[t] != kNone && tensors.count(term_of_[t]) != 0;
    });
  }

  std::string NameOf(TensorId logical) const { return problem_.logical.tensors[logical].name; }

  // What an operand of the plan is, as far as that is known.
  std::string OperandText(TensorId parallel) const {
    if (term_of_[parallel] != kNone) return absl::StrCat("terms of ", NameOf(term_of_[parallel]));
    const lineage::Lineage& l = problem_.lineage[parallel];
    if (l.kind != LineageKind::kFull) {
      const OperatorId origin = OriginOf(parallel);
      return absl::StrCat(
          problem_.parallel.tensors[parallel].name, ", no tensor of the model",
          origin == kNone ? "" : absl::StrCat(" since ", problem_.parallel.Describe(origin)), ",");
    }
    const lineage::Multiple multiple = lineage::AsMultiple(problem_.logical, l.logical);
    const std::string name = NameOf(copy_of_[multiple.of]);
    if (multiple.factor.IsOne()) return name;
    const OperatorId origin = multiples_.Origin(parallel);
    const std::string from =
        origin == kNone ? "" : absl::StrCat(" since ", problem_.parallel.Describe(origin));
    return absl::StrCat(multiple.factor.ToString(), " times ", name, from);
  }

  // What the plan's operator reads otherwise.
  std::string Difference(OperatorId logical, OperatorId parallel) const {
    const sdfg::Operator& op = problem_.parallel.operators[parallel];
    const std::set<TensorId> operands = Operands(problem_.logical.operators[logical], false);
    const std::set<TensorId> own = Operands(op, true);
    std::vector<std::string> more, less;
    for (const TensorId t : op.inputs) {
      if (t == kNone) continue;
      const TensorId of = LogicalOf(t);
      const bool itself = of != kNone && OperandText(t) == NameOf(of);
      if (operands.count(of) != 0 && itself) continue;
      const std::string text = OperandText(t);
      if (std::find(more.begin(), more.end(), text) == more.end()) more.push_back(text);
    }
    for (const TensorId t : operands) {
      if (own.count(t) == 0) less.push_back(NameOf(t));
    }
    const std::string instead = absl::StrJoin(less, ", ");
    if (more.empty() && less.empty()) return absl::StrCat("reads ", SlicesRead(op));
    if (more.empty()) return absl::StrCat("does not read ", instead);
    return absl::StrCat("reads ", absl::StrJoin(more, ", "), less.empty() ? "" : " instead of ",
                        instead);
  }

  // The same operator of the same tensors may still read the wrong parts of them.
  std::string SlicesRead(const sdfg::Operator& op) const {
    std::vector<std::string> slices;
    for (const TensorId t : op.inputs) {
      if (t != kNone) slices.push_back(DescribeLineage(problem_, t, problem_.lineage[t]));
    }
    return absl::StrJoin(slices, ", ");
  }

  const lineage::Problem& problem_;
  const std::vector<bool>& shown_;
  const stages::Cone cone_;
  const Multiples multiples_;
  const std::vector<TensorId> copy_of_;  // by logical tensor: the first of those that are equal
  std::unordered_map<std::string, TensorId> by_name_;
  const std::vector<bool> whole_;  // by parallel tensor: made of integers and constants alone
  std::vector<Has> has_;           // by logical tensor
  std::vector<TensorId> term_of_;  // by parallel tensor; kNone
  // Operators of the same name and operands whose functions differ: logical and parallel.
  std::vector<std::pair<OperatorId, OperatorId>> modified_;
  std::vector<bool> right_;     // by parallel tensor: a tensor of the model
  std::vector<bool> believed_;  // by parallel tensor: or one is computed from it
};

}  // namespace

std::optional<RelationsEnd> WhereRelationsEnd(const lineage::Problem& problem,
                                              const std::vector<bool>& shown) {
  return EndOfRelations(problem, shown).Find();
}

}  // namespace planproof::diagnosis
