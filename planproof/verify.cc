#include "planproof/verify.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#ifndef PLANPROOF_PROVER_ONLY
#include "anchor/anchor.h"
#include "anchor/recorded_sample.h"
#include "anchor/withdrawal.h"
#endif
#include "frontend/load_problem.h"
#include "inference/relation_inference.h"
#include "lineage/assumptions.h"
#include "lineage/lineage.h"
#include "stages/workers/proof_files.h"
#include "strategy/reader_error.h"
#include "strategy/verify.h"
#include "verdict_cache/store.h"

namespace planproof {
namespace {

stages::Engine Internal(Engine engine) {
  switch (engine) {
    case Engine::kSmt:
      return stages::Engine::kSmt;
    case Engine::kAudit:
      return stages::Engine::kAudit;
    case Engine::kHybrid:
      break;
  }
  return stages::Engine::kHybrid;
}

// The recorded numbers of a problem; an error where they are not those of its traces.
absl::StatusOr<anchor::AnchorComparison> Anchored(const Problem& problem) {
#ifndef PLANPROOF_PROVER_ONLY  // which reads no traces
  if (problem.recording() != nullptr)
    return anchor::CompareRecording(*problem.recording(), &problem.wrapped());
#endif
  static_cast<void>(problem);
  return anchor::AnchorComparison{};
}

// With the inputs that were recorded, if there are any.
stages::Result VerifyWithSample(const Problem& problem, const stages::VerifyOptions& options) {
#ifndef PLANPROOF_PROVER_ONLY
  if (problem.recording() != nullptr) {
    lineage::Problem with_sample = problem.wrapped();
    with_sample.sample = anchor::RecordedSample(*problem.recording(), with_sample);
    return strategy::Verify(with_sample, options);
  }
#endif
  return strategy::Verify(problem.wrapped(), options);
}

stages::Result WithAnchor(stages::Result result, anchor::AnchorComparison comparison,
                          bool require) {
#ifdef PLANPROOF_PROVER_ONLY
  static_cast<void>(comparison);
  static_cast<void>(require);
#else
  anchor::ApplyAnchor(std::move(comparison), require, &result);
#endif
  return result;
}

}  // namespace

Result Verify(const Problem& problem, const VerifyOptions& options) {
  absl::StatusOr<anchor::AnchorComparison> anchored = Anchored(problem);
  if (!anchored.ok()) {
    return Result(
        std::make_shared<const stages::Result>(strategy::ResultOfReaderError(anchored.status())));
  }
  if (anchored->DecidesAlone()) {
    stages::Result result;
    result.assumptions = problem.wrapped().assumptions;
    return Result(std::make_shared<const stages::Result>(
        WithAnchor(std::move(result), *std::move(anchored), options.require_anchor)));
  }
  stages::VerifyOptions internal;
  internal.engine = Internal(options.engine);
  internal.jobs = options.jobs;
  internal.stage_timeout_s = options.claim_timeout_s;
  internal.memory_limit_mb = options.memory_limit_mb;
  internal.work_limit = options.work_limit;
  internal.explain = options.explain;
  internal.accept_restrictions = options.accept_restrictions;
  internal.keep_account = options.keep_stages;
  if (options.assumptions.wrapped() != nullptr) internal.assume = *options.assumptions.wrapped();
  const inference::RelationInference inference;
  if (options.infer) internal.inference = &inference;
  const std::unique_ptr<verdict_cache::Store> cache =
      options.cache_directory.empty()
          ? nullptr
          : stages::CacheIn(options.cache_directory, options.cache_megabytes);
  if (cache != nullptr) internal.stores.push_back(cache.get());
  stages::Result result = VerifyWithSample(problem, internal);
  if (cache != nullptr) {
    cache->Close();
    for (const std::string& warning : cache->warnings()) {
      result.warnings.push_back(absl::StrCat("cache: ", warning));
    }
  }
  return Result(std::make_shared<const stages::Result>(
      WithAnchor(std::move(result), *std::move(anchored), options.require_anchor)));
}

absl::StatusOr<Result> VerifyFiles(const std::vector<std::string>& files, const LoadOptions& load,
                                   const VerifyOptions& options) {
  const absl::StatusOr<Problem> problem = Load(files, load);
  if (problem.ok()) return Verify(*problem, options);
  if (frontend::IsUsageError(problem.status()) || frontend::IsInternalError(problem.status())) {
    return problem.status();
  }
  return Result(
      std::make_shared<const stages::Result>(strategy::ResultOfReaderError(problem.status())));
}

}  // namespace planproof
