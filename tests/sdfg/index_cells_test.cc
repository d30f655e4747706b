// Cells of an index are few, and none of its values is left out.
#include <gtest/gtest.h>

#include "tests/sdfg/evaluated_graph.h"

namespace planproof::sdfg {
namespace {

// Row i of shard r in heads of `width` rows: every element is that of the dense evaluation, none is
// left out, and there are few cells, since after some shards a head begins with one again.
TEST(IndexCells, ShardsThatBeginInsideHeadsAreReadWholeInFewCells) {
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

}  // namespace
}  // namespace planproof::sdfg
