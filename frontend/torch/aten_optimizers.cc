// Fused optimizers, and the scaling of gradients.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_integers.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_rows.h"
#include "frontend/torch/python_numbers.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// The first and the last element of the storage that a tensor has.
std::pair<int64_t, int64_t> RangeInStorage(const Tensor& tensor) {
  int64_t first = tensor.offset, last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const int64_t way = (tensor.shape[d] - 1) * tensor.strides[d];
    (way < 0 ? first : last) += way;
  }
  return {first, last};
}

// A fused step computes all before it writes anything; PyTorch does one parameter after the other,
// which is the same if no two of the tensors that are written share memory.
absl::Status CheckApart(AtenCall* call) {
  std::vector<std::pair<StorageId, std::pair<int64_t, int64_t>>> ranges;
  for (size_t i = 0; i < call->targets().size(); ++i) {
    const Tensor& tensor = call->target(i);
    if (ElementsOf(tensor.shape) == 0) continue;
    ranges.emplace_back(tensor.storage, RangeInStorage(tensor));
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first == ranges[i - 1].first &&
        ranges[i].second.first <= ranges[i - 1].second.second) {
      return call->NotDeclared("a fused step of tensors that share memory");
    }
  }
  return absl::OkStatus();
}

// What all steps of a call have in common.
struct FusedStep {
  Argument lr;
  solver::Rational weight_decay;
  bool maximize = false;
  Argument grad_scale, found_inf;  // nothing if they were left out
};

absl::StatusOr<FusedStep> ReadFusedStep(AtenCall* call) {
  PLAN_RETURN_IF_ERROR(CheckApart(call));
  FusedStep step;
  PLAN_ASSIGN_OR_RETURN(step.lr, call->Operand("lr"));
  PLAN_ASSIGN_OR_RETURN(step.weight_decay, call->Real("weight_decay", 0));
  PLAN_ASSIGN_OR_RETURN(step.maximize, call->Boolean("maximize", false));
  if (call->Has("grad_scale")) {
    PLAN_ASSIGN_OR_RETURN(step.grad_scale, call->Operand("grad_scale"));
  }
  if (call->Has("found_inf")) {
    PLAN_ASSIGN_OR_RETURN(step.found_inf, call->Operand("found_inf"));
  }
  return step;
}

bool IsGiven(const Argument& argument) {
  return argument.tensor != sdfg::kNone || argument.literal.has_value();
}

// The lists that a fused step writes, in the order of its parameters.
class WrittenLists {
 public:
  WrittenLists(AtenCall* call, size_t count) : call_(call), lists_(count) {}

  // Puts what a tensor becomes into a list, unless a gradient was not finite.
  absl::Status Put(size_t list, const FusedStep& step, sdfg::TensorId before, Argument after) {
    if (IsGiven(step.found_inf) && after.tensor != before) {
      PLAN_ASSIGN_OR_RETURN(
          after, call_->One("aten_unless_found", {step.found_inf, Argument::Of(before), after}));
    }
    lists_[list].push_back(std::move(after));
    return absl::OkStatus();
  }

  void Return() {
    for (std::vector<Argument>& list : lists_) {
      for (Argument& result : list) call_->Return(std::move(result));
    }
  }

 private:
  AtenCall* call_;
  std::vector<std::vector<Argument>> lists_;
};

// Of a tensor of one element, as the kernels read it.
absl::StatusOr<Argument> WithoutDimensions(AtenCall* call, Argument argument) {
  if (argument.tensor == sdfg::kNone) return argument;
  const sdfg::Shape& shape = call->writer().tensor(argument.tensor).shape;
  if (shape.empty()) return argument;
  if (ElementsOf(shape) != 1) return call->NotDeclared("a number of several elements");
  PLAN_ASSIGN_OR_RETURN(argument.tensor, call->writer().Reshape(argument.tensor, {}));
  return argument;
}

// 1 - beta^steps.
absl::StatusOr<Argument> Correction(AtenCall* call, const solver::Rational& beta,
                                    const Argument& steps) {
  if (beta.IsZero()) return Argument::Number(1);
  PLAN_ASSIGN_OR_RETURN(const Argument power,
                        ComputeNumber(&call->writer(), "pow", {Argument::Number(beta), steps}));
  return ComputeNumber(&call->writer(), "sub", {Argument::Number(1), power});
}

// The gradient as the kernels take it, before any decay; `stored` is what they leave of it.
absl::StatusOr<Argument> GradientOfStep(AtenCall* call, const FusedStep& step, sdfg::TensorId given,
                                        Argument* stored) {
  Argument g = Argument::Of(given);
  if (IsGiven(step.grad_scale)) {
    PLAN_ASSIGN_OR_RETURN(g, call->One("div", {g, step.grad_scale}));
  }
  *stored = g;
  if (!step.maximize) return g;
  return call->One("neg", {g});
}

absl::StatusOr<Argument> PlusDecay(AtenCall* call, const FusedStep& step, const Argument& g,
                                   const Argument& p) {
  if (step.weight_decay.IsZero()) return g;
  return call->One("add", {g, p}, {{"alpha", step.weight_decay}});
}

absl::Status FusedAdam(AtenCall& call, bool decoupled) {
  PLAN_ASSIGN_OR_RETURN(const FusedStep step, ReadFusedStep(&call));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational beta1, call.Real("beta1", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational beta2, call.Real("beta2", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", 0));
  PLAN_ASSIGN_OR_RETURN(const bool amsgrad, call.Boolean("amsgrad", false));
  std::vector<std::vector<sdfg::TensorId>> lists;
  for (const char* name :
       {"self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"}) {
    PLAN_ASSIGN_OR_RETURN(lists.emplace_back(), call.Tensors(name));
  }
  const size_t count = lists[0].size();
  for (size_t l = 1; l < lists.size(); ++l) {
    const bool optional = l == 4 && !amsgrad;
    if (lists[l].size() != count && !(optional && lists[l].empty())) {
      return call.NotDeclared("a fused step of lists of different lengths");
    }
  }
  WrittenLists written(&call, 5);
  for (size_t i = 0; i < count; ++i) {
    const sdfg::TensorId before = lists[0][i];
    Argument p = Argument::Of(before), stored;
    PLAN_ASSIGN_OR_RETURN(Argument g, GradientOfStep(&call, step, lists[1][i], &stored));
    if (decoupled && !step.weight_decay.IsZero()) {
      PLAN_ASSIGN_OR_RETURN(
          p, call.One("aten_decayed", {p, step.lr}, {{"weight_decay", step.weight_decay}}));
    } else if (!decoupled) {
      PLAN_ASSIGN_OR_RETURN(g, PlusDecay(&call, step, g, p));
    }
    PLAN_ASSIGN_OR_RETURN(
        const Argument m,
        call.One("aten_adam_average", {Argument::Of(lists[2][i]), g}, {{"beta", beta1}}));
    PLAN_ASSIGN_OR_RETURN(
        const Argument v,
        call.One("aten_adam_square_average", {Argument::Of(lists[3][i]), g}, {{"beta", beta2}}));
    Argument largest = v;
    if (amsgrad) {
      PLAN_ASSIGN_OR_RETURN(largest, call.One("maximum", {Argument::Of(lists[4][i]), v}));
    }
    PLAN_ASSIGN_OR_RETURN(const Argument steps,
                          WithoutDimensions(&call, Argument::Of(lists[5][i])));
    PLAN_ASSIGN_OR_RETURN(const Argument first, Correction(&call, beta1, steps));
    PLAN_ASSIGN_OR_RETURN(const Argument second, Correction(&call, beta2, steps));
    PLAN_ASSIGN_OR_RETURN(
        p, call.One("aten_adam_step", {p, m, largest, step.lr, first, second}, {{"eps", eps}}));
    PLAN_RETURN_IF_ERROR(written.Put(0, step, before, p));
    PLAN_RETURN_IF_ERROR(written.Put(1, step, lists[1][i], stored));
    PLAN_RETURN_IF_ERROR(written.Put(2, step, lists[2][i], m));
    PLAN_RETURN_IF_ERROR(written.Put(3, step, lists[3][i], v));
    if (lists[4].empty()) continue;
    PLAN_RETURN_IF_ERROR(
        written.Put(4, step, lists[4][i], amsgrad ? largest : Argument::Of(lists[4][i])));
  }
  written.Return();
  return absl::OkStatus();
}

absl::Status FusedSgd(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const FusedStep step, ReadFusedStep(&call));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational momentum, call.Real("momentum", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational dampening, call.Real("dampening", 0));
  PLAN_ASSIGN_OR_RETURN(const bool nesterov, call.Boolean("nesterov", false));
  PLAN_ASSIGN_OR_RETURN(const bool first, call.Boolean("is_first_step", false));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> parameters, call.Tensors("self"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> gradients, call.Tensors("grads"));
  std::vector<sdfg::TensorId> buffers;
  if (!first || momentum.IsZero()) {
    PLAN_ASSIGN_OR_RETURN(buffers, call.Tensors("momentum_buffer_list"));
  } else {
    buffers.resize(call["momentum_buffer_list"].list.size(), sdfg::kNone);  // only written
  }
  if (gradients.size() != parameters.size() ||
      (!buffers.empty() && buffers.size() != parameters.size()) ||
      (buffers.empty() && !momentum.IsZero())) {
    return call.NotDeclared("a fused step of lists of different lengths");
  }
  if (first && !momentum.IsZero() && IsGiven(step.found_inf)) {
    return call.NotDeclared("a first fused step that a gradient may stop");
  }
  WrittenLists written(&call, 3);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Argument p = Argument::Of(parameters[i]);
    Argument stored;
    PLAN_ASSIGN_OR_RETURN(Argument g, GradientOfStep(&call, step, gradients[i], &stored));
    PLAN_ASSIGN_OR_RETURN(g, PlusDecay(&call, step, g, p));
    Argument buffer = buffers.empty() ? Argument{} : Argument::Of(buffers[i]);
    if (!momentum.IsZero()) {
      buffer = g;
      if (!first) {
        PLAN_ASSIGN_OR_RETURN(buffer, call.One("aten_sgd_momentum", {Argument::Of(buffers[i]), g},
                                               {{"momentum", momentum}, {"dampening", dampening}}));
      }
      if (nesterov) {
        PLAN_ASSIGN_OR_RETURN(g, call.One("add", {g, buffer}, {{"alpha", momentum}}));
      } else {
        g = buffer;
      }
    }
    PLAN_ASSIGN_OR_RETURN(const Argument after, call.One("aten_sgd_step", {p, g, step.lr}));
    PLAN_RETURN_IF_ERROR(written.Put(0, step, parameters[i], after));
    PLAN_RETURN_IF_ERROR(written.Put(1, step, gradients[i], stored));
    if (buffers.empty()) continue;
    PLAN_RETURN_IF_ERROR(written.Put(2, step, buffers[i], buffer));
  }
  written.Return();
  return absl::OkStatus();
}

// Gradients times `inv_scale`; 1 is written to `found_inf` if one of them is no real number.
absl::Status Unscale(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(CheckApart(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> gradients, call.Tensors("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId given, call.TensorOf("found_inf"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId scale, call.TensorOf("inv_scale"));
  PLAN_ASSIGN_OR_RETURN(const Argument inverse, WithoutDimensions(&call, Argument::Of(scale)));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId found_row, AsRow(&call, given));
  Argument found = Argument::Of(found_row);
  for (const sdfg::TensorId gradient : gradients) {
    PLAN_ASSIGN_OR_RETURN(Argument scaled, call.One("mul", {Argument::Of(gradient), inverse}));
    call.Return(std::move(scaled));
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId row, AsRow(&call, gradient));
    if (ElementsOf(call.writer().tensor(row).shape) == 0) continue;
    PLAN_ASSIGN_OR_RETURN(Argument strange, call.One("aten_infinite", {Argument::Of(row)}));
    const size_t rank = call.writer().tensor(strange.tensor).shape.size();
    PLAN_ASSIGN_OR_RETURN(strange,
                          call.One("aten_any", {strange}, {{"dim", Dimensions({}, rank)}}));
    PLAN_ASSIGN_OR_RETURN(found, Chosen(&call, strange, Argument::Number(1), found));
  }
  PLAN_ASSIGN_OR_RETURN(found.tensor,
                        call.writer().Reshape(found.tensor, call.Described("found_inf").shape));
  call.Return(std::move(found));
  return absl::OkStatus();
}

absl::Status UpdateScale(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId scale, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tracker, call.TensorOf("growth_tracker"));
  PLAN_ASSIGN_OR_RETURN(const Argument found, call.Operand("found_inf"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational growth, call.Real("scale_growth_factor", 2));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational backoff, call.Real("scale_backoff_factor", 1));
  PLAN_ASSIGN_OR_RETURN(const int64_t interval, call.Integer("growth_interval", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(
      Argument changed,
      call.One("aten_amp_scale", {Argument::Of(scale), Argument::Of(tracker), found},
               {{"growth", growth}, {"backoff", backoff}, {"interval", interval}}));
  PLAN_ASSIGN_OR_RETURN(
      Argument counted,
      call.One("aten_amp_tracker", {Argument::Of(tracker), found}, {{"interval", interval}}));
  call.Return(std::move(changed));
  call.Return(std::move(counted));
  return absl::OkStatus();
}

}  // namespace

void AddOptimizers(AtenTable* table) {
  const std::string adam =
      "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps "
      "amsgrad maximize grad_scale found_inf";
  table->Add("_fused_adam", "_.default _.tensor_lr", adam,
             [](AtenCall& call) { return FusedAdam(call, false); });
  table->Add("_fused_adamw", "_.default _.tensor_lr", adam,
             [](AtenCall& call) { return FusedAdam(call, true); });
  table->Add("_fused_sgd", "_.default _.tensor_lr",
             "self grads momentum_buffer_list weight_decay momentum lr dampening nesterov maximize "
             "is_first_step grad_scale found_inf",
             FusedSgd);
  table->Add("_amp_foreach_non_finite_check_and_unscale", "_.default", "self found_inf inv_scale",
             Unscale);
  table->Add("_amp_update_scale", "_.default",
             "self growth_tracker found_inf scale_growth_factor scale_backoff_factor "
             "growth_interval",
             UpdateScale);
}

}  // namespace planproof::frontend::torch
