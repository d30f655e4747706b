#include "frontend/torch/execution.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_complex.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/random_operators.h"
#include "frontend/torch/recorded_memory.h"
#include "frontend/torch/recorded_results.h"
#include "frontend/torch/recorded_views.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// Operators whose results are views, or the operand itself.
bool IsView(const std::string& op) {
  const std::string base = AtenBaseName(op);
  constexpr std::string_view kViews[] = {"alias",
                                         "as_strided",
                                         "chunk",
                                         "conj",
                                         "_conj",
                                         "conj_physical",
                                         "contiguous",
                                         "detach",
                                         "diagonal",
                                         "expand",
                                         "imag",
                                         "lift",
                                         "lift_fresh",
                                         "movedim",
                                         "narrow",
                                         "_neg_view",
                                         "permute",
                                         "real",
                                         "_reshape_alias",
                                         "reshape",
                                         "resolve_conj",
                                         "resolve_neg",
                                         "select",
                                         "slice",
                                         "split",
                                         "split_with_sizes",
                                         "squeeze",
                                         "t",
                                         "to",
                                         "transpose",
                                         "unbind",
                                         "unfold",
                                         "unsafe_split",
                                         "_unsafe_view",
                                         "unsqueeze",
                                         "view",
                                         "view_as_complex",
                                         "view_as_real"};
  return base.starts_with("aten.") &&
         std::ranges::find(kViews, std::string_view(base).substr(5)) != std::ranges::end(kViews);
}

// view(dtype) of what has this type: the same tensor. Of another type it has other numbers, of the
// same bits.
bool KeepsType(const Trace& trace, const Executed& executed) {
  if (executed.args.empty() || executed.out.empty()) return false;
  const std::vector<TensorNumber> given = TensorsIn(executed.args[0]);
  const std::vector<TensorNumber> made = TensorsIn(executed.out[0]);
  return given.size() == 1 && made.size() == 1 &&
         trace.tensors[given[0]].dtype == trace.tensors[made[0]].dtype;
}

// Every result lies in the memory of an operand, and none is said to be written.
bool SharesMemory(const Trace& trace, const Executed& executed) {
  if (!executed.writes.empty()) return false;
  std::set<StorageId> operands;
  const auto add = [&](const Value& value) {
    for (TensorNumber number : TensorsIn(value)) operands.insert(trace.tensors[number].storage);
  };
  for (const Value& value : executed.args) add(value);
  for (const auto& [name, value] : executed.kwargs) add(value);
  for (const Value& value : executed.out) {
    for (TensorNumber number : TensorsIn(value)) {
      if (operands.count(trace.tensors[number].storage) == 0) return false;
    }
  }
  return true;
}

// An operator writes the arguments of which its signature says so, in their order.
absl::Status CheckWrites(const Trace& trace, const Executed& executed, const AtenSchema& schema,
                         const std::string& place) {
  std::vector<TensorNumber> meant;
  bool writes = false;
  for (size_t i = 0; i < schema.parameters.size(); ++i) {
    const AtenParameter& parameter = schema.parameters[i];
    if (!parameter.written) continue;
    writes = true;
    const auto named = executed.kwargs.find(parameter.name);
    if (named == executed.kwargs.end() && i >= executed.args.size()) continue;
    const std::vector<TensorNumber> tensors =
        TensorsIn(named != executed.kwargs.end() ? named->second : executed.args[i]);
    meant.insert(meant.end(), tensors.begin(), tensors.end());
  }
  if (!writes) return absl::OkStatus();
  bool same = meant.size() == executed.writes.size();
  for (size_t k = 0; same && k < meant.size(); ++k) {
    const Tensor& operand = trace.tensors[meant[k]];
    const Tensor& written = trace.tensors[executed.writes[k]];
    same = operand.storage == written.storage && SamePositions(ViewOf(operand), ViewOf(written));
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": operator ", executed.op,
                   " writes other tensors than the operands that it has for that; record again"));
}

}  // namespace

absl::Status Execution::RunCollective(const Executed& executed) {
  const Collective& collective = *executed.collective;
  std::vector<sdfg::TensorId> inputs, outputs;
  for (TensorNumber number : collective.in) {
    PLAN_ASSIGN_OR_RETURN(sdfg::TensorId input, memory_.Read(trace_.tensors[number]));
    if (collective.factor) {
      const sdfg::TensorId first = writer_->tensor_count();
      PLAN_ASSIGN_OR_RETURN(
          const std::vector<sdfg::TensorId> scaled,
          writer_->Apply("mul", {Argument::Of(input), Argument::Number(*collective.factor)}));
      input = scaled[0];
      in_place_.emplace_back(first, writer_->tensor_count());
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
  // _local_scalar_dense, and whatever else gives a number.
  static const AtenSchema* const schema =
      new AtenSchema(ParseAtenSchema("aten::item(Tensor self) -> Scalar").value());
  const AtenCall call(trace_, executed, *schema, items_, &memory_, writer_);
  PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand("self"));
  const Value* was = executed.out.size() == 1 ? &executed.out[0] : nullptr;
  const bool finite =
      was != nullptr && (was->kind == Value::Kind::kBool || was->kind == Value::Kind::kInteger ||
                         was->kind == Value::Kind::kReal);
  if (finite) items_.recorded[*executed.item] = was->real.ToDouble();
  if (!value.literal) {
    item_places_[*executed.item] = writer_->Place();
    if (finite) numbers_.push_back({value.tensor, was->real.ToDouble(), writer_->Place()});
  }
  items_.values[*executed.item] = std::move(value);
  return absl::OkStatus();
}

absl::Status Execution::RunOperator(const Executed& executed) {
  const std::string base = AtenBaseName(executed.op);
  const AtenOperator* op = FindAtenOperator(executed.op);
  if (SharesMemory(trace_, executed)) {
    if (executed.out.empty()) return absl::OkStatus();
    if (executed.op == "aten.view.dtype") {
      if (KeepsType(trace_, executed)) {
        return CheckViews(trace_, executed, "aten.alias", writer_->Place());
      }
      return absl::UnimplementedError(absl::StrCat(
          writer_->Place(), ": operator ", executed.op,
          " reads the bits of numbers as numbers of another type, which has no declared meaning"));
    }
    if (IsView(executed.op)) return CheckViews(trace_, executed, base, writer_->Place());
    return absl::InvalidArgumentError(
        absl::StrCat(writer_->Place(), ": operator ", executed.op,
                     " gives no view, and its result lies in the memory of an operand that it is "
                     "not said to write; record again"));
  }
  if (OfComplexNumbers(trace_, executed)) {
    op = FindComplexOperator(executed.op);
    if (op == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          writer_->Place(), ": operator ", executed.op,
          " of complex numbers has no declared meaning; docs/torch-operators.md lists what has"));
    }
  }
  if (op == nullptr && DrawsRandomNumbers(base)) {
    return absl::UnimplementedError(absl::StrCat(
        writer_->Place(), ": operator ", executed.op,
        " draws random numbers, which ranks and the reference draw for themselves; record with "
        "dropout 0 (or model.eval()), or say how draws are related: Training(draws=...)"));
  }
  if (op == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        writer_->Place(), ": operator ", executed.op,
        " has no declared meaning; docs/torch-operators.md lists those that have one"));
  }
  PLAN_RETURN_IF_ERROR(CheckWrites(trace_, executed, *op->schema, writer_->Place()));
  AtenCall call(trace_, executed, *op->schema, items_, &memory_, writer_);
  PLAN_RETURN_IF_ERROR(call.CheckArguments());
  PLAN_RETURN_IF_ERROR(CheckResult(trace_, executed, base, *op->schema, writer_->Place()));
  for (const StorageId storage : AllocatedBy(trace_, executed)) memory_.Allocate(storage);
  const sdfg::TensorId first = writer_->tensor_count();
  PLAN_RETURN_IF_ERROR(op->run(call));
  PLAN_RETURN_IF_ERROR(call.CheckAllRead(op->without_meaning));
  PLAN_RETURN_IF_ERROR(call.Store());
  if (!executed.writes.empty()) in_place_.emplace_back(first, writer_->tensor_count());
  if (notes_made_) NoteMade(executed);
  return Record(executed);
}

void Execution::NoteMade(const Executed& executed) {
  const auto position = static_cast<int32_t>(&executed - trace_.operators.data());
  int32_t number = 0;
  for (const Value& value : executed.out) {
    for (const TensorNumber tensor : TensorsIn(value)) {
      const sdfg::TensorId held = memory_.HeldAs(trace_.tensors[tensor]);
      if (held != sdfg::kNone) made_.push_back({position, number, held});
      ++number;
    }
  }
}

absl::Status Execution::Record(const Executed& executed) {
  for (size_t r = 0; r < executed.values.size(); ++r) {
    if (!executed.values[r]) continue;
    const Tensor& result = trace_.tensors[executed.out[r].tensor];
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, memory_.Read(result));
    recorded_[tensor] = *executed.values[r];
  }
  return absl::OkStatus();
}

absl::Status Execution::Run() {
  PLAN_RETURN_IF_ERROR(CheckMemory(trace_));
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
  for (const UnfollowedNumber& number : trace_.numbers) {  // these are listed by themselves
    for (const Value& value : number.of) CountItems(value);
  }
  for (const auto& [item, place] : item_places_) unused_.insert(place);
  writer_->StandAt({});
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
