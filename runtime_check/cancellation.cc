#include "runtime_check/cancellation.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime_check/matrix_product.h"
#include "runtime_check/parallel_for.h"
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
  Tracking(const sdfg::Graph& graph, const std::vector<Values>& values, Programs* programs,
           Backend* backend)
      : graph_(graph),
        values_(values),
        programs_(programs),
        backend_(backend),
        cancelled_(graph.tensors.size()) {}

  absl::StatusOr<Cancellations> Run() {
    if (absl::Status status = FindWork(); !status.ok()) return status;
    // As if no operand was one in which everything cancels; few are.
    ParallelFor(work_.size(), [this](size_t w) {
      Work& work = work_[w];
      if (!work.product.has_value() && !work.tape->moves_only) Finish(Apply(work), &work);
    });
    Cancellations found;
    found.magnitudes.resize(graph_.tensors.size(), 0);
    found.spreads.resize(graph_.tensors.size());
    for (Work& work : work_) {
      if (work.product.has_value()) {
        if (LittleCancels(work)) continue;
        Finish(Multiply(work), &work);
      } else if (ReadsCancelled(*work.op)) {
        Finish(Apply(work), &work);
      }
      if (!work.status.ok()) return work.status;
      const TensorId output = work.op->outputs[work.output];
      found.spreads[output] = std::move(work.spreads);
      found.magnitudes[output] = work.magnitude;
      cancelled_[output] = std::move(work.cancelled);
    }
    return found;
  }

 private:
  // An output of an operator, and what is found out about it.
  struct Work {
    const sdfg::Operator* op = nullptr;
    int output = 0;
    const Tape* tape = nullptr;
    std::optional<MatrixProduct> product;  // that it is
    absl::Status status;
    std::vector<float> spreads;  // as Cancellations
    double magnitude = 0;
    Tracked cancelled;
  };

  absl::Status FindWork() {
    for (const sdfg::Operator& op : graph_.operators) {
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        const TensorId output = op.outputs[o];
        if (output == kNone || values_[output].storage != Values::Storage::kDouble) continue;
        if (!sdfg::IsFloating(graph_.tensors[output].dtype) || values_[output].size() == 0)
          continue;
        const absl::StatusOr<const Tape*> tape = programs_->Get(op, static_cast<int>(o));
        if (!tape.ok()) return tape.status();
        work_.push_back({&op, static_cast<int>(o), *tape, AsMatrixProduct(**tape)});
      }
    }
    return absl::OkStatus();
  }

  static void Finish(absl::StatusOr<Tracked> numbers, Work* work) {
    work->status = numbers.status();
    work->spreads.clear();
    work->cancelled.clear();
    work->magnitude = 0;
    if (!numbers.ok()) return;
    const Norms norms = NormsOf(*numbers);
    if (norms.value < kMuch * norms.spread) {
      for (const TrackedNumber& number : *numbers)
        work->spreads.push_back(static_cast<float>(std::sqrt(number.squares)));
    }
    if (!(norms.value <= kCancelled * norms.magnitude) || norms.magnitude == 0) return;
    work->magnitude = norms.magnitude;
    work->cancelled = *std::move(numbers);
  }

  bool ReadsCancelled(const sdfg::Operator& op) const {
    for (const TensorId input : op.inputs) {
      if (!cancelled_[input].empty()) return true;
    }
    return false;
  }

  absl::StatusOr<Tracked> Apply(const Work& work) const {
    const sdfg::Operator& op = *work.op;
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
    Tracked result(values_[op.outputs[work.output]].size());
    TapeMachine<TrackedNumber, TrackedNumber> machine(*work.tape);
    const absl::Status status = machine.Run(operands, result.data(), nullptr);
    if (!status.ok()) return status;
    return result;
  }

  // Whether a sum of products is, in the root mean square, neither of what much cancels in nor of
  // what everything does. Its spread's squares add up to sums over the depth of the sum of squares
  // of the left operand's column times that of the right one's row; by Cauchy and Schwarz its
  // magnitude is at most the root of the number of terms times its spread.
  bool LittleCancels(const Work& work) const {
    const MatrixProduct& product = *work.product;
    const std::vector<double> left = SquaresOf(work.op->inputs[product.left_operand]);
    const std::vector<double> right = SquaresOf(work.op->inputs[product.right_operand]);
    std::vector<MatrixProduct::Loop> loops = product.loops;
    loops.insert(loops.end(), product.sums.begin(), product.sums.end());
    double terms = static_cast<double>(product.depth);
    for (const MatrixProduct::Loop& sum : product.sums) terms *= static_cast<double>(sum.extent);
    double squares = 0;
    std::vector<int64_t> at(loops.size(), 0);
    sdfg::Shape extents;
    for (const MatrixProduct::Loop& loop : loops) extents.push_back(loop.extent);
    for (int64_t positions = CountOf(extents); positions > 0; --positions) {
      int64_t left_at = product.left_offset, right_at = product.right_offset;
      for (size_t l = 0; l < loops.size(); ++l) {
        left_at += at[l] * loops[l].left;
        right_at += at[l] * loops[l].right;
      }
      for (int64_t k = 0; k < product.depth; ++k) {
        double rows = 0, columns = 0;
        for (int64_t r = 0; r < product.rows; ++r)
          rows += left[left_at + r * product.left_row + k * product.left_depth];
        for (int64_t c = 0; c < product.columns; ++c)
          columns += right[right_at + k * product.right_depth + c * product.right_column];
        squares += rows * columns;
      }
      Advance(extents, &at);
    }
    double values = 0;
    for (const double value : values_[work.op->outputs[work.output]].doubles)
      values += value * value;
    const double value = std::sqrt(values), spread = std::fabs(product.factor) * std::sqrt(squares);
    return std::isfinite(value) && std::isfinite(spread) && value >= kMuch * spread &&
           value > kCancelled * std::sqrt(terms) * spread;
  }

  std::vector<double> SquaresOf(TensorId id) const {
    std::vector<double> squares;
    squares.reserve(values_[id].doubles.size());
    const Tracked& cancelled = cancelled_[id];
    for (size_t i = 0; i < values_[id].doubles.size(); ++i) {
      const double value = values_[id].doubles[i];
      squares.push_back(cancelled.empty() ? value * value : cancelled[i].squares);
    }
    return squares;
  }

  // The same of a sum of products times a factor: the sum of the terms' magnitudes is what it is of
  // the operands' magnitudes, and that of squares what it is of squares, times the factor again.
  absl::StatusOr<Tracked> Multiply(const Work& work) const {
    const sdfg::Operator& op = *work.op;
    const double factor = std::fabs(work.product->factor);
    const absl::StatusOr<Values> magnitudes =
        RunOf(op, work.output, [](const TrackedNumber& number) { return number.magnitude; });
    if (!magnitudes.ok()) return magnitudes.status();
    const absl::StatusOr<Values> squares =
        RunOf(op, work.output, [](const TrackedNumber& number) { return number.squares; });
    if (!squares.ok()) return squares.status();
    const std::vector<double>& values = values_[op.outputs[work.output]].doubles;
    Tracked result;
    result.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      result.emplace_back(values[i], std::fabs(magnitudes->doubles[i]),
                          factor * std::fabs(squares->doubles[i]));
    }
    return result;
  }

  // The operator's output where `part` is what it reads of each operand's elements.
  template <typename Part>
  absl::StatusOr<Values> RunOf(const sdfg::Operator& op, int output, const Part& part) const {
    sdfg::Graph graph;
    sdfg::Operator alone;
    alone.name = op.name;
    alone.function = op.function;
    std::vector<Values> tensors;
    const auto add = [&](TensorId id) {
      sdfg::Tensor tensor;
      tensor.shape = graph_.tensors[id].shape;
      tensor.dtype = graph_.tensors[id].dtype;
      return graph.AddTensor(std::move(tensor));
    };
    for (const TensorId id : op.inputs) {
      alone.inputs.push_back(add(id));
      graph.tensors.back().role = sdfg::TensorRole::kInput;
      Values& operand = tensors.emplace_back(values_[id]);
      const Tracked& cancelled = cancelled_[id];
      for (size_t i = 0; i < operand.doubles.size(); ++i)
        operand.doubles[i] =
            part(cancelled.empty() ? TrackedNumber(operand.doubles[i]) : cancelled[i]);
    }
    alone.outputs.assign(op.outputs.size(), kNone);
    alone.outputs[output] = add(op.outputs[output]);
    tensors.emplace_back();
    graph.AddOperator(std::move(alone));
    const absl::Status status = RunGraph(
        graph, {.arithmetic = sdfg::DType::kFloat64, .backend = backend_}, programs_, &tensors);
    if (!status.ok()) return status;
    return std::move(tensors.back());
  }

  const sdfg::Graph& graph_;
  const std::vector<Values>& values_;
  Programs* const programs_;
  Backend* const backend_;
  std::vector<Work> work_;
  std::vector<Tracked> cancelled_;  // by tensor; empty: not everything cancels
};

}  // namespace

absl::StatusOr<Cancellations> CancellationsOf(const sdfg::Graph& graph,
                                              const std::vector<Values>& values, Programs* programs,
                                              Backend* backend) {
  return Tracking(graph, values, programs, backend).Run();
}

}  // namespace planproof::runtime_check
