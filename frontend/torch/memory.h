// Represents what the storages of one rank hold, as tensors of a graph in which nothing is
// overwritten.
//
// A storage is a sequence of pieces, each the elements of one tensor of the graph that lie where
// some operator wrote them. A view is read from the piece in which it lies (strided.h); where it
// spans several, these are joined first. A write replaces the pieces that it covers. So a write
// makes new tensors and never changes one, and a view that was taken before the write reads what
// was written, as in PyTorch.
//
// Memory that nobody wrote holds something that is equal to nothing else: an uninterpreted function
// of its place. A proof cannot rest on it. Memory that no operator allocated, and that holds
// nothing by the trace, is not read: InvalidArgument.
//
// While a collective is under way, what it writes may not be read or written, and what it reads may
// not be written.
#ifndef PLANPROOF_FRONTEND_TORCH_MEMORY_H_
#define PLANPROOF_FRONTEND_TORCH_MEMORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torch/graph_writer.h"
#include "frontend/torch/strided.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// The view of its storage that a tensor is.
Strided ViewOf(const Tensor& tensor);

class Memory {
 public:
  // What a storage says to hold, by values or digest, as a tensor of one dimension that the model
  // has, too. kNone: it has none.
  using Constant = std::function<absl::StatusOr<sdfg::TensorId>(StorageId)>;

  Memory(const Trace& trace, GraphWriter* writer, Constant constant);

  // The elements of the tensor now, in its shape; a complex one has a last dimension of 2.
  absl::StatusOr<sdfg::TensorId> Read(const Tensor& tensor);
  // The number that all elements of the tensor are, if that is known without a computation.
  std::optional<KnownNumber> UniformValue(const Tensor& tensor) const;
  // `value` has the tensor's shape.
  absl::Status Write(const Tensor& tensor, sdfg::TensorId value);
  // The number has the tensor's type.
  absl::Status Fill(const Tensor& tensor, const KnownNumber& number);
  // Whether something was written where the tensor lies, or is there from the start.
  bool HoldsAnyOf(const Tensor& tensor) const;

  // The tensor of the graph whose elements are those of `tensor` now, index by index; kNone: what
  // is there has another shape or layout, or is no tensor.
  sdfg::TensorId HeldAs(const Tensor& tensor) const;
  // What was read before anybody wrote it: tensors of one dimension, with their storage and the
  // first element.
  struct Unwritten {
    sdfg::TensorId tensor = sdfg::kNone;
    StorageId storage = 0;
    int64_t begin = 0;
  };
  const std::vector<Unwritten>& unwritten() const { return unwritten_; }
  // An operator allocated the storage: it may be read, whatever it holds.
  void Allocate(StorageId storage) { allocated_[storage] = true; }

  // Whether nobody wrote any element of the tensor's range, and none is there from the start.
  absl::StatusOr<bool> IsUnwritten(const Tensor& tensor);

  // The tensors that storages were at the start, as far as these were looked at and say by values
  // or digest what they hold.
  const std::map<StorageId, sdfg::TensorId>& constants() const { return constants_; }

  // A collective that was started reads and writes these until Finish(work).
  absl::Status Start(int64_t work, const std::vector<TensorNumber>& reads,
                     const std::vector<TensorNumber>& writes);
  void Finish(int64_t work) { under_way_.erase(work); }

 private:
  // Elements [begin, end) of a storage, begin being the key: those of `tensor`, which lies densely
  // as `layout` says, or one number.
  struct Piece {
    int64_t end = 0;
    sdfg::TensorId tensor = sdfg::kNone;
    Strided layout;
    std::optional<KnownNumber> uniform;
  };
  using Pieces = std::map<int64_t, Piece>;
  struct Range {
    StorageId storage = 0;
    int64_t begin = 0, end = 0;
    bool written = false;
  };

  absl::Status Materialise(StorageId storage);
  absl::StatusOr<sdfg::TensorId> ReadPiece(const Piece& piece, const Strided& view,
                                           sdfg::DType dtype);
  // Elements [begin, end) as a tensor of one dimension.
  absl::StatusOr<sdfg::TensorId> Join(StorageId storage, int64_t begin, int64_t end);
  absl::StatusOr<sdfg::TensorId> Uninitialised(StorageId storage, int64_t begin, int64_t end);
  const Piece* PieceAround(StorageId storage, const Strided& view) const;
  void Replace(StorageId storage, int64_t begin, Piece piece);
  absl::Status CheckUnderWay(const Tensor& tensor, bool write) const;
  absl::StatusOr<sdfg::TensorId> Marked(const Tensor& tensor, sdfg::TensorId value);

  const Trace& trace_;
  GraphWriter* writer_;
  Constant constant_;
  std::vector<Pieces> pieces_;
  std::vector<bool> materialised_, allocated_;
  std::map<StorageId, sdfg::TensorId> constants_;
  // What was read since the last write, by storage.
  std::vector<std::vector<std::pair<Strided, sdfg::TensorId>>> read_;
  std::map<int64_t, std::vector<Range>> under_way_;
  std::vector<Unwritten> unwritten_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_MEMORY_H_
