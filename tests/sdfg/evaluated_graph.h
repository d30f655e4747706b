// A small graph whose elements are evaluated at symbolic indices, cell by cell, and densely.
#ifndef PLANPROOF_TESTS_SDFG_EVALUATED_GRAPH_H_
#define PLANPROOF_TESTS_SDFG_EVALUATED_GRAPH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"
#include "tests/solver/term_numeric.h"

namespace planproof::sdfg {

inline constexpr int kIds = 1;  // the input tensor of integers

using ZeroUnless = std::map<TensorId, std::vector<IndexMap>>;

// Inputs are unknown values, everything else is what its producer computes.
class Inputs : public RepresentationPolicy {
 public:
  explicit Inputs(const Graph& graph, const ZeroUnless& zero_unless = {})
      : graph_(graph), zero_unless_(zero_unless) {}
  Representation Of(TensorRef t) override {
    Representation r;
    if (graph_.tensors[t.tensor].producer != kNone) return r;
    r.kind = Representation::Kind::kAtom;
    r.tag = TagOf(t.tensor);
    r.int_range = {0, solver::kIntegerTagMax};
    const auto found = zero_unless_.find(t.tensor);
    if (found != zero_unless_.end()) r.zero_unless = &found->second;
    return r;
  }
  uint32_t TagOf(TensorId t) const {
    return IsInteger(graph_.tensors[t].dtype) ? solver::kIntegerTag
                                              : static_cast<uint32_t>(std::min(t, 9));
  }
  bool IsZero(TensorId t, const std::vector<int64_t>& at) const {
    const auto found = zero_unless_.find(t);
    return found != zero_unless_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const IndexMap& form) {
             int64_t value = form.constant;
             for (const IndexTerm& term : form.terms) value += term.scale * at[term.dim];
             return value < 0;
           });
  }

 private:
  const Graph& graph_;
  const ZeroUnless zero_unless_;
};

struct Cell {
  Indices index;
  std::vector<solver::BoundVariable> symbols;
};

class EvaluatedGraph {
 public:
  Graph graph;
  ZeroUnless zero_unless;  // of inputs
  std::string trace;

  TensorId Input(Shape shape, DType dtype = DType::kFloat32) {
    Tensor t;
    t.name = "input" + std::to_string(graph.tensors.size());
    t.shape = std::move(shape);
    t.dtype = dtype;
    t.role = TensorRole::kInput;
    return graph.AddTensor(std::move(t));
  }

  // -1 if the operator does not take these operands.
  TensorId Apply(const std::string& name, const std::vector<TensorId>& inputs,
                 const Attributes& attributes = {}) {
    std::vector<Operand> operands;
    for (TensorId t : inputs)
      operands.push_back({.shape = graph.tensors[t].shape, .dtype = graph.tensors[t].dtype});
    auto f = OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes);
    if (!f.ok()) return kNone;
    trace += name + " ";
    return ApplyFunction(*f, inputs);
  }

  TensorId ApplyFunction(const IndexFunction& f, const std::vector<TensorId>& inputs) {
    Operator op;
    op.name = f.operator_name;
    op.inputs = inputs;
    for (const FunctionOutput& output : f.outputs) {
      Tensor t;
      t.name = f.operator_name + std::to_string(graph.tensors.size());
      t.shape = output.shape(f.vars);
      t.dtype = output.dtype;
      op.outputs.push_back(graph.AddTensor(std::move(t)));
    }
    const TensorId first = op.outputs[0];
    op.function = graph.Intern(f);
    graph.AddOperator(std::move(op));
    return first;
  }

  // Compares every element of the tensor. False if the evaluator gave up.
  bool Check(TensorId tensor, int* compared, int* cells_seen) {
    EXPECT_TRUE(graph.Check().ok());
    Inputs policy(graph, zero_unless);
    std::map<TensorId, DenseTensor> inputs;
    for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors.size()); ++t) {
      if (graph.tensors[t].producer != kNone) continue;
      DenseTensor value;
      value.shape = graph.tensors[t].shape;
      ForEach(value.shape, [&](const std::vector<int64_t>& at) {
        const uint32_t tag = policy.TagOf(t);
        value.data.push_back(
            IsInteger(graph.tensors[t].dtype) ? static_cast<double>(solver::IntegerValue(tag, at))
            : policy.IsZero(t, at)            ? 0
                                              : static_cast<double>(solver::ElementValue(tag, at)));
      });
      inputs[t] = std::move(value);
    }
    auto dense = EvaluateDenseGraph(graph, inputs);
    if (!dense.ok()) return false;
    const DenseTensor& expected = (*dense)[tensor];

    solver::Arena arena;
    arena.ResetExhausted(300'000);
    SymbolicEvaluator evaluator(&arena, {&graph}, &policy);
    Cell whole;
    for (int64_t extent : expected.shape) {
      solver::Symbol s = evaluator.symbols()->OfDimension(whole.index.size(), {0, extent});
      whole.symbols.push_back({s, {0, extent}});
      whole.index.push_back(solver::Affine::Of(s));
    }
    std::vector<Cell> work = {whole};
    std::set<int64_t> covered;
    int rounds = 0;
    while (!work.empty()) {
      if (++rounds > 400) return false;
      Cell cell = work.back();
      work.pop_back();
      evaluator.ClearFailure();
      auto value = evaluator.Element({0, tensor}, cell.index);
      if (!value) {
        if (evaluator.request().kind == SplitRequest::Kind::kNone) {
          last_error = evaluator.error();
          return false;
        }
        Split(evaluator.symbols(), cell, evaluator.request(), &work);
        continue;
      }
      if (arena.exhausted()) return false;
      ++*cells_seen;
      Shape extents;
      for (const auto& s : cell.symbols) extents.push_back(s.domain.length());
      ForEach(extents, [&](const std::vector<int64_t>& offset) {
        solver::FreeValues values;
        for (size_t k = 0; k < offset.size(); ++k)
          values[cell.symbols[k].symbol] = cell.symbols[k].domain.lo + offset[k];
        int64_t flat = 0;
        for (size_t d = 0; d < expected.shape.size(); ++d) {
          int64_t at = cell.index[d].constant;
          for (const auto& [s, c] : cell.index[d].terms) at += c * values.at(s);
          ASSERT_GE(at, 0) << trace;
          ASSERT_LT(at, expected.shape[d]) << trace;
          flat = flat * expected.shape[d] + at;
        }
        ASSERT_TRUE(covered.insert(flat).second) << trace << ": cells overlap";
        const double truth = expected.data[flat];
        const bool masked = solver::Evaluate(arena, value->masked, values).value > 0.5L;
        if (std::isinf(truth) || masked) {
          ASSERT_TRUE(std::isinf(truth) && truth < 0 && masked) << trace << "at " << flat;
          ++*compared;
          return;
        }
        const solver::Approximate found = solver::Evaluate(arena, value->value, values);
        if (!std::isfinite(truth) || !std::isfinite(found.value) || found.scale > 1e9L) return;
        ASSERT_NEAR(static_cast<double>(found.value), truth,
                    1e-9 * (1 + std::fabs(truth) + static_cast<double>(found.scale)))
            << trace << "at " << flat << ": " << arena.ToString(value->value, 1500);
        ++*compared;
      });
      if (testing::Test::HasFatalFailure()) return false;
    }
    EXPECT_EQ(static_cast<int64_t>(covered.size()), ElementCount(expected.shape))
        << trace << ": cells do not cover";
    return true;
  }

  std::string last_error;

 private:
  template <typename Visit>
  static void ForEach(const Shape& shape, Visit visit) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
    std::vector<int64_t> at(shape.size(), 0);
    for (;;) {
      visit(at);
      size_t d = shape.size();
      while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
      if (d == 0) return;
    }
  }

  static void Split(IndexSymbols* symbols, const Cell& cell, const SplitRequest& request,
                    std::vector<Cell>* work) {
    size_t at = 0;
    while (cell.symbols.at(at).symbol != request.symbol) ++at;
    for (const SplitPart& part : symbols->Split(request, cell.symbols[at].domain)) {
      Cell next = cell;
      next.symbols.erase(next.symbols.begin() + at);
      next.symbols.insert(next.symbols.end(), part.variables.begin(), part.variables.end());
      for (solver::Affine& e : next.index) {
        const int64_t c = e.Coefficient(request.symbol);
        if (c != 0) e = e - solver::Affine::Of(request.symbol, c) + part.replacement.Scaled(c);
      }
      work->push_back(std::move(next));
    }
  }
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_TESTS_SDFG_EVALUATED_GRAPH_H_
