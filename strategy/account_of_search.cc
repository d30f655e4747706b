#include "strategy/account_of_search.h"

#include <utility>

namespace planproof::strategy {

namespace {

stages::Stage::State StateOf(const stages::ClaimOutcome& outcome, bool shown, bool plan_proved) {
  switch (outcome.status) {
    case stages::ClaimStatus::kProved:
      return shown || plan_proved ? stages::Stage::State::kProved
                                  : stages::Stage::State::kRestsOnFailed;
    case stages::ClaimStatus::kFailed:
      return plan_proved ? stages::Stage::State::kGivenUp : stages::Stage::State::kNotProved;
    case stages::ClaimStatus::kUndecided:
    case stages::ClaimStatus::kAbandoned:
      break;
  }
  return plan_proved ? stages::Stage::State::kGivenUp : stages::Stage::State::kNotDecided;
}

}  // namespace

std::shared_ptr<const stages::Account> AccountOf(const lineage::Problem& problem,
                                                 const stages::ClaimTable& table,
                                                 const stages::ProofSearch& search,
                                                 const std::vector<bool>& shown, bool proved) {
  auto account = std::make_shared<stages::Account>();
  account->problem = problem;
  for (size_t c = 0; c < table.claims().size(); ++c) {
    const stages::ClaimOutcome& outcome = search.outcomes()[c];
    stages::Stage& stage = account->stages.emplace_back();
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

}  // namespace planproof::strategy
