// Matrix products whose dimensions follow from ranks or from an equation: matmul, bmm, einsum.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sdfg/declaration_instantiate.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/narrow_types.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {
namespace {

absl::Status NoIntegers(const NativeCall& call) {
  for (const Operand& operand : call.operands) {
    if (IsInteger(operand.dtype)) return call.Error("expected tensors of real numbers");
  }
  if (IsNarrow(PromotedType(call.operands))) {
    return call.Error("expected tensors of real numbers, not of truth values");
  }
  return absl::OkStatus();
}

// Batch extents of both operands broadcast against each other.
absl::StatusOr<Shape> BroadcastBatch(const NativeCall& call, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k < out.size(); ++k) {
    size_t from_end = out.size() - k;
    int64_t left = from_end <= a.size() ? a[a.size() - from_end] : 1;
    int64_t right = from_end <= b.size() ? b[b.size() - from_end] : 1;
    if (left != right && left != 1 && right != 1) {
      return call.Error("operand x has batch extent " + std::to_string(left) +
                        ", but operand y has extent " + std::to_string(right));
    }
    out[k] = left == 1 ? right : left;
  }
  return out;
}

std::vector<ExprId> BatchIndices(IndexFunctionBuilder* builder, const std::vector<VarId>& vars,
                                 const Shape& out, const Shape& batch) {
  std::vector<ExprId> indices;
  for (size_t k = 0; k < batch.size(); ++k) {
    size_t at = out.size() - batch.size() + k;
    bool repeated = batch[k] == 1 && out[at] != 1;
    indices.push_back(repeated ? builder->Int(0) : builder->Index(vars[at]));
  }
  return indices;
}

absl::StatusOr<IndexFunction> MatMul(const NativeCall& call) {
  absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  absl::StatusOr<Shape> y = call.TensorShape(1, "y");
  if (!x.ok()) return x.status();
  if (!y.ok()) return y.status();
  absl::Status status = NoIntegers(call);
  if (!status.ok()) return status;
  if (x->empty() || y->empty()) return call.Error("a matrix product needs at least 1 dimension");
  if (call.name == "bmm" && (x->size() != 3 || y->size() != 3)) {
    return call.Error("expected operands of 3 dimensions");
  }
  bool row = x->size() > 1;     // x has rows, otherwise it is a vector
  bool column = y->size() > 1;  // y has columns
  int64_t inner_x = x->back();
  int64_t inner_y = column ? (*y)[y->size() - 2] : (*y)[0];
  if (inner_x != inner_y) {
    return call.Error("operand x has extent " + std::to_string(inner_x) + " in dimension " +
                      std::to_string(x->size() - 1) + ", but operand y has extent " +
                      std::to_string(inner_y) + " in dimension " +
                      std::to_string(column ? y->size() - 2 : 0));
  }
  Shape batch_x(x->begin(), x->end() - (row ? 2 : 1));
  Shape batch_y(y->begin(), y->end() - (column ? 2 : 1));
  absl::StatusOr<Shape> batch = BroadcastBatch(call, batch_x, batch_y);
  if (!batch.ok()) return batch.status();
  Shape out = *batch;
  if (row) out.push_back((*x)[x->size() - 2]);
  if (column) out.push_back(y->back());
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *x, call.operands[0].dtype);
  builder.AddInput("y", *y, call.operands[1].dtype);
  int output = builder.AddOutput("z", out, PromotedType(call.operands));
  std::vector<VarId> vars = builder.OutputDims(output);
  VarId k = builder.AddVar("k", inner_x);
  std::vector<ExprId> left = BatchIndices(&builder, vars, *batch, batch_x);
  if (row) left.push_back(builder.Index(vars[batch->size()]));
  left.push_back(builder.Index(k));
  std::vector<ExprId> right = BatchIndices(&builder, vars, *batch, batch_y);
  right.push_back(builder.Index(k));
  if (column) right.push_back(builder.Index(vars.back()));
  ExprId product = builder.Binary(Op::kMul, builder.Element(0, left), builder.Element(1, right));
  builder.SetBody(output, builder.Reduce(Op::kSum, k, product));
  return Finish(&builder);
}

// "bij,bjk->bik": terms of letters and the result's letters.
struct EinsumEquation {
  std::vector<std::string> terms;
  std::string result;
};

absl::StatusOr<EinsumEquation> ParseEquation(const NativeCall& call, const std::string& text) {
  EinsumEquation equation;
  std::string letters;
  for (char c : text) {
    if (c != ' ') letters += c;
  }
  size_t arrow = letters.find("->");
  std::string left = letters.substr(0, arrow);
  std::string term;
  for (char c : left + ",") {
    if (c == ',') {
      equation.terms.push_back(std::move(term));
      term.clear();
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      term += c;
    } else {
      return call.Error("equation \"" + text + "\": unexpected '" + std::string(1, c) +
                        "'; expected letters, ',' and '->'");
    }
  }
  if (arrow != std::string::npos) {
    equation.result = letters.substr(arrow + 2);
  } else {  // letters that stand once, in alphabetical order
    std::map<char, int> count;
    for (const std::string& t : equation.terms) {
      for (char c : t) ++count[c];
    }
    for (const auto& [c, times] : count) {
      if (times == 1) equation.result += c;
    }
  }
  std::set<char> seen;
  for (char c : equation.result) {
    bool known = left.find(c) != std::string::npos && c != ',';
    if (!known || !seen.insert(c).second) {
      return call.Error("equation \"" + text + "\": the result has '" + std::string(1, c) +
                        (known ? "' twice" : "', which no operand has"));
    }
  }
  return equation;
}

absl::StatusOr<IndexFunction> Einsum(const NativeCall& call) {
  std::string text = call.Text("equation");
  absl::StatusOr<EinsumEquation> equation = ParseEquation(call, text);
  if (!equation.ok()) return equation.status();
  absl::Status status = NoIntegers(call);
  if (!status.ok()) return status;
  if (equation->terms.size() != call.operands.size()) {
    return call.Error("equation \"" + text + "\" has " + std::to_string(equation->terms.size()) +
                      " operands, but " + std::to_string(call.operands.size()) + " are given");
  }
  IndexFunctionBuilder builder(call.name);
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    std::string name = "x" + std::to_string(i);
    absl::StatusOr<Shape> shape = call.TensorShape(i, name);
    if (!shape.ok()) return shape.status();
    const std::string& term = equation->terms[i];
    if (shape->size() != term.size()) {
      return call.Error("operand " + name + " has shape " + ShapeText(*shape) +
                        ", but equation \"" + text + "\" has " + term);
    }
    for (size_t d = 0; d < term.size(); ++d) {
      auto [it, fresh] = extents.emplace(term[d], (*shape)[d]);
      if (fresh || it->second == (*shape)[d]) continue;
      return call.Error("operand " + name + " has extent " + std::to_string((*shape)[d]) +
                        " in dimension " + std::to_string(d) + ", but '" + term[d] +
                        "' has extent " + std::to_string(it->second));
    }
    builder.AddInput(name, *shape, call.operands[i].dtype);
  }
  std::map<char, VarId> vars;
  std::vector<VarId> dims;
  for (char c : equation->result) {
    vars[c] = builder.AddVar(std::string(1, c), extents.at(c));
    dims.push_back(vars[c]);
  }
  std::vector<VarId> summed;
  for (const auto& [c, extent] : extents) {
    if (vars.count(c) != 0) continue;
    vars[c] = builder.AddVar(std::string(1, c), extent);
    summed.push_back(vars[c]);
  }
  int output = builder.AddOutput("y", dims, PromotedType(call.operands));
  ExprId body = kNoExpr;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    std::vector<ExprId> indices;
    for (char c : equation->terms[i]) indices.push_back(builder.Index(vars[c]));
    ExprId element = builder.Element(static_cast<int>(i), indices);
    body = body == kNoExpr ? element : builder.Binary(Op::kMul, body, element);
  }
  for (size_t k = summed.size(); k-- > 0;) body = builder.Reduce(Op::kSum, summed[k], body);
  builder.SetBody(output, body);
  return Finish(&builder);
}

}  // namespace

void AddContractionOperators(std::vector<NativeOperator>* operators) {
  operators->push_back(
      {"matmul",
       "matmul(x[b.., m, k], y[b.., k, n]) -> z[b.., m, n] = sum(k: x[b.., m, k] * y[b.., k, n])",
       "Matrix product; batch dimensions are broadcast, a vector counts as one row or column. "
       "Source: torch.matmul.",
       2,
       2,
       {},
       MatMul});
  operators->push_back(
      {"bmm",
       "bmm(x[b, m, k], y[b, k, n]) -> z[b, m, n] = sum(k: x[b, m, k] * y[b, k, n])",
       "Matrix product of a batch. Source: torch.bmm.",
       2,
       2,
       {},
       MatMul});
  operators->push_back({"einsum", "einsum(x0, x1, ...) {equation: string}",
                        "Sum of products over the letters that the result does not have; without "
                        "'->' the result has "
                        "the letters that stand once, in alphabetical order. Source: torch.einsum.",
                        1, 16, ParseAttributes("equation: string"), Einsum});
}

}  // namespace planproof::sdfg
