// Networks for images: convolutions, poolings, normalizations by channels, forward and backward.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/differentiate.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// Operands by name; nothing for one that is left out.
absl::StatusOr<std::vector<Argument>> OperandsOf(AtenCall* call,
                                                 const std::vector<std::string>& names) {
  std::vector<Argument> operands;
  for (const std::string& name : names) {
    Argument operand;
    if (call->Has(name)) {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call->TensorOf(name));
      operand = Argument::Of(tensor);
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

// Which of the gradients are asked for: the others are not returned.
bool Wanted(const AtenCall& call, size_t gradient) {
  const std::vector<Value>& mask = call["output_mask"].list;
  return gradient >= mask.size() || mask[gradient].boolean;
}

void ReturnWanted(AtenCall* call, const std::vector<sdfg::TensorId>& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (Wanted(*call, i)) call->Return(Argument::Of(gradients[i]));
  }
}

// A convolution over this many dimensions, with its attributes.
struct Convolution {
  std::string declared;
  sdfg::Attributes attributes;
};

absl::StatusOr<Convolution> ReadConvolution(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const bool transposed, call->Boolean("transposed", false));
  if (transposed) return call->NotDeclared("a transposed convolution");
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> output_padding,
                        call->Integers("output_padding"));
  for (const int64_t padding : output_padding) {
    if (padding != 0) return call->NotDeclared("padding of the result of a convolution");
  }
  const size_t rank = call->Described("input").shape.size();
  if (rank < 3 || rank > 5) return call->NotDeclared("a convolution without a batch");
  Convolution made;
  made.declared = absl::StrCat("conv", rank - 2, "d");
  for (const char* name : {"stride", "padding", "dilation"}) {
    PLAN_ASSIGN_OR_RETURN(made.attributes[name], call->Integers(name));
  }
  PLAN_ASSIGN_OR_RETURN(const int64_t groups, call->Integer("groups", 1));
  made.attributes["groups"] = groups;
  return made;
}

absl::Status Convolve(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Convolution convolution, ReadConvolution(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> operands,
                        OperandsOf(&call, {"input", "weight", "bias"}));
  PLAN_ASSIGN_OR_RETURN(Argument y,
                        call.One(convolution.declared, operands, convolution.attributes));
  call.Return(std::move(y));
  return absl::OkStatus();
}

sdfg::Operand OperandFor(const sdfg::Tensor& tensor) {
  sdfg::Operand operand;
  operand.shape = tensor.shape;
  operand.dtype = tensor.dtype;
  return operand;
}

// The gradient of the convolution's operand number `wrt`.
absl::StatusOr<sdfg::TensorId> GradientOfConvolution(AtenCall* call, const Convolution& convolution,
                                                     int wrt) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call->TensorOf("input"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId w, call->TensorOf("weight"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId g, call->TensorOf("grad_output"));
  GraphWriter& writer = call->writer();
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    PLAN_ASSIGN_OR_RETURN(
        const sdfg::IndexFunction forward,
        sdfg::OperatorLibrary::BuiltIn().Instantiate(
            convolution.declared, {OperandFor(writer.tensor(x)), OperandFor(writer.tensor(w))},
            convolution.attributes));
    if (forward.outputs[0].shape(forward.vars) != writer.tensor(g).shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("the gradient has shape [", absl::StrJoin(writer.tensor(g).shape, ", "),
                       "], which is not that of the convolution's result"));
    }
    return sdfg::Differentiate(forward, {wrt}, {0});
  };
  std::string key = absl::StrCat("convolution_backward ", wrt, " ", convolution.declared);
  for (const sdfg::TensorId id : {x, w, g}) {
    const sdfg::Tensor& tensor = writer.tensor(id);
    absl::StrAppend(&key, " ", sdfg::DTypeName(tensor.dtype), "[", absl::StrJoin(tensor.shape, ","),
                    "]");
  }
  for (const char* name : {"stride", "padding", "dilation"}) {
    const auto& numbers = std::get<std::vector<int64_t>>(convolution.attributes.at(name));
    absl::StrAppend(&key, " ", name, "=", absl::StrJoin(numbers, ","));
  }
  absl::StrAppend(&key, " groups=", std::get<int64_t>(convolution.attributes.at("groups")));
  return writer.Emit("convolution_backward", key, make, {x, w, g});
}

// Every dimension but the second, over which a bias is added.
std::vector<int64_t> AllButChannels(size_t rank) {
  std::vector<int64_t> dims = {0};
  for (size_t d = 2; d < rank; ++d) dims.push_back(static_cast<int64_t>(d));
  return dims;
}

absl::Status ConvolveBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Convolution convolution, ReadConvolution(&call));
  call.Described("weight");  // not read where only the bias has a gradient
  for (int wrt = 0; wrt < 2; ++wrt) {
    if (!Wanted(call, static_cast<size_t>(wrt))) continue;
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId gradient,
                          GradientOfConvolution(&call, convolution, wrt));
    call.Return(Argument::Of(gradient));
  }
  if (!Wanted(call, 2)) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId g, call.TensorOf("grad_output"));
  PLAN_ASSIGN_OR_RETURN(Argument bias,
                        call.One("sum", {Argument::Of(g)},
                                 {{"dim", AllButChannels(call.writer().tensor(g).shape.size())},
                                  {"keepdim", false}}));
  call.Return(std::move(bias));
  return absl::OkStatus();
}

// By running statistics: in training PyTorch changes them, which the trace does not say.
absl::Status OnlyEvaluation(AtenCall* call, const char* name) {
  PLAN_ASSIGN_OR_RETURN(const bool training, call->Boolean(name, false));
  if (training) return call->NotDeclared("normalization by the batch's own statistics");
  return absl::OkStatus();
}

absl::Status BatchNorm(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(OnlyEvaluation(&call, "training"));
  PLAN_ASSIGN_OR_RETURN(
      const std::vector<Argument> operands,
      OperandsOf(&call, {"input", "running_mean", "running_var", "weight", "bias"}));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", solver::Rational(1, 100000)));
  PLAN_ASSIGN_OR_RETURN(Argument y,
                        call.One("batch_norm", operands, {{"training", false}, {"eps", eps}}));
  call.Return(std::move(y));
  // The batch's statistics, which nobody computes: tensors without elements.
  for (size_t i = 1; i < call.targets().size(); ++i) {
    if (ElementsOf(call.target(i).shape) != 0) return call.NotDeclared("statistics of the batch");
    call.ReturnBroadcast(Argument::Number(0));
  }
  return absl::OkStatus();
}

absl::Status BatchNormBackward(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(OnlyEvaluation(&call, "train"));
  PLAN_ASSIGN_OR_RETURN(
      const std::vector<Argument> operands,
      OperandsOf(&call, {"grad_out", "input", "running_mean", "running_var", "weight"}));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", solver::Rational(1, 100000)));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> gradients,
                        call.Apply("aten_batch_norm_backward", operands, {{"eps", eps}}));
  ReturnWanted(&call, gradients);
  return absl::OkStatus();
}

// N, C and HxW are those of the input, as torch.nn.functional.group_norm passes them.
absl::Status OnlyOwnExtents(AtenCall* call) {
  const sdfg::Shape& shape = call->Described("input").shape;
  if (shape.size() < 2) return call->NotDeclared("an input without channels");
  int64_t places = 1;
  for (size_t d = 2; d < shape.size(); ++d) places *= shape[d];
  const std::pair<const char*, int64_t> extents[] = {
      {"N", shape[0]}, {"C", shape[1]}, {"HxW", places}};
  for (const auto& [name, own] : extents) {
    PLAN_ASSIGN_OR_RETURN(const int64_t given, call->Integer(name, std::nullopt));
    if (given != own) return call->NotDeclared("other extents than those of the input");
  }
  return absl::OkStatus();
}

absl::Status GroupNorm(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(OnlyOwnExtents(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> operands,
                        OperandsOf(&call, {"input", "weight", "bias"}));
  PLAN_ASSIGN_OR_RETURN(const int64_t groups, call.Integer("group", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", 0));
  PLAN_ASSIGN_OR_RETURN(
      const std::vector<sdfg::TensorId> out,
      call.Apply("aten_native_group_norm", operands, {{"num_groups", groups}, {"eps", eps}}));
  for (const sdfg::TensorId tensor : out) call.Return(Argument::Of(tensor));
  return absl::OkStatus();
}

absl::Status GroupNormBackward(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(OnlyOwnExtents(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> operands,
                        OperandsOf(&call, {"grad_out", "input", "mean", "rstd", "weight"}));
  PLAN_ASSIGN_OR_RETURN(const int64_t groups, call.Integer("group", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(
      const std::vector<sdfg::TensorId> gradients,
      call.Apply("aten_native_group_norm_backward", operands, {{"num_groups", groups}}));
  ReturnWanted(&call, gradients);
  return absl::OkStatus();
}

// Windows of a pooling over two dimensions.
struct Windows {
  std::vector<int64_t> size, stride, padding, dilation;  // of height and width
  bool ceil = false;
};

absl::StatusOr<std::vector<int64_t>> OfBoth(AtenCall* call, const char* name,
                                            const std::vector<int64_t>& otherwise) {
  PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> numbers, call->Integers(name));
  if (numbers.empty()) return otherwise;
  if (numbers.size() == 1) numbers.push_back(numbers[0]);
  if (numbers.size() != 2) return call->NotDeclared("windows of other than two dimensions");
  return numbers;
}

absl::StatusOr<Windows> ReadWindows(AtenCall* call) {
  Windows windows;
  PLAN_ASSIGN_OR_RETURN(windows.size, OfBoth(call, "kernel_size", {1, 1}));
  PLAN_ASSIGN_OR_RETURN(windows.stride, OfBoth(call, "stride", windows.size));
  PLAN_ASSIGN_OR_RETURN(windows.padding, OfBoth(call, "padding", {0, 0}));
  PLAN_ASSIGN_OR_RETURN(windows.dilation, OfBoth(call, "dilation", {1, 1}));
  PLAN_ASSIGN_OR_RETURN(windows.ceil, call->Boolean("ceil_mode", false));
  return windows;
}

// The place of each window's largest element among those of its channel, row by row: the first of
// equal ones, as an uninterpreted function of the window (sdfg/native_operators_order.cc). All
// windows lie within the input.
absl::StatusOr<sdfg::IndexFunction> PlacesOfLargest(const sdfg::Tensor& x, const sdfg::Shape& out,
                                                    const Windows& windows) {
  using sdfg::ExprId;
  using sdfg::Op;
  sdfg::IndexFunctionBuilder b("max_pool2d_places");
  const int input = b.AddInput("x", x.shape, x.dtype);
  const int places = b.AddOutput("places", out, sdfg::DType::kInt64);
  std::vector<ExprId> at;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(b.OutputDims(places)))
    at.push_back(b.Index(var));
  const size_t rows = at.size() - 2;
  const int64_t across = windows.size[1];
  // Element k of the window, counted row by row.
  const auto along = [&](size_t d, ExprId k) {
    const ExprId step = d == 0 ? b.IntDiv(k, across) : b.IntMod(k, across);
    return b.IntAdd(b.IntScale(windows.stride[d], at[rows + d]),
                    b.IntScale(windows.dilation[d], step));
  };
  const sdfg::VarId var = b.AddVar("k", windows.size[0] * across);
  std::vector<ExprId> element(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(rows));
  for (size_t d = 0; d < 2; ++d) element.push_back(along(d, b.Index(var)));
  const ExprId chosen =
      b.Opaque("topk_index(k=1)", true, var, {b.Element(input, element), b.Int(0)});
  b.SetBody(places, b.IntAdd(b.IntScale(x.shape[rows + 1], along(0, chosen)), along(1, chosen)));
  sdfg::IndexFunction function;
  PLAN_RETURN_IF_ERROR(b.Finish(&function));
  return function;
}

absl::Status MaxPool(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Windows windows, ReadWindows(&call));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(Argument values, call.One("max_pool2d", {Argument::Of(x)},
                                                  {{"kernel_size", windows.size},
                                                   {"stride", windows.stride},
                                                   {"padding", windows.padding},
                                                   {"dilation", windows.dilation},
                                                   {"ceil_mode", windows.ceil}}));
  const sdfg::Shape out = call.writer().tensor(values.tensor).shape;
  call.Return(std::move(values));
  const sdfg::Tensor& tensor = call.writer().tensor(x);
  const bool padded = windows.ceil || windows.padding != std::vector<int64_t>{0, 0};
  if (padded || sdfg::IsInteger(tensor.dtype)) {
    call.Return({});  // not declared: as memory that nobody wrote
    return absl::OkStatus();
  }
  const std::string key =
      absl::StrCat("max_pool2d_places ", sdfg::DTypeName(tensor.dtype), "[",
                   absl::StrJoin(tensor.shape, ","), "] ", absl::StrJoin(windows.size, ","), " ",
                   absl::StrJoin(windows.stride, ","), " ", absl::StrJoin(windows.dilation, ","));
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId places,
      call.writer().Emit("max_pool2d_places", key,
                         [&] { return PlacesOfLargest(tensor, out, windows); }, {x}));
  call.Return(Argument::Of(places));
  return absl::OkStatus();
}

// By the indices alone: which windows there are was said when these were computed.
absl::Status MaxPoolBackward(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(ReadWindows(&call).status());
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument indices, call.Operand("indices"));
  const sdfg::Shape& shape = call.Described("self").shape;
  if (shape.size() < 3) return call.NotDeclared("a pooling of a matrix");
  PLAN_ASSIGN_OR_RETURN(Argument dx, call.One("aten_max_pool2d_backward", {g, indices},
                                              {{"height", shape[shape.size() - 2]},
                                               {"width", shape[shape.size() - 1]}}));
  call.Return(std::move(dx));
  return absl::OkStatus();
}

}  // namespace

void AddImages(AtenTable* table) {
  table->Add("convolution", "default",
             "input weight bias stride padding dilation transposed output_padding groups",
             Convolve);
  table->Add("convolution_backward", "default",
             "grad_output input weight -bias_sizes stride padding dilation transposed "
             "output_padding groups output_mask",
             ConvolveBackward);
  table->Add("native_batch_norm", "default",
             "input weight bias running_mean running_var training -momentum eps", BatchNorm);
  table->Add("native_batch_norm_backward", "default",
             "grad_out input weight running_mean running_var -save_mean -save_invstd train eps "
             "output_mask",
             BatchNormBackward);
  table->Add("native_group_norm", "default", "input weight bias N C HxW group eps", GroupNorm);
  table->Add("native_group_norm_backward", "default",
             "grad_out input mean rstd weight N C HxW group output_mask", GroupNormBackward);
  table->Add("max_pool2d_with_indices", "default",
             "self kernel_size stride padding dilation ceil_mode", MaxPool);
  table->Add("max_pool2d_with_indices_backward", "default",
             "grad_output self kernel_size stride padding dilation ceil_mode indices",
             MaxPoolBackward);
  table->Declared("leaky_relu", kAnyForm, "self *negative_slope", "aten_leaky_relu");
  table->Declared("leaky_relu_backward", "default",
                  "grad_output self *negative_slope -self_is_result", "aten_leaky_relu_backward");
}

}  // namespace planproof::frontend::torch
