#include "frontend/torch/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/listed_constant.h"
#include "frontend/torch/rounded_number.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// The view of a piece whose layout begins at 0, so that equal views have one function.
Strided Relative(const Strided& view, int64_t origin) {
  Strided relative = view;
  relative.offset -= origin;
  return relative;
}

// What a constant in single precision is meant to be.
KnownNumber AsMeant(const Storage& storage, GraphWriter* writer) {
  const KnownNumber held{*storage.uniform, storage.dtype, 0};
  if (storage.dtype != sdfg::DType::kFloat32) return held;
  const std::optional<double> decimal = DecimalOfFloat32(*storage.uniform);
  if (!decimal) return held;
  writer->Assume(absl::StrFormat("the number %.9g in single precision stands for %.17g",
                                 storage.uniform->ToDouble(), *decimal));
  const solver::Rational meant = solver::Rational::FromDouble(*decimal);
  return {meant, storage.dtype, 1.001 * std::abs((meant - *storage.uniform).ToDouble())};
}

}  // namespace

Strided ViewOf(const Tensor& tensor) { return {tensor.offset, tensor.shape, tensor.strides}; }

Memory::Memory(const Trace& trace, GraphWriter* writer, Constant constant)
    : trace_(trace),
      writer_(writer),
      constant_(std::move(constant)),
      pieces_(trace.storages.size()),
      materialised_(trace.storages.size()),
      allocated_(trace.storages.size()),
      read_(trace.storages.size()) {
  for (size_t s = 0; s < trace.storages.size(); ++s) {
    const Storage& storage = trace.storages[s];
    if (storage.uniform && storage.size > 0) {
      pieces_[s][0] = {storage.size, sdfg::kNone, {}, AsMeant(storage, writer)};
    }
  }
}

// Constants become tensors when they are first looked at.
absl::Status Memory::Materialise(StorageId id) {
  if (materialised_[id]) return absl::OkStatus();
  materialised_[id] = true;
  const Storage& storage = trace_.storages[id];
  if (storage.size == 0 || !pieces_[id].empty()) return absl::OkStatus();
  Piece piece{storage.size, sdfg::kNone, Contiguous(0, {storage.size}), std::nullopt};
  const bool listed = !storage.values.empty() || !storage.minus_infinity.empty();
  if (!listed && storage.digest.empty()) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(piece.tensor, constant_(id));
  if (piece.tensor == sdfg::kNone) {
    PLAN_ASSIGN_OR_RETURN(piece.tensor, ListConstant(writer_, storage));
  }
  constants_[id] = piece.tensor;
  pieces_[id][0] = std::move(piece);
  return absl::OkStatus();
}

absl::Status Memory::CheckUnderWay(const Tensor& tensor, bool write) const {
  if (under_way_.empty()) return absl::OkStatus();
  const Strided view = ViewOf(tensor);
  for (const auto& [work, ranges] : under_way_) {
    for (const Range& range : ranges) {
      if (range.storage != tensor.storage || !(write || range.written)) continue;
      if (view.end() <= range.begin || view.offset >= range.end) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(writer_->Place(), ": ", write ? "writes" : "reads",
                       " memory that a collective under way ", range.written ? "writes" : "reads",
                       "; wait for it before"));
    }
  }
  return absl::OkStatus();
}

absl::Status Memory::Start(int64_t work, const std::vector<TensorNumber>& reads,
                           const std::vector<TensorNumber>& writes) {
  std::vector<Range>& ranges = under_way_[work];
  for (const bool written : {false, true}) {
    for (TensorNumber number : written ? writes : reads) {
      const Strided view = ViewOf(trace_.tensors[number]);
      ranges.push_back({trace_.tensors[number].storage, view.offset, view.end(), written});
    }
  }
  return absl::OkStatus();
}

const Memory::Piece* Memory::PieceAround(StorageId storage, const Strided& view) const {
  const Pieces& pieces = pieces_[storage];
  auto after = pieces.upper_bound(view.offset);
  if (after == pieces.begin()) return nullptr;
  const Piece& piece = std::prev(after)->second;
  return piece.end >= view.end() && piece.end > view.offset ? &piece : nullptr;
}

bool Memory::HoldsAnyOf(const Tensor& tensor) const {
  const Strided view = ViewOf(tensor);
  const Pieces& pieces = pieces_[tensor.storage];
  auto next = pieces.upper_bound(view.offset);
  if (next != pieces.begin() && std::prev(next)->second.end > view.offset) return !view.empty();
  return next != pieces.end() && next->first < view.end();
}

absl::StatusOr<bool> Memory::IsUnwritten(const Tensor& tensor) {
  PLAN_RETURN_IF_ERROR(CheckUnderWay(tensor, false));
  PLAN_RETURN_IF_ERROR(Materialise(tensor.storage));
  return !ViewOf(tensor).empty() && !HoldsAnyOf(tensor);
}

absl::StatusOr<sdfg::TensorId> Memory::ReadPiece(const Piece& piece, const Strided& view,
                                                 sdfg::DType dtype) {
  if (piece.uniform) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId filled,
                          writer_->Fill(view.shape, dtype, piece.uniform->value));
    if (piece.uniform->error > 0) writer_->NoteError(filled, piece.uniform->error);
    return filled;
  }
  return writer_->View(piece.tensor, piece.layout, view);
}

absl::StatusOr<sdfg::TensorId> Memory::Uninitialised(StorageId storage, int64_t begin,
                                                     int64_t end) {
  if (pieces_[storage].empty() && !allocated_[storage]) {
    return absl::InvalidArgumentError(
        absl::StrCat(writer_->Place(), ": reads memory (storage ", storage,
                     ") that no operator allocated, and that holds nothing by the trace; record "
                     "again"));
  }
  const sdfg::DType dtype = trace_.storages[storage].dtype;
  const std::string name = absl::StrCat("uninitialised memory ", storage, "+", begin, " of ",
                                        writer_->device() < 0 ? "the reference" : "rank ",
                                        writer_->device() < 0 ? 0 : writer_->device());
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId tensor,
      writer_->Emit(
          "uninitialised", absl::StrCat(name, " ", end),
          [&]() -> absl::StatusOr<sdfg::IndexFunction> {
            sdfg::IndexFunctionBuilder builder("uninitialised");
            const int output = builder.AddOutput("y", sdfg::Shape{end - begin}, dtype);
            builder.SetBody(output, builder.Opaque(name, sdfg::IsInteger(dtype), -1,
                                                   {builder.Index(builder.OutputDims(output)[0])}));
            sdfg::IndexFunction function;
            PLAN_RETURN_IF_ERROR(builder.Finish(&function));
            return function;
          },
          {}, sdfg::OperatorKind::kUninitialised));
  unwritten_.push_back({tensor, storage, begin});
  return tensor;
}

absl::StatusOr<sdfg::TensorId> Memory::Join(StorageId storage, int64_t begin, int64_t end) {
  const sdfg::DType dtype = trace_.storages[storage].dtype;
  std::vector<Argument> parts;
  int64_t at = begin;
  auto next = pieces_[storage].upper_bound(begin);
  if (next != pieces_[storage].begin() && std::prev(next)->second.end > begin) --next;
  while (at < end) {
    const bool gap = next == pieces_[storage].end() || next->first > at;
    const int64_t stop = std::min(end, !gap                             ? next->second.end
                                       : next == pieces_[storage].end() ? end
                                                                        : next->first);
    sdfg::TensorId part = sdfg::kNone;
    if (gap) {
      PLAN_ASSIGN_OR_RETURN(part, Uninitialised(storage, at, stop));
    } else {
      PLAN_ASSIGN_OR_RETURN(part, ReadPiece(next->second, Contiguous(at, {stop - at}), dtype));
      ++next;
    }
    parts.push_back(Argument::Of(part));
    at = stop;
  }
  if (parts.size() == 1) return parts[0].tensor;
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> joined,
                        writer_->Apply("concat", parts, {{"dim", int64_t{0}}}));
  return joined[0];
}

// Conjugate and negative bits; each is its own inverse.
absl::StatusOr<sdfg::TensorId> Memory::Marked(const Tensor& tensor, sdfg::TensorId value) {
  for (const auto& [marked, name] :
       {std::pair(tensor.conjugate, "aten_conj_physical"), std::pair(tensor.negative, "neg")}) {
    if (!marked) continue;
    PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                          writer_->Apply(name, {Argument::Of(value)}));
    value = out[0];
  }
  return value;
}

absl::StatusOr<sdfg::TensorId> Memory::Read(const Tensor& tensor) {
  PLAN_RETURN_IF_ERROR(CheckUnderWay(tensor, false));
  PLAN_RETURN_IF_ERROR(Materialise(tensor.storage));
  const Strided view = ViewOf(tensor);
  sdfg::TensorId value = sdfg::kNone;
  for (const auto& [known, result] : read_[tensor.storage]) {
    if (known == view) value = result;
  }
  if (value == sdfg::kNone) {
    if (view.empty()) {
      PLAN_ASSIGN_OR_RETURN(value, writer_->Fill(view.shape, tensor.dtype, 0));
    } else if (const Piece* piece = PieceAround(tensor.storage, view); piece != nullptr) {
      PLAN_ASSIGN_OR_RETURN(value, ReadPiece(*piece, view, tensor.dtype));
    } else {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId joined,
                            Join(tensor.storage, view.offset, view.end()));
      const Piece whole{view.end(), joined, Contiguous(view.offset, {view.end() - view.offset}),
                        std::nullopt};
      PLAN_ASSIGN_OR_RETURN(value, ReadPiece(whole, view, tensor.dtype));
    }
    read_[tensor.storage].emplace_back(view, value);
  }
  return Marked(tensor, value);
}

sdfg::TensorId Memory::HeldAs(const Tensor& tensor) const {
  if (tensor.conjugate || tensor.negative) return sdfg::kNone;
  const Strided view = ViewOf(tensor);
  const Piece* piece = view.empty() ? nullptr : PieceAround(tensor.storage, view);
  if (piece == nullptr || piece->uniform || !(piece->layout == view)) return sdfg::kNone;
  return piece->tensor;
}

std::optional<KnownNumber> Memory::UniformValue(const Tensor& tensor) const {
  const Strided view = ViewOf(tensor);
  if (view.empty() || tensor.conjugate || tensor.negative) return std::nullopt;
  const Piece* piece = PieceAround(tensor.storage, view);
  if (piece != nullptr) return piece->uniform;
  const Storage& storage = trace_.storages[tensor.storage];
  if (!pieces_[tensor.storage].empty() || storage.values.size() != 1 || storage.minus_infinity[0]) {
    return std::nullopt;
  }
  return KnownNumber{storage.values[0], tensor.dtype, 0};
}

void Memory::Replace(StorageId storage, int64_t begin, Piece piece) {
  Pieces& pieces = pieces_[storage];
  read_[storage].clear();
  auto first = pieces.upper_bound(begin);
  if (first != pieces.begin()) --first;
  while (first != pieces.end() && first->first < piece.end) {
    Piece old = first->second;
    const int64_t old_begin = first->first;
    if (old.end <= begin) {
      ++first;
      continue;
    }
    first = pieces.erase(first);
    if (old.end > piece.end) pieces[piece.end] = old;
    if (old_begin < begin) {
      old.end = begin;
      pieces[old_begin] = old;
    }
  }
  pieces[begin] = std::move(piece);
}

absl::Status Memory::Write(const Tensor& tensor, sdfg::TensorId value) {
  PLAN_RETURN_IF_ERROR(CheckUnderWay(tensor, true));
  const Strided view = ViewOf(tensor);
  if (view.empty()) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(value, Marked(tensor, value));
  PLAN_RETURN_IF_ERROR(Materialise(tensor.storage));
  allocated_[tensor.storage] = true;  // what lies between the elements may be read
  if (IsDense(view)) {
    Replace(tensor.storage, view.offset, {view.end(), value, view, std::nullopt});
    return absl::OkStatus();
  }
  const Piece* around = PieceAround(tensor.storage, view);
  int64_t begin = view.offset;
  Piece piece;
  if (around != nullptr && !around->uniform) {
    piece = *around;
    begin = std::prev(pieces_[tensor.storage].upper_bound(view.offset))->first;
  } else {
    PLAN_ASSIGN_OR_RETURN(piece.tensor, Join(tensor.storage, begin, view.end()));
    piece.end = view.end();
    piece.layout = Contiguous(begin, {view.end() - begin});
  }
  const Strided source = Relative(piece.layout, piece.layout.offset);
  const Strided relative = Relative(view, piece.layout.offset);
  const std::string key =
      absl::StrCat("update ", sdfg::DTypeName(tensor.dtype), TextOf(source), TextOf(relative));
  PLAN_ASSIGN_OR_RETURN(
      piece.tensor,
      writer_->Emit("update", key, [&] { return UpdateFunction(source, relative, tensor.dtype); },
                    {piece.tensor, value}));
  Replace(tensor.storage, begin, std::move(piece));
  return absl::OkStatus();
}

absl::Status Memory::Fill(const Tensor& tensor, const KnownNumber& number) {
  PLAN_RETURN_IF_ERROR(CheckUnderWay(tensor, true));
  const Strided view = ViewOf(tensor);
  if (view.empty()) return absl::OkStatus();
  PLAN_RETURN_IF_ERROR(Materialise(tensor.storage));
  if (IsDense(view) && !tensor.conjugate && !tensor.negative) {
    Replace(tensor.storage, view.offset, {view.end(), sdfg::kNone, {}, number});
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId filled,
                        writer_->Fill(view.shape, tensor.dtype, number.value));
  return Write(tensor, filled);
}

}  // namespace planproof::frontend::torch
