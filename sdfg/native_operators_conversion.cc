// Operators that change the element type only. Values are exact reals, so these are identities,
// except from numbers to integers, and to integers of 8 or 16 bits, which are refused: to truncate
// or to wrap around is no identity.
#include <cctype>
#include <string>

#include "sdfg/native_operators.h"

namespace planproof::sdfg {
namespace {

// Numbers that are ids or counts fit into 32 bits; those of 8 and 16 bits wrap around.
bool MayWrap(DType from, DType to) {
  const auto small = [](DType type) {
    return type == DType::kInt16 ? 2 : type == DType::kInt8 || type == DType::kUInt8 ? 1 : 0;
  };
  if (!IsInteger(from) || !IsInteger(to) || from == to || small(to) == 0) return false;
  return small(from) == 0 || small(from) > small(to) || small(to) == 1;
}

absl::StatusOr<IndexFunction> Converted(const NativeCall& call, const Shape& shape, DType to) {
  DType from = call.operands[0].dtype;
  auto is_complex = [](DType type) {
    return type == DType::kComplex64 || type == DType::kComplex128;
  };
  if (is_complex(from) != is_complex(to)) {
    return call.Error(std::string("conversion of operand x from ") + DTypeName(from) + " to " +
                      DTypeName(to) + " changes the number of parts");
  }
  bool widening = from == to || !IsInteger(to) || IsInteger(from) || from == DType::kBool;
  if (!widening || (to == DType::kBool && from != DType::kBool)) {
    return call.Error(std::string("conversion of operand x from ") + DTypeName(from) + " to " +
                      DTypeName(to) + " changes values; expected a floating type");
  }
  if (MayWrap(from, to)) {
    return call.Error(std::string("conversion of operand x from ") + DTypeName(from) + " to " +
                      DTypeName(to) + " changes values that do not fit; expected int32 or int64");
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", shape, from);
  int output = builder.AddOutput("y", shape, to);
  std::vector<ExprId> indices;
  for (VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  ExprId body = ReadElement(&builder, 0, indices);
  if (IsInteger(from) && !IsInteger(to)) body = builder.Unary(Op::kPosition, body);
  if (from == DType::kBool && IsInteger(to)) {
    body = builder.Select(builder.Unary(Op::kNonzero, body), builder.Int(1), builder.Int(0));
  }
  builder.SetBody(output, body);
  for (size_t k = 1; k < call.operands.size(); ++k) {
    if (call.operands[k].kind != Operand::Kind::kTensor) continue;
    builder.AddInput("other", call.operands[k].shape, call.operands[k].dtype);
  }
  IndexFunction function;
  absl::Status status = builder.Finish(&function);
  if (!status.ok()) return status;
  return function;
}

// The element type in texts such as "torch.float32" and "<class 'torch.float32'>"; unknown if it
// names a device.
DType TypeInText(const std::string& text) {
  size_t begin = text.find("torch.");
  begin = begin == std::string::npos ? 0 : begin + 6;
  size_t end = begin;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
    ++end;
  }
  return DTypeFromName(text.substr(begin, end - begin));
}

absl::StatusOr<IndexFunction> To(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  DType to = call.operands[0].dtype;
  for (const char* attribute : {"dtype_or_device", "dtype"}) {
    const auto* text = std::get_if<std::string>(&call.attributes.at(attribute));
    if (text != nullptr && TypeInText(*text) != DType::kUnknown) to = TypeInText(*text);
  }
  return Converted(call, *shape, to);
}

absl::StatusOr<IndexFunction> TypeAs(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<Shape> other = call.TensorShape(1, "other");
  if (!other.ok()) return other.status();
  return Converted(call, *shape, call.operands[1].dtype);
}

}  // namespace

void AddConversionOperators(std::vector<NativeOperator>* operators) {
  struct Named {
    const char* name;
    DType type;
  };
  for (const Named& named : {Named{"float", DType::kFloat32}, Named{"double", DType::kFloat64},
                             Named{"half", DType::kFloat16}, Named{"bfloat16", DType::kBFloat16},
                             Named{"long", DType::kInt64}}) {
    DType type = named.type;
    operators->push_back({named.name, std::string(named.name) + "(x)",
                          std::string("The same values as ") + DTypeName(type) +
                              ". Source: torch.Tensor." + named.name + ".",
                          1, 1, ParseAttributes("ignore memory_format = none"),
                          [type](const NativeCall& call) -> absl::StatusOr<IndexFunction> {
                            absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
                            if (!shape.ok()) return shape.status();
                            return Converted(call, *shape, type);
                          }});
  }
  operators->push_back(
      {"to", "to(x) {dtype_or_device = none, dtype = none}",
       "The same values in another element type, or on another device. Source: torch.Tensor.to.", 1,
       1,
       ParseAttributes("dtype_or_device = none, dtype = none, ignore device = none, "
                       "ignore non_blocking = false, ignore copy = false, "
                       "ignore memory_format = none"),
       To});
  operators->push_back({"type_as",
                        "type_as(x, other)",
                        "The same values in the element type of the other tensor. Source: "
                        "torch.Tensor.type_as.",
                        2,
                        2,
                        {},
                        TypeAs});
}

}  // namespace planproof::sdfg
