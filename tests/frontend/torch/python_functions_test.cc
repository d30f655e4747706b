// Functions of numbers against what CPython 3.11 gives.
#include "frontend/torch/python_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace planproof::frontend::torch {
namespace {

// Not a number: the function has no meaning for these operands.
double Given(const std::string& function, const std::vector<double>& operands) {
  const std::optional<PythonNumber> number = PythonFunction(function, operands);
  return number ? number->value : std::nan("");
}

TEST(PythonFunctions, IntegersAreTowardsZeroAndHalvesGoToEven) {
  EXPECT_EQ(Given("int", {-2.75}), -2);
  EXPECT_EQ(Given("floor", {-2.75}), -3);
  EXPECT_EQ(Given("ceil", {-2.75}), -2);
  EXPECT_EQ(Given("round", {2.5}), 2);
  EXPECT_EQ(Given("round", {3.5}), 4);
  EXPECT_EQ(Given("abs", {-2.5}), 2.5);
}

// round(2.675, 2) is 2.67, as 2.675 is a little less; round(0.125, 2) is 0.12, to even.
TEST(PythonFunctions, DigitsAreRoundedAsTheExactDecimalIs) {
  EXPECT_EQ(Given("round", {2.675, 2}), 2.67);
  EXPECT_EQ(Given("round", {0.125, 2}), 0.12);
  EXPECT_TRUE(std::isnan(Given("round", {1234.5, -2})));
}

// A quotient that is rounded may be a whole number which the exact one does not reach.
TEST(PythonFunctions, FloorDivisionIsOfTheExactQuotient) {
  EXPECT_EQ(Given("floordiv", {1.0, 0.1}), 9);
  EXPECT_EQ(Given("floordiv", {0.7, 0.1}), 6);
  EXPECT_EQ(Given("floordiv", {-7, 2}), -4);
  EXPECT_EQ(Given("mod", {1.0, 0.1}), 0.09999999999999995);
  EXPECT_EQ(Given("mod", {-7, 3}), 2);
  EXPECT_EQ(Given("mod", {7, -3}), -2);
  EXPECT_TRUE(std::isnan(Given("mod", {7, 0})));
}

TEST(PythonFunctions, NumpysNamesAreItsOwn) {
  EXPECT_EQ(Given("numpy.sqrt", {2.25}), 1.5);
  EXPECT_EQ(Given("numpy.arctan", {1}), std::atan(1.0));
  EXPECT_EQ(Given("numpy.remainder", {-7, 3}), 2);
  EXPECT_EQ(Given("remainder", {-7, 3}), -1);
  EXPECT_EQ(Given("numpy.maximum", {-7, 3}), 3);
}

TEST(PythonFunctions, WhatIsNotKnownHasNoMeaning) {
  EXPECT_FALSE(PythonFunction("mystery", {1}));
  EXPECT_FALSE(PythonFunction("int", {0x1p53}));
  EXPECT_FALSE(PythonFunction("int", {std::nan("")}));
  EXPECT_FALSE(PythonFunction("exp", {1e4}));
  EXPECT_FALSE(PythonFunction("log", {-1}));
}

// Others' libraries may have another last bit of a logarithm, and of nothing else here.
TEST(PythonFunctions, OnlyLibrariesMayDiffer) {
  EXPECT_TRUE(PythonFunction("floor", {1.5})->exact);
  EXPECT_FALSE(PythonFunction("log", {1.5})->exact);
}

TEST(PythonValue, ExpressionsAreComputedFromItems) {
  Value item, factor, product, whole;
  item.kind = Value::Kind::kItem;
  item.item = 3;
  factor.kind = Value::Kind::kReal;
  factor.real = solver::Rational::FromDouble(1.25);
  product.kind = Value::Kind::kComputed;
  product.text = "mul";
  product.list = {item, factor};
  whole.kind = Value::Kind::kComputed;
  whole.text = "call";
  whole.function = "int";
  whole.list = {product};
  EXPECT_EQ(PythonValue(whole, {{3, 14}})->value, 17);
  EXPECT_FALSE(PythonValue(whole, {{2, 14}}));
  whole.function = "mystery";
  EXPECT_FALSE(PythonValue(whole, {{3, 14}}));
}

}  // namespace
}  // namespace planproof::frontend::torch
