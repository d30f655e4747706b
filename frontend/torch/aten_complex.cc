#include "frontend/torch/aten_complex.h"

#include <utility>

#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

bool IsComplex(const Trace& trace, const Value& value) {
  if (value.kind == Value::Kind::kTensor) return trace.tensors[value.tensor].complex;
  if (value.kind == Value::Kind::kDType) return value.complex_dtype;
  if (value.kind == Value::Kind::kComplex) return true;
  for (const Value& item : value.list) {
    if (IsComplex(trace, item)) return true;
  }
  return false;
}

bool IsComplex(const AtenCall& call, const std::string& name) {
  return call.IsTensor(name) ? call.Described(name).complex
                             : call[name].kind == Value::Kind::kComplex;
}

// A complex operand: a tensor or a number.
absl::StatusOr<sdfg::TensorId> ComplexOperand(AtenCall* call, const std::string& name) {
  if (call->IsTensor(name)) return call->TensorOf(name);
  std::vector<Argument> parts;
  for (const Value& part : (*call)[name].list) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId number,
                          call->writer().Fill({}, call->target(0).dtype, part.real));
    parts.push_back(Argument::Of(number));
  }
  PLAN_ASSIGN_OR_RETURN(const Argument number, call->One("stack", parts, {{"dim", int64_t{0}}}));
  return number.tensor;
}

// A real operand, which multiplies both parts.
absl::StatusOr<Argument> RealOperand(AtenCall* call, const std::string& name) {
  PLAN_ASSIGN_OR_RETURN(Argument factor, call->Operand(name));
  if (factor.tensor == sdfg::kNone) return factor;
  sdfg::Shape shape = call->writer().tensor(factor.tensor).shape;
  shape.push_back(1);
  PLAN_ASSIGN_OR_RETURN(factor.tensor, call->writer().Reshape(factor.tensor, shape));
  return factor;
}

absl::Status Product(AtenCall& call) {
  const bool left = IsComplex(call, "self"), right = IsComplex(call, "other");
  Argument product;
  if (left && right) {
    const sdfg::Shape& shape = call.target(0).shape;
    PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, ComplexOperand(&call, "self"));
    PLAN_ASSIGN_OR_RETURN(sdfg::TensorId y, ComplexOperand(&call, "other"));
    PLAN_ASSIGN_OR_RETURN(x, call.Broadcast(x, shape));
    PLAN_ASSIGN_OR_RETURN(y, call.Broadcast(y, shape));
    PLAN_ASSIGN_OR_RETURN(product,
                          call.One("aten_complex_mul", {Argument::Of(x), Argument::Of(y)}));
  } else {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, ComplexOperand(&call, left ? "self" : "other"));
    PLAN_ASSIGN_OR_RETURN(const Argument factor, RealOperand(&call, left ? "other" : "self"));
    PLAN_ASSIGN_OR_RETURN(product, call.One("mul", {Argument::Of(x), factor}));
  }
  call.Return(std::move(product));
  return absl::OkStatus();
}

absl::Status Quotient(AtenCall& call) {
  if (!IsComplex(call, "self") || IsComplex(call, "other")) {
    return call.NotDeclared("division by a complex number");
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument divisor, RealOperand(&call, "other"));
  PLAN_ASSIGN_OR_RETURN(Argument quotient, call.One("div", {Argument::Of(x), divisor}));
  call.Return(std::move(quotient));
  return absl::OkStatus();
}

// Sums and differences, in which a real number would count for one part only.
absl::Status Sum(AtenCall& call, const char* declared) {
  if (!IsComplex(call, "self") || !IsComplex(call, "other")) {
    return call.NotDeclared("a sum of a complex and a real number");
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, ComplexOperand(&call, "self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId y, ComplexOperand(&call, "other"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha, call.Real("alpha", 1));
  PLAN_ASSIGN_OR_RETURN(Argument sum,
                        call.One(declared, {Argument::Of(x), Argument::Of(y)}, {{"alpha", alpha}}));
  call.Return(std::move(sum));
  return absl::OkStatus();
}

// The operator of real numbers, of every part by itself. Its tensors are complex, all of them.
absl::Status PartByPart(AtenCall& call, const std::vector<std::string>& operands) {
  bool complex = true;
  for (const std::string& operand : operands) complex = complex && IsComplex(call, operand);
  for (size_t i = 0; i < call.targets().size(); ++i) complex = complex && call.target(i).complex;
  if (!complex) return call.NotDeclared("a conversion between complex and real numbers");
  return FindAtenOperator(call.executed().op)->run(call);
}

// Rows of a complex tensor at indices that are data.
absl::Status ComplexRows(AtenCall& call) {
  const Value& indices = call["indices"];
  if (!IsComplex(call, "self") || indices.list.size() >= call.Described("self").shape.size()) {
    return call.NotDeclared("such an index of complex numbers");
  }
  return FindAtenOperator("aten.index.Tensor")->run(call);
}

absl::Status Polar(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId length, call.TensorOf("abs"));
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId angle, call.TensorOf("angle"));
  sdfg::Shape shape = call.target(0).shape;
  shape.pop_back();
  PLAN_ASSIGN_OR_RETURN(length, call.Broadcast(length, shape));
  PLAN_ASSIGN_OR_RETURN(angle, call.Broadcast(angle, shape));
  PLAN_ASSIGN_OR_RETURN(Argument number,
                        call.One("aten_polar", {Argument::Of(length), Argument::Of(angle)}));
  call.Return(std::move(number));
  return absl::OkStatus();
}

absl::Status OfParts(AtenCall& call) {
  sdfg::Shape shape = call.target(0).shape;
  shape.pop_back();
  std::vector<Argument> parts;
  for (const char* name : {"real", "imag"}) {
    PLAN_ASSIGN_OR_RETURN(sdfg::TensorId part, call.TensorOf(name));
    PLAN_ASSIGN_OR_RETURN(part, call.Broadcast(part, shape));
    parts.push_back(Argument::Of(part));
  }
  PLAN_ASSIGN_OR_RETURN(Argument number,
                        call.One("stack", parts, {{"dim", static_cast<int64_t>(shape.size())}}));
  call.Return(std::move(number));
  return absl::OkStatus();
}

void AddPartByPart(AtenTable* table, const char* names, const char* overloads,
                   const char* parameters, const std::vector<std::string>& operands) {
  table->Add(names, overloads, parameters,
             [operands](AtenCall& call) { return PartByPart(call, operands); });
}

const AtenTable& ComplexTable() {
  static const auto* const table = [] {
    auto* made = new AtenTable;
    AddPartByPart(made, "clone _to_copy _conj_physical", kNew, "self", {"self"});
    AddPartByPart(made, "contiguous", "default", "self", {"self"});
    AddPartByPart(made, "neg conj_physical", kAnyForm, "self", {"self"});
    AddPartByPart(made, "copy", kAnyForm, "-self src", {"src"});
    AddPartByPart(made, "zeros", kNew, "-size", {});
    AddPartByPart(made, "empty", "memory_format out", "-size", {});
    AddPartByPart(made, "zeros_like empty_like", kNew, "-self", {});
    AddPartByPart(made, "zero", kAnyForm, "-self", {});
    AddPartByPart(made, "new_zeros new_empty", kNew, "-self -size", {});
    AddPartByPart(made, "empty_strided", kNew, "-size -stride", {});
    const char* const arithmetic = "Tensor Scalar _.Tensor _.Scalar out";
    made->Add("add", arithmetic, "self other alpha",
              [](AtenCall& call) { return Sum(call, "add"); });
    made->Add("sub", arithmetic, "self other alpha",
              [](AtenCall& call) { return Sum(call, "sub"); });
    made->Add("mul", arithmetic, "self other", Product);
    made->Add("div", arithmetic, "self other", Quotient);
    made->Add("index", "Tensor", "self indices", ComplexRows);
    made->Add("polar", kNew, "abs angle", Polar);
    made->Add("complex", kNew, "real imag", OfParts);
    return made;
  }();
  return *table;
}

}  // namespace

bool OfComplexNumbers(const Trace& trace, const Executed& executed) {
  for (const std::vector<Value>* values : {&executed.args, &executed.out}) {
    for (const Value& value : *values) {
      if (IsComplex(trace, value)) return true;
    }
  }
  for (const auto& [name, value] : executed.kwargs) {
    if (IsComplex(trace, value)) return true;
  }
  for (TensorNumber written : executed.writes) {
    if (trace.tensors[written].complex) return true;
  }
  return false;
}

const AtenOperator* FindComplexOperator(const std::string& op) {
  const auto found = ComplexTable().operators.find(op);
  const bool known = found != ComplexTable().operators.end() && found->second.schema != nullptr;
  return known ? &found->second : nullptr;
}

std::vector<std::string> ComplexOverloads() {
  std::vector<std::string> names;
  for (const auto& [name, op] : ComplexTable().operators) names.push_back(name);
  return names;
}

}  // namespace planproof::frontend::torch
