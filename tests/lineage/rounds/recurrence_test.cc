// What rounds do to what they carry on: recognised by form, and told from its nearest neighbours.
#include "lineage/rounds/recurrence.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sdfg/operator_library.h"

namespace planproof::lineage::rounds {
namespace {

using sdfg::IndexFunction;
using sdfg::Shape;

// The declaration's function of operands of these shapes.
IndexFunction Declared(const std::string& text, const std::vector<Shape>& shapes) {
  sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
  const absl::Status status = library.AddDeclarations("op f" + text, "test");
  EXPECT_TRUE(status.ok()) << status;
  std::vector<sdfg::Operand> operands;
  for (const Shape& shape : shapes) {
    sdfg::Operand operand;
    operand.shape = shape;
    operand.dtype = sdfg::DType::kFloat32;
    operands.push_back(std::move(operand));
  }
  absl::StatusOr<IndexFunction> function = library.Instantiate("f", operands, {});
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? *std::move(function) : IndexFunction{};
}

IndexFunction OfTwo(const std::string& value) {
  return Declared(absl::StrCat("(x[i, j], z[i, j]) ties first -> y[i, j] = ", value),
                  {{4, 4}, {4, 4}});
}

TEST(Recurrence, ASumIsOfTwoOperandsElementByElement) {
  EXPECT_TRUE(IsSum(OfTwo("x[i, j] + z[i, j]")));
  EXPECT_TRUE(IsSum(OfTwo("z[i, j] + x[i, j]")));
  EXPECT_FALSE(IsSum(OfTwo("x[i, j] + x[i, j] + 0 * z[i, j]")));
  EXPECT_FALSE(IsSum(OfTwo("x[i, j] - z[i, j]")));
  EXPECT_FALSE(IsSum(OfTwo("x[i, j] + z[j, i]")));
  EXPECT_FALSE(IsSum(OfTwo("x[i, j] + 2 * z[i, j]")));
  EXPECT_FALSE(IsSum(OfTwo("max(x[i, j], z[i, j])")));
  EXPECT_FALSE(IsSum(Declared("(x[i, j], z[j]) -> y[i, j] = x[i, j] + z[j]", {{4, 4}, {4}})));
}

IndexFunction Larger(const std::string& value) {
  return Declared(absl::StrCat("(m[i], s[i, j]) ties first -> y[i] = ", value), {{4}, {4, 4}});
}

TEST(Recurrence, AMaximumChoosesBetweenTheOneBeforeAndWhatItReads) {
  const auto maximum = MaximumOf(Larger("max(m[i], max(j: s[i, j]))"));
  ASSERT_TRUE(maximum.has_value());
  EXPECT_EQ(maximum->before, 0);
  EXPECT_FALSE(MaximumOf(Larger("min(m[i], max(j: s[i, j]))")).has_value());
  EXPECT_FALSE(MaximumOf(Larger("m[i] + max(j: s[i, j])")).has_value());
  EXPECT_FALSE(MaximumOf(Larger("max(m[i], max(j: exp(s[i, j])))")).has_value());
  EXPECT_FALSE(MaximumOf(Larger("max(m[i], max(j: max(m[i], s[i, j])))")).has_value());
  // -infinity is no number.
  EXPECT_FALSE(MaximumOf(Larger("max(m[i], max(j: where(j <= i, s[i, j], -inf)))")).has_value());
}

TEST(Recurrence, ChoosingMakesNothingNew) {
  EXPECT_TRUE(OnlyChooses(Larger("max(j: s[i, j])")));
  EXPECT_FALSE(OnlyChooses(Larger("max(j: s[i, j]) / m[i]")));
  EXPECT_FALSE(OnlyChooses(Larger("0")));
}

IndexFunction Rescaled(const std::string& value) {
  return Declared(absl::StrCat("(l[i, d], m0[i], m1[i], p[i, j], v[j, d]) -> y[i, d] = ", value),
                  {{4, 4}, {4}, {4}, {4, 4}, {4, 4}});
}

TEST(Recurrence, ARescaledSumChangesItsScaleOnce) {
  const auto found =
      RescalingOf(Rescaled("l[i, d] * exp(m0[i] - m1[i]) + sum(j: p[i, j] * v[j, d])"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->before, 0);
  EXPECT_EQ(found->old_scale, 1);
  EXPECT_EQ(found->new_scale, 2);
  EXPECT_EQ(found->scale_dims, std::vector<int>{0});
  const auto turned =
      RescalingOf(Rescaled("sum(j: p[i, j] * v[j, d]) + exp(m0[d] - m1[d]) * l[i, d]"));
  ASSERT_TRUE(turned.has_value());
  EXPECT_EQ(turned->scale_dims, std::vector<int>{1});
  const auto back =
      RescalingOf(Rescaled("l[i, d] * exp(m1[i] - m0[i]) + sum(j: p[i, j] * v[j, d])"));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->old_scale, 2);
  for (const char* other : {
           "l[i, d] * exp(m0[i] + m1[i]) + sum(j: p[i, j] * v[j, d])",
           "l[i, d] * exp(m0[i] - m1[d]) + sum(j: p[i, j] * v[j, d])",
           "l[i, d] * exp(m0[i] - m0[i]) + sum(j: p[i, j] * v[j, d])",
           "l[d, i] * exp(m0[i] - m1[i]) + sum(j: p[i, j] * v[j, d])",
           "l[i, d] * exp(2 * (m0[i] - m1[i])) + sum(j: p[i, j] * v[j, d])",
           "l[i, d] + exp(m0[i] - m1[i]) + sum(j: p[i, j] * v[j, d])",
           "l[i, d] * exp(m0[i] - m1[i]) + sum(j: p[i, j] * l[j, d])",
           "l[i, d] * exp(m0[i] - m1[i]) + sum(j: p[i, j] * v[j, d] * exp(m0[j]))",
       }) {
    EXPECT_FALSE(RescalingOf(Rescaled(other)).has_value()) << other;
  }
}

bool Same(const IndexFunction& a, const IndexFunction& b) {
  return SameValue(a, a.outputs[0].body, b, b.outputs[0].body, [](int x, int y) { return x == y; });
}

TEST(Recurrence, ValuesAreTheSameByTheirForms) {
  const auto of = [](const std::string& value) {
    return Declared(absl::StrCat("(x[i, j], z[i, j]) ties first -> y[i, j] = ", value),
                    {{4, 4}, {4, 4}});
  };
  const IndexFunction product = of("sum(k: x[i, k] * z[k, j])");
  EXPECT_TRUE(Same(product, of("sum(t: x[i, t] * z[t, j])")));
  EXPECT_TRUE(Same(product, of("sum(k: z[k, j] * x[i, k])")));
  EXPECT_FALSE(Same(product, of("sum(k: x[i, k] * z[j, k])")));
  EXPECT_FALSE(Same(product, of("sum(k: x[j, k] * z[k, i])")));
  EXPECT_FALSE(Same(product, of("sum(k: z[i, k] * x[k, j])")));
  EXPECT_FALSE(Same(product, of("sum(k: x[i, k] * z[k, j] * 2)")));
  EXPECT_FALSE(Same(product, of("sum(k: x[i, k] + z[k, j])")));
  EXPECT_FALSE(Same(product, of("max(k: x[i, k] * z[k, j])")));
  EXPECT_FALSE(Same(of("2 * x[i, j]"), of("3 * x[i, j]")));
  EXPECT_FALSE(
      Same(of("sum(k: sum(t: x[k, t] * z[t, j]))"), of("sum(k: sum(t: x[t, k] * z[t, j]))")));
}

// f of values that are each made twice of the one before: written out they would be 2^40 parts.
std::string OfSharedParts(const std::string& operands, const std::string& start,
                          const std::string& step, const std::string& value) {
  std::string text = absl::StrCat(operands, " let a0 = ", start);
  for (int n = 1; n <= 40; ++n) {
    absl::StrAppend(&text, " let a", n, " = ",
                    absl::StrReplaceAll(step, {{"A", absl::StrCat("a", n - 1)}}));
  }
  return absl::StrCat(text, " -> y[i] = ", absl::StrReplaceAll(value, {{"A", "a40"}}));
}

// Each of these would take days if shared parts were looked at wherever they occur.
TEST(Recurrence, SharedPartsAreNotLookedAtForEachUse) {
  const std::vector<Shape> shapes = {{4}, {4, 4}};
  const IndexFunction maximum =
      Declared(OfSharedParts("(m[i], s[i, j]) ties first", "max(j: s[i, j])",
                             "max(min(A, s[i, 0]), A)", "max(m[i], A)"),
               shapes);
  EXPECT_TRUE(MaximumOf(maximum).has_value());
  const auto sum = [&](const std::string& start) {
    return Declared(OfSharedParts("(m[i], s[i, j])", start, "(A + m[i]) * (m[i] + A)", "A"),
                    shapes);
  };
  EXPECT_FALSE(Same(sum("sum(j: s[i, j])"), sum("sum(j: s[j, i])")));
}

}  // namespace
}  // namespace planproof::lineage::rounds
