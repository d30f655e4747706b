#include "lineage/rounds/masked_functions.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "lineage/rounds/at_rank.h"
#include "lineage/rounds/recurrence.h"

namespace planproof::lineage::rounds {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::kNoExpr;
using sdfg::Node;
using sdfg::Op;
using sdfg::Shape;
using sdfg::VarId;

namespace {

constexpr int kMaxCopied = 1000;     // expressions
constexpr int64_t kMaxRanks = 4096;  // there is a bound for each rank in each round
constexpr size_t kMaxFactors = 16;

// The factors of a product and the condition under which it is not 0.
struct Product {
  std::vector<ExprId> factors;
  Condition condition;
};

bool IsZero(const Node& node) { return node.op == Op::kReal && node.real == solver::Rational(); }

bool AddFactors(const AtRank& at, ExprId id, Product* product) {
  if (product->factors.size() > kMaxFactors) return false;
  id = at.Chosen(id);
  const Node& node = at.At(id);
  if (node.op == Op::kMul) {
    return AddFactors(at, node.args[0], product) && AddFactors(at, node.args[1], product);
  }
  if (IsZero(node)) {
    product->condition = {Condition::Kind::kNever, {}, 0};
    return true;
  }
  if (node.op != Op::kSelect) {
    product->factors.push_back(id);
    return true;
  }
  const auto condition = at.ConditionAt(node.args[0]);
  if (!condition.has_value() || !IsZero(at.At(node.args[2]))) return false;
  const auto both = Both(product->condition, *condition);
  if (!both.has_value()) return false;
  product->condition = *both;
  return AddFactors(at, node.args[1], product);
}

// A bound of one form for each rank and piece. What is always or never so is a bound beyond the
// form's range.
class Bounds {
 public:
  explicit Bounds(const MaskedRounds& rounds) : rounds_(rounds) {}

  bool Add(size_t round, int64_t rank, const Condition& condition) {
    const int64_t n = rounds_.count;
    const int64_t shift = rounds_.step * static_cast<int64_t>(round) % n;
    const int64_t piece = (rank + n - shift) % n;
    if (condition.kind == Condition::Kind::kLinear) {
      if (form_.empty()) form_ = condition.form;
      if (condition.form != form_) return false;
    }
    entries_.push_back({rank, piece, condition.kind, condition.bound});
    return true;
  }

  const std::map<int, int64_t>& form() const { return form_; }

  // Of the rank, of the piece, and what is left.
  std::optional<std::array<int64_t, 3>> Affine(const IndexFunction& f) {
    if (form_.empty() || entries_.size() != static_cast<size_t>(rounds_.count * rounds_.count)) {
      return std::nullopt;
    }
    for (const auto& [name, factor] : form_) {
      if (name == kOfMaximum) return std::nullopt;
      const int64_t end = factor * (f.vars[f.outputs[0].dims[name]].extent - 1);
      least_ += std::min<int64_t>(end, 0);
      most_ += std::max<int64_t>(end, 0);
    }
    for (const auto& candidate : Candidates()) {
      if (Fits(candidate)) return candidate;
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    int64_t rank = 0, piece = 0;
    Condition::Kind kind = Condition::Kind::kAlways;
    int64_t bound = 0;
  };

  // All bounds are the same condition that are at least the form's largest value, or less than its
  // least.
  int64_t Clipped(int64_t bound) const { return std::clamp(bound, least_ - 1, most_); }
  int64_t ClippedAt(const Entry& entry) const {
    if (entry.kind == Condition::Kind::kAlways) return most_;
    return entry.kind == Condition::Kind::kNever ? least_ - 1 : Clipped(entry.bound);
  }

  // Guesses; each is tried.
  std::vector<std::array<int64_t, 3>> Candidates() const {
    std::vector<std::array<int64_t, 3>> found;
    std::map<std::pair<int64_t, int64_t>, const Entry*> at;
    for (const Entry& entry : entries_) {
      if (entry.rank < 2 && entry.piece < 2) at[{entry.rank, entry.piece}] = &entry;
    }
    const Entry &start = *at[{0, 0}], &rank = *at[{1, 0}], &piece = *at[{0, 1}];
    constexpr auto kLinear = Condition::Kind::kLinear;
    if (start.kind != kLinear) return found;
    if (rank.kind == kLinear && piece.kind == kLinear) {
      found.push_back({rank.bound - start.bound, piece.bound - start.bound, start.bound});
    }
    // Blocks one after another, of which only those of the diagonal are masked in part.
    const int64_t block = std::max(most_ - start.bound, start.bound - least_ + 1);
    found.push_back({block, -block, start.bound});
    return found;
  }

  bool Fits(const std::array<int64_t, 3>& affine) const {
    if (std::any_of(affine.begin(), affine.end(),
                    [](int64_t x) { return std::abs(x) >= kMaxBound; })) {
      return false;
    }
    return std::all_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      const int64_t bound = affine[0] * entry.rank + affine[1] * entry.piece + affine[2];
      return Clipped(bound) == ClippedAt(entry);
    });
  }

  const MaskedRounds& rounds_;
  std::map<int, int64_t> form_;
  std::vector<Entry> entries_;
  int64_t least_ = 0, most_ = 0;  // values of the form
};

// Copies expressions into a function that has the piece after the coordinates.
class WithPiece {
 public:
  WithPiece(const MaskedRounds& rounds, const IndexFunction& f)
      : rounds_(rounds), f_(f), builder_(f.operator_name), vars_(f.vars.size(), -1) {
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      const sdfg::FunctionInput& input = f.inputs[i];
      const bool pieces = rounds.of_piece[i];
      builder_.AddInput(input.name, pieces ? Inserted(input.shape) : input.shape, input.dtype);
    }
    const sdfg::FunctionOutput& output = f.outputs[0];
    builder_.AddOutput(output.name, Inserted(output.shape(f.vars)), output.dtype);
    const std::vector<VarId> dims = builder_.OutputDims(0);
    for (size_t d = 0; d < output.dims.size(); ++d) {
      vars_[output.dims[d]] = dims[d < rounds.axes ? d : d + 1];
    }
    rank_ = builder_.Index(dims[rounds.ring]);
    piece_ = builder_.Index(dims[rounds.axes]);
  }

  IndexFunctionBuilder& builder() { return builder_; }
  ExprId rank() const { return rank_; }
  ExprId piece() const { return piece_; }
  ExprId Dim(int d) { return builder_.Index(vars_[f_.outputs[0].dims[d]]); }
  VarId NewVar(VarId var) {
    return vars_[var] = builder_.AddVar(f_.vars[var].name, f_.vars[var].extent);
  }

  // kNoExpr if it depends on coordinates other than by reading at the output's own.
  ExprId Copy(ExprId id) {
    Node node = f_.nodes[id];
    if (++copied_ > kMaxCopied || node.op == Op::kOpaque || node.op == Op::kNegInf) return kNoExpr;
    if (node.op == Op::kIndex) {
      return IsCoordinate(node.var) || vars_[node.var] < 0 ? kNoExpr
                                                           : builder_.Index(vars_[node.var]);
    }
    const bool reads = node.op == Op::kElement || node.op == Op::kIntElement;
    if (node.op == Op::kSum || node.op == Op::kReduceMax || node.op == Op::kReduceMin) {
      node.var = NewVar(node.var);
    }
    sdfg::Node copy = node;
    copy.args.clear();
    for (size_t d = 0; d < node.args.size(); ++d) {
      if (reads && d < rounds_.axes) {
        const Node& index = f_.nodes[node.args[d]];
        if (index.op != Op::kIndex || index.var != f_.outputs[0].dims[d]) return kNoExpr;
        copy.args.push_back(builder_.Index(vars_[index.var]));
      } else {
        copy.args.push_back(Copy(node.args[d]));
        if (copy.args.back() == kNoExpr) return kNoExpr;
      }
      if (reads && d + 1 == rounds_.axes && rounds_.of_piece[node.input]) {
        copy.args.push_back(piece_);
      }
    }
    return builder_.AddNode(std::move(copy));
  }

  std::optional<IndexFunction> Finish(ExprId body) {
    if (body == kNoExpr) return std::nullopt;
    builder_.SetBody(0, body);
    IndexFunction made;
    if (!builder_.Finish(&made).ok()) return std::nullopt;
    return made;
  }

 private:
  Shape Inserted(Shape shape) const {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(rounds_.axes), rounds_.count);
    return shape;
  }
  bool IsCoordinate(VarId var) const {
    const std::vector<VarId>& dims = f_.outputs[0].dims;
    return std::find(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(rounds_.axes), var) !=
           dims.begin() + static_cast<std::ptrdiff_t>(rounds_.axes);
  }

  const MaskedRounds& rounds_;
  const IndexFunction& f_;
  IndexFunctionBuilder builder_;
  std::vector<VarId> vars_;
  ExprId rank_ = kNoExpr, piece_ = kNoExpr;
  int copied_ = 0;
};

bool HasCoordinates(const IndexFunction& f, size_t axes) {
  return std::all_of(f.inputs.begin(), f.inputs.end(),
                     [&](const sdfg::FunctionInput& input) { return input.shape.size() >= axes; });
}

// All are functions of one output, of one shape, that are defined wherever their nodes are.
bool AreAlike(const MaskedRounds& rounds) {
  if (rounds.functions.size() != static_cast<size_t>(rounds.count) || rounds.count > kMaxRanks)
    return false;
  const Shape shape = rounds.functions[0]->outputs[0].shape(rounds.functions[0]->vars);
  return std::all_of(rounds.functions.begin(), rounds.functions.end(), [&](const auto& f) {
    return f->outputs.size() == 1 && f->premises.empty() && f->outputs[0].body != kNoExpr &&
           !sdfg::IsInteger(f->outputs[0].dtype) && f->outputs[0].shape(f->vars) == shape &&
           shape.size() >= rounds.axes && HasCoordinates(*f, rounds.axes);
  });
}

}  // namespace

std::optional<IndexFunction> ProductOfAllRounds(const MaskedRounds& rounds) {
  if (!AreAlike(rounds)) return std::nullopt;
  const IndexFunction* of = nullptr;  // whose factors stand for those of all
  std::vector<ExprId> factors;
  Bounds bounds(rounds);
  const auto same = [](int a, int b) { return a == b; };
  for (size_t r = 0; r < rounds.functions.size(); ++r) {
    const IndexFunction& f = *rounds.functions[r];
    if (f.inputs.size() != rounds.of_piece.size()) return std::nullopt;
    for (int64_t rank = 0; rank < rounds.count; ++rank) {
      const AtRank at(f, rounds.axes, rounds.ring, rank);
      Product product;
      if (!AddFactors(at, f.outputs[0].body, &product) || !bounds.Add(r, rank, product.condition)) {
        return std::nullopt;
      }
      if (product.condition.kind == Condition::Kind::kNever) {
        // What is multiplied by 0 has to be defined all the same.
        if (!product.factors.empty()) return std::nullopt;
        continue;
      }
      if (of == nullptr) {
        of = &f;
        factors = product.factors;
      }
      if (product.factors.size() != factors.size()) return std::nullopt;
      for (size_t i = 0; i < factors.size(); ++i) {
        if (!SameExpression(f, product.factors[i], *of, factors[i], {}, same)) return std::nullopt;
      }
    }
  }
  if (of == nullptr) return std::nullopt;
  const auto affine = bounds.Affine(*of);
  if (!affine.has_value()) return std::nullopt;
  WithPiece made(rounds, *of);
  IndexFunctionBuilder& b = made.builder();
  ExprId left = b.Int(0), right = b.Int((*affine)[2]);
  for (const auto& [name, factor] : bounds.form()) {
    left = b.IntAdd(left, b.IntScale(factor, made.Dim(name)));
  }
  right = b.IntAdd(right, b.IntScale((*affine)[0], made.rank()));
  right = b.IntAdd(right, b.IntScale((*affine)[1], made.piece()));
  ExprId body = b.Unary(Op::kIndicator, b.Binary(Op::kIntLessEq, left, right));
  for (const ExprId factor : factors) {
    const ExprId copy = made.Copy(factor);
    if (copy == kNoExpr) return std::nullopt;
    body = b.Binary(Op::kMul, body, copy);
  }
  return made.Finish(body);
}

namespace {

// max over k of x where the condition holds.
struct Row {
  VarId var = -1;
  ExprId element = kNoExpr;
  Condition condition;
};

std::optional<Row> RowOf(AtRank* at, ExprId id) {
  id = at->Chosen(id);
  if (at->At(id).op != Op::kReduceMax) return std::nullopt;
  Row row;
  row.var = at->At(id).var;
  at->SetOfMaximum(row.var);
  if (at->function().vars[row.var].extent < 1) return std::nullopt;
  row.element = at->Chosen(at->At(id).args[0]);
  if (at->At(row.element).op != Op::kSelect) return row;
  const Node& select = at->At(row.element);
  const auto condition = at->ConditionAt(select.args[0]);
  if (!condition.has_value() || at->At(select.args[2]).op != Op::kNegInf) return std::nullopt;
  row.condition = *condition;
  row.element = select.args[1];
  return row;
}

// Some index of the maximum meets the condition, whatever the others are.
bool HasOne(const IndexFunction& f, const Row& row) {
  if (row.condition.kind != Condition::Kind::kLinear)
    return row.condition.kind == Condition::Kind::kAlways;
  int64_t most = 0;
  for (const auto& [name, factor] : row.condition.form) {
    const VarId var = name == kOfMaximum ? row.var : f.outputs[0].dims[name];
    const int64_t end = factor * (f.vars[var].extent - 1);
    most += name == kOfMaximum ? std::min<int64_t>(end, 0) : std::max<int64_t>(end, 0);
  }
  return most <= row.condition.bound;
}

// Reads the input at the output's coordinates and at indices that stay within its dimensions.
bool IsElementOf(const IndexFunction& f, ExprId id, int input, size_t axes) {
  const Node& node = f.nodes[id];
  if (node.op != Op::kElement || node.input != input) return false;
  for (size_t d = 0; d < node.args.size(); ++d) {
    const Node& index = f.nodes[node.args[d]];
    const int64_t extent = f.inputs[input].shape[d];
    if (d < axes && (index.op != Op::kIndex || index.var != f.outputs[0].dims[d])) return false;
    if (index.op == Op::kIntConst ? index.value < 0 || index.value >= extent
                                  : index.op != Op::kIndex || f.vars[index.var].extent > extent) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<IndexFunction> MaximumOfAllRounds(const MaskedRounds& rounds, int input, int before) {
  if (!AreAlike(rounds) || rounds.functions[0]->inputs.size() != 1) return std::nullopt;
  const IndexFunction& first = *rounds.functions[0];
  std::optional<Row> of;
  bool masked = false;
  for (size_t r = 0; r < rounds.functions.size(); ++r) {
    const IndexFunction& f = *rounds.functions[r];
    const int read = r == 0 ? 0 : input;
    for (int64_t rank = 0; rank < rounds.count; ++rank) {
      AtRank at(f, rounds.axes, rounds.ring, rank);
      ExprId value = at.Chosen(f.outputs[0].body);
      if (r > 0) {
        const Node& larger = at.At(value);
        if (larger.op != Op::kMax) return std::nullopt;
        const bool in_order = OwnElementOf(f, 0, larger.args[0]) == before;
        if (!in_order && OwnElementOf(f, 0, larger.args[1]) != before) return std::nullopt;
        value = larger.args[in_order ? 1 : 0];
      }
      const std::optional<Row> row = RowOf(&at, value);
      if (!row.has_value() || !IsElementOf(f, row->element, read, rounds.axes) ||
          (r == 0 && !HasOne(f, *row))) {
        return std::nullopt;
      }
      if (!of.has_value()) of = row;
      masked |= row->condition.kind != Condition::Kind::kAlways;
      if (f.vars[row->var].extent != first.vars[of->var].extent ||
          !SameExpression(f, row->element, first, of->element, {{row->var, of->var}},
                          [&](int a, int b) { return a == read && b == 0; })) {
        return std::nullopt;
      }
    }
  }
  if (!masked) return std::nullopt;
  WithPiece made(rounds, first);
  const VarId var = made.NewVar(of->var);
  const ExprId element = made.Copy(of->element);
  if (element == kNoExpr) return std::nullopt;
  return made.Finish(made.builder().Reduce(Op::kReduceMax, var, element));
}

}  // namespace planproof::lineage::rounds
