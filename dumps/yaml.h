// Parses YAML as people write annotations: maps, lists and plain text, nested a few levels.
//
// libyaml's events become a tree. There are no types but text: what a number is says who reads it.
// Anchors, aliases and tags are refused, so that a file has as many nodes as it has words (no
// "billion laughs"), and nothing is constructed by name.
#ifndef PLANPROOF_DUMPS_YAML_H_
#define PLANPROOF_DUMPS_YAML_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planproof::dumps {

struct YamlNode {
  enum class Kind : uint8_t { kText, kList, kMap };
  Kind kind = Kind::kText;
  int line = 0;  // from 1
  std::string text;
  std::vector<std::string> keys;  // kMap, in the order of the file
  std::vector<YamlNode> items;    // kList, and the values of a map

  const YamlNode* Find(std::string_view key) const;  // null if there is none
};

// One document. InvalidArgument: "LINE: what is wrong"; a key that is there twice is wrong, too.
absl::StatusOr<YamlNode> ParseYaml(std::string_view text);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_YAML_H_
