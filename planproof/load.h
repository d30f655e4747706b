// Loads files into a problem that can be verified.
#ifndef PLANPROOF_PLANPROOF_LOAD_H_
#define PLANPROOF_PLANPROOF_LOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace planproof {

namespace lineage {
struct Problem;  // not part of this interface
}
namespace frontend {
struct Recording;  // nor is this
}

// A model, a plan, and what the plan must establish. Cheap to copy; never changes.
class Problem {
 public:
  explicit Problem(std::shared_ptr<const lineage::Problem> wrapped,
                   std::shared_ptr<const frontend::Recording> recording = nullptr)
      : wrapped_(std::move(wrapped)), recording_(std::move(recording)) {}

  // Outputs that must be right, as the report names them.
  std::vector<std::string> RequiredOutputs() const;
  // Operators of the model, and of the plan with all ranks and microbatches counted.
  int64_t LogicalOperators() const;
  int64_t ParallelOperators() const;

  const lineage::Problem& wrapped() const { return *wrapped_; }
  // Of PyTorch traces: which recorded numbers are whose; null of other formats.
  const frontend::Recording* recording() const { return recording_.get(); }

 private:
  std::shared_ptr<const lineage::Problem> wrapped_;
  std::shared_ptr<const frontend::Recording> recording_;
};

struct LoadOptions {
  // A file with declarations of further operators (docs/operator-language.md); empty: none.
  std::string operators_file;
  // nnScaler plans: pieces of a collective are ordered by their position in the group, as a runtime
  // does, and not by the index maps that the file declares.
  bool collectives_by_rank = false;
  // PyTorch traces of some ranks: axes of the mesh, with their sizes, along which those that are
  // missing run the same program with their own coordinates, which the result lists as assumed.
  std::vector<std::pair<std::string, int64_t>> extend;
};

// Reads one file that holds model and plan, or a file of each, in any format that planproof knows
// (`planproof verify --help`). Nothing in a file is ever executed. Errors:
//   NotFound, Unimplemented, ResourceExhausted   nothing can be said: the plan is UNKNOWN
//   Internal                                     a mistake in planproof
//   any other                                    the plan is MALFORMED
// IsUsageError tells errors apart that are about the call and not about a plan.
absl::StatusOr<Problem> Load(const std::vector<std::string>& files,
                             const LoadOptions& options = {});

// A file that does not exist, or a wrong declaration in `operators_file`.
bool IsUsageError(const absl::Status& error);

}  // namespace planproof

#endif  // PLANPROOF_PLANPROOF_LOAD_H_
