// Matches tensors of a sharded run with those of the reference, by name.
#ifndef PLANPROOF_RUNTIME_CHECK_DUMP_MATCHING_H_
#define PLANPROOF_RUNTIME_CHECK_DUMP_MATCHING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dumps/annotations.h"
#include "dumps/dump.h"
#include "runtime_check/held_parts.h"

namespace planproof::runtime_check {

struct MatchedTensor {
  std::string name;  // of the reference
  const dumps::TensorRule* rule = nullptr;
  struct Holder {
    int rank = 0;
    std::string name;  // that the rank gives it
  };
  std::vector<Holder> holders;  // none: the candidate has not got it
};

struct Matching {
  Mesh mesh;
  std::vector<MatchedTensor> tensors;  // in the reference's order
  int64_t skipped = 0;                 // of the reference
  std::vector<std::string> unmatched;  // names of ranks' tensors that the reference has not got
  std::vector<int> unused;             // lines of rules that no tensor matches
};

// `annotations` must outlive the result. InvalidArgument for annotations that cannot be meant, and
// a rank of which two tensors are the same of the reference.
absl::StatusOr<Matching> MatchDumps(const dumps::Dump& reference, const dumps::Dump& candidate,
                                    const dumps::Annotations& annotations);

// DivisionOf, with the place of the rule.
absl::StatusOr<Division> DivisionOf(const MatchedTensor& tensor, const Mesh& mesh,
                                    size_t dimensions, const dumps::Annotations& annotations);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_DUMP_MATCHING_H_
