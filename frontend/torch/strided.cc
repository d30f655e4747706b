#include "frontend/torch/strided.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

// Dimensions of more than one index, the largest stride first.
std::vector<int> ByStride(const Strided& view) {
  std::vector<int> dims;
  for (size_t k = 0; k < view.shape.size(); ++k) {
    if (view.shape[k] > 1) dims.push_back(static_cast<int>(k));
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [&](int a, int b) { return view.strides[a] > view.strides[b]; });
  return dims;
}

// scale * (floor(i[dim] / div) mod mod); mod = 0: no reduction.
struct Term {
  int dim = 0;
  int64_t div = 1;
  int64_t mod = 0;
  int64_t scale = 1;
  int64_t most = 0;  // its largest value
};

struct Digit {
  int64_t constant = 0;
  std::vector<Term> terms;
};

// The digits of the view's positions in the source's number system, one per entry of `places`
// (ByStride of the source); nothing where they carry.
std::optional<std::vector<Digit>> DigitsOf(const Strided& source, const std::vector<int>& places,
                                           const Strided& view) {
  std::vector<Digit> digits(places.size());
  int64_t rest = view.offset - source.offset;
  for (size_t j = 0; j < places.size(); ++j) {
    digits[j].constant = rest / source.strides[places[j]];
    rest %= source.strides[places[j]];
  }
  for (size_t k = 0; k < view.shape.size(); ++k) {
    int64_t count = view.shape[k], div = 1;
    if (count <= 1 || view.strides[k] == 0) continue;
    size_t j = 0;
    while (j < places.size() && source.strides[places[j]] > view.strides[k]) ++j;
    if (j == places.size() || view.strides[k] % source.strides[places[j]] != 0) return std::nullopt;
    int64_t scale = view.strides[k] / source.strides[places[j]];
    for (;;) {
      const int64_t extent = source.shape[places[j]];
      if (j == 0 || scale * (count - 1) < extent) {
        digits[j].terms.push_back({static_cast<int>(k), div, 0, scale, scale * (count - 1)});
        break;
      }
      if (extent % scale != 0) return std::nullopt;
      const int64_t steps = extent / scale;
      if (steps > 1) {
        digits[j].terms.push_back({static_cast<int>(k), div, steps, scale, scale * (steps - 1)});
      }
      div *= steps;
      count = (count + steps - 1) / steps;
      scale = 1;
      --j;
    }
  }
  for (size_t j = 0; j < places.size(); ++j) {
    int64_t most = digits[j].constant;
    for (const Term& term : digits[j].terms) most += term.most;
    if (most >= source.shape[places[j]]) return std::nullopt;
  }
  return digits;
}

ExprId PositionOf(IndexFunctionBuilder* builder, const Strided& view,
                  const std::vector<ExprId>& index) {
  ExprId position = builder->Int(view.offset);
  for (size_t k = 0; k < view.shape.size(); ++k) {
    if (view.shape[k] <= 1 || view.strides[k] == 0) continue;
    position = builder->IntAdd(position, builder->IntScale(view.strides[k], index[k]));
  }
  return position;
}

ExprId ExpressionOf(IndexFunctionBuilder* builder, const Digit& digit,
                    const std::vector<ExprId>& index) {
  ExprId sum = sdfg::kNoExpr;
  for (const Term& term : digit.terms) {
    ExprId part = index[term.dim];
    if (term.div > 1) part = builder->IntDiv(part, term.div);
    if (term.mod > 0) part = builder->IntMod(part, term.mod);
    if (term.scale != 1) part = builder->IntScale(term.scale, part);
    sum = sum == sdfg::kNoExpr ? part : builder->IntAdd(sum, part);
  }
  if (sum == sdfg::kNoExpr) return builder->Int(digit.constant);
  return digit.constant == 0 ? sum : builder->IntAdd(sum, builder->Int(digit.constant));
}

std::vector<ExprId> OutputIndex(IndexFunctionBuilder* builder, int output) {
  std::vector<ExprId> index;
  for (sdfg::VarId var : builder->OutputDims(output)) index.push_back(builder->Index(var));
  return index;
}

ExprId Read(IndexFunctionBuilder* builder, int input, sdfg::DType dtype,
            const std::vector<ExprId>& at) {
  return sdfg::IsInteger(dtype) ? builder->IntElement(input, at) : builder->Element(input, at);
}

// A condition on the source's index and, where it holds, the view's index.
struct Inverse {
  ExprId condition = sdfg::kNoExpr;
  std::vector<ExprId> index;
};

void Require(IndexFunctionBuilder* builder, Inverse* inverse, ExprId condition) {
  inverse->condition = inverse->condition == sdfg::kNoExpr
                           ? condition
                           : builder->Binary(Op::kAnd, inverse->condition, condition);
}

// low <= x < high, where 0 <= x < extent is known.
void RequireWithin(IndexFunctionBuilder* builder, Inverse* inverse, ExprId x, int64_t low,
                   int64_t high, int64_t extent) {
  if (low > 0) Require(builder, inverse, builder->Binary(Op::kIntLessEq, builder->Int(low), x));
  if (high < extent)
    Require(builder, inverse, builder->Binary(Op::kIntLess, x, builder->Int(high)));
}

// Where each digit of the source is a constant, or counts one whole dimension of the view in steps.
std::optional<Inverse> InverseByDigits(IndexFunctionBuilder* builder, const Strided& source,
                                       const std::vector<int>& places,
                                       const std::vector<Digit>& digits, const Strided& view,
                                       const std::vector<ExprId>& at) {
  Inverse inverse;
  inverse.index.assign(view.shape.size(), sdfg::kNoExpr);
  for (size_t j = 0; j < places.size(); ++j) {
    const Digit& digit = digits[j];
    const ExprId x = at[places[j]];
    const int64_t extent = source.shape[places[j]];
    if (digit.terms.empty()) {
      Require(builder, &inverse, builder->Binary(Op::kIntEq, x, builder->Int(digit.constant)));
      continue;
    }
    const Term& term = digit.terms[0];
    if (digit.terms.size() > 1 || term.div != 1 || term.mod != 0) return std::nullopt;
    if (inverse.index[term.dim] != sdfg::kNoExpr) return std::nullopt;
    RequireWithin(builder, &inverse, x, digit.constant,
                  digit.constant + term.scale * view.shape[term.dim], extent);
    ExprId steps = digit.constant == 0 ? x : builder->IntAdd(x, builder->Int(-digit.constant));
    if (term.scale != 1) {
      Require(builder, &inverse,
              builder->Binary(Op::kIntEq, builder->IntMod(steps, term.scale), builder->Int(0)));
      steps = builder->IntDiv(steps, term.scale);
    }
    inverse.index[term.dim] = steps;
  }
  for (size_t k = 0; k < view.shape.size(); ++k) {
    if (inverse.index[k] != sdfg::kNoExpr) continue;
    if (view.shape[k] != 1) return std::nullopt;  // its positions overlap
    inverse.index[k] = builder->Int(0);
  }
  return inverse;
}

// Of any view whose strides are nested: by dividing the position.
absl::StatusOr<Inverse> InverseByPosition(IndexFunctionBuilder* builder, const Strided& source,
                                          const Strided& view, const std::vector<ExprId>& at) {
  Inverse inverse;
  inverse.index.assign(view.shape.size(), builder->Int(0));
  const int64_t most = source.end() - source.offset;
  const ExprId position = PositionOf(builder, {0, source.shape, source.strides}, at);
  const int64_t offset = view.offset - source.offset;
  RequireWithin(builder, &inverse, position, offset, view.end() - source.offset, most);
  ExprId rest = builder->IntAdd(position, builder->Int(-offset));
  int64_t outer = 0;
  for (int k : ByStride(view)) {
    const int64_t stride = view.strides[k];
    if (stride == 0 || (outer != 0 && stride * view.shape[k] > outer)) {
      return absl::UnimplementedError(
          "a write into a view whose elements overlap or are not nested has no declared meaning");
    }
    inverse.index[k] = builder->IntDiv(rest, stride);
    if (outer != 0 && stride * view.shape[k] < outer) {
      Require(builder, &inverse,
              builder->Binary(Op::kIntLess, inverse.index[k], builder->Int(view.shape[k])));
    }
    rest = builder->IntMod(rest, stride);
    outer = stride;
  }
  if (outer > 1) Require(builder, &inverse, builder->Binary(Op::kIntEq, rest, builder->Int(0)));
  return inverse;
}

}  // namespace

bool Strided::empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

int64_t Strided::end() const {
  if (empty()) return offset;
  int64_t last = offset;
  for (size_t k = 0; k < shape.size(); ++k) last += (shape[k] - 1) * strides[k];
  return last + 1;
}

int64_t ElementsOf(const sdfg::Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

Strided Contiguous(int64_t offset, sdfg::Shape shape) {
  Strided view{offset, std::move(shape), {}};
  view.strides.resize(view.shape.size());
  int64_t stride = 1;
  for (size_t k = view.shape.size(); k > 0; --k) {
    view.strides[k - 1] = stride;
    stride *= view.shape[k - 1];
  }
  return view;
}

std::string TextOf(const Strided& view) {
  return absl::StrCat(view.offset, "[", absl::StrJoin(view.shape, ","), "|",
                      absl::StrJoin(view.strides, ","), "]");
}

bool IsDense(const Strided& view) {
  if (view.empty()) return false;
  int64_t expected = 1;
  const std::vector<int> dims = ByStride(view);
  for (size_t j = dims.size(); j > 0; --j) {
    if (view.strides[dims[j - 1]] != expected) return false;
    expected *= view.shape[dims[j - 1]];
  }
  return true;
}

bool SamePositions(const Strided& a, const Strided& b) {
  if (a.offset != b.offset || a.shape != b.shape) return false;
  for (size_t k = 0; k < a.shape.size(); ++k) {
    if (a.shape[k] > 1 && a.strides[k] != b.strides[k]) return false;
  }
  return true;
}

absl::StatusOr<sdfg::IndexFunction> ReadFunction(const Strided& source, const Strided& view,
                                                 sdfg::DType dtype) {
  IndexFunctionBuilder builder("view");
  const int input = builder.AddInput("x", source.shape, dtype);
  const int output = builder.AddOutput("y", view.shape, dtype);
  const std::vector<ExprId> index = OutputIndex(&builder, output);
  const std::vector<int> places = ByStride(source);
  const std::optional<std::vector<Digit>> digits = DigitsOf(source, places, view);
  std::vector<ExprId> at(source.shape.size(), builder.Int(0));
  for (size_t j = 0; j < places.size(); ++j) {
    if (digits) {
      at[places[j]] = ExpressionOf(&builder, (*digits)[j], index);
      continue;
    }
    Strided relative = view;
    relative.offset -= source.offset;
    ExprId position = PositionOf(&builder, relative, index);
    const int64_t stride = source.strides[places[j]];
    if (stride > 1) position = builder.IntDiv(position, stride);
    if (j > 0) position = builder.IntMod(position, source.shape[places[j]]);
    at[places[j]] = position;
  }
  builder.SetBody(output, Read(&builder, input, dtype, at));
  return Finish(&builder);
}

absl::StatusOr<sdfg::IndexFunction> UpdateFunction(const Strided& source, const Strided& view,
                                                   sdfg::DType dtype) {
  IndexFunctionBuilder builder("update");
  const int whole = builder.AddInput("x", source.shape, dtype);
  const int part = builder.AddInput("z", view.shape, dtype);
  const int output = builder.AddOutput("y", source.shape, dtype);
  const std::vector<ExprId> at = OutputIndex(&builder, output);
  const std::vector<int> places = ByStride(source);
  std::optional<Inverse> inverse;
  if (const auto digits = DigitsOf(source, places, view); digits) {
    inverse = InverseByDigits(&builder, source, places, *digits, view, at);
  }
  if (!inverse) {
    PLAN_ASSIGN_OR_RETURN(inverse, InverseByPosition(&builder, source, view, at));
  }
  const ExprId update = Read(&builder, part, dtype, inverse->index);
  builder.SetBody(
      output, inverse->condition == sdfg::kNoExpr
                  ? update
                  : builder.Select(inverse->condition, update, Read(&builder, whole, dtype, at)));
  return Finish(&builder);
}

}  // namespace planproof::frontend::torch
