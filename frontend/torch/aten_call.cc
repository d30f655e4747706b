#include "frontend/torch/aten_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/python_functions.h"
#include "frontend/torch/python_numbers.h"
#include "frontend/torch/unfollowed_numbers.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

const Value kAbsent;

// Whether the operator gives new tensors and writes operands besides: batch norms in training.
bool GivesAndWrites(const std::string& op) { return op == "aten.native_batch_norm.default"; }

}  // namespace

AtenCall::AtenCall(const Trace& trace, const Executed& executed, const AtenSchema& schema,
                   const Items& items, Memory* memory, GraphWriter* writer)
    : trace_(trace),
      executed_(executed),
      schema_(schema),
      items_(items),
      memory_(memory),
      writer_(writer) {
  for (size_t i = 0; i < executed.args.size(); ++i) {
    if (i >= schema.parameters.size() || schema.parameters[i].keyword_only) {
      beyond_ = true;
      break;
    }
    values_[schema.parameters[i].name] = &executed.args[i];
  }
  for (const auto& [name, value] : executed.kwargs) {
    twice_ = !values_.emplace(name, &value).second || twice_;
  }
  const bool both = GivesAndWrites(executed.op);
  if (both || executed.writes.empty()) {
    for (const Value& value : executed.out) {
      const std::vector<TensorNumber> tensors = TensorsIn(value);
      targets_.insert(targets_.end(), tensors.begin(), tensors.end());
    }
  }
  if (both || targets_.empty()) {
    targets_.insert(targets_.end(), executed.writes.begin(), executed.writes.end());
  }
}

const Value& AtenCall::operator[](std::string_view name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) {
    read_.emplace(name);
    return *found->second;
  }
  const AtenParameter* parameter = schema_.Find(name);
  return parameter == nullptr || !parameter->otherwise ? kAbsent : *parameter->otherwise;
}

absl::Status AtenCall::Malformed(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(writer_->Place(), ": ", what, "; record again"));
}

absl::Status AtenCall::CheckArguments() const {
  if (twice_) return Malformed(absl::StrCat("an argument of ", executed_.op, " is given twice"));
  for (const AtenParameter& parameter : schema_.parameters) {
    const auto given = values_.find(parameter.name);
    if (given == values_.end()) {
      if (parameter.otherwise) continue;
      return Malformed(
          absl::StrCat("the argument ", parameter.name, " of ", executed_.op, " is missing"));
    }
    if (!IsArgumentFor(*given->second, parameter)) {
      return Malformed(absl::StrCat("the argument ", parameter.name, " of ", executed_.op,
                                    " is no ", parameter.type));
    }
    if (given->second->kind != Value::Kind::kDType || given->second->complex_dtype ||
        (parameter.name != "dtype" && parameter.name != "out_dtype")) {
      continue;
    }
    for (const TensorNumber number : targets_) {
      const Tensor& target = trace_.tensors[number];
      if (target.complex || target.dtype == given->second->dtype) continue;
      return Malformed(absl::StrCat("a result of ", executed_.op, " is no tensor of ",
                                    given->second->text, ", which ", parameter.name, " says"));
    }
  }
  return absl::OkStatus();
}

absl::Status AtenCall::CheckAllRead(
    const std::set<std::string, std::less<>>& without_meaning) const {
  // Types are those of the results, and where tensors lie in memory the trace says.
  static const auto* const nothing = new std::set<std::string, std::less<>>{
      "copy", "half_to_float", "non_blocking", "pin_memory", "requires_grad"};
  for (const auto& [name, value] : values_) {
    const AtenParameter* parameter = schema_.Find(name);
    if (parameter != nullptr && parameter->written && parameter->keyword_only) continue;
    const bool means_nothing = value->kind == Value::Kind::kNone ||
                               value->kind == Value::Kind::kOther ||
                               value->kind == Value::Kind::kDType || nothing->count(name) != 0;
    if (means_nothing || read_.count(name) != 0 || without_meaning.count(name) != 0) continue;
    return NotDeclared(absl::StrCat("the argument ", name, " of ", executed_.op));
  }
  return beyond_ ? NotDeclared(absl::StrCat("the last argument of ", executed_.op))
                 : absl::OkStatus();
}

const Tensor& AtenCall::Described(std::string_view name) const {
  static const auto* const none = new Tensor;
  return IsTensor(name) ? trace_.tensors[(*this)[name].tensor] : *none;
}

absl::Status AtenCall::NotDeclared(const std::string& what) const {
  return absl::UnimplementedError(absl::StrCat(
      writer_->Place(), ": ", what, " has no declared meaning; see docs/torch-operators.md"));
}

absl::StatusOr<Argument> AtenCall::OperandOf(const Value& value) const {
  switch (value.kind) {
    case Value::Kind::kNone:
      return Argument{};
    case Value::Kind::kBool:
      return Argument::Number(KnownNumber{value.real, sdfg::DType::kBool, 0});
    case Value::Kind::kInteger:
      return Argument::Number(KnownNumber{value.real, sdfg::DType::kInt64, 0});
    case Value::Kind::kReal:
      return Argument::Number(KnownNumber{value.real, sdfg::DType::kFloat64, 0});
    case Value::Kind::kItem: {
      const auto item = items_.values.find(value.item);
      if (item == items_.values.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(writer_->Place(), ": item ", value.item, " is used before it is read"));
      }
      return item->second;
    }
    case Value::Kind::kComputed:
      return Computed(value, value.recorded ? &value.real : nullptr);
    case Value::Kind::kMayBe: {
      const UnfollowedNumber& number = trace_.numbers[value.item];
      writer_->Assume(absl::StrCat("the number ", Decimal(value.real), " of ", writer_->Place(),
                                   " is what ", number.by, "() gives at ", number.source));
      return number.of[0].kind == Value::Kind::kComputed ? Computed(number.of[0], &value.real)
                                                         : OperandOf(number.of[0]);
    }
    case Value::Kind::kInfinite: {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId infinity,
                            value.infinity < 0 ? writer_->MinusInfinity() : writer_->NoNumber());
      return Argument::Of(infinity);
    }
    case Value::Kind::kTensor: {
      const Tensor& tensor = trace_.tensors[value.tensor];
      if (tensor.shape.empty()) {
        if (std::optional<KnownNumber> uniform = memory_->UniformValue(tensor); uniform) {
          return Argument::Number(*std::move(uniform));
        }
      }
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId read, memory_->Read(tensor));
      return Argument::Of(read);
    }
    default:
      return NotDeclared("an operand that is no number and no tensor");
  }
}

// What Python computed of numbers that had left the graph, in the graph again.
absl::StatusOr<Argument> AtenCall::Computed(const Value& value,
                                            const solver::Rational* recorded) const {
  std::vector<Argument> operands;
  for (const Value& operand : value.list) {
    PLAN_ASSIGN_OR_RETURN(operands.emplace_back(), OperandOf(operand));
  }
  if (value.function.empty()) return ComputeNumber(writer_, value.text, operands);
  PLAN_ASSIGN_OR_RETURN(Argument result, CallOnNumbers(writer_, value.function, operands));
  if (!result.literal) NoteCall(value, recorded, result.tensor);
  return result;
}

void AtenCall::NoteCall(const Value& value, const solver::Rational* recorded,
                        sdfg::TensorId result) const {
  RecordedCall call;
  call.tensor = result;
  call.function = value.function;
  call.place = writer_->Place();
  for (const Value& operand : value.list) {
    const std::optional<PythonNumber> number = PythonValue(operand, items_.recorded);
    if (!number) {
      call.operands.clear();
      break;
    }
    call.operands.push_back(number->value);
  }
  if (recorded != nullptr) call.value = recorded->ToDouble();
  if (const std::optional<PythonNumber> meant = PythonValue(value, items_.recorded); meant) {
    call.meant = meant->value;
    call.exact = meant->exact;
  }
  writer_->NoteCall(std::move(call));
}

absl::StatusOr<sdfg::TensorId> AtenCall::TensorOf(std::string_view name) const {
  if (!IsTensor(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(writer_->Place(), ": argument ", std::string(name), " is no tensor"));
  }
  return memory_->Read(Described(name));
}

absl::StatusOr<std::vector<sdfg::TensorId>> AtenCall::Tensors(std::string_view name) const {
  std::vector<sdfg::TensorId> tensors;
  for (const Value& item : (*this)[name].list) {
    if (item.kind != Value::Kind::kTensor) return NotDeclared("a list with what is no tensor");
    PLAN_ASSIGN_OR_RETURN(tensors.emplace_back(), memory_->Read(trace_.tensors[item.tensor]));
  }
  return tensors;
}

absl::StatusOr<int64_t> AtenCall::Integer(std::string_view name,
                                          std::optional<int64_t> otherwise) const {
  const Value& value = (*this)[name];
  if (value.kind == Value::Kind::kNone && otherwise) return *otherwise;
  int64_t number = 0;
  if (!value.real.ToInt64(&number) ||
      (value.kind != Value::Kind::kInteger && value.kind != Value::Kind::kReal)) {
    return NotDeclared(absl::StrCat("a value of ", std::string(name), " that is no integer"));
  }
  return number;
}

absl::StatusOr<bool> AtenCall::Boolean(std::string_view name, bool otherwise) const {
  const Value& value = (*this)[name];
  if (value.kind == Value::Kind::kNone) return otherwise;
  if (value.kind == Value::Kind::kBool) return value.boolean;
  if (value.kind == Value::Kind::kInteger) return value.integer != 0;
  return NotDeclared(absl::StrCat("a value of ", std::string(name), " that is no truth value"));
}

absl::StatusOr<solver::Rational> AtenCall::Real(std::string_view name,
                                                const solver::Rational& otherwise) const {
  const Value& value = (*this)[name];
  if (value.kind == Value::Kind::kNone) return otherwise;
  PLAN_ASSIGN_OR_RETURN(const Argument argument, OperandOf(value));
  if (!argument.literal) {
    return NotDeclared(absl::StrCat("a value of ", std::string(name), " that is no number"));
  }
  return *argument.literal;
}

absl::StatusOr<solver::Rational> AtenCall::RealIn(sdfg::DType dtype, std::string_view name,
                                                  const solver::Rational& otherwise) const {
  PLAN_ASSIGN_OR_RETURN(solver::Rational number, Real(name, otherwise));
  if (sdfg::IsFloating(dtype)) return number;
  std::optional<solver::Rational> converted = torch::InType(number, sdfg::DType::kUnknown, dtype);
  if (converted) return *std::move(converted);
  return NotDeclared(absl::StrCat("the value ", number.ToString(), " of ", std::string(name),
                                  " as ", sdfg::DTypeName(dtype)));
}

absl::StatusOr<std::vector<int64_t>> AtenCall::Integers(std::string_view name) const {
  const Value& value = (*this)[name];
  std::vector<int64_t> numbers;
  if (value.kind == Value::Kind::kInteger) return std::vector<int64_t>{value.integer};
  if (value.kind != Value::Kind::kList) {
    return NotDeclared(absl::StrCat("a value of ", std::string(name), " that is no list"));
  }
  for (const Value& item : value.list) {
    if (item.kind != Value::Kind::kInteger) {
      return NotDeclared(absl::StrCat("a list ", std::string(name), " with what is no integer"));
    }
    numbers.push_back(item.integer);
  }
  return numbers;
}

absl::StatusOr<sdfg::DType> AtenCall::Type(std::string_view name) const {
  const Value& value = (*this)[name];
  if (value.kind == Value::Kind::kNone) return sdfg::DType::kUnknown;
  if (value.kind != Value::Kind::kDType || value.complex_dtype) {
    return NotDeclared(absl::StrCat("this value of ", std::string(name)));
  }
  return value.dtype;
}

absl::StatusOr<sdfg::AttributeValue> AtenCall::Attribute(std::string_view name) const {
  const Value& value = (*this)[name];
  switch (value.kind) {
    case Value::Kind::kBool:
      return sdfg::AttributeValue(value.boolean);
    case Value::Kind::kInteger:
      return sdfg::AttributeValue(value.integer);
    case Value::Kind::kReal:
    case Value::Kind::kComputed:
    case Value::Kind::kMayBe:
    case Value::Kind::kItem: {
      PLAN_ASSIGN_OR_RETURN(solver::Rational real, Real(name, 0));
      return sdfg::AttributeValue(std::move(real));
    }
    case Value::Kind::kString:
      return sdfg::AttributeValue(value.text);
    case Value::Kind::kDType:
      return sdfg::AttributeValue(value.text);
    case Value::Kind::kList: {
      PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> list, Integers(name));
      return sdfg::AttributeValue(std::move(list));
    }
    case Value::Kind::kInfinite:
      return sdfg::AttributeValue(std::string(value.infinity > 0   ? "inf"
                                              : value.infinity < 0 ? "-inf"
                                                                   : "nan"));
    case Value::Kind::kNone:
      return sdfg::AttributeValue(std::monostate());
    default:
      return NotDeclared(absl::StrCat("this value of ", std::string(name)));
  }
}

absl::StatusOr<std::vector<sdfg::TensorId>> AtenCall::Apply(const std::string& name,
                                                            const std::vector<Argument>& arguments,
                                                            const sdfg::Attributes& attributes) {
  return writer_->Apply(name, arguments, attributes);
}

absl::StatusOr<Argument> AtenCall::One(const std::string& name,
                                       const std::vector<Argument>& arguments,
                                       const sdfg::Attributes& attributes) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        writer_->Apply(name, arguments, attributes));
  return Argument::Of(out[0]);
}

// [1] where PyTorch has a scalar; everything that fits if the operator broadcasts its result.
absl::StatusOr<sdfg::TensorId> AtenCall::InShape(const Result& result, sdfg::TensorId value,
                                                 const sdfg::Shape& shape) {
  const sdfg::Shape& given = writer_->tensor(value).shape;
  if (!result.broadcast && given != shape && !(shape.empty() && given == sdfg::Shape{1})) {
    return Malformed(absl::StrCat("the trace says that the result has the shape [",
                                  absl::StrJoin(shape, ","), "], the operator gives [",
                                  absl::StrJoin(given, ","), "]"));
  }
  return Broadcast(value, shape);
}

absl::StatusOr<sdfg::TensorId> AtenCall::Broadcast(sdfg::TensorId value, const sdfg::Shape& to) {
  const sdfg::Shape& shape = writer_->tensor(value).shape;
  if (shape == to) return value;
  Strided view{0, to, {}};
  const Strided source = Contiguous(0, shape);
  bool fits = true;
  for (size_t k = 0; k < to.size(); ++k) {
    const size_t from_end = to.size() - k;
    const size_t dim = shape.size() - from_end;
    const bool there = from_end <= shape.size();
    fits = fits && (!there || shape[dim] == 1 || shape[dim] == to[k]);
    view.strides.push_back(there && shape[dim] != 1 ? source.strides[dim] : 0);
  }
  for (size_t d = 0; d + to.size() < shape.size(); ++d) fits = fits && shape[d] == 1;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        writer_->Place(), ": the trace says that the result has the shape [",
        absl::StrJoin(to, ","), "], the operator gives [", absl::StrJoin(shape, ","), "]"));
  }
  return writer_->View(value, source, view);
}

absl::StatusOr<bool> AtenCall::IsUnwritten(std::string_view name) {
  return memory_->IsUnwritten(Described(name));
}

absl::Status AtenCall::Store() {
  if (results_.size() != targets_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(writer_->Place(), ": the trace has ",
                                                   targets_.size(), " results, the operator gives ",
                                                   results_.size()));
  }
  return StoreSoFar();
}

absl::Status AtenCall::StoreSoFar() {
  for (; stored_ < results_.size() && stored_ < targets_.size(); ++stored_) {
    const size_t r = stored_;
    const Tensor& target = trace_.tensors[targets_[r]];
    if (results_[r].value.literal && !results_[r].broadcast && !target.shape.empty()) {
      return Malformed(absl::StrCat("the trace says that the result has the shape [",
                                    absl::StrJoin(target.shape, ","),
                                    "], the operator gives one number"));
    }
    PLAN_ASSIGN_OR_RETURN(const Argument value, InType(results_[r].value, target.dtype));
    if (value.literal) {
      PLAN_RETURN_IF_ERROR(memory_->Fill(target, value.number()));
    } else if (value.tensor != sdfg::kNone) {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId shaped,
                            InShape(results_[r], value.tensor, target.shape));
      PLAN_RETURN_IF_ERROR(memory_->Write(target, shaped));
    }  // else nothing is written there (an output that was not asked for)
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
