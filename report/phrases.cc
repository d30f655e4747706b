#include "report/phrases.h"

#include <algorithm>

#include "report/text_layout.h"
#include "strategy/assumed_relations.h"

namespace planproof::report {

using stages::Result;
using stages::Violation;

std::vector<const Violation*> WorstFirst(const Result& result) {
  std::vector<const Violation*> violations;
  for (const Violation& violation : result.violations) violations.push_back(&violation);
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Violation* a, const Violation* b) { return a->verdict > b->verdict; });
  return violations;
}

std::vector<std::string> AssumedInWords(const Result& result) {
  std::vector<std::string> lines;
  for (const stages::AssumedRelation& assumed : result.assumed)
    lines.push_back(strategy::InWords(assumed));
  return lines;
}

namespace {

// Of a recorded program whose numbers could not be compared with what was read of it.
std::string NotAnchored(const Result& result) {
  if (result.anchor.outcome != stages::AnchorOutcome::kNotAnchored ||
      result.verdict == stages::Verdict::kMalformed) {
    return "";
  }
  return "; not anchored: " + OneLine(result.anchor.why, 160);
}

}  // namespace

std::string AfterVerdict(const Result& result) {
  if (result.verdict == stages::Verdict::kProved) {
    // A plan under restrictions has no value on other inputs, where the model may have one.
    const std::string premises =
        result.restrictions.empty()
            ? " for all inputs that satisfy the premises"
            : " for all inputs that satisfy the premises and the plan's restrictions";
    return ": every required output equals the logical graph's," +
           (result.assumed.empty() ? premises
                                   : premises + ", if what is assumed has the model's values") +
           NotAnchored(result);
  }
  if (result.violations.empty()) return "";
  const Violation& first = *WorstFirst(result).front();
  const std::string end = NamesWhereRelationsEnd(first) ? WhereRelationsEnd(result) : "";
  return ": " + Headline(first) + (end.empty() ? "" : "; " + end) + NotAnchored(result);
}

std::string RecordedInWords(const Result& result) {
  const stages::AnchorReport& anchor = result.anchor;
  if (anchor.outcome == stages::AnchorOutcome::kNotRecorded || anchor.text.empty()) return "";
  if (anchor.outcome == stages::AnchorOutcome::kHeldDiffers &&
      result.verdict == stages::Verdict::kMalformed) {
    return "";  // a finding of its own
  }
  std::string text = anchor.text;
  if (anchor.outcome != stages::AnchorOutcome::kAnchored) return text;
  text += "; what ranks hold is what they are said to hold (" + std::to_string(anchor.held) +
          " tensors), and what was read of the programs computes their results (" +
          std::to_string(anchor.computed);
  if (anchor.blind > 0)
    text +=
        ", " + std::to_string(anchor.blind) + " of them changed by rounding as much as they are";
  return text + ")";
}

std::string Headline(const Violation& violation) {
  std::string line;
  if (!violation.stage.empty()) line = "stage " + OneLine(violation.stage, 100);
  const std::string& what = !violation.cause.empty()  ? violation.cause
                            : !violation.kind.empty() ? violation.kind
                                                      : violation.message;
  if (!what.empty()) line += (line.empty() ? "" : ": ") + OneLine(what, 240);
  return line;
}

bool NamesWhereRelationsEnd(const Violation& first) {
  return first.cause.empty() || first.cause_of_stage;
}

std::string WhereRelationsEnd(const Result& result) {
  const auto& end = result.inference.end;
  if (end.logical_operator.empty()) return "";
  std::string text = end.elsewhere ? "some ranks do not have the result of "
                                   : "nothing in the plan is the result of ";
  text += OneLine(end.logical_operator, 180);
  if (!end.nearest.empty()) {
    text += ": " + OneLine(end.nearest, 180) + " " + OneLine(end.difference, 160);
  }
  return text;
}

std::string LogicalSide(const Violation& violation) {
  std::string text = OneLine(violation.logical_operator);
  if (!violation.logical_source.empty()) {
    text += (text.empty() ? "at " : ", at ") + OneLine(violation.logical_source);
  }
  return text;
}

std::string ParallelSide(const Violation& violation) {
  std::string text = FirstOf(violation.parallel_operators, 4);
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (!violation.devices.empty()) {
    add((violation.devices.size() == 1 ? "device " : "devices ") +
        OneLine(Ranges(violation.devices)));
  }
  if (!violation.microbatches.empty()) add("microbatches " + OneLine(violation.microbatches));
  return text;
}

std::string WitnessValues(const Violation& violation, bool exactly) {
  const bool in_short = !exactly && !violation.witness_logical_short.empty();
  const std::string& logical =
      in_short ? violation.witness_logical_short : violation.witness_logical;
  const std::string& parallel =
      in_short ? violation.witness_parallel_short : violation.witness_parallel;
  if (logical.empty() && parallel.empty()) return "";
  std::string text;
  if (!violation.witness_place.empty()) text = OneLine(violation.witness_place, 120) + ": ";
  text += "logical " + OneLine(logical, 80) + ", parallel " + OneLine(parallel, 80);
  if (exactly && violation.witness_precision > 0)
    text += " (enclosures at " + std::to_string(violation.witness_precision) + " bits)";
  return text;
}

}  // namespace planproof::report
