// Names with wildcards.
#include "dumps/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planproof::dumps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NamePattern Pattern(const std::string& text) {
  absl::StatusOr<NamePattern> pattern = NamePattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *std::move(pattern);
}

TEST(NamePattern, AStarStandsForAnything) {
  EXPECT_TRUE(Pattern("*.weight").Matches("layers.0.weight"));
  EXPECT_TRUE(Pattern("a*b").Matches("ab"));
  EXPECT_TRUE(Pattern("*").Matches(""));
  EXPECT_FALSE(Pattern("a*b").Matches("abc"));
  EXPECT_FALSE(Pattern("a*b").Matches("cab"));
  EXPECT_FALSE(Pattern("a.b").Matches("axb"));
  EXPECT_TRUE(Pattern("*a*b").Matches("xabab"));
}

TEST(NamePattern, ANumberIsAllOfItsDigits) {
  EXPECT_THAT(*Pattern("layers.{n}.*").Match("layers.12.mlp"), ElementsAre("12", "mlp"));
  EXPECT_FALSE(Pattern("layers.{n}.*").Matches("layers.x.mlp"));
  EXPECT_FALSE(Pattern("layers.1{n}").Matches("layers.12"));
  EXPECT_THAT(*Pattern("*{n}").Match("layer12"), ElementsAre("layer", "12"));
  EXPECT_FALSE(Pattern("{n}").Matches("1234567890123456789012"));
}

TEST(NamePattern, WildcardsAreFilledAndNumbersMoved) {
  const std::vector<std::string> captures = {"forward/", "3", "mlp"};
  EXPECT_EQ(Pattern("*model.layers.{n}.*").Fill(captures, 4), "forward/model.layers.7.mlp");
  EXPECT_EQ(Pattern("*model.layers.{n}.*").Fill(captures, -4), std::nullopt);
  EXPECT_TRUE(Pattern("*a{n}").SameWildcards(Pattern("b*{m}")));
  EXPECT_FALSE(Pattern("*a{n}").SameWildcards(Pattern("{n}*")));
}

TEST(NamePattern, WhatIsNoneIsSaid) {
  EXPECT_THAT(NamePattern::Parse("a{n").status().message(), HasSubstr("closing brace"));
  EXPECT_THAT(NamePattern::Parse("{}").status().message(), HasSubstr("closing brace"));
  EXPECT_FALSE(NamePattern::Parse("").ok());
  EXPECT_FALSE(NamePattern::Parse(std::string(2000, 'a')).ok());
  EXPECT_THAT(NamePattern::Parse(std::string(17, '*')).status().message(),
              HasSubstr("more than 16 wildcards"));
}

// Each wildcard is tried once at each place.
TEST(NamePattern, ManyWildcardsOnALongNameAreQuick) {
  std::string text;
  for (int i = 0; i < 16; ++i) text += "*a";
  EXPECT_FALSE(Pattern(text).Matches(std::string(1000, 'a') + "b"));
}

}  // namespace
}  // namespace planproof::dumps
