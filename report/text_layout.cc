#include "report/text_layout.h"

#include <algorithm>
#include <cstdio>

namespace planproof::report {

std::string OneLine(const std::string& text, size_t most) {
  std::string line;
  line.reserve(std::min(text.size(), most));
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool blank = byte <= ' ' || byte == 0x7f;
    if (!blank) {
      line += character;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    if (line.size() > most) {
      size_t end = most > 3 ? most - 3 : 0;
      // Not in the middle of a UTF-8 character.
      while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
      return line.substr(0, end) + "...";
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string Ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[begin]);
    if (end - begin == 2) text += ", ";
    if (end - begin > 2) text += "-";
    if (end - begin > 1) text += std::to_string(numbers[end - 1]);
    begin = end;
  }
  return text;
}

std::string FirstOf(const std::vector<std::string>& items, size_t most,
                    const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < std::min(most, items.size()); ++i) {
    if (i > 0) text += separator;
    text += OneLine(items[i]);
  }
  if (items.size() > most) text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

std::string Wrapped(const std::string& text, size_t columns, size_t indent, size_t invisible) {
  std::string out;
  size_t width = columns + invisible;  // of the line at hand
  for (size_t begin = 0; begin < text.size();) {
    if (text.size() - begin <= width) return out + text.substr(begin);
    // The last space that fits, beyond what the line begins with; else the first one after it.
    const size_t margin = out.empty() ? indent : 0;
    size_t end = text.rfind(' ', begin + width);
    if (end == std::string::npos || end <= begin + margin) end = text.find(' ', begin + width);
    if (end == std::string::npos) return out + text.substr(begin);
    out += text.substr(begin, end - begin) + "\n" + std::string(indent, ' ');
    begin = end + 1;
    width = columns > indent ? columns - indent : 1;
  }
  return out;
}

std::string Labelled(const std::string& label, const std::string& text) {
  std::string row = "  " + label;
  row.resize(std::max<size_t>(row.size() + 1, kLabelColumns), ' ');
  return row + text;
}

std::string Seconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.3f", seconds);
  return text;
}

std::string Grouped(long long number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3 && digits[at - 4] != '-';) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace planproof::report
