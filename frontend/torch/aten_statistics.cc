// Variances, norms and products over dimensions.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_rows.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// A product of more factors is no expression that anybody reads.
constexpr int64_t kMostFactors = 128;

// The dimensions that are reduced, all by default, and how many elements these have together.
struct ReducedDims {
  std::vector<int64_t> dims;
  int64_t elements = 1;
  bool keepdim = false;
  sdfg::Attributes attributes() const { return {{"dim", dims}, {"keepdim", keepdim}}; }
};

absl::StatusOr<ReducedDims> ReadReducedDims(AtenCall* call, const sdfg::Shape& shape) {
  ReducedDims reduced;
  if (call->Has("dim")) {
    PLAN_ASSIGN_OR_RETURN(reduced.dims, call->Integers("dim"));
  }
  PLAN_ASSIGN_OR_RETURN(reduced.keepdim, call->Boolean("keepdim", false));
  reduced.dims = Dimensions(std::move(reduced.dims), shape.size());
  for (const int64_t dim : reduced.dims) {
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size())) {
      return call->NotDeclared("this dimension");
    }
    reduced.elements *= shape[dim];
  }
  return reduced;
}

// `self` as a row if it has no dimensions, converted to `dtype` if that is named.
absl::StatusOr<sdfg::TensorId> ToBeReduced(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, call->TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::DType dtype, call->Type("dtype"));
  if (dtype != sdfg::DType::kUnknown) {
    PLAN_ASSIGN_OR_RETURN(x, call->Converted(x, dtype));
  }
  return AsRow(call, x);
}

// The variance by the number of elements less `correction`, or its root; then the mean.
absl::Status Variance(AtenCall& call, bool root) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, ToBeReduced(&call));
  PLAN_ASSIGN_OR_RETURN(const ReducedDims reduced,
                        ReadReducedDims(&call, call.writer().tensor(x).shape));
  PLAN_ASSIGN_OR_RETURN(const bool unbiased, call.Boolean("unbiased", true));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational correction,
                        call.Real("correction", unbiased ? 1 : 0));
  sdfg::Attributes attributes = reduced.attributes();
  const solver::Rational divisor = solver::Rational(reduced.elements) - correction;
  if (!(solver::Rational(0) < divisor)) {
    return call.NotDeclared("a variance of no more elements than its correction");
  }
  attributes["divisor"] = divisor;
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One("aten_var", {Argument::Of(x)}, attributes));
  if (root) {
    PLAN_ASSIGN_OR_RETURN(y, call.One("sqrt", {y}));
  }
  PLAN_ASSIGN_OR_RETURN(y, AsResult(&call, std::move(y), 0));
  call.Return(std::move(y));
  if (call.targets().size() < 2) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(Argument mean, call.One("mean", {Argument::Of(x)}, reduced.attributes()));
  PLAN_ASSIGN_OR_RETURN(mean, AsResult(&call, std::move(mean), 1));
  call.Return(std::move(mean));
  return absl::OkStatus();
}

// The order of a norm: a positive number, 0, or infinity with a sign.
struct NormOrder {
  solver::Rational order = 2;
  int infinity = 0;
};

absl::StatusOr<NormOrder> ReadNormOrder(AtenCall* call, const char* name) {
  NormOrder read;
  const Value& value = (*call)[name];
  if (value.kind == Value::Kind::kInfinite) {
    read.infinity = value.infinity;
    if (read.infinity == 0) return call->NotDeclared("a norm of this order");
    return read;
  }
  PLAN_ASSIGN_OR_RETURN(read.order, call->Real(name, 2));
  if (read.order < 0) return call->NotDeclared("a norm of negative order");
  return read;
}

// The norm of a tensor of real numbers over these dimensions.
absl::StatusOr<Argument> NormOver(AtenCall* call, sdfg::TensorId x, const NormOrder& norm,
                                  const sdfg::Attributes& dims) {
  if (!sdfg::IsFloating(call->writer().tensor(x).dtype)) {
    return call->NotDeclared("a norm of integers");
  }
  const Argument operand = Argument::Of(x);
  if (norm.infinity != 0) {
    return call->One(norm.infinity > 0 ? "aten_max_abs" : "aten_min_abs", {operand}, dims);
  }
  if (norm.order.IsZero()) return call->One("aten_count_nonzero", {operand}, dims);
  if (norm.order.IsOne()) return call->One("aten_sum_abs", {operand}, dims);
  if (norm.order == solver::Rational(2)) {
    PLAN_ASSIGN_OR_RETURN(const Argument squares, call->One("square", {operand}));
    PLAN_ASSIGN_OR_RETURN(const Argument sum, call->One("sum", {squares}, dims));
    return call->One("sqrt", {sum});
  }
  sdfg::Attributes powers = dims;
  powers["ord"] = norm.order;
  PLAN_ASSIGN_OR_RETURN(const Argument sum, call->One("aten_sum_powers", {operand}, powers));
  return call->One("pow", {sum, Argument::Number(norm.order.Inverse())});
}

absl::Status VectorNorm(AtenCall& call, const char* order) {
  PLAN_ASSIGN_OR_RETURN(const NormOrder norm, ReadNormOrder(&call, order));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, ToBeReduced(&call));
  PLAN_ASSIGN_OR_RETURN(const ReducedDims reduced,
                        ReadReducedDims(&call, call.writer().tensor(x).shape));
  if (norm.infinity != 0 && reduced.elements == 0) {
    return call.NotDeclared("the largest of no elements");
  }
  PLAN_ASSIGN_OR_RETURN(Argument y, NormOver(&call, x, norm, reduced.attributes()));
  PLAN_ASSIGN_OR_RETURN(y, AsResult(&call, std::move(y), 0));
  call.Return(std::move(y));
  return absl::OkStatus();
}

// Each tensor's norm over all of it.
absl::Status NormOfEach(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const NormOrder norm, ReadNormOrder(&call, "ord"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> tensors, call.Tensors("self"));
  for (const sdfg::TensorId tensor : tensors) {
    if (norm.infinity == 0 && norm.order == solver::Rational(2)) {
      PLAN_ASSIGN_OR_RETURN(const Argument squares, call.One("grad_norm", {Argument::Of(tensor)}));
      PLAN_ASSIGN_OR_RETURN(Argument root, call.One("sqrt", {squares}));
      call.Return(std::move(root));
      continue;
    }
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, AsRow(&call, tensor));
    const sdfg::Shape& shape = call.writer().tensor(x).shape;
    if (norm.infinity != 0 && ElementsOf(shape) == 0) {
      return call.NotDeclared("the largest of no elements");
    }
    PLAN_ASSIGN_OR_RETURN(Argument y,
                          NormOver(&call, x, norm, {{"dim", Dimensions({}, shape.size())}}));
    call.Return(std::move(y));
  }
  return absl::OkStatus();
}

// The product of the elements of each row along `dims`; of each element with those before it along
// the one dimension if it is cumulative.
absl::StatusOr<sdfg::IndexFunction> ProductOf(const sdfg::Tensor& x, const ReducedDims& reduced,
                                              const sdfg::Shape& out, bool cumulative) {
  using sdfg::ExprId;
  sdfg::IndexFunctionBuilder builder(cumulative ? "cumprod" : "prod");
  builder.AddInput("x", x.shape, x.dtype);
  const int output = builder.AddOutput("y", out, x.dtype);
  std::vector<ExprId> at;
  size_t next = 0;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const bool gone = std::find(reduced.dims.begin(), reduced.dims.end(),
                                static_cast<int64_t>(d)) != reduced.dims.end();
    if (gone && !cumulative) {
      at.push_back(builder.Int(0));
      next += reduced.keepdim ? 1 : 0;
    } else {
      at.push_back(builder.Index(builder.OutputDims(output)[next++]));
    }
  }
  ExprId product = builder.Real(1);
  for (int64_t k = 0; k < reduced.elements; ++k) {
    std::vector<ExprId> element = at;
    int64_t left = k;
    for (size_t r = reduced.dims.size(); r-- > 0;) {
      element[reduced.dims[r]] = builder.Int(left % x.shape[reduced.dims[r]]);
      left /= x.shape[reduced.dims[r]];
    }
    ExprId factor = builder.Element(0, element);
    if (cumulative && k > 0) {
      const ExprId counts =
          builder.Binary(sdfg::Op::kIntLessEq, builder.Int(k), at[reduced.dims[0]]);
      factor = builder.Select(counts, factor, builder.Real(1));
    }
    product = k == 0 ? factor : builder.Binary(sdfg::Op::kMul, product, factor);
  }
  builder.SetBody(output, product);
  return sdfg::Finish(&builder);
}

absl::Status Product(AtenCall& call, bool cumulative) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, ToBeReduced(&call));
  const sdfg::Tensor tensor = call.writer().tensor(x);
  PLAN_ASSIGN_OR_RETURN(const ReducedDims reduced, ReadReducedDims(&call, tensor.shape));
  if (!sdfg::IsFloating(tensor.dtype) || !sdfg::IsFloating(call.target(0).dtype)) {
    return call.NotDeclared("a product of integers");
  }
  if (reduced.elements > kMostFactors) {
    return call.NotDeclared(absl::StrCat("a product of more than ", kMostFactors, " factors"));
  }
  sdfg::Shape out = tensor.shape;
  if (!cumulative) {
    for (size_t r = reduced.dims.size(); r-- > 0;) {
      if (reduced.keepdim) {
        out[reduced.dims[r]] = 1;
      } else {
        out.erase(out.begin() + reduced.dims[r]);
      }
    }
  }
  const std::string key = absl::StrCat(
      cumulative ? "cumprod " : "prod ", sdfg::DTypeName(tensor.dtype), "[",
      absl::StrJoin(tensor.shape, ","), "] ", absl::StrJoin(reduced.dims, ","), reduced.keepdim);
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId made,
      call.writer().Emit(cumulative ? "cumprod" : "prod", key,
                         [&] { return ProductOf(tensor, reduced, out, cumulative); }, {x}));
  PLAN_ASSIGN_OR_RETURN(Argument y, AsResult(&call, Argument::Of(made), 0));
  call.Return(std::move(y));
  return absl::OkStatus();
}

}  // namespace

void AddStatistics(AtenTable* table) {
  const char* const forms = "default dim correction out correction_out";
  const char* const pairs = "default dim correction correction_out";
  const char* const parameters = "self dim unbiased correction keepdim";
  table->Add("var", forms, parameters, [](AtenCall& call) { return Variance(call, false); });
  table->Add("std", forms, parameters, [](AtenCall& call) { return Variance(call, true); });
  table->Add("var_mean", pairs, parameters, [](AtenCall& call) { return Variance(call, false); });
  table->Add("std_mean", pairs, parameters, [](AtenCall& call) { return Variance(call, true); });
  table->Add("linalg_vector_norm", kNew, "self ord dim keepdim dtype",
             [](AtenCall& call) { return VectorNorm(call, "ord"); });
  table->Add("norm",
             "Scalar ScalarOpt_dim ScalarOpt_dtype ScalarOpt_dim_dtype out dtype_out Scalar_out",
             "self p dim keepdim dtype", [](AtenCall& call) { return VectorNorm(call, "p"); });
  table->Add("_foreach_norm", "Scalar Scalar_out", "self ord dtype", NormOfEach);
  table->Add("prod", "default dim_int out int_out", "self dim keepdim dtype",
             [](AtenCall& call) { return Product(call, false); });
  table->Add("cumprod", kAnyForm, "self dim dtype",
             [](AtenCall& call) { return Product(call, true); });
}

}  // namespace planproof::frontend::torch
