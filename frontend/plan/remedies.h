// Suggests, for an error message, what to write in place of a name that is not known.
#ifndef PLANPROOF_FRONTEND_PLAN_REMEDIES_H_
#define PLANPROOF_FRONTEND_PLAN_REMEDIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sdfg/types.h"

namespace planproof::plan {

// The keys of a map from names.
template <class Map>
std::vector<std::string> NamesOf(const Map& map) {
  std::vector<std::string> names;
  for (const auto& entry : map) names.push_back(entry.first);
  return names;
}

// "; did you mean \"part\"?", or empty if no known name is near.
std::string DidYouMean(const std::string& name, std::vector<std::string> known);

// "; AXES are a, b, c" with at most `most` names in alphabetical order; empty without names.
std::string Known(const std::string& what, std::vector<std::string> names, size_t most = 8);

// The collective that is written like `name` but for case and underscores ("AllReduce"), or empty.
std::string CollectiveLike(const std::string& name);

// An operator that was refused for its operands or attributes, with what stands in the file:
// "...; given sub(y[8, 32], t[8, 31])". Messages of operators name operands as declarations do.
absl::Status WithGiven(const absl::Status& status, const std::string& op,
                       const std::vector<std::string>& names,
                       const std::vector<sdfg::Shape>& shapes);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_REMEDIES_H_
