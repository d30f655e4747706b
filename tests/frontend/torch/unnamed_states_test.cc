// A state without a name is the reference's that is used in the same way, if it is certain which.
#include "frontend/torch/unnamed_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/frontend/torch/small_job.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<double> kAverages = {0.1, 0.2, 0.3, 0.4};
const std::vector<double> kRounded = {0.1, 0.2, 0.3, 0.40000001};

// Moves an average towards a parameter.
struct Average {
  std::vector<double> values;
  std::string line = "train.py:7: average.lerp_(p, 0.1)";
  int64_t rows = 4;  // of the parameter, and of the average
  bool named = false;
  bool written = true;
};

void Add(SmallTrace* trace, const std::string& parameter, const Average& average) {
  json part = json::object();
  if (average.rows != 4) part = {{"of", {4}}, {"place", {{{0, average.rows}}}}};
  const int p = trace->Input("parameter", parameter, trace->Add("float32", {average.rows}), part);
  const int a = trace->Add("float32", {average.rows});
  if (average.named) {
    trace->Input("state", parameter + ".average", a, {{"parameter", parameter}});
    trace->Result("updated", parameter + ".average", a);
  } else if (average.values.empty()) {
    trace->storage(a)["uniform"] = 2.0;
  } else {
    trace->storage(a)["values"] = average.values;
  }
  const json source = {{"source", trace->String(average.line)}};
  json write = source;
  write["writes"] = json::array({a});
  if (average.written) {
    trace->Op("aten.lerp_.Scalar", {{{"tensor", a}}, {{"tensor", p}}, 0.1}, a, write);
  } else {
    trace->Op("aten.add.Tensor", {{{"tensor", a}}, {{"tensor", p}}},
              trace->Add("float32", {average.rows}), source);
  }
}

SmallTrace With(int rank, int world, const std::vector<Average>& averages) {
  SmallTrace trace(rank, world);
  for (size_t i = 0; i < averages.size(); ++i) Add(&trace, absl::StrCat("p", i), averages[i]);
  return trace;
}

struct Named {
  Trace reference;
  std::vector<Trace> ranks;
  std::vector<std::string> states;  // of rank 0
  std::vector<std::string> assumptions;
};

Named Name(const SmallTrace& reference, const SmallTrace& rank) {
  Named named;
  named.reference = reference.Read().value();
  named.ranks.push_back(rank.Read().value());
  NameStates(&named.reference, &named.ranks, &named.assumptions);
  for (const Input& input : named.ranks[0].inputs) {
    if (input.role == InputRole::kState) named.states.push_back(input.name);
  }
  return named;
}

TEST(UnnamedStates, AreTheReferencesThatAreUsedAlike) {
  const Named named =
      Name(With(0, 1, {{kAverages}, {kAverages}}), With(0, 2, {{kRounded}, {kAverages}}));
  EXPECT_THAT(named.states, ElementsAre(HasSubstr("state of p0 read by"),
                                        HasSubstr("state of p1 read by aten.lerp_.Scalar at "
                                                  "train.py:7")));
  EXPECT_THAT(named.assumptions, ElementsAre(HasSubstr("2 states of ranks without a name")));
  EXPECT_THAT(named.reference.inputs, SizeIs(4));
  EXPECT_EQ(named.reference.results.size(), 2u) << "the new value is required";
  EXPECT_EQ(named.ranks[0].results.size(), 2u);
  EXPECT_THAT(named.ranks[0].storages[1].values, IsEmpty()) << "what it held is forgotten";
}

TEST(UnnamedStates, ARankMayHoldThePartThatItHoldsOfTheParameter) {
  const Named named =
      Name(With(0, 1, {{kAverages}}), With(0, 2, {{{0.1, 0.2}, Average().line, 2}}));
  ASSERT_THAT(named.states, SizeIs(1));
  const Part& part = named.ranks[0].inputs.back().part;
  EXPECT_EQ(part.whole, sdfg::Shape{4});
  EXPECT_EQ(part.place[0][0], (std::pair<int64_t, int64_t>{0, 2}));
}

TEST(UnnamedStates, AStateThatTheReferenceNamesMayBeOneNumber) {
  const Named named = Name(With(0, 1, {{.named = true}}), With(0, 2, {{}}));
  EXPECT_THAT(named.states, ElementsAre("p0.average"));
  EXPECT_EQ(named.ranks[0].inputs.back().parameter, "p0");
  // Where it does not, a constant is meant.
  EXPECT_THAT(Name(With(0, 1, {{}}), With(0, 2, {{}})).states, IsEmpty());
}

TEST(UnnamedStates, NothingIsNamedThatIsNotCertain) {
  const SmallTrace reference = With(0, 1, {{kAverages}});
  EXPECT_THAT(Name(reference, With(0, 2, {{kRounded, "other.py:7: average.lerp_(p, 0.1)"}})).states,
              IsEmpty())
      << "another line";
  EXPECT_THAT(Name(reference, With(0, 2, {{{0.1, 0.2, 0.3, 0.401}}})).states, IsEmpty())
      << "values that are too far away";
  EXPECT_THAT(Name(reference, With(0, 2, {{.values = kRounded, .written = false}})).states,
              IsEmpty())
      << "a constant";
  // Two that are used alike beside one parameter.
  SmallTrace two = With(0, 2, {{kRounded}});
  const int other = two.Add("float32", {4});
  two.storage(other)["values"] = kRounded;
  two.Op("aten.lerp_.Scalar", {{{"tensor", other}}, {{"tensor", 0}}, 0.1}, other,
         {{"writes", json::array({other})}, {"source", 0}});
  EXPECT_THAT(Name(reference, two).states, IsEmpty());
}

// What the storage is recorded to hold is forgotten as a whole.
TEST(UnnamedStates, AllOfAStorageIsNamedOrNothing) {
  const auto flat = [](int world, const char* second) {
    SmallTrace trace(0, world);
    const std::vector<int> parameters = {trace.Add("float32", {2}), trace.Add("float32", {2})};
    trace.Input("parameter", "p0", parameters[0]);
    trace.Input("parameter", "p1", parameters[1]);
    trace.Add("float32", {4});
    trace.storage(2)["values"] = kAverages;
    const std::vector<int> averages = {trace.View(2, "float32", {2}, 0),
                                       trace.View(2, "float32", {2}, 2)};
    for (int i : {0, 1}) {
      trace.Op("aten.lerp_.Scalar", {{{"tensor", averages[i]}}, {{"tensor", parameters[i]}}, 0.1},
               averages[i],
               {{"writes", json::array({averages[i]})},
                {"source", trace.String(i == 0 ? "train.py:7: lerp_" : second)}});
    }
    return trace;
  };
  EXPECT_THAT(Name(flat(1, "train.py:8: lerp_"), flat(2, "train.py:8: lerp_")).states, SizeIs(2));
  const Named partly = Name(flat(1, "train.py:8: lerp_"), flat(2, "train.py:9: lerp_"));
  EXPECT_THAT(partly.states, IsEmpty());
  EXPECT_THAT(partly.ranks[0].storages[2].values, SizeIs(4));
}

TEST(UnnamedStates, WhatIsNotCertainIsKnownByItsStorage) {
  const auto uncertain = [](const Average& of_reference, const Average& of_rank) {
    return UncertainStorages(With(0, 1, {of_reference}).Read().value(),
                             With(0, 2, {of_rank}).Read().value());
  };
  const auto state = uncertain({kAverages}, {{0.1, 0.2, 0.3, 7}});
  ASSERT_EQ(state.size(), 1u);
  EXPECT_THAT(state.begin()->second, HasSubstr("rank0.trace: aten.lerp_.Scalar at train.py:7"));
  const Average constant = {.values = kAverages, .written = false};
  Average other = constant;
  other.values = kRounded;
  EXPECT_EQ(uncertain(constant, other).size(), 1u) << "last bits";
  other.values = {1, 0, 1, 0};
  EXPECT_TRUE(uncertain(constant, other).empty()) << "a constant of its own";
  EXPECT_TRUE(uncertain(constant, constant).empty());
  EXPECT_TRUE(uncertain({kAverages}, {}).empty()) << "one number is meant as it is";
}

}  // namespace
}  // namespace planproof::frontend::torch
