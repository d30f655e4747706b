#include "lineage/rounds/finding.h"

namespace planproof::lineage::rounds {

using sdfg::AxisId;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::TensorId;

// How many terms each tensor is the sum of, if it is one.
void Finding::CountTerms() {
  terms_.assign(graph_.tensors.size(), 1);
  for (OperatorId id = 0; id < Operators(); ++id) {
    const Operator& op = graph_.operators[id];
    if (found_.operators[id] || op.outputs.size() != 1 || op.outputs[0] == kNone ||
        IsMember(op.outputs[0])) {
      continue;
    }
    const bool scales =
        op.lifted && std::any_of(op.inputs.begin(), op.inputs.end(),
                                 [&](TensorId t) { return t != kNone && factors_[t].family >= 0; });
    int64_t terms = 1;
    if (hops_[id].axis == found_.axis && hops_[id].axis != kNone) {
      terms = terms_[op.inputs[0]];
    } else if (scales) {
      for (const TensorId t : op.inputs) {
        if (t != kNone) terms = std::max(terms, terms_[t]);
      }
    } else if (op.lifted && IsSum(*op.function)) {
      terms = terms_[op.inputs[0]] + terms_[op.inputs[1]];
    }
    terms_[op.outputs[0]] = std::min(terms, found_.count + 1);
  }
}

// Sums of the members of a family: where they are, handed on from addition to addition, or scaled
// with the maxima.
bool Finding::Sums(OperatorId last) {
  const Operator& op = graph_.operators[last];
  if (!HasOneOutput(op) || IsMember(op.outputs[0]) || terms_[op.outputs[0]] != found_.count)
    return false;
  const auto is_term = [&](TensorId t) { return IsMember(t); };
  const auto shift_of = [&](OperatorId id) -> std::optional<int64_t> {
    if (hops_[id].axis != found_.axis) return std::nullopt;
    return found_.count - hops_[id].step;
  };
  const auto factor_of = [&](TensorId t) { return factors_[t]; };
  const auto is_free = [&](OperatorId id) { return !found_.operators[id]; };
  const SumReader reader = {graph_, found_.count, is_term, shift_of, factor_of, is_free};
  const std::optional<Sum> sum = SumOf(reader, op.outputs[0], static_cast<size_t>(found_.count));
  if (!sum.has_value()) return false;
  std::optional<Total> total = TotalOf(*sum);
  if (!total.has_value()) return false;
  total->result = op.outputs[0];
  if (!SameForm(graph_.tensors[op.outputs[0]], graph_.tensors[sum->terms[0].tensor])) return false;
  found_.totals.push_back(*std::move(total));
  Use(sum->operators);
  return true;
}

// One term of each round of one family, all of them alike.
std::optional<Total> Finding::TotalOf(const Sum& sum) const {
  const int64_t n = found_.count;
  Total total;
  total.family = family_of_[sum.terms[0].tensor].family;
  std::vector<bool> rounds(static_cast<size_t>(n), false);
  bool here = true, home = true, scaled = sum.scale_family >= 0;
  for (const Term& term : sum.terms) {
    const Place place = family_of_[term.tensor];
    if (place.family != total.family || rounds[place.round]) return std::nullopt;
    rounds[place.round] = true;
    const bool last = place.round == n - 1;
    here &= term.shift == 0 && !term.scaled;
    home &= term.shift == found_.step * place.round % n && !term.scaled;
    scaled &= term.shift == 0 &&
              (last ? !term.scaled : term.scaled && term.from == place.round && term.to == n - 1);
  }
  if (!here && !home && !scaled) return std::nullopt;
  total.kind = here ? Total::Kind::kSum : home ? Total::Kind::kOfPieces : Total::Kind::kRescaled;
  if (total.kind == Total::Kind::kRescaled) {
    total.terms = total.family;
    total.family = sum.scale_family;
    total.scale_dims = sum.scale_dims;
  }
  return total;
}

// Operators exp(M[r - 1] - M[r]), of which nothing is left but what they scale.
void Finding::AddFactors(int family) {
  const std::vector<TensorId> maxima = found_.families[family].members;
  for (size_t r = 1; r < maxima.size(); ++r) {
    for (const OperatorId id : consumers_[maxima[r]]) {
      const Operator& op = graph_.operators[id];
      if (found_.operators[id] || !op.lifted || !HasOneOutput(op)) continue;
      const std::optional<Difference> change = DifferenceOf(*op.function);
      if (!change.has_value() || op.inputs[change->a] != maxima[r - 1] ||
          op.inputs[change->b] != maxima[r]) {
        continue;
      }
      std::vector<OperatorId> operators = {id};
      for (const OperatorId reader : consumers_[op.outputs[0]]) {
        const Operator& exp = graph_.operators[reader];
        if (!exp.lifted || !HasOneOutput(exp) || !IsExponential(*exp.function)) continue;
        factors_[exp.outputs[0]] = {family, static_cast<int64_t>(r)};
        operators.push_back(reader);
      }
      if (operators.size() > 1) Use(operators);
    }
  }
}

// What rounds scale on their way back, from the last to the first: `last` is the operator that
// makes the member of the round before the last.
bool Finding::Scaled(OperatorId last) {
  const Operator& op = graph_.operators[last];
  if (!HasOneOutput(op)) return false;
  for (const Scaling& scaling : ScalingsOf(*op.function)) {
    const TensorId start = op.inputs[scaling.x], by = op.inputs[scaling.factor];
    if (start == kNone || by == kNone || factors_[by].round != found_.count - 1) continue;
    std::vector<OperatorId> operators = {last};
    std::vector<TensorId> members = {start, op.outputs[0]};
    for (int64_t r = found_.count - 2; r > 0; --r) {
      const OperatorId next = ScaledNext(op, scaling, members.back(), factors_[by].family, r);
      if (next == kNone) break;
      operators.push_back(next);
      members.push_back(graph_.operators[next].outputs[0]);
    }
    const bool alike = std::all_of(members.begin(), members.end(), [&](TensorId t) {
      return !IsMember(t) && SameForm(graph_.tensors[t], graph_.tensors[start]);
    });
    if (static_cast<int64_t>(members.size()) != found_.count || !alike ||
        graph_.tensors[by].axes != graph_.tensors[start].axes) {
      continue;
    }
    std::reverse(members.begin(), members.end());
    Family family = {Family::Kind::kScaled, std::move(members)};
    family.scale = factors_[by].family;
    family.scale_dims = scaling.factor_dims;
    Add(std::move(family));
    Use(operators);
    return true;
  }
  return false;
}

OperatorId Finding::ScaledNext(const Operator& like, const Scaling& scaling, TensorId value,
                               int family, int64_t round) const {
  for (const OperatorId id : consumers_[value]) {
    const Operator& op = graph_.operators[id];
    if (found_.operators[id] || !op.lifted || op.function != like.function || !HasOneOutput(op) ||
        op.inputs[scaling.x] != value || op.inputs[scaling.factor] == kNone) {
      continue;
    }
    const ScaleFactor& factor = factors_[op.inputs[scaling.factor]];
    if (factor.family == family && factor.round == round) return id;
  }
  return kNone;
}

}  // namespace planproof::lineage::rounds
