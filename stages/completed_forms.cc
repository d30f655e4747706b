#include "stages/completed_forms.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stages/diagnosis/relations_end.h"
#include "stages/elapsed.h"
#include "stages/lineage_inference.h"
#include "stages/proved_relations.h"
#include "stages/unstated_lineage.h"

namespace planproof::stages {

namespace {

constexpr double kSecondsOfInference = 20;

// Processes that share the work must decide the same, whatever time they take; Z3 decides what was
// read.
const LineageInference* InferenceFor(const VerifyOptions& options) {
  const bool usable = options.executor == nullptr && options.engine != Engine::kSmt;
  return usable ? options.inference : nullptr;
}

struct CompletedForm {
  lineage::Problem problem;
  Result known;
};

// The problem with what inference adds, and what is then known of it. Nothing if that takes too
// much.
std::optional<CompletedForm> Complete(const LineageInference& inference,
                                      const lineage::Problem& problem, const VerifyOptions& options,
                                      Result* known) {
  const auto start = std::chrono::steady_clock::now();
  WorkerLimits limits;
  limits.task_timeout_s = std::min(kSecondsOfInference, options.stage_timeout_s);
  limits.memory_limit_mb = options.memory_limit_mb;
  limits.stop = options.stop;
  const std::optional<InferredRelations> inferred = InferInWorker(inference, problem, limits);
  known->time_s.infer += Since(start);
  if (!inferred.has_value()) {
    if (!Stopped(options)) {
      known->warnings.push_back("relations are not inferred: it takes too much time or memory");
    }
    return std::nullopt;
  }
  CompletedForm form{WithRelations(problem, inferred->relations), *known};
  form.known.inference.used = true;
  form.known.inference.tensors = inferred->tensors;
  form.known.inference.classes = inferred->classes;
  form.known.inference.inferred = CountInferred(form.problem);
  if (options.keep_relations) {
    form.known.unrelated = NamesOf(problem.parallel, inferred->unrelated);
  }
  return form;
}

// Most plans are proved, or refuted, with a part of the work that one claim may take; what lies
// behind a fault takes all of it.
VerifyOptions Quick(VerifyOptions options) {
  constexpr double kShareOfWork = 0.4;
  constexpr double kSeconds = 10;
  options.work_limit *= kShareOfWork;
  options.stage_timeout_s = std::min(options.stage_timeout_s, kSeconds);
  return options;
}

// The forms of a problem of which too little is stated.
class Completion {
 public:
  Completion(const lineage::Problem& problem, const RunContext& context, Unstated unstated,
             Result known)
      : problem_(problem),
        context_(context),
        quick_options_(Quick(context.options)),
        quick_{.options = quick_options_,
               .read = context.read,
               .start = context.start,
               .share_of_attempts = context.share_of_attempts,
               .well_formed = context.well_formed},
        // A plan that states relations, or a short one, is explained as it is.
        explain_as_stated_(unstated == Unstated::kSome || IsShort(problem)),
        known_(std::move(known)) {}

  Result Run(Effort effort) {
    Result result = Answer(effort);
    const bool wrong = result.verdict == Verdict::kRefuted || result.verdict == Verdict::kUnknown;
    if (wrong && effort != Effort::kProofs && !completed_.empty() && !Stopped(context_.options)) {
      const lineage::Problem& related = completed_.back().problem;
      if (const std::optional<RelationsEnd> end = WhereRelationsEnd(related)) {
        result.inference.end.logical_operator = related.logical.Describe(end->logical);
        if (!end->nearest.empty()) {
          result.inference.end.nearest = related.parallel.Describe(end->nearest[0]);
        }
        result.inference.end.difference = end->difference;
      }
    }
    return result;
  }

 private:
  Result Answer(Effort effort) {
    if (Infer()) return std::move(*answer_);
    if (completed_.empty()) return Decide(problem_, context_, effort, std::move(known_));
    if (effort != Effort::kProofs) {
      if (!explain_as_stated_) {
        to_explain_ = completed_.back().problem;
        ForgetWhatFaultsLookLike(&*to_explain_);
      }
      known_.inference = completed_.back().known.inference;
      if (Answers(Decide(ToExplain(), quick_, Effort::kNumbers, known_))) return *answer_;
    }
    for (const CompletedForm& form : completed_) {
      if (Answers(Decide(form.problem, context_, Effort::kProofs, form.known))) return *answer_;
    }
    Result undecided = *std::move(answer_);
    if (effort == Effort::kProofs) return undecided;
    if (Answers(Decide(ToExplain(), context_, effort, std::move(known_))) || explain_as_stated_) {
      return *std::move(answer_);
    }
    undecided.warnings = std::move(answer_->warnings);
    return undecided;
  }

  // Asks one inference after the other, until a proof is found.
  bool Infer() {
    for (const LineageInference* inference = InferenceFor(context_.options); inference != nullptr;
         inference = inference->Otherwise()) {
      std::optional<CompletedForm> form = Complete(*inference, problem_, context_.options, &known_);
      if (!form.has_value()) break;
      completed_.push_back(*std::move(form));
      const CompletedForm& completed = completed_.back();
      if (Answers(Decide(completed.problem, quick_, Effort::kProofs, completed.known))) return true;
    }
    return false;
  }

  bool Answers(Result result) {
    answer_ = std::move(result);
    return answer_->verdict != Verdict::kUnknown || Stopped(context_.options);
  }

  const lineage::Problem& ToExplain() const { return explain_as_stated_ ? problem_ : *to_explain_; }

  const lineage::Problem& problem_;
  const RunContext& context_;
  const VerifyOptions quick_options_;
  const RunContext quick_;
  const bool explain_as_stated_;
  Result known_;
  std::vector<CompletedForm> completed_;
  std::optional<lineage::Problem> to_explain_;
  std::optional<Result> answer_;  // the last one
};

}  // namespace

Result DecideCompleted(const lineage::Problem& problem, const RunContext& context, Effort effort,
                       Result known) {
  const VerifyOptions& options = context.options;
  const bool infers = InferenceFor(options) != nullptr;
  const Unstated unstated = infers ? UnstatedLineage(problem) : Unstated::kNothing;
  if (unstated == Unstated::kNothing) return Decide(problem, context, effort, std::move(known));
  if (unstated == Unstated::kSome) {
    Result as_stated = Decide(problem, context, std::min(effort, Effort::kNumbers), known);
    if (as_stated.verdict != Verdict::kUnknown || Stopped(options)) return as_stated;
  }
  return Completion(problem, context, unstated, std::move(known)).Run(effort);
}

}  // namespace planproof::stages
