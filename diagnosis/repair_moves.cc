// Repairs about terms that are missing and about elements that lie elsewhere.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"
#include "sdfg/collectives.h"

namespace planproof::diagnosis {

using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int64_t kMaxShifts = 64;
constexpr size_t kLargeStage = 64;  // operators

bool AllZero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return x == 0; });
}

constexpr char kMissing[] = " missing";
constexpr char kTooOften[] = " counted once too often";

bool IsGated(const lineage::IndexMap& map) {
  return std::any_of(map.terms.begin(), map.terms.end(),
                     [](const lineage::IndexTerm& term) { return term.gated(); });
}

Values Doubled(const Values& tensor) {
  auto doubled = std::make_shared<shape_reduction::BlockTensor<double>>(*tensor);
  for (double& x : doubled->values) x *= 2;
  return doubled;
}

}  // namespace

std::vector<double> Combine(const std::vector<double>& left, double factor,
                            const std::vector<double>& right) {
  std::vector<double> result(left.size());
  for (size_t i = 0; i < left.size(); ++i) result[i] = left[i] + factor * right[i];
  return result;
}

// The difference is this one of the terms that an operand holds: whether it is missing, and not
// counted once too often. What is subtracted, as a loss subtracts a logit, is missing where the
// result is too large. `rest`: the other terms.
bool RepairSearch::Lacks(OperatorId id, size_t operand, bool too_small,
                         const std::vector<double>& rest) {
  const Values& value = replay_.Parallel(graph_.operators[id].inputs[operand]);
  if (value->int_valued) return too_small;
  const Values more = WithOperand(id, static_cast<int>(operand), Doubled(value));
  if (more == nullptr) return too_small;
  return too_small != AgreeNumbers(Combine(actual_at_, -1, AtPoints(more)), rest);
}

// The difference is one of the terms that the stage adds up.
void RepairSearch::TryTerms() {
  const std::vector<double> missing = Combine(claimed_at_, -1, actual_at_);
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  const size_t local = self.shape.size() - self.axes.size();
  std::set<TensorId> seen;
  for (size_t o = subject_.operators.size(); o-- > 0;) {
    const OperatorId id = subject_.operators[o];
    const sdfg::Operator& op = graph_.operators[id];
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      const TensorId input = op.inputs[k];
      const sdfg::Tensor& tensor = graph_.tensors[input];
      if (replay_.Parallel(input) == nullptr || !seen.insert(input).second) continue;
      if (tensor.shape.size() - tensor.axes.size() != local) continue;
      if (!std::equal(tensor.shape.begin() + tensor.axes.size(), tensor.shape.end(),
                      self.shape.begin() + self.axes.size())) {
        continue;
      }
      if (tensor.shape == self.shape && tensor.axes == self.axes) {
        const std::vector<double> term = AtPoints(replay_.Parallel(input));
        if (AllZero(term)) continue;
        const bool less = AgreeNumbers(missing, term);
        if (less || AgreeNumbers(Combine(missing, 1, term), std::vector<double>(term.size(), 0)) ||
            AgreeNumbers(Combine(actual_at_, -1, term), claimed_at_)) {
          Found(absl::StrCat("contribution of ", Term(input), less ? kMissing : kTooOften), id);
        }
        continue;
      }
      for (size_t a = 0; a < tensor.axes.size(); ++a) {
        const std::string& axis = graph_.axes[tensor.axes[a]].name;
        const bool shared =
            std::find(self.axes.begin(), self.axes.end(), tensor.axes[a]) != self.axes.end();
        std::vector<std::vector<double>> terms;
        if (shared || tensor.shape[a] < 2 || !TermsAlong(input, a, &terms)) continue;
        std::vector<double> total(points_.size(), 0);
        for (const auto& term : terms) total = Combine(total, 1, term);
        for (size_t c = 0; c < terms.size(); ++c) {
          if (AllZero(terms[c])) continue;
          const std::string which = absl::StrCat(axis, " ", c, " (", tensor.name, ")");
          const bool less = AgreeNumbers(missing, terms[c]);
          if (less || AgreeNumbers(Combine(actual_at_, -1, terms[c]), claimed_at_)) {
            const bool lacks = Lacks(id, k, less, Combine(total, -1, terms[c]));
            Found(absl::StrCat("contribution of ", which, lacks ? kMissing : kTooOften), id);
          } else if (AgreeNumbers(actual_at_, terms[c]) && AgreeNumbers(total, claimed_at_)) {
            Found(
                absl::StrCat("sum over ", axis, " missing: only the term of ", which, " is there"),
                id);
          }
        }
      }
    }
  }
}

// Single ranks do otherwise, and what the others do would be right there too.
void RepairSearch::TryExceptions() {
  for (OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    if (op.kind != sdfg::OperatorKind::kRankOverride || op.inputs.size() != 2) continue;
    const sdfg::Tensor& usual = graph_.tensors[op.inputs[1]];
    absl::StatusOr<sdfg::IndexFunction> copy = sdfg::Copy(
        {usual.shape.begin() + static_cast<int64_t>(usual.axes.size()), usual.shape.end()},
        usual.dtype);
    if (!copy.ok()) continue;
    sdfg::Operator regular = op;
    regular.function = std::make_shared<const sdfg::IndexFunction>(*std::move(copy));
    regular.lifted = true;
    regular.inputs = {op.inputs[1]};
    if (!replay_.Same(With(id, regular), claimed_, Agree)) continue;
    Found(absl::StrCat("what runs at ", graph_.Describe(op.override_at), " in place of ", op.label,
                       "; without it ", graph_.tensors[subject_.tensor].name, " is right"),
          id);
  }
}

// The elements are those of another shard.
void RepairSearch::TryShards() {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  for (size_t t = 0; t < problem_.lineage.size(); ++t) {
    const lineage::Lineage& l = problem_.lineage[t];
    const sdfg::Tensor& tensor = graph_.tensors[t];
    if (l.kind != lineage::LineageKind::kFull || l.logical != subject_.lineage.logical ||
        tensor.shape != self.shape || tensor.axes != self.axes || tensor.device == self.device) {
      continue;
    }
    const Values other = replay_.Claimed(self.shape, l);
    if (other == nullptr || Agree(other, claimed_) || !Agree(other, actual_)) continue;
    const Values& there = replay_.Parallel(static_cast<TensorId>(t));
    const bool exchanged = there != nullptr && Agree(there, claimed_);
    Found(exchanged
              ? absl::StrCat("shards of ranks ", std::min(self.device, tensor.device), " and ",
                             std::max(self.device, tensor.device), " are swapped")
              : absl::StrCat("device ", self.device, " holds the shard of device ", tensor.device));
    break;
  }
  // Along an axis: the shard at coordinate c is the one of coordinate moved[c].
  for (size_t a = 0; a < self.axes.size(); ++a) {
    const int64_t extent = self.shape[a];
    if (extent < 2 || extent > kMaxShifts) continue;
    std::vector<int64_t> moved(extent, -1);
    std::vector<std::vector<double>> claimed(extent);
    bool all = true;
    for (int64_t c = 0; all && c < extent; ++c) {
      const std::vector<double> here = AtPoints(actual_, {{a, c}});
      for (int64_t k = 0; k < extent && moved[c] < 0; ++k) {
        const int64_t from = k == 0 ? c : k <= c ? k - 1 : k;
        if (claimed[from].empty()) claimed[from] = AtPoints(claimed_, {{a, from}});
        if (AgreeNumbers(here, claimed[from])) moved[c] = from;
      }
      all = moved[c] >= 0;
    }
    if (!all) continue;
    std::vector<std::string> parts;
    for (int64_t c = 0; c < extent && parts.size() < 4; ++c) {
      if (moved[c] == c) continue;
      if (moved[moved[c]] == c) {
        if (moved[c] > c)
          parts.push_back(absl::StrCat("shards ", c, " and ", moved[c], " swapped"));
      } else {
        parts.push_back(absl::StrCat("shard ", c, " is shard ", moved[c]));
      }
    }
    if (!parts.empty()) {
      Found(
          absl::StrCat("along ", graph_.axes[self.axes[a]].name, ": ", absl::StrJoin(parts, ", ")));
    }
  }
  // Another start along a dimension.
  for (size_t d = 0; d < subject_.lineage.map.size(); ++d) {
    int64_t length = 0;
    std::vector<lineage::IndexTerm> kept;
    if (IsGated(subject_.lineage.map[d])) continue;
    for (const lineage::IndexTerm& term : subject_.lineage.map[d].terms) {
      if (term.dim < static_cast<int32_t>(self.axes.size())) continue;
      kept.push_back(term);
      length = self.shape[term.dim];
    }
    const int64_t extent = problem_.logical.tensors[subject_.lineage.logical].shape[d];
    if (kept.size() != 1 || length == 0 || length >= extent || extent / length > kMaxShifts)
      continue;
    for (int64_t start = 0; start + length <= extent; start += length) {
      lineage::Lineage other = subject_.lineage;
      other.map[d].constant = start;
      other.map[d].terms = kept;
      const Values value = replay_.Claimed(self.shape, other);
      if (value == nullptr || Agree(value, claimed_) || !Agree(value, actual_)) continue;
      Found(absl::StrCat("the slice of dimension ", d, " starts at ", start,
                         " everywhere, lineage says otherwise"));
      return;
    }
  }
}

std::vector<RepairSearch::Cause> RepairSearch::RunExceptions() {
  causes_.clear();
  if (usable()) TryExceptions();
  return std::move(causes_);
}

std::vector<RepairSearch::Cause> RepairSearch::Run(bool all) {
  causes_.clear();
  if (!usable()) return {};
  // The others try every pair, and compare numbers: where enclosures are wide, or differ by less
  // than numbers would, there is nothing to compare.
  if (subject_.operators.size() > kLargeStage || points_.empty() || Agree(actual_, claimed_)) {
    TryExceptions();
    // What ranks hold is compared, and the stage does not run.
    if (causes_.empty() && !points_.empty() && !Agree(actual_, claimed_)) {
      TryReplicaSums();
      TryAxisSums();
    }
    return std::move(causes_);
  }
  start_ = shape_reduction::WorkClock::now();
  std::vector<Cause> of_counts;
  if (TryConstants()) std::swap(causes_, of_counts);
  const bool attribute = causes_.empty() && of_counts.empty() && TryAttributes();
  bool constant = !causes_.empty();  // or an attribute
  const bool explained = TryQuotients() || TryFactor(constant);
  // Where no collective is the reason, such a constant is.
  if (!of_counts.empty() && (causes_.empty() || causes_[0].op == sdfg::kNone)) {
    causes_.insert(causes_.begin(), of_counts.begin(), of_counts.end());
    constant = true;
  }
  TryOperands();
  TryExceptions();
  if (all || causes_.empty()) TryReductionsOfOthers();
  if (all || causes_.empty()) TryLaterOperands();
  if (all || causes_.empty()) {
    TryReplicaSums();
    TryAxisSums();
  }
  const size_t before = causes_.size();
  if (all || causes_.empty()) TryContributions();
  if (all || causes_.empty()) TryForgottenTerms();
  if (all || (!explained && !constant && causes_.size() == before)) TryTerms();
  // What is right on few ranks with another number may be so by another operand, too.
  if (causes_.empty() && !of_few_.empty()) {
    TryNearOperands();
    causes_.insert(causes_.end(), of_few_.begin(), of_few_.end());
  }
  if (!attribute && of_few_.empty()) {
    TryShards();
    TrySlices(false);
  }
  if (!explained) TryModelOperands();
  if (all || causes_.empty()) TryModelOperandsTogether();
  TryUnchanged();
  if (all || causes_.empty()) TryModelTerms();
  if (all || causes_.empty()) TryLayouts();
  if (all || causes_.empty()) TrySlices(true);
  if (all || causes_.empty()) TryRanks();
  if (all || causes_.empty()) TryAddedConstants();
  if (all || causes_.empty()) TryInsertions();
  if (all || causes_.empty()) TryNearOperands();
  if (all || causes_.empty()) TryExchangedSteps();
  if (all || causes_.empty()) TryUnread();
  if (causes_.empty()) TryFunctions();
  if (causes_.empty()) TryRows();
  if (causes_.empty()) TryHoles();
  if (causes_.empty()) TryOrder();
  return std::move(causes_);
}

}  // namespace planproof::diagnosis
