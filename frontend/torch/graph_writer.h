// Adds to a graph what one rank executes: operators of the library and index functions, with the
// place in the user's program at which they stand.
#ifndef PLANPROOF_FRONTEND_TORCH_GRAPH_WRITER_H_
#define PLANPROOF_FRONTEND_TORCH_GRAPH_WRITER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "frontend/torch/number_conversion.h"
#include "frontend/torch/strided.h"
#include "frontend/torch/trace.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

using Function = std::shared_ptr<const sdfg::IndexFunction>;

// Functions that were made before, of one graph. What is in a key must determine the function.
class FunctionTable {
 public:
  absl::StatusOr<Function> Get(const std::string& key, sdfg::Graph* graph,
                               const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make);

 private:
  absl::flat_hash_map<std::string, Function> functions_;
};

// An operand: a tensor, a number, or nothing.
struct Argument {
  sdfg::TensorId tensor = sdfg::kNone;
  std::optional<solver::Rational> literal;
  // Of the number (number_conversion.h).
  sdfg::DType type = sdfg::DType::kUnknown;
  double error = 0;

  static Argument Of(sdfg::TensorId tensor) { return {tensor, std::nullopt}; }
  static Argument Number(solver::Rational literal) { return {sdfg::kNone, std::move(literal)}; }
  static Argument Number(KnownNumber number) {
    return {sdfg::kNone, std::move(number.value), number.type, number.error};
  }
  KnownNumber number() const { return {*literal, type, error}; }
};

class GraphWriter {
 public:
  // `device` is the rank, or -1 in the model. All outlive the writer.
  GraphWriter(sdfg::Graph* graph, const sdfg::OperatorLibrary* operators, sdfg::Device device,
              FunctionTable* functions)
      : graph_(graph), operators_(operators), device_(device), functions_(functions) {}

  sdfg::Graph& graph() { return *graph_; }
  sdfg::Device device() const { return device_; }
  const sdfg::Tensor& tensor(sdfg::TensorId id) const { return graph_->tensors[id]; }
  // Gives the number that the next tensor of the graph gets.
  sdfg::TensorId tensor_count() const {
    return static_cast<sdfg::TensorId>(graph_->tensors.size());
  }

  // What is added from now on stands there.
  void StandAt(const Executed& executed);
  // "layers.0.mlp: aten.mm.default, at train.py:12", for messages.
  std::string Place() const;

  // All outputs of a declared operator. Unimplemented if it is not declared for such operands.
  absl::StatusOr<std::vector<sdfg::TensorId>> Apply(const std::string& name,
                                                    const std::vector<Argument>& arguments,
                                                    const sdfg::Attributes& attributes = {});
  // The first output of the function that `make` gives; `key` determines it.
  absl::StatusOr<sdfg::TensorId> Emit(
      const std::string& name, const std::string& key,
      const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make,
      const std::vector<sdfg::TensorId>& inputs,
      sdfg::OperatorKind kind = sdfg::OperatorKind::kCompute,
      const std::vector<sdfg::Device>& group = {});
  // The elements of `tensor`, which lies as `source` says, that `view` reads (strided.h).
  absl::StatusOr<sdfg::TensorId> View(sdfg::TensorId tensor, const Strided& source,
                                      const Strided& view);
  // Its elements in row-major order in another shape, of as many elements.
  absl::StatusOr<sdfg::TensorId> Reshape(sdfg::TensorId tensor, const sdfg::Shape& shape);
  // A tensor of this shape, every element of which is `value`.
  absl::StatusOr<sdfg::TensorId> Fill(const sdfg::Shape& shape, sdfg::DType dtype,
                                      const solver::Rational& value);
  // Minus infinity, as masks have it, without dimensions.
  absl::StatusOr<sdfg::TensorId> MinusInfinity();
  // Infinity, or what is no number, without dimensions: 1 / 0, which is defined nowhere. What is
  // not read, as the branch that is not taken, may be that.
  absl::StatusOr<sdfg::TensorId> NoNumber();
  // A tensor that nothing computes yet.
  sdfg::TensorId AddTensor(std::string name, sdfg::Shape shape, sdfg::DType dtype,
                           sdfg::TensorRole role = sdfg::TensorRole::kIntermediate);
  // "layers.1.mlp: aten.mm.default", the present operator and the module that runs it.
  std::string Label() const;
  // A name for what the present operator makes: module, operator, and its number among these.
  std::string FreshName(const std::string& what);
  sdfg::SourceLocation source() const { return source_; }
  // A tensor was filled with a number that PyTorch has with this error.
  void NoteError(sdfg::TensorId tensor, double error) { errors_[tensor] = error; }
  const std::map<sdfg::TensorId, double>& errors() const { return errors_; }
  // A function of Python's was called on numbers of tensors.
  void NoteCall(RecordedCall call) { calls_.push_back(std::move(call)); }
  const std::vector<RecordedCall>& calls() const { return calls_; }
  void Assume(std::string text) { assumptions_.insert(std::move(text)); }
  // Returns what a number of the program is taken for (rounded_number.h), and lists it.
  Argument Meant(const solver::Rational& literal, const solver::Rational& meant);
  const std::set<std::string>& assumptions() const { return assumptions_; }

 private:
  absl::StatusOr<sdfg::TensorId> Extreme(bool negative);
  absl::StatusOr<std::vector<sdfg::TensorId>> AddOperator(const std::string& name,
                                                          Function function,
                                                          const std::vector<sdfg::TensorId>& inputs,
                                                          sdfg::OperatorKind kind,
                                                          const std::vector<sdfg::Device>& group);
  // Unimplemented: the operator, as it is declared, does not take what PyTorch's took.
  absl::Status WithoutMeaning(const std::string& name, const std::string& why) const;

  sdfg::Graph* graph_;
  const sdfg::OperatorLibrary* operators_;
  sdfg::Device device_;
  FunctionTable* functions_;
  std::string op_, module_, phase_;
  sdfg::SourceLocation source_;
  absl::flat_hash_map<std::string, int> names_;
  std::set<std::string> assumptions_;
  std::map<sdfg::TensorId, double> errors_;
  std::vector<RecordedCall> calls_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_GRAPH_WRITER_H_
