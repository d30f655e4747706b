#include "lineage/folding/ranked_lineage.h"

#include "lineage/folding/digits.h"

namespace planproof::lineage::folding {

bool SameLineage(const Lineage& a, const Lineage& b) {
  return a.kind == b.kind && a.provenance == b.provenance &&
         (a.kind == LineageKind::kNone || (a.logical == b.logical && a.map == b.map));
}

std::optional<Lineage> FoldLineage(const std::vector<const Lineage*>& members, int rank_dim) {
  const Lineage& first = *members[0];
  for (const Lineage* member : members) {
    if (member->kind != first.kind || member->provenance != first.provenance ||
        member->logical != first.logical || member->map.size() != first.map.size()) {
      return std::nullopt;
    }
    for (size_t d = 0; d < first.map.size(); ++d) {
      if (member->map[d].terms != first.map[d].terms) return std::nullopt;
      for (const IndexTerm& term : member->map[d].terms) {
        if (term.gated()) return std::nullopt;
      }
    }
  }
  Lineage folded = first;
  for (size_t d = 0; d < first.map.size(); ++d) {
    std::vector<int64_t> constants;
    for (const Lineage* member : members) constants.push_back(member->map[d].constant);
    std::optional<IndexMap> form = FitDigits(constants, rank_dim);
    if (!form.has_value()) return std::nullopt;
    folded.map[d].constant = form->constant;
    for (IndexTerm& term : folded.map[d].terms) {
      if (term.dim >= rank_dim) ++term.dim;
    }
    folded.map[d].terms.insert(folded.map[d].terms.end(), form->terms.begin(), form->terms.end());
  }
  return folded;
}

Lineage LineageAt(const Lineage& folded, int rank_dim, int64_t rank) {
  Lineage at = folded;
  for (IndexMap& map : at.map) {
    IndexMap of_rank, others;
    of_rank.constant = map.constant;
    for (IndexTerm term : map.terms) {
      if (term.dim == rank_dim) {
        of_rank.terms.push_back(term);
        continue;
      }
      if (term.dim > rank_dim) --term.dim;
      others.terms.push_back(term);
    }
    others.constant = ValueAt(of_rank, rank);
    map = std::move(others);
  }
  return at;
}

}  // namespace planproof::lineage::folding
