// The steps of the random chains.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random/plan_builder.h"

namespace planproof::random_tests {

using sdfg::Attributes;
using sdfg::ReduceKind;
using sdfg::Shape;
using sdfg::TensorId;
using solver::Rational;

namespace {

constexpr int64_t kSmallest = 9, kLargest = 20;
constexpr int64_t kShortest = 3;  // of a piece

}  // namespace

Value PlanBuilder::Start() {
  Shape shape = {Pick(kSmallest, kLargest), Pick(kSmallest, kLargest)};
  longest_ = std::max(shape[0], shape[1]);
  if (Pick(0, 2) == 0) shape.insert(shape.begin(), Pick(2, 3));
  Value x{.logical = Input("x", shape, false), .shape = shape};
  steps_ = absl::StrCat(devices_, " devices");
  if (Coin()) {
    const int dim = x.rank() == 3 ? 1 : static_cast<int>(Pick(0, 1));
    const std::vector<int64_t> bounds = RandomCuts(shape[dim]);
    x.cut = dim;
    for (int device = 0; device < devices_; ++device) {
      Piece piece{.start = std::vector<int64_t>(shape.size(), 0), .shape = shape};
      piece.start[dim] = bounds[device];
      piece.shape[dim] = bounds[device + 1] - bounds[device];
      piece.tensor = Box(x.logical, piece.start, piece.shape, device);
      x.pieces.push_back(std::move(piece));
    }
    return x;
  }
  for (int device = 0; device < devices_; ++device) {
    const std::vector<int64_t> start(shape.size(), 0);
    x.pieces.push_back({Box(x.logical, start, shape, device), start, shape});
  }
  return x;
}

Value PlanBuilder::Step(const Value& x) {
  for (;;) {
    Value y;
    switch (Pick(0, 13)) {
      case 0:
        y = Elementwise(x);
        break;
      case 1:
        y = WithOperand(x);
        break;
      case 2:
        y = Scaled(x);
        break;
      case 3:
      case 4:
      case 5:
        y = Linear(x);
        break;
      case 6:
        y = Product(x);
        break;
      case 7:
        y = Normalized(x);
        break;
      case 8:
        y = Reduce(x);
        break;
      case 9:
        y = Transposed(x);
        break;
      case 10:
        y = Coin() ? Merged(x) : Split(x);
        break;
      case 11:
        y = Sliced(x);
        break;
      case 12:
        y = Joined(x);
        break;
      default:
        y = Resharded(x);
        break;
    }
    if (y.logical != sdfg::kNone) return Named(std::move(y));
  }
}

Value PlanBuilder::Elementwise(const Value& x) {
  static const char* const kNames[] = {"relu", "sigmoid", "tanh", "silu", "neg", "gelu", "square"};
  const std::string name = kNames[Pick(0, 6)];
  absl::StrAppend(&steps_, ", ", name);
  Value y = x;
  y.logical = Logical(name, {x.logical});
  for (int device = 0; device < devices_; ++device) {
    const bool wrong = Fault(absl::StrCat("another function on device ", device));
    Piece& piece = y.pieces[device];
    piece.tensor = On(device, wrong ? name == "tanh" ? "sigmoid" : "tanh" : name, {piece.tensor});
  }
  return y;
}

Value PlanBuilder::WithOperand(const Value& x) {
  const std::string name = Coin() ? "add" : "mul";
  const bool vector = Coin();
  absl::StrAppend(&steps_, ", ", name, vector ? " vector" : " tensor");
  const Shape shape = vector ? Shape{x.shape.back()} : x.shape;
  const TensorId operand = Input("w", shape, true);
  Value y = x;
  y.logical = Logical(name, {x.logical, operand});
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    const auto start = vector ? std::vector<int64_t>{piece.start.back()} : piece.start;
    const Shape part = vector ? Shape{piece.shape.back()} : piece.shape;
    piece.tensor = On(device, name, {piece.tensor, Box(operand, start, part, device)});
  }
  return y;
}

Value PlanBuilder::Scaled(const Value& x) {
  const Rational factor(Pick(0, 1) == 0 ? -Pick(2, 5) : Pick(2, 5), Pick(6, 9));
  absl::StrAppend(&steps_, ", scale");
  Value y = x;
  y.logical = OnWithNumber(-1, "mul", x.logical, factor);
  for (int device = 0; device < devices_; ++device) {
    const bool wrong = Fault(absl::StrCat("another factor on device ", device));
    Piece& piece = y.pieces[device];
    piece.tensor = OnWithNumber(device, "mul", piece.tensor, wrong ? factor * Rational(2) : factor);
  }
  return y;
}

Value PlanBuilder::Linear(const Value& x) {
  if (x.rank() < 2) return {};
  const int64_t inner = x.shape.back(), outer = Pick(kSmallest, kLargest);
  longest_ = std::max(longest_, inner);
  const TensorId weight = Input("w", {outer, inner}, true);
  Value y = x;
  y.logical = Logical("linear", {x.logical, weight});
  y.shape.back() = outer;
  if (x.cut == x.last()) {
    absl::StrAppend(&steps_, ", linear over a cut dimension");
    std::vector<TensorId> terms;
    for (int device = 0; device < devices_; ++device) {
      const Piece& piece = x.pieces[device];
      const TensorId part =
          Box(weight, {0, piece.start.back()}, {outer, piece.shape.back()}, device);
      terms.push_back(On(device, "linear", {piece.tensor, part}));
    }
    return Reduced(y.logical, y.shape, terms, ReduceKind::kSum);
  }
  const bool columns = x.cut < 0 && Coin();
  absl::StrAppend(&steps_, columns ? ", linear by columns" : ", linear");
  const std::vector<int64_t> bounds = columns ? RandomCuts(outer) : std::vector<int64_t>{};
  if (columns) y.cut = y.last();
  for (int device = 0; device < devices_; ++device) {
    const int64_t from = columns ? bounds[device] : 0;
    const int64_t length = columns ? bounds[device + 1] - from : outer;
    Piece& piece = y.pieces[device];
    piece.tensor =
        On(device, "linear", {piece.tensor, Box(weight, {from, 0}, {length, inner}, device)});
    piece.start.back() = from;
    piece.shape.back() = length;
  }
  return y;
}

// x times its own transpose.
Value PlanBuilder::Product(const Value& x) {
  if (x.rank() < 2 || x.cut == x.last()) return {};
  absl::StrAppend(&steps_, ", product with its transpose");
  const Attributes swap = {{"dim0", int64_t{-1}}, {"dim1", int64_t{-2}}};
  const Value whole = x.cut == x.rank() - 2 ? Whole(x) : x;
  Value y = x;
  y.logical = Logical("matmul", {x.logical, Logical("transpose", {x.logical}, swap)});
  const Rational small(1, 16);
  y.logical = OnWithNumber(-1, "mul", y.logical, small);
  y.shape.back() = x.shape[x.rank() - 2];
  longest_ = std::max(longest_, x.shape.back());
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    const TensorId turned = On(device, "transpose", {whole.pieces[device].tensor}, swap);
    const TensorId product = On(device, "matmul", {piece.tensor, turned});
    piece.tensor = OnWithNumber(device, "mul", product, small);
    piece.shape.back() = y.shape.back();
  }
  return y;
}

Value PlanBuilder::Normalized(const Value& x) {
  static const char* const kNames[] = {"softmax", "log_softmax", "layer_norm", "rms_norm"};
  const std::string name = kNames[Pick(0, 3)];
  absl::StrAppend(&steps_, ", ", name);
  longest_ = std::max(longest_, x.shape.back());
  const bool layer = name == "layer_norm";
  // A frequent bug: the statistics of a part.
  const bool local = x.cut == x.last() && Fault("statistics of each part alone");
  const Value from = local || x.cut != x.last() ? x : Whole(x);
  Attributes whole_attributes;
  std::vector<TensorId> weights;
  if (layer) {
    whole_attributes["normalized_shape"] = std::vector<int64_t>{x.shape.back()};
    for (int k = 0; k < 2; ++k) weights.push_back(Input("w", {x.shape.back()}, true));
  }
  std::vector<TensorId> logical_inputs = {x.logical};
  logical_inputs.insert(logical_inputs.end(), weights.begin(), weights.end());
  Value y = from;
  y.logical = Logical(name, logical_inputs, whole_attributes);
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    std::vector<TensorId> inputs = {piece.tensor};
    for (TensorId weight : weights) {
      inputs.push_back(Box(weight, {piece.start.back()}, {piece.shape.back()}, device));
    }
    Attributes attributes;
    if (layer) attributes["normalized_shape"] = std::vector<int64_t>{piece.shape.back()};
    piece.tensor = On(device, name, inputs, attributes);
  }
  return y;
}

Value PlanBuilder::Reduce(const Value& x) {
  if (x.rank() < 2) return {};
  static const char* const kNames[] = {"sum", "mean", "max"};
  const std::string name = kNames[Pick(0, 2)];
  const int dim = static_cast<int>(Pick(0, x.last()));
  absl::StrAppend(&steps_, ", ", name);
  longest_ = std::max(longest_, x.shape[dim]);
  const Attributes attributes = {{"dim", int64_t{dim}}};
  Value y;
  y.logical = Logical(name, {x.logical}, attributes);
  y.shape = x.shape;
  y.shape.erase(y.shape.begin() + dim);
  if (x.cut != dim) {
    y.cut = x.cut > dim ? x.cut - 1 : x.cut;
    for (int device = 0; device < devices_; ++device) {
      Piece piece = x.pieces[device];
      piece.tensor = On(device, name, {piece.tensor}, attributes);
      piece.start.erase(piece.start.begin() + dim);
      piece.shape.erase(piece.shape.begin() + dim);
      y.pieces.push_back(std::move(piece));
    }
    return y;
  }
  absl::StrAppend(&steps_, " over a cut dimension");
  std::vector<TensorId> terms;
  if (name == "max") {
    for (int device = 0; device < devices_; ++device) {
      terms.push_back(On(device, "max", {x.pieces[device].tensor}, attributes));
    }
    return Reduced(y.logical, y.shape, terms, ReduceKind::kMax);
  }
  // The mean of unequal parts is no mean of their means.
  const bool divisor = name == "mean" && Fault("mean of the means of unequal parts");
  for (int device = 0; device < devices_; ++device) {
    terms.push_back(On(device, divisor ? "mean" : "sum", {x.pieces[device].tensor}, attributes));
  }
  Value z = Reduced(y.logical, y.shape, terms, divisor ? ReduceKind::kAvg : ReduceKind::kSum);
  if (name == "mean" && !divisor) {
    for (int device = 0; device < devices_; ++device) {
      const bool wrong = Fault(absl::StrCat("divided by the length of a part on device ", device));
      const int64_t by = wrong ? x.pieces[device].shape[dim] : x.shape[dim];
      z.pieces[device].tensor = OnWithNumber(device, "div", z.pieces[device].tensor, Rational(by));
    }
  }
  return z;
}

Value PlanBuilder::Transposed(const Value& x) {
  if (x.rank() < 2) return {};
  const int a = static_cast<int>(Pick(0, x.last() - 1));
  const int b = static_cast<int>(Pick(a + 1, x.last()));
  absl::StrAppend(&steps_, ", transpose");
  const Attributes attributes = {{"dim0", int64_t{a}}, {"dim1", int64_t{b}}};
  Value y = x;
  y.logical = Logical("transpose", {x.logical}, attributes);
  std::swap(y.shape[a], y.shape[b]);
  if (x.cut == a || x.cut == b) y.cut = a + b - x.cut;
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    piece.tensor = On(device, "transpose", {piece.tensor}, attributes);
    std::swap(piece.start[a], piece.start[b]);
    std::swap(piece.shape[a], piece.shape[b]);
  }
  return y;
}

// Dimensions 0 and 1 as one.
Value PlanBuilder::Merged(const Value& x) {
  if (x.rank() < 3 || x.cut == 1) return {};
  absl::StrAppend(&steps_, ", view merging two dimensions");
  const auto merge = [](Shape shape) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
    return shape;
  };
  Value y = x;
  y.shape = merge(x.shape);
  y.logical = Logical("view", {x.logical}, {{"size", y.shape}});
  y.cut = x.cut > 0 ? x.cut - 1 : x.cut;
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    piece.start[1] += piece.start[0] * x.shape[1];
    piece.start.erase(piece.start.begin());
    piece.shape = merge(piece.shape);
    piece.tensor = On(device, "view", {piece.tensor}, {{"size", piece.shape}});
  }
  return y;
}

// The last dimension as two; a cut one must be cut between groups.
Value PlanBuilder::Split(const Value& x) {
  if (x.rank() > 2) return {};
  const int64_t extent = x.shape.back();
  const int64_t group = extent % 3 == 0 ? 3 : 2;
  if (extent % group != 0) return {};
  bool between = true;
  for (const Piece& piece : x.pieces) {
    between = between && piece.start.back() % group == 0 && piece.shape.back() % group == 0;
  }
  if (!between && x.cut != x.last()) return {};
  absl::StrAppend(&steps_, ", view splitting a dimension");
  const Value from = between ? x : Whole(x);
  Value y = from;
  y.shape.back() = extent / group;
  y.shape.push_back(group);
  y.logical = Logical("view", {x.logical}, {{"size", y.shape}});
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    piece.start.back() /= group;
    piece.shape.back() /= group;
    piece.start.push_back(0);
    piece.shape.push_back(group);
    piece.tensor = On(device, "view", {piece.tensor}, {{"size", piece.shape}});
  }
  return y;
}

Value PlanBuilder::Sliced(const Value& x) {
  const int dim = static_cast<int>(Pick(0, x.last()));
  const int64_t extent = x.shape[dim];
  const int64_t length = extent - Pick(1, 3);
  if (length < kSmallest) return {};
  const int64_t start = Pick(0, extent - length);
  // Every piece must keep some elements.
  for (const Piece& piece : x.pieces) {
    const int64_t low = std::max(piece.start[dim], start);
    const int64_t high = std::min(piece.start[dim] + piece.shape[dim], start + length);
    if (high - low < (x.cut == dim ? kShortest : length)) return {};
  }
  absl::StrAppend(&steps_, x.cut == dim ? ", slice of a cut dimension" : ", slice");
  Value y = x;
  y.shape[dim] = length;
  y.logical = Logical("slice", {x.logical},
                      {{"dim", int64_t{dim}}, {"start", start}, {"stop", start + length}});
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    const int64_t low = std::max(piece.start[dim], start);
    const int64_t high = std::min(piece.start[dim] + piece.shape[dim], start + length);
    int64_t from = low - piece.start[dim];
    const bool wrong = Fault(absl::StrCat("a slice moved by one on device ", device));
    if (wrong && from + high - low < piece.shape[dim]) {
      ++from;
    } else if (wrong && from > 0) {
      --from;
    }
    piece.tensor = Slice(device, piece.tensor, dim, from, high - low);
    piece.start[dim] = low - start;
    piece.shape[dim] = high - low;
  }
  return y;
}

Value PlanBuilder::Joined(const Value& x) {
  const int dim = static_cast<int>(Pick(0, x.last()));
  if (dim == x.cut || x.shape[dim] > kLargest) return {};
  absl::StrAppend(&steps_, ", concat");
  Value y = x;
  y.shape[dim] *= 2;
  const Attributes attributes = {{"dim", int64_t{dim}}};
  y.logical = Logical("concat", {x.logical, Logical("sigmoid", {x.logical})}, attributes);
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    std::vector<TensorId> parts = {piece.tensor, On(device, "sigmoid", {piece.tensor})};
    if (Fault(absl::StrCat("parts joined in another order on device ", device))) {
      std::swap(parts[0], parts[1]);
    }
    piece.tensor = On(device, "concat", parts, attributes);
    piece.shape[dim] *= 2;
  }
  return y;
}

Value PlanBuilder::Resharded(const Value& x) {
  const int dim = static_cast<int>(Pick(0, x.last()));
  if (x.cut < 0) {
    if (x.shape[dim] < kShortest * devices_) return {};
    absl::StrAppend(&steps_, ", cut");
    return Cut(x, dim);
  }
  absl::StrAppend(&steps_, ", gather");
  const Value whole = Whole(x);
  if (dim == x.cut || x.shape[dim] < kShortest * devices_) return whole;
  absl::StrAppend(&steps_, " and cut");
  return Cut(whole, dim);
}

}  // namespace planproof::random_tests
