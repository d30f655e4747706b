// Describes, for reports, how the numbers that were recorded of a program agree with each other and
// with what was read of it. What is compared is in docs/anchor.md.
#ifndef PLANPROOF_STAGES_ANCHOR_REPORT_H_
#define PLANPROOF_STAGES_ANCHOR_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planproof::stages {

// An element of a recorded tensor that is not what it should be.
struct RecordedDifference {
  std::string tensor;          // "up.weight", "gradient of up.weight"
  std::vector<int32_t> ranks;  // that differ, ascending; empty: the reference
  std::vector<int64_t> index;  // of the reference's tensor
  std::string value;           // of the first of these ranks
  std::string expected;
  std::string cause;       // what is there instead: "rank 1 holds the part of rank 0"
  std::string usual;       // what usually makes such a difference; may be empty
  std::string op, source;  // of a translation: the operator, where it is known, and its line
  std::string text;        // one line that says it all
  bool operator==(const RecordedDifference&) const = default;
};

enum class AnchorOutcome : uint8_t {
  kNotRecorded,         // no recorded program: there is nothing to compare
  kAnchored,            // all three comparisons agree
  kNotAnchored,         // a comparison could not be made
  kHeldDiffers,         // a rank does not hold what it is said to hold
  kResultsDiffer,       // ranks' results are not the reference's
  kTranslationDiffers,  // what was read of a program does not compute what was recorded
};

// "anchored", "not anchored", "held differs", ...
const char* AnchorOutcomeName(AnchorOutcome outcome);
bool AnchorOutcomeFromName(const std::string& name, AnchorOutcome* outcome);

struct AnchorReport {
  AnchorOutcome outcome = AnchorOutcome::kNotRecorded;
  std::string why;   // kNotAnchored: what is missing
  std::string text;  // whether the recorded numbers agree, and to what; one line
  std::vector<RecordedDifference> differences;  // the first is what the outcome is about
  // Tensors that ranks hold, results of ranks, and results of all programs that were compared.
  int64_t held = 0, results = 0, computed = 0;
  // Of `computed`: rounding may change them by as much as they are, so hardly anything could
  // differ.
  int64_t blind = 0;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ANCHOR_REPORT_H_
