#include "anchor/graph_runs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "anchor/expected_rounding.h"
#include "anchor/sketch.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using runtime_check::Code;
using runtime_check::Tape;
using runtime_check::Values;
using sdfg::TensorId;

// Computes a number that a type may have to round.
bool Rounds(const Tape& tape) {
  if (tape.int_output) return false;
  return std::any_of(tape.code.begin(), tape.code.end(), [](const auto& instruction) {
    switch (instruction.code) {
      case Code::kAdd:
      case Code::kMul:
      case Code::kDiv:
      case Code::kPow:
      case Code::kExp:
      case Code::kLog:
      case Code::kErf:
      case Code::kSin:
      case Code::kCos:
      case Code::kSumStep:
      case Code::kOpaque:
        return true;
      default:
        return false;
    }
  });
}

// Each element one spacing up or down.
void Perturb(sdfg::DType dtype, uint64_t seed, Values* values) {
  const double spacing = RelativeSpacing(dtype);
  if (spacing == 0 || values->storage != Values::Storage::kDouble) return;
  const auto count = static_cast<int64_t>(values->doubles.size());
  uint64_t bits = 0;
  for (int64_t i = 0; i < count; ++i, bits >>= 1) {
    if (i % 64 == 0) bits = SplitMix64(seed + static_cast<uint64_t>(i));
    values->doubles[i] *= (bits & 1) != 0 ? 1 + spacing : 1 - spacing;
  }
}

}  // namespace

absl::Status GraphRuns::CheckCost() {
  PLAN_ASSIGN_OR_RETURN(const runtime_check::Cost cost, runtime_check::CostOf(graph_, &programs_));
  if (cost.elements > limits_.elements || cost.work > limits_.work) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("too large: %.3g elements and %.3g operations, of at most %.3g and %.3g",
                        cost.elements, cost.work, limits_.elements, limits_.work));
  }
  return absl::OkStatus();
}

// Also a conversion to a narrower type rounds.
bool GraphRuns::IsRounded(TensorId id) {
  const sdfg::Tensor& tensor = graph_.tensors[id];
  if (!sdfg::IsFloating(tensor.dtype) || tensor.producer == sdfg::kNone) return false;
  const sdfg::Operator& op = graph_.operators[tensor.producer];
  const absl::StatusOr<const Tape*> tape = programs_.Get(op, tensor.producer_output);
  if (!tape.ok() || Rounds(**tape)) return true;
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const TensorId input) {
    const sdfg::DType from = graph_.tensors[input].dtype;
    return sdfg::IsFloating(from) && RelativeSpacing(from) < RelativeSpacing(tensor.dtype);
  });
}

absl::StatusOr<std::vector<Values>> GraphRuns::RunOnce(const InitialValues& initial,
                                                       const std::vector<bool>& keep,
                                                       uint64_t seed) {
  std::vector<Values> tensors = initial.tensors;
  std::vector<bool> watched(graph_.tensors.size(), false);
  for (const auto& [id, values] : initial.instead) watched[id] = true;
  if (seed != 0) {
    for (size_t id = 0; id < tensors.size(); ++id) {
      const sdfg::Tensor& tensor = graph_.tensors[id];
      const auto number = static_cast<TensorId>(id);
      // Constants are numbers of the program, with which it may compare.
      const bool read =
          tensor.producer == sdfg::kNone &&
          (tensor.role == sdfg::TensorRole::kInput || tensor.role == sdfg::TensorRole::kParameter);
      if (read) Perturb(tensor.dtype, SplitMix64(seed) ^ SplitMix64(id), &tensors[id]);
      watched[id] = watched[id] || IsRounded(number);
    }
  }
  runtime_check::RunOptions options;
  options.keep = &keep;
  options.watched = &watched;
  options.rewrites = true;
  options.produced = [&](TensorId id) {
    const auto instead = initial.instead.find(id);
    if (instead != initial.instead.end()) {
      tensors[id] = instead->second;
    } else {
      Perturb(graph_.tensors[id].dtype, SplitMix64(seed) ^ SplitMix64(id), &tensors[id]);
    }
    return absl::OkStatus();
  };
  const absl::Status run = runtime_check::RunGraph(graph_, options, &programs_, &tensors);
  if (run.ok()) return tensors;
  const std::string message(run.message());
  // A read outside of a tensor: with recorded numbers the graph is not what was recorded.
  if (absl::IsInvalidArgument(run) && seed == 0) return absl::FailedPreconditionError(message);
  return absl::UnimplementedError(message);
}

absl::StatusOr<ComputedTensors> GraphRuns::Run(const InitialValues& initial,
                                               const std::vector<TensorId>& wanted,
                                               bool perturbed) {
  std::vector<bool> keep(graph_.tensors.size(), false);
  for (const TensorId id : wanted) keep[id] = true;
  PLAN_ASSIGN_OR_RETURN(std::vector<Values> exact, RunOnce(initial, keep, 0));
  ComputedTensors computed;
  for (const TensorId id : wanted) {
    ComputedTensor& tensor = computed[id];
    if (!tensor.changes.empty() || tensor.values.storage != Values::Storage::kNone) continue;
    tensor.dtype = graph_.tensors[id].dtype;
    tensor.values = std::move(exact[id]);
    tensor.changes.assign(tensor.values.size(), 0);
  }
  for (int sample = 1; perturbed && sample <= limits_.samples; ++sample) {
    PLAN_ASSIGN_OR_RETURN(const std::vector<Values> changed, RunOnce(initial, keep, sample));
    for (auto& [id, tensor] : computed) {
      for (int64_t i = 0; i < tensor.values.size(); ++i) {
        const double change = changed[id].At(i) - tensor.values.At(i);
        if (std::isfinite(change)) tensor.changes[i] += change * change / limits_.samples;
      }
    }
  }
  return computed;
}

}  // namespace planproof::anchor
