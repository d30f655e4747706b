// Evaluates both graphs in enclosing intervals, on inputs chosen for one suspected place.
#ifndef PLANPROOF_SHAPE_REDUCTION_FOCUSED_EVALUATION_H_
#define PLANPROOF_SHAPE_REDUCTION_FOCUSED_EVALUATION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shape_reduction/domain_interval.h"
#include "shape_reduction/focused_choice.h"
#include "shape_reduction/problem_evaluation.h"
#include "shape_reduction/undefined_origin.h"

namespace planproof::shape_reduction {

// Two enclosures of one element that do not meet, as far apart as possible relative to their size.
struct Gap {
  double size = 0;  // 0: there is no such element
  std::vector<int64_t> index;
  Interval left, right;
};
Gap FindGap(const BlockTensor<Interval>& left, const BlockTensor<Interval>& right);
// Whether some element certainly differs: there is a gap, or only the left one has a value.
bool Differ(const BlockTensor<Interval>& left, const BlockTensor<Interval>& right);

// An element that certainly has no value on the right, and one on the left.
struct MissingValue {
  int required = -1;  // the relation at which it is; -1: there is no such element
  std::vector<int64_t> index;
  Interval left;
  UndefinedOrigin origin;
};

class FocusedEvaluation {
 public:
  explicit FocusedEvaluation(const lineage::Problem& problem);

  uint64_t AttemptAt(uint64_t turn) const { return focused_.AttemptAt(turn); }

  // Chooses inputs and evaluates what the relations nearest to the focus depend on, on both sides:
  // where one of these comes before the gradients (the loss), only that one, and sums of all
  // gradients only if there is nothing else (Extend goes on with the others). False, with a
  // message, if an input or a value of the logical graph is not known to lie in the domain of the
  // specification, if a premise of either graph is not decided, or beyond a limit.
  bool Run(const Focus& focus, uint64_t attempt, int64_t max_elements,
           WorkClock::time_point deadline, std::string* message);
  // Goes on with the other relations, on the same inputs. False if there are none, or as in Run.
  bool Extend(int64_t max_elements, WorkClock::time_point deadline, std::string* message);

  // Of the last run.
  const std::vector<int>& required() const { return required_; }  // relations compared
  const std::vector<BlockTensorPtr<double>>& inputs() const { return values_; }
  const std::vector<BlockTensorPtr<Interval>>& logical() const { return evaluation_->logical(); }
  const std::vector<BlockTensorPtr<Interval>>& parallel() const { return evaluation_->parallel(); }
  // What the lineage says that a tensor of this shape holds; null if that cannot be read.
  BlockTensorPtr<Interval> Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage);
  // The clearest difference, and the relation at which it is; size 0 if there is none.
  Gap WidestGap(int* required);
  // Where only the model has a value. `proved`: FindUndefinedOrigin; its values are no such place.
  MissingValue FindMissingValue(const std::vector<sdfg::TensorId>& proved);
  // An operator of the parallel graph on other operands; null on failure.
  BlockTensorPtr<Interval> Apply(const sdfg::Operator& op, int output,
                                 const std::vector<BlockTensorPtr<Interval>>& inputs);

 private:
  // What the relation requires, and what the plan has; null if it is not known.
  std::pair<BlockTensorPtr<Interval>, BlockTensorPtr<Interval>> Sides(int required);
  bool Evaluate(int64_t max_elements, WorkClock::time_point deadline, std::string* message);

  const lineage::Problem& problem_;
  ProgramCache programs_;
  InputChooser chooser_;
  FocusedChooser focused_;
  std::vector<int> required_, further_;
  std::vector<BlockTensorPtr<double>> values_;
  std::unique_ptr<ProblemEvaluation<IntervalDomain>> evaluation_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_FOCUSED_EVALUATION_H_
