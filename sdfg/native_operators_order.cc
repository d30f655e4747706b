// Sorting and the largest elements. Which elements these are is an uninterpreted function of a row,
// the one that gate_fw has: the same row has the same order, and nothing else is assumed about it.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/native_operators_windows.h"

namespace planproof::sdfg {
namespace {

enum class Wanted { kBoth, kIndices };

struct Order {
  std::string dim = "dim";
  int64_t count = 0;
  bool largest = true;
  Wanted wanted = Wanted::kBoth;
  bool dropped = false;    // of one element: the dimension is dropped
  bool any_order = false;  // the framework does not say in which order equal elements come
  bool sorted = true;      // else it does not say in which order any come
};

absl::StatusOr<IndexFunction> Build(const NativeCall& call, const Order& order) {
  const Shape& x = call.operands[0].shape;
  const DType dtype = call.operands[0].dtype;
  const absl::StatusOr<size_t> named = NamedDimension(call, order.dim, x.size());
  if (!named.ok()) return named.status();
  const size_t dim = *named;
  if (dtype == DType::kBool) return NotCovered(call, "truth values");
  if (x[dim] < 1) return NotCovered(call, "an order of no elements");
  if (order.count < 1 || order.count > x[dim]) {
    return call.Error(absl::StrCat("k is ", order.count, "; expected 1 to ", x[dim],
                                   ", the extent of the dimension"));
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", x, dtype);
  Shape out = x;
  out[dim] = order.count;
  if (order.dropped) out.erase(out.begin() + dim);
  // The position in x of element `at`, and the other indices of its row.
  const auto choice = [&](const std::vector<VarId>& dims, std::vector<ExprId>* row) {
    for (VarId var : dims) row->push_back(builder.Index(var));
    ExprId rank = builder.Int(0);
    if (order.dropped) {
      row->insert(row->begin() + dim, rank);
    } else {
      rank = (*row)[dim];
    }
    const VarId var = builder.AddVar("v", x[dim]);
    (*row)[dim] = builder.Index(var);
    ExprId score = ReadNumber(&builder, 0, *row);
    if (!order.largest) score = builder.Unary(Op::kNeg, score);
    return builder.Opaque(
        absl::StrCat("topk_index(k=", order.count, order.sorted ? ")" : ",sorted=false)"), true,
        var, {score, rank});
  };
  if (order.wanted == Wanted::kBoth) {
    const int values = builder.AddOutput("values", out, dtype);
    std::vector<ExprId> row;
    const ExprId chosen = choice(builder.OutputDims(values), &row);
    const VarId var = builder.AddVar("u", x[dim]);
    row[dim] = builder.Index(var);
    const ExprId here = builder.Unary(Op::kIndicator, builder.Binary(Op::kIntEq, chosen, row[dim]));
    const ExprId value =
        builder.Reduce(Op::kSum, var, builder.Binary(Op::kMul, here, ReadNumber(&builder, 0, row)));
    builder.SetBody(values, AsBody(&builder, dtype, value));
  }
  const int indices = builder.AddOutput("indices", out, DType::kInt64);
  std::vector<ExprId> row;
  builder.SetBody(indices, choice(builder.OutputDims(indices), &row));
  if (!order.sorted) {
    builder.AddAssumption("the largest elements of equal rows come in the same order");
  }
  if (order.any_order) builder.AddAssumption("equal elements are ordered by their indices");
  return Finish(&builder);
}

using Read = absl::StatusOr<Order> (*)(const NativeCall& call, const Shape& x);

int64_t Extent(const NativeCall& call, const Shape& x) {
  const absl::StatusOr<size_t> dim = NamedDimension(call, "dim", x.size());
  return dim.ok() ? x[*dim] : 1;
}

}  // namespace

void AddOrderOperators(std::vector<NativeOperator>* operators) {
  const auto add = [&](const char* name, const std::string& attributes, const std::string& outputs,
                       const char* documentation, Read read) {
    operators->push_back(
        {name, std::string(name) + "(x) {" + attributes + "} -> " + outputs,
         std::string(documentation) + " The choice is an uninterpreted function of the row.", 1, 1,
         ParseAttributes(attributes),
         [read](const NativeCall& call) -> absl::StatusOr<IndexFunction> {
           const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
           if (!x.ok()) return x.status();
           const absl::StatusOr<Order> order = read(call, *x);
           if (!order.ok()) return order.status();
           return Build(call, *order);
         }});
  };
  add("topk", "k: int, dim: int = -1, largest = true, sorted = true", "values, indices",
      "The k largest (smallest) elements along a dimension, best first; without `sorted` in some "
      "order, the same for equal rows. Source: torch.topk.",
      [](const NativeCall& call, const Shape&) -> absl::StatusOr<Order> {
        return Order{"dim", call.Int("k"), call.Bool("largest"), Wanted::kBoth,
                     false, true,          call.Bool("sorted")};
      });
  add("top_k", "k: int, dim: int = -1", "values, indices",
      "The k largest elements along a dimension, best first, equal ones by their indices. Source: "
      "jax.lax.top_k.",
      [](const NativeCall& call, const Shape&) -> absl::StatusOr<Order> {
        return Order{"dim", call.Int("k"), true, Wanted::kBoth, false, false};
      });
  const char* sorting = "dim: int = -1, descending = false, stable = false";
  add("sort", sorting, "values, indices",
      "The elements of a dimension in order, and where they were. Source: torch.sort.",
      [](const NativeCall& call, const Shape& x) -> absl::StatusOr<Order> {
        return Order{"dim",         Extent(call, x), call.Bool("descending"),
                     Wanted::kBoth, false,           !call.Bool("stable")};
      });
  add("argsort", sorting, "indices",
      "Where the elements of a dimension are, in order. Source: torch.argsort.",
      [](const NativeCall& call, const Shape& x) -> absl::StatusOr<Order> {
        return Order{"dim", Extent(call, x),     call.Bool("descending"), Wanted::kIndices,
                     false, !call.Bool("stable")};
      });
  add("argmax", "dim: int, keepdim = false", "indices",
      "The index of the largest element of a dimension, the first of equal ones. Source: "
      "torch.argmax.",
      [](const NativeCall& call, const Shape&) -> absl::StatusOr<Order> {
        return Order{"dim", 1, true, Wanted::kIndices, !call.Bool("keepdim"), false};
      });
  add("argmin", "dim: int, keepdim = false", "indices",
      "The index of the smallest element of a dimension, the first of equal ones. Source: "
      "torch.argmin.",
      [](const NativeCall& call, const Shape&) -> absl::StatusOr<Order> {
        return Order{"dim", 1, false, Wanted::kIndices, !call.Bool("keepdim"), false};
      });
}

}  // namespace planproof::sdfg
