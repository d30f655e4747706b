#include "report/markup.h"

#include <cstdint>

namespace planproof::report {
namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";  // U+FFFD

// Bytes of the UTF-8 character that the text begins with, and its number; 0 if it begins with none.
size_t Decode(std::string_view text, uint32_t* character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t size = first < 0x80             ? 1
                      : (first & 0xe0) == 0xc0 ? 2
                      : (first & 0xf0) == 0xe0 ? 3
                      : (first & 0xf8) == 0xf0 ? 4
                                               : 0;
  if (size == 0 || size > text.size()) return 0;
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t value = size == 1 ? first : first & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3fu);
  }
  if (value < kSmallest[size] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  *character = value;
  return size;
}

bool IsText(uint32_t character) {
  if (character < 0x20) return character == '\n' || character == '\t';
  return character != 0x7f && (character < 0x80 || character > 0x9f) && character != 0xfffe &&
         character != 0xffff;
}

}  // namespace

std::string MarkupText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t size = Decode(text, &character);
    if (size == 0 || !IsText(character)) {
      out += kReplacement;
    } else if (character == '&') {
      out += "&amp;";
    } else if (character == '<') {
      out += "&lt;";
    } else if (character == '>') {
      out += "&gt;";
    } else if (character == '"') {
      out += "&quot;";
    } else if (character == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string JsonInScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace planproof::report
