#include "sdfg/shared_functions.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sdfg/collectives.h"

namespace planproof::sdfg {
namespace {

TEST(FunctionKeyTest, DiffersWhereverAnIngredientDoes) {
  const auto key = [](std::string_view kind, std::vector<int64_t> first,
                      std::vector<int64_t> second, std::string_view text, int64_t number) {
    return FunctionKey(kind).List(first).List(second).Text(text).Number(number).Take();
  };
  const std::set<std::string> keys = {
      key("a", {1, 2}, {3}, "t", 4), key("b", {1, 2}, {3}, "t", 4),
      key("a", {1}, {2, 3}, "t", 4),  // the same numbers, divided otherwise
      key("a", {1, 3}, {2}, "t", 4), key("a", {1, 2}, {3}, "u", 4),
      key("a", {1, 2}, {3}, "t", 5), key("a", {1, 2}, {3}, "", 4)};
  EXPECT_EQ(keys.size(), 7);
  const Shape wide = {1, 2};
  const std::vector<int32_t> narrow = {1, 2};
  EXPECT_EQ(FunctionKey("a").List(wide).Take(), FunctionKey("a").List(narrow).Take());
  const IndexFunction f, g;
  EXPECT_NE(FunctionKey("a").Function(&f).Take(), FunctionKey("a").Function(&g).Take());
}

TEST(SharedFunctionsTest, WhatWasMadeUnderAKeyIsSharedAndErrorsAreNot) {
  Graph graph;
  SharedFunctions functions(&graph);
  int made = 0;
  const auto copy = [&](const std::string& key, const Shape& shape) {
    return functions.Get(key, [&, shape] {
      ++made;
      return Copy(shape, DType::kFloat32);
    });
  };
  const FunctionPointer first = *copy("first", {4});
  EXPECT_EQ(*copy("first", {4}), first);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*copy("equal", {4}), first) << "equal functions are one object under any key";
  EXPECT_NE(*copy("other", {5}), first);
  EXPECT_EQ(made, 3);
  EXPECT_FALSE(functions.Get("wrong", [] { return absl::InternalError("no"); }).ok());
  EXPECT_TRUE(copy("wrong", {6}).ok());
}

}  // namespace
}  // namespace planproof::sdfg
