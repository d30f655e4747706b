#include "frontend/nnscaler/operator_functions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/collectives.h"
#include "sdfg/differentiate.h"

namespace planproof::frontend::nnscaler {
namespace {

void AppendAttribute(const sdfg::AttributeValue& value, std::string* key) {
  absl::StrAppend(key, value.index(), ":");
  if (const bool* flag = std::get_if<bool>(&value)) {
    absl::StrAppend(key, *flag ? 1 : 0);
  } else if (const int64_t* number = std::get_if<int64_t>(&value)) {
    absl::StrAppend(key, *number);
  } else if (const solver::Rational* real = std::get_if<solver::Rational>(&value)) {
    absl::StrAppend(key, real->ToString());
  } else if (const std::string* text = std::get_if<std::string>(&value)) {
    absl::StrAppend(key, text->size(), "|", *text);
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    absl::StrAppend(key, absl::StrJoin(*list, ","));
  }
  key->push_back(';');
}

std::string ForwardKey(const Plan& plan, const Node& node) {
  std::string key = absl::StrCat("f ", node.name, "(");
  for (const NodeOperand& operand : node.inputs) {
    if (operand.tensor == kNoIndex) {
      AppendAttribute(operand.literal, &key);
      continue;
    }
    const SubTensor& sub = plan.subs[operand.tensor];
    absl::StrAppend(&key, "t", static_cast<int>(sub.dtype), "[");
    for (const auto& [start, stop] : sub.index) absl::StrAppend(&key, stop - start, ",");
    key.push_back(']');
  }
  key.append(")->");
  for (const NodeOperand& operand : node.outputs) {
    for (const auto& [start, stop] : plan.subs[operand.tensor].index) {
      absl::StrAppend(&key, stop - start, ",");
    }
    key.push_back(';');
  }
  for (const auto& [name, value] : node.attributes) {
    absl::StrAppend(&key, name, "=");
    AppendAttribute(value, &key);
  }
  return key;
}

bool ToLiteral(const sdfg::AttributeValue& value, sdfg::Operand* operand) {
  operand->kind = sdfg::Operand::Kind::kLiteral;
  if (std::holds_alternative<std::monostate>(value)) {
    operand->kind = sdfg::Operand::Kind::kAbsent;
  } else if (const bool* flag = std::get_if<bool>(&value)) {
    operand->literal = solver::Rational(*flag ? 1 : 0);
  } else if (const int64_t* number = std::get_if<int64_t>(&value)) {
    operand->literal = solver::Rational(*number);
  } else if (const solver::Rational* real = std::get_if<solver::Rational>(&value)) {
    operand->literal = *real;
  } else {
    return false;
  }
  return true;
}

// nnScaler writes a scalar as a tensor of shape [1].
void PadScalarOutputs(const Plan& plan, const Node& node, sdfg::IndexFunction* function) {
  for (size_t o = 0; o < function->outputs.size() && o < node.outputs.size(); ++o) {
    const sdfg::Shape declared = plan.subs[node.outputs[o].tensor].shape();
    if (function->outputs[o].dims.empty() && declared == sdfg::Shape{1}) {
      function->outputs[o].dims.push_back(static_cast<sdfg::VarId>(function->vars.size()));
      function->vars.push_back({"one", 1});
    }
  }
}

}  // namespace

bool IsComplex(sdfg::DType dtype) {
  return dtype == sdfg::DType::kComplex64 || dtype == sdfg::DType::kComplex128;
}

sdfg::DType RealDType(sdfg::DType dtype) {
  if (dtype == sdfg::DType::kComplex64) return sdfg::DType::kFloat32;
  if (dtype == sdfg::DType::kComplex128) return sdfg::DType::kFloat64;
  return dtype;
}

sdfg::Shape RealShape(const sdfg::Shape& shape, sdfg::DType dtype) {
  sdfg::Shape real = shape;
  if (IsComplex(dtype)) real.push_back(2);
  return real;
}

std::string ShapeText(const sdfg::Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::StatusOr<sdfg::IndexFunction> FunctionCache::MakeForward(const Plan& plan, const Node& node) {
  std::vector<sdfg::Operand> operands;
  for (const NodeOperand& input : node.inputs) {
    sdfg::Operand operand;
    if (input.tensor != kNoIndex) {
      const SubTensor& sub = plan.subs[input.tensor];
      operand.shape = RealShape(sub.shape(), sub.dtype);
      operand.dtype = RealDType(sub.dtype);
    } else if (!ToLiteral(input.literal, &operand)) {
      return absl::UnimplementedError(
          "an operand is neither a tensor nor a number; no operator takes that");
    }
    operands.push_back(std::move(operand));
  }
  absl::StatusOr<sdfg::IndexFunction> made =
      library_.Instantiate(node.name, operands, node.attributes);
  if (!made.ok()) return made.status();
  PadScalarOutputs(plan, node, &*made);
  if (made->outputs.size() != node.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", node.outputs.size(), " outputs, the operator ", made->outputs.size()));
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const SubTensor& sub = plan.subs[node.outputs[o].tensor];
    const sdfg::Shape declared = RealShape(sub.shape(), sub.dtype);
    const sdfg::Shape computed = made->outputs[o].shape(made->vars);
    if (declared != computed) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape mismatch: output ", plan.TensorName(node.outputs[o].tensor), " is ",
                       ShapeText(declared), ", the operator gives ", ShapeText(computed)));
    }
  }
  return made;
}

absl::StatusOr<Function> FunctionCache::Other(
    const std::string& key, const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make) {
  const auto found = functions_.find(key);
  if (found != functions_.end()) return found->second;
  absl::StatusOr<sdfg::IndexFunction> made = make();
  if (!made.ok()) return made.status();
  assumptions_.insert(made->assumptions.begin(), made->assumptions.end());
  return functions_[key] = graph_->Intern(*std::move(made));
}

absl::StatusOr<Function> FunctionCache::Forward(const Plan& plan, const Node& node) {
  absl::StatusOr<Function> function =
      Other(ForwardKey(plan, node), [&] { return MakeForward(plan, node); });
  if (!function.ok()) {
    return absl::Status(function.status().code(),
                        absl::StrCat(node.Label(), ": ", function.status().message()));
  }
  return function;
}

absl::StatusOr<Function> FunctionCache::Backward(const Function& forward,
                                                 const std::vector<int>& wrt,
                                                 const std::vector<int>& output_gradients) {
  const std::string key =
      absl::StrCat("b ", absl::Hex(reinterpret_cast<uintptr_t>(forward.get())), " ",
                   absl::StrJoin(wrt, ","), " ", absl::StrJoin(output_gradients, ","));
  return Other(key, [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    absl::StatusOr<sdfg::IndexFunction> made = sdfg::Differentiate(*forward, wrt, output_gradients);
    // A derivative that the operator's declaration leaves open is no fault of the plan.
    if (absl::IsFailedPrecondition(made.status())) {
      return absl::UnimplementedError(made.status().message());
    }
    return made;
  });
}

absl::StatusOr<Function> FunctionCache::Add(const sdfg::Shape& shape, sdfg::DType dtype,
                                            int count) {
  const std::string key =
      absl::StrCat("+ ", absl::StrJoin(shape, ","), " ", static_cast<int>(dtype), " ", count);
  return Other(key, [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    absl::StatusOr<sdfg::IndexFunction> made =
        sdfg::AllReduce(shape, dtype, count, sdfg::ReduceKind::kSum);
    if (made.ok()) made->operator_name = "add";
    return made;
  });
}

}  // namespace planproof::frontend::nnscaler
