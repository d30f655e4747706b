#include "runtime_check/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::runtime_check {

std::string PythonName(const std::string& prefix, const std::string& name) {
  std::string out = prefix;
  for (const char c : name) out += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

std::string PythonComment(const std::string& text, size_t most) {
  std::string out;
  for (const char c : text) {
    if (out.size() == most) return out + "...";
    const bool fit = absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '"' && c != '\\';
    out += fit ? c : '?';
  }
  return out;
}

std::string PythonNumber(double value) {
  if (std::isnan(value)) return "np.nan";
  if (std::isinf(value)) return value > 0 ? "np.inf" : "-np.inf";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

std::string IndexLetter(size_t position) {
  constexpr std::string_view kLetters = "ijkmnpqrsuvw";
  if (position < kLetters.size()) return std::string(1, kLetters[position]);
  return absl::StrCat("i", position);
}

std::string PythonTuple(const sdfg::Shape& shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), shape.size() == 1 ? ",)" : ")");
}

std::string NumpyGrid(const std::vector<std::string>& letters, const sdfg::Shape& extents) {
  std::vector<std::string> ranges;
  for (const int64_t extent : extents) ranges.push_back(absl::StrCat(":", extent));
  const char* one = letters.size() == 1 ? "," : "";
  return absl::StrCat(absl::StrJoin(letters, ", "), one, " = np.ogrid[",
                      absl::StrJoin(ranges, ", "), one, "]");
}

}  // namespace planproof::runtime_check
