#include "sdfg/index_algebra.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"

namespace planproof::sdfg {
namespace {

using B = IndexFunctionBuilder;

// A random integer expression over the variables; the builder only folds constants.
ExprId RandomExpression(B* b, const std::vector<VarId>& vars, int depth, std::mt19937* random) {
  const auto pick = [random](int n) { return static_cast<int>((*random)() % n); };
  if (depth == 0) {
    return pick(4) == 0 ? b->Int(pick(9) - 4) : b->Index(vars[pick(static_cast<int>(vars.size()))]);
  }
  const ExprId a = RandomExpression(b, vars, depth - 1, random);
  switch (pick(5)) {
    case 0:
      return b->IntAdd(a, RandomExpression(b, vars, depth - 1, random));
    case 1: {
      const int factors[] = {-2, -1, 2, 3, 4, 6, 12};
      return b->IntScale(factors[pick(7)], a);
    }
    case 2:
      return b->IntDiv(a, 1 + pick(6));
    case 3:
      return b->IntMod(a, 1 + pick(6));
    default:
      return b->IntAdd(a, b->IntScale(1 + pick(4), b->Index(vars[0])));
  }
}

TEST(IndexAlgebraTest, SmallFormsHaveTheSameValues) {
  int changed = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    B b("f");
    const Shape shape = {1 + static_cast<int64_t>(random() % 12),
                         1 + static_cast<int64_t>(random() % 4),
                         1 + static_cast<int64_t>(random() % 3)};
    const int original = b.AddOutput("original", shape, DType::kInt64);
    const int rewritten = b.AddOutput("rewritten", shape, DType::kInt64);
    const std::vector<VarId> vars = b.OutputDims(original);
    const ExprId e = RandomExpression(&b, vars, 4, &random);
    b.SetBody(original, e);
    // The same expression over the other output's variables, built by the algebra.
    IndexAlgebra algebra(&b);
    std::vector<ExprId> copies;
    for (ExprId id = 0; id <= e; ++id) {
      const Node node = b.node(id);
      ExprId copy = id;
      switch (node.op) {
        case Op::kIndex:
          copy = b.Index(b.OutputDims(rewritten)[node.var - vars[0]]);
          break;
        case Op::kIntAdd:
          copy = algebra.Add(copies[node.args[0]], copies[node.args[1]]);
          break;
        case Op::kIntScale:
          copy = algebra.Scale(node.value, copies[node.args[0]]);
          break;
        case Op::kIntDiv:
          copy = algebra.Div(copies[node.args[0]], node.value);
          break;
        case Op::kIntMod:
          copy = algebra.Mod(copies[node.args[0]], node.value);
          break;
        default:
          break;
      }
      copies.push_back(copy);
    }
    b.SetBody(rewritten, copies[e]);
    IndexFunction f;
    ASSERT_TRUE(b.Finish(&f).ok());
    const auto values = EvaluateDense(f, {});
    ASSERT_TRUE(values.ok());
    ASSERT_EQ((*values)[0].data, (*values)[1].data) << "seed " << seed << "\n" << ToString(f);
    changed += f.nodes[f.outputs[0].body].op != f.nodes[f.outputs[1].body].op;
  }
  EXPECT_GT(changed, 100);  // the rewrites were exercised
}

TEST(IndexAlgebraTest, DigitsOfOneValueJoin) {
  B b("f");
  IndexAlgebra algebra(&b);
  const ExprId i = b.Index(b.AddVar("i", 24));
  const ExprId high = algebra.Div(i, 12);
  const ExprId middle = algebra.Mod(algebra.Div(i, 4), 3);
  const ExprId low = algebra.Mod(i, 4);
  EXPECT_EQ(algebra.Add(algebra.Scale(12, high), algebra.Add(algebra.Scale(4, middle), low)), i);
  EXPECT_EQ(algebra.Div(algebra.Mod(i, 12), 4), middle);
  EXPECT_EQ(algebra.Mod(algebra.Mod(i, 12), 4), low);
  EXPECT_EQ(algebra.Div(algebra.Div(i, 4), 3), high);
}

TEST(IndexAlgebraTest, OverflowIsNoticed) {
  B b("f");
  IndexAlgebra algebra(&b);
  ExprId i = b.Index(b.AddVar("i", 10));
  for (int round = 0; round < 3; ++round) i = algebra.Scale(int64_t{1} << 30, i);
  EXPECT_TRUE(algebra.overflowed());
}

// d_x of y[i...] = x[e_0(i), e_1(i)] against the definition, by scattering.
TEST(IndexInversionTest, GradientsOfRandomReadsScatterEachElementOnce) {
  int without_equations = 0;
  constexpr int kSeeds = 3000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    B b("read");
    Shape shape;
    for (size_t rank = 1 + random() % 3; shape.size() < rank;) {
      shape.push_back(1 + static_cast<int64_t>(random() % 8));
    }
    const Shape extents = {1 + static_cast<int64_t>(random() % 12),
                           1 + static_cast<int64_t>(random() % 6)};
    const int x = b.AddInput("x", extents, DType::kFloat64);
    const int y = b.AddOutput("y", shape, DType::kFloat64);
    const int index0 = b.AddOutput("index0", shape, DType::kInt64);
    const int index1 = b.AddOutput("index1", shape, DType::kInt64);
    const unsigned expression_seed = random();
    const int depth = static_cast<int>(random() % 4);
    // The same two index expressions over the variables of each output.
    const auto indices = [&](int output) {
      std::mt19937 same(expression_seed);
      const std::vector<VarId> vars = b.OutputDims(output);
      std::vector<ExprId> result;
      for (int64_t extent : extents) {
        result.push_back(b.IntMod(RandomExpression(&b, vars, depth, &same), extent));
      }
      return result;
    };
    b.SetBody(y, b.Element(x, indices(y)));
    b.SetBody(index0, indices(index0)[0]);
    b.SetBody(index1, indices(index1)[1]);
    IndexFunction f;
    const absl::Status status = b.Finish(&f);
    ASSERT_TRUE(status.ok()) << status;
    const DenseTensor ones{extents, std::vector<double>(ElementCount(extents), 1)};
    const auto values = EvaluateDense(f, {ones});
    ASSERT_TRUE(values.ok());
    DenseTensor gradient{shape, std::vector<double>(ElementCount(shape))};
    std::vector<double> expected(ElementCount(extents), 0);
    for (size_t i = 0; i < gradient.data.size(); ++i) {
      gradient.data[i] = 1 << (i % 20);
      const auto row = static_cast<int64_t>((*values)[1].data[i]);
      expected[row * extents[1] + static_cast<int64_t>((*values)[2].data[i])] += gradient.data[i];
    }
    const auto derivative = Differentiate(f, {0}, {0});
    ASSERT_TRUE(derivative.ok()) << derivative.status() << "\n" << ToString(f);
    const auto scattered = EvaluateDense(*derivative, {ones, gradient});
    ASSERT_TRUE(scattered.ok()) << scattered.status() << "\n"
                                << ToString(f) << "\n"
                                << ToString(*derivative);
    ASSERT_EQ((*scattered)[0].data, expected) << "seed " << seed << "\n"
                                              << ToString(f) << "\n"
                                              << ToString(*derivative);
    without_equations += ToString(*derivative).find('[') != std::string::npos &&
                         ToString(*derivative).find("] *") == std::string::npos;
  }
  EXPECT_GT(without_equations, kSeeds / 2);  // most reads are inverted, not searched for
}

}  // namespace
}  // namespace planproof::sdfg
