// The copies in and out of flat buffers that FSDP2 makes around its collectives.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// The part that is written is the rank's of the output, and its pieces are as large as the tensors:
// the arguments say again what the trace says of memory. InvalidArgument if they say something
// else.
absl::Status CheckCopyIn(AtenCall& call, const std::vector<sdfg::TensorId>& tensors) {
  const Tensor &output = call.Described("all_gather_output"), &part = call.target(0);
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, call.Integers("inp_split_sizes"));
  PLAN_ASSIGN_OR_RETURN(const int64_t elements,
                        call.Integer("all_gather_input_numel", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(const int64_t rank, call.Integer("rank", std::nullopt));
  bool fits = sizes.size() == tensors.size() && ElementsOf(part.shape) == elements &&
              part.storage == output.storage && rank >= 0 && elements > 0 &&
              (part.offset - output.offset) % elements == 0 &&
              (part.offset - output.offset) / elements == rank;
  for (size_t i = 0; fits && i < tensors.size(); ++i) {
    fits = ElementsOf(call.writer().tensor(tensors[i]).shape) == sizes[i];
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(call.writer().Place(), ": sizes or rank are not those of the part of ",
                   "all_gather_output that is written; record again"));
}

// Tensors one after another, each in row-major order.
absl::Status CopyIn(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> tensors,
                        call.Tensors("all_gather_inputs"));
  PLAN_RETURN_IF_ERROR(CheckCopyIn(call, tensors));
  std::vector<Argument> parts;
  for (sdfg::TensorId tensor : tensors) {
    const int64_t elements = ElementsOf(call.writer().tensor(tensor).shape);
    if (elements == 0) continue;
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId row, call.writer().Reshape(tensor, {elements}));
    parts.push_back(Argument::Of(row));
  }
  if (parts.size() == 1) {
    call.Return(parts[0]);
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument joined, call.One("concat", parts, {{"dim", int64_t{0}}}));
  call.Return(std::move(joined));
  return absl::OkStatus();
}

absl::Status SplitOut(AtenCall& call, const char* of, const char* split_sizes) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId whole, call.TensorOf(of));
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, call.Integers(split_sizes));
  PLAN_ASSIGN_OR_RETURN(const int64_t given, call.Integer("dim", 0));
  const Strided source = Contiguous(0, call.writer().tensor(whole).shape);
  const std::optional<int64_t> dim = DimensionOf(given, source.shape.size());
  if (!dim || source.shape.empty()) return call.NotDeclared("this dimension");
  int64_t start = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > source.shape[*dim] - start) break;
    PLAN_ASSIGN_OR_RETURN(
        const sdfg::TensorId cut,
        call.writer().View(whole, source, *Sliced(source, *dim, start, start + size, 1)));
    call.Return(Argument::Of(cut));
    start += size;
  }
  if (start == source.shape[*dim]) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(call.writer().Place(),
                                                 ": the sizes do not add up to the dimension, ",
                                                 source.shape[*dim], "; record again"));
}

// Each tensor is filled up with zeros to a multiple of `num_chunks` along dimension 0 and cut into
// as many chunks; chunk c of all tensors, one after another, is row c.
absl::Status ChunkCat(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> tensors, call.Tensors("tensors"));
  PLAN_ASSIGN_OR_RETURN(const int64_t dim, call.Integer("dim", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t chunks, call.Integer("num_chunks", std::nullopt));
  if (dim != 0 || chunks < 1) return call.NotDeclared("chunks along another dimension");
  std::vector<Argument> parts;
  for (sdfg::TensorId tensor : tensors) {
    const sdfg::Shape shape = call.writer().tensor(tensor).shape;
    const sdfg::DType dtype = call.writer().tensor(tensor).dtype;
    const int64_t elements = ElementsOf(shape);
    if (shape.empty() || elements == 0) return call.NotDeclared("an empty tensor");
    const int64_t rows = (shape[0] + chunks - 1) / chunks * chunks;
    const int64_t missing = (rows - shape[0]) * (elements / shape[0]);
    PLAN_ASSIGN_OR_RETURN(sdfg::TensorId row, call.writer().Reshape(tensor, {elements}));
    if (missing > 0) {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId zeros, call.writer().Fill({missing}, dtype, 0));
      PLAN_ASSIGN_OR_RETURN(
          const Argument padded,
          call.One("concat", {Argument::Of(row), Argument::Of(zeros)}, {{"dim", int64_t{0}}}));
      row = padded.tensor;
    }
    PLAN_ASSIGN_OR_RETURN(row, call.writer().Reshape(row, {chunks, (elements + missing) / chunks}));
    parts.push_back(Argument::Of(row));
  }
  if (parts.size() == 1) {
    call.Return(parts[0]);
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument joined, call.One("concat", parts, {{"dim", int64_t{1}}}));
  call.Return(std::move(joined));
  return absl::OkStatus();
}

}  // namespace

void AddFullySharded(AtenTable* table) {
  table->Add("fsdp.all_gather_copy_in", "default",
             "all_gather_inputs all_gather_output inp_split_sizes all_gather_input_numel rank",
             CopyIn);
  table->Add("fsdp.split_with_sizes_copy", "default",
             "all_gather_output all_gather_input_split_sizes dim", [](AtenCall& call) {
               return SplitOut(call, "all_gather_output", "all_gather_input_split_sizes");
             });
  table->Add("split_with_sizes_copy", kNew, "self split_sizes dim",
             [](AtenCall& call) { return SplitOut(call, "self", "split_sizes"); });
  table->Add("fsdp.chunk_cat_mixed_dtype fsdp.chunk_cat", "default", "tensors dim num_chunks",
             ChunkCat);
  table->Add("_chunk_cat", kNew, "tensors dim num_chunks", ChunkCat);
}

}  // namespace planproof::frontend::torch
