// What samples and witnesses make of a number without its fraction.
#include "shape_reduction/opaque_functions.h"

#include <gtest/gtest.h>

#include "shape_reduction/domain_interval.h"

namespace planproof::shape_reduction {
namespace {

template <typename D>
int64_t Truncate(const typename D::Value& value, bool enclose) {
  int64_t result = 0;
  std::optional<Choice> choice;
  const std::string name = "truncate_to_int32";
  EvaluateOpaque<D>(ParseOpaqueName(name), name, {}, {value}, {}, 0, enclose, &choice, &result);
  return result;
}

TEST(Truncation, IsTowardsZero) {
  EXPECT_EQ(Truncate<DoubleDomain>(2.75, false), 2);
  EXPECT_EQ(Truncate<DoubleDomain>(-2.75, false), -2);
  EXPECT_EQ(Truncate<IntervalDomain>({2.5, 2.75}, false), 2);
  EXPECT_EQ(Truncate<IntervalDomain>({-0.5, 0.5}, false), 0);
}

TEST(Truncation, OfASumWithRoundingErrorsIsTheWholeNumberOnlyWhereTheseAreNotEnclosed) {
  EXPECT_EQ(Truncate<DoubleDomain>(7.9999999999999, false), 8);
  EXPECT_EQ(Truncate<IntervalDomain>({7.9999999999999, 7.99999999999999}, false), 7);
}

TEST(Truncation, IsNotKnownWhereTheEnclosureDoesNotDecide) {
  EXPECT_EQ(Truncate<IntervalDomain>({7.99, 8}, false), kInvalidInt);
  EXPECT_EQ(Truncate<IntervalDomain>({7.99, 8}, true), kUnknownInt);
  EXPECT_EQ(Truncate<IntervalDomain>({0, 1e300}, true), kInvalidInt);
  EXPECT_EQ(Truncate<IntervalDomain>(IntervalDomain::Invalid(), true), kInvalidInt);
}

}  // namespace
}  // namespace planproof::shape_reduction
