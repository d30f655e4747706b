// Finds places in a plan's programs for faults, and makes their edits. Places are found by
// operators and by what tensors are claimed to be, never by the name of a tensor.
#ifndef PLANPROOF_MUTATION_PLAN_EDITOR_H_
#define PLANPROOF_MUTATION_PLAN_EDITOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"
#include "mutation/mutate.h"

namespace planproof::mutation {

// An operator of a program, by position.
struct Place {
  int program = 0;
  int op = 0;
};

class PlanEditor {
 public:
  // `problem` is what the unchanged file (with its specification) poses; both outlive the editor.
  PlanEditor(plan::PlanFile* file, const lineage::Problem& problem);

  const plan::PlanFile& file() const { return file_; }
  plan::Program& program(int number) { return *file_.mutable_plan()->mutable_programs(number); }
  const plan::Program& program(int number) const { return file_.plan().programs(number); }
  int programs() const { return file_.plan().programs_size(); }
  plan::Operator& op(Place at) { return *program(at.program).mutable_operators(at.op); }
  const plan::Operator& op(Place at) const { return program(at.program).operators(at.op); }

  // The operator that defines the tensor in this program; nothing for inputs.
  std::optional<Place> Producer(int program, const std::string& tensor) const;
  std::vector<Place> Readers(int program, const std::string& tensor) const;
  // What the plan claims the tensor to be: an input's relation, or its lineage; null if nothing.
  const plan::Relation* ClaimOf(int program, const std::string& tensor) const;
  // The logical tensor that it is claimed to be; its own name where the claim names none.
  std::string LogicalOf(int program, const std::string& tensor) const;
  bool IsParameter(int program, const std::string& tensor) const;
  // On one device. Empty if the tensor is unknown.
  sdfg::Shape LocalShape(int program, const std::string& tensor) const;
  // It depends on the seed of the backward pass.
  bool IsGradient(int program, const std::string& tensor) const;
  // The operator makes something that depends on the seed of the backward pass.
  bool IsBackward(Place at) const;
  int64_t Extent(const std::string& axis) const;
  // The axes of the mesh along which the ranks of a program lie, outermost first.
  std::vector<std::string> AxesOf(int program) const;

  // The place that the seed chooses among those that fit. FailedPrecondition if there is none;
  // `wanted` says what is missing.
  absl::StatusOr<Place> Choose(uint64_t seed, const std::string& wanted,
                               const std::function<bool(Place)>& fits) const;

  // The operator's result is its operand.
  void BecomeIdentity(Place at);
  // Adds an operator in front of this one, in the same phase; positions behind it move.
  void InsertBefore(Place at, plan::Operator op);
  void InsertAfter(Place at, plan::Operator op);
  // On the first rank of the program (of each microbatch), `with` runs in place of the operator.
  // Returns the coordinates, for people.
  std::string OnFirstRank(Place at, std::vector<plan::Operator> with);

  // "all_reduce (y) of program stage0".
  std::string Describe(Place at) const;
  Mutation Done(const std::string& kind, const std::vector<Place>& places,
                const std::string& change) const;

 private:
  const sdfg::Tensor* Find(int program, const std::string& tensor) const;
  int NumberOf(int program, const std::string& tensor) const;

  plan::PlanFile& file_;
  const lineage::Problem& problem_;
  std::map<std::string, int> by_name_;
  std::vector<bool> after_loss_;
};

// The axes that cut a dimension of the tensor of which this is the claim, outermost first; empty
// without claim.
std::vector<std::string> CutOver(const plan::Relation* claim, int dim);

// What an operator defines.
std::vector<std::string> OutputsOf(const plan::Operator& op);

// An operator of tensors.
plan::Operator MakeOperator(const std::string& op, const std::vector<std::string>& in,
                            const std::string& out);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_PLAN_EDITOR_H_
