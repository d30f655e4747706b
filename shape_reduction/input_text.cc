#include "shape_reduction/input_text.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace planproof::shape_reduction {
namespace {

constexpr int64_t kMaxElements = 16;
constexpr int64_t kMaxBlocks = 4;
constexpr size_t kInputsInFull = 16;

std::string Number(const BlockTensor<double>& tensor, int64_t block) {
  if (tensor.int_valued) return std::to_string(tensor.ints[block]);
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.6g", tensor.values[block]);
  return buffer;
}

// All elements, as nested lists.
std::string Elements(const BlockTensor<double>& tensor) {
  std::vector<int64_t> index(tensor.dims.size(), 0);
  const std::function<std::string(size_t)> list = [&](size_t d) -> std::string {
    if (d == tensor.dims.size()) return Number(tensor, tensor.Offset(index));
    std::string text = "[";
    for (index[d] = 0; index[d] < tensor.dims[d]->extent(); ++index[d]) {
      if (index[d] > 0) text += ", ";
      text += list(d + 1);
    }
    index[d] = 0;
    return text + "]";
  };
  return list(0);
}

// "[0:2, :]", or "" if the block is no box of intervals.
std::string BoxOf(const BlockTensor<double>& tensor, int64_t block) {
  std::string text;
  for (size_t d = tensor.dims.size(); d-- > 0;) {
    const DimPartition& dim = *tensor.dims[d];
    const int64_t at = block % dim.blocks();
    block /= dim.blocks();
    const int64_t first = dim.Representatives()[at], last = dim.Lasts()[at];
    if (last - first + 1 != dim.Weights()[at]) return "";
    std::string part = ":";
    if (dim.blocks() > 1) {
      part = std::to_string(first);
      if (first != last) part += ":" + std::to_string(last + 1);
    }
    text = part + (text.empty() ? "" : ", ") + text;
  }
  return "[" + text + "]";
}

}  // namespace

std::string DescribeInput(const std::string& name, const BlockTensor<double>& tensor,
                          size_t max_values) {
  std::string text = name + " [";
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    text += (d == 0 ? "" : " ; ") + tensor.dims[d]->ToString();
  }
  text += "]:";
  const size_t count = tensor.int_valued ? tensor.ints.size() : tensor.values.size();
  for (size_t k = 0; k < std::min(count, max_values); ++k) {
    if (tensor.int_valued) {
      text += " " + std::to_string(tensor.ints[k]);
    } else {
      char buffer[32];
      std::snprintf(buffer, sizeof(buffer), " %.17g", tensor.values[k]);
      text += buffer;
    }
  }
  if (count > max_values) text += " ... (" + std::to_string(count) + " blocks)";
  return text;
}

std::vector<std::string> DescribeInputs(const lineage::Problem& problem,
                                        const std::vector<BlockTensorPtr<double>>& inputs,
                                        size_t max_values) {
  std::vector<std::string> texts;
  size_t values = 0, others = 0;
  for (size_t id = 0; id < inputs.size(); ++id) {
    if (inputs[id] == nullptr) continue;
    if (values >= kInputsInFull * max_values) {
      ++others;
      continue;
    }
    texts.push_back(DescribeInput(problem.logical.tensors[id].name, *inputs[id], max_values));
    values += std::min<size_t>(inputs[id]->Blocks(), max_values);
  }
  if (others > 0) texts.push_back("and " + std::to_string(others) + " more inputs");
  return texts;
}

std::string WriteOut(const std::string& name, const BlockTensor<double>& tensor) {
  const int64_t blocks = tensor.Blocks();
  if (blocks == 0) return name + " is empty";
  if (blocks == 1) return name + " = " + Number(tensor, 0);
  int64_t elements = 1;
  for (const PartitionPtr& dim : tensor.dims) {
    elements = std::min(elements, kMaxElements + 1) * std::min(dim->extent(), kMaxElements + 1);
  }
  if (elements <= kMaxElements) return name + " = " + Elements(tensor);
  std::string text = name + " = ";
  for (int64_t block = 0; block < std::min(blocks, kMaxBlocks + 1); ++block) {
    const std::string box = BoxOf(tensor, block);
    if (block == kMaxBlocks || box.empty())
      return name + " in " + std::to_string(blocks) + " blocks of equal values";
    text += (block == 0 ? "" : ", ") + Number(tensor, block) + " in " + box;
  }
  return text;
}

}  // namespace planproof::shape_reduction
