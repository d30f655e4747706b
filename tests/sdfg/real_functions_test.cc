// Values that evaluators in floating point have of functions that proofs leave open.
#include "sdfg/real_functions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planproof::sdfg {
namespace {

TEST(RealFunctions, HaveTheirValues) {
  EXPECT_EQ(RealFunctionValue("floor", {-1.5}), -2);
  EXPECT_EQ(RealFunctionValue("round(decimals=0)", {2.5}), 2);
  EXPECT_EQ(RealFunctionValue("round(decimals=0)", {3.5}), 4);
  EXPECT_DOUBLE_EQ(*RealFunctionValue("round(decimals=1)", {0.26}), 0.3);
  EXPECT_DOUBLE_EQ(*RealFunctionValue("round(decimals=-1)", {26}), 30);
  EXPECT_DOUBLE_EQ(*RealFunctionValue("atan2", {-1, -1}), -2.356194490192345);
  EXPECT_EQ(RealFunctionValue("sinc", {0}), 1);
  EXPECT_EQ(RealFunctionValue("bits(of=bfloat16,as=float16)", {1.001}), 1.875);
  EXPECT_TRUE(std::isnan(*RealFunctionValue("bits(of=float16,as=bfloat16)", {1e9})));
}

TEST(RealFunctions, OthersHaveNone) {
  EXPECT_FALSE(RealFunctionValue("python_floor", {1}));
  EXPECT_FALSE(RealFunctionValue("floor", {1, 2}));
  EXPECT_FALSE(RealFunctionValue("atan2", {1}));
  EXPECT_EQ(NumpyCallOf("python_floor"), "");
}

TEST(RealFunctions, AreCalledByNumpy) {
  EXPECT_EQ(NumpyCallOf("atan2"), "np.arctan2(");
  EXPECT_EQ(NumpyCallOf("floor"), "np.floor(");
}

}  // namespace
}  // namespace planproof::sdfg
