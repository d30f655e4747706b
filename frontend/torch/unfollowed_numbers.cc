#include "frontend/torch/unfollowed_numbers.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::frontend::torch {
namespace {

// Decisions that are listed one by one; further ones are counted.
constexpr size_t kMostDecisions = 12;

std::string TextOf(const Value& value) {
  if (value.kind == Value::Kind::kBool) return value.boolean ? "true" : "false";
  if (value.kind == Value::Kind::kInfinite) {
    return value.infinity == 0 ? "nan" : value.infinity > 0 ? "inf" : "-inf";
  }
  return Decimal(value.real);
}

// An expression without saying which items are meant: "int(item * 1.25)".
std::string Formula(const Value& value) {
  if (value.kind == Value::Kind::kItem) return "item";
  if (value.kind != Value::Kind::kComputed) return TextOf(value);
  const std::string operands = absl::StrJoin(
      value.list, ", ",
      [](std::string* out, const Value& operand) { absl::StrAppend(out, Formula(operand)); });
  return absl::StrCat(value.function.empty() ? value.text : value.function, "(", operands, ")");
}

std::string Formulas(const UnfollowedNumber& number) {
  return absl::StrJoin(number.of, ", ", [](std::string* out, const Value& operand) {
    absl::StrAppend(out, Formula(operand));
  });
}

std::string Values(const UnfollowedNumber& number) {
  return absl::StrJoin(
      number.values, number.values.size() == 2 ? " " + number.by + " " : ", ",
      [](std::string* out, const Value& value) { absl::StrAppend(out, TextOf(value)); });
}

// A number that is passed on: by which function, as which function of items.
using Passed = std::pair<std::string, std::string>;

std::map<Passed, const UnfollowedNumber*> PassedOn(const Trace& trace) {
  std::map<Passed, const UnfollowedNumber*> passed;
  for (const UnfollowedNumber& number : trace.numbers) {
    if (number.way == NumberWay::kArgument) {
      passed.emplace(Passed(number.by, Formulas(number)), &number);
    }
  }
  return passed;
}

absl::Status Differs(const Trace& trace, const UnfollowedNumber& number, const char* others) {
  return absl::UnimplementedError(absl::StrCat(
      trace.path, ": at ", number.source, " the number ", Values(number), ", which is ",
      Formulas(number), " of what was read from tensors, is passed to ", number.by, "(), and ",
      others, " pass no such number to it; what it decides cannot be compared"));
}

struct Listed {
  std::string text;
  std::set<std::string> values;
};

}  // namespace

std::string Decimal(const solver::Rational& number) {
  return number.IsInteger() ? number.ToString() : absl::StrCat(number.ToDouble());
}

absl::Status SameUnfollowedNumbers(const Trace& reference, const std::vector<Trace>& ranks) {
  const std::map<Passed, const UnfollowedNumber*> meant = PassedOn(reference);
  std::map<Passed, const UnfollowedNumber*> found;
  for (const Trace& trace : ranks) {
    for (const auto& [passed, number] : PassedOn(trace)) {
      if (meant.count(passed) == 0) return Differs(trace, *number, "the reference does");
      found.emplace(passed, number);
    }
  }
  for (const auto& [passed, number] : meant) {
    if (found.count(passed) == 0) return Differs(reference, *number, "the ranks");
  }
  return absl::OkStatus();
}

std::vector<std::string> AssumedOfNumbers(const Trace& reference, const std::vector<Trace>& ranks) {
  // By way, function and line, in the order in which they are met.
  std::map<std::tuple<NumberWay, std::string, std::string>, size_t> places;
  std::vector<std::pair<const UnfollowedNumber*, std::set<std::string>>> met;
  const auto add = [&](const Trace& trace) {
    for (const UnfollowedNumber& number : trace.numbers) {
      const auto [place, fresh] =
          places.emplace(std::make_tuple(number.way, number.by, number.source), met.size());
      if (fresh) met.emplace_back(&number, std::set<std::string>());
      met[place->second].second.insert(Values(number));
    }
  };
  add(reference);
  for (const Trace& trace : ranks) add(trace);
  std::vector<std::string> lines;
  size_t decisions = 0;
  for (const auto& [number, values] : met) {
    const std::string all = absl::StrJoin(values, ", ");
    switch (number->way) {
      case NumberWay::kDecision:
        if (++decisions > kMostDecisions) break;
        lines.push_back(absl::StrCat(
            "the program takes the recorded way by numbers of tensors (", all,
            values.size() > 1 || number->values.size() > 1 ? "" : absl::StrCat(" by ", number->by),
            ") at ", number->source));
        break;
      case NumberWay::kConversion:
        lines.push_back(absl::StrCat("numbers that ", number->by,
                                     "() gives of numbers of tensors (", all,
                                     ") are not followed, at ", number->source));
        break;
      case NumberWay::kArgument:
        lines.push_back(absl::StrCat("numbers of tensors that are passed to ", number->by, "() (",
                                     all, ") are those of the recording, at ", number->source));
        break;
    }
  }
  if (decisions > kMostDecisions) {
    lines.push_back(absl::StrCat("the program takes the recorded way by numbers of tensors at ",
                                 decisions - kMostDecisions, " further places"));
  }
  return lines;
}

std::vector<std::string> AssumedOfEnvironment(const Trace& reference,
                                              const std::vector<Trace>& ranks) {
  // By variable and value: who read it.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> readings;
  for (const auto& [name, value] : reference.environment) {
    readings[name][value].push_back("of the reference");
  }
  for (const Trace& trace : ranks) {
    for (const auto& [name, value] : trace.environment) {
      readings[name][value].push_back(absl::StrCat(trace.rank));
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, values] : readings) {
    std::vector<std::string> texts;
    for (const auto& [value, readers] : values) {
      if (values.size() == 1) {
        texts.push_back(value);
      } else {
        texts.push_back(absl::StrCat(value, " on ", readers.size() == 1 ? "rank " : "ranks ",
                                     absl::StrJoin(readers, ", ")));
      }
    }
    lines.push_back(absl::StrCat("the program reads ", name,
                                 " from its environment: ", absl::StrJoin(texts, "; ")));
  }
  return lines;
}

}  // namespace planproof::frontend::torch
