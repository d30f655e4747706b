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
  bool adds = false;        // else it replaces
  bool whole_rows = false;  // the index has one dimension
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

class ScatterBuilder {
 public:
  ScatterBuilder(const NativeCall& call, const Scatter& scatter)
      : call_(call),
        scatter_(scatter),
        source_(call.operands[2]),
        number_(source_.kind == Operand::Kind::kLiteral),
        mode_(OutOfRangeOf(call.Text("mode"))),
        builder_(call.name) {}

  absl::StatusOr<IndexFunction> Run() {
    absl::Status status = Start();
    if (!status.ok()) return status;
    const DType dtype = call_.operands[0].dtype;
    const absl::StatusOr<ExprId> added = Added();
    if (!added.ok()) return added.status();
    ExprId before = ReadNumber(&builder_, 0, y_);
    if (!scatter_.adds) {
      const ExprId written = builder_.Unary(Op::kNeg, Written());
      before =
          builder_.Binary(Op::kMul, before, builder_.Binary(Op::kAdd, builder_.Real(1), written));
    }
    builder_.SetBody(output_, AsBody(&builder_, dtype, builder_.Binary(Op::kAdd, before, *added)));
    if (scatter_.adds && IsInteger(dtype)) builder_.AddAssumption(kNoOverflow);
    if (!scatter_.adds && !number_) {
      builder_.AddPremise(output_, builder_.Binary(Op::kRealLessEq, Count(), builder_.Real(1)),
                          "no element is written twice");
    }
    if (mode_ == OutOfRange::kPromised) AddPromises();
    return Finish(&builder_);
  }

 private:
  absl::Status Start() {
    const absl::StatusOr<Shape> x = call_.TensorShape(0, "x");
    if (!x.ok()) return x.status();
    const absl::StatusOr<Shape> index = call_.TensorShape(1, "index");
    if (!index.ok()) return index.status();
    const absl::StatusOr<size_t> named = NamedDimension(call_, "dim", x->size());
    if (!named.ok()) return named.status();
    dim_ = *named;
    absl::Status status = CheckShapes(call_, scatter_, *x, *index, dim_);
    if (!status.ok()) return status;
    status = CheckTypes(call_, scatter_);
    if (!status.ok()) return status;
    builder_.AddInput("x", *x, call_.operands[0].dtype);
    status = AddIndexInput(call_, 1, &builder_);
    if (!status.ok()) return status;
    if (!number_) builder_.AddInput("source", source_.shape, source_.dtype);
    output_ = builder_.AddOutput("y", *x, call_.operands[0].dtype);
    for (VarId var : builder_.OutputDims(output_)) y_.push_back(builder_.Index(var));
    extent_ = (*x)[dim_];
    entries_ = scatter_.whole_rows ? (*index)[0] : (*index)[dim_];
    return absl::OkStatus();
  }

  // What entry `at` of the index says.
  ExprId Entry(const std::vector<ExprId>& at) {
    return builder_.IntElement(1, scatter_.whole_rows ? std::vector<ExprId>{at[dim_]} : at);
  }

  // The entries that go to this element: their number, or the sum of their sources.
  ExprId Sum(bool with_source) {
    const VarId var = builder_.AddVar("j", entries_);
    std::vector<ExprId> at = y_;
    at[dim_] = builder_.Index(var);
    ExprId entry = Entry(at);
    if (extent_ > 0) entry = IndexWithin(&builder_, mode_, extent_, entry);
    ExprId body = builder_.Unary(Op::kIndicator, builder_.Binary(Op::kIntEq, entry, y_[dim_]));
    if (with_source) body = builder_.Binary(Op::kMul, body, ReadNumber(&builder_, 2, at));
    return builder_.Reduce(Op::kSum, var, body);
  }
  ExprId Count() { return Sum(false); }

  // 1 where something is written. A number may be written twice.
  ExprId Written() {
    if (!number_) return Count();
    return builder_.Unary(Op::kIndicator,
                          builder_.Binary(Op::kRealLess, builder_.Real(0), Count()));
  }

  absl::StatusOr<ExprId> Added() {
    if (number_) return builder_.Binary(Op::kMul, builder_.Real(source_.literal), Written());
    const ExprId added = Sum(true);
    if (!scatter_.adds || !scatter_.whole_rows || call_.Real("alpha").IsOne()) return added;
    if (IsInteger(call_.operands[0].dtype) && !call_.Real("alpha").IsInteger()) {
      return call_.Error("alpha is no integer, but operand x holds integers");
    }
    return builder_.Binary(Op::kMul, builder_.Real(call_.Real("alpha")), added);
  }

  // Element v of the result vouches for entries v, v + extent, ... if these are few, else each for
  // all of them.
  void AddPromises() {
    constexpr int64_t kMostPromises = 16;
    const char* text = "an index lies within its dimension";
    if (extent_ > 0 && (entries_ + extent_ - 1) / extent_ <= kMostPromises) {
      for (int64_t first = 0; first < entries_; first += extent_) {
        std::vector<ExprId> at = y_;
        at[dim_] = builder_.IntAdd(y_[dim_], builder_.Int(first));
        ExprId entry = Entry(at);
        if (entries_ - first < extent_) {
          const ExprId some =
              builder_.Binary(Op::kIntLess, y_[dim_], builder_.Int(entries_ - first));
          entry = builder_.Select(some, entry, builder_.Int(0));
        }
        builder_.AddPremise(output_, IsWithin(&builder_, extent_, entry), text);
      }
      return;
    }
    const VarId var = builder_.AddVar("j", entries_);
    std::vector<ExprId> at = y_;
    at[dim_] = builder_.Index(var);
    const ExprId outside = builder_.Unary(Op::kNot, IsWithin(&builder_, extent_, Entry(at)));
    const ExprId count = builder_.Reduce(Op::kSum, var, builder_.Unary(Op::kIndicator, outside));
    builder_.AddPremise(output_, builder_.Binary(Op::kRealEq, count, builder_.Real(0)), text);
  }

  const NativeCall& call_;
  const Scatter& scatter_;
  const Operand& source_;
  const bool number_;
  const OutOfRange mode_;
  IndexFunctionBuilder builder_;
  size_t dim_ = 0;
  int64_t extent_ = 0;
  int64_t entries_ = 0;
  int output_ = 0;
  std::vector<ExprId> y_;
};

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
                              "nearest one (\"clip\") or left out (\"fill\", \"drop\"); negative "
                              "ones are out of range. Source: "
                              "torch." +
                              name + ".",
                          3, 3, ParseAttributes(attributes), [scatter](const NativeCall& call) {
                            return ScatterBuilder(call, scatter).Run();
                          }});
  };
  add("scatter_add", "", "x with source[i, j, k] added at [i, index[i, j, k], k] for dim = 1.",
      {true, false});
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
