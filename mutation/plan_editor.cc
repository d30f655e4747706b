#include "mutation/plan_editor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mutation/graph_editor.h"

namespace planproof::mutation {

PlanEditor::PlanEditor(plan::PlanFile* file, const lineage::Problem& problem)
    : file_(*file), problem_(problem), after_loss_(TensorsAfterLoss(problem.parallel)) {
  const auto& tensors = problem.parallel.tensors;
  for (size_t t = 0; t < tensors.size(); ++t) by_name_[tensors[t].name] = static_cast<int>(t);
}

int PlanEditor::NumberOf(int program, const std::string& tensor) const {
  const bool as_is = programs() == 1 || absl::StrContains(tensor, ":");
  const auto at =
      by_name_.find(as_is ? tensor : absl::StrCat(this->program(program).name(), ":", tensor));
  return at == by_name_.end() ? sdfg::kNone : at->second;
}

const sdfg::Tensor* PlanEditor::Find(int program, const std::string& tensor) const {
  const int number = NumberOf(program, tensor);
  return number == sdfg::kNone ? nullptr : &problem_.parallel.tensors[number];
}

std::optional<Place> PlanEditor::Producer(int program, const std::string& tensor) const {
  const plan::Program& where = this->program(program);
  for (int i = 0; i < where.operators_size(); ++i) {
    const std::vector<std::string> made = OutputsOf(where.operators(i));
    if (std::find(made.begin(), made.end(), tensor) != made.end()) return Place{program, i};
  }
  return std::nullopt;
}

std::vector<Place> PlanEditor::Readers(int program, const std::string& tensor) const {
  std::vector<Place> readers;
  const plan::Program& where = this->program(program);
  for (int i = 0; i < where.operators_size(); ++i) {
    const auto& inputs = where.operators(i).inputs();
    if (std::any_of(inputs.begin(), inputs.end(),
                    [&](const plan::Operand& operand) { return operand.tensor() == tensor; })) {
      readers.push_back({program, i});
    }
  }
  return readers;
}

const plan::Relation* PlanEditor::ClaimOf(int program, const std::string& tensor) const {
  for (const plan::NamedRelation& input : this->program(program).inputs()) {
    if (input.name() == tensor) return &input.relation();
  }
  for (const plan::NamedRelation& claim : this->program(program).lineage()) {
    if (claim.name() == tensor) return &claim.relation();
  }
  return nullptr;
}

std::string PlanEditor::LogicalOf(int program, const std::string& tensor) const {
  const plan::Relation* claim = ClaimOf(program, tensor);
  return claim == nullptr || claim->of().empty() ? tensor : claim->of();
}

bool PlanEditor::IsParameter(int program, const std::string& tensor) const {
  const sdfg::Tensor* found = Find(program, tensor);
  return found != nullptr && found->role == sdfg::TensorRole::kParameter;
}

sdfg::Shape PlanEditor::LocalShape(int program, const std::string& tensor) const {
  const sdfg::Tensor* found = Find(program, tensor);
  if (found == nullptr) return {};
  return {found->shape.begin() + static_cast<int64_t>(found->axes.size()), found->shape.end()};
}

bool PlanEditor::IsGradient(int program, const std::string& tensor) const {
  const int number = NumberOf(program, tensor);
  return number != sdfg::kNone && after_loss_[number];
}

bool PlanEditor::IsBackward(Place at) const {
  const std::vector<std::string> made = OutputsOf(op(at));
  return std::any_of(made.begin(), made.end(),
                     [&](const std::string& name) { return IsGradient(at.program, name); });
}

int64_t PlanEditor::Extent(const std::string& axis) const {
  if (axis == "microbatch") return std::max<int64_t>(file_.plan().microbatches(), 1);
  for (const plan::MeshAxis& known : file_.plan().mesh()) {
    if (known.name() == axis) return known.extent();
  }
  return 1;
}

std::vector<std::string> PlanEditor::AxesOf(int program) const {
  std::vector<std::string> axes;
  const auto& fixed = this->program(program).devices();
  for (const plan::MeshAxis& axis : file_.plan().mesh()) {
    const bool is_fixed = std::any_of(fixed.begin(), fixed.end(), [&](const plan::Coordinate& at) {
      return at.axis() == axis.name();
    });
    if (axis.extent() > 1 && !is_fixed) axes.push_back(axis.name());
  }
  return axes;
}

absl::StatusOr<Place> PlanEditor::Choose(uint64_t seed, const std::string& wanted,
                                         const std::function<bool(Place)>& fits) const {
  std::vector<Place> places;
  for (int p = 0; p < programs(); ++p) {
    for (int i = 0; i < program(p).operators_size(); ++i) {
      if (fits({p, i})) places.push_back({p, i});
    }
  }
  if (places.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this plan has no place for it: it needs ", wanted));
  }
  return places[seed % places.size()];
}

void PlanEditor::BecomeIdentity(Place at) {
  plan::Operator& changed = op(at);
  changed.set_op("identity");
  changed.clear_collective();
  changed.clear_attributes();
}

void PlanEditor::InsertBefore(Place at, plan::Operator added) {
  added.set_phase(op(at).phase());
  op(at).clear_phase();
  auto* operators = program(at.program).mutable_operators();
  *operators->Add() = std::move(added);
  std::rotate(operators->begin() + at.op, operators->end() - 1, operators->end());
}

void PlanEditor::InsertAfter(Place at, plan::Operator added) {
  auto* operators = program(at.program).mutable_operators();
  *operators->Add() = std::move(added);
  std::rotate(operators->begin() + at.op + 1, operators->end() - 1, operators->end());
}

std::string PlanEditor::OnFirstRank(Place at, std::vector<plan::Operator> with) {
  plan::Exception& exception = *program(at.program).add_exceptions();
  std::vector<std::string> where;
  for (const std::string& axis : AxesOf(at.program)) {
    plan::Coordinate* coordinate = exception.add_at();
    coordinate->set_axis(axis);
    coordinate->add_values(0);
    where.push_back(absl::StrCat(axis, " 0"));
  }
  exception.set_replace(OutputsOf(op(at))[0]);
  for (plan::Operator& one : with) *exception.add_operators() = std::move(one);
  return absl::StrJoin(where, ", ");
}

std::string PlanEditor::Describe(Place at) const {
  const plan::Operator& described = op(at);
  const std::string label = described.backward().empty()
                                ? OutputsOf(described)[0]
                                : absl::StrCat(described.backward(), ".backward");
  const std::string what = described.backward().empty() ? described.op() : "derivative";
  const std::string& name = program(at.program).name();
  return absl::StrCat(what, " (", label, ")", name.empty() ? "" : " of program ", name);
}

Mutation PlanEditor::Done(const std::string& kind, const std::vector<Place>& places,
                          const std::string& change) const {
  Mutation mutation;
  mutation.kind = kind;
  for (const Place& at : places) mutation.operators.push_back(Describe(at));
  mutation.what = absl::StrCat(kind, ": ", absl::StrJoin(mutation.operators, ", "), ": ", change);
  return mutation;
}

std::vector<std::string> CutOver(const plan::Relation* claim, int dim) {
  if (claim == nullptr) return {};
  for (const plan::ShardedDim& cut : claim->dims()) {
    if (cut.dim() == dim) return {cut.over().begin(), cut.over().end()};
  }
  return {};
}

std::vector<std::string> OutputsOf(const plan::Operator& op) {
  std::vector<std::string> made(op.outputs().begin(), op.outputs().end());
  for (const plan::Binding& binding : op.produces()) made.push_back(binding.value());
  return made;
}

plan::Operator MakeOperator(const std::string& op, const std::vector<std::string>& in,
                            const std::string& out) {
  plan::Operator made;
  made.set_op(op);
  for (const std::string& name : in) made.add_inputs()->set_tensor(name);
  made.add_outputs(out);
  return made;
}

}  // namespace planproof::mutation
