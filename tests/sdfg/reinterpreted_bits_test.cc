// Bits of numbers that are read as numbers of another type.
#include "sdfg/reinterpreted_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace planproof::sdfg {
namespace {

std::optional<double> Read(DType of, DType as, double number) {
  return Reinterpreted({of, as}, number);
}

// The values are those of torch.tensor(x, dtype=of).view(as).
TEST(ReinterpretedBits, AreThoseOfPyTorch) {
  EXPECT_EQ(Read(DType::kBFloat16, DType::kFloat16, 1), 1.875);
  EXPECT_EQ(Read(DType::kBFloat16, DType::kFloat16, -2), -2);
  EXPECT_EQ(Read(DType::kBFloat16, DType::kFloat16, 3), 2.125);
  EXPECT_EQ(Read(DType::kFloat16, DType::kBFloat16, 1), 0.0078125);
  EXPECT_EQ(Read(DType::kFloat32, DType::kInt32, 1), 0x3f800000);
  EXPECT_EQ(Read(DType::kFloat16, DType::kInt16, -2), -16384);
  EXPECT_EQ(Read(DType::kInt16, DType::kFloat16, 1), 0x1p-24);
  EXPECT_EQ(Read(DType::kInt16, DType::kFloat16, -1), std::nullopt);  // not a number
  EXPECT_EQ(Read(DType::kFloat16, DType::kInt16, 0), 0);
  EXPECT_EQ(Read(DType::kFloat16, DType::kInt16, -0.0), 0);
}

// Of single precision, against what this machine holds.
TEST(ReinterpretedBits, OfFloat32AreThoseOfTheMachine) {
  for (uint64_t k = 0; k < 40000; ++k) {
    const auto bits = static_cast<uint32_t>(k * 2654435761u);
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number) || number == 0) continue;
    EXPECT_EQ(Read(DType::kFloat32, DType::kInt32, number), static_cast<int32_t>(bits)) << number;
    EXPECT_EQ(Read(DType::kInt32, DType::kFloat32, static_cast<int32_t>(bits)), number) << bits;
  }
}

TEST(ReinterpretedBits, OfSixteenBitsComeBackForEveryPattern) {
  for (const DType type : {DType::kFloat16, DType::kBFloat16}) {
    int numbers = 0;
    for (int bits = -32768; bits < 32768; ++bits) {
      const std::optional<double> number = Read(DType::kInt16, type, bits);
      if (!number || bits == -32768) continue;  // a zero with a sign
      ++numbers;
      EXPECT_EQ(Read(type, DType::kInt16, *number), bits);
    }
    EXPECT_EQ(numbers, 65536 - 1 - (type == DType::kFloat16 ? 2048 : 256));
  }
}

TEST(ReinterpretedBits, AreNoneOfANumberThatTheTypeDoesNotHold) {
  EXPECT_EQ(Read(DType::kBFloat16, DType::kFloat16, 1.001), std::nullopt);
  EXPECT_EQ(Read(DType::kFloat16, DType::kBFloat16, 65536), std::nullopt);
  EXPECT_EQ(Read(DType::kInt16, DType::kFloat16, 0.5), std::nullopt);
  EXPECT_EQ(Read(DType::kInt16, DType::kFloat16, 32768), std::nullopt);
  EXPECT_EQ(Read(DType::kFloat32, DType::kInt32, std::nan("")), std::nullopt);
  EXPECT_EQ(Read(DType::kFloat32, DType::kFloat16, 1), std::nullopt);  // of another width
}

TEST(ReinterpretedBits, RoundToTheNearestNumberOfTheType) {
  EXPECT_EQ(RoundedTo(DType::kBFloat16, 1.001), 1);
  EXPECT_EQ(RoundedTo(DType::kBFloat16, 1 + 0x1p-8), 1);  // two as near: the even one
  EXPECT_EQ(RoundedTo(DType::kBFloat16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(RoundedTo(DType::kFloat16, 0x1p-25), 0);
  EXPECT_EQ(RoundedTo(DType::kFloat16, 65519), 65504);
  EXPECT_EQ(RoundedTo(DType::kFloat16, 65520), std::nullopt);
  EXPECT_EQ(RoundedTo(DType::kInt16, -32768), -32768);
  EXPECT_EQ(RoundedTo(DType::kInt16, 32768), std::nullopt);
}

TEST(ReinterpretedBits, HaveNamesThatAreReadAgain) {
  const std::string name = FunctionName({DType::kBFloat16, DType::kFloat16});
  EXPECT_EQ(name, "bits(of=bfloat16,as=float16)");
  const std::optional<Reinterpretation> read = ReinterpretationOf(name);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->of, DType::kBFloat16);
  EXPECT_EQ(read->as, DType::kFloat16);
  for (const char* other :
       {"bits", "bits(of=", "bits(of=bfloat16,as=", "bits(of=bfloat16,as=float16",
        "bits(of=float32,as=float16)", "bits(of=half,as=bfloat16)", "bits(of=bfloat16,as=float16)x",
        "floor"}) {
    EXPECT_FALSE(ReinterpretationOf(other)) << other;
  }
}

}  // namespace
}  // namespace planproof::sdfg
