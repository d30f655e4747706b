// Makes the account of what a search decided (stages/account.h).
#ifndef PLANPROOF_STRATEGY_ACCOUNT_OF_SEARCH_H_
#define PLANPROOF_STRATEGY_ACCOUNT_OF_SEARCH_H_

#include <memory>
#include <vector>

#include "lineage/lineage.h"
#include "stages/account.h"
#include "stages/claim_table.h"
#include "stages/proof_search.h"

namespace planproof::strategy {

// `shown`: search.ProvedClaims(); `proved`: the whole plan was.
std::shared_ptr<const stages::Account> AccountOf(const lineage::Problem& problem,
                                                 const stages::ClaimTable& table,
                                                 const stages::ProofSearch& search,
                                                 const std::vector<bool>& shown, bool proved);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_ACCOUNT_OF_SEARCH_H_
