#include "lineage/rounds/carried_sums.h"

#include <utility>

#include "lineage/rounds/recurrence.h"
#include "lineage/rounds/ring_hops.h"

namespace planproof::lineage::rounds {

using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::TensorId;

namespace {

class Reading {
 public:
  Reading(const SumReader& reader, size_t count) : reader_(reader), count_(count) {}

  std::optional<Sum> Run(TensorId tensor) {
    open_.push_back({tensor});
    while (!open_.empty()) {
      const Term term = open_.back();
      open_.pop_back();
      if (reader_.is_term(term.tensor)) {
        found_.terms.push_back(term);
      } else if (!Open(term)) {
        return std::nullopt;
      }
      // Each term takes at most one sum, one scaling and one hop for each round.
      if (found_.terms.size() + open_.size() > count_ || found_.operators.size() > 4 * count_ + 4) {
        return std::nullopt;
      }
    }
    if (found_.terms.size() != count_) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool Open(const Term& term) {
    const OperatorId id = reader_.graph.tensors[term.tensor].producer;
    if (id == kNone || !reader_.is_free(id)) return false;
    const Operator& op = reader_.graph.operators[id];
    if (op.outputs.size() != 1) return false;
    found_.operators.push_back(id);
    if (const std::optional<int64_t> shift = reader_.shift_of(id); shift.has_value()) {
      Term next = term;
      next.tensor = op.inputs[0];
      next.shift = (term.shift + *shift) % reader_.ranks;
      open_.push_back(next);
      return !term.scaled;
    }
    if (!op.lifted || op.kind != OperatorKind::kCompute) return false;
    return Add(term, op) || Scale(term, op);
  }

  bool IsAlike(TensorId a, TensorId b) const {
    return a != kNone && SameForm(reader_.graph.tensors[a], reader_.graph.tensors[b]);
  }

  bool Add(const Term& term, const Operator& op) {
    if (!IsSum(*op.function)) return false;
    for (const TensorId input : op.inputs) {
      if (input == kNone || !IsAlike(input, term.tensor)) return false;
      Term next = term;
      next.tensor = input;
      open_.push_back(next);
    }
    return true;
  }

  // Factors of successive rounds, the last first: together exp(M[from] - M[to]).
  bool Scale(const Term& term, const Operator& op) {
    for (const Scaling& scaling : ScalingsOf(*op.function)) {
      const TensorId x = op.inputs[scaling.x], by = op.inputs[scaling.factor];
      if (x == kNone || by == kNone || !IsAlike(x, term.tensor) ||
          reader_.graph.tensors[by].axes != reader_.graph.tensors[x].axes) {
        continue;
      }
      const ScaleFactor factor = reader_.factor_of(by);
      if (factor.family < 0 || term.shift != 0 || (term.scaled && term.from != factor.round)) {
        continue;
      }
      if (found_.scale_family < 0) {
        found_.scale_family = factor.family;
        found_.scale_dims = scaling.factor_dims;
      }
      if (found_.scale_family != factor.family || found_.scale_dims != scaling.factor_dims) {
        continue;
      }
      Term next = term;
      next.tensor = x;
      next.from = factor.round - 1;
      if (!term.scaled) next.to = factor.round;
      next.scaled = true;
      open_.push_back(next);
      return true;
    }
    return false;
  }

  const SumReader& reader_;
  const size_t count_;
  std::vector<Term> open_;
  Sum found_;
};

}  // namespace

std::optional<Sum> SumOf(const SumReader& reader, TensorId tensor, size_t count) {
  return Reading(reader, count).Run(tensor);
}

}  // namespace planproof::lineage::rounds
