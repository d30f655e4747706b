// Names approved approximations: what is taken for granted when a plan is verified.
#ifndef PLANPROOF_PLANPROOF_ASSUMPTIONS_H_
#define PLANPROOF_PLANPROOF_ASSUMPTIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "planproof/load.h"

namespace planproof {

namespace lineage {
struct Assumption;  // not part of this interface
}

// None by default. Cheap to copy; never changes.
class Assumptions {
 public:
  Assumptions() = default;
  explicit Assumptions(std::shared_ptr<const std::vector<lineage::Assumption>> wrapped)
      : wrapped_(std::move(wrapped)) {}

  // How many tensors of the plan are taken to be what the model's are.
  size_t size() const;
  // Null: none.
  const std::vector<lineage::Assumption>* wrapped() const { return wrapped_.get(); }

 private:
  std::shared_ptr<const std::vector<lineage::Assumption>> wrapped_;
};

// Reads a file of assumptions (docs/assumptions.md) about this problem. Errors are usage errors
// (IsUsageError); their message begins with file and line.
absl::StatusOr<Assumptions> LoadAssumptions(const std::string& file, const Problem& problem);

}  // namespace planproof

#endif  // PLANPROOF_PLANPROOF_ASSUMPTIONS_H_
