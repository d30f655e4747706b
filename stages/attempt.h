// Describes one step of a run towards an answer, and what came of it: data for reports. Nothing is
// decided by it.
#ifndef PLANPROOF_STAGES_ATTEMPT_H_
#define PLANPROOF_STAGES_ATTEMPT_H_

#include <cstdint>

namespace planproof::stages {

struct Attempt {
  // The form of the problem.
  enum class Form : uint8_t {
    kRoundsFolded,  // the rounds of its rings are one
    kRanksFolded,   // ranks that are spelled out are a coordinate
    kAsRead,
  };
  // What is known of the plan's tensors.
  enum class Relations : uint8_t {
    kStated,          // what the files state
    kInferred,        // and what an inference adds
    kRequired,        // and, of required outputs that are read again, what is required
    kWithoutGuesses,  // what an inference adds, but for relations that faults look like
  };
  enum class Method : uint8_t {
    kInfer,           // looks for relations that the files do not state
    kClaims,          // decides the claims, each once
    kGlance,          // then looks at a few numbers
    kProve,           // proves, also without lineages that do not hold
    kProveOrCompare,  // then compares numbers where the first ones differ
    kRefute,          // proves for a moment, then looks for a counterexample and explains it
    kAll,             // then proves for as long as a claim may take
    kUnwritten,       // looks whether outputs depend on memory that nobody writes
    kFirstNumbers,    // compares numbers, to choose what comes next
  };
  enum class Stopped : uint8_t {
    kProved,
    kRefuted,
    kMalformed,
    kNotShown,     // every claim was decided, some are not shown
    kOutOfWork,    // a claim would take more work than this attempt may spend
    kOutOfTime,    // time ended the work on a claim: another machine might come further
    kOutOfMemory,  // likewise
    kInterrupted,
    kDone,  // it was no attempt to answer: what it found decides what comes next
  };

  Form form = Form::kAsRead;
  Relations relations = Relations::kStated;
  int inference = 0;  // which one, from 1; 0: none
  Method method = Method::kAll;
  // Of one claim: a multiple of the usual work (VerifyOptions::work_limit is in it), and seconds.
  double work = 0, seconds = 0;
  double spent_s = 0;  // wall-clock time
  int64_t claims = 0, proved = 0;
  Stopped stopped = Stopped::kDone;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ATTEMPT_H_
