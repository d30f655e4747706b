// Reads the recorded numbers of one program: the file NAME.values.npz beside NAME.trace.
//
// The format is in docs/torch-trace.md. A trace of version 2 names the SHA-256 of its file, so that
// values of another run cannot stand in; version 1 names none, and sizes are all that binds them.
// Numbers are given as the executor has them in float64: whole numbers as such, all others as
// doubles (runtime_check/values.h).
#ifndef PLANPROOF_ANCHOR_RECORDED_VALUES_H_
#define PLANPROOF_ANCHOR_RECORDED_VALUES_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "dumps/tensor_file.h"
#include "frontend/recording.h"
#include "runtime_check/values.h"

namespace planproof::anchor {

// The most bytes that one program's values may have in memory, as they are in the file.
inline constexpr int64_t kMostValueBytes = int64_t{1} << 30;

// Reads the file of values of one program.
class RecordedValues {
 public:
  // Opens the file of a program, which outlives it. Errors are one line with the file and what to
  // do:
  //   NotFound            there is no file, or the trace names none
  //   ResourceExhausted   it is beyond a limit
  //   InvalidArgument     it is damaged, or not that of the trace
  static absl::StatusOr<RecordedValues> Open(const frontend::RecordedProgram& program);

  // Returns what a storage held before the step, as far as the view reads it. NotFound if that was
  // not recorded; InvalidArgument for bytes that do not fit.
  absl::StatusOr<runtime_check::Values> Before(const frontend::RecordedView& view);
  // Returns elements of one dimension from `begin` on.
  absl::StatusOr<runtime_check::Values> Before(int32_t storage, int64_t begin, int64_t count);
  // Returns what a result was, by its number.
  absl::StatusOr<runtime_check::Values> Result(int32_t number);
  // Return whether it was recorded in full what an input was before the warm-up, and what it was.
  bool HasHeld(int32_t number) const;
  absl::StatusOr<runtime_check::Values> Held(int32_t number);
  // Returns, by input, whether it is a state that is known not to have existed before the warm-up.
  absl::StatusOr<std::vector<bool>> MadeLater();

  // One result of an operator: the root of the sum of its squares, and four signed sums
  // (docs/torch-trace.md).
  struct Sketch {
    int32_t position = 0, number = 0;  // of the operator, and among the tensors that it gave
    std::array<double, 5> numbers = {};
  };
  // Returns all sketches of results; empty if none were recorded.
  absl::StatusOr<std::vector<Sketch>> Sketches();
  // Returns the sketch of an input that is too large for its values.
  absl::StatusOr<std::optional<std::array<double, 4>>> HeldSketch(int32_t number);

 private:
  RecordedValues(const frontend::RecordedProgram& program, std::string path,
                 std::unique_ptr<dumps::TensorFile> file)
      : program_(&program), path_(std::move(path)), file_(std::move(file)) {}

  // Returns the bytes of an array of plain bytes.
  absl::StatusOr<std::string> Bytes(const std::string& name, int64_t least, int64_t most);
  absl::StatusOr<runtime_check::Values> Contiguous(const std::string& name, sdfg::DType dtype,
                                                   const sdfg::Shape& shape);
  absl::StatusOr<const runtime_check::Values*> Storage(int32_t storage);
  absl::Status Damaged(const std::string& name, const std::string& what) const;

  const frontend::RecordedProgram* program_;
  std::string path_;
  std::unique_ptr<dumps::TensorFile> file_;
  std::map<int32_t, runtime_check::Values> storages_;
};

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_RECORDED_VALUES_H_
