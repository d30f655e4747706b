#include "lineage/rounds/rounds.h"

#include "lineage/rounds/finding.h"

namespace planproof::lineage::rounds {

std::optional<Rounds> FindRounds(const sdfg::Graph& graph,
                                 const std::vector<sdfg::TensorId>& required) {
  return Finding(graph, required).Run();
}

}  // namespace planproof::lineage::rounds
