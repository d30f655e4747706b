// Builds a logical chain of operators together with a sharded version of it.
//
// Every value lives on all devices: whole on each, or as boxes that cover one dimension, or as
// terms of a sum. Steps know for which of these layouts they are right, and go to another layout
// first where they are not. Each place where a plan could go wrong asks Fault() once; the builder
// makes one of them wrong on request.
#ifndef PLANPROOF_TESTS_RANDOM_PLAN_BUILDER_H_
#define PLANPROOF_TESTS_RANDOM_PLAN_BUILDER_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"

namespace planproof::random_tests {

struct Piece {
  sdfg::TensorId tensor = sdfg::kNone;  // parallel
  std::vector<int64_t> start;           // of the box of the logical tensor
  sdfg::Shape shape;
};

struct Value {
  sdfg::TensorId logical = sdfg::kNone;
  sdfg::Shape shape;
  int cut = -1;               // dimension along which the pieces lie; -1: whole on every device
  std::vector<Piece> pieces;  // one per device
  int rank() const { return static_cast<int>(shape.size()); }
  int last() const { return rank() - 1; }
};

class PlanBuilder {
 public:
  // `faulty`: the number of the place that goes wrong, -1: none.
  PlanBuilder(uint64_t seed, int faulty);

  Value Start();
  // One random step that fits.
  Value Step(const Value& x);
  void Require(const Value& x);

  lineage::Problem TakeProblem();
  int places() const { return places_; }
  const std::string& steps() const { return steps_; }
  const std::string& fault() const { return fault_; }
  int64_t longest_interval() const { return longest_; }

 private:
  // Layouts
  std::vector<int64_t> RandomCuts(int64_t extent);  // bounds, 0 and extent included
  Value Whole(const Value& x);                      // gathers
  Value Cut(const Value& x, int dim);               // of a whole value: each device takes its slice
  // The sum of all devices' terms, on every device; `shape` of each.
  Value Reduced(sdfg::TensorId logical, const sdfg::Shape& shape,
                const std::vector<sdfg::TensorId>& terms, sdfg::ReduceKind kind);

  // Steps
  Value Elementwise(const Value& x);
  Value WithOperand(const Value& x);
  Value Scaled(const Value& x);
  Value Linear(const Value& x);
  Value Product(const Value& x);
  Value Normalized(const Value& x);
  Value Reduce(const Value& x);
  Value Transposed(const Value& x);
  Value Merged(const Value& x);
  Value Split(const Value& x);
  Value Sliced(const Value& x);
  Value Joined(const Value& x);
  Value Resharded(const Value& x);

  // A new logical input, and the box of it that a device needs.
  sdfg::TensorId Input(const std::string& name, const sdfg::Shape& shape, bool parameter);
  sdfg::TensorId Box(sdfg::TensorId logical, const std::vector<int64_t>& start,
                     const sdfg::Shape& shape, int device);

  sdfg::TensorId Logical(const std::string& name, const std::vector<sdfg::TensorId>& inputs,
                         const sdfg::Attributes& attributes = {});
  sdfg::TensorId On(int device, const std::string& name, const std::vector<sdfg::TensorId>& inputs,
                    const sdfg::Attributes& attributes = {});
  sdfg::TensorId OnWithNumber(int device, const std::string& name, sdfg::TensorId input,
                              const solver::Rational& number);
  sdfg::TensorId Slice(int device, sdfg::TensorId tensor, int dim, int64_t start, int64_t length);
  sdfg::TensorId Collective(int device, sdfg::IndexFunction function,
                            const std::vector<sdfg::TensorId>& inputs);
  sdfg::TensorId Apply(sdfg::Graph* graph, sdfg::IndexFunction function,
                       const std::vector<sdfg::TensorId>& inputs, int device, bool collective);
  const sdfg::Shape& ShapeOf(sdfg::TensorId parallel) const;
  lineage::Lineage BoxLineage(sdfg::TensorId logical, const std::vector<int64_t>& start) const;
  Value Named(Value value);  // proposes lineages for its pieces

  bool Fault(const std::string& what);
  int64_t Pick(int64_t low, int64_t high);
  bool Coin() { return Pick(0, 1) == 1; }

  lineage::Problem problem_;
  std::mt19937_64 random_;
  int devices_ = 2;
  int faulty_ = -1, places_ = 0, names_ = 0;
  int64_t longest_ = 0;
  std::string steps_, fault_;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_PLAN_BUILDER_H_
