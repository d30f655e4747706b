#include "frontend/torch/recorded_views.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/memory.h"
#include "frontend/torch/strided_parts.h"

namespace planproof::frontend::torch {
namespace {

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

// The arguments of a view operator, by their places and names.
class ViewArguments {
 public:
  explicit ViewArguments(const Executed& executed) : executed_(executed) {}

  // Null if it was left out.
  const Value* Find(size_t at, const char* name) const {
    if (at < executed_.args.size()) return &executed_.args[at];
    const auto found = executed_.kwargs.find(name);
    return found == executed_.kwargs.end() ? nullptr : &found->second;
  }
  int64_t Integer(size_t at, const char* name, std::optional<int64_t> otherwise) {
    const Value* value = Find(at, name);
    if (value == nullptr || value->kind == Value::Kind::kNone) {
      plain_ = plain_ && otherwise.has_value();
      return otherwise.value_or(0);
    }
    plain_ = plain_ && value->kind == Value::Kind::kInteger;
    return value->integer;
  }
  std::vector<int64_t> Integers(size_t at, const char* name) {
    const Value* value = Find(at, name);
    std::vector<int64_t> numbers;
    if (value != nullptr && value->kind == Value::Kind::kInteger) return {value->integer};
    plain_ = plain_ && value != nullptr && value->kind == Value::Kind::kList;
    if (!plain_) return numbers;
    for (const Value& number : value->list) {
      plain_ = plain_ && number.kind == Value::Kind::kInteger;
      numbers.push_back(number.integer);
    }
    return numbers;
  }
  // Whether all that was asked for is numbers.
  bool plain() const { return plain_; }

 private:
  const Executed& executed_;
  bool plain_ = true;
};

// What an operator gives; nothing where PyTorch refuses the arguments.
using Views = std::optional<std::vector<Strided>>;

Views One(std::optional<Strided> view) {
  if (!view) return std::nullopt;
  return std::vector<Strided>{*std::move(view)};
}

Views Narrowed(const Strided& self, int64_t dim, int64_t start, int64_t length) {
  const std::optional<int64_t> at = DimensionOf(dim, self.shape.size());
  if (!at || self.shape.empty()) return std::nullopt;
  if (start < 0) start += self.shape[*at];
  if (start < 0 || length < 0 || start > self.shape[*at] - length) return std::nullopt;
  return One(Sliced(self, *at, start, start + length, 1));
}

Views Split(const Strided& self, const std::vector<int64_t>& sizes, int64_t dim) {
  std::vector<Strided> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Views part = Narrowed(self, dim, start, size);
    if (!part) return std::nullopt;
    parts.push_back((*part)[0]);
    start += size;
  }
  const std::optional<int64_t> at = DimensionOf(dim, self.shape.size());
  if (!at || start != self.shape[*at]) return std::nullopt;
  return parts;
}

Views SplitEvenly(const Strided& self, int64_t size, int64_t dim) {
  const std::optional<int64_t> at = DimensionOf(dim, self.shape.size());
  if (!at || self.shape.empty() || size < 0) return std::nullopt;
  std::vector<int64_t> sizes;
  int64_t left = self.shape[*at];
  if (size == 0 && left != 0) return std::nullopt;
  for (; left > size; left -= size) sizes.push_back(size);
  sizes.push_back(left);
  return Split(self, sizes, dim);
}

Views Unbound(const Strided& self, int64_t dim) {
  const std::optional<int64_t> at = DimensionOf(dim, self.shape.size());
  if (!at || self.shape.empty()) return std::nullopt;
  std::vector<Strided> parts;
  for (int64_t i = 0; i < self.shape[*at]; ++i) parts.push_back(*Selected(self, *at, i));
  return parts;
}

Views Transposed(const Strided& self, int64_t dim0, int64_t dim1) {
  const std::optional<int64_t> a = DimensionOf(dim0, self.shape.size());
  const std::optional<int64_t> b = DimensionOf(dim1, self.shape.size());
  if (!a || !b) return std::nullopt;
  Strided view = self;
  if (view.shape.empty()) return One(view);
  std::swap(view.shape[*a], view.shape[*b]);
  std::swap(view.strides[*a], view.strides[*b]);
  return One(view);
}

Views Unsqueezed(const Strided& self, int64_t dim) {
  const std::optional<int64_t> at = DimensionOf(dim, self.shape.size() + 1);
  if (!at) return std::nullopt;
  Strided view = self;
  view.shape.insert(view.shape.begin() + *at, 1);
  view.strides.insert(view.strides.begin() + *at, 1);
  return One(view);
}

// Without the dimensions of extent 1 that are named, or any.
Views Squeezed(const Strided& self, const std::optional<std::vector<int64_t>>& dims) {
  std::vector<bool> named(self.shape.size(), !dims);
  for (const int64_t dim : dims.value_or(std::vector<int64_t>())) {
    const std::optional<int64_t> at = DimensionOf(dim, self.shape.size());
    if (!at) return std::nullopt;
    if (!self.shape.empty()) named[*at] = true;
  }
  Strided view{self.offset, {}, {}};
  for (size_t d = 0; d < self.shape.size(); ++d) {
    if (named[d] && self.shape[d] == 1) continue;
    view.shape.push_back(self.shape[d]);
    view.strides.push_back(self.strides[d]);
  }
  return One(view);
}

Views Diagonal(const Strided& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const std::optional<int64_t> a = DimensionOf(dim1, self.shape.size());
  const std::optional<int64_t> b = DimensionOf(dim2, self.shape.size());
  if (!a || !b || *a == *b || self.shape.size() < 2) return std::nullopt;
  Strided view{self.offset, {}, {}};
  for (int64_t d = 0; d < static_cast<int64_t>(self.shape.size()); ++d) {
    if (d == *a || d == *b) continue;
    view.shape.push_back(self.shape[d]);
    view.strides.push_back(self.strides[d]);
  }
  const int64_t rows = self.shape[*a] + std::min<int64_t>(offset, 0);
  const int64_t columns = self.shape[*b] - std::max<int64_t>(offset, 0);
  const int64_t length = std::max<int64_t>(0, std::min(rows, columns));
  if (length > 0)
    view.offset += offset >= 0 ? offset * self.strides[*b] : -offset * self.strides[*a];
  view.shape.push_back(length);
  view.strides.push_back(self.strides[*a] + self.strides[*b]);
  return One(view);
}

Views Unfolded(const Strided& self, int64_t dim, int64_t size, int64_t step) {
  const std::optional<int64_t> at = DimensionOf(dim, self.shape.size());
  const bool row = !self.shape.empty();  // without dimensions there is one element
  if (!at || step < 1 || size < 0 || size > (row ? self.shape[*at] : 1)) return std::nullopt;
  Strided view = self;
  if (row) {
    view.shape[*at] = (self.shape[*at] - size) / step + 1;
    if (view.shape[*at] > 1) view.strides[*at] *= step;
  }
  view.shape.push_back(size);
  view.strides.push_back(row ? self.strides[*at] : 1);
  return One(view);
}

Views AsStrided(ViewArguments* args, const Strided& self) {
  Strided view{args->Integer(3, "storage_offset", self.offset), args->Integers(1, "size"),
               args->Integers(2, "stride")};
  if (view.shape.size() != view.strides.size()) return std::nullopt;
  return One(view);
}

using PlacedView = std::function<Views(ViewArguments*, const Strided&)>;
using PlacedViews = std::map<std::string, PlacedView, std::less<>>;

PlacedViews MakePlacedViews() {
  using Args = ViewArguments*;
  PlacedViews views;
  for (const char* same : {"aten.alias", "aten.detach", "aten.lift_fresh"}) {
    views[same] = [](Args, const Strided& self) { return One(self); };
  }
  views["aten.as_strided"] = AsStrided;
  views["aten.slice"] = [](Args args, const Strided& self) {
    return One(Sliced(self, args->Integer(1, "dim", 0), args->Integer(2, "start", 0),
                      args->Integer(3, "end", kToTheEnd), args->Integer(4, "step", 1)));
  };
  views["aten.select"] = [](Args args, const Strided& self) {
    return One(Selected(self, args->Integer(1, "dim", std::nullopt),
                        args->Integer(2, "index", std::nullopt)));
  };
  views["aten.narrow"] = [](Args args, const Strided& self) {
    return Narrowed(self, args->Integer(1, "dim", std::nullopt),
                    args->Integer(2, "start", std::nullopt),
                    args->Integer(3, "length", std::nullopt));
  };
  views["aten.expand"] = [](Args args, const Strided& self) {
    return One(Expanded(self, args->Integers(1, "size")));
  };
  views["aten.permute"] = [](Args args, const Strided& self) {
    return One(Permuted(self, args->Integers(1, "dims")));
  };
  views["aten.transpose"] = [](Args args, const Strided& self) {
    return Transposed(self, args->Integer(1, "dim0", std::nullopt),
                      args->Integer(2, "dim1", std::nullopt));
  };
  views["aten.t"] = [](Args, const Strided& self) {
    if (self.shape.size() > 2) return Views();
    return self.shape.size() < 2 ? One(self) : Transposed(self, 0, 1);
  };
  views["aten.unsqueeze"] = [](Args args, const Strided& self) {
    return Unsqueezed(self, args->Integer(1, "dim", std::nullopt));
  };
  views["aten.squeeze"] = [](Args args, const Strided& self) {
    if (args->Find(1, "dim") == nullptr) return Squeezed(self, std::nullopt);
    return Squeezed(self, args->Integers(1, "dim"));
  };
  views["aten.unbind"] = [](Args args, const Strided& self) {
    return Unbound(self, args->Integer(1, "dim", 0));
  };
  views["aten.split"] = [](Args args, const Strided& self) {
    return SplitEvenly(self, args->Integer(1, "split_size", std::nullopt),
                       args->Integer(2, "dim", 0));
  };
  views["aten.split_with_sizes"] = [](Args args, const Strided& self) {
    return Split(self, args->Integers(1, "split_sizes"), args->Integer(2, "dim", 0));
  };
  views["aten.diagonal"] = [](Args args, const Strided& self) {
    return Diagonal(self, args->Integer(1, "offset", 0), args->Integer(2, "dim1", 0),
                    args->Integer(3, "dim2", 1));
  };
  views["aten.unfold"] = [](Args args, const Strided& self) {
    return Unfolded(self, args->Integer(1, "dimension", std::nullopt),
                    args->Integer(2, "size", std::nullopt), args->Integer(3, "step", std::nullopt));
  };
  return views;
}

// What the operators give whose results lie where the arguments say.
const PlacedViews& AllPlacedViews() {
  static const auto* const views = new PlacedViews(MakePlacedViews());
  return *views;
}

absl::Status Contradiction(const std::string& place, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      place, ": ", what, ", which contradicts the operator's arguments; record again"));
}

// view, reshape: the elements one after another, in the shape that is named.
absl::Status CheckReshaped(ViewArguments* args, const Strided& self, const Strided& result,
                           const std::string& place) {
  const std::vector<int64_t> sizes = args->Integers(1, "size");
  if (!args->plain()) return absl::OkStatus();
  const std::optional<sdfg::Shape> shape = ShapeOfAsMany(sizes, ElementsOf(self.shape));
  if (!shape || *shape != result.shape || !SameSequence(self, result)) {
    return Contradiction(place, absl::StrCat("the view is ", TextOf(result)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckViews(const Trace& trace, const Executed& executed, const std::string& base,
                        const std::string& place) {
  if (executed.args.empty() || executed.args[0].kind != Value::Kind::kTensor) {
    return absl::OkStatus();
  }
  const Tensor& operand = trace.tensors[executed.args[0].tensor];
  std::vector<Strided> given;
  for (const Value& value : executed.out) {
    for (const TensorNumber number : TensorsIn(value)) {
      const Tensor& tensor = trace.tensors[number];
      if (tensor.complex || tensor.storage != operand.storage) return absl::OkStatus();
      given.push_back(ViewOf(tensor));
    }
  }
  if (operand.complex) return absl::OkStatus();
  const Strided self = ViewOf(operand);
  ViewArguments args(executed);
  const bool reshapes = base == "aten.view" || base == "aten.reshape" ||
                        base == "aten._unsafe_view" || base == "aten._reshape_alias";
  const Value* second = args.Find(1, "dtype");
  if (reshapes) {
    if (given.size() != 1 || (second != nullptr && second->kind == Value::Kind::kDType)) {
      return absl::OkStatus();
    }
    return CheckReshaped(&args, self, given[0], place);
  }
  const auto found = AllPlacedViews().find(base);
  if (found == AllPlacedViews().end()) return absl::OkStatus();
  const Views expected = found->second(&args, self);
  if (!args.plain()) return absl::OkStatus();
  if (!expected || expected->size() != given.size()) {
    return Contradiction(place, absl::StrCat("it gives ", given.size(), " views"));
  }
  for (size_t k = 0; k < given.size(); ++k) {
    const bool nothing = given[k].empty() && (*expected)[k].shape == given[k].shape;
    if (nothing || SamePositions((*expected)[k], given[k])) continue;
    return Contradiction(place, absl::StrCat("the view is ", TextOf(given[k])));
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
