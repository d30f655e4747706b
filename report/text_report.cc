#include "report/text_report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "report/phrases.h"
#include "report/text_layout.h"
#include "strategy/assumed_relations.h"
#include "strategy/attempt_log.h"

namespace planproof::report {
namespace {

using stages::Result;
using stages::Verdict;
using stages::Violation;

constexpr size_t kExamples = 3;

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string Format(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

// `name`: the verdict in words.
std::string PaintedVerdict(Verdict verdict, const std::string& name, bool color) {
  if (!color) return name;
  const char* code = verdict == Verdict::kProved    ? "32"
                     : verdict == Verdict::kUnknown ? "33"
                                                    : "31";
  return std::string("\033[1;") + code + "m" + name + "\033[0m";
}

// A stage reaches back to tensors whose lineage is known, so claims in between shorten it.
std::string Advice(const Violation& violation, const TextOptions& options) {
  const bool vague = violation.verdict == Verdict::kRefuted && violation.cause.empty() &&
                     violation.parallel_operators.size() > 2;
  if (!vague || !options.lineage_can_be_claimed) return "";
  return "claim \"lineage\" of tensors in between (docs/first-plan.md): the stage gets shorter";
}

// Builds the report row by row; long lines are wrapped to the columns of a terminal.
class Page {
 public:
  explicit Page(const TextOptions& options) : options_(options) {}

  // "  label      text\n", nothing for an empty text.
  void Row(const std::string& label, const std::string& text) {
    if (text.empty()) return;
    Line(Labelled(label, text), kLabelColumns);
  }

  // Further lines are indented. `invisible`: bytes of it that take no room.
  void Line(const std::string& text, size_t indent, size_t invisible = 0) {
    text_ += options_.columns == 0 ? text : Wrapped(text, options_.columns, indent, invisible);
    text_ += "\n";
  }

  // `name`: the verdict in words.
  void VerdictLine(Verdict verdict, const std::string& name, const std::string& rest) {
    const std::string painted = PaintedVerdict(verdict, name, options_.color);
    Line(painted + rest, 2, painted.size() - name.size());
  }

  void List(const std::string& label, const std::vector<std::string>& items, size_t most,
            size_t longest = 240) {
    for (size_t i = 0; i < std::min(items.size(), most); ++i)
      Row(i == 0 ? label : "", OneLine(items[i], longest));
    if (items.size() > most) Row("", Format("and %zu more", items.size() - most));
  }

  // What goes under the headline: the place, then values that show it, then details.
  void Body(const Violation& violation, size_t most_inputs) {
    Row("logical", LogicalSide(violation));
    Row("parallel", ParallelSide(violation));
    Row("lineage", OneLine(violation.lineage, 240));
    Row("witness", WitnessValues(violation, options_.verbose));
    if (!violation.message.empty() && violation.message != violation.cause)
      Row("that is", OneLine(violation.message, 400));
    Row("try", OneLine(violation.advice, 600));
    if (options_.verbose) {
      List("inputs", violation.witness_inputs, most_inputs, 2000);
    } else if (!violation.witness_example.empty()) {
      List("inputs", violation.witness_example, std::min(most_inputs, kExamples));
    } else if (!violation.witness_inputs.empty()) {
      Row("inputs",
          Format("%zu, found at full size; --verbose lists them", violation.witness_inputs.size()));
    }
  }

  void Blank() { text_ += "\n"; }
  void Counts(const Result& result);
  void Resources(const Result& result);
  std::string Take() { return std::move(text_); }

 private:
  const TextOptions& options_;
  std::string text_;
};

void Page::Counts(const Result& result) {
  if (result.stages.total > 0) {
    std::string stages = Grouped(result.stages.total) + " in " + Grouped(result.stages.classes) +
                         " classes: " + Grouped(result.stages.proved) + " proved";
    if (result.stages.refuted > 0) stages += ", " + Grouped(result.stages.refuted) + " refuted";
    if (result.stages.unknown > 0) stages += ", " + Grouped(result.stages.unknown) + " unknown";
    std::string tiers;
    for (const auto& [tier, count] : result.tiers) {
      tiers += (tiers.empty() ? " (" : ", ") + OneLine(tier) + " " + Grouped(count);
    }
    Row("stages", stages + (tiers.empty() ? "" : tiers + ")"));
  }
  if (result.inference.used) {
    Row("inferred", Grouped(result.inference.inferred) + " relations of " +
                        Grouped(result.inference.tensors) + " tensors without one, " +
                        Grouped(result.inference.proved) + " proved");
  }
  if (result.cache.hits > 0) {
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
    if (!result.behind_assumptions.empty()) {
      operators += ", " + Grouped(static_cast<long long>(result.behind_assumptions.size())) +
                   " listed on which outputs depend through what is assumed only";
    }
    Row("operators", operators + "; " + Grouped(result.operators.logical) + " logical");
  }
  if (result.outputs.required > 0) {
    Row("outputs", Grouped(result.outputs.required) + " required, " +
                       Grouped(result.outputs.claimed) + " claimed");
  }
}

void Page::Resources(const Result& result) {
  std::string text = Format("%.3f s", result.time_s.total);
  if (result.stages.total > 0) {
    text += Format(
        " (read %.3f, check %.3f, cut %.3f, reduce %.3f, evaluate %.3f, decide %.3f, workers %.3f)",
        result.time_s.read, result.time_s.check, result.time_s.cut, result.time_s.reduce,
        result.time_s.evaluate, result.time_s.decide, result.time_s.workers);
  }
  if (result.peak_rss_mb.total > 0)
    text += Format("; peak memory %.0f MB", result.peak_rss_mb.total);
  Row("time", text);
}

}  // namespace

std::string TextReport(const Result& result, const TextOptions& options) {
  const std::vector<const Violation*> violations = WorstFirst(result);
  Page page(options);
  page.VerdictLine(result.verdict, strategy::VerdictInWords(result), AfterVerdict(result));
  if (result.verdict != Verdict::kProved && !violations.empty()) {
    const std::string end = WhereRelationsEnd(result);
    const bool first_line = !end.empty() && NamesWhereRelationsEnd(*violations.front());
    page.Body(*violations.front(), options.most_list_entries);
    page.Row("missing", first_line ? "" : end);
    for (const stages::Confirmation& confirmation : result.confirmations)
      page.Row("replay", OneLine(confirmation.text, 400));
    page.Row("narrow it", Advice(*violations.front(), options));
    if (violations.size() > 1) {
      page.Blank();
      page.Line(Format("further findings (%zu):", violations.size() - 1), 2);
      for (size_t i = 1; i < std::min(violations.size(), options.most_violations); ++i) {
        page.VerdictLine(violations[i]->verdict, stages::VerdictName(violations[i]->verdict),
                         ": " + Headline(*violations[i]));
        page.Body(*violations[i], 3);
      }
      if (violations.size() > options.most_violations)
        page.Line(Format("and %zu more findings", violations.size() - options.most_violations), 2);
    }
    page.Blank();
  }
  const size_t most = options.most_list_entries;
  const std::vector<std::string> assumed = AssumedInWords(result);
  page.List("assumed", assumed, assumed.size(), 600);
  page.List("required", result.relations, most);
  page.Row("recorded", OneLine(RecordedInWords(result), 600));
  page.Counts(result);
  page.List("unproved", result.behind_assumptions, most);
  page.List("premises", result.premises, most);
  page.List("restricts", result.restrictions, most);
  page.List("assumes", result.assumptions, most);
  page.List("warning", result.warnings, most);
  page.List("no effect", result.without_effect, most);
  if (options.verbose) {
    std::vector<std::string> tried;
    for (const stages::Attempt& attempt : result.attempts)
      tried.push_back(strategy::InWords(attempt));
    page.List("tried", tried, tried.size());
  }
  if (result.time_s.total > 0) page.Resources(result);
  return page.Take();
}

std::string FindingText(const Violation& violation, const TextOptions& options) {
  Page page(options);
  page.VerdictLine(violation.verdict, stages::VerdictName(violation.verdict),
                   ": " + Headline(violation));
  page.Body(violation, options.most_list_entries);
  page.Row("narrow it", Advice(violation, options));
  return page.Take();
}

}  // namespace planproof::report
