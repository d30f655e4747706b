// Formats what the reports on numbers (replays, comparisons of dumps) have in common.
#ifndef PLANPROOF_REPORT_MEASURE_TEXT_H_
#define PLANPROOF_REPORT_MEASURE_TEXT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime_check/comparison.h"

namespace planproof::report {

// Rows of a table of tensors: those that alarm, at most so many.
inline constexpr size_t kMostAlarmRows = 20;

// "ALARM" or "NO ALARM".
std::string AnswerText(bool alarm, bool color);
// "  label      value", or nothing without a value.
std::string AnswerRow(const std::string& label, const std::string& value);
std::string IndexText(const std::vector<int64_t>& index);

// `note` is over what rows have as theirs: more than the numbers that all tables have.
std::string MeasureTableHead(bool all, const std::string& note = "");
std::string MeasureTableRow(const std::string& name, const runtime_check::Measure& measure,
                            double ratio, const std::string& note);

// Numbers that JSON does not have are null.
nlohmann::json JsonNumber(double value);

// What is said of tensors of which nothing could be: rows, or nothing. `side` is whose elements
// have no value.
std::string NotComparedRows(int64_t undefined, int64_t blind, const std::string& side,
                            const std::string& dtype);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_MEASURE_TEXT_H_
