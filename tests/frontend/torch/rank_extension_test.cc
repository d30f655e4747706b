// Traces of some ranks, extended: what follows is what was recorded of other ranks, and what
// contradicts it is refused, with its place.
#include "frontend/torch/rank_extension.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/load_problem.h"
#include "frontend/torch/gzip_file.h"
#include "frontend/torch/program_text.h"
#include "frontend/torch/rank_numbers.h"
#include "nlohmann/json.hpp"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json Recorded(const std::string& program, int rank) {
  const absl::StatusOr<std::string> text = ReadGzipFile(
      absl::StrCat(PLANPROOF_SOURCE_DIR "/tests/torch/traces/", program, "/rank", rank, ".trace"),
      1 << 24, 1 << 28);
  return json::parse(text.value());
}

std::vector<json> Recorded(const std::string& program, const std::vector<int>& ranks) {
  std::vector<json> traces;
  for (int rank : ranks) traces.push_back(Recorded(program, rank));
  return traces;
}

Trace Parsed(const json& trace) {
  return ParseTrace(trace.dump(), absl::StrCat("rank", trace["rank"].get<int>(), ".trace")).value();
}

struct Extended {
  absl::Status status;
  std::map<int, Trace> ranks;
  std::vector<std::string> assumptions;
};

using Axes = std::vector<std::pair<std::string, int64_t>>;

Extended Extend(const std::vector<json>& traces, const Axes& axes = {{"dp", 64}}) {
  Extended extended;
  std::vector<Trace> ranks;
  for (const json& trace : traces) ranks.push_back(Parsed(trace));
  extended.status = ExtendRanks(axes, &ranks, &extended.assumptions);
  for (Trace& trace : ranks) extended.ranks[trace.rank] = std::move(trace);
  return extended;
}

// Why it is refused.
std::string Refused(const std::vector<json>& traces, const Axes& axes = {{"dp", 64}}) {
  const Extended extended = Extend(traces, axes);
  EXPECT_FALSE(extended.status.ok());
  EXPECT_TRUE(IsUsageError(extended.status)) << extended.status;
  EXPECT_EQ(std::string(extended.status.message()).find('\n'), std::string::npos);
  return std::string(extended.status.message());
}

void ExpectSame(Trace a, Trace b) {
  EXPECT_TRUE(SameText(a, b).ok()) << SameText(a, b);
  ASSERT_TRUE(AlignTables({&a, &b}).ok());
  const std::vector<RankNumber> x = RankNumbersOf(&a), y = RankNumbersOf(&b);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].value, y[i].value) << PlaceOf(a, x[i].entry);
  }
}

json* OperatorOf(json* trace, const std::string& name) {
  for (json& op : (*trace)["operators"]) {
    if (op.value("op", "").starts_with(name)) return &op;
  }
  ADD_FAILURE() << name;
  return &(*trace)["operators"][0];
}

json* InputOf(json* trace, const std::string& name) {
  for (json& input : (*trace)["inputs"]) {
    if (input["name"] == name) return &input;
  }
  ADD_FAILURE() << name;
  return &(*trace)["inputs"][0];
}

TEST(RankExtension, ARankThatFollowsIsTheOneThatWasRecorded) {
  const Extended extended = Extend(Recorded("fsdp2_dp64", {0, 1}));
  ASSERT_TRUE(extended.status.ok()) << extended.status;
  EXPECT_EQ(extended.ranks.size(), 64);
  ExpectSame(extended.ranks.at(63), Parsed(Recorded("fsdp2_dp64", 63)));
}

TEST(RankExtension, RanksBetweenRecordedOnesFollowToo) {
  const Extended extended = Extend(Recorded("fsdp2_dp64", {0, 63}));
  ASSERT_TRUE(extended.status.ok()) << extended.status;
  ExpectSame(extended.ranks.at(1), Parsed(Recorded("fsdp2_dp64", 1)));
}

TEST(RankExtension, WhatWasRecordedStaysAsItIs) {
  const Extended extended = Extend(Recorded("fsdp2_dp64", {0, 1, 63}));
  ASSERT_TRUE(extended.status.ok()) << extended.status;
  EXPECT_EQ(extended.ranks.at(63).path, "rank63.trace");
  EXPECT_EQ(extended.ranks.at(62).path, "rank 62, made of rank0.trace");
}

TEST(RankExtension, WhatIsAssumedSaysWhichRanksFollowAndWhatDiffers) {
  EXPECT_THAT(
      Extend(Recorded("fsdp2_dp64", {0, 1, 63})).assumptions,
      ElementsAre("ranks 2 to 62 run the program of ranks 0, 1 and 63 with their own coordinates "
                  "along dp (--extend dp=64)",
                  "what differs along dp goes on evenly, as recorded: 30 starts of parts, 1 places "
                  "in memory, 1 numbers"));
  EXPECT_THAT(Extend(Recorded("fsdp2_tp_dp64", {0, 1, 2, 3})).assumptions[0],
              "ranks with dp 2 to 63 run the programs of those with dp 0 and 1 with their own "
              "coordinates along dp (--extend dp=64)");
}

TEST(RankExtension, WhereAllRanksWereRecordedNothingIsAssumed) {
  const Extended extended = Extend(Recorded("fsdp2", {0, 1}), {{"dp", 2}});
  EXPECT_TRUE(extended.status.ok()) << extended.status;
  EXPECT_THAT(extended.assumptions, IsEmpty());
}

TEST(RankExtension, GroupsMoveWithTheRankOrStay) {
  const Extended extended = Extend(Recorded("fsdp2_tp_dp64", {0, 1, 2, 3}));
  ASSERT_TRUE(extended.status.ok()) << extended.status;
  EXPECT_EQ(extended.ranks.size(), 128);
  const Trace& last = extended.ranks.at(127);  // dp 63, tp 1
  for (const Executed& executed : last.operators) {
    if (!executed.collective) continue;
    const std::vector<int32_t>& group = last.groups[executed.collective->group];
    if (executed.collective->kind == CollectiveKind::kAllReduce) {
      EXPECT_THAT(group, ElementsAre(126, 127));
    } else {
      ASSERT_EQ(group.size(), 64);
      EXPECT_EQ(group[0], 1);
      EXPECT_EQ(group[63], 127);
    }
  }
}

TEST(RankExtension, APeerMovesWithTheRank) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  for (int r = 0; r < 2; ++r) {
    json& reduce = *OperatorOf(&traces[r], "c10d.allreduce_");
    reduce = {{"op", "c10d.send"},    {"collective", "send"}, {"group", 0}, {"in", reduce["in"]},
              {"out", json::array()}, {"peer", r + 1},        {"tag", 0},   {"work", 0}};
  }
  // The last rank would send to one after it.
  EXPECT_THAT(Refused(traces), HasSubstr("the rank that takes part grows evenly along dp on the "
                                         "recorded ranks, and at 63 there is no such one"));
}

// One number or word of the second rank, which then contradicts the first.
struct Contradiction {
  const char* name;
  std::function<void(json*)> put;
  const char* said;
};

class RankExtensionRefuses : public testing::TestWithParam<Contradiction> {};

TEST_P(RankExtensionRefuses, WhatContradictsIt) {
  std::vector<json> traces = Recorded("fsdp2_dp64", {0, 1, 63});
  GetParam().put(&traces[1]);
  const std::string said = Refused(traces);
  EXPECT_THAT(said, HasSubstr(GetParam().said));
  EXPECT_THAT(said, HasSubstr("--extend dp=64: "));
  EXPECT_THAT(said, HasSubstr("without --extend all ranks have to be recorded and given"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, RankExtensionRefuses,
    testing::Values(
        Contradiction{
            "AnOperatorOfOneRank",
            [](json* rank) {
              json& operators = (*rank)["operators"];
              operators.insert(operators.begin() + 6, operators[5]);
            },
            "ranks 0 and 1 do not run one program: another operator in operator 6, aten."},
        Contradiction{
            "AnOperatorThatIsMissing",
            [](json* rank) { (*rank)["operators"].erase((*rank)["operators"].size() - 1); },
            "ranks 0 and 1 do not run one program: operator 71, aten.addcdiv_.default at "},
        Contradiction{
            "AnotherRealNumber",
            [](json* rank) { (*OperatorOf(rank, "aten.lerp_"))["args"][2] = 0.2; },
            "other arguments in operator 34, aten.lerp_.Scalar at programs/fsdp2_dp64.py:37: "},
        Contradiction{
            "AnotherLine",
            [](json* rank) {
              (*rank)["strings"].push_back("train.py:1: if rank == 0: ...");
              (*OperatorOf(rank, "aten.gelu"))["source"] = (*rank)["strings"].size() - 1;
            },
            "which on rank 1 is operator 5, aten.gelu.default at train.py:1: if rank == 0"},
        Contradiction{
            "AnotherReduction",
            [](json* rank) { (*OperatorOf(rank, "c10d._reduce_scatter_base_"))["reduce"] = "sum"; },
            "another communication in operator "},
        Contradiction{"AWholeNumber",
                      [](json* rank) { (*OperatorOf(rank, "aten.add_.Tensor"))["args"][1] = 2; },
                      "a number is 1, 2, 1 on ranks 0, 1, 63, which does not grow evenly along dp"},
        Contradiction{"APlaceThatIsNotEven",
                      [](json* rank) { (*InputOf(rank, "x"))["place"][0][0][0] = 2; },
                      "the input x: a number is 0, 2, 63 on ranks 0, 1, 63, which does not grow"},
        Contradiction{"APlaceOfAnotherLength",
                      [](json* rank) { (*InputOf(rank, "x"))["place"][0][0][1] = 2; },
                      "the input x of rank 0 has another name, role or size of its part on rank 1"},
        Contradiction{"ATensorOfAnotherShape",
                      [](json* rank) {
                        const int tensor = (*OperatorOf(rank, "aten.gelu"))["out"][0]["tensor"];
                        (*rank)["tensors"][tensor] = {0, "float32", 0, {1}, {1}};
                      },
                      "has a tensor of another shape, type or memory on rank 1"},
        Contradiction{"AGroupThatMovesOtherwise",
                      [](json* rank) {
                        json& group = (*rank)["groups"][0];
                        std::swap(group[5], group[6]);
                      },
                      "rank 5, 6, 5 takes part on ranks 0, 1, 63, which neither is one rank nor"},
        Contradiction{"AGroupOfAnotherSize", [](json* rank) { (*rank)["groups"][0].erase(63); },
                      "the group of rank 0 has 64 ranks, that of rank 1 63"},
        Contradiction{"AConstant",
                      [](json* rank) {
                        for (json& storage : (*rank)["storages"]) storage.erase("uniform");
                        (*rank)["storages"][30]["uniform"] = 7;
                      },
                      "a constant of rank 0 has another content or size on rank 1"},
        Contradiction{"ANote", [](json* rank) { (*rank)["notes"].push_back("numbers left"); },
                      "the recorder's notes on rank 0 are not those on rank 1"}),
    [](const auto& info) { return std::string(info.param.name); });

// The same on both ranks: each could be so, and the others could not.
TEST(RankExtension, AGroupOfSomeRanksThatOthersAreNotInIsRefused) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  for (json& trace : traces) trace["groups"][0] = {0, 1, 2, 3};
  EXPECT_THAT(Refused(traces), HasSubstr("on rank 4 the group would be 0, 1, 2, 3, without it"));
}

TEST(RankExtension, AGroupOfNeighboursEndsWithTheMesh) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  traces[0]["groups"][0] = {0, 1};
  traces[1]["groups"][0] = {1, 2};
  EXPECT_THAT(Refused(traces), HasSubstr("and at 63 there is no such one"));
}

TEST(RankExtension, AGroupInWhichARankWouldBeTwiceIsRefused) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  traces[0]["groups"][0] = {0, 40};
  traces[1]["groups"][0] = {1, 40};
  EXPECT_THAT(Refused(traces), HasSubstr("on rank 40 the group would have a rank twice: 40, 40"));
}

TEST(RankExtension, APartBeyondTheReferencesTensorIsRefused) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  (*InputOf(&traces[1], "x"))["place"][0][0][0] = 2;
  EXPECT_THAT(Refused(traces),
              HasSubstr("the input x: on rank 32 the part would lie outside of the reference's"));
}

TEST(RankExtension, APartThatMovesBackwardsIsRefused) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  std::swap((*InputOf(&traces[0], "x"))["place"], (*InputOf(&traces[1], "x"))["place"]);
  EXPECT_THAT(Refused(traces), HasSubstr("the start of the part grows evenly along dp on the "
                                         "recorded ranks, and at 2 there is no such one"));
}

TEST(RankExtension, MemoryThatEndsBeforeTheLastRankIsRefused) {
  std::vector<json> traces = Recorded("fsdp2_dp64", {0, 1});
  for (json& tensor : traces[1]["tensors"]) {
    if (tensor[2] != 0 && traces[0]["tensors"][&tensor - &traces[1]["tensors"][0]][2] == 0) {
      tensor[2] = 2 * tensor[2].get<int>();
    }
  }
  EXPECT_THAT(Refused(traces), HasSubstr("the tensor would lie outside of its memory"));
}

TEST(RankExtension, ANumberIsSeenToGrowFromThreeRanks) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1, 1});
  for (int r = 0; r < 3; ++r) {
    (*OperatorOf(&traces[r], "aten.add_.Tensor"))["args"][1] = 5 + 7 * r;
  }
  EXPECT_THAT(Refused({traces[0], traces[1]}),
              HasSubstr("a number is 5 and 12 on ranks 0 and 1; how it goes on is seen from three "
                        "ranks, so record a third one"));
  traces[2]["rank"] = 2;
  (*InputOf(&traces[2], "x"))["place"][0][0][0] = 2;
  (*InputOf(&traces[2], "y"))["place"][0][0][0] = 2;
  const Extended extended = Extend(traces);
  ASSERT_TRUE(extended.status.ok()) << extended.status;
  for (const Executed& executed : extended.ranks.at(10).operators) {
    if (executed.op != "aten.add_.Tensor") continue;
    EXPECT_EQ(executed.args[1].integer, 75);
    EXPECT_EQ(executed.args[1].real, solver::Rational(75));
    break;
  }
}

TEST(RankExtension, OneRankShowsNothing) {
  EXPECT_THAT(Refused(Recorded("ddp_dp64", std::vector<int>{0})),
              HasSubstr("rank 0 is the only one that was recorded along dp, and one rank does not "
                        "show what depends on the coordinate; record rank 1, too"));
  EXPECT_THAT(Refused(Recorded("fsdp2_tp_dp64", {0, 1, 2})), HasSubstr("record rank 3, too"));
}

TEST(RankExtension, ARankOnNoLineWithRecordedOnesIsNamed) {
  EXPECT_THAT(
      Refused(Recorded("fsdp2_tp_dp64", {0, 2})),
      HasSubstr("rank 1 of the mesh dp=64,tp=2 was not recorded, and no rank that was is on "
                "a line with it along dp=64; record it, too"));
}

TEST(RankExtension, ASmallerJobIsNotMadeALargerOne) {
  const std::string said = Refused(Recorded("fsdp2", {0, 1}));
  EXPECT_THAT(said, HasSubstr("was recorded in a job with the mesh dp=2, not with dp=64; record "
                              "some ranks of the larger job: python -m planproof.torch.launch "
                              "PROGRAM --mesh dp=64 --ranks 0,1"));
  EXPECT_THAT(Refused(Recorded("fsdp2_dp64", {0, 1}), {{"cp", 64}}), HasSubstr("not with cp=64"));
}

TEST(RankExtension, TracesAreOfOneJobAndOfDifferentRanks) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  EXPECT_THAT(Refused({traces[0], traces[1], traces[1]}), HasSubstr("is a second trace of rank 1"));
  json other = traces[1];
  other["axes"][0][0] = "data";
  EXPECT_THAT(Refused({traces[0], other}), HasSubstr("is of another job than rank0.trace"));
  for (json& trace : traces) trace["axes"][0][1] = 32;
  EXPECT_THAT(Refused(traces), HasSubstr("its axes are of 32 ranks, and there are 64"));
}

TEST(RankExtension, SizesThatDataChoseAreRefused) {
  std::vector<json> traces = Recorded("ddp_dp64", {0, 1});
  for (json& trace : traces) (*OperatorOf(&trace, "aten.gelu"))["op"] = "aten.nonzero.default";
  EXPECT_THAT(Refused(traces), HasSubstr("sizes in it depend on data"));
}

}  // namespace
}  // namespace planproof::frontend::torch
