#include "monitor/traincheck/json_cursor.h"

#include <gtest/gtest.h>

#include <string>

namespace planproof::monitor::traincheck {
namespace {

JsonValue Read(std::string_view text) {
  std::string_view rest;
  return ReadJson(text, &rest);
}

TEST(JsonCursor, GivesMembersInOrder) {
  JsonCursor cursor(Read(R"({"a": [1, {"b": "]"}], "c\"d" : null ,"e":-3})"));
  std::string_view key;
  JsonValue value;
  ASSERT_TRUE(cursor.Next(&key, &value));
  EXPECT_EQ(key, "a");
  EXPECT_EQ(value.kind, JsonKind::kArray);
  EXPECT_EQ(value.text, R"([1, {"b": "]"}])");
  ASSERT_TRUE(cursor.Next(&key, &value));
  EXPECT_EQ(key, R"(c\"d)");
  EXPECT_EQ(value.kind, JsonKind::kNull);
  ASSERT_TRUE(cursor.Next(&key, &value));
  int64_t number = 0;
  EXPECT_TRUE(ReadInteger(value, &number));
  EXPECT_EQ(number, -3);
  EXPECT_FALSE(cursor.Next(&key, &value));
  EXPECT_TRUE(cursor.ok());
}

TEST(JsonCursor, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1", "{\"a\": [}", "\"", "\"a\\", "nothing", "[{]}"}) {
    EXPECT_EQ(Read(text).kind, JsonKind::kNone) << text;
  }
  for (const char* text : {"{\"a\" 1}", "{1: 2}", "[1 2]", "[,]", "{\"a\": x}"}) {
    JsonCursor cursor(Read(text));
    std::string_view key;
    JsonValue value;
    while (cursor.Next(&key, &value)) {
    }
    EXPECT_FALSE(cursor.ok()) << text;
  }
}

TEST(JsonCursor, IsAtMost64Deep) {
  EXPECT_EQ(Read(std::string(64, '[') + std::string(64, ']')).kind, JsonKind::kArray);
  EXPECT_EQ(Read(std::string(65, '[') + std::string(65, ']')).kind, JsonKind::kNone);
}

TEST(JsonCursor, ReadsWholeNumbersOnly) {
  int64_t number = 0;
  EXPECT_TRUE(ReadInteger(Read("-9223372036854775808"), &number));
  for (const char* text : {"9223372036854775808", "1.5", "1e3", "\"1\"", "null"}) {
    EXPECT_FALSE(ReadInteger(Read(text), &number)) << text;
  }
}

}  // namespace
}  // namespace planproof::monitor::traincheck
