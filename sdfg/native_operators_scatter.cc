// Elements written or added at indices that are data.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/native_operators_windows.h"
#include "sdfg/whole_numbers.h"

namespace planproof::sdfg {
namespace {

struct Scatter {
  bool adds = false;         // else it replaces
  bool whole_rows = false;   // the index has one dimension
};

absl::Status CheckShapes(const NativeCall& call, const Scatter& scatter, const Shape& x,
                         const Shape& index, size_t dim) {
  if (scatter.whole_rows ? index.size() != 1 : index.size() != x.size()) {
    return call.Error(absl::StrCat("operand index has ", index.size(), " dimensions; expected ",
                                   scatter.whole_rows ? 1 : x.size()));
  }
  for (size_t d = 0; d < x.size() && !scatter.whole_rows; ++d) {
    if (d == dim || index[d] == x[d]) continue;
    if (index[d] > x[d]) {
      return call.Error(absl::StrCat("operand index has extent ", index[d], " in dimension ", d,
                                     "; expected ", x[d]));
    }
    return NotCovered(call, absl::StrCat("an index that covers ", index[d], " of ", x[d],
                                         " elements of dimension ", d,
                                         " is not declared; narrow operand x first"));
  }
  if (call.operands[2].kind != Operand::Kind::kTensor) return absl::OkStatus();
  const Shape& source = call.operands[2].shape;
  if (source.size() != x.size()) {
    return call.Error("operands x and source must have the same number of dimensions");
  }
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t expected = d != dim ? x[d] : scatter.whole_rows ? index[0] : index[d];
    if (scatter.whole_rows ? source[d] != expected : source[d] < expected) {
      return call.Error(absl::StrCat("operand source has extent ", source[d], " in dimension ", d,
                                     "; expected ", expected));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTypes(const NativeCall& call, const Scatter& scatter) {
  const DType x = call.operands[0].dtype;
  if (x == DType::kBool || x == DType::kUInt8 || x == DType::kInt8 || x == DType::kInt16) {
    return NotCovered(call, std::string("tensors of type ") + DTypeName(x));
  }
  const Operand& source = call.operands[2];
  if (source.kind == Operand::Kind::kLiteral && !scatter.adds && !scatter.whole_rows) {
    if (!IsInteger(x) || source.literal.IsInteger()) return absl::OkStatus();
    return call.Error("the number written is no integer, but operand x holds integers");
  }
  if (source.kind != Operand::Kind::kTensor) return call.Error("operand source is no tensor");
  if (IsInteger(x) != IsInteger(source.dtype) && x != DType::kUnknown &&
      source.dtype != DType::kUnknown) {
    return call.Error(std::string("operands x and source are of types ") + DTypeName(x) + " and " +
                      DTypeName(source.dtype));
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexFunction> Build(const NativeCall& call, const Scatter& scatter) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  const absl::StatusOr<Shape> index = call.TensorShape(1, "index");
  if (!index.ok()) return index.status();
  const absl::StatusOr<size_t> named = NamedDimension(call, "dim", x->size());
  if (!named.ok()) return named.status();
  const size_t dim = *named;
  absl::Status status = CheckShapes(call, scatter, *x, *index, dim);
  if (!status.ok()) return status;
  status = CheckTypes(call, scatter);
  if (!status.ok()) return status;

  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *x, call.operands[0].dtype);
  status = AddIndexInput(call, 1, &builder);
  if (!status.ok()) return status;
  const Operand& source = call.operands[2];
  if (source.kind == Operand::Kind::kTensor) {
    builder.AddInput("source", source.shape, source.dtype);
  }
  const DType dtype = call.operands[0].dtype;
  const int output = builder.AddOutput("y", *x, dtype);
  std::vector<ExprId> y;
  for (VarId var : builder.OutputDims(output)) y.push_back(builder.Index(var));
  const int64_t extent = (*x)[dim];
  const int64_t entries = scatter.whole_rows ? (*index)[0] : (*index)[dim];
  const OutOfRange mode = OutOfRangeOf(call.Text("mode"));

  // Sums over the entries that go here of what `term` says of entry `at`.
  const auto sum = [&](auto&& term) {
    const VarId var = builder.AddVar("j", entries);
    std::vector<ExprId> at = y;
    at[dim] = builder.Index(var);
    const ExprId entry =
        scatter.whole_rows ? builder.IntElement(1, {at[dim]}) : builder.IntElement(1, at);
    return builder.Reduce(Op::kSum, var, term(at, entry));
  };
  const auto goes_here = [&](ExprId entry) {
    if (extent > 0) entry = IndexWithin(&builder, mode, extent, entry);
    return builder.Unary(Op::kIndicator, builder.Binary(Op::kIntEq, entry, y[dim]));
  };
  const bool number = source.kind == Operand::Kind::kLiteral;
  ExprId added = sum([&](const std::vector<ExprId>& at, ExprId entry) {
    if (number) return goes_here(entry);
    return builder.Binary(Op::kMul, goes_here(entry), ReadNumber(&builder, 2, at));
  });
  ExprId before = ReadNumber(&builder, 0, y);
  if (scatter.adds && scatter.whole_rows && !call.Real("alpha").IsOne()) {
    if (IsInteger(dtype) && !call.Real("alpha").IsInteger()) {
      return call.Error("alpha is no integer, but operand x holds integers");
    }
    added = builder.Binary(Op::kMul, builder.Real(call.Real("alpha")), added);
  }
  const auto count = [&] {
    return sum([&](const std::vector<ExprId>&, ExprId entry) { return goes_here(entry); });
  };
  if (number) {  // it may be written twice
    added = builder.Unary(Op::kIndicator, builder.Binary(Op::kRealLess, builder.Real(0), added));
    added = builder.Binary(Op::kMul, builder.Real(source.literal), added);
  }
  if (!scatter.adds) {
    ExprId written = count();
    if (number) {
      written =
          builder.Unary(Op::kIndicator, builder.Binary(Op::kRealLess, builder.Real(0), written));
    }
    const ExprId kept = builder.Binary(Op::kAdd, builder.Real(1), builder.Unary(Op::kNeg, written));
    before = builder.Binary(Op::kMul, before, kept);
  }
  builder.SetBody(output,
                  AsBody(&builder, dtype, builder.Binary(Op::kAdd, before, added)));
  if (scatter.adds && IsInteger(dtype)) builder.AddAssumption(kNoOverflow);
  if (!scatter.adds && !number) {
    builder.AddPremise(output, builder.Binary(Op::kRealLessEq, count(), builder.Real(1)),
                       "no element is written twice");
  }
  if (mode == OutOfRange::kPromised) {
    const ExprId outside = sum([&](const std::vector<ExprId>&, ExprId entry) {
      const ExprId not_within = builder.Unary(Op::kNot, IsWithin(&builder, extent, entry));
      return builder.Unary(Op::kIndicator, not_within);
    });
    builder.AddPremise(output, builder.Binary(Op::kRealEq, outside, builder.Real(0)),
                       "an index lies within its dimension");
  }
  return Finish(&builder);
}

}  // namespace

void AddScatterOperators(std::vector<NativeOperator>* operators) {
  const auto add = [&](const char* name, const std::string& more, const std::string& documentation,
                       Scatter scatter) {
    const std::string attributes =
        "dim: int, mode in (\"promise_in_bounds\", \"clip\", \"fill\", \"drop\") = "
        "\"promise_in_bounds\"" +
        more;
    operators->push_back({name, std::string(name) + "(x, index, source) {" + attributes + "}",
                          documentation +
                              " Indices out of range are excluded, or by JAX's modes read as the "
                              "nearest one (\"clip\") or left out (\"fill\", \"drop\"); negative ones are out of range. Source: "
                              "torch." +
                              name + ".",
                          3, 3, ParseAttributes(attributes),
                          [scatter](const NativeCall& call) { return Build(call, scatter); }});
  };
  add("scatter_add", "",
      "x with source[i, j, k] added at [i, index[i, j, k], k] for dim = 1.", {true, false});
  add("scatter", ", only reduce in (none, \"add\", \"multiply\") = none",
      "x with source[i, j, k], or a number, at [i, index[i, j, k], k] for dim = 1; no element is "
      "written twice, but by a number.",
      {false, false});
  add("index_add", ", alpha: real = 1",
      "x with alpha source[i, j, k] added at [i, index[j], k] for dim = 1.", {true, true});
  add("index_copy", "",
      "x with source[i, j, k] at [i, index[j], k] for dim = 1; no element is written twice.",
      {false, true});
}

}  // namespace planproof::sdfg
