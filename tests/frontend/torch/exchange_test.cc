// Participants of an exchange that disagree in what they pass are refused, with both places.
#include "frontend/torch/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/frontend/torch/small_job.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

using Shape = std::vector<int64_t>;

struct Side {
  std::vector<std::pair<std::string, Shape>> in, out;
  bool in_by_columns = false, out_by_columns = false;  // matrices
};

// Both ranks hold x; what each passes is x of another type or shape, and what it gets is an output.
class Exchanged {
 public:
  Exchanged() {
    for (SmallTrace& rank : ranks_) rank.Groups({{0, 1}});
  }

  void Pass(int rank, const std::string& collective, const Side& side, const json& more = {}) {
    std::vector<int> in, out;
    for (const auto& [dtype, shape] : side.in)
      in.push_back(Operand(rank, dtype, shape, side.in_by_columns));
    for (const auto& [dtype, shape] : side.out)
      out.push_back(AddTo(rank, dtype, shape, side.out_by_columns));
    json keys = more.is_null() ? json::object() : more;
    keys["source"] =
        ranks_[rank].String("train.py:" + std::to_string(10 + rank) + ": " + collective);
    ranks_[rank].Exchange(collective, in, out, keys);
  }
  std::vector<SmallTrace>& ranks() { return ranks_; }

  absl::Status Read() {
    SmallTrace reference(0, 1);
    for (const auto& [name, type] : operands_) {
      reference.Input("input", name, reference.Add(type.first, type.second));
    }
    const int loss = reference.Input("input", "l", reference.Add("float32", {1}));
    reference.Result("output", "loss", loss);
    std::vector<SmallTrace> traces = {reference};
    for (SmallTrace rank : ranks_) {
      rank.Result("output", "loss", rank.Input("input", "l", rank.Add("float32", {1})));
      traces.push_back(rank);
    }
    return ProblemOf(traces).status();
  }

 private:
  int AddTo(int rank, const std::string& dtype, const Shape& shape, bool by_columns) {
    return by_columns ? ranks_[rank].AddByColumns(dtype, shape) : ranks_[rank].Add(dtype, shape);
  }
  int Operand(int rank, const std::string& dtype, const Shape& shape, bool by_columns) {
    const std::string name = absl::StrCat("x", rank, ".", operands_.size());
    operands_.emplace_back(name, std::make_pair(dtype, shape));
    return ranks_[rank].Input("input", name, AddTo(rank, dtype, shape, by_columns));
  }

  std::vector<SmallTrace> ranks_ = {SmallTrace(0, 2), SmallTrace(1, 2)};
  std::vector<std::pair<std::string, std::pair<std::string, Shape>>> operands_;
};

using Type = std::pair<std::string, Shape>;
const Type kHalf = {"float16", {4}}, kBrain = {"bfloat16", {4}}, kSingle = {"float32", {4}};

absl::Status Both(const std::string& collective, const Side& first, const Side& second,
                  const json& more = json::object()) {
  Exchanged job;
  job.Pass(0, collective, first, more);
  job.Pass(1, collective, second, more);
  return job.Read();
}

absl::Status Message(const Type& sent, const Type& received) {
  Exchanged job;
  job.Pass(0, "send", {{sent}, {}}, {{"peer", 1}});
  job.Pass(1, "recv", {{}, {received}}, {{"peer", 0}});
  return job.Read();
}

void ExpectRefused(const absl::Status& status, const char* what) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(what));
}

TEST(Exchange, TypesOfBothEndsAreCompared) {
  const json root = {{"root", 0}}, sum = {{"reduce", "sum"}};
  const absl::Status broadcast = Both("broadcast", {{kBrain}, {kBrain}}, {{kHalf}, {kHalf}}, root);
  EXPECT_EQ(broadcast.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(broadcast.message()),
              AllOf(HasSubstr("participants of broadcast disagree in type"),
                    HasSubstr("rank 0: broadcast, at train.py:10 (bfloat16[4])"),
                    HasSubstr("rank 1: broadcast, at train.py:11 (float16[4])")));
  ExpectRefused(Both("broadcast", {{kBrain}, {}}, {{}, {kHalf}}, root), "type");
  ExpectRefused(Message(kBrain, kHalf), "type");
  ExpectRefused(Message({"int32", {4}}, kSingle), "type");
  ExpectRefused(Both("scatter", {{kBrain, kBrain}, {kBrain}}, {{}, {kHalf}}, root), "type");
  ExpectRefused(Both("gather", {{kHalf}, {kHalf, kHalf}}, {{kBrain}, {}}, root), "type");
  ExpectRefused(Both("all_reduce", {{kHalf}, {kBrain}}, {{kHalf}, {kHalf}}, sum), "type");
  ExpectRefused(Both("all_reduce", {{kHalf}, {kHalf}}, {{kBrain}, {kBrain}}, sum), "type");
  ExpectRefused(Both("all_gather", {{kHalf}, {{"bfloat16", {8}}}}, {{kHalf}, {{"float16", {8}}}}),
                "type");
  ExpectRefused(Both("all_gather", {{kHalf}, {kHalf, kBrain}}, {{kHalf}, {kHalf, kHalf}}), "type");
  ExpectRefused(
      Both("reduce_scatter", {{kHalf}, {{"float16", {2}}}}, {{kHalf}, {{"bfloat16", {2}}}}, sum),
      "type");
  ExpectRefused(Both("all_to_all", {{kHalf}, {kHalf}}, {{kHalf}, {kBrain}}), "type");
}

TEST(Exchange, ShapesAndCountsOfBothEndsAreCompared) {
  const Type more = {"float32", {5}};
  ExpectRefused(Message(kSingle, more), "disagree in shape");
  ExpectRefused(Message({"float32", {2, 3}}, {"float32", {3, 2}}), "disagree in shape");
  ExpectRefused(Both("broadcast", {{kSingle}, {kSingle}}, {{more}, {more}}, {{"root", 0}}),
                "disagree in shape");
  ExpectRefused(Both("all_reduce", {{kSingle}, {kSingle}}, {{more}, {more}}, {{"reduce", "sum"}}),
                "disagree in shape");
  ExpectRefused(
      Both("all_gather", {{kSingle}, {{"float32", {9}}}}, {{kSingle}, {{"float32", {8}}}}),
      "disagree in count");
  ExpectRefused(Both("all_gather", {{kSingle}, {{"float32", {8}}}}, {{more}, {{"float32", {10}}}}),
                "disagree in shape");
  // What rank 0 sends to rank 1 is one row, of which rank 1 makes room for two.
  Exchanged job;
  const Type rows = {"float32", {4, 2}};
  job.Pass(0, "all_to_all", {{rows}, {rows}}, {{"in_splits", {3, 1}}, {"out_splits", {3, 1}}});
  job.Pass(1, "all_to_all", {{rows}, {rows}}, {{"in_splits", {1, 3}}, {"out_splits", {2, 2}}});
  const absl::Status uneven = job.Read();
  ExpectRefused(uneven, "disagree in count");
  EXPECT_THAT(std::string(uneven.message()), HasSubstr("1 rows to rank 1"));
  EXPECT_THAT(std::string(uneven.message()), HasSubstr("2 rows from rank 0"));
}

TEST(Exchange, WhatFitsIsTaken) {
  EXPECT_TRUE(Message(kSingle, kSingle).ok());
  EXPECT_TRUE(Message({"float32", {2, 2}}, kSingle).ok()) << "a flat buffer";
  EXPECT_TRUE(Message({"float32", {1, 4}}, {"float32", {4, 1}}).ok());
  EXPECT_TRUE(Both("broadcast", {{kHalf}, {kHalf}}, {{kHalf}, {kHalf}}, {{"root", 0}}).ok());
  EXPECT_TRUE(
      Both("reduce", {{kHalf}, {kHalf}}, {{kHalf}, {}}, {{"root", 0}, {"reduce", "sum"}}).ok());
  EXPECT_TRUE(Both("gather", {{kHalf}, {kHalf, kHalf}}, {{kHalf}, {}}, {{"root", 0}}).ok());
  EXPECT_TRUE(
      Both("all_reduce", {{kSingle}, {kSingle}}, {{kSingle}, {kSingle}}, {{"reduce", "avg"}}).ok());
  // Elements are scattered where rows cannot be.
  const Type odd = {"float32", {3, 4}}, half = {"float32", {6}};
  EXPECT_TRUE(Both("reduce_scatter", {{odd}, {half}}, {{odd}, {half}}, {{"reduce", "sum"}}).ok());
  EXPECT_TRUE(Both("all_to_all", {{kSingle}, {kSingle}}, {{kSingle}, {kSingle}}).ok());
}

// Gloo sends memory from its start, whatever the strides are; `torch.empty_like` keeps them.
TEST(Exchange, WhatIsNotContiguousIsExchangedAsItLiesInMemory) {
  const Type matrix = {"float32", {2, 4}}, longer = {"float32", {4, 4}};
  const json root = {{"root", 0}}, sum = {{"reduce", "sum"}};
  const auto expect = [](const absl::Status& status, bool taken) {
    if (taken) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("is not contiguous"));
    }
  };
  const Side rows = {{matrix}, {matrix}}, columns = {{matrix}, {matrix}, true, true};
  const Side from_columns = {{matrix}, {matrix}, true},
             to_columns = {{matrix}, {matrix}, false, true};
  // Nothing is cut: all must lie alike.
  expect(Both("all_reduce", rows, rows, sum), true);
  expect(Both("all_reduce", columns, columns, sum), true);
  expect(Both("all_reduce", rows, columns, sum), false);
  expect(Both("all_reduce", to_columns, to_columns, sum), false);
  expect(Both("broadcast", rows, {{}, {matrix}, false, true}, root), false);
  expect(Both("broadcast", columns, {{}, {matrix}, false, true}, root), true);
  // Parts of memory are not parts of the tensor.
  expect(Both("all_to_all", rows, rows), true);
  for (const Side& side : {columns, from_columns, to_columns})
    expect(Both("all_to_all", side, side), false);
  expect(Both("all_gather", {{matrix}, {longer}, true}, {{matrix}, {longer}, true}), false);
  expect(Both("all_gather", {{matrix}, {longer}}, {{matrix}, {longer}}), true);
  Exchanged message;
  message.Pass(0, "send", {{matrix}, {}, true}, {{"peer", 1}});
  message.Pass(1, "recv", {{}, {matrix}}, {{"peer", 0}});
  expect(message.Read(), false);
}

TEST(Exchange, TensorsStandWhereTheRootIs) {
  const json root = {{"root", 0}, {"reduce", "sum"}};
  ExpectRefused(Both("reduce", {{kHalf}, {kHalf}}, {{kHalf}, {kHalf}}, root), "takes 1 tensors");
  ExpectRefused(Both("reduce", {{kHalf}, {}}, {{kHalf}, {}}, root), "gives 0");
  ExpectRefused(Both("broadcast", {{kHalf}, {kHalf}}, {{kHalf}, {}}, root), "gives 0");
  ExpectRefused(Both("gather", {{kHalf}, {kHalf, kHalf}}, {{kHalf}, {kHalf, kHalf}}, root),
                "gives 2");
  ExpectRefused(Both("scatter", {{kHalf, kHalf}, {kHalf}}, {{kHalf, kHalf}, {kHalf}}, root),
                "takes 2 tensors");
  ExpectRefused(Both("broadcast", {{kHalf}, {kHalf}}, {{kHalf}, {kHalf}}), "'root' is missing");
}

TEST(Exchange, RootsAndPeersAreMembers) {
  const auto among = [](const std::vector<std::vector<int>>& groups, const std::string& collective,
                        const json& more, const Side& side) {
    Exchanged job;
    for (SmallTrace& rank : job.ranks()) rank.Groups(groups);
    job.Pass(0, collective, side, more);
    return job.Read();
  };
  const Side both = {{kHalf}, {kHalf}};
  ExpectRefused(among({{0}}, "broadcast", {{"root", 1}}, both), "its root, rank 1, is not one");
  ExpectRefused(among({{0}}, "reduce", {{"root", 1}, {"reduce", "sum"}}, {{kHalf}, {}}),
                "its root, rank 1, is not one");
  ExpectRefused(among({{0}}, "gather", {{"root", 1}}, {{kHalf}, {}}), "is not one");
  ExpectRefused(among({{0}}, "send", {{"peer", 1}}, {{kHalf}, {}}), "its peer, rank 1, is not one");
  ExpectRefused(among({{1}}, "all_reduce", {{"reduce", "sum"}}, both), "takes part that is not");
  ExpectRefused(among({{1}}, "send", {{"peer", 1}}, {{kHalf}, {}}), "takes part that is not");
  ExpectRefused(among({{0, 1}}, "send", {{"peer", 0}}, {{kHalf}, {}}), "send to itself");
  ExpectRefused(among({{0, 1}}, "recv", {{"peer", 0}}, {{}, {kHalf}}), "recv to itself");
  ExpectRefused(among({{0, 1}}, "send", {{"peer", 2}}, {{kHalf}, {}}), "no rank 2");
  ExpectRefused(among({{0, 1}}, "send", json::object(), {{kHalf}, {}}), "'peer' is missing");
  ExpectRefused(among({{0, 0}}, "send", {{"peer", 1}}, {{kHalf}, {}}), "stands twice in one group");
  ExpectRefused(among({{}}, "all_reduce", {{"reduce", "sum"}}, both), "takes part that is not");
}

TEST(Exchange, MembersSayTheSameOfTheCall) {
  const auto differing = [](const json& first, const json& second) {
    Exchanged job;
    job.Pass(0, "all_reduce", {{kSingle}, {kSingle}}, first);
    job.Pass(1, "all_reduce", {{kSingle}, {kSingle}}, second);
    return job.Read();
  };
  ExpectRefused(differing({{"reduce", "sum"}}, {{"reduce", "avg"}}), "disagree in its reduction");
  ExpectRefused(differing({{"reduce", "sum"}, {"factor", 0.5}}, {{"reduce", "sum"}}),
                "disagree in its reduction");
  Exchanged groups;
  groups.ranks()[1].Groups({{1, 0}});
  groups.Pass(0, "all_reduce", {{kSingle}, {kSingle}}, {{"reduce", "sum"}});
  groups.Pass(1, "all_reduce", {{kSingle}, {kSingle}}, {{"reduce", "sum"}});
  ExpectRefused(groups.Read(), "never takes part");
}

// Two messages between the same ranks cross where they are sent in two groups.
TEST(Exchange, MessagesMeetWithinTheirGroup) {
  const auto crossing = [](int first, int second) {
    Exchanged job;
    for (SmallTrace& rank : job.ranks()) rank.Groups({{0, 1}, {1, 0}});
    job.Pass(0, "send", {{kHalf}, {}}, {{"peer", 1}, {"group", 0}, {"work", 0}});
    job.Pass(0, "send", {{kSingle}, {}}, {{"peer", 1}, {"group", 1}, {"work", 1}});
    job.Pass(1, "recv", {{}, {first == 0 ? kHalf : kSingle}}, {{"peer", 0}, {"group", first}});
    job.Pass(1, "recv", {{}, {first == 0 ? kSingle : kHalf}}, {{"peer", 0}, {"group", second}});
    return job.Read();
  };
  EXPECT_TRUE(crossing(0, 1).ok()) << crossing(0, 1);
  EXPECT_TRUE(crossing(1, 0).ok()) << crossing(1, 0);
}

// What an output is reduced over is said at each result.
TEST(Exchange, AResultIsReducedOverRanksOfWhichItsOwnIsOne) {
  const auto reduced = [](const std::vector<std::vector<int>>& groups) {
    std::vector<SmallTrace> traces = {SmallTrace(0, 1), SmallTrace(0, 2), SmallTrace(1, 2)};
    for (SmallTrace& trace : traces) {
      const bool rank = &trace != &traces[0];
      if (rank) trace.Groups(groups);
      const int loss = trace.Input("input", "l", trace.Add("float32", {}));
      trace.Result("output", "loss", loss,
                   rank ? json({{"reduce", "avg"}, {"group", 0}}) : json::object());
    }
    return ProblemOf(traces).status();
  };
  EXPECT_TRUE(reduced({{0, 1}}).ok()) << reduced({{0, 1}});
  ExpectRefused(reduced({{1}}), "loss: is the reduction over ranks 1, of which rank 0 is none");
}

TEST(Exchange, ReductionsWithoutAMeaningAreNotGuessed) {
  const auto reduced = [](const char* dtype, const json& more) {
    const Type type = {dtype, {4}};
    return Both("all_reduce", {{type}, {type}}, {{type}, {type}}, more).code();
  };
  EXPECT_EQ(reduced("int64", {{"reduce", "avg"}}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reduced("bool", {{"reduce", "sum"}}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reduced("uint8", {{"reduce", "sum"}}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(reduced("int64", {{"reduce", "sum"}}), absl::StatusCode::kOk);
  EXPECT_EQ(reduced("int64", {{"reduce", "max"}}), absl::StatusCode::kOk);
  ExpectRefused(Both("all_gather", {{kHalf}, {{"float16", {8}}}}, {{kHalf}, {{"float16", {8}}}},
                     {{"factor", 0.5}}),
                "with a factor");
}

}  // namespace
}  // namespace planproof::frontend::torch
