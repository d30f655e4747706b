// YAML with limits: nothing in a file makes reading it long, deep or large.
#include "dumps/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace planproof::dumps {
namespace {

using testing::HasSubstr;

std::string RefusalOfYaml(const std::string& text) {
  const absl::StatusOr<YamlNode> node = ParseYaml(text);
  EXPECT_TRUE(absl::IsInvalidArgument(node.status())) << text.substr(0, 100);
  return std::string(node.status().message());
}

TEST(Yaml, MapsListsAndTextKeepTheirLines) {
  const absl::StatusOr<YamlNode> root = ParseYaml("# about\na: [x, 'y z']\nb:\n  - 1\n");
  ASSERT_TRUE(root.ok()) << root.status();
  ASSERT_EQ(root->kind, YamlNode::Kind::kMap);
  EXPECT_EQ(root->Find("a")->items[1].text, "y z");
  EXPECT_EQ(root->Find("b")->items[0].line, 4);
  EXPECT_EQ(root->Find("c"), nullptr);
}

TEST(Yaml, AliasesAnchorsAndTagsAreRefused) {
  EXPECT_THAT(RefusalOfYaml("a: &x [1]\nb: *x\n"), HasSubstr("1: anchors (&name)"));
  EXPECT_THAT(RefusalOfYaml("b: *x\n"), HasSubstr("1: aliases (*name)"));
  EXPECT_THAT(RefusalOfYaml("a: !!python/object/apply:os.system [ls]\n"),
              HasSubstr("tags (!name)"));
  EXPECT_THAT(RefusalOfYaml("a: &x {b: 1}\n"), HasSubstr("anchors"));
  EXPECT_THAT(RefusalOfYaml("a: &x b\n"), HasSubstr("anchors"));
}

TEST(Yaml, DepthSizeAndNumbersAreLimited) {
  EXPECT_THAT(RefusalOfYaml(std::string(100000, '[')), HasSubstr("nested deeper than 8 levels"));
  EXPECT_THAT(RefusalOfYaml(std::string(2 << 20, ' ')), HasSubstr("more than a mebibyte"));
  std::string keys, items = "[";
  for (int i = 0; i < 300; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(RefusalOfYaml(keys), HasSubstr("257: it has too many keys"));
  for (int i = 0; i < 140000; ++i) items += "a,";
  EXPECT_THAT(RefusalOfYaml(items + "]"), HasSubstr("too many entries"));
}

TEST(Yaml, WhatIsNoneIsSaidWithItsLine) {
  EXPECT_THAT(RefusalOfYaml("a: 1\nb: [1\n"), HasSubstr("3: it is no YAML: "));
  EXPECT_THAT(RefusalOfYaml("a: 1\na: 2\n"), HasSubstr("2: \"a\" is there twice"));
  EXPECT_THAT(RefusalOfYaml("[1]: 2\n"), HasSubstr("a key is a word"));
  EXPECT_THAT(RefusalOfYaml("a: 1\n---\nb: 1\n"), HasSubstr("second document"));
  EXPECT_THAT(RefusalOfYaml(std::string("a: \x01\n")), HasSubstr("it is no YAML"));
}

}  // namespace
}  // namespace planproof::dumps
