// Decides from dumps of both whether a sharded training run computed what a run of one process did.
//
// It compares as a replay does (comparison.h), but the model is a user's program: what round-off
// does to a tensor is known from runs of the same program on perturbed inputs, which the
// reference's dump has.
#ifndef PLANPROOF_RUNTIME_CHECK_DUMP_COMPARISON_H_
#define PLANPROOF_RUNTIME_CHECK_DUMP_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dumps/annotations.h"
#include "dumps/dump.h"
#include "runtime_check/comparison.h"
#include "runtime_check/dump_matching.h"
#include "runtime_check/held_parts.h"

namespace planproof::runtime_check {

struct DumpLimits {
  double elements = 0x1p28;  // of one tensor, of all ranks and the reference together
};

struct DumpTensorReport {
  std::string name;       // of the reference
  std::string candidate;  // the first rank's name
  Measure measure;
  DumpFinding finding = DumpFinding::kNone;
  std::string what;  // of findings about parts, in words
  // Of replicas that differ: how many elements, the first of them, the ratio of the differences to
  // expected round-off.
  int64_t elements = 0;
  std::vector<int64_t> index;
  double ratio = 0;
  // Ranks that differ, and their coordinates along axes on which not all differ; the rank of the
  // element that differs most.
  std::vector<int> ranks;
  struct Coordinates {
    int axis = 0;  // of the mesh
    std::vector<int64_t> values;
  };
  std::vector<Coordinates> at;
  int rank = -1;
};

struct DumpReport {
  Mesh mesh;                              // of the candidate
  std::vector<DumpTensorReport> tensors;  // in the reference's order
  int first = -1;                         // the first that alarms
  int alarms = 0;
  int64_t compared = 0;   // tensors whose values were compared, and could have differed
  int64_t undefined = 0;  // elements that are NaN in the reference, or none that is finite
  int64_t blind = 0;      // tensors that do not alarm and hardly could (Measure::blind)
  int64_t skipped = 0;
  std::vector<std::string> unmatched;  // tensors of the candidate that the reference has not got
  std::vector<int> unused;             // lines of annotations that no tensor matches
  sdfg::DType dtype = sdfg::DType::kUnknown;
  int samples = 0;
};

// InvalidArgument: what is wrong with the dumps or the annotations.
// ResourceExhausted beyond the limits; FailedPrecondition if nothing could be compared.
absl::StatusOr<DumpReport> CompareDumps(const dumps::ReferenceDump& reference,
                                        const dumps::Dump& candidate,
                                        const dumps::Annotations& annotations,
                                        const DumpLimits& limits);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_DUMP_COMPARISON_H_
