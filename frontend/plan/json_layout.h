// Lays JSON text out for people: short objects and lists on one line, long ones one entry per line.
#ifndef PLANPROOF_FRONTEND_PLAN_JSON_LAYOUT_H_
#define PLANPROOF_FRONTEND_PLAN_JSON_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planproof::plan {

// A value that is being written. Numbers are texts, so that none is rounded.
class JsonText {
 public:
  static JsonText Number(std::string digits) { return JsonText(Kind::kAtom, std::move(digits)); }
  static JsonText Number(int64_t number) { return Number(std::to_string(number)); }
  static JsonText Word(std::string word) { return JsonText(Kind::kAtom, std::move(word)); }
  static JsonText String(const std::string& text);  // what is no UTF-8 becomes U+FFFD
  static JsonText Object() { return JsonText(Kind::kObject, ""); }
  static JsonText List() { return JsonText(Kind::kList, ""); }

  JsonText& Add(const std::string& key, JsonText value);  // of an object
  JsonText& Add(JsonText value);                          // of a list
  // Stays on one line, however long it is.
  JsonText& OnOneLine();

  bool empty() const { return items_.empty(); }
  // The document, with a line break at its end.
  std::string Document() const;

 private:
  enum class Kind : uint8_t { kAtom, kObject, kList };
  JsonText(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  // On one line.
  std::string Flat() const;
  bool IsAtom() const { return kind_ == Kind::kAtom; }
  // Appends the value, which begins at column `column` of a line that is indented by `indent`.
  void Write(size_t indent, size_t column, std::string* out) const;
  void WriteFilled(size_t indent, std::string* out) const;

  Kind kind_ = Kind::kAtom;
  std::string text_;               // of an atom
  std::vector<std::string> keys_;  // of an object, in quotes
  std::vector<JsonText> items_;
  bool one_line_ = false;
};

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_JSON_LAYOUT_H_
