#include "report/text_report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "report/text_layout.h"

namespace planproof::report {
namespace {

using stages::Result;
using stages::Verdict;
using stages::Violation;

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string Format(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

// "  label      text\n", nothing for an empty text.
std::string Row(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  std::string row = "  " + label;
  row.resize(std::max<size_t>(row.size() + 1, 13), ' ');
  return row + text + "\n";
}

std::string PaintedVerdict(Verdict verdict, bool color) {
  const std::string name = stages::VerdictName(verdict);
  if (!color) return name;
  const char* code = verdict == Verdict::kProved    ? "32"
                     : verdict == Verdict::kUnknown ? "33"
                                                    : "31";
  return std::string("\033[1;") + code + "m" + name + "\033[0m";
}

// The part of the first line after the verdict: "stage X: cause".
std::string Headline(const Violation& violation) {
  std::string line;
  if (!violation.stage.empty()) line = "stage " + OneLine(violation.stage, 100);
  const std::string& what = !violation.cause.empty()  ? violation.cause
                            : !violation.kind.empty() ? violation.kind
                                                      : violation.message;
  if (!what.empty()) line += (line.empty() ? "" : ": ") + OneLine(what, 240);
  return line;
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

std::string WitnessValues(const Violation& violation) {
  if (violation.witness_logical.empty() && violation.witness_parallel.empty()) return "";
  return "logical " + OneLine(violation.witness_logical, 80) + ", parallel " +
         OneLine(violation.witness_parallel, 80);
}

// A stage reaches back to tensors whose lineage is known, so claims in between shorten it.
std::string Advice(const Violation& violation, const TextOptions& options) {
  const bool vague = violation.verdict == Verdict::kRefuted && violation.cause.empty() &&
                     violation.parallel_operators.size() > 2;
  if (!vague || !options.lineage_can_be_claimed) return "";
  return "claim \"lineage\" of tensors in between (docs/first-plan.md): the stage gets shorter";
}

// What goes under the headline: at most four rows that matter most, then details.
std::string Body(const Violation& violation, size_t most_inputs) {
  std::string text;
  text += Row("logical", LogicalSide(violation));
  text += Row("parallel", ParallelSide(violation));
  text += Row("lineage", OneLine(violation.lineage, 240));
  text += Row("witness", WitnessValues(violation));
  if (!violation.message.empty() && violation.message != violation.cause) {
    text += Row("that is", OneLine(violation.message, 400));
  }
  for (size_t i = 0; i < std::min(most_inputs, violation.witness_inputs.size()); ++i) {
    text += Row(i == 0 ? "inputs" : "", OneLine(violation.witness_inputs[i]));
  }
  if (violation.witness_inputs.size() > most_inputs) {
    text += Row("", Format("and %zu more", violation.witness_inputs.size() - most_inputs));
  }
  return text;
}

std::string List(const std::string& label, const std::vector<std::string>& items, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), most); ++i) {
    text += Row(i == 0 ? label : "", OneLine(items[i], 240));
  }
  if (items.size() > most) text += Row("", Format("and %zu more", items.size() - most));
  return text;
}

std::string Counts(const Result& result) {
  std::string text;
  if (result.stages.total > 0) {
    std::string stages = Grouped(result.stages.total) + " in " + Grouped(result.stages.classes) +
                         " classes: " + Grouped(result.stages.proved) + " proved";
    if (result.stages.refuted > 0) stages += ", " + Grouped(result.stages.refuted) + " refuted";
    if (result.stages.unknown > 0) stages += ", " + Grouped(result.stages.unknown) + " unknown";
    std::string tiers;
    for (const auto& [tier, count] : result.tiers) {
      tiers += (tiers.empty() ? " (" : ", ") + OneLine(tier) + " " + Grouped(count);
    }
    text += Row("stages", stages + (tiers.empty() ? "" : tiers + ")"));
  }
  if (result.cache.hits > 0) {
    text +=
        Row("remembered", Grouped(result.cache.hits) + " classes were proved by earlier runs, " +
                              Grouped(result.cache.solved) + " decided now");
  }
  if (result.operators.parallel > 0) {
    std::string operators = Grouped(result.operators.parallel) + " parallel, " +
                            Grouped(result.operators.covered) + " covered";
    if (!result.without_effect.empty()) {
      operators += ", " + Grouped(static_cast<long long>(result.without_effect.size())) +
                   " listed without effect on a required output";
    }
    text += Row("operators", operators + "; " + Grouped(result.operators.logical) + " logical");
  }
  if (result.outputs.required > 0) {
    text += Row("outputs", Grouped(result.outputs.required) + " required, " +
                               Grouped(result.outputs.claimed) + " claimed");
  }
  return text;
}

std::string Resources(const Result& result) {
  std::string text = Format("%.3f s", result.time_s.total);
  if (result.stages.total > 0) {
    text += Format(
        " (read %.3f, check %.3f, cut %.3f, reduce %.3f, evaluate %.3f, decide %.3f, workers %.3f)",
        result.time_s.read, result.time_s.check, result.time_s.cut, result.time_s.reduce,
        result.time_s.evaluate, result.time_s.decide, result.time_s.workers);
  }
  if (result.peak_rss_mb.total > 0)
    text += Format("; peak memory %.0f MB", result.peak_rss_mb.total);
  return Row("time", text);
}

}  // namespace

std::string TextReport(const Result& result, const TextOptions& options) {
  std::vector<const Violation*> violations;
  for (const Violation& violation : result.violations) violations.push_back(&violation);
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Violation* a, const Violation* b) { return a->verdict > b->verdict; });

  std::string text = PaintedVerdict(result.verdict, options.color);
  if (result.verdict == Verdict::kProved) {
    text +=
        ": every required output equals the logical graph's, for all inputs that satisfy the"
        " premises\n";
  } else if (violations.empty()) {
    text += "\n";
  } else {
    text += ": " + Headline(*violations.front()) + "\n";
    text += Body(*violations.front(), options.most_list_entries);
    text += Row("narrow it", Advice(*violations.front(), options));
    if (violations.size() > 1) {
      text += Format("\nfurther findings (%zu):\n", violations.size() - 1);
      for (size_t i = 1; i < std::min(violations.size(), options.most_violations); ++i) {
        text += PaintedVerdict(violations[i]->verdict, options.color) + ": " +
                Headline(*violations[i]) + "\n" + Body(*violations[i], 3);
      }
      if (violations.size() > options.most_violations) {
        text += Format("and %zu more findings\n", violations.size() - options.most_violations);
      }
    }
    text += "\n";
  }
  const size_t most = options.most_list_entries;
  text += List("required", result.relations, most);
  text += Counts(result);
  text += List("premises", result.premises, most);
  text += List("restricts", result.restrictions, most);
  text += List("assumes", result.assumptions, most);
  text += List("warning", result.warnings, most);
  text += List("no effect", result.without_effect, most);
  if (result.time_s.total > 0) text += Resources(result);
  return text;
}

}  // namespace planproof::report
