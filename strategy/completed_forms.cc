#include "strategy/completed_forms.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "diagnosis/relations_end.h"
#include "stages/cone.h"
#include "stages/lineage_inference.h"
#include "stages/unstated_lineage.h"
#include "strategy/completion.h"
#include "strategy/decision.h"
#include "strategy/early_numbers.h"
#include "strategy/unwritten_memory.h"

namespace planproof::strategy {

namespace {

// Processes that share the work must decide the same, whatever time they take; Z3 decides what was
// read.
const stages::LineageInference* InferenceFor(const stages::VerifyOptions& options) {
  const bool usable = options.executor == nullptr && options.engine != stages::Engine::kSmt;
  return usable ? options.inference : nullptr;
}

// Most plans are proved, or refuted, with a part of the work that one claim may take; what lies
// behind a fault takes all of it.
constexpr double kLeast = 0.01, kLittle = 0.06, kSome = 0.4;
// So many claims are not proved with little work behind a fault; in a right plan, a few.
constexpr int64_t kManyFailures = 12;
// The first numbers of a graph of so many operators take less time than further attempts.
constexpr size_t kQuickGraph = 20'000;

stages::VerifyOptions WithWork(stages::VerifyOptions options, double share) {
  constexpr double kSeconds = 10;
  options.work_limit *= share;
  options.advise_lineage = false;  // the last attempt says what is missing
  options.stage_timeout_s = std::min(options.stage_timeout_s, kSeconds);
  return options;
}

RunContext With(const stages::VerifyOptions& options, const RunContext& context) {
  return {.options = options,
          .operators = context.operators,
          .start = context.start,
          .share_of_attempts = context.share_of_attempts,
          .well_formed = context.well_formed,
          .behind_assumptions = context.behind_assumptions,
          .looked = context.looked};
}

// "aten_mm (layers.0.mlp: aten.mm.default) at model.py:56"
std::string WithPlace(const sdfg::Graph& graph, sdfg::OperatorId id) {
  const sdfg::SourceLocation& source = graph.operators[id].source;
  std::string text = graph.Describe(id);
  if (source.line > 0) absl::StrAppend(&text, " at ", source.file, ":", source.line);
  return text;
}

// Nothing more is to be tried.
bool Answers(const stages::Result& result, const stages::VerifyOptions& options) {
  return result.verdict != stages::Verdict::kUnknown || Stopped(options);
}

}  // namespace

stages::Result DecideCompleted(const lineage::Problem& problem, const RunContext& context,
                               Effort effort, stages::Result known) {
  const stages::VerifyOptions& options = context.options;
  const stages::Cone cone = stages::ConeOfRequired(problem);
  stages::AddAssumptions(problem, cone, &known.assumptions);
  const stages::LineageInference* inference = InferenceFor(options);
  const stages::Unstated unstated =
      inference != nullptr ? stages::UnstatedLineage(problem, cone) : stages::Unstated::kNothing;
  // A plan that states relations, or a short one, is explained as it is.
  const bool as_it_is = unstated == stages::Unstated::kSome || stages::IsShort(problem);
  SearchMade search;
  RunContext as_read = context;
  as_read.search = &search;
  stages::Result result;
  if (unstated != stages::Unstated::kAll) {
    Effort first = effort;
    if (unstated == stages::Unstated::kSome) first = std::min(effort, Effort::kNumbers);
    if (effort == Effort::kFirstNumbers) first = Effort::kProofs;
    result = Decide(problem, as_read, first, known);
    if (unstated == stages::Unstated::kNothing || Answers(result, options)) return result;
  }
  if (effort < Effort::kProofs) return unstated == stages::Unstated::kAll ? known : result;
  // One inference after the other, until a proof is found.
  const stages::VerifyOptions brief_options = WithWork(options, kLittle);
  const stages::VerifyOptions quick_options = WithWork(options, kSome);
  const stages::VerifyOptions least_options = WithWork(options, kLeast);
  const RunContext brief = With(brief_options, context), quick = With(quick_options, context);
  const RunContext least = With(least_options, context);
  std::vector<lineage::Problem> forms;
  std::vector<stages::Result> known_of;
  std::vector<bool> shown;
  bool differs = false;
  size_t after_brief = 0;  // the first form that quick work is still to come for
  bool mostly_proved = false;
  for (; inference != nullptr && !differs;
       inference = inference->Otherwise(problem, mostly_proved)) {
    stages::Result& own = known_of.emplace_back(known);
    std::optional<lineage::Problem> form = Complete(*inference, problem, options, &own);
    known.time_s.infer = own.time_s.infer;
    if (!form.has_value()) {
      known.warnings = own.warnings;
      break;
    }
    forms.push_back(*std::move(form));
    result = Decide(forms.back(), brief, Effort::kProofs, own);
    if (Answers(result, options)) return result;
    mostly_proved = 2 * result.stages.proved >= result.stages.total;
    if (forms.size() == 1) {
      shown = result.required_shown;
      if (auto reads = EffectOfUnwrittenMemory(problem, options, &known)) {
        known.verdict = reads->verdict;
        known.violations = {*std::move(reads)};
        return known;
      }
      // A few sums that only need more work are no sign of a fault.
      const int64_t open = result.stages.unknown;
      if (open > 0 && open <= kManyFailures && open == result.stages.limited) {
        result = Decide(forms[0], quick, Effort::kProofs, own);
        if (Answers(result, options)) return result;
        after_brief = 1;
      }
      const bool wrong = result.stages.total - result.stages.proved > kManyFailures ||
                         problem.parallel.operators.size() <= kQuickGraph;
      differs = wrong && effort != Effort::kProofs && NumbersDiffer(problem, options, &known);
      if (effort == Effort::kFirstNumbers) effort = differs ? Effort::kNumbers : Effort::kProofs;
    }
  }
  for (size_t f = after_brief; f < forms.size() && !differs; ++f) {
    result = Decide(forms[f], quick, Effort::kProofs, known_of[f]);
    if (Answers(result, options)) return result;
  }
  if (forms.empty()) return Decide(problem, context, effort, std::move(known));
  if (!differs) {
    const std::vector<stages::InferredRelation> required = stages::RequiredRelations(forms[0]);
    if (!required.empty()) {
      result =
          Decide(stages::WithRelations(forms[0], required), quick, Effort::kProofs, known_of[0]);
      if (Answers(result, options)) return result;
    }
  }
  const lineage::Problem& related = forms.back();
  known.inference = known_of[forms.size() - 1].inference;
  std::optional<lineage::Problem> without_guesses;
  if (effort != Effort::kProofs && !as_it_is) {
    without_guesses = related;
    stages::ForgetWhatFaultsLookLike(&*without_guesses);
  }
  const lineage::Problem& explained = without_guesses.has_value() ? *without_guesses : problem;
  bool answered = false;
  if (differs) search = {};  // of more attempts at another place
  if (effort != Effort::kProofs && !(as_it_is && search.made)) {
    result = Decide(explained, differs ? least : quick, Effort::kNumbers, known);
    answered = Answers(result, options);
  }
  for (size_t f = 0; f < forms.size() && !answered; ++f) {
    result = Decide(forms[f], context, Effort::kProofs, known_of[f]);
    answered = Answers(result, options);
  }
  if (effort == Effort::kProofs) return result;
  if (!answered) {
    stages::Result last = Decide(explained, as_it_is ? as_read : context, effort, std::move(known));
    if (Answers(last, options) || as_it_is) {
      result = std::move(last);
    } else {
      result.warnings = std::move(last.warnings);
    }
  }
  const bool wrong =
      result.verdict == stages::Verdict::kRefuted || result.verdict == stages::Verdict::kUnknown;
  if (wrong && !Stopped(options)) {
    if (const std::optional<diagnosis::RelationsEnd> end =
            diagnosis::WhereRelationsEnd(related, shown)) {
      result.inference.end.logical_operator = WithPlace(related.logical, end->logical);
      if (!end->nearest.empty()) {
        result.inference.end.nearest = WithPlace(related.parallel, end->nearest[0]);
      }
      result.inference.end.difference = end->difference;
      result.inference.end.elsewhere = end->elsewhere;
    }
  }
  return result;
}

}  // namespace planproof::strategy
