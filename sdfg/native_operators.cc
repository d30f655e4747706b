#include "sdfg/native_operators.h"

#include <utility>

#include "absl/status/status.h"
#include "sdfg/declaration_parser.h"
#include "solver/check.h"

namespace planproof::sdfg {

absl::Status NativeCall::Error(const std::string& message) const {
  return absl::InvalidArgumentError("operator " + name + ": " + message);
}

absl::StatusOr<Shape> NativeCall::TensorShape(size_t index, const std::string& operand_name) const {
  if (index >= operands.size() || operands[index].kind != Operand::Kind::kTensor) {
    return Error("operand " + operand_name + " is no tensor; expected a tensor");
  }
  return operands[index].shape;
}

int64_t NativeCall::Int(const std::string& attribute) const {
  return std::get<int64_t>(attributes.at(attribute));
}
bool NativeCall::Bool(const std::string& attribute) const {
  return std::get<bool>(attributes.at(attribute));
}
std::vector<int64_t> NativeCall::Ints(const std::string& attribute) const {
  return std::get<std::vector<int64_t>>(attributes.at(attribute));
}
std::string NativeCall::Text(const std::string& attribute) const {
  return std::get<std::string>(attributes.at(attribute));
}
solver::Rational NativeCall::Real(const std::string& attribute) const {
  return std::get<solver::Rational>(attributes.at(attribute));
}
bool NativeCall::IsNone(const std::string& attribute) const {
  return std::holds_alternative<std::monostate>(attributes.at(attribute));
}

std::vector<AttributeDeclaration> ParseAttributes(const std::string& text) {
  if (text.empty()) return {};
  absl::StatusOr<std::vector<Declaration>> parsed =
      ParseDeclarations("op native(x) {" + text + "} -> y = x", "native operator");
  Check(parsed.ok() && parsed->size() == 1, "malformed attributes of a native operator");
  return parsed->front().attributes;
}

absl::StatusOr<IndexFunction> Finish(IndexFunctionBuilder* builder) {
  IndexFunction function;
  absl::Status status = builder->Finish(&function);
  if (!status.ok()) return status;
  return function;
}

ExprId ReadElement(IndexFunctionBuilder* builder, int input, const std::vector<ExprId>& indices) {
  if (IsInteger(builder->function().inputs[input].dtype)) {
    return builder->IntElement(input, indices);
  }
  return builder->Element(input, indices);
}

}  // namespace planproof::sdfg
