// Experts of which every rank has tokens of its own, and sorts them by expert. Faults are put into
// the model, too: what is wrong there alike must not be read as what the right program does, in
// which it does not matter where a token is sorted to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kProgram[] = "hf_experts_dp";

testing::Matcher<std::string> IsNotProvedWithSorts() {
  return AnyOf(StartsWith("UNKNOWN"), StartsWith("REFUTED"));
}

std::string Everywhere(const std::function<void(json*)>& put) {
  return WithFaultEverywhere(kProgram, put, "--no-explain");
}

// Memory of its own for a result of this shape.
json NewTensorOf(json* trace, const std::string& dtype, const std::vector<int64_t>& shape) {
  int64_t size = 1;
  std::vector<int64_t> strides(shape.size());
  for (size_t k = shape.size(); k-- > 0; size *= shape[k]) strides[k] = size;
  (*trace)["storages"].push_back({{"dtype", dtype}, {"size", size}});
  (*trace)["tensors"].push_back(
      json::array({(*trace)["storages"].size() - 1, dtype, 0, shape, strides}));
  return {{"tensor", (*trace)["tensors"].size() - 1}};
}

json& Described(json* trace, const json& tensor) {
  return (*trace)["tensors"][tensor["tensor"].get<size_t>()];
}

size_t PlaceOf(json* trace, const std::string& name) {
  json& operators = (*trace)["operators"];
  for (size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].value("op", "").starts_with(name)) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

// Puts `op` in front of the first operator `name`, which reads its result at `argument` instead.
void Interpose(json* trace, const std::string& name, size_t argument, const std::string& op,
               const json& more = json::array()) {
  const size_t place = PlaceOf(trace, name);
  json& reader = (*trace)["operators"][place];
  const json operand = reader["args"][argument];
  const json like = Described(trace, operand);
  const json result = NewTensorOf(trace, like[1], like[3].get<std::vector<int64_t>>());
  json between = {{"op", op}, {"args", json::array({operand})}, {"out", json::array({result})}};
  for (const json& each : more) between["args"].push_back(each);
  for (const char* key : {"source", "module", "phase"}) {
    if (reader.contains(key)) between[key] = reader[key];
  }
  reader["args"][argument] = result;
  json& operators = (*trace)["operators"];
  operators.insert(operators.begin() + static_cast<int64_t>(place), between);
}

TEST(SortedRows, RanksWithTokensOfTheirOwnComputeWhatOneProcessComputes) {
  const std::string report = WithFault(
      kProgram, [](std::vector<json>*) {}, "-v --no-explain");
  EXPECT_THAT(report, StartsWith("PROVED"));
  EXPECT_THAT(report, HasSubstr("equal elements are ordered by their indices"));
  // What follows from the sort is no premise.
  EXPECT_THAT(report, Not(HasSubstr("groups follow one another")));
  EXPECT_THAT(report, Not(HasSubstr("every element of new memory is written once")));
}

TEST(SortedRows, WhatIsPutInBetweenAndDoesNothingChangesNothing) {
  EXPECT_THAT(Everywhere([](json* trace) {
                Interpose(trace, "aten.histc", 0, "aten.clone.default");
                Interpose(trace, "aten._grouped_mm", 2, "aten.clone.default");
              }),
              StartsWith("PROVED"));
}

TEST(SortedRows, GroupsInAnotherOrderThanTheRows) {
  EXPECT_THAT(Everywhere([](json* trace) {
                json& arguments = FirstOf(trace, "aten.sort")["args"];
                while (arguments.size() < 2) arguments.push_back(-1);
                arguments.push_back(true);  // the largest first
              }),
              IsNotProvedWithSorts());
}

TEST(SortedRows, GroupsOfOtherNumbersThanThoseThatAreSorted) {
  // How often places occur, not experts: the first of each four.
  EXPECT_THAT(Everywhere([](json* trace) {
                json& sort = FirstOf(trace, "aten.sort");
                FirstOf(trace, "aten._to_copy")["args"][0] = sort["out"][1];
              }),
              IsNotProvedWithSorts());
}

TEST(SortedRows, GroupsOfOtherBins) {
  for (const int most : {2, 6}) {
    EXPECT_THAT(Everywhere([&](json* trace) { FirstOf(trace, "aten.histc")["args"][3] = most; }),
                IsNotProvedWithSorts());
  }
}

TEST(SortedRows, GroupsThatEndWhereTheyBegin) {
  // Exclusive sums: ends - counts, which are real numbers before they are converted.
  EXPECT_THAT(Everywhere([](json* trace) {
                const json counts = FirstOf(trace, "aten.histc")["out"][0];
                const json shape = Described(trace, counts)[3];
                const json whole = NewTensorOf(trace, "int32", shape.get<std::vector<int64_t>>());
                const auto place = static_cast<int64_t>(PlaceOf(trace, "aten._grouped_mm"));
                json& operators = (*trace)["operators"];
                const json conversion = {{"op", "aten._to_copy.default"},
                                         {"args", json::array({counts})},
                                         {"kwargs", {{"dtype", {{"dtype", "int32"}}}}},
                                         {"out", json::array({whole})}};
                operators.insert(operators.begin() + place, conversion);
                Interpose(trace, "aten._grouped_mm", 2, "aten.sub.Tensor", json::array({whole}));
              }),
              IsNotProvedWithSorts());
}

TEST(SortedRows, GroupsThatEndAtCountsNotAtTheirSums) {
  EXPECT_THAT(Everywhere([](json* trace) {
                json& sums = FirstOf(trace, "aten.cumsum");
                sums["op"] = "aten._to_copy.default";
                sums["args"] = json::array({sums["args"][0]});
              }),
              IsNotProvedWithSorts());
}

TEST(SortedRows, AGroupThatDoesNotExist) {
  // Experts 1 to 4 of 4, and -1 to 2.
  for (const int shift : {1, -1}) {
    EXPECT_THAT(Everywhere([&](json* trace) {
                  Interpose(trace, "aten.sort", 0, "aten.add.Tensor", json::array({shift}));
                }),
                IsNotProvedWithSorts());
  }
}

TEST(SortedRows, ProductsOfRowsInTheOrderOfAnotherSort) {
  // Rows are taken where the weights of experts would be sorted to, groups are those of the
  // experts.
  EXPECT_THAT(Everywhere([](json* trace) {
                const json order = FirstOf(trace, "aten.sort")["out"][1];
                const size_t place = PlaceOf(trace, "aten.sort");
                const json values = NewTensorOf(trace, "int64", {Described(trace, order)[3][0]});
                const json other = NewTensorOf(trace, "int64", {Described(trace, order)[3][0]});
                json sort = (*trace)["operators"][place];
                sort["args"] = json::array({order});  // the inverse, as a sort
                sort["out"] = json::array({values, other});
                FirstOf(trace, "aten.floor_divide")["args"][0] = other;
                json& operators = (*trace)["operators"];
                operators.insert(operators.begin() + static_cast<int64_t>(place) + 1, sort);
              }),
              IsNotProvedWithSorts());
}

TEST(SortedRows, RowsThatArePutBackByTheOrderInPlaceOfItsInverse) {
  EXPECT_THAT(Everywhere([](json* trace) {
                const json order = FirstOf(trace, "aten.sort")["out"][1];
                const json inverse = FirstOf(trace, "aten.index_put_")["args"][0];
                for (json& op : (*trace)["operators"]) {
                  if (op.value("op", "") != "aten.index.Tensor") continue;
                  if (op["args"][1][0] == inverse) op["args"][1][0] = order;
                }
              }),
              IsNotProvedWithSorts());
}

TEST(SortedRows, RowsThatAreSortedDifferentlyOnOneRank) {
  EXPECT_THAT(WithFault(
                  kProgram,
                  [](std::vector<json>* ranks) {
                    json& arguments = FirstOf(&(*ranks)[1], "aten.sort")["args"];
                    while (arguments.size() < 2) arguments.push_back(-1);
                    arguments.push_back(true);
                  },
                  "--no-explain"),
              IsNotProvedWithSorts());
}

TEST(SortedRows, AGradientThatIsSummedOverTheTokensOfOneRank) {
  EXPECT_THAT(WithFault(
                  kProgram,
                  [](std::vector<json>* ranks) {
                    for (json& rank : *ranks) {
                      json& operators = rank["operators"];
                      for (size_t i = 0; i < operators.size(); ++i) {
                        if (!operators[i].contains("collective")) continue;
                        operators.erase(i);
                        break;
                      }
                    }
                  },
                  "--no-explain"),
              IsNotProvedWithSorts());
}

}  // namespace
}  // namespace planproof::cli
