// Claims share a class only if they are equal up to the names of their tensors: every detail of an
// instance changes the key, renaming does not.
#include "stages/class_key.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::stages {
namespace {

using lineage::LineageKind;
using sdfg::DType;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::IndexMap;
using sdfg::IndexTerm;
using sdfg::Op;
using sdfg::Shape;
using sdfg::TensorId;
using sdfg::TensorRole;
using InputPremise = lineage::Problem::InputPremise;

struct FunctionSpec {
  Op op = Op::kMul;
  int64_t factor = 1;
  int64_t offset = 0;  // of the second operand's index
  int64_t second_extent = 4;
  std::string name = "f";
};

// y[i] = factor * (a[i] op b[i + offset])
IndexFunction Function(const FunctionSpec& spec, int64_t extent, DType dtype) {
  IndexFunctionBuilder b(spec.name);
  const int x = b.AddInput("a", {extent}, dtype);
  const int z = b.AddInput("b", {spec.second_extent}, dtype);
  const int y = b.AddOutput("y", Shape{extent}, dtype);
  const auto i = b.Index(b.OutputDims(y)[0]);
  auto body = b.Binary(spec.op, b.Element(x, {i}), b.Element(z, {b.IntAdd(i, b.Int(spec.offset))}));
  b.SetBody(y, b.Binary(Op::kMul, b.Real(spec.factor), body));
  IndexFunction f;
  EXPECT_TRUE(b.Finish(&f).ok());
  return f;
}

// Logical: y = f(x, w). Parallel: yp = f(xp, wp), each a slice of its logical tensor.
struct Spec {
  std::string prefix = "a.";
  int unrelated = 0;  // tensors in front, to shift numbers
  FunctionSpec logical, parallel;
  int64_t extent = 4;
  DType dtype = DType::kFloat32;
  TensorRole first_role = TensorRole::kInput, second_role = TensorRole::kParameter;
  Shape logical_shape = {8};
  int64_t first_start = 0, second_start = 0, target_start = 0;
  IndexTerm first_term, second_term, target_term;
  bool logical_shared = false, parallel_shared = false, swapped = false, lineages_swapped = false;
  bool parallel_tied = false;  // the second parallel operand is another copy of the first
  bool lifted = true;
  bool lifted_logical = true;
  int axes = 0;  // 1 or 2: the parallel tensors' leading dimension is that axis
  std::vector<InputPremise> premises;  // tensor 0: x, 1: w
  bool related = true;                 // of the operands
  int64_t multiple = 0;                // the parallel result is that many times y; 0: it is y
};

// y[i] = factor * x[i]
IndexFunction Multiple(int64_t factor, int64_t extent, DType dtype) {
  IndexFunctionBuilder b("multiple");
  const int x = b.AddInput("x", {extent}, dtype);
  const int y = b.AddOutput("y", Shape{extent}, dtype);
  b.SetBody(y, b.Binary(Op::kMul, b.Element(x, {b.Index(b.OutputDims(y)[0])}), b.Real(factor)));
  IndexFunction f;
  EXPECT_TRUE(b.Finish(&f).ok());
  return f;
}

TensorId AddTensor(sdfg::Graph* g, const std::string& name, Shape shape, DType dtype,
                   TensorRole role, std::vector<sdfg::AxisId> axes = {}) {
  sdfg::Tensor t;
  t.name = name;
  t.shape = std::move(shape);
  t.dtype = dtype;
  t.role = role;
  t.axes = std::move(axes);
  return g->AddTensor(std::move(t));
}

lineage::Lineage SliceOf(TensorId logical, int64_t start, IndexTerm term) {
  lineage::Lineage l;
  l.kind = LineageKind::kFull;
  l.logical = logical;
  IndexMap m;
  m.constant = start;
  m.terms = {term};
  l.map = {m};
  return l;
}

// Adds one instance to the problem.
Claim Append(const Spec& s, lineage::Problem* problem) {
  auto& p = *problem;
  for (int i = 0; i < s.unrelated; ++i) {
    AddTensor(&p.logical, "unrelated", {3}, DType::kFloat64, TensorRole::kInput);
    AddTensor(&p.parallel, "unrelated", {3}, DType::kFloat64, TensorRole::kInput);
  }
  const TensorId x = AddTensor(&p.logical, s.prefix + "x", s.logical_shape, s.dtype, s.first_role);
  const TensorId w = AddTensor(&p.logical, s.prefix + "w", s.logical_shape, s.dtype, s.second_role);
  const TensorId y =
      AddTensor(&p.logical, s.prefix + "y", s.logical_shape, s.dtype, TensorRole::kIntermediate);
  sdfg::Operator op;
  op.name = "f";
  FunctionSpec logical = s.logical;
  logical.second_extent = s.logical_shape[0];
  if (logical.offset > 0) logical.second_extent += logical.offset;
  op.function = p.logical.Intern(Function(logical, s.logical_shape[0], s.dtype));
  op.inputs = s.swapped ? std::vector<TensorId>{w, x} : std::vector<TensorId>{x, w};
  if (s.logical_shared) op.inputs = {x, x};
  op.outputs = {y};
  op.lifted = s.lifted_logical;
  p.logical.AddOperator(op);
  p.parallel.axes = {{"dp", 1}, {"tp", 1}};
  p.parallel.axis_device_stride = {0, 0};
  std::vector<sdfg::AxisId> axes;
  Shape local = {s.extent};
  if (s.axes > 0) {
    axes = {s.axes - 1};
    local = {1, s.extent};
  }
  auto shifted = [&](IndexTerm t) {
    t.dim += s.axes > 0;
    return t;
  };
  const TensorId xp = AddTensor(&p.parallel, s.prefix + "xp", local, s.dtype, s.first_role, axes);
  const TensorId wp = AddTensor(&p.parallel, s.prefix + "wp", local, s.dtype, s.second_role, axes);
  const TensorId yp =
      AddTensor(&p.parallel, s.prefix + "yp", local, s.dtype, TensorRole::kIntermediate, axes);
  sdfg::Operator pop;
  pop.name = "f";
  FunctionSpec parallel = s.parallel;
  parallel.second_extent = s.extent;
  pop.function = p.parallel.Intern(Function(parallel, s.extent, s.dtype));
  pop.inputs = {xp, s.parallel_shared ? xp : wp};
  pop.outputs = {yp};
  pop.lifted = s.lifted;
  p.parallel.AddOperator(pop);
  p.lineage.resize(p.parallel.tensors.size());
  p.lineage[xp] = SliceOf(s.lineages_swapped ? w : x, s.first_start, shifted(s.first_term));
  p.lineage[wp] = SliceOf(s.lineages_swapped || s.parallel_tied ? x : w, s.second_start,
                          shifted(s.second_term));
  if (!s.related) p.lineage[wp].kind = LineageKind::kPartialSum;
  TensorId target = y;
  if (s.multiple != 0) {
    target = AddTensor(&p.logical, s.prefix + "multiple of y", s.logical_shape, s.dtype,
                       TensorRole::kIntermediate);
    sdfg::Operator times;
    times.name = "multiple";
    times.function = p.logical.Intern(Multiple(s.multiple, s.logical_shape[0], s.dtype));
    times.inputs = {y};
    times.outputs = {target};
    p.logical.AddOperator(times);
  }
  p.lineage[yp] = SliceOf(target, s.target_start, shifted(s.target_term));
  for (InputPremise premise : s.premises) {
    premise.tensor = premise.tensor == 0 ? x : w;
    p.premises.push_back(premise);
  }
  Claim claim;
  claim.parallel = yp;
  claim.target = p.lineage[yp];
  return claim;
}

// What is written down of an instance in a problem of its own.
std::string ContentOf(const Spec& spec) {
  lineage::Problem problem;
  const Claim claim = Append(spec, &problem);
  const Relations relations(problem);
  ClassKeys keys(problem, relations);
  std::string content = keys.ContentOf(claim);
  EXPECT_FALSE(content.empty());
  EXPECT_EQ(content, keys.ContentOf(claim));
  return content;
}

// Whether two instances in one problem share a class. In problems of their own they have the same
// content exactly then.
bool SameClass(const Spec& a, const Spec& b) {
  lineage::Problem problem;
  const Claim first = Append(a, &problem), second = Append(b, &problem);
  const Relations relations(problem);
  ClassKeys keys(problem, relations);
  const std::string x = keys.Of(first), y = keys.Of(second);
  EXPECT_FALSE(x.empty());
  EXPECT_FALSE(y.empty());
  EXPECT_EQ(x, keys.Of(first));  // keys do not depend on what was asked before
  EXPECT_EQ(x == y, ContentOf(a) == ContentOf(b));
  return x == y;
}

template <typename Change>
bool Separates(Change change) {
  Spec changed;
  changed.prefix = "b.";
  change(&changed);
  return !SameClass(Spec(), changed) && !SameClass(changed, Spec());
}

TEST(ClassKeyTest, NamesAndNumbersOfTensorsDoNotMatter) {
  Spec renamed;
  renamed.prefix = "layers.7.";
  renamed.unrelated = 3;
  EXPECT_TRUE(SameClass(Spec(), renamed));
}

// Numbers of functions are those of one problem; between problems functions are compared by
// content.
TEST(ClassKeyTest, ContentsOfDifferentProblemsCompareFunctionsThemselves) {
  Spec first, second;
  second.logical.factor = second.parallel.factor = 3;
  EXPECT_NE(ContentOf(first), ContentOf(second));
  lineage::Problem one, other;
  const Claim a = Append(first, &one), b = Append(second, &other);
  const Relations of_one(one), of_other(other);
  EXPECT_EQ(ClassKeys(one, of_one).Of(a), ClassKeys(other, of_other).Of(b));
}

// A claim about a multiple of y is decided by the definition of y.
TEST(ClassKeyTest, MultiplesAreSeparatedByFactorAndByWhatTheyMultiply) {
  Spec first;
  first.multiple = 3;
  Spec renamed = first, other_factor = first, other_definition = first, other_operator = first,
       single = first;
  renamed.prefix = other_factor.prefix = other_definition.prefix = other_operator.prefix =
      single.prefix = "b.";
  other_factor.multiple = 4;
  other_definition.logical.factor = 2;
  other_operator.logical.op = Op::kAdd;
  single.multiple = 0;
  EXPECT_TRUE(SameClass(first, renamed));
  EXPECT_FALSE(SameClass(first, other_factor));
  EXPECT_FALSE(SameClass(first, other_definition));
  EXPECT_FALSE(SameClass(first, other_operator));
  EXPECT_FALSE(SameClass(first, single));
}

TEST(ClassKeyTest, NamesOfLogicalTensorsAreKeptApart) {
  lineage::Problem problem;
  Spec renamed;
  renamed.prefix = "b.";
  const Claim first = Append(Spec(), &problem), second = Append(renamed, &problem);
  const Relations relations(problem);
  ClassKeys keys(problem, relations);
  const std::string content = keys.ContentOf(first), names = keys.LogicalNames();
  EXPECT_EQ(names, "3:a.y3:a.x3:a.w");
  EXPECT_EQ(keys.ContentOf(second), content);
  EXPECT_EQ(keys.LogicalNames(), "3:b.y3:b.x3:b.w");
}

TEST(ClassKeyTest, TheFunctionMatters) {
  EXPECT_TRUE(Separates([](Spec* s) { s->parallel.op = Op::kAdd; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->parallel.factor = 2; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->parallel.name = "g"; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->logical.op = Op::kAdd; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->logical.factor = 2; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->lifted = false; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->lifted_logical = false; }));
}

TEST(ClassKeyTest, ExtentsTypesRolesAndAxesMatter) {
  EXPECT_TRUE(Separates([](Spec* s) { s->extent = 3; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->logical_shape = {9}; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->dtype = DType::kFloat16; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->first_role = TensorRole::kBuffer; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->second_role = TensorRole::kZero; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->axes = 1; }));
  Spec dp, tp;
  dp.axes = 1;
  tp.axes = 2;
  EXPECT_FALSE(SameClass(dp, tp));
}

TEST(ClassKeyTest, EveryPartOfAnIndexMapMatters) {
  const auto in_each = [](auto change) {
    EXPECT_TRUE(Separates([&](Spec* s) { change(&s->first_term); }));
    EXPECT_TRUE(Separates([&](Spec* s) { change(&s->second_term); }));
    EXPECT_TRUE(Separates([&](Spec* s) { change(&s->target_term); }));
  };
  in_each([](IndexTerm* t) { t->scale = 2; });
  in_each([](IndexTerm* t) { t->div = 2; });
  in_each([](IndexTerm* t) { t->mod = 2; });
  in_each([](IndexTerm* t) { t->gate = {.dim = 0, .div = 2}; });
  Spec first_dimension, second_dimension;
  first_dimension.axes = second_dimension.axes = 1;
  second_dimension.first_term.dim = -1;  // the axis instead of the local index
  EXPECT_FALSE(SameClass(first_dimension, second_dimension));
}

TEST(ClassKeyTest, EveryPartOfAGateMatters) {
  const auto with = [](sdfg::IndexDigit gate) {
    Spec spec;
    spec.target_term.gate = gate;
    return spec;
  };
  const std::vector<sdfg::IndexDigit> gates = {{.dim = -1},
                                               {.dim = 0, .div = 2},
                                               {.dim = 0, .div = 3},
                                               {.dim = 0, .div = 2, .mod = 2},
                                               {.dim = 0, .div = 2, .mod = 2, .offset = 1},
                                               {.dim = 0, .div = 2, .mod = 2, .offset = 2}};
  for (size_t a = 0; a < gates.size(); ++a) {
    for (size_t b = 0; b < gates.size(); ++b) {
      EXPECT_EQ(SameClass(with(gates[a]), with(gates[b])), a == b) << a << " and " << b;
    }
  }
}

// S7: a slice at an offset with the table's slice at 0, beside both at the offset.
TEST(ClassKeyTest, OffsetsMatterEachAndTogether) {
  EXPECT_TRUE(Separates([](Spec* s) { s->first_start = 4; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->second_start = 4; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->target_start = 4; }));
  Spec both, one;
  both.first_start = both.second_start = both.target_start = 4;
  one.first_start = one.target_start = 4;
  EXPECT_FALSE(SameClass(both, one));
}

// S8: x * x beside x * y, tied weights beside untied.
TEST(ClassKeyTest, SharingMatters) {
  EXPECT_TRUE(Separates([](Spec* s) { s->logical_shared = true; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->parallel_shared = true; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->parallel_tied = true; }));
}

// S6: a - b with the lineages swapped, beside b - a.
TEST(ClassKeyTest, OrderOfOperandsMatters) {
  EXPECT_TRUE(Separates([](Spec* s) { s->swapped = true; }));
  EXPECT_TRUE(Separates([](Spec* s) { s->lineages_swapped = true; }));
  Spec lineages, operands;
  lineages.first_role = lineages.second_role = TensorRole::kInput;
  operands = lineages;
  lineages.lineages_swapped = true;
  EXPECT_FALSE(SameClass(lineages, operands));
  operands.swapped = lineages.swapped = true;
  EXPECT_FALSE(SameClass(lineages, operands));
}

TEST(ClassKeyTest, PremisesAndRelationsMatter) {
  EXPECT_TRUE(Separates(
      [](Spec* s) { s->premises = {{.tensor = 0, .kind = InputPremise::Kind::kPositive}}; }));
  EXPECT_TRUE(Separates(
      [](Spec* s) { s->premises = {{.tensor = 1, .kind = InputPremise::Kind::kPositive}}; }));
  Spec narrow, wide;
  narrow.premises = {{.tensor = 0, .kind = InputPremise::Kind::kIntegerRange, .low = 0, .high = 5}};
  wide.premises = {{.tensor = 0, .kind = InputPremise::Kind::kIntegerRange, .low = 0, .high = 6}};
  EXPECT_FALSE(SameClass(narrow, wide));
  wide.premises[0] = {.tensor = 0, .kind = InputPremise::Kind::kIntegerRange, .low = 1, .high = 5};
  EXPECT_FALSE(SameClass(narrow, wide));
  EXPECT_TRUE(Separates([](Spec* s) { s->related = false; }));
}

// Claims that are equal up to names share an outcome only if the same is known of zeros.
TEST(ClassKeyTest, RegionsOfZerosMatter) {
  lineage::Problem problem;
  Spec other;
  other.prefix = "b.";
  const Claim first = Append(Spec(), &problem), second = Append(other, &problem);
  Relations relations(problem);
  ClassKeys keys(problem, relations);
  const std::string unknown = keys.Of(second);
  EXPECT_EQ(keys.Of(first), unknown);
  const auto set = [&](const Claim& claim, const char* name, int64_t constant, int64_t scale) {
    for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
      const bool own = problem.logical.tensors[t].name ==
                       std::string(claim.parallel == first.parallel ? "a." : "b.") + name;
      IndexMap form;
      form.constant = constant;
      form.terms = {{.dim = 0, .scale = scale}};
      if (own) relations.SetZeroUnless(static_cast<TensorId>(t), {form});
    }
  };
  for (const char* name : {"x", "w", "y"}) {
    set(first, name, 2, -1);
    EXPECT_NE(keys.Of(first), keys.Of(second)) << name;
    for (const auto& [constant, scale] : {std::pair(3, -1), std::pair(2, 1)}) {
      set(second, name, constant, scale);
      EXPECT_NE(keys.Of(first), keys.Of(second)) << name;
    }
    set(second, name, 2, -1);
    EXPECT_EQ(keys.Of(first), keys.Of(second)) << name;
    relations.ForgetZeroRegions();
    EXPECT_EQ(keys.Of(first), unknown);
  }
}

// S5: a ring of six against two rings of three, as gathers with different sources.
TEST(ClassKeyTest, PermutationsMatter) {
  const auto permutation = [](const std::vector<int64_t>& from, lineage::Problem* p) {
    IndexFunctionBuilder b("permute");
    const int x = b.AddInput("x", {6}, DType::kFloat32);
    const int y = b.AddOutput("y", Shape{6}, DType::kFloat32);
    const auto i = b.Index(b.OutputDims(y)[0]);
    auto body = b.Element(x, {b.Int(from[5])});
    for (int k = 4; k >= 0; --k)
      body = b.Select(b.Binary(Op::kIntEq, i, b.Int(k)), b.Element(x, {b.Int(from[k])}), body);
    b.SetBody(y, body);
    IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    const TensorId l = AddTensor(&p->logical, "l", {6}, DType::kFloat32, TensorRole::kInput);
    const TensorId in = AddTensor(&p->parallel, "in", {6}, DType::kFloat32, TensorRole::kInput);
    const TensorId out =
        AddTensor(&p->parallel, "out", {6}, DType::kFloat32, TensorRole::kIntermediate);
    sdfg::Operator op;
    op.name = "permute";
    op.function = p->parallel.Intern(f);
    op.inputs = {in};
    op.outputs = {out};
    p->parallel.AddOperator(op);
    p->lineage.resize(p->parallel.tensors.size());
    p->lineage[in] = p->lineage[out] = SliceOf(l, 0, {});
    Claim claim;
    claim.parallel = out;
    claim.target = p->lineage[out];
    return claim;
  };
  lineage::Problem problem;
  const Claim ring = permutation({1, 2, 3, 4, 5, 0}, &problem);
  const Claim two = permutation({1, 2, 0, 4, 5, 3}, &problem);
  const Claim again = permutation({1, 2, 3, 4, 5, 0}, &problem);
  const Relations relations(problem);
  ClassKeys keys(problem, relations);
  EXPECT_NE(keys.Of(ring), keys.Of(two));
  EXPECT_EQ(keys.Of(ring), keys.Of(again));
}

// A chain of multiples below nothing that is related, 3 times each but for one of them.
Claim Chain(int depth, int other, int64_t factor, lineage::Problem* p) {
  const TensorId l = AddTensor(&p->logical, "l", {4}, DType::kFloat32, TensorRole::kInput);
  TensorId last = AddTensor(&p->parallel, "in", {4}, DType::kFloat32, TensorRole::kInput);
  p->lineage.resize(p->parallel.tensors.size());
  p->lineage[last] = SliceOf(l, 0, {});
  for (int i = 0; i < depth; ++i) {
    sdfg::Operator op;
    op.name = "multiple";
    op.function = p->parallel.Intern(Multiple(i == other ? factor : 3, 4, DType::kFloat32));
    op.inputs = {last};
    last = AddTensor(&p->parallel, "t", {4}, DType::kFloat32, TensorRole::kIntermediate);
    op.outputs = {last};
    p->parallel.AddOperator(op);
  }
  p->lineage.resize(p->parallel.tensors.size());
  p->lineage[last] = SliceOf(l, 0, {});
  Claim claim;
  claim.parallel = last;
  claim.target = p->lineage[last];
  return claim;
}

// Two layers that differ far below the claim are no class: each round of a long ring is below it.
TEST(ClassKeyTest, WhatLiesDeepMatters) {
  constexpr int kDepth = 1500;
  lineage::Problem problem;
  const Claim first = Chain(kDepth, 0, 3, &problem), again = Chain(kDepth, 0, 3, &problem);
  std::vector<Claim> others;
  for (const int at : {0, 1, 199, 200, 201, kDepth / 2, kDepth - 1}) {
    others.push_back(Chain(kDepth, at, 5, &problem));
  }
  others.push_back(Chain(kDepth - 1, 0, 3, &problem));
  const Relations relations(problem);
  ClassKeys keys(problem, relations);
  const std::string key = keys.Of(first), content = keys.ContentOf(first);
  EXPECT_FALSE(key.empty());
  EXPECT_EQ(keys.Of(again), key);
  EXPECT_EQ(keys.ContentOf(again), content);
  for (const Claim& other : others) {
    EXPECT_NE(keys.Of(other), key);
    EXPECT_NE(keys.ContentOf(other), content);
  }
}

// What is too deep to be written down has no key, and so no class that it could share.
TEST(ClassKeyTest, WhatIsTooDeepHasNoKey) {
  lineage::Problem problem;
  const Claim claim = Chain(10'000, 0, 3, &problem);
  const Relations relations(problem);
  ClassKeys keys(problem, relations);
  EXPECT_EQ(keys.Of(claim), "");
  EXPECT_EQ(keys.ContentOf(claim), "");
}

}  // namespace
}  // namespace planproof::stages
