// Makes the account of what a search decided (stages/account.h).
#ifndef PLANPROOF_STAGES_ACCOUNT_OF_SEARCH_H_
#define PLANPROOF_STAGES_ACCOUNT_OF_SEARCH_H_

#include <memory>
#include <vector>

#include "lineage/lineage.h"
#include "stages/account.h"
#include "stages/claim_table.h"
#include "stages/proof_search.h"

namespace planproof::stages {

// `shown`: search.ProvedClaims(); `proved`: the whole plan was.
std::shared_ptr<const Account> AccountOf(const lineage::Problem& problem, const ClaimTable& table,
                                         const ProofSearch& search, const std::vector<bool>& shown,
                                         bool proved);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ACCOUNT_OF_SEARCH_H_
