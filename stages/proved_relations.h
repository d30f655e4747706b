// Holds what was proved of the plan's tensors, as data.
#ifndef PLANPROOF_STAGES_PROVED_RELATIONS_H_
#define PLANPROOF_STAGES_PROVED_RELATIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim_table.h"
#include "stages/result.h"

namespace planproof::stages {

// Tensors by their names, and their numbers among the tensors of one name.
std::vector<std::pair<std::string, int64_t>> NamesOf(const sdfg::Graph& graph,
                                                     const std::vector<sdfg::TensorId>& tensors);

// `proved`: by claim (ProofSearch::ProvedClaims).
std::vector<ProvedRelation> ProvedRelations(const lineage::Problem& problem,
                                            const ClaimTable& table,
                                            const std::vector<bool>& proved);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PROVED_RELATIONS_H_
