#include "stages/workers/witness_bytes.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "stages/workers/byte_stream.h"
#include "witness/witness_file.h"

namespace planproof::stages {

using shape_reduction::Sample;
using shape_reduction::Witness;

namespace {

// Empty where there is none, or none that can be written.
std::string AsFile(const witness::Witness* data) {
  if (data == nullptr) return "";
  absl::StatusOr<std::string> bytes = witness::ToBytes(*data);
  return bytes.ok() ? *std::move(bytes) : "";
}

bool TakeData(const std::string& file, std::shared_ptr<const witness::Witness>* data) {
  if (file.empty()) return true;
  absl::StatusOr<witness::Witness> read = witness::FromBytes(file);
  if (!read.ok()) return false;
  *data = std::make_shared<const witness::Witness>(*std::move(read));
  return true;
}

}  // namespace

// The structured bindings do not compile when a member is added that is not carried.

std::string ToBytes(const Witness& witness) {
  const auto& [outcome, required, parallel_index, logical_index, logical_low, logical_high,
               parallel_low, parallel_high, logical_value, parallel_value, undefined, precision,
               first, seed, evaluation, inputs, data, example, attempts, undefined_seen, message] =
      witness;
  std::string out;
  PutInt(static_cast<int64_t>(outcome), &out);
  PutInt(required, &out);
  PutInts(parallel_index, &out);
  PutInts(logical_index, &out);
  for (const double bound : {logical_low, logical_high, parallel_low, parallel_high}) {
    PutReal(bound, &out);
  }
  PutText(logical_value, &out);
  PutText(parallel_value, &out);
  PutInt(undefined.tensor, &out);
  PutInt(static_cast<int64_t>(undefined.by), &out);
  PutInt(precision, &out);
  PutInt(static_cast<int64_t>(seed), &out);
  PutTexts(inputs, &out);
  PutTexts(example, &out);
  PutInt(attempts, &out);
  PutInt(undefined_seen ? 1 : 0, &out);
  PutText(message, &out);
  PutText(AsFile(data.get()), &out);
  return out;
}

bool FromBytes(const std::string& bytes, Witness* witness) {
  ByteReader in(bytes);
  std::string file;
  return in.Int(&witness->outcome) && in.Int(&witness->required) &&
         in.Ints(&witness->parallel_index) && in.Ints(&witness->logical_index) &&
         in.Real(&witness->logical_low) && in.Real(&witness->logical_high) &&
         in.Real(&witness->parallel_low) && in.Real(&witness->parallel_high) &&
         in.Text(&witness->logical_value) && in.Text(&witness->parallel_value) &&
         in.Int(&witness->undefined.tensor) && in.Int(&witness->undefined.by) &&
         in.Int(&witness->precision) && in.Int(&witness->seed) && in.Texts(&witness->inputs) &&
         in.Texts(&witness->example) && in.Int(&witness->attempts) &&
         in.Int(&witness->undefined_seen) && in.Text(&witness->message) && in.Text(&file) &&
         TakeData(file, &witness->data) && in.AtEnd();
}

std::string ToBytes(const std::vector<Violation>& violations) {
  std::string out;
  PutInt(static_cast<int64_t>(violations.size()), &out);
  for (const Violation& violation : violations) {
    const auto& [verdict, kind, stage, logical_operator, logical_source, parallel_operators,
                 devices, microbatches, lineage, cause, place, logical, parallel, logical_short,
                 parallel_short, precision, inputs, example, message, advice] = violation;
    PutInt(static_cast<int64_t>(verdict), &out);
    for (const std::string* text :
         {&kind, &stage, &logical_operator, &logical_source, &microbatches, &lineage, &cause,
          &place, &logical, &parallel, &logical_short, &parallel_short, &message, &advice}) {
      PutText(*text, &out);
    }
    PutTexts(parallel_operators, &out);
    PutInt(precision, &out);
    PutTexts(inputs, &out);
    PutTexts(example, &out);
    PutInts(devices, &out);
  }
  return out;
}

bool FromBytes(const std::string& bytes, std::vector<Violation>* violations) {
  ByteReader in(bytes);
  int64_t count;
  if (!in.Int(&count) || count < 0 || static_cast<uint64_t>(count) > bytes.size()) return false;
  violations->resize(static_cast<size_t>(count));
  for (Violation& v : *violations) {
    if (!in.Int(&v.verdict)) return false;
    for (std::string* text :
         {&v.kind, &v.stage, &v.logical_operator, &v.logical_source, &v.microbatches, &v.lineage,
          &v.cause, &v.witness_place, &v.witness_logical, &v.witness_parallel,
          &v.witness_logical_short, &v.witness_parallel_short, &v.message, &v.advice}) {
      if (!in.Text(text)) return false;
    }
    if (!in.Texts(&v.parallel_operators) || !in.Int(&v.witness_precision) ||
        !in.Texts(&v.witness_inputs) || !in.Texts(&v.witness_example) || !in.Ints(&v.devices)) {
      return false;
    }
  }
  return in.AtEnd();
}

std::string ToBytes(const Sample& sample) {
  const auto& [outcome, message] = sample;
  std::string out;
  PutInt(static_cast<int64_t>(outcome), &out);
  PutText(message, &out);
  return out;
}

bool FromBytes(const std::string& bytes, Sample* sample) {
  ByteReader in(bytes);
  return in.Int(&sample->outcome) && in.Text(&sample->message) && in.AtEnd();
}

}  // namespace planproof::stages
