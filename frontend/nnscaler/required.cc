// What the parallel plan must establish. Nothing here is taken from what the plan claims about its
// tensors: the loss is the one that a device has at the end, a gradient that after its last
// reducer.
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/parallel_builder.h"

namespace planproof::frontend::nnscaler {

using lineage::IndexMap;
using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;

namespace {

// y[c, m] = sum of x over the block (c, m) of its dimension `dim`, and over all other dimensions.
absl::StatusOr<sdfg::IndexFunction> LossTermsFunction(const sdfg::Shape& shape, sdfg::DType dtype,
                                                      int dim, int64_t copies,
                                                      int64_t microbatches) {
  sdfg::IndexFunctionBuilder builder("loss_terms");
  const int input = builder.AddInput("x", shape, dtype);
  const int output = builder.AddOutput("y", sdfg::Shape{copies, microbatches}, dtype);
  const std::vector<sdfg::VarId> block = builder.OutputDims(output);
  const int64_t extent = shape[dim] / (copies * microbatches);
  std::vector<sdfg::VarId> vars;
  std::vector<sdfg::ExprId> indices;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool batch = static_cast<int>(d) == dim;
    vars.push_back(builder.AddVar(absl::StrCat("i", d), batch ? extent : shape[d]));
    sdfg::ExprId index = builder.Index(vars.back());
    if (batch) {
      index = builder.IntAdd(
          builder.IntAdd(builder.IntScale(extent * microbatches, builder.Index(block[0])),
                         builder.IntScale(extent, builder.Index(block[1]))),
          index);
    }
    indices.push_back(index);
  }
  sdfg::ExprId body = builder.Element(input, indices);
  for (size_t d = vars.size(); d > 0; --d) {
    body = builder.Reduce(sdfg::Op::kSum, vars[d - 1], body);
  }
  builder.SetBody(output, body);
  sdfg::IndexFunction function;
  absl::Status status = builder.Finish(&function);
  if (!status.ok()) return status;
  return function;
}

}  // namespace

absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::LossTerms() {
  if (loss_terms_ != kNone) return loss_terms_;
  const FullTensor& summed = logical_plan_.fulls[logical_.summed];
  const int64_t blocks = plan_.copies * schedule_.microbatches;
  int dim = kNoIndex;
  for (const FullTensor& full : plan_.fulls) {
    if (full.is_gradient || full.name != summed.name || full.shape.size() != summed.shape.size())
      continue;
    for (size_t d = 0; d < full.shape.size(); ++d) {
      if (full.shape[d] * blocks != summed.shape[d]) continue;
      if (blocks > 1 && full.shape[d] == summed.shape[d]) continue;
      bool others_equal = true;
      for (size_t e = 0; e < full.shape.size(); ++e) {
        others_equal = others_equal && (e == d || full.shape[e] == summed.shape[e]);
      }
      if (others_equal && dim == kNoIndex) dim = static_cast<int>(d);
    }
  }
  if (dim == kNoIndex) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plans are no pair: the parallel plan has no tensor ", summed.name,
                     " with one dimension ", blocks, " times smaller than ",
                     ShapeText(summed.shape), " (copies times microbatches)"));
  }
  const TensorId input = logical_.tensor_of_full[logical_.summed];
  const sdfg::Tensor x = problem_->logical.tensors[input];
  absl::StatusOr<sdfg::IndexFunction> function =
      LossTermsFunction(x.shape, x.dtype, dim, plan_.copies, schedule_.microbatches);
  if (!function.ok()) return function.status();
  sdfg::Tensor terms;
  terms.name = "loss of each copy and microbatch";
  terms.shape = {plan_.copies, schedule_.microbatches};
  terms.dtype = x.dtype;
  loss_terms_ = problem_->logical.AddTensor(std::move(terms));
  sdfg::Operator op;
  op.name = "sum of a block of rows";
  op.function = problem_->logical.Intern(*std::move(function));
  op.inputs = {input};
  op.outputs = {loss_terms_};
  const sdfg::TensorId whole = logical_.tensor_of_full[logical_.loss];
  if (whole != kNone && problem_->logical.tensors[whole].producer != kNone) {
    const sdfg::Operator& sum =
        problem_->logical.operators[problem_->logical.tensors[whole].producer];
    op.name = sum.name;
    op.source = sum.source;
    op.label = sum.label;
  }
  problem_->logical.AddOperator(std::move(op));
  return loss_terms_;
}

absl::Status ParallelBuilder::RequireLosses(int microbatch) {
  absl::StatusOr<TensorId> terms = LossTerms();
  if (!terms.ok()) return terms.status();
  bool any = false;
  for (int device = 0; device < Devices(); ++device) {
    const TensorId tensor = loss_[device].first;
    if (tensor == kNone) continue;
    any = true;
    const sdfg::Tensor& loss = graph().tensors[tensor];
    if (loss.axes != lane_axes_ && plan_.copies * schedule_.microbatches > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the loss on device ", device, " does not depend on the data"));
    }
    Lineage lineage;
    lineage.kind = LineageKind::kFull;
    lineage.logical = *terms;
    IndexMap copy, block;
    for (size_t a = 0; a < loss.axes.size(); ++a) {
      (loss.axes[a] == 0 ? copy : block).terms.push_back({static_cast<int32_t>(a), 1, 1, 0});
    }
    if (!schedule_.uniform) block.constant = microbatch;
    lineage.map = {copy, block};
    problem_->Claim(tensor, lineage);
    absl::Status required = problem_->RequireOutput(
        tensor, std::move(lineage),
        schedule_.uniform ? std::string("loss of each copy and microbatch")
                          : absl::StrCat("loss of each copy in microbatch ", microbatch),
        {absl::StrCat("device ", device)});
    if (!required.ok()) return required;
  }
  if (!any) {
    return absl::InvalidArgumentError(absl::StrCat("dangling tensor: no device has the loss, ",
                                                   logical_plan_.fulls[logical_.loss].name,
                                                   ", at the end of microbatch ", microbatch));
  }
  return absl::OkStatus();
}

absl::Status ParallelBuilder::RequireGradients() {
  for (const auto& [key, sub] : parameter_pieces_) {
    const int device = key.first;
    const SubTensor& piece = plan_.subs[sub];
    const FullTensor& full = plan_.fulls[piece.full];
    const int logical_full = alignment_.full[piece.full].logical;
    const int logical_gradient = logical_plan_.fulls[logical_full].gradient;
    const TensorId logical = logical_.tensor_of_full[logical_gradient];
    if (logical == kNone) continue;  // the model does not train it
    TensorId tensor = kNone;
    const auto found = full.gradient == kNoIndex
                           ? accumulators_.end()
                           : accumulators_.find({device, {full.gradient, piece.index}});
    if (found != accumulators_.end()) {
      tensor = found->second.reduced;
      if (tensor == kNone) {
        absl::StatusOr<TensorId> sum = SumOf(found->second, device, sub);
        if (!sum.ok()) return sum.status();
        tensor = *sum;
      }
    }
    if (tensor == kNone) {
      return absl::InvalidArgumentError(absl::StrCat("dangling tensor: device ", device,
                                                     " holds the parameter ", plan_.TensorName(sub),
                                                     ", nothing makes its gradient there"));
    }
    const TensorId parameter = source_pieces_.at({device, {piece.full, piece.index}});
    if (parameter == kNone) {
      return absl::InvalidArgumentError(absl::StrCat("the logical plan makes a gradient of ",
                                                     full.name, ", which it does not read"));
    }
    absl::Status required =
        problem_->RequireAsHeld(tensor, logical, parameter, absl::StrCat("gradient of ", full.name),
                                {absl::StrCat("device ", device)});
    if (!required.ok()) return required;
    problem_->Claim(tensor, problem_->required().back().lineage);
  }
  // A parameter that no device holds, or of which devices hold a part, is not trained as a whole.
  for (const FullTensor& full : logical_plan_.fulls) {
    if (!full.is_attribute || full.is_gradient || full.gradient == kNoIndex) continue;
    const TensorId gradient = logical_.tensor_of_full[full.gradient];
    if (gradient != kNone) problem_->MustBeRequired(gradient);
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::nnscaler
