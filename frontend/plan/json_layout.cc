#include "frontend/plan/json_layout.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

namespace planproof::plan {
namespace {

constexpr size_t kWidth = 110;
constexpr size_t kIndent = 2;

}  // namespace

JsonText JsonText::String(const std::string& text) {
  return JsonText(Kind::kAtom, nlohmann::json(text).dump(-1, ' ', false,
                                                         nlohmann::json::error_handler_t::replace));
}

JsonText& JsonText::Add(const std::string& key, JsonText value) {
  keys_.push_back(String(key).text_);
  items_.push_back(std::move(value));
  return *this;
}

JsonText& JsonText::Add(JsonText value) {
  items_.push_back(std::move(value));
  return *this;
}

JsonText& JsonText::OnOneLine() {
  one_line_ = true;
  return *this;
}

std::string JsonText::Flat() const {
  if (IsAtom()) return text_;
  std::string out(1, kind_ == Kind::kObject ? '{' : '[');
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i > 0) out += ", ";
    if (kind_ == Kind::kObject) out += keys_[i] + ": ";
    out += items_[i].Flat();
  }
  return out + (kind_ == Kind::kObject ? '}' : ']');
}

void JsonText::WriteFilled(size_t indent, std::string* out) const {
  const std::string begin = "\n" + std::string(indent, ' ');
  size_t column = kWidth;
  for (size_t i = 0; i < items_.size(); ++i) {
    const size_t length = items_[i].text_.size();
    if (i > 0) *out += ",";
    if (column + length + 2 > kWidth) {
      *out += begin;
      column = indent;
    } else {
      *out += " ";
      ++column;
    }
    *out += items_[i].text_;
    column += length + 1;
  }
}

void JsonText::Write(size_t indent, size_t column, std::string* out) const {
  const std::string flat = Flat();
  if (IsAtom() || one_line_ || items_.empty() || column + flat.size() <= kWidth) {
    *out += flat;
    return;
  }
  const size_t inner = indent + kIndent;
  *out += kind_ == Kind::kObject ? "{" : "[";
  if (kind_ == Kind::kList &&
      std::all_of(items_.begin(), items_.end(), [](const JsonText& i) { return i.IsAtom(); })) {
    WriteFilled(inner, out);
  } else {
    for (size_t i = 0; i < items_.size(); ++i) {
      *out += i > 0 ? ",\n" : "\n";
      out->append(inner, ' ');
      size_t at = inner;
      if (kind_ == Kind::kObject) {
        *out += keys_[i] + ": ";
        at += keys_[i].size() + 2;
      }
      items_[i].Write(inner, at, out);
    }
  }
  *out += "\n";
  out->append(indent, ' ');
  *out += kind_ == Kind::kObject ? "}" : "]";
}

std::string JsonText::Document() const {
  std::string out;
  Write(0, 0, &out);
  return out + "\n";
}

}  // namespace planproof::plan
