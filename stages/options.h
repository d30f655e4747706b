// Holds the options of a verification.
#ifndef PLANPROOF_STAGES_OPTIONS_H_
#define PLANPROOF_STAGES_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lineage/assumptions.h"
#include "lineage/pipeline_schedule.h"

namespace planproof::verdict_cache {
class Store;
}

namespace planproof::stages {

class Executor;
class LineageInference;
struct StopRequest;

enum class Engine : uint8_t { kHybrid, kSmt, kAudit };
using lineage::PipelineSchedule;

// What a run is doing: claims decided, of so many, or something that has no number.
struct Progress {
  std::string doing;  // empty: claims
  int64_t done = 0, total = 0;
};

struct VerifyOptions {
  Engine engine = Engine::kHybrid;
  int jobs = 2;
  double stage_timeout_s = 60;
  int64_t memory_limit_mb = 4096;  // of one worker
  double work_limit = 1;           // of one claim, as a multiple of the usual: 0.01 to 1e4
  bool use_classes = true;
  // Decide a plan that spells ranks out with a coordinate for them (lineage/folding/fold.h). The
  // SMT engines decide what was read.
  bool fold_ranks = true;
  // Finds relations that the files do not state; null: only what is stated is used.
  const LineageInference* inference = nullptr;
  // Look for a counterexample, and unfold deeper, where claims fail. Without it the answer comes
  // soon and a wrong plan is UNKNOWN: enough for a gate, or to see whether a change shows.
  bool explain = true;
  // Prove also what holds only where the plan is defined, although the model is defined elsewhere,
  // too; the conditions are listed with the verdict.
  bool accept_restrictions = false;
  // Relations of tensors that the plan computes which are taken for granted: who verifies approves
  // them (lineage/assumptions.h), and every report lists them (Result::assumed).
  std::vector<lineage::Assumption> assume;
  // A counterexample comes with the result as data.
  bool keep_witness = false;
  // The relations that were proved come with the result (ProvedRelation).
  bool keep_relations = false;
  // What was decided comes with the result, stage by stage, and the graphs (Account).
  bool keep_account = false;
  // Look for relations to claim where a claim was not shown: of plans in which people claim them.
  bool advise_lineage = false;
  // The order of microbatches that the plan claims to follow (stages/schedule/expected_schedule.h).
  PipelineSchedule expect_schedule = PipelineSchedule::kAny;
  std::string dump_smt_directory;  // empty: none
  // Where proofs of claims are remembered between runs, asked in this order (claim_memory.h). Only
  // the hybrid engine with classes asks: an audit audits, and --no-classes decides all there is.
  std::vector<verdict_cache::Store*> stores;
  // One of them also lists what was decided, for people; may be null.
  verdict_cache::Store* journal = nullptr;
  Executor* executor = nullptr;  // of the first round; null: worker processes here
  StopRequest* stop = nullptr;   // when requested, what is not decided stays so
  // Called now and then; may be empty.
  std::function<void(const Progress&)> progress;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_OPTIONS_H_
