// Says how a plan is verified. The defaults are those of the command line.
#ifndef PLANPROOF_PLANPROOF_OPTIONS_H_
#define PLANPROOF_PLANPROOF_OPTIONS_H_

#include <cstdint>
#include <string>

#include "planproof/assumptions.h"

namespace planproof {

// kHybrid: normal forms; kSmt: Z3 in their place; kAudit: both on every claim. Numbers refute in
// all.
enum class Engine : uint8_t { kHybrid, kSmt, kAudit };

struct VerifyOptions {
  Engine engine = Engine::kHybrid;
  int jobs = 2;                    // worker processes
  double claim_timeout_s = 60;     // for one claim; then it is UNKNOWN
  int64_t memory_limit_mb = 4096;  // of one worker; beyond it its claim is UNKNOWN
  double work_limit = 1;           // of one claim, as a multiple of the usual: 0.01 to 1e4
  // Infer relations of computed tensors where the plan states few (docs/inference.md).
  bool infer = true;
  // Look for a counterexample where a claim fails; without, a wrong plan is UNKNOWN, but soon.
  bool explain = true;
  // Prove also a plan that has no value on some inputs on which the model has one; the conditions
  // are listed in Result::Restrictions.
  bool accept_restrictions = false;
  // PyTorch traces: give no verdict where what was read of them cannot be compared with recorded
  // numbers (docs/anchor.md).
  bool require_anchor = false;
  // What is taken for granted; every report lists it, and Result::Assumed.
  Assumptions assumptions;
  // Reports besides the text show every stage and the graphs (planproof/report.h); without, they
  // have findings and counts only.
  bool keep_stages = true;
  // Directory where proofs are remembered between runs (docs/cache.md); empty: they are not.
  std::string cache_directory;
  int64_t cache_megabytes = 256;
};

}  // namespace planproof

#endif  // PLANPROOF_PLANPROOF_OPTIONS_H_
