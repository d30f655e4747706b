// What a program read and did besides its operators: numbers that are not followed, its
// environment.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/torch/trace_parser.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

constexpr size_t kMostVariables = 10'000;

}  // namespace

absl::Status TraceParser::ReadNumber(const Json& json) {
  PLAN_RETURN_IF_ERROR(at_.Object(json, {"way", "by", "of", "value", "source"}));
  UnfollowedNumber number;
  PLAN_ASSIGN_OR_RETURN(const Json* way, Needed(json, "way"));
  PLAN_ASSIGN_OR_RETURN(const std::string word, at_.String(*way));
  constexpr const char* kWords[] = {"decision", "conversion", "argument"};
  const auto* found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) {
    return at_.Error(*way, "expected decision, conversion or argument");
  }
  number.way = static_cast<NumberWay>(found - std::begin(kWords));
  PLAN_ASSIGN_OR_RETURN(const Json* by, Needed(json, "by"));
  PLAN_ASSIGN_OR_RETURN(number.by, at_.Name(*by));
  PLAN_ASSIGN_OR_RETURN(number.source, Text(json.Find("source")));
  PLAN_ASSIGN_OR_RETURN(const Json* of, Needed(json, "of"));
  PLAN_RETURN_IF_ERROR(at_.IsArray(*of));
  for (const Json& each : of->items) {
    PLAN_ASSIGN_OR_RETURN(number.of.emplace_back(), ReadComputed(each, 0));
  }
  PLAN_ASSIGN_OR_RETURN(const Json* values, Needed(json, "value"));
  PLAN_RETURN_IF_ERROR(at_.IsArray(*values));
  for (const Json& each : values->items) {
    PLAN_ASSIGN_OR_RETURN(number.values.emplace_back(), ReadValue(each, 0));
  }
  if (number.of.empty() || number.values.empty()) {
    return at_.Error(json, "expected a number, and what it was computed from");
  }
  trace_.numbers.push_back(std::move(number));
  return absl::OkStatus();
}

absl::Status TraceParser::ReadEnvironment(const Json& json) {
  PLAN_RETURN_IF_ERROR(at_.IsObject(json));
  if (json.keys.size() > kMostVariables) {
    return at_.Beyond(json, "variables", json.keys.size(), kMostVariables);
  }
  for (size_t i = 0; i < json.keys.size(); ++i) {
    PLAN_ASSIGN_OR_RETURN(trace_.environment[json.keys[i]], at_.String(json.items[i]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
