// Represents one executed ATen operator: its arguments by name, and what it gives.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_CALL_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_CALL_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torch/aten_schema.h"
#include "frontend/torch/graph_writer.h"
#include "frontend/torch/memory.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// A result: a tensor, or one number as every element.
using AtenResult = Argument;

class AtenCall {
 public:
  // Numbers that Python read: of which tensor each is the value, or which number it is known to be.
  struct Items {
    std::map<int32_t, AtenResult> values;
    std::map<int32_t, double> recorded;  // what they were; those that are finite
  };

  // All outlive the call.
  AtenCall(const Trace& trace, const Executed& executed, const AtenSchema& schema,
           const Items& items, Memory* memory, GraphWriter* writer);

  // InvalidArgument unless arguments are of the kinds that the signature has, those that must be
  // given are, and a result has the type that an argument names.
  absl::Status CheckArguments() const;

  // The argument; what the signature says if it was left out. Of kind kNone if it has no such
  // parameter.
  const Value& operator[](std::string_view name) const;
  bool Has(std::string_view name) const { return (*this)[name].kind != Value::Kind::kNone; }
  // As an operand. A tensor all of whose elements are one number known beforehand is a literal if
  // it has no dimensions.
  absl::StatusOr<Argument> Operand(std::string_view name) const { return OperandOf((*this)[name]); }
  absl::StatusOr<Argument> OperandOf(const Value& value) const;
  absl::StatusOr<sdfg::TensorId> TensorOf(std::string_view name) const;
  absl::StatusOr<std::vector<sdfg::TensorId>> Tensors(std::string_view name) const;
  // Shape and type of a tensor argument, without reading it.
  const Tensor& Described(std::string_view name) const;
  bool IsTensor(std::string_view name) const { return (*this)[name].kind == Value::Kind::kTensor; }
  absl::StatusOr<int64_t> Integer(std::string_view name, std::optional<int64_t> otherwise) const;
  absl::StatusOr<bool> Boolean(std::string_view name, bool otherwise) const;
  absl::StatusOr<solver::Rational> Real(std::string_view name,
                                        const solver::Rational& otherwise) const;
  // A number by which elements of that type are multiplied, or to which they are compared, and
  // which PyTorch converts to their type before.
  absl::StatusOr<solver::Rational> RealIn(sdfg::DType dtype, std::string_view name,
                                          const solver::Rational& otherwise) const;
  // Unimplemented if it is no list, or was left out.
  absl::StatusOr<std::vector<int64_t>> Integers(std::string_view name) const;
  // The element type that the argument names; kUnknown if it was left out.
  absl::StatusOr<sdfg::DType> Type(std::string_view name) const;
  // As an attribute of a declared operator.
  absl::StatusOr<sdfg::AttributeValue> Attribute(std::string_view name) const;

  // What is returned or written: tensors in the order of results, nested lists flattened.
  const std::vector<TensorNumber>& targets() const { return targets_; }
  const Tensor& target(size_t number) const { return trace_.tensors[targets_[number]]; }

  // All outputs of a declared operator.
  absl::StatusOr<std::vector<sdfg::TensorId>> Apply(const std::string& name,
                                                    const std::vector<Argument>& arguments,
                                                    const sdfg::Attributes& attributes = {});
  // The first one, as an operand of the next.
  absl::StatusOr<Argument> One(const std::string& name, const std::vector<Argument>& arguments,
                               const sdfg::Attributes& attributes = {});
  // The tensor in another type. A whole number that was converted to a real one is itself again.
  absl::StatusOr<sdfg::TensorId> Converted(sdfg::TensorId value, sdfg::DType dtype);
  // The number or tensor in that type (number_conversion.h). Unimplemented where that is not known.
  absl::StatusOr<Argument> InType(Argument value, sdfg::DType dtype);
  // The tensor broadcast to a shape; a dimension of extent 1 too many at its front is dropped.
  absl::StatusOr<sdfg::TensorId> Broadcast(sdfg::TensorId value, const sdfg::Shape& shape);
  // Whether nobody wrote any of the memory of a tensor argument.
  absl::StatusOr<bool> IsUnwritten(std::string_view name);
  // A result of the target's shape.
  void Return(AtenResult result) { results_.push_back({std::move(result), false}); }
  // One that is broadcast to it, as by copies, and where one number fills a tensor.
  void ReturnBroadcast(AtenResult result) { results_.push_back({std::move(result), true}); }
  // Writes the results that there are so far to their targets, converted to their types: of a list
  // in place, one element is written before the next is computed.
  absl::Status StoreSoFar();
  // The same of all results; there must be one for each target.
  absl::Status Store();

  // Unimplemented if an argument was given that nobody has read and that is not among these.
  absl::Status CheckAllRead(const std::set<std::string, std::less<>>& without_meaning) const;

  // Unimplemented: what the operator does with this argument has no declared meaning.
  absl::Status NotDeclared(const std::string& what) const;
  GraphWriter& writer() { return *writer_; }
  const Executed& executed() const { return executed_; }

 private:
  struct Result {
    AtenResult value;
    bool broadcast = false;
  };

  // `recorded`: what the expression was in the recording; null: that is not known.
  absl::StatusOr<Argument> Computed(const Value& value, const solver::Rational* recorded) const;
  void NoteCall(const Value& value, const solver::Rational* recorded, sdfg::TensorId result) const;
  absl::StatusOr<sdfg::TensorId> InShape(const Result& result, sdfg::TensorId value,
                                         const sdfg::Shape& shape);
  absl::Status Malformed(const std::string& what) const;

  const Trace& trace_;
  const Executed& executed_;
  const AtenSchema& schema_;
  const Items& items_;
  Memory* memory_;
  GraphWriter* writer_;
  std::map<std::string, const Value*, std::less<>> values_;  // that were given
  mutable std::set<std::string, std::less<>> read_;          // names of parameters
  bool beyond_ = false;  // more arguments were given than the operator has parameters
  bool twice_ = false;   // one was given in order and by name
  std::vector<TensorNumber> targets_;
  std::vector<Result> results_;
  size_t stored_ = 0;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_CALL_H_
