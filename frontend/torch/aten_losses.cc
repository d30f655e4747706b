// Losses, forward and backward.
#include <utility>
#include <vector>

#include "frontend/torch/aten_derivative.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/graph.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// How the losses of elements are put together, as PyTorch numbers it.
enum class Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// ATen converts the factor of a mean to the type of the elements, which makes 0 of it in whole
// numbers.
absl::StatusOr<Reduction> ReadReduction(AtenCall* call) {
  if (!sdfg::IsFloating(call->target(0).dtype)) {
    return call->NotDeclared("a loss of whole numbers");
  }
  PLAN_ASSIGN_OR_RETURN(const int64_t number, call->Integer("reduction", 1));
  if (number < 0 || number > 2) return call->NotDeclared("this reduction");
  return static_cast<Reduction>(number);
}

absl::Status ReturnReduced(AtenCall* call, Argument loss, Reduction reduction) {
  if (reduction != Reduction::kNone) {
    const size_t rank = call->writer().tensor(loss.tensor).shape.size();
    PLAN_ASSIGN_OR_RETURN(loss, call->One(reduction == Reduction::kMean ? "mean" : "sum", {loss},
                                          {{"dim", Dimensions({}, rank)}}));
  }
  call->Return(std::move(loss));
  return absl::OkStatus();
}

// One over the elements of `self` for a mean, as ATen has it, also where the others are more.
absl::StatusOr<solver::Rational> NormOfMean(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(call));
  if (reduction != Reduction::kMean || !call->IsTensor("self")) return solver::Rational(1);
  const int64_t elements = ElementsOf(call->Described("self").shape);
  return elements == 0 ? solver::Rational(1) : solver::Rational(1, elements);
}

absl::Status MseLoss(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
  PLAN_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(&call));
  PLAN_ASSIGN_OR_RETURN(Argument loss, call.One("sub", {x, y}));
  PLAN_ASSIGN_OR_RETURN(loss, call.One("square", {loss}));
  return ReturnReduced(&call, std::move(loss), reduction);
}

absl::Status MseLossBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational norm, NormOfMean(&call));
  PLAN_ASSIGN_OR_RETURN(Argument gradient, call.One("aten_mse_loss_backward", {g, x, y},
                                                    {{"scale", norm * solver::Rational(2)}}));
  call.Return(std::move(gradient));
  return absl::OkStatus();
}

// A loss of two tensors with one parameter ("" if it has none), which must be positive.
void AddPairLoss(AtenTable* table, const char* name, const char* parameter, const char* gradient,
                 const std::string& declared) {
  const std::string attribute = parameter;
  const auto attributes = [attribute](AtenCall* call) -> absl::StatusOr<sdfg::Attributes> {
    if (attribute.empty()) return sdfg::Attributes{};
    PLAN_ASSIGN_OR_RETURN(const solver::Rational number, call->Real(attribute, 1));
    if (!(solver::Rational(0) < number)) {
      return call->NotDeclared("a value of " + attribute + " that is not positive");
    }
    return sdfg::Attributes{{attribute, number}};
  };
  table->Add(name, kNew, "self target reduction " + attribute,
             [attributes, declared](AtenCall& call) -> absl::Status {
               PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
               PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
               PLAN_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(&call));
               PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes given, attributes(&call));
               PLAN_ASSIGN_OR_RETURN(Argument loss, call.One(declared, {x, y}, given));
               return ReturnReduced(&call, std::move(loss), reduction);
             });
  table->Add(std::string(name) + "_backward", gradient,
             "grad_output self target reduction " + attribute,
             [attributes, declared](AtenCall& call) -> absl::Status {
               PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
               PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
               PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
               PLAN_ASSIGN_OR_RETURN(sdfg::Attributes given, attributes(&call));
               PLAN_ASSIGN_OR_RETURN(given["norm"], NormOfMean(&call));
               PLAN_ASSIGN_OR_RETURN(Argument gradient,
                                     call.One(declared + "_backward", {g, x, y}, given));
               call.Return(std::move(gradient));
               return absl::OkStatus();
             });
}

// The operand, or 1 if it was left out.
absl::StatusOr<Argument> OrOne(AtenCall* call, const char* name) {
  if (!call->Has(name)) return Argument::Number(1);
  return call->Operand(name);
}

absl::Status BinaryCrossEntropy(AtenCall& call, bool of_logits) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
  PLAN_ASSIGN_OR_RETURN(const Argument weight, OrOne(&call, "weight"));
  PLAN_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(&call));
  std::vector<Argument> operands = {x, y, weight};
  if (of_logits) {
    PLAN_ASSIGN_OR_RETURN(operands.emplace_back(), OrOne(&call, "pos_weight"));
  }
  PLAN_ASSIGN_OR_RETURN(Argument loss, call.One(of_logits ? "aten_binary_cross_entropy_with_logits"
                                                          : "aten_binary_cross_entropy",
                                                operands));
  return ReturnReduced(&call, std::move(loss), reduction);
}

absl::Status BinaryCrossEntropyBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
  PLAN_ASSIGN_OR_RETURN(const Argument weight, OrOne(&call, "weight"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational norm, NormOfMean(&call));
  PLAN_ASSIGN_OR_RETURN(Argument gradient, call.One("aten_binary_cross_entropy_backward",
                                                    {g, x, y, weight}, {{"norm", norm}}));
  return ReturnGradient(&call, std::move(gradient), "self");
}

// The operands of a loss of classes: rows of scores, their classes, weights of these if there are
// any. A loss of one row has a batch of one.
struct ClassLoss {
  Argument scores, classes, weights;
  bool one_row = false;
  Reduction reduction = Reduction::kMean;
  sdfg::Attributes attributes;
};

absl::StatusOr<Argument> WithBatch(AtenCall* call, sdfg::TensorId tensor) {
  sdfg::Shape shape = call->writer().tensor(tensor).shape;
  shape.insert(shape.begin(), 1);
  PLAN_ASSIGN_OR_RETURN(tensor, call->writer().Reshape(tensor, shape));
  return Argument::Of(tensor);
}

absl::StatusOr<ClassLoss> ReadClassLoss(AtenCall* call) {
  ClassLoss loss;
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId scores, call->TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId classes, call->TensorOf("target"));
  loss.scores = Argument::Of(scores);
  loss.classes = Argument::Of(classes);
  loss.one_row = call->writer().tensor(scores).shape.size() == 1;
  if (loss.one_row) {
    PLAN_ASSIGN_OR_RETURN(loss.scores, WithBatch(call, scores));
    if (call->writer().tensor(classes).shape.empty()) {
      PLAN_ASSIGN_OR_RETURN(loss.classes, WithBatch(call, classes));
    }
  }
  if (call->Has("weight")) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId weights, call->TensorOf("weight"));
    loss.weights = Argument::Of(weights);
  }
  PLAN_ASSIGN_OR_RETURN(loss.reduction, ReadReduction(call));
  PLAN_ASSIGN_OR_RETURN(const int64_t ignored, call->Integer("ignore_index", -100));
  loss.attributes = {{"reduction", static_cast<int64_t>(loss.reduction)},
                     {"ignore_index", ignored}};
  return loss;
}

absl::Status NllLoss(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const ClassLoss loss, ReadClassLoss(&call));
  const bool weighted = loss.weights.tensor != sdfg::kNone;
  std::vector<Argument> operands = {loss.scores, loss.classes};
  if (weighted) operands.push_back(loss.weights);
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply(weighted ? "aten_nll_loss_weighted" : "aten_nll_loss_forward",
                                   operands, loss.attributes));
  call.Return(Argument::Of(out[0]));
  call.Return(Argument::Of(out[1]));
  return absl::OkStatus();
}

// A scalar as a tensor with one element.
absl::StatusOr<Argument> AsOneElement(AtenCall* call, const char* name) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId tensor, call->TensorOf(name));
  if (call->writer().tensor(tensor).shape.empty()) {
    PLAN_ASSIGN_OR_RETURN(tensor, call->writer().Reshape(tensor, {1}));
  }
  return Argument::Of(tensor);
}

absl::Status NllLossBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const ClassLoss loss, ReadClassLoss(&call));
  const bool weighted = loss.weights.tensor != sdfg::kNone;
  std::vector<Argument> operands(1);
  PLAN_ASSIGN_OR_RETURN(operands[0], AsOneElement(&call, "grad_output"));
  operands.push_back(loss.scores);
  operands.push_back(loss.classes);
  if (weighted) operands.push_back(loss.weights);
  PLAN_ASSIGN_OR_RETURN(operands.emplace_back(), AsOneElement(&call, "total_weight"));
  PLAN_ASSIGN_OR_RETURN(Argument gradient, call.One(weighted ? "aten_nll_loss_weighted_backward"
                                                             : "aten_nll_loss_backward",
                                                    operands, loss.attributes));
  if (loss.one_row) {
    PLAN_ASSIGN_OR_RETURN(gradient.tensor,
                          call.writer().Reshape(gradient.tensor, call.Described("self").shape));
  }
  call.Return(std::move(gradient));
  return absl::OkStatus();
}

}  // namespace

void AddLosses(AtenTable* table) {
  const char* const scored = "self target weight reduction ignore_index";
  const char* const graded = "grad_output self target weight reduction ignore_index total_weight";
  for (const char* name : {"nll_loss_forward", "nll_loss2d_forward"}) {
    table->Add(name, "default output", scored, NllLoss);
  }
  for (const char* name : {"nll_loss_backward", "nll_loss2d_backward"}) {
    table->Add(name, "default grad_input", graded, NllLossBackward);
  }
  table->Add("mse_loss", kNew, "self target reduction", MseLoss);
  table->Add("mse_loss_backward", "default grad_input", "grad_output self target reduction",
             MseLossBackward);
  AddPairLoss(table, "smooth_l1_loss", "beta", "default grad_input", "aten_smooth_l1");
  AddPairLoss(table, "huber_loss", "delta", kNew, "aten_huber");
  AddPairLoss(table, "soft_margin_loss", "", "default grad_input", "aten_soft_margin");
  table->Add("binary_cross_entropy", kNew, "self target weight reduction",
             [](AtenCall& call) { return BinaryCrossEntropy(call, false); });
  table->Add("binary_cross_entropy_with_logits", kNew, "self target weight pos_weight reduction",
             [](AtenCall& call) { return BinaryCrossEntropy(call, true); });
  table->Add("binary_cross_entropy_backward", "default grad_input",
             "grad_output self target weight reduction", BinaryCrossEntropyBackward);
}

}  // namespace planproof::frontend::torch
