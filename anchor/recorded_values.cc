#include "anchor/recorded_values.h"

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "anchor/digest.h"
#include "runtime_check/dumped_values.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using runtime_check::CountOf;
using runtime_check::Values;

// As the executor has them in float64.
Values InDoubles(sdfg::DType dtype, Values values) {
  if (sdfg::IsInteger(dtype) || values.storage == Values::Storage::kDouble) return values;
  Values wide = Values::Zeros(std::move(values.shape), dtype, sdfg::DType::kFloat64);
  const auto count = static_cast<int64_t>(wide.doubles.size());
  for (int64_t i = 0; i < count; ++i) wide.doubles[i] = values.At(i);
  return wide;
}

}  // namespace

absl::Status RecordedValues::Damaged(const std::string& name, const std::string& what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": ", name, ": ", what, "; record the program again"));
}

absl::StatusOr<RecordedValues> RecordedValues::Open(const frontend::RecordedProgram& program) {
  const std::string& path = program.values_path;
  if (!program.given) {
    return absl::NotFoundError(absl::StrCat("rank ", program.rank, " was not recorded"));
  }
  if (program.version > 1 && program.values_digest.empty()) {
    return absl::NotFoundError(absl::StrCat(program.path, " was recorded without values"));
  }
  absl::StatusOr<std::unique_ptr<dumps::TensorFile>> file = dumps::TensorFile::Open(path);
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(absl::StrCat("no values were recorded, or ",
                                            std::filesystem::path(path).filename().string(),
                                            " does not lie beside its trace"));
  }
  if (!program.values_digest.empty()) {
    PLAN_ASSIGN_OR_RETURN(const std::string digest, Sha256OfFile(path));
    if (digest != program.values_digest) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": these are not the values of ", program.path,
                       " (another SHA-256); record the program again, or take both files of one "
                       "recording"));
    }
  }
  if (!file.ok()) return file.status();
  double bytes = 0;
  for (const auto& [name, type] : (*file)->tensors()) {
    bytes +=
        static_cast<double>(CountOf(type.shape)) * static_cast<double>(dumps::BytesOf(type.dtype));
  }
  if (bytes > static_cast<double>(kMostValueBytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": ", bytes, " bytes of values, more than the limit of ", kMostValueBytes));
  }
  return RecordedValues(program, path, *std::move(file));
}

absl::StatusOr<std::string> RecordedValues::Bytes(const std::string& name, int64_t least,
                                                  int64_t most) {
  const auto found = file_->tensors().find(name);
  if (found == file_->tensors().end()) {
    return absl::NotFoundError(absl::StrCat(path_, ": ", name, " was not recorded"));
  }
  const auto& [dtype, shape] = found->second;
  if (dtype != sdfg::DType::kUInt8 || shape.size() != 1) {
    return Damaged(name, "one dimension of bytes is expected");
  }
  if (shape[0] < least || shape[0] > most) {
    return Damaged(name, absl::StrCat(shape[0], " bytes do not fit the trace, which says ", most));
  }
  return file_->Read(name);
}

absl::StatusOr<Values> RecordedValues::Contiguous(const std::string& name, sdfg::DType dtype,
                                                  const sdfg::Shape& shape) {
  const int64_t bytes = CountOf(shape) * dumps::BytesOf(dtype);
  PLAN_ASSIGN_OR_RETURN(const std::string text, Bytes(name, bytes, bytes));
  return InDoubles(dtype, runtime_check::DecodedValues({dtype, shape}, text));
}

absl::StatusOr<const Values*> RecordedValues::Storage(int32_t storage) {
  const auto known = storages_.find(storage);
  if (known != storages_.end()) return &known->second;
  const frontend::RecordedStorage& described = program_->storages[storage];
  const int64_t each = dumps::BytesOf(described.dtype);
  const std::string name = absl::StrCat("storage_", storage);
  PLAN_ASSIGN_OR_RETURN(std::string text, Bytes(name, 0, described.size * each));
  // The file may end where nothing was read any more.
  const auto count = static_cast<int64_t>(text.size()) / each;
  text.resize(static_cast<size_t>(count * each));
  Values values =
      InDoubles(described.dtype, runtime_check::DecodedValues({described.dtype, {count}}, text));
  return &storages_.emplace(storage, std::move(values)).first->second;
}

absl::StatusOr<Values> RecordedValues::Before(const frontend::RecordedView& view) {
  PLAN_ASSIGN_OR_RETURN(const Values* storage, Storage(view.storage));
  Values values = Values::Zeros(view.shape, view.dtype, sdfg::DType::kFloat64);
  std::vector<int64_t> index(view.shape.size(), 0);
  const int64_t count = CountOf(view.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = view.offset;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * view.strides[d];
    if (at >= storage->size()) {
      return Damaged(absl::StrCat("storage_", view.storage),
                     absl::StrCat("element ", at, " is not there"));
    }
    values.Copy(i, *storage, at);
    runtime_check::Advance(view.shape, &index);
  }
  return values;
}

absl::StatusOr<Values> RecordedValues::Before(int32_t storage, int64_t begin, int64_t count) {
  return Before({storage, program_->storages[storage].dtype, begin, {count}, {1}});
}

absl::StatusOr<Values> RecordedValues::Result(int32_t number) {
  const frontend::RecordedResult& result = program_->results[number];
  return Contiguous(absl::StrCat("result_", number), result.dtype, result.shape);
}

bool RecordedValues::HasHeld(int32_t number) const {
  return file_->tensors().count(absl::StrCat("held_", number)) != 0;
}

absl::StatusOr<Values> RecordedValues::Held(int32_t number) {
  const frontend::RecordedView& view = program_->inputs[number].view;
  return Contiguous(absl::StrCat("held_", number), view.dtype, view.shape);
}

absl::StatusOr<std::vector<bool>> RecordedValues::MadeLater() {
  std::vector<bool> made_later(program_->inputs.size(), false);
  const auto found = file_->tensors().find("made_later");
  if (found == file_->tensors().end()) return made_later;
  if (found->second.dtype != sdfg::DType::kInt64 || found->second.shape.size() != 1) {
    return Damaged("made_later", "integers of one dimension are expected");
  }
  PLAN_ASSIGN_OR_RETURN(const std::string bytes, file_->Read("made_later"));
  for (size_t at = 0; at + sizeof(int64_t) <= bytes.size(); at += sizeof(int64_t)) {
    int64_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    const bool state = number >= 0 && number < static_cast<int64_t>(made_later.size()) &&
                       program_->inputs[number].role == frontend::RecordedRole::kState;
    if (!state) return Damaged("made_later", absl::StrCat("input ", number, " is no state"));
    made_later[number] = true;
  }
  return made_later;
}

absl::StatusOr<std::vector<RecordedValues::Sketch>> RecordedValues::Sketches() {
  std::vector<Sketch> sketches;
  const auto places = file_->tensors().find("sketch_places");
  const auto numbers = file_->tensors().find("sketches");
  if (places == file_->tensors().end() || numbers == file_->tensors().end()) return sketches;
  const sdfg::Shape& shape = places->second.shape;
  if (places->second.dtype != sdfg::DType::kInt64 || shape.size() != 2 || shape[1] != 2 ||
      numbers->second.dtype != sdfg::DType::kFloat64 ||
      numbers->second.shape != sdfg::Shape{shape[0], 5}) {
    return Damaged("sketches", "[n, 5] doubles, and [n, 2] integers as their places, are expected");
  }
  PLAN_ASSIGN_OR_RETURN(const std::string where, file_->Read("sketch_places"));
  PLAN_ASSIGN_OR_RETURN(const std::string what, file_->Read("sketches"));
  sketches.resize(shape[0]);
  for (int64_t i = 0; i < shape[0]; ++i) {
    std::array<int64_t, 2> place = {};
    std::memcpy(place.data(), where.data() + i * sizeof(place), sizeof(place));
    Sketch& sketch = sketches[i];
    std::memcpy(sketch.numbers.data(), what.data() + i * sizeof(sketch.numbers),
                sizeof(sketch.numbers));
    if (place[0] < 0 || place[0] >= static_cast<int64_t>(program_->operators.size()) ||
        place[1] < 0 || place[1] > INT32_MAX) {
      return Damaged("sketch_places", absl::StrCat("there is no operator ", place[0]));
    }
    sketch.position = static_cast<int32_t>(place[0]);
    sketch.number = static_cast<int32_t>(place[1]);
  }
  return sketches;
}

absl::StatusOr<std::optional<std::array<double, 4>>> RecordedValues::HeldSketch(int32_t number) {
  const std::string name = absl::StrCat("held_sketch_", number);
  const auto found = file_->tensors().find(name);
  if (found == file_->tensors().end()) return std::nullopt;
  std::array<double, 4> sketch = {};
  if (found->second.dtype != sdfg::DType::kFloat64 || found->second.shape != sdfg::Shape{4}) {
    return Damaged(name, "four doubles are expected");
  }
  PLAN_ASSIGN_OR_RETURN(const std::string bytes, file_->Read(name));
  std::memcpy(sketch.data(), bytes.data(), sizeof(sketch));
  return sketch;
}

}  // namespace planproof::anchor
