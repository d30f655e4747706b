#include "frontend/torch/execution.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_complex.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

void StoragesOf(const Trace& trace, const Value& value, std::set<StorageId>* storages) {
  if (value.kind == Value::Kind::kTensor) storages->insert(trace.tensors[value.tensor].storage);
  for (const Value& item : value.list) StoragesOf(trace, item, storages);
}

// Every result is a view of an operand.
bool GivesViews(const Trace& trace, const Executed& executed) {
  if (!executed.writes.empty()) return false;
  std::set<StorageId> operands, results;
  for (const Value& value : executed.args) StoragesOf(trace, value, &operands);
  for (const auto& [name, value] : executed.kwargs) StoragesOf(trace, value, &operands);
  for (const Value& value : executed.out) StoragesOf(trace, value, &results);
  for (StorageId storage : results) {
    if (operands.count(storage) == 0) return false;
  }
  return true;
}

}  // namespace

absl::Status Execution::RunCollective(const Executed& executed) {
  const Collective& collective = *executed.collective;
  std::vector<sdfg::TensorId> inputs, outputs;
  for (TensorNumber number : collective.in) {
    PLAN_ASSIGN_OR_RETURN(sdfg::TensorId input, memory_.Read(trace_.tensors[number]));
    if (collective.factor) {
      PLAN_ASSIGN_OR_RETURN(
          const std::vector<sdfg::TensorId> scaled,
          writer_->Apply("mul", {Argument::Of(input), Argument::Number(*collective.factor)}));
      input = scaled[0];
    }
    inputs.push_back(input);
  }
  for (TensorNumber number : collective.out) {
    const Tensor& tensor = trace_.tensors[number];
    outputs.push_back(writer_->AddTensor(writer_->FreshName(CollectiveName(collective.kind)),
                                         tensor.shape, tensor.dtype));
    PLAN_RETURN_IF_ERROR(memory_.Write(tensor, outputs.back()));
  }
  communications_->Issue(trace_, executed, writer_, std::move(inputs), std::move(outputs));
  if (!collective.work) return absl::OkStatus();
  return memory_.Start(*collective.work, collective.in, collective.out);
}

void Execution::CountItems(const Value& value) {
  if (value.kind == Value::Kind::kItem) item_places_.erase(value.item);
  for (const Value& item : value.list) CountItems(item);
}

absl::Status Execution::ReadItem(const Executed& executed) {
  const AtenCall call(trace_, executed, {"self"}, items_, &memory_, writer_);
  PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand("self"));
  if (!value.literal) item_places_[*executed.item] = writer_->Place();
  items_[*executed.item] = std::move(value);
  return absl::OkStatus();
}

absl::Status Execution::RunOperator(const Executed& executed) {
  const std::string base = AtenBaseName(executed.op);
  const AtenOperator* op = FindAtenOperator(base);
  if (GivesViews(trace_, executed)) return absl::OkStatus();
  if (OfComplexNumbers(trace_, executed)) {
    op = FindComplexOperator(base);
    if (op == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          writer_->Place(), ": operator ", executed.op,
          " of complex numbers has no declared meaning; docs/torch-operators.md lists what has"));
    }
  }
  if (op == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        writer_->Place(), ": operator ", executed.op,
        " has no declared meaning; docs/torch-operators.md lists those that have one"));
  }
  AtenCall call(trace_, executed, op->parameters, items_, &memory_, writer_);
  PLAN_RETURN_IF_ERROR(op->run(call));
  return call.Store();
}

absl::Status Execution::Run() {
  for (const Executed& executed : trace_.operators) {
    if (executed.wait) {
      memory_.Finish(*executed.wait);
      communications_->Wait(trace_.rank, *executed.wait);
      continue;
    }
    writer_->StandAt(executed);
    for (const Value& value : executed.args) CountItems(value);
    for (const auto& [name, value] : executed.kwargs) CountItems(value);
    if (executed.collective) {
      PLAN_RETURN_IF_ERROR(RunCollective(executed));
    } else if (executed.item) {
      PLAN_RETURN_IF_ERROR(ReadItem(executed));
    } else {
      PLAN_RETURN_IF_ERROR(RunOperator(executed));
    }
  }
  for (const auto& [item, place] : item_places_) unused_.insert(place);
  writer_->StandAt({});
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
