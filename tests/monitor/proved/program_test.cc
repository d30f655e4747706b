#include "monitor/proved/program.h"

#include <gtest/gtest.h>

#include "tests/monitor/proved/small_program.h"

namespace planproof::monitor {
namespace {

TEST(RelevantPart, LeavesOutWhatNothingIsUpdatedBy) {
  SmallProgram program;
  const int32_t w = program.Tensor({4}, MemoryRole::kParameter, "w");
  const int32_t a = program.Tensor({4}), loss = program.Tensor({});
  program.Call("aten.sum.default", {w}, loss);
  program.Call("aten.neg.default", {w}, a);
  program.Call("aten.add_.Tensor", {w, a}, w).writes = {w};
  program.Updates(w);
  const RankProgram part = RelevantPart(program.program());
  ASSERT_EQ(part.operators.size(), 2);
  EXPECT_EQ(part.operators[0].name, "aten.neg.default");
  EXPECT_EQ(part.memory.size(), 2);
}

TEST(RelevantPart, LeavesOutHowTheBatchIsMade) {
  SmallProgram program;
  const int32_t w = program.Tensor({4}, MemoryRole::kParameter, "w");
  const int32_t x = program.Tensor({4}), y = program.Tensor({4}), z = program.Tensor({4});
  program.Call("aten.randn.default", {}, x).kind = OperatorKind::kDraws;
  program.Call("aten.neg.default", {x}, y);
  program.Call("aten.clone.default", {y}, z).kind = OperatorKind::kCopies;
  program.Call("aten.add_.Tensor", {w, z}, w).writes = {w};
  program.Updates(w);
  const RankProgram part = RelevantPart(program.program());
  ASSERT_EQ(part.operators.size(), 1);
  EXPECT_EQ(part.operators[0].name, "aten.add_.Tensor");
}

TEST(RelevantPart, KeepsWhatModulesComputeOfTheBatch) {
  SmallProgram program;
  const int32_t w = program.Tensor({4}, MemoryRole::kParameter, "w");
  const int32_t x = program.Tensor({4}, MemoryRole::kData), y = program.Tensor({4});
  program.Call("aten.neg.default", {x}, y).module = "mask";
  program.Call("aten.add_.Tensor", {w, y}, w).writes = {w};
  program.Updates(w);
  EXPECT_EQ(RelevantPart(program.program()).operators.size(), 2);
}

TEST(RelevantPart, KeepsWhatIsSentToOthers) {
  SmallProgram program;
  const int32_t w = program.Tensor({4}, MemoryRole::kParameter, "w");
  const int32_t a = program.Tensor({4});
  program.Call("aten.neg.default", {w}, a);
  program.Call("send", {a}, -1).kind = OperatorKind::kCollective;
  program.Updates(w);
  EXPECT_EQ(RelevantPart(program.program()).operators.size(), 2);
}

TEST(RelevantPart, LeavesOutThatGradientsAreCleared) {
  SmallProgram program;
  const int32_t w = program.Tensor({4}, MemoryRole::kParameter, "w");
  const int32_t g = program.Tensor({4});
  ProgramOperator& clears = program.Call("aten.zero_.default", {g}, g);
  clears.kind = OperatorKind::kClears;
  clears.writes = {g};
  program.Call("aten.add_.Tensor", {g, w}, g).writes = {g};
  program.Call("aten.add_.Tensor", {w, g}, w).writes = {w};
  program.Updates(w);
  EXPECT_EQ(RelevantPart(program.program()).operators.size(), 2);
}

}  // namespace
}  // namespace planproof::monitor
