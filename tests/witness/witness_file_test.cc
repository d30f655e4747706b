// A witness is the same after it was written and read; what is no witness is refused, and never
// read beyond its end.
#include "witness/witness_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/temporary_directory.h"

namespace planproof::witness {
namespace {

using testing::HasSubstr;

Dimension Whole(int64_t extent) { return {{{extent, {0}}}}; }

Witness Example() {
  Tensor x{.name = "x", .dtype = sdfg::DType::kFloat32};
  x.dims = {{{{4, {0, 3}}, {128, {0, 1, 64}}}}, Whole(8192)};
  x.reals = {0.1, -2, 3e-300, 4, 5, -0.0};
  Tensor ids{.name = "a \"name\" / \xc3\xa9", .dtype = sdfg::DType::kInt64, .is_integer = true};
  ids.dims = {{{{3, {0, 1, 2}}}}};
  ids.integers = {int64_t{1} << 62, -1, 0};
  Tensor scalar{.name = "loss_scale", .dtype = sdfg::DType::kBFloat16};
  scalar.reals = {0.5};
  Tensor empty{.name = "empty", .dtype = sdfg::DType::kFloat64};
  empty.dims = {Whole(7), {{{0, {}}}}};
  Difference difference{.what = "loss of each copy",
                        .logical_tensor = "loss",
                        .parallel_tensor = "loss.1",
                        .logical_index = {},
                        .parallel_index = {3, 0},
                        .logical = {0.1, 0.30000000000000004},
                        .parallel = {-1, -1},
                        .logical_value = "[0.1, 0.3]",
                        .parallel_value = "-1",
                        .precision = 53};
  return {{x, ids, scalar, empty}, difference};
}

TEST(WitnessFile, IsTheSameAfterItWasWrittenAndRead) {
  for (const bool undefined : {false, true}) {
    Witness witness = Example();
    witness.difference.undefined = undefined;
    if (undefined) witness.difference.parallel = {};
    const absl::StatusOr<std::string> bytes = ToBytes(witness);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<Witness> read = FromBytes(*bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, witness);
    EXPECT_EQ(*ToBytes(*read), *bytes);
  }
}

TEST(WitnessFile, LiesOnDiskAsInMemory) {
  const TemporaryDirectory directory("witness_file");
  const std::string path = directory.path() + "witness.safetensors";
  ASSERT_TRUE(WriteFile(path, Example()).ok());
  const absl::StatusOr<Witness> read = ReadFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Example());
  EXPECT_FALSE(ReadFile(path + ".missing").ok());
  EXPECT_FALSE(WriteFile(directory.path() + "none/witness", Example()).ok());
}

TEST(WitnessFile, HasTheLayoutOfSafetensors) {
  const std::string bytes = *ToBytes(Example());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const std::string header = bytes.substr(8, length);
  EXPECT_THAT(header, HasSubstr(R"("x":{"data_offsets":[0,48],"dtype":"F64","shape":[6,1]})"));
  EXPECT_THAT(header, HasSubstr(R"("format":"planproof witness 1")"));
  EXPECT_EQ(bytes.size(), 8 + length + 8 * (6 + 3 + 1));
}

TEST(WitnessFile, ElementsLieInTheirBlocks) {
  const Tensor x = Example().inputs[0];
  EXPECT_EQ(x.Shape(), (sdfg::Shape{512, 8192}));
  EXPECT_EQ(x.reals[x.Offset({0, 5})], 0.1);
  EXPECT_EQ(x.reals[x.Offset({1, 5})], -2);                 // digits 0 and 1
  EXPECT_EQ(x.reals[x.Offset({2 * 128 + 70, 0})], 3e-300);  // digits 2 and 70
  EXPECT_EQ(x.reals[x.Offset({3 * 128, 8191})], 4);
}

TEST(WitnessFile, WhatIsNoWitnessIsNotWritten) {
  const auto refused = [](const auto& change) {
    Witness witness = Example();
    change(&witness);
    return !ToBytes(witness).ok();
  };
  EXPECT_TRUE(refused([](Witness* w) { w->inputs[0].reals.pop_back(); }));
  EXPECT_TRUE(refused([](Witness* w) { w->inputs[1].name = "x"; }));
  EXPECT_TRUE(refused([](Witness* w) { w->inputs[0].name = "__metadata__"; }));
  EXPECT_TRUE(refused([](Witness* w) { w->inputs[0].reals[0] = INFINITY; }));
  EXPECT_TRUE(refused([](Witness* w) { w->inputs[0].dims[0].digits[0].starts = {0, 4}; }));
  EXPECT_TRUE(refused([](Witness* w) { w->inputs[0].dims[0].digits[1].starts = {0, 64, 1}; }));
  EXPECT_TRUE(refused([](Witness* w) { w->difference.logical = {1, 0}; }));
}

TEST(WitnessFile, EveryCutAndEveryChangedByteIsAnErrorOrAWitness) {
  const std::string bytes = *ToBytes(Example());
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(FromBytes(std::string_view(bytes).substr(0, length)).ok()) << length;
  EXPECT_FALSE(FromBytes(bytes + "x").ok());
  std::mt19937_64 random(1);
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 + random() % 255));
    const absl::StatusOr<Witness> read = FromBytes(changed);
    refused += !read.ok();
    // What is read is a witness, which can be written.
    if (read.ok()) {
      ASSERT_TRUE(ToBytes(*read).ok()) << at;
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) / 2);
}

TEST(WitnessFile, SizesThatCannotBeAreRefusedBeforeMemoryIsTaken) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string bytes = *ToBytes(Example());
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    std::string header = bytes.substr(8, length), rest = bytes.substr(8 + length);
    for (size_t at = 0; (at = header.find(from, at)) != std::string::npos; at += to.size())
      header.replace(at, from.size(), to);
    length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + rest;
  };
  EXPECT_TRUE(FromBytes(with("zzz", "")).ok());
  EXPECT_FALSE(FromBytes(with("8192", "70368744177665")).ok());
  EXPECT_FALSE(FromBytes(with("8192", "-1")).ok());
  EXPECT_FALSE(FromBytes(with("[0,48]", "[0,1073741824]")).ok());
  EXPECT_FALSE(FromBytes(with("[0,48]", "[8,56]")).ok());
  EXPECT_FALSE(FromBytes(with("\"F64\"", "\"F32\"")).ok());
  EXPECT_FALSE(FromBytes(with("witness 1", "witness 2")).ok());
}

}  // namespace
}  // namespace planproof::witness
