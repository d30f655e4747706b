#include "anchor/recorded_sample.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "anchor/initial_values.h"
#include "anchor/recorded_values.h"

namespace planproof::anchor {
namespace {

// Elements of all inputs together: beyond it no search for inputs ends in time.
constexpr int64_t kMostElements = int64_t{1} << 22;

}  // namespace

std::shared_ptr<const lineage::SampledInputs> RecordedSample(const frontend::Recording& recording,
                                                             const lineage::Problem& problem) {
  int64_t elements = 0;
  for (const sdfg::Tensor& tensor : problem.logical.tensors) {
    if (tensor.producer == sdfg::kNone) elements += runtime_check::CountOf(tensor.shape);
    if (elements > kMostElements) return nullptr;
  }
  absl::StatusOr<RecordedValues> reference = RecordedValues::Open(recording.reference);
  if (!reference.ok()) return nullptr;
  RecordedFiles files{*std::move(reference), {}};
  for (const frontend::RecordedProgram& program : recording.ranks) {
    absl::StatusOr<RecordedValues> values = RecordedValues::Open(program);
    if (!values.ok()) return nullptr;
    files.ranks.push_back(*std::move(values));
  }
  const absl::StatusOr<InitialValues> initial =
      InitialOfReference(recording, problem.logical, &files);
  if (!initial.ok()) return nullptr;
  lineage::SampledInputs sample;
  for (size_t id = 0; id < initial->tensors.size(); ++id) {
    const runtime_check::Values& values = initial->tensors[id];
    if (values.storage == runtime_check::Values::Storage::kNone) continue;
    std::vector<double>& numbers = sample.elements[static_cast<sdfg::TensorId>(id)];
    for (int64_t i = 0; i < values.size(); ++i) numbers.push_back(values.At(i));
  }
  if (sample.elements.empty()) return nullptr;
  return std::make_shared<const lineage::SampledInputs>(std::move(sample));
}

}  // namespace planproof::anchor
