// Plans how a graph is folded: which classes of operators become one operator each, and in which
// order.
#ifndef PLANPROOF_LINEAGE_FOLDING_FOLD_PLAN_H_
#define PLANPROOF_LINEAGE_FOLDING_FOLD_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lineage/folding/alignment.h"
#include "lineage/folding/group_collective.h"
#include "lineage/folding/groups.h"
#include "lineage/lineage.h"

namespace planproof::lineage::folding {

// How the operators of one class can be one.
struct ClassPlan {
  enum class Kind : uint8_t { kExplicit, kSame, kRanked, kCollective } kind = Kind::kExplicit;
  GroupCollective collective;
  std::vector<int> positions;  // kCollective: by rank
};

class FoldPlan {
 public:
  // Both must outlive the plan.
  FoldPlan(const Problem& problem, const Groups& groups);

  // Whether anything is to be folded.
  bool Any() const;
  const std::vector<Aligned>& classes() const { return alignment_.operators; }
  const std::vector<Aligned>& sources() const { return alignment_.sources; }
  const ClassPlan& Of(int c) const { return plans_[c]; }

  // Nodes of the folded graph, each after what it reads: classes that are folded, then
  // classes().size() + an operator that is not.
  std::vector<int> Order() const;

  // The functions of a class by rank.
  std::vector<const sdfg::IndexFunction*> FunctionsOf(const Aligned& aligned) const;
  // If the tensors can be the instances of one: its lineage.
  std::optional<Lineage> AlikeTensors(const Group& group,
                                      const std::vector<sdfg::TensorId>& members) const;

 private:
  struct Dependencies {
    std::vector<std::vector<int>> readers;
    std::vector<int> waiting;
  };

  int Classes() const { return static_cast<int>(alignment_.operators.size()); }
  bool Folded(int c) const {
    return c != sdfg::kNone && plans_[c].kind != ClassPlan::Kind::kExplicit;
  }
  ClassPlan PlanOf(const Aligned& aligned);
  bool PlanCollective(const Aligned& aligned, const Group& group, ClassPlan* plan);
  bool FitsRanks(const Aligned& aligned);
  Dependencies Depend() const;
  void SeparateOwnTensors();
  bool ReadsOwn(const Aligned& aligned, const std::vector<bool>& own) const;
  void BreakCycles();
  int NodeOf(sdfg::OperatorId op) const;
  bool Exists(int node) const;
  int FirstOperator(int node) const;

  const Problem& in_;
  const sdfg::Graph& graph_;
  const Groups& groups_;
  Alignment alignment_;
  std::vector<int> class_of_;     // by operator that was read
  std::vector<ClassPlan> plans_;  // by class
  std::map<std::pair<const sdfg::IndexFunction*, int32_t>, std::optional<Participation>>
      recognized_;
  std::map<std::vector<const sdfg::IndexFunction*>, bool> fits_;
};

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_FOLD_PLAN_H_
