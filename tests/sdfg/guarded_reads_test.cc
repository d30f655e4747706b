// Reads under selections: which are seen to leave their tensor, and which are trusted.
#include "sdfg/guarded_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sdfg/index_function.h"

namespace planproof::sdfg {
namespace {

using testing::HasSubstr;

using Body = std::function<ExprId(IndexFunctionBuilder*, int x, ExprId index)>;

// What building y[extent] from x[2] by `body` says.
std::string Message(int64_t extent, const Body& body) {
  IndexFunctionBuilder builder("f");
  const int x = builder.AddInput("x", {2}, DType::kFloat32);
  const int y = builder.AddOutput("y", Shape{extent}, DType::kFloat32);
  builder.SetBody(y, body(&builder, x, builder.Index(builder.OutputDims(y)[0])));
  IndexFunction f;
  return std::string(builder.Finish(&f).message());
}

// x[i - from] where from <= i < to, else 0.
Body Placed(int64_t from, int64_t to) {
  return [from, to](IndexFunctionBuilder* b, int x, ExprId i) {
    const ExprId read = b->Element(x, {b->IntAdd(i, b->Int(-from))});
    const ExprId before_end = b->Select(b->Binary(Op::kIntLess, i, b->Int(to)), read, b->Real(0));
    return b->Select(b->Binary(Op::kIntLess, i, b->Int(from)), b->Real(0), before_end);
  };
}

TEST(GuardedReadsTest, WhatTheConditionsLetThroughMustLieInside) {
  for (const int64_t extent : {8, 100, 1'000'000'000}) {
    EXPECT_EQ(Message(extent, Placed(4, 6)), "") << extent;
    EXPECT_EQ(Message(extent, Placed(4, 5)), "") << extent;
    EXPECT_THAT(Message(extent, Placed(4, 7)),
                HasSubstr("reads input x at index 2 of dimension 0, whose extent is 2"))
        << extent;
  }
  EXPECT_EQ(Message(6, Placed(4, 100)), "");
  EXPECT_THAT(Message(7, Placed(4, 100)), HasSubstr("at index 2"));
}

TEST(GuardedReadsTest, TheOtherBranchIsReadWhereTheConditionFails) {
  const auto body = [](int64_t first) {
    return [first](IndexFunctionBuilder* b, int x, ExprId i) {
      return b->Select(b->Binary(Op::kIntLess, i, b->Int(first)), b->Real(0),
                       b->Element(x, {b->IntAdd(i, b->Int(-2))}));
    };
  };
  EXPECT_EQ(Message(4, body(2)), "");
  EXPECT_THAT(Message(4, body(1)), HasSubstr("i0 = 1 reads input x at index -1"));
}

TEST(GuardedReadsTest, ConditionsOfSeveralIndicesAreTakenTogether) {
  // x[i + v] over v < 4 where i + v < bound
  const auto body = [](int64_t bound) {
    return [bound](IndexFunctionBuilder* b, int x, ExprId i) {
      const VarId v = b->AddVar("v", 4);
      const ExprId sum = b->IntAdd(i, b->Index(v));
      return b->Reduce(
          Op::kSum, v,
          b->Select(b->Binary(Op::kIntLess, sum, b->Int(bound)), b->Element(x, {sum}), b->Real(0)));
    };
  };
  EXPECT_EQ(Message(4, body(2)), "");
  EXPECT_THAT(Message(4, body(3)), HasSubstr("reads input x at index 2"));
}

TEST(GuardedReadsTest, ConditionsOnDataAreTrusted) {
  EXPECT_EQ(
      Message(2,
              [](IndexFunctionBuilder* b, int x, ExprId i) {
                const ExprId positive = b->Binary(Op::kRealLess, b->Real(0), b->Element(x, {i}));
                return b->Select(positive, b->Element(x, {b->IntAdd(i, b->Int(1))}), b->Real(0));
              }),
      "");
}

TEST(GuardedReadsTest, WhatIsNeverReachedIsNotRead) {
  const auto outside = [](IndexFunctionBuilder* b, int x, ExprId i) {
    return b->Element(x, {b->IntAdd(i, b->Int(1))});
  };
  // No index fulfils both conditions.
  EXPECT_EQ(Message(2,
                    [&](IndexFunctionBuilder* b, int x, ExprId i) {
                      const ExprId never = b->Binary(Op::kIntLess, i, b->Int(0));
                      return b->Select(never, outside(b, x, i), b->Real(0));
                    }),
            "");
  // The sum has no terms.
  EXPECT_EQ(Message(2,
                    [&](IndexFunctionBuilder* b, int x, ExprId i) {
                      const ExprId some = b->Binary(Op::kIntLess, i, b->Int(2));
                      const ExprId read = b->Select(some, outside(b, x, i), b->Real(0));
                      return b->Reduce(Op::kSum, b->AddVar("v", 0), read);
                    }),
            "");
  // What is read for a condition has conditions of its own.
  EXPECT_EQ(Message(3,
                    [](IndexFunctionBuilder* b, int x, ExprId i) {
                      const ExprId first = b->Binary(Op::kIntLess, i, b->Int(2));
                      const ExprId read = b->Select(first, b->Element(x, {i}), b->Real(0));
                      return b->Select(b->Binary(Op::kRealLess, b->Real(0), read), read,
                                       b->Real(1));
                    }),
            "");
}

}  // namespace
}  // namespace planproof::sdfg
