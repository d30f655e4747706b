// Experiments in numbers with the operators between related tensors: what would make them right?
#ifndef PLANPROOF_STAGES_DIAGNOSIS_REPAIR_SEARCH_H_
#define PLANPROOF_STAGES_DIAGNOSIS_REPAIR_SEARCH_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/replay.h"
#include "shape_reduction/work_clock.h"
#include "stages/collective_forms.h"

namespace planproof::stages {

using Values = shape_reduction::Replay::Ptr;

// Calls `visit` with an index and the two values for one element of every common block, until it
// returns false. The tensors have one shape.
void ForEachPair(const Values& left, const Values& right,
                 const std::function<bool(const std::vector<int64_t>&, double, double)>& visit);

// All nonempty sets of (the first few of) the axes, small ones first.
std::vector<std::vector<sdfg::AxisId>> AxisSubsets(const std::vector<sdfg::AxisId>& axes);
// "sum", "average".
const char* ReductionName(CollectiveKind kind);
// "a sum", "a maximum"; empty for what is no reduction.
std::string ReductionInWords(CollectiveKind kind);
double ValueAt(const Values& tensor, const std::vector<int64_t>& index);

// Offsets in a tensor's blocks of the points of a grid, dimension by dimension.
class OffsetTable {
 public:
  // `grid`: indices, by dimension.
  OffsetTable(const Values& tensor, const std::vector<std::vector<int64_t>>& grid);
  // `position`: in the grid, by dimension.
  int64_t At(const size_t* position) const {
    int64_t offset = 0;
    for (size_t d = 0; d < offsets_.size(); ++d) offset += offsets_[d][position[d]];
    return offset;
  }

 private:
  std::vector<std::vector<int64_t>> offsets_;
};
// The largest finite absolute value; 0 for null.
double Largest(const Values& tensor);
// Equal up to rounding, relative to the largest element.
bool Agree(const Values& left, const Values& right);
bool AgreeNumbers(const std::vector<double>& left, const std::vector<double>& right);
// left + factor * right.
std::vector<double> Combine(const std::vector<double>& left, double factor,
                            const std::vector<double>& right);
// The fraction that a ratio is up to rounding, of numbers up to `most`; 0/1 if there is none.
std::pair<int64_t, int64_t> SimpleFraction(double ratio, int64_t most);

// A parallel tensor that is not what its lineage says although what it is made from is.
struct Subject {
  sdfg::TensorId tensor = sdfg::kNone;
  lineage::Lineage lineage;
  std::vector<sdfg::OperatorId> operators;  // of its stage, in topological order
  // Of a stage by itself: tensors that nothing reads in the plan.
  std::vector<sdfg::TensorId> unread;
};

class RepairSearch {
 public:
  RepairSearch(const lineage::Problem& problem, shape_reduction::Replay& replay, Subject subject);

  bool usable() const { return actual_ != nullptr && claimed_ != nullptr; }
  const Values& actual() const { return actual_; }
  const Values& claimed() const { return claimed_; }

  // Suspected causes with the operator (or kNone) each is about, most specific first.
  struct Cause {
    std::string text;
    sdfg::OperatorId op = sdfg::kNone;
    bool of_one_number = false;  // a factor between one pair of numbers: there is always one
    // How much is changed at once. What changes less and fits as many inputs is preferred.
    int changes = 0;
    // Of causes about one thing only the first is named: other numbers of one attribute.
    std::string about;
    // Counts as the same on other inputs, where another rank or number shows it; empty: `text`.
    std::string alike;
    bool only_where = false;  // says which elements are wrong, and not why
  };
  // `all`: also what is less likely than one that was found.
  std::vector<Cause> Run(bool all = false);
  // Only those that are single ranks that do otherwise.
  std::vector<Cause> RunExceptions();

 private:
  // An operator of the stage, and what it is along its axis.
  struct Collective {
    sdfg::OperatorId op = sdfg::kNone;
    CollectiveForm form;
  };
  // What one line of a plan makes: one operator for each axis of its group.
  struct CollectiveUnit {
    std::vector<Collective> members;
  };
  struct CollectiveCause {
    std::string text;
    sdfg::OperatorId op = sdfg::kNone;
    std::vector<sdfg::AxisId> axes;
    int changes = 0;
  };

  // What is otherwise when the stage runs again.
  struct Changes {
    std::map<sdfg::OperatorId, sdfg::Operator> operators;         // others with the same outputs
    std::map<std::pair<sdfg::OperatorId, int>, Values> operands;  // of one operator only
    // What all operators of the stage read in place of what the tensor is in that run.
    std::map<sdfg::TensorId, std::function<Values(const Values&)>> tensors;
  };
  // The subject when the stage runs with these changes; null if it cannot, or if they do not reach
  // the subject.
  Values RunStage(const Changes& changes);
  // With this operator in place of operator `changed`.
  Values With(sdfg::OperatorId changed, const sdfg::Operator& op);
  // With other values for one operand.
  Values WithOperand(sdfg::OperatorId changed, int operand, const Values& value);

  bool TryConstants();  // whether it is one, but may as well be right for fewer elements
  void TryOperands();
  bool TryQuotients();  // whether it is that
  // A factor, and the collective that is the reason for it, or such a collective alone; `constant`:
  // a constant explains it already. Whether a number of ranks or a collective is the reason.
  bool TryFactor(bool constant);
  std::vector<CollectiveCause> CollectiveCauses();
  // Whether the subject is right with these left out: every rank keeps what it holds itself, or,
  // with `instead`, gets the same reduction over that axis.
  bool RightWithout(const std::vector<Collective>& left_out, sdfg::AxisId instead = sdfg::kNone);
  std::vector<CollectiveUnit> CollectiveUnits() const;
  // Those of one kind over the same axes, where there are several.
  static std::vector<std::vector<CollectiveUnit>> Alike(const std::vector<CollectiveUnit>& units);
  std::string Names(const std::vector<CollectiveUnit>& units) const;
  std::string AxesOf(const CollectiveUnit& unit) const;
  void TryOtherKinds(const std::vector<CollectiveUnit>& units, std::vector<CollectiveCause>* found);
  void TryFewerAxes(const std::vector<CollectiveUnit>& units, std::vector<CollectiveCause>* found);
  void TryOtherAxis(const std::vector<CollectiveUnit>& units, std::vector<CollectiveCause>* found);
  void TryAxisOrder(const CollectiveUnit& unit, std::vector<CollectiveCause>* found);
  void TryInsertions();
  void TryReductionsOfOthers();
  std::vector<sdfg::OperatorId> ReadersOf(sdfg::TensorId tensor) const;
  sdfg::OperatorId ReductionOf(sdfg::TensorId tensor) const;
  void TryMissingAfter(const std::vector<sdfg::TensorId>& tensors);
  // The tensor is reduced over these axes, and given to all ranks. Whether it varies over them.
  bool AddReduction(sdfg::TensorId tensor, const std::vector<sdfg::AxisId>& axes,
                    CollectiveKind kind, Changes* changes);
  bool RightReduced(const std::vector<sdfg::TensorId>& tensors,
                    const std::vector<sdfg::AxisId>& axes, CollectiveKind kind);
  bool TryWiderGroups(const std::vector<CollectiveUnit>& units);
  void TryReplicaSums();
  std::vector<sdfg::TensorId> NamedAlike() const;
  std::vector<sdfg::TensorId> RequiredAlike() const;
  bool IsAlike(const sdfg::Tensor& tensor, const lineage::Lineage& l) const;
  bool TrySumOf(const std::vector<sdfg::TensorId>& tensors);
  void TryAxisSums();
  void FoundMissing(CollectiveKind reduction, const std::vector<std::string>& axes);
  std::optional<CollectiveKind> MissingReduction(const std::vector<double>& sum,
                                                 int64_t count) const;
  void TryTerms();
  bool Lacks(sdfg::OperatorId id, size_t operand, bool too_small, const std::vector<double>& rest);
  void TryContributions();
  void TryForgottenTerms();
  std::vector<sdfg::TensorId> ModelTerms() const;
  void TryModelTerms();
  void TryFunctions();  // repair_functions.cc
  void TryLaterOperands();
  std::string Term(sdfg::TensorId tensor) const;  // with the device where others have the name, too
  // "size of tp", "number of microbatches".
  std::string SizeOf(sdfg::AxisId axis) const;
  // " = size of dp or tp"; empty if none has this many ranks.
  std::string SizesThatAre(int64_t count) const;
  bool Late() const;  // no more experiments of many runs
  void TryShards();
  void TryExceptions();
  // repair_slices.cc
  std::vector<int64_t> FirstWrong() const;
  bool RightAt(const std::vector<int64_t>& coordinates, const Values& value) const;
  std::string WhereRight(const std::vector<int64_t>& coordinates, const Values& value) const;
  void TrySlices(bool of_others);
  // Of one operand; `wrong`: coordinates at which the result is. Whether one was found.
  bool TrySlicesOf(sdfg::OperatorId id, int operand, const std::vector<int64_t>& wrong,
                   bool of_others);
  void TryModelOperands();
  void TryModelOperandsTogether();
  void TryUnchanged();
  void TryInputsOfTheModel();
  void TryRanks();
  void TryAddedConstants();
  void TryRows();
  void TryHoles();
  void TryOrder();
  // repair_attributes.cc
  bool TryAttributes();  // whether it is that
  // Whether these values of the subject are right, for each coordinate of its axis.
  std::map<int64_t, bool> RightAlong(const Values& value, size_t axis) const;
  Values WithAttribute(const std::vector<sdfg::OperatorId>& operators, const std::string& attribute,
                       const sdfg::AdjustableOperator::Affine& value);
  void TryAttributeOfFew(const std::string& what, sdfg::OperatorId op, size_t axis,
                         const std::vector<solver::Rational>& values,
                         const std::map<int64_t, std::vector<solver::Rational>>& right);
  // repair_inputs.cc
  void TryLayouts();
  void TryNearOperands();
  void TryExchangedSteps();
  void TryUnread();
  void Found(std::string text, sdfg::OperatorId op = sdfg::kNone, int changes = 0) {
    causes_.push_back({std::move(text), op, false, changes, ""});
  }

  void LayOut();
  // The tensor's values at all points; at these coordinates of axes instead of the points' own.
  using Coordinates = std::vector<std::pair<size_t, int64_t>>;
  std::vector<double> AtPoints(const Values& tensor, const Coordinates& instead = {}) const;

  std::string Place(sdfg::TensorId tensor) const;  // "x on device 3"
  std::string Name(sdfg::OperatorId op) const;
  // Sums of the tensor over its axes that the subject lacks, except one coordinate of one axis.
  bool TermsAlong(sdfg::TensorId tensor, size_t axis, std::vector<std::vector<double>>* terms);

  const lineage::Problem& problem_;
  const sdfg::Graph& graph_;
  shape_reduction::Replay& replay_;
  Subject subject_;
  Values actual_, claimed_;
  std::vector<std::vector<int64_t>> points_;    // elements that are compared
  std::vector<std::vector<int64_t>> grid_;      // indices of the points, by dimension
  std::vector<size_t> at_;                      // of each point in the grid, by dimension
  std::vector<double> actual_at_, claimed_at_;  // their values
  std::vector<Cause> causes_;
  std::vector<Cause> of_few_;  // attributes that are wrong on few ranks
  shape_reduction::WorkClock::time_point start_ = shape_reduction::WorkClock::now();
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_REPAIR_SEARCH_H_
