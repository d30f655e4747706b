// Deciding a verification problem: the entry point of everything below the command line.
#ifndef PLANPROOF_STAGES_VERIFY_H_
#define PLANPROOF_STAGES_VERIFY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "lineage/pipeline_schedule.h"

namespace planproof::verdict_cache {
class Store;
}

namespace planproof::stages {

class Executor;
struct StopRequest;

enum class Verdict : uint8_t { kProved, kUnknown, kRefuted, kMalformed };  // ascending: worst last
const char* VerdictName(Verdict verdict);                                  // "PROVED", ...
int VerdictExitCode(Verdict verdict);                                      // 0, 3, 1, 2

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
  // Look for a counterexample, and unfold deeper, where claims fail. Without it the answer comes
  // soon and a wrong plan is UNKNOWN: enough for a gate, or to see whether a change shows.
  bool explain = true;
  // Prove also what holds only where the plan is defined, although the model is defined elsewhere,
  // too; the conditions are listed with the verdict.
  bool accept_restrictions = false;
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

// One thing that is wrong, or not established.
struct Violation {
  Verdict verdict = Verdict::kUnknown;  // kRefuted, kMalformed or kUnknown
  std::string kind;   // "value differs", "dangling tensor", "wait cycle", "not proved", ...
  std::string stage;  // name of the claim: the logical tensor concerned
  std::string logical_operator;                 // "linear (layers.0.attention.wo)"
  std::string logical_source;                   // file:line and source text
  std::vector<std::string> parallel_operators;  // "all_reduce (cell 123)"
  std::vector<int> devices;
  std::string microbatches;  // "all", "0-1", "3"
  std::string lineage;       // the lineage that fails, in words
  std::string cause;         // suspected cause: "sum over tp missing", "2 times too large"
  // An element of a required output that differs: where ("loss[0] on tp=0"), and its two values,
  // "3.25" or the enclosure "[3.2499, 3.2501]" at so many bits.
  std::string witness_place;
  std::string witness_logical;
  std::string witness_parallel;
  // The same in few digits, as many as tell them apart.
  std::string witness_logical_short, witness_parallel_short;
  int witness_precision = 0;
  std::vector<std::string> witness_inputs;   // to reproduce it: inputs and their values by blocks
  std::vector<std::string> witness_example;  // inputs that can be written out
  std::string message;                       // one line that says it all
  std::string advice;                        // UNKNOWN: what may help
};

struct Result {
  Verdict verdict = Verdict::kUnknown;
  struct {
    int64_t total = 0, classes = 0, proved = 0, refuted = 0, unknown = 0;
  } stages;
  // Operators: instances (after multiplying out coordinates); `covered` lie in the cone of a proved
  // claim; the rest is listed in `without_effect`.
  struct {
    int64_t logical = 0, parallel = 0, covered = 0;
  } operators;
  struct {
    int64_t required = 0, claimed = 0;
  } outputs;
  // Classes of the first round whose proofs were remembered, were not, and were decided in this
  // run. `used` is false where no memory was asked.
  struct {
    bool used = false;
    int64_t hits = 0, misses = 0, solved = 0;
  } cache;
  // How many classes each tier decided: "identical", "normal form", "z3".
  std::vector<std::pair<std::string, int64_t>> tiers;
  std::vector<std::string> relations;  // required relations, as printed with the verdict
  std::vector<Violation> violations;
  std::vector<std::string> premises;  // of the specification's domain
  // Conditions of the plan that do not follow from where the model is defined.
  std::vector<std::string> restrictions;
  std::vector<std::string> assumptions;
  std::vector<std::string> warnings;
  std::vector<std::string> without_effect;  // parallel operators with no effect on required outputs
  struct {
    double read = 0, check = 0, cut = 0, reduce = 0, evaluate = 0, decide = 0;
    double workers = 0;  // starting and stopping the processes that decide
    double total = 0;
  } time_s;
  struct {
    double total = 0, largest = 0;
  } peak_rss_mb;
  std::string engine;
  bool worker_only = false;  // this process only worked for the one that leads; there is no verdict
};

Result Verify(const lineage::Problem& problem, const VerifyOptions& options);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_VERIFY_H_
