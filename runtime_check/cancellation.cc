#include "runtime_check/cancellation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime_check/tape_machine.h"
#include "runtime_check/tracked_number.h"
#include "sdfg/types.h"

namespace planproof::runtime_check {
namespace {

using sdfg::kNone;
using sdfg::TensorId;
using Tracked = std::vector<TrackedNumber>;

// Rounding in float64 leaves no more than this of what cancels; numbers that differ leave more.
constexpr double kCancelled = 0x1p-40;
// Much cancels where less than this is left.
constexpr double kMuch = 0.5;

struct Norms {
  double value = 0, magnitude = 0, spread = 0;  // root mean squares
};

// Of what is finite.
Norms NormsOf(const Tracked& numbers) {
  long double values = 0, magnitudes = 0, squares = 0;
  for (const TrackedNumber& number : numbers) {
    if (!std::isfinite(number.value) || !std::isfinite(number.squares)) continue;
    values += static_cast<long double>(number.value) * number.value;
    magnitudes += static_cast<long double>(number.magnitude) * number.magnitude;
    squares += number.squares;
  }
  const auto count = static_cast<long double>(numbers.size());
  return {static_cast<double>(std::sqrt(values / count)),
          static_cast<double>(std::sqrt(magnitudes / count)),
          static_cast<double>(std::sqrt(squares / count))};
}

class Tracking {
 public:
  Tracking(const sdfg::Graph& graph, const std::vector<Values>& values, Programs* programs)
      : graph_(graph), values_(values), programs_(programs), cancelled_(graph.tensors.size()) {}

  absl::StatusOr<Cancellations> Run() {
    Cancellations found;
    found.magnitudes.resize(graph_.tensors.size(), 0);
    found.spreads.resize(graph_.tensors.size());
    for (const sdfg::Operator& op : graph_.operators) {
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        const TensorId output = op.outputs[o];
        if (output == kNone || values_[output].storage != Values::Storage::kDouble) continue;
        if (!sdfg::IsFloating(graph_.tensors[output].dtype) || values_[output].size() == 0)
          continue;
        const absl::StatusOr<const Tape*> tape = programs_->Get(op, static_cast<int>(o));
        if (!tape.ok()) return tape.status();
        if ((*tape)->moves_only && !ReadsCancelled(op)) continue;
        absl::StatusOr<Tracked> numbers = Apply(op, **tape, output);
        if (!numbers.ok()) return numbers.status();
        const Norms norms = NormsOf(*numbers);
        if (norms.value < kMuch * norms.spread) {
          for (const TrackedNumber& number : *numbers)
            found.spreads[output].push_back(static_cast<float>(std::sqrt(number.squares)));
        }
        if (!(norms.value <= kCancelled * norms.magnitude) || norms.magnitude == 0) continue;
        found.magnitudes[output] = norms.magnitude;
        cancelled_[output] = *std::move(numbers);
      }
    }
    return found;
  }

 private:
  bool ReadsCancelled(const sdfg::Operator& op) const {
    for (const TensorId input : op.inputs) {
      if (!cancelled_[input].empty()) return true;
    }
    return false;
  }

  absl::StatusOr<Tracked> Apply(const sdfg::Operator& op, const Tape& tape, TensorId output) const {
    std::vector<Tracked> made(op.inputs.size());
    std::vector<Operand<TrackedNumber>> operands;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Values& values = values_[op.inputs[i]];
      if (values.storage == Values::Storage::kInteger) {
        operands.push_back({.integers = values.integers.data()});
      } else if (const Tracked& cancelled = cancelled_[op.inputs[i]]; !cancelled.empty()) {
        operands.push_back({.reals = cancelled.data()});
      } else {
        made[i].reserve(values.doubles.size());
        for (const double value : values.doubles) made[i].emplace_back(value);
        operands.push_back({.reals = made[i].data()});
      }
    }
    Tracked result(values_[output].size());
    TapeMachine<TrackedNumber, TrackedNumber> machine(tape);
    const absl::Status status = machine.Run(operands, result.data(), nullptr);
    if (!status.ok()) return status;
    return result;
  }

  const sdfg::Graph& graph_;
  const std::vector<Values>& values_;
  Programs* const programs_;
  std::vector<Tracked> cancelled_;  // by tensor; empty: not everything cancels
};

}  // namespace

absl::StatusOr<Cancellations> CancellationsOf(const sdfg::Graph& graph,
                                              const std::vector<Values>& values,
                                              Programs* programs) {
  return Tracking(graph, values, programs).Run();
}

}  // namespace planproof::runtime_check
