#include "anchor/recorded_sample.h"

#include <cstdint>
#include <utility>

#include "anchor/initial_values.h"
#include "anchor/recorded_values.h"

namespace planproof::anchor {
namespace {

// Elements of all inputs together: beyond it no search for inputs ends in time.
constexpr int64_t kMostElements = int64_t{1} << 22;

}  // namespace

lineage::SampledInputs RecordedSample(const frontend::Recording& recording,
                                      const lineage::Problem& problem) {
  int64_t elements = 0;
  for (const sdfg::Tensor& tensor : problem.logical.tensors) {
    if (tensor.producer == sdfg::kNone) elements += runtime_check::CountOf(tensor.shape);
    if (elements > kMostElements) return {};
  }
  absl::StatusOr<RecordedValues> reference = RecordedValues::Open(recording.reference);
  if (!reference.ok()) return {};
  RecordedFiles files{*std::move(reference), {}};
  for (const frontend::RecordedProgram& program : recording.ranks) {
    absl::StatusOr<RecordedValues> values = RecordedValues::Open(program);
    if (!values.ok()) return {};
    files.ranks.push_back(*std::move(values));
  }
  const absl::StatusOr<InitialValues> initial =
      InitialOfReference(recording, problem.logical, &files);
  if (!initial.ok()) return {};
  lineage::SampledInputs sample;
  for (size_t id = 0; id < initial->tensors.size(); ++id) {
    const runtime_check::Values& values = initial->tensors[id];
    if (values.storage == runtime_check::Values::Storage::kNone) continue;
    std::vector<double>& numbers = sample.elements[static_cast<sdfg::TensorId>(id)];
    for (int64_t i = 0; i < values.size(); ++i) numbers.push_back(values.At(i));
  }
  return sample;
}

}  // namespace planproof::anchor
