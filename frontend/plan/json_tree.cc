#include "frontend/plan/json_tree.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace planproof::plan {
namespace {

// Walks the text and counts the lines passed.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  [[maybe_unused]] friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ != b.at_;
  }

 private:
  const char* at_;
  int* line_;
};

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// The last characters that were read, on one line.
std::string ReadableToken(const std::string& token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool control = token.compare(i, 3, "<U+") == 0 && token.find('>', i) == i + 7;
    if (control) i += 7;
    const char c = control ? ' ' : token[i];
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.size() <= 40 ? text : text.substr(text.size() - 40);
}

// What is probably wrong, for the slips of people who write JSON by hand; empty for others. `what`
// is the parser's message, `near` the text that it read last.
std::string SyntaxRemedy(const std::string& what, const std::string& near) {
  if (Has(what, "unexpected end of input")) {
    return "the file ends before every bracket is closed";
  }
  if (Has(what, "invalid literal")) {
    if (!near.empty() && near.back() == '\'') return "names and texts stand in double quotes";
    if (!near.empty() && (near.back() == '/' || near.back() == '#')) {
      return "JSON has no comments; a key \"note\" takes text";
    }
    if (!near.empty() && (near.back() == 'T' || near.back() == 'F' || near.back() == 'N')) {
      return "JSON writes true, false and null";
    }
    return "";
  }
  const size_t at = what.find("unexpected ");
  if (at == std::string::npos) return "";
  const std::string found = what.substr(at + 11, what.find(';', at) - at - 11);
  const bool closes = found == "'}'" || found == "']'";
  if (Has(what, "; expected ']'") || Has(what, "; expected '}'")) {
    if (closes) return absl::StrCat("another bracket is closed than was opened last: ", found);
    if (found != "','" && found != "':'") return "a comma is missing before the last of these";
  }
  if (closes && (Has(what, "while parsing object key") || near.find(',') != std::string::npos)) {
    return absl::StrCat("a comma too many before ", found);
  }
  return "";
}

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const int* line, const JsonLimits& limits) : line_(line), limits_(limits) {}

  bool null() override { return Add({}) != nullptr; }
  bool boolean(bool value) override {
    JsonValue node;
    node.kind = JsonValue::Kind::kBool;
    node.boolean = value;
    return Add(std::move(node)) != nullptr;
  }
  bool number_integer(number_integer_t value) override {
    JsonValue node;
    node.kind = JsonValue::Kind::kInteger;
    node.integer = value;
    node.text = std::to_string(value);
    return Add(std::move(node)) != nullptr;
  }
  bool number_unsigned(number_unsigned_t value) override {
    JsonValue node;
    node.text = std::to_string(value);
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    node.kind = fits ? JsonValue::Kind::kInteger : JsonValue::Kind::kReal;
    if (fits) node.integer = static_cast<int64_t>(value);
    return Add(std::move(node)) != nullptr;
  }
  bool number_float(number_float_t, const string_t& digits) override {
    if (digits.size() > 4096) return Fail("a number has more than 4096 digits");
    JsonValue node;
    node.kind = JsonValue::Kind::kReal;
    node.text = digits;
    return Add(std::move(node)) != nullptr;
  }
  bool string(string_t& value) override {
    if (static_cast<int64_t>(value.size()) > limits_.string_bytes) {
      return Fail(absl::StrCat("a string is longer than ", limits_.string_bytes, " bytes"));
    }
    JsonValue node;
    node.kind = JsonValue::Kind::kString;
    node.text = std::move(value);
    return Add(std::move(node)) != nullptr;
  }
  bool binary(binary_t&) override { return Fail("binary values are not JSON"); }
  bool start_object(std::size_t) override { return Open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t) override { return Open(JsonValue::Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    if (value.size() > 4096) return Fail("a key is longer than 4096 bytes");
    if (!key_sets_.back().insert(value).second) {
      return Fail(absl::StrCat("key \"", value, "\" stands twice in one object; keep one"));
    }
    open_.back()->keys.push_back(std::move(value));
    return true;
  }
  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::json::exception& exception) override {
    if (!error_.empty()) return false;
    std::string what = exception.what();
    if (const size_t colon = what.find("column"); colon != std::string::npos) {
      if (const size_t start = what.find(": ", colon); start != std::string::npos) {
        what = what.substr(start + 2);
      }
    }
    std::replace(what.begin(), what.end(), '\n', ' ');
    if (what.size() > 200) what.resize(200);
    const std::string near = ReadableToken(token);
    const std::string remedy = SyntaxRemedy(what, near);
    return Fail(absl::StrCat("not valid JSON near `", near, "`: ", remedy.empty() ? what : remedy));
  }

  const std::string& error() const { return error_; }
  int error_line() const { return error_line_; }
  JsonValue TakeRoot() { return std::move(root_); }

 private:
  bool Fail(std::string error) {
    error_ = std::move(error);
    error_line_ = *line_;
    return false;
  }
  JsonValue* Add(JsonValue node) {
    if (++count_ > limits_.values) {
      Fail(absl::StrCat("more than ", limits_.values, " values"));
      return nullptr;
    }
    node.line = *line_;
    if (open_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    open_.back()->items.push_back(std::move(node));
    return &open_.back()->items.back();
  }
  bool Open(JsonValue::Kind kind) {
    if (static_cast<int>(open_.size()) >= limits_.depth) {
      return Fail(absl::StrCat("nested deeper than ", limits_.depth, " levels"));
    }
    JsonValue node;
    node.kind = kind;
    JsonValue* added = Add(std::move(node));
    if (added == nullptr) return false;
    open_.push_back(added);  // stays valid: a parent gains no further item while it is open
    key_sets_.emplace_back();
    return true;
  }
  bool Close() {
    open_.pop_back();
    key_sets_.pop_back();
    return true;
  }

  const int* line_;
  const JsonLimits& limits_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::vector<std::unordered_set<std::string>> key_sets_;
  int64_t count_ = 0;
  std::string error_;
  int error_line_ = 0;
};

std::string EscapePointerPart(const std::string& key) {
  std::string out;
  for (char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

bool FindPointer(const JsonValue& at, const JsonValue& wanted, std::string* path) {
  if (&at == &wanted) return true;
  for (size_t i = 0; i < at.items.size(); ++i) {
    const size_t length = path->size();
    *path += "/";
    *path +=
        at.kind == JsonValue::Kind::kObject ? EscapePointerPart(at.keys[i]) : std::to_string(i);
    if (FindPointer(at.items[i], wanted, path)) return true;
    path->resize(length);
  }
  return false;
}

}  // namespace

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

absl::StatusOr<JsonValue> ParseJson(std::string_view text, const std::string& file,
                                    const JsonLimits& limits) {
  int line = 1;
  TreeBuilder builder(&line, limits);
  CountingIterator first(text.data(), &line);
  CountingIterator last(text.data() + text.size(), &line);
  if (!nlohmann::json::sax_parse(first, last, &builder)) {
    const std::string what =
        builder.error().empty() ? std::string("not valid JSON") : builder.error();
    return absl::InvalidArgumentError(absl::StrCat(file, ":", builder.error_line(), ": ", what));
  }
  return builder.TakeRoot();
}

std::string PointerOf(const JsonValue& root, const JsonValue& value) {
  std::string path;
  return FindPointer(root, value, &path) ? path : std::string();
}

const char* KindName(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBool:
      return "a boolean";
    case JsonValue::Kind::kInteger:
      return "an integer";
    case JsonValue::Kind::kReal:
      return "a number";
    case JsonValue::Kind::kString:
      return "a string";
    case JsonValue::Kind::kArray:
      return "a list";
    case JsonValue::Kind::kObject:
      return "an object";
  }
  return "?";
}

}  // namespace planproof::plan
