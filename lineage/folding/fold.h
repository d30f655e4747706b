// Folds ranks: operators that every rank of a group runs become one operator with a coordinate.
//
// Readers of formats that spell every device out give one operator per device; a collective over
// eight devices is then a sum of eight terms, and every claim stands eight times. A folded problem
// has one operator, one tensor and one claim for all of them, and the sum is a sum over a
// coordinate, whatever its extent.
//
// What is folded is guessed (groups.h, alignment.h) and checked: operators are folded if the
// instances that the folded form stands for are, each, what was read (Unfold gives them back). The
// others stay as they are, and read and give instances of folded tensors (instances.h). Folding
// says nothing about whether the plan is right: a rank that does something else stays explicit.
#ifndef PLANPROOF_LINEAGE_FOLDING_FOLD_H_
#define PLANPROOF_LINEAGE_FOLDING_FOLD_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/folding/group_collective.h"
#include "lineage/folding/instances.h"
#include "lineage/folding/ranked_function.h"
#include "lineage/lineage.h"

namespace planproof::lineage::folding {

// What an operator of the folded graph stands for.
struct Explicit {  // one operator as it was read
  sdfg::OperatorId original = sdfg::kNone;
};
struct Lifted {  // the same function at every rank
  std::vector<sdfg::OperatorId> originals;
};
struct RankedForm {  // a function of the rank
  std::vector<sdfg::OperatorId> originals;
  CoordinateLayout layout;
};
struct CollectiveForm {  // what the participants of a collective run
  std::vector<sdfg::OperatorId> originals;
  GroupCollective collective;
};
struct Connection {  // no operator was read: connects instances (instances.h)
  InstanceFunction made;
  sdfg::AxisId axis = sdfg::kNone;
};
using Origin = std::variant<Explicit, Lifted, RankedForm, CollectiveForm, Connection>;

struct Folding {
  Problem problem;  // the parallel graph and what is said of it; FoldChecked adds the rest
  std::vector<Instance> places;         // by tensor that was read
  std::vector<Origin> origins;          // by operator of the folded graph
  std::vector<sdfg::AxisId> rank_axis;  // by tensor of the folded graph: of its group; or kNone
  std::vector<int> required;            // by requirement that was read: of the folded problem
};

// Folds what can be folded. Nothing if that is nothing, or if operators have an order or share
// memory (lineage/schedule.h), which belongs to programs of their own. The parallel graph must have
// been checked.
std::optional<Folding> Fold(const Problem& problem);

// Whether the folding stands for exactly this problem: every operator (function, operands,
// results), every tensor (shape, type, role, device, lineage) and every requirement is regenerated
// from the folded form and compared. Names and what else is said to people are not.
absl::Status CheckFolding(const Problem& problem, const Folding& folding);

// Folds, checks, and folds what comes out again (ranks of two coordinates), until nothing is left
// to fold. Nothing if nothing was folded. InternalError if a check failed.
absl::StatusOr<std::optional<Problem>> FoldChecked(const Problem& problem);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_FOLD_H_
