#include "planproof/assumptions.h"

#include "frontend/assumption_file.h"
#include "lineage/assumptions.h"

namespace planproof {

size_t Assumptions::size() const { return wrapped_ == nullptr ? 0 : wrapped_->size(); }

absl::StatusOr<Assumptions> LoadAssumptions(const std::string& file, const Problem& problem) {
  absl::StatusOr<std::vector<lineage::Assumption>> read =
      frontend::ReadAssumptions(file, problem.wrapped());
  if (!read.ok()) return read.status();
  return Assumptions(std::make_shared<const std::vector<lineage::Assumption>>(*std::move(read)));
}

}  // namespace planproof
