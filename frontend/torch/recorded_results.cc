#include "frontend/torch/recorded_results.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/torch/recorded_types.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/declaration_shapes.h"

namespace planproof::frontend::torch {
namespace {

// What a rule reads of a call.
class CallArguments {
 public:
  CallArguments(const Trace& trace, const Executed& executed, const AtenSchema& schema)
      : trace_(trace) {
    for (size_t i = 0; i < executed.args.size() && i < schema.parameters.size(); ++i) {
      values_[schema.parameters[i].name] = &executed.args[i];
    }
    for (const auto& [name, value] : executed.kwargs) values_[name] = &value;
  }
  const Value* Find(std::string_view name) const {
    const auto found = values_.find(name);
    const bool given = found != values_.end() && found->second->kind != Value::Kind::kNone;
    return given ? found->second : nullptr;
  }
  const Tensor* TensorAt(std::string_view name) const {
    const Value* value = Find(name);
    if (value == nullptr || value->kind != Value::Kind::kTensor) return nullptr;
    return &trace_.tensors[value->tensor];
  }
  std::vector<const Tensor*> Tensors(std::string_view name) const {
    std::vector<const Tensor*> tensors;
    const Value* value = Find(name);
    if (value == nullptr) return tensors;
    for (const TensorNumber number : TensorsIn(*value)) tensors.push_back(&trace_.tensors[number]);
    return tensors;
  }
  // Nothing if it is no integer, or no list of them.
  std::optional<std::vector<int64_t>> Integers(std::string_view name) const {
    const Value* value = Find(name);
    if (value == nullptr) return std::nullopt;
    if (value->kind == Value::Kind::kInteger) return std::vector<int64_t>{value->integer};
    if (value->kind != Value::Kind::kList) return std::nullopt;
    std::vector<int64_t> numbers;
    for (const Value& number : value->list) {
      if (number.kind != Value::Kind::kInteger) return std::nullopt;
      numbers.push_back(number.integer);
    }
    return numbers;
  }
  bool IsTrue(std::string_view name) const {
    const Value* value = Find(name);
    return value != nullptr && !value->real.IsZero();
  }
  // All tensors that stand as arguments by themselves.
  std::vector<const Tensor*> Operands() const {
    std::vector<const Tensor*> tensors;
    for (const auto& [name, value] : values_) {
      if (value->kind == Value::Kind::kTensor) tensors.push_back(&trace_.tensors[value->tensor]);
    }
    return tensors;
  }

 private:
  const Trace& trace_;
  std::map<std::string, const Value*, std::less<>> values_;
};

// The shape of the first result. Nothing: the arguments do not say.
using Rule = std::function<std::optional<sdfg::Shape>(const CallArguments&)>;

std::optional<sdfg::Shape> OfSize(const CallArguments& args) { return args.Integers("size"); }

std::optional<sdfg::Shape> OfSelf(const CallArguments& args) {
  const Tensor* self = args.TensorAt("self");
  if (self == nullptr) return std::nullopt;
  return self->shape;
}

std::optional<sdfg::Shape> OfIndex(const CallArguments& args) {
  const Tensor* index = args.TensorAt("index");
  if (index == nullptr) return std::nullopt;
  return index->shape;
}

std::optional<sdfg::Shape> OfBroadcast(const CallArguments& args) {
  sdfg::Shape common;
  for (const Tensor* tensor : args.Operands()) {
    const sdfg::Shape& shape = tensor->shape;
    if (shape.size() > common.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    for (size_t k = 0; k < shape.size(); ++k) {
      int64_t& extent = common[common.size() - shape.size() + k];
      if (extent == 1) extent = shape[k];
      if (shape[k] != 1 && shape[k] != extent) return std::nullopt;
    }
  }
  return common;
}

// Without branches it gives places.
std::optional<sdfg::Shape> OfChoice(const CallArguments& args) {
  if (args.Find("self") == nullptr || args.Find("other") == nullptr) return std::nullopt;
  return OfBroadcast(args);
}

std::optional<sdfg::Shape> OfReduced(const CallArguments& args) {
  const Tensor* self = args.TensorAt("self");
  if (self == nullptr) return std::nullopt;
  const bool keepdim = args.IsTrue("keepdim");
  const std::optional<std::vector<int64_t>> dims = args.Integers("dim");
  if (args.Find("dim") != nullptr && (!dims || dims->empty())) return std::nullopt;
  const size_t rank = self->shape.size();
  std::vector<bool> reduced(rank, !dims);
  for (const int64_t dim : dims.value_or(std::vector<int64_t>())) {
    const std::optional<int64_t> at = DimensionOf(dim, rank);
    if (!at) return std::nullopt;
    if (rank > 0) reduced[*at] = true;
  }
  sdfg::Shape shape;
  for (size_t d = 0; d < rank; ++d) {
    if (!reduced[d]) {
      shape.push_back(self->shape[d]);
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  return shape;
}

// A product of two operands: their dimensions in letters, "ab bc ac". A letter is one extent.
Rule OfProduct(std::string x, std::string y, std::string letters) {
  return [=](const CallArguments& args) -> std::optional<sdfg::Shape> {
    const std::vector<absl::string_view> words = absl::StrSplit(letters, ' ');
    std::map<char, int64_t> extents;
    const std::pair<const Tensor*, absl::string_view> operands[] = {{args.TensorAt(x), words[0]},
                                                                    {args.TensorAt(y), words[1]}};
    for (const auto& [tensor, word] : operands) {
      if (tensor == nullptr || tensor->shape.size() != word.size()) return std::nullopt;
      for (size_t k = 0; k < word.size(); ++k) {
        const auto [known, fresh] = extents.try_emplace(word[k], tensor->shape[k]);
        if (!fresh && known->second != tensor->shape[k]) return sdfg::Shape{-1};
      }
    }
    sdfg::Shape shape;
    for (const char letter : words[2]) shape.push_back(extents[letter]);
    return shape;
  };
}

std::optional<sdfg::Shape> OfJoined(const CallArguments& args) {
  std::optional<sdfg::Shape> shape;
  const std::optional<std::vector<int64_t>> dims = args.Integers("dim");
  for (const Tensor* tensor : args.Tensors("tensors")) {
    if (tensor->shape == sdfg::Shape{0}) continue;  // PyTorch skips it whatever the others' rank
    const std::optional<int64_t> at =
        DimensionOf(dims && !dims->empty() ? (*dims)[0] : 0, tensor->shape.size());
    if (!at || tensor->shape.empty()) return std::nullopt;
    if (!shape) {
      shape = tensor->shape;
      continue;
    }
    if (shape->size() != tensor->shape.size()) return sdfg::Shape{-1};
    for (int64_t d = 0; d < static_cast<int64_t>(shape->size()); ++d) {
      if (d == *at) {
        (*shape)[d] += tensor->shape[d];
      } else if ((*shape)[d] != tensor->shape[d]) {
        return sdfg::Shape{-1};
      }
    }
  }
  return shape;
}

std::optional<sdfg::Shape> OfStacked(const CallArguments& args) {
  const std::vector<const Tensor*> tensors = args.Tensors("tensors");
  if (tensors.empty()) return std::nullopt;
  sdfg::Shape shape = tensors[0]->shape;
  for (const Tensor* tensor : tensors) {
    if (tensor->shape != shape) return sdfg::Shape{-1};
  }
  const std::optional<std::vector<int64_t>> dims = args.Integers("dim");
  const std::optional<int64_t> at =
      DimensionOf(dims && !dims->empty() ? (*dims)[0] : 0, shape.size() + 1);
  if (!at) return std::nullopt;
  shape.insert(shape.begin() + *at, static_cast<int64_t>(tensors.size()));
  return shape;
}

std::optional<sdfg::Shape> OfSelectedRows(const CallArguments& args) {
  const Tensor* self = args.TensorAt("self");
  const Tensor* index = args.TensorAt("index");
  const std::optional<std::vector<int64_t>> dims = args.Integers("dim");
  if (self == nullptr || index == nullptr || !dims || dims->size() != 1) return std::nullopt;
  const std::optional<int64_t> at = DimensionOf((*dims)[0], self->shape.size());
  if (!at) return std::nullopt;
  sdfg::Shape shape = self->shape;
  if (!shape.empty()) shape[*at] = ElementsOf(index->shape);
  return shape;
}

std::optional<sdfg::Shape> OfEmbedding(const CallArguments& args) {
  const Tensor* weight = args.TensorAt("weight");
  const Tensor* indices = args.TensorAt("indices");
  if (weight == nullptr || indices == nullptr || weight->shape.size() != 2) return std::nullopt;
  sdfg::Shape shape = indices->shape;
  shape.push_back(weight->shape[1]);
  return shape;
}

const std::map<std::string, Rule, std::less<>>& Rules() {
  static const auto* const rules = [] {
    auto* made = new std::map<std::string, Rule, std::less<>>;
    const auto add = [&](absl::string_view names, const Rule& rule) {
      for (const absl::string_view name : absl::StrSplit(names, ' ')) {
        (*made)[absl::StrCat("aten.", name)] = rule;
      }
    };
    add("zeros ones full new_zeros new_ones new_full empty new_empty empty_strided "
        "new_empty_strided",
        OfSize);
    add("zeros_like ones_like full_like empty_like fill zero clone _to_copy alias_copy detach_copy "
        "lift_fresh_copy neg sqrt rsqrt reciprocal exp log sin cos erf tanh sigmoid silu relu abs "
        "gelu expm1 log1p sign sgn softplus logical_not bitwise_not isnan isinf cumsum _softmax "
        "_log_softmax _safe_softmax tril triu flip roll scatter scatter_add index_add index_copy "
        "index_put _unsafe_index_put sort argsort",
        OfSelf);
    add("add sub mul div rsub maximum minimum lt le gt ge eq ne logical_and logical_or bitwise_and "
        "bitwise_or __and__ __or__ masked_fill floor_divide remainder pow lerp addcmul "
        "addcdiv",
        OfBroadcast);
    add("sum mean amax amin all any logsumexp linalg_vector_norm argmax argmin", OfReduced);
    add("where", OfChoice);
    add("mm", OfProduct("self", "mat2", "ab bc ac"));
    add("bmm", OfProduct("self", "mat2", "nab nbc nac"));
    add("mv", OfProduct("self", "vec", "ab b a"));
    add("dot", OfProduct("self", "tensor", "a a "));
    add("addmm", OfProduct("mat1", "mat2", "ab bc ac"));
    add("baddbmm", OfProduct("batch1", "batch2", "nab nbc nac"));
    add("cat", OfJoined);
    add("stack", OfStacked);
    add("gather", OfIndex);
    add("index_select", OfSelectedRows);
    add("embedding", OfEmbedding);
    return made;
  }();
  return *rules;
}

}  // namespace

absl::Status CheckResult(const Trace& trace, const Executed& executed, const std::string& base,
                         const AtenSchema& schema, const std::string& place) {
  std::vector<TensorNumber> all;
  for (const std::vector<Value>* values : {&executed.args, &executed.out}) {
    for (const Value& value : *values) {
      for (const TensorNumber number : TensorsIn(value)) all.push_back(number);
    }
  }
  const bool complex = std::any_of(
      all.begin(), all.end(), [&](TensorNumber number) { return trace.tensors[number].complex; });
  const bool to_complex =
      executed.kwargs.count("dtype") != 0 && executed.kwargs.at("dtype").complex_dtype;
  if (complex || to_complex || executed.kwargs.count("out") != 0 || executed.out.empty() ||
      executed.out[0].kind != Value::Kind::kTensor) {
    return absl::OkStatus();
  }
  const Tensor& result = trace.tensors[executed.out[0].tensor];
  const CallArguments args(trace, executed, schema);
  if (const auto rule = Rules().find(base); rule != Rules().end()) {
    const std::optional<sdfg::Shape> shape = rule->second(args);
    if (shape && *shape != result.shape) {
      const std::string expected = *shape == sdfg::Shape{-1} ? "the operands do not fit"
                                                             : "it is " + sdfg::ShapeText(*shape);
      return absl::InvalidArgumentError(absl::StrCat(
          place, ": the trace says that the result has the shape ", sdfg::ShapeText(result.shape),
          ", by the arguments ", expected, "; record again"));
    }
  }
  return CheckResultType(trace, executed, base, place);
}

}  // namespace planproof::frontend::torch
