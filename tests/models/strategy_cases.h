// Small plans of every strategy and of every meaningful pair of strategies.
#ifndef PLANPROOF_TESTS_MODELS_STRATEGY_CASES_H_
#define PLANPROOF_TESTS_MODELS_STRATEGY_CASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/strategy.h"
#include "lineage/lineage.h"

namespace planproof::generator {

struct StrategyCase {
  std::string name;
  std::string model;
  int64_t layers = 2;
  int64_t key_value_heads = 0;  // 0: the model's
  Strategy strategy;
};

// Each strategy alone, pairs of them, and some with many together. Two layers; three where the
// stages of a pipeline are uneven.
std::vector<StrategyCase> StrategyCases();

// The generated plan, as a problem.
absl::StatusOr<lineage::Problem> ProblemOf(const StrategyCase& made);

}  // namespace planproof::generator

#endif  // PLANPROOF_TESTS_MODELS_STRATEGY_CASES_H_
