// Decides where each node of an expression is computed: once per run, per row, per strip of lanes,
// per step of a loop, or only where a branch is taken.
//
// A tape computes a node in the outermost place at which all that it depends on is known, so that
// what does not depend on a loop is not computed in it. No node leaves a branch: what is behind a
// condition costs nothing where the condition fails.
#ifndef PLANPROOF_RUNTIME_CHECK_PLACEMENT_H_
#define PLANPROOF_RUNTIME_CHECK_PLACEMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime_check/expression.h"
#include "sdfg/index_function.h"

namespace planproof::runtime_check {

using RegionId = int32_t;

struct Region {
  enum class Kind : uint8_t {
    kRun,        // the whole
    kDimension,  // the loop over a dimension of the output in which lanes do not differ
    kStrip,      // the loop over the elements of the other dimensions, in strips of lanes
    kLoop,       // of a reduction, or of the row of an opaque function
    kBranch,     // of a choice, or the second operand of "and" and "or"
  };
  Kind kind = Kind::kRun;
  RegionId parent = -1;
  int depth = 0;
  sdfg::VarId var = -1;       // of a dimension or loop
  NodeId owner = kNoNode;     // of a loop or branch
  int operand = 0;            // of a branch: the owner's operand that is computed in it
  std::vector<NodeId> nodes;  // that are computed in it, operands first
};

struct Placement {
  // Outermost first; the dimensions' regions and the strip's are a chain.
  std::vector<Region> regions;
  RegionId strip = -1;
  std::vector<RegionId> of_node;                          // -1: nothing needs it
  std::vector<bool> by_lane;                              // by node: lanes differ in it
  std::map<std::pair<NodeId, int>, RegionId> by_operand;  // loops and branches: owner, operand
};

// `rows`: the dimensions (variables) in which lanes do not differ, outermost first; `lane` as in
// Lower. Nothing if loops and branches nest deeper than kMaxNesting.
inline constexpr int kMaxNesting = 2000;
std::optional<Placement> Place(const Expression& expression, const std::vector<sdfg::VarId>& rows,
                               const std::vector<bool>& lane);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_PLACEMENT_H_
