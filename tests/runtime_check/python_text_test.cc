#include "runtime_check/python_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planproof::runtime_check {
namespace {

TEST(PythonText, NamesAreLettersDigitsAndUnderscores) {
  EXPECT_EQ(PythonName("plan_", "stage0:grad.x@2"), "plan_stage0_grad_x_2");
  EXPECT_EQ(PythonName("plan_", "x\"]\nimport os\n#"), "plan_x___import_os__");
  EXPECT_EQ(PythonName("plan_", "\xc3\xa4"), "plan___");
}

TEST(PythonText, CommentsStayOnTheirLineAndWithinQuotes) {
  EXPECT_EQ(PythonComment("a\nb\r\"\"\"\\\x01\xe2\x80\xa8 c"), "a?b????????? c");
  EXPECT_EQ(PythonComment("abcdef", 3), "abc...");
}

TEST(PythonText, NumbersReadBackAsTheyAre) {
  EXPECT_EQ(PythonNumber(0.1), "0.1");
  EXPECT_EQ(PythonNumber(-1.0 / 3), "-0.3333333333333333");
  EXPECT_EQ(PythonNumber(1e300), "1e+300");
  EXPECT_EQ(PythonNumber(-INFINITY), "-np.inf");
  EXPECT_EQ(PythonNumber(NAN), "np.nan");
}

}  // namespace
}  // namespace planproof::runtime_check
