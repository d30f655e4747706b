// Operators that change the element type only. Values are exact reals, so these are identities,
// except to truth values, which say what is not 0, and from reals to integers, an uninterpreted
// function: a whole number is not known to be one. To wrap around in fewer bits is refused.
#include <string>

#include "absl/status/status.h"
#include "sdfg/element_type.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {
namespace {

absl::StatusOr<IndexFunction> Converted(const NativeCall& call, const Shape& shape, DType to) {
  DType from = call.operands[0].dtype;
  if (to == DType::kUnknown && from != to) {
    return absl::UnimplementedError("operator " + call.name +
                                    ": the element type to convert to is not known");
  }
  const std::string conversion =
      std::string("conversion of operand x from ") + DTypeName(from) + " to " + DTypeName(to);
  const bool truncates = IsInteger(to) && IsFloating(from);
  if (IsInteger(to) && !truncates && !HoldsAllNumbersOf(to, from)) {
    return absl::UnimplementedError("operator " + call.name + ": " + conversion +
                                    " changes values that do not fit; expected int32 or int64");
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", shape, from);
  int output = builder.AddOutput("y", shape, to);
  std::vector<ExprId> indices;
  for (VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  ExprId body = ReadElement(&builder, 0, indices);
  if (IsInteger(from) && !IsInteger(to) && to != DType::kBool)
    body = builder.Unary(Op::kPosition, body);
  if (to == DType::kBool && from != DType::kBool) {
    body = builder.Unary(Op::kIndicator, builder.Unary(Op::kNonzero, body));
  } else if (truncates) {
    body = builder.Opaque(std::string("truncate_to_") + DTypeName(to), true, -1, {body});
  } else if (from == DType::kBool && IsInteger(to)) {
    body = builder.Select(builder.Unary(Op::kNonzero, body), builder.Int(1), builder.Int(0));
  }
  builder.SetBody(output, body);
  for (size_t k = 1; k < call.operands.size(); ++k) {
    if (call.operands[k].kind != Operand::Kind::kTensor) continue;
    builder.AddInput("other", call.operands[k].shape, call.operands[k].dtype);
  }
  if (IsFloating(to) && !HoldsAllNumbersOf(to, from)) {
    builder.AddAssumption(std::string("conversions to ") + DTypeName(to) +
                          " are taken as exact (real arithmetic)");
  }
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> To(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  DType to = DType::kUnknown;
  for (const char* attribute : {"dtype_or_device", "dtype"}) {
    const auto* text = std::get_if<std::string>(&call.attributes.at(attribute));
    const DType type = text == nullptr ? DType::kUnknown : DTypeFromName(*text);
    if (type == DType::kUnknown) continue;  // nothing, or a device
    if (to != DType::kUnknown && to != type) {
      return call.Error(
          std::string("attributes dtype_or_device and dtype name two element types, ") +
          DTypeName(to) + " and " + DTypeName(type));
    }
    to = type;
  }
  return Converted(call, *shape, to == DType::kUnknown ? call.operands[0].dtype : to);
}

absl::StatusOr<IndexFunction> TypeAs(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<Shape> other = call.TensorShape(1, "other");
  if (!other.ok()) return other.status();
  return Converted(call, *shape, call.operands[1].dtype);
}

// How the elements lie in memory: no business of their values.
std::string MemoryFormat() {
  return "ignore memory_format in (none, \"torch.contiguous_format\", \"torch.preserve_format\", "
         "\"torch.channels_last\", \"torch.channels_last_3d\") = none";
}

}  // namespace

void AddConversionOperators(std::vector<NativeOperator>* operators) {
  struct Named {
    const char* name;
    DType type;
  };
  for (const Named& named :
       {Named{"float", DType::kFloat32}, Named{"double", DType::kFloat64},
        Named{"half", DType::kFloat16}, Named{"bfloat16", DType::kBFloat16},
        Named{"long", DType::kInt64}, Named{"int", DType::kInt32}, Named{"bool", DType::kBool}}) {
    DType type = named.type;
    operators->push_back({named.name, std::string(named.name) + "(x)",
                          std::string("The same values as ") + DTypeName(type) +
                              ". Source: torch.Tensor." + named.name + ".",
                          1, 1, ParseAttributes(MemoryFormat()),
                          [type](const NativeCall& call) -> absl::StatusOr<IndexFunction> {
                            absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
                            if (!shape.ok()) return shape.status();
                            return Converted(call, *shape, type);
                          }});
  }
  operators->push_back(
      {"to", "to(x) {dtype_or_device: dtype or device = none, dtype: dtype = none}",
       "The same values in another element type, or on another device. Source: torch.Tensor.to.", 1,
       1,
       ParseAttributes("dtype_or_device: dtype or device = none, dtype: dtype = none, "
                       "ignore device: device = none, ignore non_blocking = false, "
                       "ignore copy = false, " +
                       MemoryFormat()),
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
