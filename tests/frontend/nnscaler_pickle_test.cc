#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>

#include "frontend/nnscaler/pickle.h"
#include "frontend/nnscaler/plan_objects.h"
#include "tests/frontend/nnscaler_testing.h"

namespace planproof::frontend::nnscaler {
namespace {

using namespace std::string_literals;

std::string Error(const std::string& bytes, const PickleLimits& limits = {}) {
  const absl::StatusOr<Pickle> pickle = Pickle::Decode(bytes, limits);
  return pickle.ok() ? "" : std::string(pickle.status().message());
}

testing::AssertionResult Contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" lacks \"" << part << "\"";
}

TEST(PickleTest, DecodesNumbersOfAllProtocols) {
  const std::pair<std::string, int64_t> ints[] = {{"K\x07."s, 7},
                                                  {"M\x01\x02."s, 513},
                                                  {"J\xff\xff\xff\xff."s, -1},
                                                  {"I42\n."s, 42},
                                                  {"L-7L\n."s, -7},
                                                  {"\x8a\x00."s, 0},
                                                  {"\x8a\x02\x00\x80."s, -32768},
                                                  {"\x8a\x02\xff\x7f."s, 32767}};
  for (const auto& [bytes, value] : ints) {
    absl::StatusOr<Pickle> pickle = Pickle::Decode(bytes);
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    ASSERT_TRUE(pickle->Is(pickle->root(), ValueKind::kInt));
    EXPECT_EQ(pickle->Int(pickle->root()), value);
  }
  absl::StatusOr<Pickle> real = Pickle::Decode("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s);
  ASSERT_TRUE(real.ok());
  EXPECT_EQ(real->Float(real->root()), 1.5);
  absl::StatusOr<Pickle> big = Pickle::Decode("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s);
  ASSERT_TRUE(big.ok());
  EXPECT_TRUE(big->Is(big->root(), ValueKind::kBigInt));
}

TEST(PickleTest, ExtendsContainersInSeveralSteps) {
  // [1, 2] while another list grows in between.
  absl::StatusOr<Pickle> pickle =
      Pickle::Decode("](K\x01\x65]q\x00K\x05\x61\x30K\x02\x61h\x00K\x06\x61\x61."s);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const absl::Span<const ValueId> items = pickle->Items(pickle->root());
  ASSERT_EQ(items.size(), 3);
  EXPECT_EQ(pickle->Int(items[0]), 1);
  EXPECT_EQ(pickle->Int(items[1]), 2);
  const absl::Span<const ValueId> inner = pickle->Items(items[2]);
  ASSERT_EQ(inner.size(), 2);
  EXPECT_EQ(pickle->Int(inner[0]), 5);
  EXPECT_EQ(pickle->Int(inner[1]), 6);
}

TEST(PickleTest, AListMayContainItself) {
  absl::StatusOr<Pickle> pickle = Pickle::Decode("]q\x00h\x00\x61."s);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_EQ(pickle->Items(pickle->root())[0], pickle->root());
}

TEST(PickleTest, RecordsObjectsWithoutCallingAnything) {
  // os.system('false') stays a record.
  absl::StatusOr<Pickle> pickle = Pickle::Decode("cos\nsystem\n(S'false'\ntR."s);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_TRUE(pickle->Is(pickle->root(), ValueKind::kObject));
  EXPECT_EQ(pickle->ClassName(pickle->root()), "system");
}

TEST(PickleTest, ToleratesDillsSetattr) {
  // getattr(dill._dill, '_setattr', setattr)(obj, name, value) and POP before the value proper.
  absl::StatusOr<Pickle> pickle =
      Pickle::Decode("cbuiltins\ngetattr\n(cdill\n_dill\nS'_setattr'\nNtR(NNNtR0K\x09."s);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_EQ(pickle->Int(pickle->root()), 9);
}

TEST(PickleTest, DecodesNumpyScalars) {
  const std::string dtype =
      "cnumpy\ndtype\n(S'i8'\nI00\nI01\ntR(I3\nS'<'\nNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"s;
  for (const std::string module : {"numpy.core.multiarray", "numpy._core.multiarray"}) {
    absl::StatusOr<Pickle> pickle = Pickle::Decode("c" + module + "\nscalar\n(" + dtype +
                                                   "C\x08\xfe\xff\xff\xff\xff\xff\xff\xfftR."s);
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    ASSERT_TRUE(pickle->Is(pickle->root(), ValueKind::kInt));
    EXPECT_EQ(pickle->Int(pickle->root()), -2);
    EXPECT_TRUE(
        Contains(Error("c" + module + "\nscalar\n(" + dtype + "C\x01\x01tR."s), "numpy scalar"));
  }
}

std::string DecodedText(const std::string& bytes) {
  absl::StatusOr<Pickle> pickle = Pickle::Decode(bytes);
  if (!pickle.ok()) return std::string(pickle.status().message());
  return std::string(pickle->Text(pickle->root()));
}

// Names that are no Unicode could not be written into a plan file or a JSON report.
TEST(PickleTest, TextIsUtf8) {
  EXPECT_EQ(DecodedText("\x80\x04\x8c\x02\xc3\xa9."s), "\xc3\xa9");
  EXPECT_EQ(DecodedText("\x80\x04\x8c\x04\xf0\x9f\x98\x80."s), "\xf0\x9f\x98\x80");
  EXPECT_EQ(DecodedText("\x80\x04\x8c\x06\xe0\xa0\x80\xee\x80\x80."s), "\xe0\xa0\x80\xee\x80\x80");
  // Protocol 0 has Latin-1 beside its escapes.
  EXPECT_EQ(DecodedText("V\xe9\n."s), "\xc3\xa9");
  EXPECT_EQ(DecodedText("V\\u20ac\xe9\n."s), "\xe2\x82\xac\xc3\xa9");
  for (const std::string& wrong :
       {"\xff"s, "\x80"s, "\xc3"s, "\xc0\x80"s, "\xc1\xbf"s, "\xe0\x9f\xbf"s, "\xe2\x82"s,
        "\xe2\x82\x41"s, "\xed\xa0\x80"s, "\xf0\x8f\xbf\xbf"s, "\xf4\x90\x80\x80"s,
        "\xf5\x80\x80\x80"s, "\xf0\x9f\x98"s}) {
    const std::string pickle = "\x80\x04\x8c"s + static_cast<char>(wrong.size()) + wrong + "."s;
    EXPECT_TRUE(Contains(Error(pickle), "not UTF-8"));
    EXPECT_TRUE(Contains(Error("cmodule\n" + wrong + "\n."), "not UTF-8"));
  }
  EXPECT_TRUE(Contains(Error("V\\ud800\n."s), "not UTF-8"));
}

TEST(PickleTest, ErrorsNameOffsetAndOpcode) {
  EXPECT_TRUE(Contains(Error(""s), "empty file"));
  EXPECT_TRUE(Contains(Error("\x80\x04K"s), "byte 2, opcode BININT1"));
  EXPECT_TRUE(Contains(Error("N\xff"s), "byte 1, opcode 0xff"));
  EXPECT_TRUE(Contains(Error("h\x05."s), "memo entry 5 was never stored"));
  EXPECT_TRUE(Contains(Error("K\x01"s), "without STOP"));
  EXPECT_TRUE(Contains(Error("."s), "0 values"));
  EXPECT_TRUE(Contains(Error("(K\x01."s), "open MARK"));
  EXPECT_TRUE(Contains(Error("a"s), "the stack has no value"));
  EXPECT_TRUE(Contains(Error("K\x01K\x02\x61."s), "cannot add elements to a int"));
  EXPECT_TRUE(Contains(Error("}(K\x01u."s), "a key without a value"));
  EXPECT_TRUE(Contains(Error("Pname\n."s), "outside of the file"));
}

TEST(PickleTest, LengthsBeyondTheInputAllocateNothing) {
  EXPECT_TRUE(Contains(Error("X\xff\xff\xff\x7f"s), "needs 2147483647 more bytes"));
  EXPECT_TRUE(Contains(Error("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"s), "more bytes"));
  EXPECT_TRUE(Contains(Error("Nr\xff\xff\xff\xff."s), "memo entry 4294967295"));
  PickleLimits limits;
  limits.max_values = 400;
  EXPECT_TRUE(Contains(Error(std::string(1000, ']') + ".", limits), "more than 400 values"));
}

TEST(PickleTest, DeepNestingNeedsNoStack) {
  std::string deep(1 << 20, ']');
  deep += std::string((1 << 20) - 1, 'a') + ".";
  EXPECT_EQ(Error(deep), "");
}

TEST(PickleTest, EveryPrefixOfAPlanIsAnErrorAndDamageNeverCrashes) {
  const std::string path = SmallPlan("tp2");
  if (path.empty()) GTEST_SKIP() << "python3 is not there";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  for (size_t n = 0; n < bytes.size(); n += 7) EXPECT_NE(Error(bytes.substr(0, n)), "");
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 1 + i % 4; ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    absl::StatusOr<Pickle> pickle = Pickle::Decode(damaged);
    if (!pickle.ok()) continue;
    absl::StatusOr<Plan> plan = ReadPlan(*pickle);
    if (plan.ok()) (void)BuildProblem(*plan, *plan).ok();
  }
}

}  // namespace
}  // namespace planproof::frontend::nnscaler
