// Networks for images: convolutions and normalizations by channels, forward and backward.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_derivative.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/strided.h"
#include "sdfg/graph.h"
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

// A convolution over this many dimensions, with its attributes.
struct Convolution {
  std::string declared;
  sdfg::Attributes attributes;
};

absl::StatusOr<Convolution> ReadConvolution(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const bool transposed, call->Boolean("transposed", false));
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> output_padding,
                        call->Integers("output_padding"));
  const size_t rank = call->Described("input").shape.size();
  if (rank < 3 || rank > 5) return call->NotDeclared("a convolution without a batch");
  Convolution made;
  made.declared = absl::StrCat(transposed ? "conv_transpose" : "conv", rank - 2, "d");
  for (const char* name : {"stride", "padding", "dilation"}) {
    PLAN_ASSIGN_OR_RETURN(made.attributes[name], call->Integers(name));
  }
  // PyTorch reads it of transposed convolutions only.
  if (transposed) made.attributes["output_padding"] = output_padding;
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
    if (!IsGradientWanted(call, static_cast<size_t>(wrt))) continue;
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("input"));
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId w, call.TensorOf("weight"));
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId g, call.TensorOf("grad_output"));
    PLAN_ASSIGN_OR_RETURN(
        const sdfg::TensorId gradient,
        GradientOf(&call, convolution.declared, {x, w}, convolution.attributes, wrt, g));
    call.Return(Argument::Of(gradient));
  }
  if (!IsGradientWanted(call, 2)) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId g, call.TensorOf("grad_output"));
  PLAN_ASSIGN_OR_RETURN(Argument bias,
                        call.One("sum", {Argument::Of(g)},
                                 {{"dim", AllButChannels(call.writer().tensor(g).shape.size())},
                                  {"keepdim", false}}));
  call.Return(std::move(bias));
  return absl::OkStatus();
}

// The operator changes running statistics in training, which its signature does not say: what it
// writes must be these.
absl::Status CheckWritesRunning(AtenCall* call) {
  const Executed& executed = call->executed();
  const std::vector<std::string> names = {"running_mean", "running_var"};
  bool same = executed.writes.size() == names.size();
  for (size_t k = 0; same && k < names.size(); ++k) {
    const Tensor& written = call->target(call->targets().size() - names.size() + k);
    const Tensor& running = call->Described(names[k]);
    same = call->IsTensor(names[k]) && written.storage == running.storage &&
           SamePositions(ViewOf(written), ViewOf(running));
  }
  if (same) return absl::OkStatus();
  return call->NotDeclared(
      "a trace that does not say that running statistics are written in training (record it again "
      "with this version)");
}

// In training by the batch's own statistics, which are results, as is what becomes of the running
// ones.
absl::Status BatchNormOfBatch(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> operands,
                        OperandsOf(&call, {"input", "weight", "bias"}));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", solver::Rational(1, 100000)));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply("aten_native_batch_norm", operands, {{"eps", eps}}));
  for (const sdfg::TensorId tensor : out) call.Return(Argument::Of(tensor));
  if (!call.Has("running_mean") && !call.Has("running_var")) return absl::OkStatus();
  PLAN_RETURN_IF_ERROR(CheckWritesRunning(&call));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational momentum,
                        call.Real("momentum", solver::Rational(1, 10)));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> running,
                        OperandsOf(&call, {"input", "running_mean", "running_var"}));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> updated,
                        call.Apply("batch_norm_update", running, {{"momentum", momentum}}));
  for (const sdfg::TensorId tensor : updated) call.Return(Argument::Of(tensor));
  return absl::OkStatus();
}

absl::Status BatchNorm(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const bool training, call.Boolean("training", false));
  if (training) return BatchNormOfBatch(call);
  if (!call.executed().writes.empty()) return call.NotDeclared("a write by running statistics");
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
  PLAN_ASSIGN_OR_RETURN(const bool training, call.Boolean("train", false));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", solver::Rational(1, 100000)));
  if (training) {
    PLAN_ASSIGN_OR_RETURN(
        const std::vector<Argument> operands,
        OperandsOf(&call, {"grad_out", "input", "save_mean", "save_invstd", "weight"}));
    PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> gradients,
                          call.Apply("aten_native_batch_norm_backward", operands));
    ReturnWantedGradients(&call, gradients);
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(
      const std::vector<Argument> operands,
      OperandsOf(&call, {"grad_out", "input", "running_mean", "running_var", "weight"}));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> gradients,
                        call.Apply("aten_batch_norm_backward", operands, {{"eps", eps}}));
  ReturnWantedGradients(&call, gradients);
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
  ReturnWantedGradients(&call, gradients);
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
             "grad_out input weight -running_mean -running_var -save_mean -save_invstd train -eps "
             "output_mask",
             BatchNormBackward);
  table->Add("native_group_norm", "default", "input weight bias N C HxW group eps", GroupNorm);
  table->Add("native_group_norm_backward", "default",
             "grad_out input mean rstd weight N C HxW group output_mask", GroupNormBackward);
  table->Declared("leaky_relu", kAnyForm, "self *negative_slope", "aten_leaky_relu");
  table->Declared("leaky_relu_backward", "default",
                  "grad_output self *negative_slope -self_is_result", "aten_leaky_relu_backward");
}

}  // namespace planproof::frontend::torch
