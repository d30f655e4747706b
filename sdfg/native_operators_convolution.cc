// Convolutions and their transposes.
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/declaration_instantiate.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/limit.h"
#include "sdfg/native_operators_windows.h"

namespace planproof::sdfg {
namespace {

// Which dimension is what: the batch (-1: there is none), the features, the windows.
struct Layout {
  int batch = 0;
  int features = 1;
  std::vector<int> space;
};

struct Convolution {
  Layout x;
  Layout w;  // batch: features of the result (transposed: of x); features: the others
  Layout y;
  std::vector<WindowAxis> axes;
  int64_t groups = 1;
  bool transposed = false;
};

Layout ChannelsFirst(size_t space, bool batched) {
  Layout layout;
  layout.batch = batched ? 0 : -1;
  layout.features = batched ? 1 : 0;
  for (size_t k = 0; k < space; ++k) layout.space.push_back(layout.features + 1 + k);
  return layout;
}

absl::Status CheckFeatures(const NativeCall& call, const Convolution& c, int64_t x_features,
                           int64_t y_features, int64_t w_features) {
  const int64_t expected = x_features / c.groups;
  if (c.groups < 1 || x_features % c.groups != 0 || y_features % c.groups != 0) {
    return call.Error(absl::StrCat(x_features, " and ", y_features,
                                   " features do not make up groups = ", c.groups));
  }
  if (x_features < 1 || y_features < 1) return NotCovered(call, "no features");
  if (w_features != expected) {
    return call.Error(absl::StrCat("operand w has ", w_features, " features for each group of ",
                                   "operand x; expected ", expected));
  }
  return absl::OkStatus();
}

class ConvolutionBuilder {
 public:
  ConvolutionBuilder(const NativeCall& call, const Convolution& c)
      : call_(call),
        c_(c),
        xs_(call.operands[0].shape),
        ws_(call.operands[1].shape),
        x_features_(xs_[c.x.features]),
        y_features_(c.transposed ? ws_[c.w.features] * c.groups : ws_[c.w.batch]),
        builder_(call.name) {}

  absl::StatusOr<IndexFunction> Run() {
    absl::Status status = Check();
    if (!status.ok()) return status;
    status = AddInputs();
    if (!status.ok()) return status;
    AddOutput();
    ExprId body = Sum();
    if (biased_) body = builder_.Binary(Op::kAdd, body, builder_.Element(2, {y_[c_.y.features]}));
    builder_.SetBody(output_, body);
    return Finish(&builder_);
  }

 private:
  absl::Status Check() const {
    for (const Operand& operand : call_.operands) {
      if (IsInteger(operand.dtype)) return NotCovered(call_, "convolution of integers");
    }
    const absl::Status status =
        CheckFeatures(call_, c_, x_features_, y_features_,
                      c_.transposed ? ws_[c_.w.batch] / c_.groups : ws_[c_.w.features]);
    if (!status.ok() || !c_.transposed || ws_[c_.w.batch] == x_features_) return status;
    return call_.Error(absl::StrCat("operand w has extent ", ws_[c_.w.batch],
                                    " in dimension 0; expected ", x_features_));
  }

  absl::Status AddInputs() {
    builder_.AddInput("x", xs_, call_.operands[0].dtype);
    builder_.AddInput("w", ws_, call_.operands[1].dtype);
    biased_ = call_.operands.size() > 2 && call_.operands[2].kind != Operand::Kind::kAbsent;
    if (!biased_) return absl::OkStatus();
    const absl::StatusOr<Shape> bias = call_.TensorShape(2, "bias");
    if (!bias.ok()) return bias.status();
    if (*bias != Shape{y_features_}) {
      return call_.Error(absl::StrCat("operand bias has shape ", ShapeText(*bias), "; expected [",
                                      y_features_, "]"));
    }
    builder_.AddInput("bias", *bias, call_.operands[2].dtype);
    return absl::OkStatus();
  }

  void AddOutput() {
    Shape ys(xs_.size());
    if (c_.x.batch >= 0) ys[c_.y.batch] = xs_[c_.x.batch];
    ys[c_.y.features] = y_features_;
    for (size_t k = 0; k < c_.axes.size(); ++k) ys[c_.y.space[k]] = c_.axes[k].output;
    output_ = builder_.AddOutput("y", ys, PromotedType(call_.operands));
    for (VarId var : builder_.OutputDims(output_)) y_.push_back(builder_.Index(var));
  }

  // The indices of features in x and w: those of the result's group.
  void PlaceFeatures(std::vector<ExprId>* x, std::vector<ExprId>* w, std::vector<VarId>* summed) {
    const int64_t x_group = x_features_ / c_.groups;
    const int64_t y_group = y_features_ / c_.groups;
    ExprId feature = builder_.Int(0);
    if (x_group > 1) {
      summed->push_back(builder_.AddVar("c", x_group));
      feature = builder_.Index(summed->back());
    }
    const ExprId y_feature = y_[c_.y.features];
    ExprId x_feature = feature;
    ExprId within_group = y_feature;
    if (c_.groups > 1) {
      const ExprId group = y_group == 1 ? y_feature : builder_.IntDiv(y_feature, y_group);
      x_feature =
          x_group == 1 ? group : builder_.IntAdd(builder_.IntScale(x_group, group), feature);
      within_group = y_group == 1 ? builder_.Int(0) : builder_.IntMod(y_feature, y_group);
    }
    (*x)[c_.x.features] = x_feature;
    (*w)[c_.w.batch] = c_.transposed ? x_feature : y_feature;
    (*w)[c_.w.features] = c_.transposed ? within_group : feature;
  }

  ExprId Sum() {
    std::vector<ExprId> x(xs_.size());
    std::vector<ExprId> w(ws_.size());
    std::vector<VarId> summed;
    if (c_.x.batch >= 0) x[c_.x.batch] = y_[c_.y.batch];
    PlaceFeatures(&x, &w, &summed);
    ExprId inside = kNoExpr;
    for (size_t k = 0; k < c_.axes.size(); ++k) {
      summed.push_back(builder_.AddVar("k" + std::to_string(k), c_.axes[k].window));
      const ExprId element = builder_.Index(summed.back());
      const WindowPlace place = PlaceInWindow(&builder_, c_.axes[k], y_[c_.y.space[k]], element);
      x[c_.x.space[k]] = place.index;
      w[c_.w.space[k]] = element;
      inside = Both(&builder_, inside, place.inside);
    }
    ExprId body = builder_.Element(0, x);
    if (inside != kNoExpr) body = builder_.Select(inside, body, builder_.Real(0));
    body = builder_.Binary(Op::kMul, body, builder_.Element(1, w));
    for (; !summed.empty(); summed.pop_back()) {
      body = builder_.Reduce(Op::kSum, summed.back(), body);
    }
    return body;
  }

  const NativeCall& call_;
  const Convolution& c_;
  const Shape xs_;
  const Shape ws_;
  const int64_t x_features_;
  const int64_t y_features_;
  IndexFunctionBuilder builder_;
  bool biased_ = false;
  int output_ = 0;
  std::vector<ExprId> y_;
};

// x, w and the layouts of PyTorch's operators, whose windows have `space` dimensions.
absl::StatusOr<Convolution> Start(const NativeCall& call, size_t space) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  const absl::StatusOr<Shape> w = call.TensorShape(1, "w");
  if (!w.ok()) return w.status();
  if (x->size() != space + 2 && x->size() != space + 1) {
    return call.Error(absl::StrCat("operand x has ", x->size(), " dimensions; expected ", space + 2,
                                   ", or ", space + 1, " without a batch"));
  }
  if (w->size() != space + 2) {
    return call.Error(
        absl::StrCat("operand w has ", w->size(), " dimensions; expected ", space + 2));
  }
  Convolution c;
  c.x = c.y = ChannelsFirst(space, x->size() == space + 2);
  c.w = ChannelsFirst(space, true);
  c.groups = call.Int("groups");
  if (c.groups < 1) return call.Error(absl::StrCat("groups is ", c.groups));
  const auto stride = PerDimension(call, "stride", space, 1, {});
  if (!stride.ok()) return stride.status();
  const auto dilation = PerDimension(call, "dilation", space, 1, {});
  if (!dilation.ok()) return dilation.status();
  for (size_t k = 0; k < space; ++k) {
    WindowAxis axis;
    axis.input = (*x)[c.x.space[k]];
    axis.window = (*w)[c.w.space[k]];
    axis.stride = (*stride)[k];
    axis.dilation = (*dilation)[k];
    if (axis.window < 1) return NotCovered(call, "a window without elements");
    if (axis.window > (1 << 20)) return BeyondLimit("extent of a window", axis.window, "2^20");
    c.axes.push_back(axis);
  }
  return c;
}

absl::StatusOr<IndexFunction> Convolve(const NativeCall& call, size_t space) {
  absl::StatusOr<Convolution> c = Start(call, space);
  if (!c.ok()) return c.status();
  const auto* word = std::get_if<std::string>(&call.attributes.at("padding"));
  std::vector<int64_t> padding(space, 0);
  if (word == nullptr) {
    const auto given = PerDimension(call, "padding", space, 0, {});
    if (!given.ok()) return given.status();
    padding = *given;
  } else if (*word != "valid" && *word != "same") {
    return call.Error("attribute padding is \"" + *word +
                      "\"; expected numbers, \"valid\" or \"same\"");
  }
  for (size_t k = 0; k < space; ++k) {
    WindowAxis& axis = c->axes[k];
    axis.before = axis.after = padding[k];
    if (word != nullptr && *word == "same") {
      if (axis.stride != 1) return call.Error("padding \"same\" needs a stride of 1");
      const int64_t total = axis.dilation * (axis.window - 1);
      axis.before = total / 2;
      axis.after = total - total / 2;
    }
    const absl::Status status = SetOutputExtent(call, false, &axis);
    if (!status.ok()) return status;
  }
  return ConvolutionBuilder(call, *c).Run();
}

// Element o of the result gets what element i of x gives to window element k: o = stride * i +
// dilation * k - padding.
absl::StatusOr<IndexFunction> ConvolveTransposed(const NativeCall& call, size_t space) {
  absl::StatusOr<Convolution> c = Start(call, space);
  if (!c.ok()) return c.status();
  c->transposed = true;
  const auto padding = PerDimension(call, "padding", space, 0, {});
  if (!padding.ok()) return padding.status();
  const auto extra = PerDimension(call, "output_padding", space, 0, {});
  if (!extra.ok()) return extra.status();
  for (size_t k = 0; k < space; ++k) {
    WindowAxis& axis = c->axes[k];
    if (axis.input < 1) return NotCovered(call, "windows over a dimension of extent 0");
    if (axis.input > (int64_t{1} << 28)) {
      return BeyondLimit("extent under a window", axis.input, "2^28");
    }
    if ((*extra)[k] >= axis.stride && (*extra)[k] >= axis.dilation) {
      return call.Error("output_padding must be smaller than stride or dilation");
    }
    axis.output = (axis.input - 1) * axis.stride - 2 * (*padding)[k] +
                  axis.dilation * (axis.window - 1) + (*extra)[k] + 1;
    if (axis.output < 1) return call.Error("the padding leaves nothing of the result");
    axis.base = axis.stride;
    axis.stride = 1;
    axis.dilation = -axis.dilation;
    axis.before = -(*padding)[k];
  }
  return ConvolutionBuilder(call, *c).Run();
}

// A permutation of the dimensions: (batch, features, space ...).
absl::StatusOr<Layout> ReadLayout(const NativeCall& call, const std::string& attribute,
                                  size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (!call.IsNone(attribute)) {
    const absl::StatusOr<std::vector<int>> numbers = DimensionNumbers(
        call.name, attribute, call.attributes.at(attribute), static_cast<int>(rank));
    if (!numbers.ok()) return numbers.status();
    if (numbers->size() != rank) {
      return call.Error(absl::StrCat("attribute ", attribute, " must list ", rank, " dimensions"));
    }
    order = call.Ints(attribute);
  }
  for (int64_t& dim : order) dim = dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
  Layout layout;
  layout.batch = static_cast<int>(order[0]);
  layout.features = static_cast<int>(order[1]);
  layout.space.assign(order.begin() + 2, order.end());
  return layout;
}

absl::StatusOr<IndexFunction> ConvolveGeneral(const NativeCall& call) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  const absl::StatusOr<Shape> w = call.TensorShape(1, "w");
  if (!w.ok()) return w.status();
  if (x->size() < 3 || x->size() != w->size()) {
    return call.Error("expected operands x and w of the same number of dimensions, 3 or more");
  }
  const size_t space = x->size() - 2;
  Convolution c;
  for (const auto& [attribute, layout] :
       {std::pair("lhs_spec", &c.x), std::pair("rhs_spec", &c.w), std::pair("out_spec", &c.y)}) {
    absl::StatusOr<Layout> read = ReadLayout(call, attribute, x->size());
    if (!read.ok()) return read.status();
    *layout = *read;
  }
  c.groups = call.Int("feature_group_count");
  if (c.groups < 1) return call.Error(absl::StrCat("feature_group_count is ", c.groups));
  const std::vector<int64_t> ones(space, 1);
  const auto stride = PerDimension(call, "window_strides", space, 1, ones);
  const auto base = PerDimension(call, "lhs_dilation", space, 1, ones);
  const auto dilation = PerDimension(call, "rhs_dilation", space, 1, ones);
  for (const auto* values : {&stride, &base, &dilation}) {
    if (!values->ok()) return values->status();
  }
  for (size_t k = 0; k < space; ++k) {
    WindowAxis axis;
    axis.input = (*x)[c.x.space[k]];
    axis.window = (*w)[c.w.space[k]];
    axis.stride = (*stride)[k];
    axis.base = (*base)[k];
    axis.dilation = (*dilation)[k];
    if (axis.window < 1) return NotCovered(call, "a window without elements");
    if (axis.window > (1 << 20)) return BeyondLimit("extent of a window", axis.window, "2^20");
    c.axes.push_back(axis);
  }
  absl::Status status = SetPaddingPairs(call, "padding", &c.axes);
  if (!status.ok()) return status;
  for (WindowAxis& axis : c.axes) {
    status = SetOutputExtent(call, false, &axis);
    if (!status.ok()) return status;
  }
  return ConvolutionBuilder(call, c).Run();
}

}  // namespace

void AddConvolutionOperators(std::vector<NativeOperator>* operators) {
  for (size_t space = 1; space <= 3; ++space) {
    const std::string dimensions = std::to_string(space) + "d";
    const std::string attributes =
        "stride: ints in [1, inf) = 1, padding: ints or string = 0, dilation: ints in [1, inf) = "
        "1, "
        "groups = 1";
    operators->push_back(
        {"conv" + dimensions, "conv" + dimensions + "(x, w, bias?) {" + attributes + "}",
         "Sums of windows of x[n, c, ..] with weights w[o, c / groups, ..]; outside of x is 0. "
         "`padding` may be \"same\" or \"valid\". The batch may be missing. Source: "
         "torch.nn.functional.conv" +
             dimensions + ".",
         2, 3, ParseAttributes(attributes),
         [space](const NativeCall& call) { return Convolve(call, space); }});
    const std::string transposed =
        "stride: ints in [1, inf) = 1, padding: ints in [0, inf) = 0, "
        "output_padding: ints in [0, inf) = 0, groups = 1, dilation: ints in [1, inf) = 1";
    operators->push_back(
        {"conv_transpose" + dimensions,
         "conv_transpose" + dimensions + "(x, w, bias?) {" + transposed + "}",
         "The transpose of conv" + dimensions +
             " by its first operand: x[n, c, ..] with weights w[c, o / groups, ..]. The batch may "
             "be missing. Source: torch.nn.functional.conv_transpose" +
             dimensions + ".",
         2, 3, ParseAttributes(transposed),
         [space](const NativeCall& call) { return ConvolveTransposed(call, space); }});
  }
  const std::string general =
      "window_strides: ints in [1, inf) = none, padding: ints or string = \"VALID\", lhs_dilation: "
      "ints in "
      "[1, inf) = none, rhs_dilation: ints in [1, inf) = none, lhs_spec: ints = none, rhs_spec: "
      "ints = none, out_spec: ints = none, feature_group_count = 1, only batch_group_count: int = "
      "1, ignore precision in (none, \"DEFAULT\", \"HIGH\", \"HIGHEST\") = none, only "
      "preferred_element_type: dtype = none";
  operators->push_back(
      {"conv_general_dilated", "conv_general_dilated(x, w) {" + general + "}",
       "Convolution in any layout: lhs_spec lists the dimensions (batch, features, space ..) of x, "
       "out_spec those of the result, rhs_spec (features of the result, of x, space ..) of w. "
       "`padding`: pairs (before, after), one after another, \"SAME\" or \"VALID\". Source: "
       "jax.lax.conv_general_dilated.",
       2, 2, ParseAttributes(general), ConvolveGeneral});
}

}  // namespace planproof::sdfg
