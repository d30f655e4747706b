// Sums, means, norms, softmax.
#include <optional>
#include <utility>

#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_rows.h"
#include "frontend/torch/strided.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// Reduces the dimensions of the argument `dim`, by default all of them, as PyTorch does: to a
// tensor without dimensions.
absl::StatusOr<Argument> Reduced(AtenCall* call, const std::string& declared, const Argument& x,
                                 const sdfg::Shape& shape) {
  if (shape.empty()) return x;
  std::vector<int64_t> dims;
  if (call->Has("dim")) {
    PLAN_ASSIGN_OR_RETURN(dims, call->Integers("dim"));
  }
  PLAN_ASSIGN_OR_RETURN(const bool keepdim, call->Boolean("keepdim", false));
  return call->One(declared, {x},
                   {{"dim", Dimensions(std::move(dims), shape.size())}, {"keepdim", keepdim}});
}

// What is added up: the operand, converted to the type of the result if one is named.
absl::StatusOr<sdfg::TensorId> Summands(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call->TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::DType dtype, call->Type("dtype"));
  return dtype == sdfg::DType::kUnknown ? x : call->Converted(x, dtype);
}

// all and any: whether elements are not 0. An empty list of dimensions reduces none.
absl::Status TruthOf(AtenCall& call, const char* declared) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  const sdfg::Shape& shape = call.writer().tensor(x).shape;
  const Value& dim = call["dim"];
  if (shape.empty() || (dim.kind == Value::Kind::kList && dim.list.empty())) {
    PLAN_ASSIGN_OR_RETURN(Argument truth, call.InType(Argument::Of(x), sdfg::DType::kBool));
    PLAN_ASSIGN_OR_RETURN(const bool keepdim, call.Boolean("keepdim", false));
    static_cast<void>(keepdim);  // nothing is reduced
    call.Return(std::move(truth));
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument truth, Reduced(&call, declared, Argument::Of(x), shape));
  call.Return(std::move(truth));
  return absl::OkStatus();
}

void AddReduction(AtenTable* table, const char* name, const char* overloads, const char* parameters,
                  const char* declared) {
  const std::string op = declared;
  table->Add(name, overloads, parameters, [op](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, Summands(&call));
    PLAN_ASSIGN_OR_RETURN(Argument y,
                          Reduced(&call, op, Argument::Of(x), call.Described("self").shape));
    call.Return(std::move(y));
    return absl::OkStatus();
  });
}

// `dim` of one dimension, counted from the front.
absl::StatusOr<sdfg::Attributes> AlongDim(AtenCall* call, const char* of) {
  PLAN_ASSIGN_OR_RETURN(const int64_t given, call->Integer("dim", std::nullopt));
  const std::optional<int64_t> dim = DimensionOf(given, call->Described(of).shape.size());
  if (!dim) return call->NotDeclared("this dimension");
  return sdfg::Attributes{{"dim", *dim}};
}

// The kernels of softmax fill the memory of `out` from its start, whatever its strides are (seen
// with PyTorch 2.15).
absl::Status OnlyContiguousOut(const AtenCall& call) {
  if (!call.IsTensor("out") && !call.IsTensor("grad_input")) return absl::OkStatus();
  const Tensor& out = call.target(0);
  if (SamePositions({out.offset, out.shape, out.strides}, Contiguous(out.offset, out.shape))) {
    return absl::OkStatus();
  }
  return call.NotDeclared("memory for the result that is not contiguous");
}

void AddAlongDim(AtenTable* table, const char* name, const char* overloads, const char* parameters,
                 const std::vector<std::string>& operands, const char* declared,
                 bool of_nothing = true) {
  const std::string op = declared;
  table->Add(name, overloads, parameters, [=](AtenCall& call) -> absl::Status {
    PLAN_RETURN_IF_ERROR(OnlyContiguousOut(call));
    if (!of_nothing && ElementsOf(call.Described(operands[0]).shape) == 0) {
      return call.NotDeclared("a tensor without elements");
    }
    std::vector<Argument> arguments;
    for (const std::string& operand : operands) {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(operand));
      PLAN_ASSIGN_OR_RETURN(arguments.emplace_back().tensor, AsRow(&call, tensor));
    }
    PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, AlongDim(&call, operands[0].c_str()));
    PLAN_ASSIGN_OR_RETURN(Argument result, call.One(op, arguments, attributes));
    PLAN_ASSIGN_OR_RETURN(result, AsResult(&call, std::move(result), 0));
    call.Return(std::move(result));
    return absl::OkStatus();
  });
}

absl::Status SumSoFar(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, Summands(&call));
  PLAN_ASSIGN_OR_RETURN(x, AsRow(&call, x));
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, AlongDim(&call, "self"));
  PLAN_ASSIGN_OR_RETURN(Argument sums, call.One("cumsum", {Argument::Of(x)}, attributes));
  PLAN_ASSIGN_OR_RETURN(sums, AsResult(&call, std::move(sums), 0));
  call.Return(std::move(sums));
  return absl::OkStatus();
}

// The largest elements along a dimension, and where the first of each row stands.
absl::Status MaxAlong(AtenCall& call, const char* declared, const char* where) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(Argument values,
                        Reduced(&call, declared, Argument::Of(x), call.Described("self").shape));
  call.Return(std::move(values));
  if (call.targets().size() != 2) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(const int64_t dim, call.Integer("dim", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(const bool keepdim, call.Boolean("keepdim", false));
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId rows, AsRow(&call, x));
  if (call.writer().tensor(x).dtype == sdfg::DType::kBool) {  // as 0 and 1
    PLAN_ASSIGN_OR_RETURN(rows, call.Converted(rows, sdfg::DType::kInt64));
  }
  PLAN_ASSIGN_OR_RETURN(Argument indices, call.One(where, {Argument::Of(rows)},
                                                   {{"dim", dim}, {"keepdim", keepdim}}));
  PLAN_ASSIGN_OR_RETURN(indices, AsResult(&call, std::move(indices), 1));
  call.Return(std::move(indices));
  return absl::OkStatus();
}

}  // namespace

void AddReductions(AtenTable* table) {
  AddReduction(table, "sum", "default dim_IntList out IntList_out", "self dim keepdim dtype",
               "sum");
  AddReduction(table, "mean", "default dim out dtype_out", "self dim keepdim dtype", "mean");
  table->Add("max", "default dim unary_out", "self dim keepdim",
             [](AtenCall& call) { return MaxAlong(call, "max", "argmax"); });
  table->Add("min", "default dim unary_out", "self dim keepdim",
             [](AtenCall& call) { return MaxAlong(call, "min", "argmin"); });
  AddReduction(table, "amax", kNew, "self dim keepdim", "max");
  AddReduction(table, "amin", kNew, "self dim keepdim", "min");
  const char* const truth = "default dim dims out dims_out all_out";
  table->Add("all", truth, "self dim keepdim",
             [](AtenCall& call) { return TruthOf(call, "aten_all"); });
  table->Add("any", truth, "self dim keepdim",
             [](AtenCall& call) { return TruthOf(call, "aten_any"); });
  AddReduction(table, "logsumexp", kNew, "self dim keepdim", "logsumexp");
  AddAlongDim(table, "_softmax", kNew, "self dim half_to_float", {"self"}, "softmax");
  AddAlongDim(table, "softmax", "int int_out", "self dim dtype", {"self"}, "softmax");
  // Differs where a row is masked as a whole, which softmax excludes.
  AddAlongDim(table, "_safe_softmax", "default", "self dim dtype", {"self"}, "softmax");
  AddAlongDim(table, "_log_softmax", kNew, "self dim half_to_float", {"self"}, "log_softmax");
  AddAlongDim(table, "log_softmax", "int int_out", "self dim dtype", {"self"}, "log_softmax");
  AddAlongDim(table, "_softmax_backward_data", "default out", "grad_output output dim input_dtype",
              {"grad_output", "output"}, "aten_softmax_backward");
  AddAlongDim(table, "_log_softmax_backward_data", kNew, "grad_output output dim input_dtype",
              {"grad_output", "output"}, "aten_log_softmax_backward");
  table->Add("cumsum", kAnyForm, "self dim dtype", SumSoFar);
  AddAlongDim(table, "logcumsumexp", kNew, "self dim", {"self"}, "aten_logcumsumexp", false);
}

}  // namespace planproof::frontend::torch
