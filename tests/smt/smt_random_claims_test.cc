// Random claims, decided by Z3 within the bound, against the sums written out: shifted, reversed
// and constant indices, strides and digits, comparisons of indices with each other and with
// numbers, sums within sums. PLANPROOF_CLAIMS=N in the environment: that many; PLANPROOF_FIRST=K:
// from the Kth on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "smt/claim.h"
#include "solver/z3_solver.h"

namespace planproof::smt {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using solver::Rational;
using Status = SmtClaimOutcome::Status;

constexpr int64_t kExtent = 64;  // of the two vectors that are read

// scale * variable + other * second variable + offset, or a digit of it.
struct Index {
  int variable = -1, second = -1;  // -1: none
  int64_t scale = 1, offset = 0;
  enum class Digit { kNone, kQuotient, kRemainder } digit = Digit::kNone;
};

struct Expression {
  enum class Kind { kElement, kNumber, kAdd, kMultiply, kNegate, kPower, kSum, kWhere, kMaximum };
  Kind kind = Kind::kNumber;
  int tensor = 0;      // kElement
  Index index, other;  // kElement; kWhere: index < other, or index = other
  bool equal = false;  // kWhere
  int64_t number = 0;  // kNumber, kPower
  int variable = -1;   // kSum
  int64_t extent = 0;  // kSum
  std::vector<std::shared_ptr<Expression>> parts;
};
using Tree = std::shared_ptr<Expression>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    for (int64_t d = Pick(0, 2); d > 0; --d) shape_.push_back(PickExtent());
  }

  const sdfg::Shape& shape() const { return shape_; }
  int64_t Pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  int64_t PickExtent() { return Pick(0, 2) == 0 ? Pick(7, 20) : Pick(1, 6); }

  Tree Make() {
    extents_ = shape_;
    return Make(static_cast<int>(Pick(2, 4)), 0);
  }

  // A copy in which one thing is another one. Within `tree` every variable is still where it was.
  Tree Changed(const Tree& tree) {
    extents_ = shape_;
    Tree copy = Copy(tree);
    std::vector<std::pair<Expression*, std::vector<int64_t>>> nodes;
    Collect(copy.get(), shape_, &nodes);
    auto& [node, extents] =
        nodes[static_cast<size_t>(Pick(0, static_cast<int64_t>(nodes.size()) - 1))];
    extents_ = extents;
    switch (node->kind) {
      case Expression::Kind::kElement:
        if (Pick(0, 4) == 0) {
          node->tensor = 1 - node->tensor;
        } else {
          node->index = MakeIndex();
        }
        break;
      case Expression::Kind::kNumber:
        node->number = Pick(-2, 3);
        break;
      case Expression::Kind::kWhere:
        node->other = MakeIndex();
        break;
      case Expression::Kind::kAdd:
      case Expression::Kind::kMultiply:
      case Expression::Kind::kMaximum:
        std::swap(node->parts[0], node->parts[1]);
        break;
      default:
        if (node->parts.size() == 1) *node = Expression(*node->parts[0]);
    }
    return copy;
  }

 private:
  static Tree Copy(const Tree& tree) {
    Tree copy = std::make_shared<Expression>(*tree);
    for (Tree& part : copy->parts) part = Copy(part);
    return copy;
  }
  // Nodes and the extents of the variables there. A sum that is dropped leaves its variable unused
  // only if its body does not mention it: such nodes are left out.
  static void Collect(Expression* node, std::vector<int64_t> extents,
                      std::vector<std::pair<Expression*, std::vector<int64_t>>>* nodes) {
    if (node->kind != Expression::Kind::kSum) nodes->emplace_back(node, extents);
    if (node->kind == Expression::Kind::kSum) extents.push_back(node->extent);
    for (const Tree& part : node->parts) Collect(part.get(), extents, nodes);
  }

  Index MakeIndex() {
    Index index;
    const int64_t variables = static_cast<int64_t>(extents_.size());
    if (variables == 0 || Pick(0, 3) == 0) {
      index.offset = Pick(0, Pick(0, 1) == 0 ? 2 : 20);
      return index;
    }
    index.variable = static_cast<int>(Pick(0, variables - 1));
    const int64_t last = extents_[static_cast<size_t>(index.variable)] - 1;
    switch (Pick(0, 9)) {
      case 0:
        index.offset = Pick(1, 3);
        break;
      case 1:
      case 2:
        index.scale = -1;
        index.offset = last + (Pick(0, 2) == 0 ? 1 : 0);
        break;
      case 3:
        index.scale = 2;
        break;
      case 4:
        index.second = static_cast<int>(Pick(0, variables - 1));
        break;
      case 5:
        index.digit = Pick(0, 1) == 0 ? Index::Digit::kQuotient : Index::Digit::kRemainder;
        break;
      default:
        break;
    }
    return index;
  }

  Tree Make(int depth, int sums) {
    Tree tree = std::make_shared<Expression>();
    using Kind = Expression::Kind;
    const int64_t kind = depth == 0 ? 0 : Pick(0, 11);
    auto parts = [&](Kind k, int count) {
      tree->kind = k;
      for (int p = 0; p < count; ++p) tree->parts.push_back(Make(depth - 1, sums));
    };
    if (kind <= 1 || (kind >= 7 && kind <= 9 && sums >= 2)) {
      tree->kind = Pick(0, 9) == 0 ? Kind::kNumber : Kind::kElement;
      tree->number = Pick(-2, 3);
      tree->tensor = static_cast<int>(Pick(0, 1));
      tree->index = MakeIndex();
    } else if (kind <= 3) {
      parts(Kind::kAdd, 2);
    } else if (kind <= 5) {
      parts(Kind::kMultiply, 2);
    } else if (kind == 6) {
      tree->index = MakeIndex();
      tree->other = MakeIndex();
      tree->equal = Pick(0, 1) == 0;
      parts(Kind::kWhere, 2);
    } else if (kind <= 9) {
      tree->kind = Kind::kSum;
      tree->extent = PickExtent();
      tree->variable = static_cast<int>(extents_.size());
      extents_.push_back(tree->extent);
      tree->parts.push_back(Make(depth - 1, sums + 1));
      extents_.pop_back();
    } else if (kind == 10) {
      tree->number = 2;
      parts(Pick(0, 2) == 0 ? Kind::kPower : Kind::kNegate, 1);
    } else {
      parts(Pick(0, 3) == 0 ? Kind::kMaximum : Kind::kAdd, 2);
    }
    return tree;
  }

  std::mt19937_64 random_;
  sdfg::Shape shape_;
  std::vector<int64_t> extents_;  // of the variables in scope: dimensions, then bound ones
};

// As an index function.
class Writer {
 public:
  Writer(IndexFunctionBuilder* b, const sdfg::Shape& shape) : b_(b) {
    for (size_t d = 0; d < shape.size(); ++d) variables_.push_back(b->OutputDims(0)[d]);
  }
  ExprId Write(const Expression& e) {
    using Kind = Expression::Kind;
    switch (e.kind) {
      case Kind::kElement:
        return b_->Element(e.tensor, {Write(e.index)});
      case Kind::kNumber:
        return b_->Real(Rational(e.number));
      case Kind::kNegate:
        return b_->Unary(Op::kNeg, Write(*e.parts[0]));
      case Kind::kPower:
        return b_->Pow(Write(*e.parts[0]), Rational(e.number));
      case Kind::kSum: {
        variables_.push_back(b_->AddVar("k", e.extent));
        const sdfg::VarId own = variables_.back();
        const ExprId body = Write(*e.parts[0]);
        variables_.pop_back();
        return b_->Reduce(Op::kSum, own, body);
      }
      case Kind::kWhere: {
        const ExprId condition = b_->AddNode(
            {.op = e.equal ? Op::kIntEq : Op::kIntLess, .args = {Write(e.index), Write(e.other)}});
        const ExprId yes = Write(*e.parts[0]), no = Write(*e.parts[1]);
        return b_->Select(condition, yes, no);
      }
      default: {
        const ExprId x = Write(*e.parts[0]), y = Write(*e.parts[1]);
        return b_->Binary(e.kind == Kind::kAdd        ? Op::kAdd
                          : e.kind == Kind::kMultiply ? Op::kMul
                                                      : Op::kMax,
                          x, y);
      }
    }
  }

 private:
  ExprId Write(const Index& index) {
    ExprId e = b_->Int(index.offset);
    if (index.variable >= 0) e = b_->IntAdd(b_->IntScale(index.scale, Of(index.variable)), e);
    if (index.second >= 0) e = b_->IntAdd(e, Of(index.second));
    if (index.digit == Index::Digit::kQuotient) return b_->IntDiv(e, 2);
    return index.digit == Index::Digit::kRemainder ? b_->IntMod(e, 2) : e;
  }
  ExprId Of(int variable) { return b_->Index(variables_[static_cast<size_t>(variable)]); }

  IndexFunctionBuilder* b_;
  std::vector<sdfg::VarId> variables_;
};

// Written out.
class Reader {
 public:
  Reader(const std::vector<std::vector<int64_t>>& tensors, std::vector<int64_t> at)
      : tensors_(tensors), at_(std::move(at)) {}
  __int128 Value(const Expression& e) {
    using Kind = Expression::Kind;
    switch (e.kind) {
      case Kind::kElement:
        return tensors_[static_cast<size_t>(e.tensor)].at(static_cast<size_t>(Value(e.index)));
      case Kind::kNumber:
        return e.number;
      case Kind::kNegate:
        return -Value(*e.parts[0]);
      case Kind::kPower: {
        const __int128 base = Value(*e.parts[0]);
        return base * base;
      }
      case Kind::kSum: {
        __int128 sum = 0;
        at_.push_back(0);
        for (int64_t k = 0; k < e.extent; ++k) {
          at_.back() = k;
          sum += Value(*e.parts[0]);
        }
        at_.pop_back();
        return sum;
      }
      case Kind::kWhere: {
        const int64_t x = Value(e.index), y = Value(e.other);
        return Value(*e.parts[(e.equal ? x == y : x < y) ? 0 : 1]);
      }
      default: {
        const __int128 x = Value(*e.parts[0]), y = Value(*e.parts[1]);
        return e.kind == Kind::kAdd ? x + y : e.kind == Kind::kMultiply ? x * y : std::max(x, y);
      }
    }
  }

 private:
  int64_t Value(const Index& index) const {
    int64_t value = index.offset;
    if (index.variable >= 0) value += index.scale * at_[static_cast<size_t>(index.variable)];
    if (index.second >= 0) value += at_[static_cast<size_t>(index.second)];
    if (index.digit == Index::Digit::kQuotient) return value / 2;
    return index.digit == Index::Digit::kRemainder ? value % 2 : value;
  }

  const std::vector<std::vector<int64_t>>& tensors_;
  std::vector<int64_t> at_;
};

bool SameEverywhere(const Tree& left, const Tree& right, const sdfg::Shape& shape,
                    Generator* generator) {
  for (int sample = 0; sample < 4; ++sample) {
    std::vector<std::vector<int64_t>> tensors(2);
    for (auto& tensor : tensors) {
      for (int64_t i = 0; i < kExtent; ++i) tensor.push_back(generator->Pick(-9, 9));
    }
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    for (int64_t k = 0; k < size; ++k) {
      std::vector<int64_t> at;
      int64_t rest = k;
      for (int64_t extent : shape) {
        at.push_back(rest % extent);
        rest /= extent;
      }
      if (Reader(tensors, at).Value(*left) != Reader(tensors, at).Value(*right)) return false;
    }
  }
  return true;
}

// Both sides over two vectors; false if one of them is no index function.
bool AddSide(sdfg::Graph* graph, const sdfg::Shape& shape, const Tree& tree) {
  auto tensor = [&](const char* name, const sdfg::Shape& extents) {
    sdfg::Tensor t;
    t.name = name;
    t.shape = extents;
    t.dtype = sdfg::DType::kFloat64;
    if (name[0] != 'z') t.role = sdfg::TensorRole::kInput;
    graph->AddTensor(t);
  };
  tensor("x", {kExtent});
  tensor("y", {kExtent});
  tensor("z", shape);
  IndexFunctionBuilder b("body");
  b.AddInput("x", {kExtent}, sdfg::DType::kFloat64);
  b.AddInput("y", {kExtent}, sdfg::DType::kFloat64);
  b.AddOutput("z", shape, sdfg::DType::kFloat64);
  b.SetBody(0, Writer(&b, shape).Write(*tree));
  sdfg::IndexFunction f;
  if (!b.Finish(&f).ok()) return false;
  sdfg::Operator op;
  op.name = "body";
  op.function = graph->Intern(std::move(f));
  op.inputs = {0, 1};
  op.outputs = {2};
  graph->AddOperator(op);
  return true;
}

SmtClaimOutcome Decide(const lineage::Problem& problem) {
  stages::Claim claim;
  claim.parallel = 2;
  claim.target = problem.lineage[2];
  SmtClaimOptions options;
  options.timeout_s = 1;
  return DecideClaimBySmt(problem, stages::Relations(problem), claim, options);
}

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

TEST(SmtRandomClaims, WhatIsEqualWithinTheBoundIsEqualWrittenOut) {
  if (!solver::Z3Missing().empty()) GTEST_SKIP() << solver::Z3Missing();
  const int64_t count = FromEnvironment("PLANPROOF_CLAIMS", 250);
  const int64_t first = FromEnvironment("PLANPROOF_FIRST", 1);
  int64_t equal = 0, shown = 0, different = 0, refuted = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    Generator generator(static_cast<uint64_t>(seed));
    const Tree left = generator.Make();
    const Tree right = generator.Changed(left);
    lineage::Problem problem;
    if (!AddSide(&problem.logical, generator.shape(), left) ||
        !AddSide(&problem.parallel, generator.shape(), right)) {
      continue;
    }
    for (sdfg::TensorId t = 0; t < 3; ++t) {
      lineage::Lineage l;
      l.kind = lineage::LineageKind::kFull;
      l.logical = t;
      for (size_t d = 0; d < problem.logical.tensors[t].shape.size(); ++d) {
        l.map.push_back({0, {{static_cast<int32_t>(d), 1, 1, 0}}});
      }
      problem.lineage.push_back(l);
    }
    const SmtClaimOutcome out = Decide(problem);
    const bool same = SameEverywhere(left, right, generator.shape(), &generator);
    (same ? equal : different) += 1;
    if (out.status == Status::kEqual && out.bound_holds) {
      ++shown;
      EXPECT_TRUE(same) << "seed " << seed;
    } else if (out.status == Status::kDifferent) {
      ++refuted;
      EXPECT_FALSE(same && !out.presupposes) << "seed " << seed << ": " << out.reason;
    }
  }
  std::printf("%lld equal, %lld shown; %lld different, %lld refuted\n", (long long)equal,
              (long long)shown, (long long)different, (long long)refuted);
  EXPECT_GT(shown, equal / 2);
  EXPECT_GT(refuted, different / 2);
}

}  // namespace
}  // namespace planproof::smt
