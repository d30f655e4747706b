// Infinity as an operand is 1 / 0, which is defined nowhere: nothing is proved that rests on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::StartsWith;

json TensorAt(int number) { return {{"tensor", number}}; }

// A trace of one process that makes y, tensor `result`, of x, tensor 0.
std::string TraceFile(const std::string& name, const json& operators, int result) {
  json storages = json::array(), tensors = json::array();
  for (int i = 0; i <= result; ++i) {
    storages.push_back({{"dtype", "float32"}, {"size", 4}});
    tensors.push_back({i, "float32", 0, json::array({4}), json::array({1})});
  }
  const json trace = {
      {"planproof_torch_trace", 1},
      {"torch", "2"},
      {"rank", 0},
      {"world", 1},
      {"axes", json::array()},
      {"groups", json::array()},
      {"strings", json::array()},
      {"storages", storages},
      {"tensors", tensors},
      {"inputs", json::array({{{"role", "input"}, {"name", "x"}, {"tensor", 0}}})},
      {"operators", operators},
      {"results", json::array({{{"kind", "output"}, {"name", "y"}, {"tensor", result}}})},
      {"notes", json::array()}};
  const std::string text = TemporaryFile(name, trace.dump());
  EXPECT_EQ(RunCommand(absl::StrCat("gzip -c ", text, " > ", text, ".trace")).exit_code, 0);
  return text + ".trace";
}

json Operator(const std::string& op, const json& arguments, int result) {
  return {{"op", op}, {"args", arguments}, {"out", json::array({TensorAt(result)})}};
}

// x + c - c of a tensor c of infinities.
json ThereAndBack() {
  return {Operator("aten.full_like.default", {TensorAt(0), {{"float", "inf"}}}, 1),
          Operator("aten.add.Tensor", {TensorAt(0), TensorAt(1)}, 2),
          Operator("aten.sub.Tensor", {TensorAt(2), TensorAt(1)}, 3)};
}

std::string Verdict(const std::string& reference, const std::string& rank) {
  return RunProgram(absl::StrCat("verify -q --no-cache --no-explain ", reference, " ", rank))
      .output;
}

TEST(Infinity, DoesNotCancel) {
  const std::string copy = TraceFile(
      "copy", json::array({Operator("aten.clone.default", json::array({TensorAt(0)}), 1)}), 1);
  const std::string back = TraceFile("back", ThereAndBack(), 3);
  EXPECT_THAT(Verdict(copy, back), StartsWith("UNKNOWN"));
  EXPECT_THAT(Verdict(back, copy), StartsWith("UNKNOWN"));
  EXPECT_THAT(Verdict(back, back), StartsWith("UNKNOWN"));
}

TEST(Infinity, MayStandWhereItIsNeverTaken) {
  const json checked = {Operator("aten.isnan.default", json::array({TensorAt(0)}), 1),
                        Operator("aten.full_like.default", {TensorAt(0), {{"float", "inf"}}}, 2),
                        Operator("aten.where.self", {TensorAt(1), TensorAt(2), TensorAt(0)}, 3)};
  const std::string copy = TraceFile(
      "copy", json::array({Operator("aten.clone.default", json::array({TensorAt(0)}), 1)}), 1);
  EXPECT_THAT(Verdict(copy, TraceFile("checked", checked, 3)), StartsWith("PROVED"));
}

}  // namespace
}  // namespace planproof::cli
