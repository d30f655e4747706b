#include "stages/account_of_search.h"

#include <utility>

namespace planproof::stages {

namespace {

Stage::State StateOf(const ClaimOutcome& outcome, bool shown, bool plan_proved) {
  switch (outcome.status) {
    case ClaimStatus::kProved:
      return shown || plan_proved ? Stage::State::kProved : Stage::State::kRestsOnFailed;
    case ClaimStatus::kFailed:
      return plan_proved ? Stage::State::kGivenUp : Stage::State::kNotProved;
    case ClaimStatus::kUndecided:
    case ClaimStatus::kAbandoned:
      break;
  }
  return plan_proved ? Stage::State::kGivenUp : Stage::State::kNotDecided;
}

}  // namespace

std::shared_ptr<const Account> AccountOf(const lineage::Problem& problem, const ClaimTable& table,
                                         const ProofSearch& search, const std::vector<bool>& shown,
                                         bool proved) {
  auto account = std::make_shared<Account>();
  account->problem = problem;
  for (size_t c = 0; c < table.claims().size(); ++c) {
    const ClaimOutcome& outcome = search.outcomes()[c];
    Stage& stage = account->stages.emplace_back();
    stage.claim = table.claims()[c];
    stage.state = StateOf(outcome, shown[c], proved);
    stage.method = outcome.method;
    stage.reason = outcome.reason;
    stage.logical_term = outcome.logical_term;
    stage.parallel_term = outcome.parallel_term;
    stage.difference = outcome.difference;
  }
  return account;
}

}  // namespace planproof::stages
