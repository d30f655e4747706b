#include "inference/relation_inference.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "inference/candidates.h"
#include "inference/constant_tensors.h"
#include "inference/definition_key.h"
#include "inference/frontier.h"
#include "inference/integer_patterns.h"
#include "inference/summands.h"
#include "inference/tensor_match.h"
#include "lineage/multiple.h"
#include "stages/cone.h"
#include "stages/workers/process_pool.h"

namespace planproof::inference {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;
using sdfg::TensorId;

namespace {

// Between a tensor and what it is computed from that is related: a ring's rounds are not related.
constexpr int64_t kWorkOfOpening = 2;  // times the usual work, where more is opened
constexpr int kUsualOperators = 160, kMaxOperators = 2000;
// Of all definitions that are longer than usual.
constexpr int64_t kMaxOperatorsInAll = 4'000'000;

// What is known of tensors of one definition.
struct Finding {
  bool copy = false;
  std::vector<size_t> places;  // of the values mentioned, among those of the definition
  std::string logical_key;
  solver::Rational factor = 1;
  std::vector<sdfg::IndexMap> map;
};
struct Findings {
  std::vector<Finding> found;
  // Definitions of logical tensors, down to the same values; with little effort, and with the
  // usual.
  std::set<std::string> tried_a_little, tried;
};

class Inference {
 public:
  Inference(const lineage::Problem& problem, const std::set<TensorId>& skip, Buckets buckets,
            Opening opening, MatchBudget budget, const stages::StopRequest* stop)
      : problem_(problem),
        skip_(skip),
        stop_(stop),
        frontier_(problem_),
        keys_(problem_, frontier_, &operands_),
        candidates_(problem_.logical, buckets, opening, ConstantTensors(problem_), &operands_),
        matcher_(problem_, budget, &frontier_, &candidates_),
        patterns_(inference::IntegerPatterns(problem.parallel)),
        cone_(stages::ConeOfRequired(problem)),
        only_added_up_(OnlyAddedUp(problem.parallel, cone_)),
        looked_for_(problem.parallel.tensors.size(), false) {}

  stages::InferredRelations Run() {
    std::vector<TensorId> looked_at;
    for (size_t o = 0; o < problem_.parallel.operators.size(); ++o) {
      if (!cone_.operators[o]) continue;
      for (const TensorId t : problem_.parallel.operators[o].outputs) {
        if (t == kNone || !cone_.tensors[t] || frontier_.Related(t)) continue;
        if (Stopped()) break;
        looked_at.push_back(t);
        if (!MayRelate(t)) continue;
        if (only_added_up_[t]) {
          Relate(t, MatchEffort::kLittle);
        } else {
          RelateOrWhatItAddsUp(t);
        }
      }
    }
    result_.tensors = static_cast<int64_t>(looked_at.size());
    for (const TensorId t : looked_at) {
      if (!frontier_.Related(t)) result_.unrelated.push_back(t);
    }
    return std::move(result_);
  }

 private:
  bool Stopped() const { return stop_ != nullptr && stop_->requested; }
  bool MayRelate(TensorId t) const { return skip_.find(t) == skip_.end() && !patterns_[t]; }

  // A sum that is not found by its definition may be once what it adds up is.
  void RelateOrWhatItAddsUp(TensorId t) {
    bool too_large = !Relate(t, MatchEffort::kUsual);
    if (frontier_.Related(t)) return;
    bool found = false;
    for (const TensorId summand : SummandsOf(t)) {
      if (Stopped()) return;
      if (!Relate(summand, MatchEffort::kUsual)) keys_.AddTooLarge(summand);
      if (!frontier_.Related(summand)) continue;
      found = true;
      matcher_.ForgetValues();  // it was read by its definition
    }
    if (found) too_large = !Relate(t, MatchEffort::kUsual);
    if (too_large) keys_.AddTooLarge(t);
  }

  // Unrelated ones that were not looked for so yet, of what is added up, too; each after those that
  // it is made of. All ranks of a group add up the same.
  std::vector<TensorId> SummandsOf(TensorId t) {
    std::set<std::pair<sdfg::OperatorId, TensorId>> found;  // in the order of their operators
    std::vector<TensorId> work = {t};
    while (!work.empty()) {
      const sdfg::OperatorId producer = problem_.parallel.tensors[work.back()].producer;
      work.pop_back();
      for (const TensorId operand : problem_.parallel.operators[producer].inputs) {
        if (operand == kNone || !only_added_up_[operand] || frontier_.Related(operand)) continue;
        const sdfg::OperatorId makes = problem_.parallel.tensors[operand].producer;
        if (makes == kNone || !MayRelate(operand)) continue;
        if (!looked_for_[operand]) {
          looked_for_[operand] = true;
          found.emplace(makes, operand);
          work.push_back(operand);
        }
      }
    }
    std::vector<TensorId> summands;
    for (const auto& [makes, summand] : found) summands.push_back(summand);
    return summands;
  }

  // Relates it if that can be found. False if its term exceeds the work limit.
  bool Relate(TensorId t, MatchEffort effort) {
    std::vector<TensorId> values;
    const int limit = long_left_ > 0 ? kMaxOperators : kUsualOperators;
    const std::string key = keys_.OfParallel(t, limit, &values);
    if (keys_.operators() > kUsualOperators) long_left_ -= keys_.operators();
    if (key.empty()) return true;
    Findings& findings = known_[key];
    for (const Finding& finding : findings.found) {
      const TensorId logical = Recall(finding, values);
      if (logical == kNone) continue;
      Add(t, logical, finding.factor, finding.map);
      return true;
    }
    if (findings.tried_a_little.empty() && findings.tried.empty()) ++result_.classes;
    std::set<std::string>& tried =
        effort == MatchEffort::kUsual ? findings.tried : findings.tried_a_little;
    if (!SomethingNew(values, &tried)) return true;
    const std::optional<TensorMatch> match = matcher_.Match(t, effort);
    if (!match.has_value()) return !matcher_.exceeded();
    Add(t, match->logical, match->factor, match->map);
    Remember(*match, values, &findings);
    return true;
  }

  // Whether a logical tensor has not been tried for this definition.
  bool SomethingNew(const std::vector<TensorId>& values, std::set<std::string>* tried) {
    bool fresh = tried->insert("").second;  // a copy, for which no other tensor counts
    for (const std::string& key : KeysDeterminedBy(values)) fresh |= tried->insert(key).second;
    return fresh;
  }

  // Of the logical tensors that these determine. Behind the norm of all gradients stand as many
  // tensors as there are parameters, all computed from the same values.
  const std::vector<std::string>& KeysDeterminedBy(const std::vector<TensorId>& values) {
    if (values == keyed_values_) return keys_of_determined_;
    keyed_values_ = values;
    keys_of_determined_.clear();
    for (const TensorId candidate : candidates_.DeterminedBy(values)) {
      keys_of_determined_.push_back(keys_.OfLogical(candidate, values));
    }
    return keys_of_determined_;
  }

  // What is found, in terms of the values of the definition.
  void Remember(const TensorMatch& match, const std::vector<TensorId>& values, Findings* findings) {
    Finding finding;
    finding.copy = match.copy;
    finding.factor = match.factor;
    finding.map = match.map;
    for (const TensorId mentioned : match.values) {
      const auto place = std::find(values.begin(), values.end(), mentioned);
      if (place == values.end()) return;
      finding.places.push_back(static_cast<size_t>(place - values.begin()));
    }
    if (!match.copy) {
      finding.logical_key = keys_.OfLogical(match.logical, match.values);
      if (finding.logical_key.empty()) return;
    }
    findings->found.push_back(std::move(finding));
  }

  TensorId Recall(const Finding& finding, const std::vector<TensorId>& values) {
    std::vector<TensorId> mentioned;
    for (const size_t place : finding.places) mentioned.push_back(values[place]);
    if (finding.copy) return mentioned[0];
    for (const TensorId candidate : candidates_.DeterminedBy(mentioned)) {
      if (keys_.OfLogical(candidate, mentioned) == finding.logical_key) return candidate;
    }
    return kNone;
  }

  void Add(TensorId t, TensorId logical, const solver::Rational& factor,
           std::vector<sdfg::IndexMap> map) {
    // A copy of what is a multiple is the same one.
    const lineage::Multiple multiple = lineage::AsMultiple(problem_.logical, logical);
    result_.relations.push_back({t, multiple.of, multiple.factor * factor, map});
    Lineage& lineage = problem_.lineage[t];
    lineage = {};
    lineage.kind = LineageKind::kFull;
    lineage.provenance = lineage::Provenance::kInferred;
    lineage.logical = factor.IsOne() ? logical : MultipleOf(logical, factor);
    lineage.map = std::move(map);
  }

  TensorId MultipleOf(TensorId logical, const solver::Rational& factor) {
    for (const auto& [of, number, multiple] : multiples_) {
      if (of == logical && number == factor) return multiple;
    }
    const TensorId multiple = lineage::AddMultiple(logical, factor, &problem_.logical);
    multiples_.emplace_back(logical, factor, multiple);
    return multiple;
  }

  lineage::Problem problem_;  // with what is inferred
  const std::set<TensorId>& skip_;
  const stages::StopRequest* stop_;
  Frontier frontier_;
  Operands operands_;
  DefinitionKeys keys_;
  Candidates candidates_;
  TensorMatcher matcher_;
  const std::vector<bool> patterns_;  // by parallel tensor
  const stages::Cone cone_;
  const std::vector<bool> only_added_up_;  // by parallel tensor
  std::vector<bool> looked_for_;           // of these: with the usual effort, too
  int64_t long_left_ = kMaxOperatorsInAll;
  std::unordered_map<std::string, Findings> known_;
  std::vector<TensorId> keyed_values_;  // whose keys are known
  std::vector<std::string> keys_of_determined_;
  std::vector<std::tuple<TensorId, solver::Rational, TensorId>> multiples_;
  stages::InferredRelations result_;
};

}  // namespace

stages::InferredRelations RelationInference::Infer(const lineage::Problem& problem,
                                                   const stages::StopRequest* stop) const {
  return InferWithout({}, problem, stop);
}

stages::InferredRelations RelationInference::InferWithout(const std::set<TensorId>& skip,
                                                          const lineage::Problem& problem,
                                                          const stages::StopRequest* stop) const {
  const int64_t fruitless =
      opening_ == Opening::kLeast ? kFruitlessWork : kWorkOfOpening * kFruitlessWork;
  return Inference(problem, skip, buckets_, opening_, {work_of_summand_, fruitless}, stop).Run();
}

const stages::LineageInference* RelationInference::Otherwise(const lineage::Problem& problem,
                                                             bool mostly_proved) const {
  static const RelationInference by_pieces(Buckets::kAreTheirPieces);
  static const RelationInference with_more_opened(Buckets::kAreOneTensor, kWorkOfSummand,
                                                  Opening::kAllDetermined);
  if (opening_ == Opening::kAllDetermined) return nullptr;
  const bool pieces = buckets_ == Buckets::kAreOneTensor && JoinsAny(problem.logical);
  if (pieces) return &by_pieces;
  return mostly_proved ? &with_more_opened : nullptr;
}

void DiscardLineage(lineage::Problem* problem) {
  for (size_t t = 0; t < problem->lineage.size(); ++t) {
    if (problem->parallel.tensors[t].producer != kNone) problem->lineage[t] = {};
  }
}

}  // namespace planproof::inference
