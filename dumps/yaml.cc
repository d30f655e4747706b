#include "dumps/yaml.h"

#include <yaml.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {
namespace {

constexpr size_t kMostYamlBytes = 1 << 20;
constexpr size_t kMostYamlNodes = 1 << 17;
constexpr size_t kMostYamlDepth = 8;
constexpr size_t kMostYamlKeys = 256;  // of one map

absl::Status RefuseLine(size_t line, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(line, ": ", what));
}

class YamlParser {
 public:
  explicit YamlParser(std::string_view text) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  YamlParser(const YamlParser&) = delete;
  YamlParser& operator=(const YamlParser&) = delete;
  ~YamlParser() { yaml_parser_delete(&parser_); }

  absl::StatusOr<YamlNode> Run() {
    if (!ready_) return absl::ResourceExhaustedError("no memory for the YAML parser");
    bool done = false;
    while (!done) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) {
        return RefuseLine(
            parser_.problem_mark.line + 1,
            absl::StrCat("it is no YAML: ", parser_.problem != nullptr ? parser_.problem : "?"));
      }
      const absl::Status status = Take(event);
      done = event.type == YAML_STREAM_END_EVENT;
      yaml_event_delete(&event);
      PLAN_RETURN_IF_ERROR(status);
    }
    if (!root_) return RefuseLine(1, "there is nothing in it");
    return *std::move(root_);
  }

 private:
  // A list or a map that is open.
  struct Open {
    YamlNode node;
    std::optional<std::string> key;  // of the value that comes
  };

  absl::Status Take(const yaml_event_t& event) {
    const size_t line = event.start_mark.line + 1;
    switch (event.type) {
      case YAML_ALIAS_EVENT:
        return RefuseLine(line, "aliases (*name) are not read: write it out");
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        if (scalar.anchor != nullptr || scalar.tag != nullptr) return NoAnchors(line);
        YamlNode node;
        node.line = static_cast<int>(line);
        node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        return Place(std::move(node));
      }
      case YAML_SEQUENCE_START_EVENT:
        if (event.data.sequence_start.anchor != nullptr || event.data.sequence_start.tag != nullptr)
          return NoAnchors(line);
        return Begin(YamlNode::Kind::kList, line);
      case YAML_MAPPING_START_EVENT:
        if (event.data.mapping_start.anchor != nullptr || event.data.mapping_start.tag != nullptr)
          return NoAnchors(line);
        return Begin(YamlNode::Kind::kMap, line);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        YamlNode node = std::move(open_.back().node);
        open_.pop_back();
        return Place(std::move(node));
      }
      default:
        return absl::OkStatus();  // beginnings and ends of documents
    }
  }

  static absl::Status NoAnchors(size_t line) {
    return RefuseLine(line, "anchors (&name) and tags (!name) are not read: leave them out");
  }

  absl::Status Begin(YamlNode::Kind kind, size_t line) {
    if (open_.size() >= kMostYamlDepth)
      return RefuseLine(line, absl::StrCat("it is nested deeper than ", kMostYamlDepth, " levels"));
    Open& open = open_.emplace_back();
    open.node.kind = kind;
    open.node.line = static_cast<int>(line);
    return absl::OkStatus();
  }

  absl::Status Place(YamlNode node) {
    const auto line = static_cast<size_t>(node.line);
    if (++nodes_ > kMostYamlNodes) return RefuseLine(line, "it has too many entries");
    if (open_.empty()) {
      if (root_) return RefuseLine(line, "a second document begins: there is one in a file");
      root_ = std::move(node);
      return absl::OkStatus();
    }
    Open& open = open_.back();
    if (open.node.kind == YamlNode::Kind::kList) {
      open.node.items.push_back(std::move(node));
      return absl::OkStatus();
    }
    if (open.key) {
      open.node.keys.push_back(*std::move(open.key));
      open.node.items.push_back(std::move(node));
      open.key.reset();
      return absl::OkStatus();
    }
    if (node.kind != YamlNode::Kind::kText) return RefuseLine(line, "a key is a word");
    if (open.node.keys.size() >= kMostYamlKeys) return RefuseLine(line, "it has too many keys");
    if (open.node.Find(node.text) != nullptr)
      return RefuseLine(line, absl::StrCat("\"", node.text, "\" is there twice"));
    open.key = std::move(node.text);
    return absl::OkStatus();
  }

  yaml_parser_t parser_;
  bool ready_ = false;
  std::vector<Open> open_;
  std::optional<YamlNode> root_;
  size_t nodes_ = 0;
};

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

absl::StatusOr<YamlNode> ParseYaml(std::string_view text) {
  if (text.size() > kMostYamlBytes) return RefuseLine(1, "it has more than a mebibyte");
  return YamlParser(text).Run();
}

}  // namespace planproof::dumps
