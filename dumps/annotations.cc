#include "dumps/annotations.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dumps/random_access_file.h"
#include "dumps/yaml.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {
namespace {

constexpr int64_t kMostBlocks = 1 << 20;
constexpr uint64_t kMostAnnotationBytes = 1 << 20;

absl::Status At(const YamlNode& node, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(node.line, ": ", what));
}

absl::Status CheckKeys(const YamlNode& node, const std::vector<std::string>& known) {
  if (node.kind != YamlNode::Kind::kMap)
    return At(node, absl::StrCat("a map is expected, with ", absl::StrJoin(known, ", ")));
  for (size_t i = 0; i < node.keys.size(); ++i) {
    bool found = false;
    for (const std::string& word : known) found = found || word == node.keys[i];
    if (!found)
      return At(node.items[i],
                absl::StrCat("\"", node.keys[i], "\" is none of ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

// A word, or a list of them.
absl::StatusOr<std::vector<std::string>> WordsOf(const YamlNode& node) {
  std::vector<std::string> words;
  if (node.kind == YamlNode::Kind::kMap)
    return At(node, "a word or a list of words is expected, no map");
  if (node.kind == YamlNode::Kind::kText) words.push_back(node.text);
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kText) return At(item, "a word is expected");
    words.push_back(item.text);
  }
  for (const std::string& word : words) {
    if (word.empty()) return At(node, "a word is missing");
  }
  return words;
}

absl::StatusOr<int64_t> NumberOf(const YamlNode& node, const std::string& text, int64_t least,
                                 int64_t most) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < least || number > most) {
    return At(node, absl::StrCat("a whole number from ", least, " to ", most,
                                 " is expected, not \"", text, "\""));
  }
  return number;
}

absl::StatusOr<std::vector<NamePattern>> PatternsOf(const YamlNode& node) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<std::string> words, WordsOf(node));
  std::vector<NamePattern> patterns;
  for (const std::string& word : words) {
    absl::StatusOr<NamePattern> pattern = NamePattern::Parse(word);
    if (!pattern.ok()) return At(node, std::string(pattern.status().message()));
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

// tp | [dp, tp] | {by: tp, blocks: 3} | {by: cp, order: zigzag}
absl::StatusOr<Split> SplitOf(const std::string& dimension, const YamlNode& node) {
  constexpr int64_t kFarthest = 64;
  Split split;
  PLAN_ASSIGN_OR_RETURN(split.dimension, NumberOf(node, dimension, -kFarthest, kFarthest));
  if (node.kind != YamlNode::Kind::kMap) {
    PLAN_ASSIGN_OR_RETURN(split.axes, WordsOf(node));
    return split;
  }
  PLAN_RETURN_IF_ERROR(CheckKeys(node, {"by", "blocks", "order"}));
  const YamlNode *by = node.Find("by"), *blocks = node.Find("blocks"), *order = node.Find("order");
  if (by == nullptr) return At(node, "\"by\" is missing: the axis that splits the dimension");
  if (blocks != nullptr && order != nullptr)
    return At(node, "\"blocks\" and \"order\" exclude each other");
  PLAN_ASSIGN_OR_RETURN(split.axes, WordsOf(*by));
  if (blocks != nullptr) {
    split.order = SplitOrder::kBlocks;
    PLAN_ASSIGN_OR_RETURN(split.blocks, NumberOf(*blocks, blocks->text, 1, kMostBlocks));
  }
  if (order == nullptr) return split;
  if (order->text == "zigzag") {
    split.order = SplitOrder::kZigzag;
  } else if (order->text == "round_robin") {
    split.order = SplitOrder::kRoundRobin;
  } else if (order->text != "contiguous") {
    return At(*order, "an order is contiguous, zigzag or round_robin");
  }
  return split;
}

absl::Status ReadTimes(const YamlNode& node, TensorRule* rule) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<std::string> words, WordsOf(node));
  for (const std::string& word : words) {
    double number = 0;
    if (!absl::SimpleAtod(word, &number)) {
      rule->times.push_back(word);
      continue;
    }
    rule->factor *= number;
  }
  if (!std::isfinite(rule->factor) || rule->factor == 0)
    return At(node, "a factor is a number that is not 0");
  return absl::OkStatus();
}

absl::StatusOr<TensorRule> TensorRuleOf(const YamlNode& node) {
  PLAN_RETURN_IF_ERROR(CheckKeys(node, {"name", "split", "partial", "times"}));
  TensorRule rule;
  rule.line = node.line;
  const YamlNode* name = node.Find("name");
  if (name == nullptr) return At(node, "\"name\" is missing: of which tensors this is said");
  PLAN_ASSIGN_OR_RETURN(rule.names, PatternsOf(*name));
  if (const YamlNode* split = node.Find("split"); split != nullptr) {
    if (split->kind != YamlNode::Kind::kMap)
      return At(*split, "\"split\" is a map from dimensions to axes, such as {0: tp}");
    for (size_t i = 0; i < split->keys.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(Split one, SplitOf(split->keys[i], split->items[i]));
      rule.splits.push_back(std::move(one));
    }
  }
  if (const YamlNode* partial = node.Find("partial"); partial != nullptr) {
    PLAN_ASSIGN_OR_RETURN(rule.partial, WordsOf(*partial));
  }
  if (const YamlNode* times = node.Find("times"); times != nullptr) {
    PLAN_RETURN_IF_ERROR(ReadTimes(*times, &rule));
  }
  return rule;
}

// {pp: 4}
absl::StatusOr<std::vector<NameRule::OnAxis>> OnAxesOf(const YamlNode& node) {
  constexpr int64_t kFar = 1 << 20;
  std::vector<NameRule::OnAxis> out;
  if (node.kind != YamlNode::Kind::kMap)
    return At(node, "a map from axes to numbers is expected, such as {pp: 4}");
  for (size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode& value = node.items[i];
    PLAN_ASSIGN_OR_RETURN(const int64_t number, NumberOf(value, value.text, -kFar, kFar));
    out.push_back({node.keys[i], number});
  }
  return out;
}

absl::StatusOr<NameRule> NameRuleOf(const YamlNode& node) {
  constexpr int64_t kFar = 1 << 20;
  PLAN_RETURN_IF_ERROR(CheckKeys(node, {"candidate", "reference", "where", "offset"}));
  NameRule rule;
  rule.line = node.line;
  const YamlNode *candidate = node.Find("candidate"), *reference = node.Find("reference");
  if (candidate == nullptr || reference == nullptr)
    return At(node, "\"candidate\" and \"reference\" are needed: two names of one tensor");
  for (const auto& [side, pattern] :
       {std::pair{candidate, &rule.candidate}, std::pair{reference, &rule.reference}}) {
    PLAN_ASSIGN_OR_RETURN(std::vector<NamePattern> patterns, PatternsOf(*side));
    if (patterns.size() != 1) return At(*side, "one name is expected");
    *pattern = std::move(patterns[0]);
  }
  if (!rule.candidate.SameWildcards(rule.reference))
    return At(node, "both names need the same wildcards in the same order");
  if (const YamlNode* where = node.Find("where"); where != nullptr) {
    PLAN_ASSIGN_OR_RETURN(rule.where, OnAxesOf(*where));
  }
  if (const YamlNode* offset = node.Find("offset"); offset != nullptr) {
    if (offset->kind == YamlNode::Kind::kMap) {
      PLAN_ASSIGN_OR_RETURN(rule.offsets, OnAxesOf(*offset));
    } else {
      PLAN_ASSIGN_OR_RETURN(rule.offset, NumberOf(*offset, offset->text, -kFar, kFar));
    }
  }
  return rule;
}

// A list of rules, each read by `read`.
template <typename Rule, typename Read>
absl::Status ReadRules(const YamlNode& node, const Read& read, std::vector<Rule>* rules) {
  if (node.kind != YamlNode::Kind::kList)
    return At(node, "a list is expected, whose entries begin with \"- \"");
  for (const YamlNode& item : node.items) {
    PLAN_ASSIGN_OR_RETURN(Rule rule, read(item));
    rules->push_back(std::move(rule));
  }
  return absl::OkStatus();
}

absl::StatusOr<Annotations> AnnotationsIn(std::string_view text) {
  PLAN_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text));
  PLAN_RETURN_IF_ERROR(CheckKeys(root, {"tensors", "names", "skip"}));
  Annotations annotations;
  if (const YamlNode* tensors = root.Find("tensors"); tensors != nullptr) {
    PLAN_RETURN_IF_ERROR(ReadRules(*tensors, TensorRuleOf, &annotations.tensors));
  }
  if (const YamlNode* names = root.Find("names"); names != nullptr) {
    PLAN_RETURN_IF_ERROR(ReadRules(*names, NameRuleOf, &annotations.names));
  }
  if (const YamlNode* skip = root.Find("skip"); skip != nullptr) {
    PLAN_ASSIGN_OR_RETURN(annotations.skip, PatternsOf(*skip));
  }
  return annotations;
}

}  // namespace

std::string PlaceOf(const Annotations& annotations, int line) {
  return absl::StrCat(annotations.file, ":", line);
}

absl::StatusOr<Annotations> ParseAnnotations(std::string_view text, const std::string& file) {
  absl::StatusOr<Annotations> annotations = AnnotationsIn(text);
  if (!annotations.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", std::string(annotations.status().message())));
  }
  annotations->file = file;
  return annotations;
}

absl::StatusOr<Annotations> ReadAnnotations(const std::string& path) {
  PLAN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostAnnotationBytes));
  return ParseAnnotations(text, path);
}

}  // namespace planproof::dumps
