// Interpolation and padding by what lies within: along each dimension an element of the result is a
// sum of a few of the operand's, with constant weights.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_derivative.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/graph.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using solver::Rational;

// More terms than this are no expression that anybody reads.
constexpr size_t kMostTaps = 8192;

struct Tap {
  int64_t index = 0;
  Rational weight = 1;
};
// The taps of each element of the result along one dimension.
using TapTable = std::vector<std::vector<Tap>>;

// Each tap where it is read from: what the derivative adds up.
TapTable Transposed(const TapTable& table, int64_t extent) {
  TapTable transposed(extent);
  for (size_t i = 0; i < table.size(); ++i) {
    for (const Tap& tap : table[i]) {
      transposed[tap.index].push_back({static_cast<int64_t>(i), tap.weight});
    }
  }
  return transposed;
}

// Taps of one place are one.
void JoinTaps(TapTable* table) {
  for (std::vector<Tap>& taps : *table) {
    std::vector<Tap> joined;
    for (Tap& tap : taps) {
      const auto same = std::find_if(joined.begin(), joined.end(),
                                     [&](const Tap& other) { return other.index == tap.index; });
      if (same == joined.end()) {
        joined.push_back(std::move(tap));
      } else {
        same->weight = same->weight + tap.weight;
      }
    }
    taps = std::move(joined);
  }
}

// How often each element is repeated if that is all; else 0.
int64_t RepeatsOf(const TapTable& table, int64_t extent) {
  if (extent == 0 || static_cast<int64_t>(table.size()) % extent != 0) return 0;
  const int64_t times = static_cast<int64_t>(table.size()) / extent;
  for (size_t i = 0; i < table.size(); ++i) {
    const std::vector<Tap>& taps = table[i];
    if (taps.size() != 1 || !taps[0].weight.IsOne() ||
        taps[0].index != static_cast<int64_t>(i) / times) {
      return 0;
    }
  }
  return times;
}

// y[.., i, ..] = sum of weight * x[.., index, ..] over the taps of i, along `dim`; `repeats` and
// `folds` say that the table repeats each element so often, or is the transpose of one that does.
absl::StatusOr<sdfg::IndexFunction> Resampled(const sdfg::Tensor& x, size_t dim,
                                              const TapTable& table, int64_t repeats,
                                              int64_t folds) {
  using sdfg::ExprId;
  using sdfg::Op;
  sdfg::IndexFunctionBuilder b("resample");
  b.AddInput("x", x.shape, x.dtype);
  sdfg::Shape shape = x.shape;
  shape[dim] = static_cast<int64_t>(table.size());
  const int output = b.AddOutput("y", shape, x.dtype);
  std::vector<ExprId> at;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(b.OutputDims(output))) {
    at.push_back(b.Index(var));
  }
  const ExprId here = at[dim];
  const auto element = [&](ExprId index) {
    std::vector<ExprId> read = at;
    read[dim] = index;
    return b.Element(0, read);
  };
  if (repeats > 0) {
    b.SetBody(output, element(b.IntDiv(here, repeats)));
    return sdfg::Finish(&b);
  }
  if (folds > 0) {
    const sdfg::VarId var = b.AddVar("k", folds);
    b.SetBody(output,
              b.Reduce(Op::kSum, var, element(b.IntAdd(b.IntScale(folds, here), b.Index(var)))));
    return sdfg::Finish(&b);
  }
  ExprId body = sdfg::kNoExpr;
  for (size_t i = table.size(); i-- > 0;) {
    ExprId sum = b.Real(0);
    for (size_t t = 0; t < table[i].size(); ++t) {
      ExprId term = element(b.Int(table[i][t].index));
      if (!table[i][t].weight.IsOne()) term = b.Binary(Op::kMul, b.Real(table[i][t].weight), term);
      sum = t == 0 ? term : b.Binary(Op::kAdd, sum, term);
    }
    body = body == sdfg::kNoExpr
               ? sum
               : b.Select(b.Binary(Op::kIntEq, here, b.Int(static_cast<int64_t>(i))), sum, body);
  }
  b.SetBody(output, body);
  return sdfg::Finish(&b);
}

// Along dimension `dim` of `x`; `backward`: the derivative, of which `x` is the gradient and
// `extent` that of the operand.
absl::StatusOr<sdfg::TensorId> ResampleAlong(AtenCall* call, sdfg::TensorId x, size_t dim,
                                             TapTable table, int64_t extent, bool backward) {
  const sdfg::Shape& given = call->writer().tensor(x).shape;
  const int64_t expected = backward ? static_cast<int64_t>(table.size()) : extent;
  if (dim >= given.size() || given[dim] != expected) {
    return call->NotDeclared("resampling of operands whose extents do not fit");
  }
  JoinTaps(&table);
  const int64_t times = RepeatsOf(table, extent);
  if (times == 1) return x;
  if (backward) table = Transposed(table, extent);
  size_t taps = 0;
  std::string text;
  for (const std::vector<Tap>& row : table) {
    taps += row.size();
    for (const Tap& tap : row) absl::StrAppend(&text, tap.index, "*", tap.weight.ToString(), ",");
    text += ";";
  }
  const sdfg::Tensor tensor = call->writer().tensor(x);
  if (table.empty() || !sdfg::IsFloating(tensor.dtype) || (times == 0 && taps > kMostTaps)) {
    return call->NotDeclared("resampling of these operands");
  }
  const std::string key = absl::StrCat("resample ", dim, " ", sdfg::DTypeName(tensor.dtype), "[",
                                       absl::StrJoin(tensor.shape, ","), "] ", text);
  return call->writer().Emit(
      "resample", key,
      [&] { return Resampled(tensor, dim, table, backward ? 0 : times, backward ? times : 0); },
      {x});
}

// What interpolation is asked for along one dimension.
struct Scaling {
  int64_t in = 1, out = 1;
  std::optional<Rational> factor;  // that the program gave, and PyTorch computes with
  bool corners = false;
  // Elements of the operand by one of the result.
  Rational step() const {
    if (corners) return out > 1 ? Rational(in - 1, out - 1) : Rational(0);
    return factor ? factor->Inverse() : Rational(in, out);
  }
};

enum class Kernel { kNearest, kNearestExact, kLinear, kCubic };

int64_t FloorOfRational(const Rational& x) {
  auto below = static_cast<int64_t>(std::floor(x.ToDouble()));
  while (x < Rational(below)) --below;
  while (!(x < Rational(below + 1))) ++below;
  return below;
}

// PyTorch computes places in single precision.
int64_t NearestPlace(const Scaling& scaling, int64_t i, bool exact) {
  const float scale = scaling.factor
                          ? static_cast<float>(1.0 / scaling.factor->ToDouble())
                          : static_cast<float>(scaling.in) / static_cast<float>(scaling.out);
  const float place =
      exact ? (static_cast<float>(i) + 0.5F) * scale : static_cast<float>(i) * scale;
  return std::min(static_cast<int64_t>(std::floor(place)), scaling.in - 1);
}

// PyTorch's kernels for results as large as the operand, or twice as large, may leave out the
// factor that the program gives.
bool KernelsDiffer(const Scaling& scaling) {
  if (!scaling.factor || (scaling.out != scaling.in && scaling.out != 2 * scaling.in)) return false;
  return !(*scaling.factor == Rational(scaling.out, scaling.in));
}

// The place that element i of the result has among those of the operand.
Rational PlaceOfCenter(const Scaling& scaling, int64_t i) {
  if (scaling.corners) return scaling.step() * Rational(i);
  return scaling.step() * (Rational(i) + Rational(1, 2)) - Rational(1, 2);
}

std::vector<Tap> LinearTaps(const Scaling& scaling, int64_t i) {
  if (scaling.in == scaling.out) return {{i, 1}};  // whatever the factor is
  Rational place = PlaceOfCenter(scaling, i);
  if (place < Rational(0)) place = 0;
  const int64_t first = std::min(FloorOfRational(place), scaling.in - 1);
  const int64_t second = std::min(first + 1, scaling.in - 1);
  const Rational share = first == second ? Rational(0) : place - Rational(first);
  std::vector<Tap> taps = {{first, Rational(1) - share}};
  if (!share.IsZero()) taps.push_back({second, share});
  return taps;
}

// Keys' kernel with a = -3/4, as PyTorch has it; what lies beyond the border is the border.
std::vector<Tap> CubicTaps(const Scaling& scaling, int64_t i) {
  const Rational place = PlaceOfCenter(scaling, i);
  const int64_t first = FloorOfRational(place);
  const Rational t = place - Rational(first);
  const Rational a(-3, 4);
  const auto near = [&](const Rational& x) {
    return ((a + Rational(2)) * x - (a + Rational(3))) * x * x + Rational(1);
  };
  const auto far = [&](const Rational& x) {
    return ((a * x - Rational(5) * a) * x + Rational(8) * a) * x - Rational(4) * a;
  };
  const Rational rest = Rational(1) - t;
  const Rational weights[] = {far(t + Rational(1)), near(t), near(rest), far(rest + Rational(1))};
  std::vector<Tap> taps;
  for (int64_t k = 0; k < 4; ++k) {
    if (weights[k].IsZero()) continue;
    taps.push_back({std::clamp<int64_t>(first - 1 + k, 0, scaling.in - 1), weights[k]});
  }
  return taps;
}

TapTable TapsOf(Kernel kernel, const Scaling& scaling) {
  TapTable table;
  for (int64_t i = 0; i < scaling.out; ++i) {
    if (kernel == Kernel::kLinear || kernel == Kernel::kCubic) {
      table.push_back(kernel == Kernel::kLinear ? LinearTaps(scaling, i) : CubicTaps(scaling, i));
    } else {
      table.push_back({{NearestPlace(scaling, i, kernel == Kernel::kNearestExact), 1}});
    }
  }
  return table;
}

// The factor of spatial dimension `d` of `rank`: "scales", "scales_h" or an entry of
// "scale_factors".
absl::StatusOr<std::optional<Rational>> FactorOf(AtenCall* call, size_t d, size_t rank) {
  static const char* const names[] = {"scales_d", "scales_h", "scales_w"};
  const std::string name = rank == 1 ? "scales" : names[3 - rank + d];
  if (!call->Has(name)) return std::nullopt;
  PLAN_ASSIGN_OR_RETURN(Rational factor, call->Real(name, 1));
  if (!(Rational(0) < factor)) return std::nullopt;
  return factor;
}

absl::Status Interpolate(AtenCall& call, Kernel kernel, size_t rank, bool backward) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, call.TensorOf(backward ? "grad_output" : "self"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, call.Integers("output_size"));
  sdfg::Shape in = call.writer().tensor(x).shape;
  if (backward) {
    PLAN_ASSIGN_OR_RETURN(in, call.Integers("input_size"));
  }
  if (in.size() != rank + 2 || sizes.size() != rank ||
      call.writer().tensor(x).shape.size() != in.size()) {
    return call.NotDeclared("interpolation of another number of dimensions");
  }
  PLAN_ASSIGN_OR_RETURN(const bool corners, call.Boolean("align_corners", false));
  for (size_t d = 0; d < rank; ++d) {
    Scaling scaling{in[d + 2], sizes[d], std::nullopt, corners};
    PLAN_ASSIGN_OR_RETURN(scaling.factor, FactorOf(&call, d, rank));
    if (scaling.in < 1 || scaling.out < 1) return call.NotDeclared("interpolation of nothing");
    if (kernel == Kernel::kNearest && KernelsDiffer(scaling)) {
      return call.NotDeclared("interpolation by a factor that is not that of the sizes");
    }
    PLAN_ASSIGN_OR_RETURN(
        x, ResampleAlong(&call, x, d + 2, TapsOf(kernel, scaling), in[d + 2], backward));
  }
  call.Return(Argument::Of(x));
  return absl::OkStatus();
}

// Where element i of a padded dimension comes from: mirrored at the border, or the border itself.
int64_t PlaceInside(int64_t i, int64_t extent, bool reflects) {
  if (!reflects) return std::clamp<int64_t>(i, 0, extent - 1);
  if (i < 0) return -i;
  return i < extent ? i : 2 * (extent - 1) - i;
}

absl::Status PadFromWithin(AtenCall& call, bool reflects, size_t rank, bool backward) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, call.TensorOf(backward ? "grad_output" : "self"));
  PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> padding, call.Integers("padding"));
  if (padding.size() == 1) padding.resize(2 * rank, padding[0]);
  const sdfg::Shape in = call.Described("self").shape;
  if (padding.size() != 2 * rank || in.size() < rank) {
    return call.NotDeclared("padding of another number of dimensions");
  }
  for (size_t d = 0; d < rank; ++d) {  // the last dimension is padded first
    const size_t dim = in.size() - 1 - d;
    const int64_t before = padding[2 * d], after = padding[2 * d + 1];
    TapTable table;
    for (int64_t i = -before; i < in[dim] + after; ++i) {
      const int64_t place = PlaceInside(i, in[dim], reflects);
      if (place < 0 || place >= in[dim]) return call.NotDeclared("padding beyond the tensor");
      table.push_back({{place, 1}});
    }
    PLAN_ASSIGN_OR_RETURN(x, ResampleAlong(&call, x, dim, std::move(table), in[dim], backward));
  }
  if (backward) return ReturnGradient(&call, Argument::Of(x), "self");
  call.Return(Argument::Of(x));
  return absl::OkStatus();
}

void AddInterpolation(AtenTable* table, const std::string& name, Kernel kernel, size_t rank) {
  const bool aligned = kernel == Kernel::kLinear || kernel == Kernel::kCubic;
  const std::string scales = rank == 1   ? " scales"
                             : rank == 2 ? " scales_h scales_w"
                                         : " scales_d scales_h scales_w";
  const std::string corners = aligned ? " align_corners" : "";
  table->Add(name, kNew, "self output_size" + corners + scales,
             [kernel, rank](AtenCall& call) { return Interpolate(call, kernel, rank, false); });
  table->Add(name + "_backward", "default grad_input",
             "grad_output output_size input_size" + corners + scales,
             [kernel, rank](AtenCall& call) { return Interpolate(call, kernel, rank, true); });
}

}  // namespace

void AddResampling(AtenTable* table) {
  for (const size_t rank : {size_t{1}, size_t{2}, size_t{3}}) {
    AddInterpolation(table, absl::StrCat("upsample_nearest", rank, "d"), Kernel::kNearest, rank);
    AddInterpolation(table, absl::StrCat("_upsample_nearest_exact", rank, "d"),
                     Kernel::kNearestExact, rank);
    for (const bool reflects : {true, false}) {
      const std::string name =
          absl::StrCat(reflects ? "reflection_pad" : "replication_pad", rank, "d");
      table->Add(name, kNew, "self padding", [reflects, rank](AtenCall& call) {
        return PadFromWithin(call, reflects, rank, false);
      });
      table->Add(
          name + "_backward", "default grad_input", "grad_output self padding",
          [reflects, rank](AtenCall& call) { return PadFromWithin(call, reflects, rank, true); });
    }
  }
  AddInterpolation(table, "upsample_linear1d", Kernel::kLinear, 1);
  AddInterpolation(table, "upsample_bilinear2d", Kernel::kLinear, 2);
  AddInterpolation(table, "upsample_trilinear3d", Kernel::kLinear, 3);
  AddInterpolation(table, "upsample_bicubic2d", Kernel::kCubic, 2);
}

}  // namespace planproof::frontend::torch
