// Numeric experiments on the operators between related tensors: what would make them right?
#ifndef PLANPROOF_STAGES_EXPERIMENTS_H_
#define PLANPROOF_STAGES_EXPERIMENTS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/replay.h"

namespace planproof::stages {

using Values = shape_reduction::Replay::Ptr;

// Calls `visit` with an index and the two values for one element of every common block, until it
// returns false. The tensors have one shape.
void ForEachPair(const Values& left, const Values& right,
                 const std::function<bool(const std::vector<int64_t>&, double, double)>& visit);

double ValueAt(const Values& tensor, const std::vector<int64_t>& index);
// The largest finite absolute value; 0 for null.
double Largest(const Values& tensor);
// Equal up to rounding, relative to the largest element.
bool Agree(const Values& left, const Values& right);
bool AgreeNumbers(const std::vector<double>& left, const std::vector<double>& right);

// A parallel tensor that is not what its lineage says although what it is made from is.
struct Subject {
  sdfg::TensorId tensor = sdfg::kNone;
  lineage::Lineage lineage;
  std::vector<sdfg::OperatorId> operators;  // of its stage, in topological order
};

// Name of the operator by which single ranks of a program do otherwise.
inline constexpr char kException[] = "exception";

class Experiments {
 public:
  Experiments(const lineage::Problem& problem, shape_reduction::Replay& replay, Subject subject);

  bool usable() const { return actual_ != nullptr && claimed_ != nullptr; }
  const Values& actual() const { return actual_; }
  const Values& claimed() const { return claimed_; }

  // Suspected causes with the operator (or kNone) each is about, most specific first.
  struct Cause {
    std::string text;
    sdfg::OperatorId op = sdfg::kNone;
    bool of_one_number = false;  // a factor between one pair of numbers: there is always one
  };
  std::vector<Cause> Run();
  // Only those that are single ranks that do otherwise.
  std::vector<Cause> RunExceptions();

 private:
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

  void TryConstants();
  void TryOperands();
  bool TryQuotients();  // whether it is that
  void TryScale();
  void TryReplicaSums();
  void TryTerms();
  void TryScaledTerm(sdfg::TensorId input, const std::vector<double>& term,
                     const std::vector<double>& missing, sdfg::OperatorId op);
  void TryShards();
  void TryExceptions();
  void TrySlices();
  void TryModelOperands();
  void TryUnchanged();
  void TryRanks();
  void TryAddedConstants();
  void TryRows();
  void TryHoles();
  void TryOrder();
  void Found(std::string text, sdfg::OperatorId op = sdfg::kNone) {
    causes_.push_back({std::move(text), op});
  }

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
  std::vector<double> actual_at_, claimed_at_;  // their values
  std::vector<Cause> causes_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_EXPERIMENTS_H_
