// Masks that are constants of a recorded program: slices of the model's, and numbers computed from
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The storage that lists this rank's mask.
json& ListedMask(json* rank) {
  for (json& storage : (*rank)["storages"]) {
    if (storage.contains("values")) return storage;
  }
  ADD_FAILURE() << "no listed constant";
  return (*rank)["storages"][0];
}

void RemoveFirstCollective(json* rank) {
  json& operators = (*rank)["operators"];
  for (size_t i = 0; i < operators.size(); ++i) {
    if (!operators[i].contains("collective")) continue;
    operators.erase(i);
    return;
  }
  ADD_FAILURE() << "no collective";
}

TEST(TorchConstants, ThatTheyAreAsRecordedIsListed) {
  const std::string report = WithFault("masked_loss", [](std::vector<json>*) {});
  EXPECT_THAT(report, StartsWith("PROVED"));
  EXPECT_THAT(report, HasSubstr("have the recorded values"));
}

TEST(TorchConstants, CountsOfOneRankAreNoCountsOfAll) {
  const std::string report = WithFault("masked_loss", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) RemoveFirstCollective(&rank);
  });
  EXPECT_THAT(report, StartsWith("REFUTED"));
  EXPECT_THAT(report, HasSubstr("counts"));
}

TEST(TorchConstants, AMaskThatDiffersInOnePlaceIsNoSlice) {
  // As many tokens count, but others.
  const std::string report = WithFault("masked_loss", [](std::vector<json>* ranks) {
    json& values = ListedMask(&(*ranks)[1])["values"];
    std::swap(values[0], values[3]);
  });
  EXPECT_THAT(report, StartsWith("REFUTED"));
}

TEST(TorchConstants, AMaskThatCountsOneMoreIsNoticed) {
  const std::string report = WithFault(
      "masked_loss", [](std::vector<json>* ranks) { ListedMask(&(*ranks)[1])["values"][3] = 1.0; },
      "--no-explain");
  EXPECT_THAT(report, Not(StartsWith("PROVED")));
}

TEST(TorchConstants, AFractionThatIsTruncatedIsNoNumber) {
  // 12 and 3.5 tokens in the model and on the ranks: 15 and not 12 + 3 by what is known.
  const std::string report = WithFaultEverywhere(
      "masked_loss",
      [](json* trace) {
        for (json& storage : (*trace)["storages"]) {
          if (!storage.contains("values")) continue;
          const size_t last_row = storage["values"].size() - 6;
          storage["values"][last_row] = 0.5;
        }
      },
      "--no-explain");
  EXPECT_THAT(report, Not(StartsWith("PROVED")));
}

}  // namespace
}  // namespace planproof::cli
