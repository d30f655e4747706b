#include "frontend/plan/index_function_proto.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "sdfg/element_type.h"
#include "sdfg/index_function_check.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using sdfg::Op;
using sdfg::TieRule;

struct OpName {
  Op op;
  const char* name;
};
constexpr OpName kOps[] = {
    {Op::kIntConst, "int"},
    {Op::kIndex, "index"},
    {Op::kIntAdd, "int_add"},
    {Op::kIntScale, "int_scale"},
    {Op::kIntDiv, "int_div"},
    {Op::kIntMod, "int_mod"},
    {Op::kWhole, "whole"},
    {Op::kIntElement, "int_element"},
    {Op::kReal, "real"},
    {Op::kNegInf, "neg_inf"},
    {Op::kElement, "element"},
    {Op::kPosition, "position"},
    {Op::kIndicator, "indicator"},
    {Op::kAdd, "add"},
    {Op::kMul, "mul"},
    {Op::kNeg, "neg"},
    {Op::kDiv, "div"},
    {Op::kPow, "pow"},
    {Op::kExp, "exp"},
    {Op::kLog, "log"},
    {Op::kErf, "erf"},
    {Op::kSin, "sin"},
    {Op::kCos, "cos"},
    {Op::kAbs, "abs"},
    {Op::kMax, "max"},
    {Op::kMin, "min"},
    {Op::kSelect, "select"},
    {Op::kSum, "sum"},
    {Op::kReduceMax, "reduce_max"},
    {Op::kReduceMin, "reduce_min"},
    {Op::kOpaque, "opaque"},
    {Op::kIntLess, "int_less"},
    {Op::kIntLessEq, "int_less_eq"},
    {Op::kIntEq, "int_eq"},
    {Op::kRealLess, "real_less"},
    {Op::kRealLessEq, "real_less_eq"},
    {Op::kRealEq, "real_eq"},
    {Op::kNonzero, "nonzero"},
    {Op::kAnd, "and"},
    {Op::kOr, "or"},
    {Op::kNot, "not"},
};

struct TieName {
  TieRule tie;
  const char* name;
};
constexpr TieName kTies[] = {{TieRule::kNone, ""},
                             {TieRule::kFirst, "first"},
                             {TieRule::kEven, "even"},
                             {TieRule::kAll, "all"},
                             {TieRule::kZero, "zero"}};

const char* NameOf(Op op) {
  for (const OpName& entry : kOps) {
    if (entry.op == op) return entry.name;
  }
  return "?";
}

bool FromName(const std::string& name, Op* op) {
  for (const OpName& entry : kOps) {
    if (name != entry.name) continue;
    *op = entry.op;
    return true;
  }
  return false;
}

absl::Status Bad(const RawFunction& raw, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("function ", raw.name(), ": ", what));
}

constexpr int64_t kMaxValue = int64_t{1} << 50;

absl::Status ReadNode(const RawFunction& raw, const RawNode& from, int id, sdfg::Node* node) {
  if (!FromName(from.op(), &node->op)) {
    return Bad(raw, absl::StrCat("node ", id, ": unknown op \"", from.op(), "\""));
  }
  bool known_tie = false;
  for (const TieName& entry : kTies) {
    if (from.tie() != entry.name) continue;
    node->tie = entry.tie;
    known_tie = true;
  }
  if (!known_tie) return Bad(raw, absl::StrCat("node ", id, ": unknown tie rule"));
  node->int_valued = from.int_valued();
  if (from.var() < 0 || from.var() > raw.vars_size() || from.input() < 0 ||
      from.input() > raw.inputs_size()) {
    return Bad(raw, absl::StrCat("node ", id, " names a variable or input that does not exist"));
  }
  node->var = from.var() - 1;
  node->input = from.input() - 1;
  node->value = from.value();
  if (node->value > kMaxValue || node->value < -kMaxValue) {
    return sdfg::BeyondLimit(absl::StrCat("function ", raw.name(), ", node ", id), node->value,
                             "2^50");
  }
  if (!from.real().empty() && (from.real().size() > 8192 ||
                               from.real().find_first_not_of("0123456789-/") != std::string::npos ||
                               !solver::Rational::Parse(from.real(), &node->real))) {
    return Bad(raw, absl::StrCat("node ", id, ": no rational number"));
  }
  node->name = from.name();
  for (int arg : from.args()) {
    if (arg < 0 || arg >= id) {
      return Bad(raw, absl::StrCat("node ", id, ": argument ", arg, " does not precede it"));
    }
    node->args.push_back(arg);
  }
  return absl::OkStatus();
}

}  // namespace

void FunctionToProto(const sdfg::IndexFunction& function, RawFunction* out) {
  out->set_name(function.operator_name);
  for (const sdfg::FunctionInput& input : function.inputs) {
    RawFunctionInput* to = out->add_inputs();
    to->set_name(input.name);
    for (int64_t extent : input.shape) to->add_shape(extent);
    to->set_dtype(sdfg::DTypeName(input.dtype));
  }
  for (const sdfg::IndexVariable& var : function.vars) {
    RawVariable* to = out->add_vars();
    to->set_name(var.name);
    to->set_extent(var.extent);
  }
  for (const sdfg::Node& node : function.nodes) {
    RawNode* to = out->add_nodes();
    to->set_op(NameOf(node.op));
    for (const TieName& entry : kTies) {
      if (entry.tie == node.tie) to->set_tie(entry.name);
    }
    to->set_int_valued(node.int_valued);
    to->set_var(node.var + 1);
    to->set_input(node.input + 1);
    to->set_value(node.value);
    if (!node.real.IsZero()) {
      to->set_real(node.real.IsInteger()
                       ? node.real.Numerator()
                       : absl::StrCat(node.real.Numerator(), "/", node.real.Denominator()));
    }
    to->set_name(node.name);
    for (sdfg::ExprId arg : node.args) to->add_args(arg);
  }
  for (const sdfg::FunctionOutput& output : function.outputs) {
    RawFunctionOutput* to = out->add_outputs();
    to->set_name(output.name);
    for (sdfg::VarId var : output.dims) to->add_dims(var);
    to->set_dtype(sdfg::DTypeName(output.dtype));
    to->set_body(output.body);
  }
  for (const sdfg::FunctionPremise& premise : function.premises) {
    RawFunctionPremise* to = out->add_premises();
    to->set_output(premise.output);
    to->set_condition(premise.condition);
    to->set_text(premise.text);
  }
  for (const std::string& text : function.assumptions) out->add_assumptions(text);
}

absl::StatusOr<sdfg::DType> DTypeFromField(const std::string& name) {
  const sdfg::DType dtype = sdfg::DTypeFromName(name);
  if (name.empty() || name == sdfg::DTypeName(dtype)) return dtype;
  return sdfg::ElementTypeFromText(name);
}

absl::StatusOr<sdfg::IndexFunction> FunctionFromProto(const RawFunction& raw) {
  sdfg::IndexFunction function;
  function.operator_name = raw.name();
  for (const RawFunctionInput& input : raw.inputs()) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::DType dtype, DTypeFromField(input.dtype()));
    function.inputs.push_back(
        {input.name(), sdfg::Shape(input.shape().begin(), input.shape().end()), dtype});
    for (int64_t extent : input.shape()) {
      if (extent < 0) return Bad(raw, "an extent is negative");
      if (extent > kMaxValue) return sdfg::BeyondLimit("extent of an operand", extent, "2^50");
    }
  }
  for (const RawVariable& var : raw.vars()) {
    if (var.extent() < 0) return Bad(raw, "the extent of a variable is negative");
    if (var.extent() > kMaxValue) {
      return sdfg::BeyondLimit("extent of a variable", var.extent(), "2^50");
    }
    function.vars.push_back({var.name(), var.extent()});
  }
  for (int id = 0; id < raw.nodes_size(); ++id) {
    sdfg::Node node;
    PLAN_RETURN_IF_ERROR(ReadNode(raw, raw.nodes(id), id, &node));
    function.nodes.push_back(std::move(node));
  }
  for (const RawFunctionOutput& output : raw.outputs()) {
    sdfg::FunctionOutput to;
    to.name = output.name();
    PLAN_ASSIGN_OR_RETURN(to.dtype, DTypeFromField(output.dtype()));
    to.body = output.body();
    if (to.body < 0 || to.body >= raw.nodes_size()) return Bad(raw, "an output has no body");
    for (int var : output.dims()) {
      if (var < 0 || var >= raw.vars_size()) return Bad(raw, "an output names no variable");
      to.dims.push_back(var);
    }
    function.outputs.push_back(std::move(to));
  }
  for (const RawFunctionPremise& premise : raw.premises()) {
    if (premise.output() < 0 || premise.output() >= raw.outputs_size() || premise.condition() < 0 ||
        premise.condition() >= raw.nodes_size()) {
      return Bad(raw, "a premise refers to nothing");
    }
    function.premises.push_back({premise.output(), premise.condition(), premise.text()});
  }
  function.assumptions.assign(raw.assumptions().begin(), raw.assumptions().end());
  PLAN_RETURN_IF_ERROR(sdfg::CheckIndexFunction(function));
  return function;
}

}  // namespace planproof::plan
