// Formats the pieces of text that reports are made of. Names and messages come from untrusted
// files: nothing in them may break a line or reach a terminal as a control sequence.
#ifndef PLANPROOF_REPORT_TEXT_LAYOUT_H_
#define PLANPROOF_REPORT_TEXT_LAYOUT_H_

#include <cstddef>
#include <string>
#include <vector>

namespace planproof::report {

// `text` on one line: control characters become spaces, runs of spaces one; cut to `most` bytes (at
// a character boundary) with "..." at its end.
std::string OneLine(const std::string& text, size_t most = 200);

// "0-3, 8, 10-11"; sorted, without repetition.
std::string Ranges(std::vector<int> numbers);

// The first `most` items on one line, separated by `separator`, then "and 17 more".
std::string FirstOf(const std::vector<std::string>& items, size_t most,
                    const std::string& separator = ", ");

// Broken at spaces into lines of at most `columns` (a longer word stays whole), all but the first
// indented. `invisible`: bytes at its beginning that take no room.
std::string Wrapped(const std::string& text, size_t columns, size_t indent, size_t invisible = 0);

// "  label      text": all labels of a report have this room, their margins included.
inline constexpr size_t kLabelColumns = 13;
std::string Labelled(const std::string& label, const std::string& text);

// "0.125".
std::string Seconds(double seconds);

// "1,234,567".
std::string Grouped(long long number);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_TEXT_LAYOUT_H_
