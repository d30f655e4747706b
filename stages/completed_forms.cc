#include "stages/completed_forms.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace

Result DecideCompleted(const lineage::Problem& problem, const RunContext& context, Effort effort,
                       Result known) {
  const VerifyOptions& options = context.options;
  const LineageInference* inference = InferenceFor(options);
  const Unstated unstated = inference == nullptr ? Unstated::kNothing : UnstatedLineage(problem);
  const auto is_open = [&](const Result& result) {
    return result.verdict == Verdict::kUnknown && !Stopped(options);
  };
  if (unstated == Unstated::kNothing) return Decide(problem, context, effort, std::move(known));
  if (unstated == Unstated::kSome) {
    Result as_stated = Decide(problem, context, std::min(effort, Effort::kNumbers), known);
    if (!is_open(as_stated)) return as_stated;
  }
  std::optional<CompletedForm> last;
  for (; inference != nullptr; inference = inference->Otherwise()) {
    std::optional<CompletedForm> form = Complete(*inference, problem, options, &known);
    if (!form.has_value()) break;
    last = std::move(form);
    last->known = Decide(last->problem, context, Effort::kProofs, std::move(last->known));
    if (!is_open(last->known)) return std::move(last->known);
  }
  if (!last.has_value()) return Decide(problem, context, effort, std::move(known));
  if (effort == Effort::kProofs) return std::move(last->known);
  // A plan that states relations, or a short one, is explained as it is.
  known.inference = last->known.inference;
  if (unstated == Unstated::kSome || IsShort(problem)) {
    return Decide(problem, context, effort, std::move(known));
  }
  ForgetWhatFaultsLookLike(&last->problem);
  Result explained = Decide(last->problem, context, effort, std::move(known));
  if (explained.verdict != Verdict::kUnknown) return explained;
  last->known.warnings = std::move(explained.warnings);
  return std::move(last->known);
}

}  // namespace planproof::stages
