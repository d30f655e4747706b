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

void TensorsOf(const Value& value, std::vector<TensorNumber>* tensors) {
  if (value.kind == Value::Kind::kTensor) tensors->push_back(value.tensor);
  for (const Value& item : value.list) TensorsOf(item, tensors);
}

// "aten.add_.Tensor", but not "aten.__and__.Tensor".
bool IsInPlace(const std::string& op) {
  const std::string name = op.substr(0, op.rfind('.'));
  return name.ends_with("_") && !name.ends_with("__");
}

// An operator in place writes its first operand.
absl::Status CheckInPlace(const Trace& trace, const Executed& executed, const std::string& place) {
  if (!IsInPlace(executed.op) || executed.writes.empty() || executed.args.empty()) {
    return absl::OkStatus();
  }
  std::vector<TensorNumber> operands;
  TensorsOf(executed.args[0], &operands);
  bool same = operands.size() == executed.writes.size();
  for (size_t k = 0; same && k < operands.size(); ++k) {
    const Tensor& operand = trace.tensors[operands[k]];
    const Tensor& written = trace.tensors[executed.writes[k]];
    same = operand.storage == written.storage && SamePositions(ViewOf(operand), ViewOf(written));
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": operator ", executed.op,
                   " is in place and writes another tensor than its first operand; record again"));
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
  PLAN_RETURN_IF_ERROR(CheckInPlace(trace_, executed, writer_->Place()));
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
