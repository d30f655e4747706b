// An element evaluated at a symbolic index has, at every index of its cell, the value that dense
// evaluation of the graph gives there.
#include "sdfg/symbolic_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"
#include "tests/solver/term_numeric.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;
using solver::Interval;

constexpr int kIds = 1;  // the input tensor of integers

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
      whole.index.push_back(Affine::Of(s));
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
      for (Affine& e : next.index) {
        const int64_t c = e.Coefficient(request.symbol);
        if (c != 0) e = e - Affine::Of(request.symbol, c) + part.replacement.Scaled(c);
      }
      work->push_back(std::move(next));
    }
  }
};

class SymbolicEvaluatorTest : public testing::Test {
 protected:
  int64_t Pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  std::mt19937_64 random_{7};
};

// Chains of random operators on small tensors.
TEST_F(SymbolicEvaluatorTest, RandomGraphsAgreeWithDenseEvaluation) {
  int graphs = 0, compared = 0, cells = 0, gave_up = 0;
  std::map<std::string, int> reasons;
  for (int round = 0; round < 1500; ++round) {
    EvaluatedGraph g;
    const int64_t extents[] = {2, 3, 4, 6};
    Shape shape;
    for (int64_t rank = 1 + Pick(3); rank > 0; --rank) shape.push_back(extents[Pick(4)]);
    TensorId x = g.Input(shape);
    const int64_t steps = 1 + Pick(5);
    for (int64_t step = 0; step < steps; ++step) {
      const Shape now = g.graph.tensors[x].shape;
      const int64_t rank = static_cast<int64_t>(now.size());
      const int64_t dim = rank > 0 ? Pick(rank) : 0, other = rank > 0 ? Pick(rank) : 0;
      TensorId next = kNone;
      if (rank == 0) break;
      switch (Pick(24)) {
        case 0:
        case 1: {
          // Another shape of the same size.
          int64_t count = ElementCount(now);
          std::vector<int64_t> to;
          for (int64_t part : {2, 3, 2}) {
            if (count % part == 0 && Pick(2) == 0) {
              to.push_back(part);
              count /= part;
            }
          }
          to.insert(to.begin() + Pick(static_cast<int64_t>(to.size()) + 1), count);
          next = g.Apply("view", {x}, {{"size", to}});
          if (next == kNone) next = g.Apply("reshape", {x}, {{"shape", to}});
          break;
        }
        case 2:
        case 3:
          next = g.Apply("transpose", {x}, {{"dim0", dim}, {"dim1", other}});
          break;
        case 4: {
          const int64_t start = Pick(now[dim]);
          next =
              g.Apply("slice", {x},
                      {{"dim", dim}, {"start", start}, {"stop", now[dim]}, {"step", 1 + Pick(2)}});
          break;
        }
        case 5:
          next = g.Apply("flip", {x}, {{"dims", std::vector<int64_t>{dim}}});
          break;
        case 6: {
          Shape more = now;
          more[dim] = 1 + Pick(3);
          next = g.Apply("concat", {x, g.Input(more)}, {{"dim", dim}});
          break;
        }
        case 7:
          next = g.Apply("concat", {x, x}, {{"dim", dim}});
          break;
        case 8:
          next = g.Apply("pad", {x}, {{"pad", std::vector<int64_t>{Pick(2), Pick(3)}}});
          break;
        case 9:
          next = g.Apply("softmax", {x}, {{"dim", dim}});
          break;
        case 10:
          next =
              g.Apply("layer_norm", {x}, {{"normalized_shape", std::vector<int64_t>{now.back()}}});
          break;
        case 11:
          next = g.Apply("rms_norm", {x, g.Input({now.back()})});
          break;
        case 12:
          next = g.Apply("linear", {x, g.Input({1 + Pick(3), now.back()})});
          break;
        case 13:
          next = g.Apply("sum", {x}, {{"dim", dim}, {"keepdim", Pick(2) == 0}});
          break;
        case 14:
          next = g.Apply("mean", {x}, {{"dim", dim}, {"keepdim", Pick(2) == 0}});
          break;
        case 15:
          next = g.Apply("mul", {x, x});
          break;
        case 16:
          next = g.Apply("add", {x, g.Input(now)});
          break;
        case 17:
          next = g.Apply("causal_mask", {x});
          if (next != kNone) next = g.Apply("softmax", {next}, {{"dim", int64_t{-1}}});
          break;
        case 18:
          next = g.Apply(Pick(2) == 0 ? "relu" : "silu", {x});
          break;
        case 19: {
          if (rank != 2) break;
          next = g.Apply("embedding", {g.Input({2, 3}, DType::kInt64), x},
                         {{"start", Pick(3)}, {"stop", int64_t{}}});
          if (next == kNone) next = g.Apply("embedding", {g.Input({5}, DType::kInt64), x});
          break;
        }
        case 20:
          next = g.Apply("repeat_interleave", {x}, {{"repeats", int64_t{2}}, {"dim", dim}});
          break;
        case 21:
          next = g.Apply("unsqueeze", {x}, {{"dim", dim}});
          break;
        case 22:
          next = g.Apply("max", {x}, {{"dim", dim}});
          break;
        default:
          next = g.Apply("log_softmax", {x}, {{"dim", dim}});
      }
      if (next != kNone) x = next;
      if (ElementCount(g.graph.tensors[x].shape) > 200) break;
    }
    if (g.graph.tensors[x].producer == kNone) continue;
    ++graphs;
    if (!g.Check(x, &compared, &cells)) {
      ++gave_up;
      ++reasons[g.last_error.substr(0, 60)];
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  for (const auto& [reason, n] : reasons) RecordProperty(reason.empty() ? "limit" : reason, n);
  EXPECT_GT(graphs, 1000);
  EXPECT_GT(compared, 10'000);
  EXPECT_GT(cells, graphs);  // some are split
  EXPECT_LT(gave_up, graphs / 20);
}

// What is known to be zero in a part is read so at whatever index.
TEST_F(SymbolicEvaluatorTest, PartsThatAreZeroAreReadAsZero) {
  int compared = 0, cells = 0, zeros = 0;
  for (int round = 0; round < 200; ++round) {
    EvaluatedGraph g;
    const TensorId x = g.Input({4, 6}), w = g.Input({6, 3});
    for (int64_t forms = 1 + Pick(2); forms > 0; --forms) {
      IndexMap form;
      form.constant = Pick(5) - 2;
      for (const int32_t d : {0, 1}) form.terms.push_back({d, Pick(5) - 2});
      g.zero_unless[x].push_back(form);
    }
    TensorId y = x;
    if (Pick(2) == 0) y = g.Apply("mul", {y, y});
    if (Pick(2) == 0) y = g.Apply("matmul", {y, w});
    if (Pick(2) == 0) y = g.Apply("transpose", {y}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    if (Pick(3) == 0) y = g.Apply("sum", {y}, {{"dim", int64_t{0}}});
    ASSERT_NE(y, kNone);
    EXPECT_TRUE(g.Check(y, &compared, &cells)) << g.last_error;
    ASSERT_FALSE(HasFailure()) << "round " << round;
    Inputs policy(g.graph, g.zero_unless);
    for (int64_t e = 0; e < 24; ++e) zeros += policy.IsZero(x, {e / 6, e % 6}) ? 1 : 0;
  }
  EXPECT_GT(compared, 2000);
  EXPECT_GT(zeros, 1000);
  EXPECT_LT(zeros, 4000);
}

// Reads at an index that is data, with and without a guard.
TEST_F(SymbolicEvaluatorTest, UnguardedDataMustBeInRange) {
  for (const int64_t extent : {int64_t{3}, solver::kIntegerTagMax + 1}) {
    for (const bool guarded : {false, true}) {
      EvaluatedGraph g;
      const TensorId w = g.Input({extent}), ids = g.Input({4}, DType::kInt64);
      ASSERT_EQ(ids, kIds);
      IndexFunctionBuilder b("gather");
      const int wi = b.AddInput("w", {extent}, DType::kFloat32);
      const int ii = b.AddInput("id", {4}, DType::kInt64);
      const int y = b.AddOutput("y", Shape{4}, DType::kFloat32);
      const ExprId id = b.IntElement(ii, {b.Index(b.OutputDims(y)[0])});
      ExprId body = b.Element(wi, {id});
      if (guarded) body = b.Select(b.Binary(Op::kIntLess, id, b.Int(extent)), body, b.Real(0));
      b.SetBody(y, body);
      IndexFunction f;
      ASSERT_TRUE(b.Finish(&f).ok());
      const TensorId out = g.ApplyFunction(f, {w, ids});
      Inputs policy(g.graph);
      solver::Arena arena;
      SymbolicEvaluator evaluator(&arena, {&g.graph}, &policy);
      const solver::Symbol i = arena.NewFree(0, 3);
      const bool evaluated = evaluator.Element({0, out}, {Affine::Of(i)}).has_value();
      EXPECT_EQ(evaluated, guarded || extent > solver::kIntegerTagMax)
          << extent << " " << guarded << " " << evaluator.error();
      if (!evaluated) continue;
      int compared = 0, cells = 0;
      EXPECT_TRUE(g.Check(out, &compared, &cells));
      EXPECT_EQ(compared, 4);
    }
  }
}

// Row i of shard r in heads of `width` rows: every element is that of the dense evaluation, none is
// left out, and there are few cells, since after some shards a head begins with one again.
TEST_F(SymbolicEvaluatorTest, ShardsThatBeginInsideHeadsAreReadWholeInFewCells) {
  struct Case {
    int64_t ranks, rows, width, most;
  };
  for (const Case& c : {Case{64, 80, 128, 24}, Case{64, 48, 128, 24}, Case{16, 6, 8, 12},
                        Case{8, 3, 8, 20}, Case{12, 10, 8, 12}, Case{7, 5, 4, 24},
                        Case{5, 12, 7, 64}, Case{9, 7, 3, 64}, Case{4, 9, 16, 16}}) {
    EvaluatedGraph g;
    const int64_t heads = (c.ranks * c.rows + c.width - 1) / c.width;
    const TensorId x = g.Input({heads, c.width});
    IndexFunctionBuilder b("shards");
    const int in = b.AddInput("x", {heads, c.width}, DType::kFloat32);
    const int y = b.AddOutput("y", Shape{c.ranks, c.rows}, DType::kFloat32);
    const ExprId row =
        b.IntAdd(b.IntScale(c.rows, b.Index(b.OutputDims(y)[0])), b.Index(b.OutputDims(y)[1]));
    b.SetBody(y, b.Element(in, {b.IntDiv(row, c.width), b.IntMod(row, c.width)}));
    IndexFunction f;
    ASSERT_TRUE(b.Finish(&f).ok());
    const TensorId out = g.ApplyFunction(f, {x});
    int compared = 0, cells = 0;
    g.trace = ToString(f) + " ";
    EXPECT_TRUE(g.Check(out, &compared, &cells)) << c.ranks << " " << c.rows << " " << c.width;
    EXPECT_EQ(compared, c.ranks * c.rows);
    EXPECT_LE(cells, c.most) << c.ranks << " " << c.rows << " " << c.width;
  }
}

// Positions, digits of sums and comparisons of two variables.
TEST_F(SymbolicEvaluatorTest, RandomIndexExpressionsAgreeWithDenseEvaluation) {
  int compared = 0, cells = 0, gave_up = 0;
  const int rounds = 1500;
  for (int round = 0; round < rounds; ++round) {
    EvaluatedGraph g;
    const TensorId x = g.Input({12});
    IndexFunctionBuilder b("mixed");
    const int in = b.AddInput("x", {12}, DType::kFloat32);
    const int y = b.AddOutput("y", Shape{1 + Pick(6), 1 + Pick(4)}, DType::kFloat32);
    const VarId k = b.AddVar("k", 1 + Pick(6)), m = b.AddVar("m", 1 + Pick(3));
    std::vector<ExprId> scope = {b.Index(b.OutputDims(y)[0]), b.Index(b.OutputDims(y)[1])};
    auto integer = [&] {
      ExprId e = b.Int(Pick(7) - 3);
      for (int64_t n = 1 + Pick(3); n > 0; --n) {
        ExprId v = b.IntScale(Pick(7) - 2, scope[Pick(static_cast<int64_t>(scope.size()))]);
        e = b.IntAdd(e, v);
        if (Pick(4) == 0) e = b.IntDiv(e, 2 + Pick(3));
        if (Pick(4) == 0) e = b.IntMod(e, 2 + Pick(4));
      }
      return e;
    };
    auto condition = [&] {
      const Op ops[] = {Op::kIntLess, Op::kIntLessEq, Op::kIntEq};
      ExprId c = b.Binary(ops[Pick(3)], integer(), integer());
      if (Pick(3) == 0)
        c = b.Binary(Pick(2) == 0 ? Op::kAnd : Op::kOr, c,
                     b.Binary(ops[Pick(3)], integer(), integer()));
      return Pick(4) == 0 ? b.Unary(Op::kNot, c) : c;
    };
    auto value = [&] {
      ExprId e = b.Element(in, {b.IntMod(integer(), 12)});
      if (Pick(3) == 0) e = b.Binary(Op::kMul, e, b.Unary(Op::kPosition, integer()));
      if (Pick(2) == 0) e = b.Select(condition(), e, b.Element(in, {b.IntMod(integer(), 12)}));
      if (Pick(3) == 0) e = b.Binary(Op::kMul, e, b.Unary(Op::kIndicator, condition()));
      return e;
    };
    scope.push_back(b.Index(k));
    scope.push_back(b.Index(m));
    ExprId inner = b.Reduce(Op::kSum, m, value());
    scope.pop_back();
    inner = b.Binary(Op::kMul, inner, value());
    ExprId body = b.Reduce(Pick(4) == 0 ? Op::kReduceMax : Op::kSum, k, inner);
    scope.pop_back();
    b.SetBody(y, b.Binary(Op::kAdd, body, value()));
    IndexFunction f;
    if (!b.Finish(&f).ok()) continue;
    const TensorId out = g.ApplyFunction(f, {x});
    g.trace = ToString(f) + " ";
    gave_up += !g.Check(out, &compared, &cells);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(compared, 3000);
  EXPECT_LT(gave_up, rounds * 2 / 3);
}

}  // namespace
}  // namespace planproof::sdfg
