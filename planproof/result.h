// Says what is known about a plan.
#ifndef PLANPROOF_PLANPROOF_RESULT_H_
#define PLANPROOF_PLANPROOF_RESULT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace planproof {

namespace stages {
struct Result;  // not part of this interface
}

// Under assumptions (VerifyOptions::assumptions) every verdict is one under them: Result::Assumed.
// kProved: over the reals, for all inputs that satisfy Result::Premises, every required output is
// right on every device. kRefuted: inputs exist for which one is not. kMalformed: the plan is no
// plan. kUnknown: none of these was established.
enum class Verdict : uint8_t { kProved, kUnknown, kRefuted, kMalformed };  // ascending: worst last

// How the recorded numbers of a PyTorch program agree with each other and with what was read of it
// (docs/anchor.md).
enum class Anchor : uint8_t {
  kNotRecorded,         // no recorded program
  kAnchored,            // all comparisons agree
  kNotAnchored,         // a comparison could not be made
  kHeldDiffers,         // a rank does not hold what it is said to hold
  kResultsDiffer,       // ranks' results are not the reference's
  kTranslationDiffers,  // what was read of a program does not compute what was recorded
};

const char* VerdictName(Verdict verdict);  // "PROVED", ...
int VerdictExitCode(Verdict verdict);      // of the command line: 0, 3, 1, 2

// One thing that is wrong, or not established. Texts are for people.
struct Violation {
  Verdict verdict = Verdict::kUnknown;  // never kProved
  std::string kind;                     // "value differs", "wait cycle", "not proved", ...
  std::string stage;                    // the tensor of the model that is concerned
  std::string logical_operator;
  std::string logical_source;  // file:line and source text
  std::vector<std::string> parallel_operators;
  std::vector<int> devices;
  std::string cause;    // suspected: "sum over tp missing"
  std::string message;  // one line that says it all
};

// Cheap to copy; never changes.
class Result {
 public:
  explicit Result(std::shared_ptr<const stages::Result> wrapped) : wrapped_(std::move(wrapped)) {}

  Verdict verdict() const;
  // None if and only if the plan is PROVED.
  std::vector<Violation> Violations() const;
  // What PROVED rests on: premises on inputs, conditions under which the plan is defined
  // (VerifyOptions::accept_restrictions), and assumptions about how it is run.
  const std::vector<std::string>& Premises() const;
  const std::vector<std::string>& Restrictions() const;
  const std::vector<std::string>& Assumptions() const;
  // Relations of the plan's tensors that were taken for granted and not proved, a line each: a
  // verdict kProved is one under these assumptions.
  std::vector<std::string> Assumed() const;
  const std::vector<std::string>& Warnings() const;
  // PyTorch traces: how their recorded numbers agree, and a line about it.
  Anchor AnchorOutcome() const;
  std::string AnchorText() const;

  const stages::Result& wrapped() const { return *wrapped_; }

 private:
  std::shared_ptr<const stages::Result> wrapped_;
};

}  // namespace planproof

#endif  // PLANPROOF_PLANPROOF_RESULT_H_
