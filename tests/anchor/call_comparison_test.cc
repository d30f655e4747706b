// What Python's functions gave in a recording: neither a number that the function does not mean,
// nor two numbers of one call, are believed.
#include "anchor/call_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace planproof::anchor {
namespace {

using frontend::RecordedCall;
using testing::HasSubstr;

RecordedCall Call(std::string function, std::vector<double> operands, double value) {
  RecordedCall call;
  call.function = std::move(function);
  call.operands = std::move(operands);
  call.value = value;
  call.place = "aten.mul.Tensor, at train.py:3";
  return call;
}

class Calls : public testing::Test {
 protected:
  Calls() {
    recording_.reference.rank = -1;
    recording_.ranks.resize(2);
    for (int32_t rank = 0; rank < 2; ++rank) recording_.ranks[rank].rank = rank;
  }
  frontend::Recording recording_;
};

TEST_F(Calls, NumbersThatFunctionsMeanAreBelieved) {
  RecordedCall call = Call("int", {17.5}, 17);
  call.meant = 17;
  recording_.reference.calls = {call};
  call.operands = {17.92};
  recording_.ranks[0].calls = {call};
  EXPECT_FALSE(CompareCalls(recording_));
}

TEST_F(Calls, AnotherNumberThanTheFunctionMeansIsNamed) {
  RecordedCall call = Call("int", {17.5}, 18);
  call.meant = 17;
  recording_.ranks[1].calls = {call};
  const auto difference = CompareCalls(recording_);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->ranks, (std::vector<int32_t>{1}));
  EXPECT_THAT(difference->text, HasSubstr("rank 1 has 18 as what int(17.5) gave"));
  EXPECT_THAT(difference->text, HasSubstr("train.py:3"));
}

TEST_F(Calls, TheLastBitOfALogarithmIsALibrarys) {
  RecordedCall call = Call("log", {3}, 1.0986122886681098);
  call.meant = 1.0986122886681096;
  recording_.reference.calls = {call};
  EXPECT_TRUE(CompareCalls(recording_));
  recording_.reference.calls[0].exact = false;
  EXPECT_FALSE(CompareCalls(recording_));
  recording_.reference.calls[0].value = 1.0987;
  EXPECT_TRUE(CompareCalls(recording_));
}

// A proof takes it to be a function: a call that depends on something else would be proved equal to
// one that gave another number.
TEST_F(Calls, OneCallHasOneNumberWhoeverMakesIt) {
  recording_.reference.calls = {Call("mystery", {2, 3}, 0.25)};
  recording_.ranks[0].calls = {Call("mystery", {2, 3}, 0.25), Call("mystery", {2, 4}, 0.5)};
  recording_.ranks[1].calls = {Call("other", {2, 3}, 0.75)};
  EXPECT_FALSE(CompareCalls(recording_));
  recording_.ranks[1].calls.push_back(Call("mystery", {2, 3}, 0.5));
  const auto difference = CompareCalls(recording_);
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->text, HasSubstr("the same call gave 0.25"));
}

}  // namespace
}  // namespace planproof::anchor
