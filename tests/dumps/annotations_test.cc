// Annotations as they are written, and as they are not.
#include "dumps/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace planproof::dumps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Annotations Read(const std::string& text) {
  absl::StatusOr<Annotations> annotations = ParseAnnotations(text, "a.yaml");
  EXPECT_TRUE(annotations.ok()) << annotations.status();
  return annotations.ok() ? *std::move(annotations) : Annotations{};
}

std::string Refusal(const std::string& text) {
  const absl::StatusOr<Annotations> annotations = ParseAnnotations(text, "a.yaml");
  EXPECT_TRUE(absl::IsInvalidArgument(annotations.status())) << text;
  return std::string(annotations.status().message());
}

TEST(Annotations, RulesOfTensorsAreRead) {
  const Annotations annotations = Read(
      "tensors:\n"
      "  - name: forward/*\n"
      "    split: {0: tp, -1: [dp, cp]}\n"
      "  - name: ['*.qkv', '*.up']\n"
      "    split:\n"
      "      0: {by: tp, blocks: 3}\n"
      "      1: {by: cp, order: zigzag}\n"
      "    partial: dp\n"
      "    times: [dp, 0.5, ep]\n");
  ASSERT_EQ(annotations.tensors.size(), 2u);
  const TensorRule &first = annotations.tensors[0], &second = annotations.tensors[1];
  EXPECT_EQ(first.line, 2);
  EXPECT_EQ(first.names[0].text(), "forward/*");
  ASSERT_EQ(first.splits.size(), 2u);
  EXPECT_EQ(first.splits[1].dimension, -1);
  EXPECT_THAT(first.splits[1].axes, ElementsAre("dp", "cp"));
  EXPECT_EQ(second.names.size(), 2u);
  EXPECT_EQ(second.splits[0].order, SplitOrder::kBlocks);
  EXPECT_EQ(second.splits[0].blocks, 3);
  EXPECT_EQ(second.splits[1].order, SplitOrder::kZigzag);
  EXPECT_THAT(second.partial, ElementsAre("dp"));
  EXPECT_THAT(second.times, ElementsAre("dp", "ep"));
  EXPECT_EQ(second.factor, 0.5);
}

TEST(Annotations, RulesOfNamesAreRead) {
  const Annotations annotations = Read(
      "names:\n"
      "  - {candidate: '*.decoder.{n}.*', reference: '*.{n}.*', offset: {pp: 4}, where: {pp: 1}}\n"
      "  - {candidate: 'a{n}', reference: 'b{n}', offset: -3}\n"
      "skip: ['update/*']\n");
  ASSERT_EQ(annotations.names.size(), 2u);
  EXPECT_EQ(annotations.names[0].offsets[0].axis, "pp");
  EXPECT_EQ(annotations.names[0].offsets[0].value, 4);
  EXPECT_EQ(annotations.names[0].where[0].value, 1);
  EXPECT_EQ(annotations.names[1].offset, -3);
  EXPECT_EQ(annotations.skip.size(), 1u);
}

TEST(Annotations, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(Refusal("tensors:\n  - name: x\n    spilt: {0: tp}\n"),
            "a.yaml:3: \"spilt\" is none of name, split, partial, times");
  EXPECT_THAT(Refusal("tensors: x\n"), HasSubstr("a.yaml:1: a list is expected"));
  EXPECT_THAT(Refusal("tensors:\n  - split: {0: tp}\n"), HasSubstr("\"name\" is missing"));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    split: {first: tp}\n"),
              HasSubstr("a whole number from -64 to 64 is expected, not \"first\""));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    split: tp\n"), HasSubstr("{0: tp}"));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    split: {0: {by: tp, order: random}}\n"),
              HasSubstr("contiguous, zigzag or round_robin"));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    split: {0: {by: tp, blocks: 0}}\n"),
              HasSubstr("from 1 to"));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    split: {0: {by: t, blocks: 2, order: zigzag}}\n"),
              HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    times: 0\n"), HasSubstr("not 0"));
  EXPECT_THAT(Refusal("tensors:\n  - name: x\n    times: inf\n"), HasSubstr("not 0"));
  EXPECT_THAT(Refusal("names:\n  - {candidate: 'a*', reference: b}\n"),
              HasSubstr("the same wildcards"));
  EXPECT_THAT(Refusal("names:\n  - {candidate: a}\n"), HasSubstr("are needed"));
  EXPECT_THAT(Refusal("skip: ['a{']\n"), HasSubstr("closing brace"));
  EXPECT_THAT(Refusal("- a\n"), HasSubstr("a map is expected"));
  EXPECT_THAT(Refusal(""), HasSubstr("there is nothing in it"));
}

TEST(Annotations, AFileThatDoesNotExistIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(ReadAnnotations("/nowhere.yaml").status()));
}

}  // namespace
}  // namespace planproof::dumps
