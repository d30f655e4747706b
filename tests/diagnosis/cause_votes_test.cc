#include "diagnosis/cause_votes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planproof::diagnosis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RepairSearch::Cause Said(const std::string& text, const std::string& alike = "", int changes = 0) {
  RepairSearch::Cause cause;
  cause.text = text;
  cause.alike = alike;
  cause.changes = changes;
  return cause;
}

std::vector<std::string> Texts(const std::vector<RepairSearch::Cause>& causes) {
  std::vector<std::string> texts;
  for (const RepairSearch::Cause& cause : causes) texts.push_back(cause.text);
  return texts;
}

TEST(CauseVotes, WhatFitsByChanceOnOneInputIsNotElected) {
  CauseVotes votes;
  votes.Add({Said("by chance"), Said("right")});
  votes.Add({Said("right")});
  votes.Add({Said("right")});
  EXPECT_THAT(Texts(votes.Elected()), ElementsAre("right"));
}

TEST(CauseVotes, WhatFitsLessThanTwoThirdsIsNotElected) {
  CauseVotes votes;
  votes.Add({Said("a")});
  votes.Add({Said("b")});
  votes.Add({});
  EXPECT_THAT(Texts(votes.Elected()), IsEmpty());
}

TEST(CauseVotes, OneInputOnWhichNothingFitsIsForgivenUnlessAllMustFit) {
  CauseVotes votes;
  votes.Add({Said("a")});
  votes.Add({});
  votes.Add({Said("a")});
  EXPECT_THAT(Texts(votes.Elected()), ElementsAre("a"));
  EXPECT_THAT(Texts(votes.Elected(true)), IsEmpty());
}

TEST(CauseVotes, AlikeCausesCountAsOneAndTheMostFrequentTextIsNamed) {
  CauseVotes votes;
  votes.Add({Said("slice starts at 4", "slice")});
  votes.Add({Said("slice starts at 8", "slice")});
  votes.Add({Said("slice starts at 8", "slice")});
  EXPECT_THAT(Texts(votes.Elected(true)), ElementsAre("slice starts at 8"));
}

TEST(CauseVotes, TheSmallerChangeIsPreferred) {
  CauseVotes votes;
  votes.Add({Said("two changes", "", 2), Said("one change", "", 1)});
  EXPECT_THAT(Texts(votes.Elected()), ElementsAre("one change"));
}

TEST(CauseVotes, EnoughInputsSettleIt) {
  CauseVotes votes;
  for (int i = 0; i < CauseVotes::kEnough; ++i) {
    EXPECT_FALSE(votes.Settled());
    votes.Add({Said("a")});
  }
  EXPECT_TRUE(votes.Settled());
  votes.Add({});
  EXPECT_FALSE(votes.Settled());
}

}  // namespace
}  // namespace planproof::diagnosis
