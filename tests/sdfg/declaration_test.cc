#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

using testing::HasSubstr;

Operand RealTensor(Shape shape, DType dtype = DType::kFloat32) {
  Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = dtype;
  return operand;
}

Operand Nothing() {
  Operand operand;
  operand.kind = Operand::Kind::kAbsent;
  return operand;
}

Operand Literal(solver::Rational value) {
  Operand operand;
  operand.kind = Operand::Kind::kLiteral;
  operand.literal = value;
  return operand;
}

// The declaration's index function as text, or the error.
std::string Instance(const std::string& text, const std::string& name,
                     const std::vector<Operand>& operands, const Attributes& attributes = {}) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  absl::Status status = library.AddDeclarations(text, "my.op");
  if (!status.ok()) return std::string(status.message());
  absl::StatusOr<IndexFunction> function = library.Instantiate(name, operands, attributes);
  if (!function.ok()) return std::string(function.status().message());
  std::string shown = ToString(*function);
  while (!shown.empty() && shown.back() == '\n') shown.pop_back();
  return shown;
}

std::string ParseError(const std::string& text) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  return std::string(library.AddDeclarations(text, "my.op").message());
}

TEST(Declaration, AnOperatorOfFiveLinesBecomesAnIndexFunction) {
  EXPECT_EQ(Instance(R"(
## Scaled sum.
op my_sum(x[b.., k], w[k]) {scale: real = 2}
  -> y[b..] = scale * sum(k: x[b.., k] * w[k])
)",
                     "my_sum", {RealTensor({2, 3, 4}), RealTensor({4})}),
            "y[b0, b1] = 2 * sum(k: x[b0, b1, k] * w[k])");
}

TEST(Declaration, OperandsWithoutBracketsAreBroadcast) {
  std::string text = "op f(x, y) -> z = x + y";
  EXPECT_EQ(Instance(text, "f", {RealTensor({2, 3}), RealTensor({3})}),
            "z[i0, i1] = x[i0, i1] + y[i1]");
  EXPECT_EQ(Instance(text, "f", {RealTensor({2, 1}), RealTensor({3})}),
            "z[i0, i1] = x[i0, 0] + y[i1]");
  EXPECT_EQ(Instance(text, "f", {RealTensor({2}), Literal(3)}), "z[i0] = x[i0] + 3");
  EXPECT_EQ(Instance(text, "f", {RealTensor({2, 3}), RealTensor({2})}),
            "operator f: operand y has extent 2 in dimension 0, but operand x in dimension 1 has "
            "extent 3");
}

TEST(Declaration, AnAbsentOperandReadsAsItsDefaultAndDisappears) {
  std::string text = "op f(x[i], w[i]? = 1, b[i]?) -> y[i] = x[i] * w[i] + b[i]";
  EXPECT_EQ(Instance(text, "f", {RealTensor({3})}), "y[i] = x[i]");
  EXPECT_EQ(Instance(text, "f", {RealTensor({3}), Nothing(), RealTensor({3})}),
            "y[i] = x[i] + b[i]");
}

TEST(Declaration, AnAttributePlacesADimension) {
  std::string text = R"(op f(x[i.. | j]) {dim = -1} where j at dim
                        -> y[i.. | j] = x[i.. | j] / sum(j2: x[i.. | j2]))";
  EXPECT_EQ(Instance(text, "f", {RealTensor({2, 3})}),
            "y[i0, j1] = x[i0, j1] / sum(j2: x[i0, j2])");
  EXPECT_EQ(Instance(text, "f", {RealTensor({2, 3})}, {{"dim", int64_t{0}}}),
            "y[j0, i1] = x[j0, i1] / sum(j2: x[j2, i1])");
  EXPECT_EQ(Instance(text, "f", {RealTensor({2, 3})}, {{"dim", int64_t{2}}}),
            "operator f: attribute dim names dimension 2, but the operand has 2 dimensions");
}

TEST(Declaration, CompositeDimensionsAreDigits) {
  std::string text = "op f(x[b, (h c:2)]) -> y[b, (c h)] = x[b, (h c)]";
  EXPECT_EQ(Instance(text, "f", {RealTensor({3, 8})}), "y[b, d] = x[b, 2 * (d mod 4) + d div 4]");
  // Put together in the same order they are the variable again.
  EXPECT_EQ(Instance("op g(x[(h c:2)]) -> y[(h c)] = x[(h c)]", "g", {RealTensor({8})}),
            "y[d] = x[d]");
  EXPECT_EQ(Instance(text, "f", {RealTensor({3, 7})}),
            "operator f: operand x has extent 7 in dimension 1; expected a multiple of 2");
}

// A digit of extent 1 has the value 0: another one would be an element that does not exist.
TEST(Declaration, APartOfExtentOneOfACompositeIndexIsZero) {
  EXPECT_THAT(Instance("op f(x[(a b:2)]) -> y[i:2] = x[(i i)]", "f", {RealTensor({2})}),
              HasSubstr("part 0 of this composite index has extent 1 and is not always 0"));
  EXPECT_EQ(Instance("op f(x[(a b:2)]) -> y[i:2] = x[(0 i)]", "f", {RealTensor({2})}),
            "y[i] = x[i]");
}

TEST(Declaration, AlternativesAreChosenByAttributes) {
  std::string text = R"(
op f(x) {mode = "a"} when mode = "a" -> y = x + 1
op f(x) {mode = "b"} when mode = "b" -> y = x + 2
)";
  EXPECT_EQ(Instance(text, "f", {RealTensor({1})}), "y[i0] = x[i0] + 1");
  EXPECT_EQ(Instance(text, "f", {RealTensor({1})}, {{"mode", std::string("b")}}),
            "y[i0] = x[i0] + 2");
  EXPECT_THAT(Instance(text, "f", {RealTensor({1})}, {{"mode", std::string("c")}}),
              HasSubstr("expected \"a\" or \"b\""));
}

TEST(Declaration, DefinitionsAreSharedAndTakeIndices) {
  EXPECT_EQ(Instance(R"(op f(x[i]) let e[j] = exp(x[j]) -> y[i] = e[i] / sum(k: e[k]))", "f",
                     {RealTensor({3})}),
            "y[i] = exp(x[i]) / sum(k: exp(x[k]))");
}

TEST(Declaration, ReductionsRunOverPacksAndBounds) {
  EXPECT_EQ(Instance("op f(x[r..]) -> y[] = sum(r..: x[r..] ^ 2)", "f", {RealTensor({2, 3})}),
            "y[] = sum(r0: sum(r1: x[r0, r1]^2))");
  EXPECT_EQ(Instance("op f(x[i]) {n: int} -> y[i] = sum(e < n: x[i] * e)", "f", {RealTensor({2})},
                     {{"n", int64_t{3}}}),
            "y[i] = sum(e: x[i] * real(e))");
}

TEST(Declaration, SeveralOutputsPremisesAndAssumptionsReachTheFunction) {
  OperatorLibrary library;
  ASSERT_TRUE(library
                  .AddDeclarations(R"(op f(x[i]: int)
                       premise 0 <= x[i] "not negative"
                       assume "nothing"
                       -> y[i]: int64 = x[i]
                       -> z[i]: float32 = x[i] / 2)",
                                   "my.op")
                  .ok());
  absl::StatusOr<IndexFunction> function =
      library.Instantiate("f", {RealTensor({3}, DType::kInt64)}, {});
  ASSERT_TRUE(function.ok()) << function.status().message();
  ASSERT_EQ(function->outputs.size(), 2u);
  EXPECT_EQ(function->outputs[0].dtype, DType::kInt64);
  EXPECT_EQ(function->outputs[1].dtype, DType::kFloat32);
  ASSERT_EQ(function->premises.size(), 1u);
  EXPECT_EQ(function->premises[0].text, "not negative");
  EXPECT_EQ(function->assumptions, std::vector<std::string>{"nothing"});
}

TEST(Declaration, ElementTypesAgreeWithWhatTheElementsAre) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(library
                  .AddDeclarations("op f(x[i]) -> y[i]: int64 = x[i] / 2\n"
                                   "op g(x[i]) -> y[i]: float32 = i",
                                   "my.op")
                  .ok());
  auto type = [&](const char* name, std::vector<Operand> operands) {
    absl::StatusOr<IndexFunction> function = library.Instantiate(name, operands, {});
    EXPECT_TRUE(function.ok()) << function.status().message();
    return function.ok() ? function->outputs[0].dtype : DType::kUnknown;
  };
  Operand integers = RealTensor({3}, DType::kInt64);
  EXPECT_EQ(type("add", {integers, integers}), DType::kInt64);
  EXPECT_EQ(type("mul", {integers, RealTensor({3})}), DType::kFloat32);
  EXPECT_EQ(type("div", {integers, Literal(2)}), DType::kFloat32);
  EXPECT_EQ(type("add", {RealTensor({3}, DType::kBFloat16), RealTensor({3}, DType::kFloat16)}),
            DType::kFloat32);
  EXPECT_EQ(type("lt", {integers, integers}), DType::kBool);
  EXPECT_EQ(type("g", {RealTensor({3})}), DType::kFloat32);
  EXPECT_THAT(std::string(library.Instantiate("f", {RealTensor({3})}, {}).status().message()),
              HasSubstr("expected integers for int64"));
  EXPECT_EQ(type("long", {RealTensor({3})}), DType::kInt64);
  EXPECT_EQ(type("bool", {RealTensor({3})}), DType::kBool);
}

// An id of 200 is -56 in int8.
TEST(Declaration, IntegersThatMayWrapAroundAreNotConverted) {
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  const auto converts = [&](DType from, const char* to) {
    const absl::Status status =
        library.Instantiate("to", {RealTensor({3}, from)}, {{"dtype", std::string(to)}}).status();
    EXPECT_TRUE(status.ok() || absl::IsUnimplemented(status)) << status;
    return status.ok();
  };
  EXPECT_TRUE(converts(DType::kInt64, "int32"));
  EXPECT_TRUE(converts(DType::kInt16, "int64"));
  EXPECT_TRUE(converts(DType::kUInt8, "int16"));
  EXPECT_TRUE(converts(DType::kInt8, "int8"));
  EXPECT_TRUE(converts(DType::kBool, "int8"));
  EXPECT_FALSE(converts(DType::kInt64, "int8"));
  EXPECT_FALSE(converts(DType::kInt32, "int16"));
  EXPECT_FALSE(converts(DType::kInt16, "uint8"));
  EXPECT_FALSE(converts(DType::kInt8, "uint8"));
  EXPECT_FALSE(converts(DType::kUInt8, "int8"));
}

TEST(Declaration, ErrorsNamePlaceProblemAndExpectation) {
  EXPECT_EQ(ParseError("op f(x[i]) -> y[i] = x[i] +"),
            "my.op:1:28: found the end of the file; expected a number, a name, '(' or '['");
  EXPECT_EQ(ParseError("op f(x[i) -> y[i] = x[i]"),
            "my.op:1:9: found ')'; expected ']' or ',' after a dimension of 'x'");
  EXPECT_EQ(ParseError("\n\n  fun f(x) -> y = x"),
            "my.op:3:3: found 'fun'; expected 'op' to start a declaration");
  EXPECT_EQ(ParseError("op f(x[i, k]) -> y[i] = x[i, k]"),
            "my.op:1:30: index 'k' is not a dimension of the output; expected it under sum, mean, "
            "max or min");
  EXPECT_EQ(ParseError("op f(input[i]) -> y[i] = inptu[i]"),
            "my.op:1:26: 'inptu' is not known here; expected an operand; did you mean 'input'?");
  EXPECT_EQ(
      ParseError("op f(x[i, j]) -> y[i] = sum(j: x[j])"),
      "my.op:1:32: operand 'x' has 2 dimensions, but is read with 1 indices; expected one index "
      "for each dimension");
  EXPECT_EQ(
      ParseError("op f(x) -> y = max(x, 0)"),
      "my.op:1:16: 'max' has a kink; expected a clause 'ties first', 'ties even', 'ties all', "
      "'ties zero' or 'ties none' (no derivative)");
  EXPECT_EQ(ParseError("op f(x[i]) -> y[i] = sum(i: x[i])"),
            "my.op:1:26: 'i' already means something here; expected a new name");
  EXPECT_EQ(ParseError("op f(x[i]) -> y[i] = x[i] $ 2"),
            "my.op:1:27: unexpected '$'; expected a name, a number or an operator");
  EXPECT_EQ(
      ParseError("op f(x) -> y = tann(x)"),
      "my.op:1:16: 'tann' is no function; expected exp, log, sqrt, rsqrt, erf, tanh, sigmoid, "
      "sin, cos, abs, max, min, where, extent, sum, mean");
}

TEST(Declaration, ABuiltInNameCannotBeRedefinedAndNothingIsAdded) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  absl::Status status =
      library.AddDeclarations("op fresh(x) -> y = x\nop add(x) -> y = x", "my.op");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("my.op:2:1: operator 'add' is already declared at "
                        "sdfg/operators/elementwise.op"));
  EXPECT_FALSE(library.Contains("fresh"));
  status = library.AddDeclarations("op view(x) -> y = x", "my.op");
  EXPECT_THAT(std::string(status.message()), HasSubstr("operator 'view' is built in"));
}

TEST(Declaration, ShapeErrorsNameOperatorOperandAndBothExtents) {
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  auto message = [&](const char* name, std::vector<Operand> operands, Attributes attributes = {}) {
    return std::string(library.Instantiate(name, operands, attributes).status().message());
  };
  EXPECT_EQ(message("linear", {RealTensor({2, 4}), RealTensor({5, 3})}),
            "operator linear: operand w has extent 3 in dimension 1 (index k), but operand x in "
            "dimension 1 has extent 4");
  EXPECT_EQ(message("linear", {RealTensor({2, 4})}),
            "operator linear: operand w is missing; expected operands: x, w, bias?");
  EXPECT_EQ(message("matmul", {RealTensor({2, 4}), RealTensor({5, 3})}),
            "operator matmul: operand x has extent 4 in dimension 1, but operand y has extent 5 in "
            "dimension 0");
  EXPECT_THAT(message("view", {RealTensor({2, 3})}, {{"size", std::vector<int64_t>{4}}}),
              HasSubstr("has 6 elements, but shape [4] has 4"));
  EXPECT_THAT(message("liner", {RealTensor({2, 3})}), HasSubstr("did you mean 'linear'?"));
  EXPECT_THAT(message("relu", {RealTensor({2})}, {{"inplacee", true}}),
              HasSubstr("it has no attribute 'inplacee'"));
  EXPECT_THAT(
      message("div", {RealTensor({2}), Literal(2)}, {{"rounding_mode", std::string("floor")}}),
      HasSubstr("only none is declared"));
  EXPECT_THAT(message("pow", {RealTensor({2}), RealTensor({2})}),
              HasSubstr("must be a constant number"));
}

TEST(Declaration, DeepNestingIsAnErrorAndNoCrash) {
  std::string open(100000, '(');
  EXPECT_THAT(ParseError("op f(x) -> y = " + open + "x"), HasSubstr("nest too deeply"));
  std::string minus(100000, '-');
  EXPECT_THAT(ParseError("op f(x) -> y = " + minus + "x"), HasSubstr("nest too deeply"));
  std::string brackets;
  for (int i = 0; i < 50000; ++i) brackets += "x[";
  EXPECT_THAT(ParseError("op f(x[i]) -> y[i] = " + brackets), HasSubstr("nest too deeply"));
  EXPECT_THAT(ParseError(std::string(2 << 20, ' ')), HasSubstr("at most 1048576"));
}

// Definitions 0 to 59, each of which uses the one before twice.
std::string Doubling(const std::string& binder) {
  std::string text = "op f(x[i]) let d0[k] = x[k]\n";
  for (int i = 1; i < 60; ++i) {
    std::string before = "d" + std::to_string(i - 1);
    text += "let d" + std::to_string(i) + "[k] = sum(" + binder + ": " + before + "[j]) * sum(" +
            binder + ": " + before + "[j])\n";
  }
  return text + "-> y[i] = d59[i]";
}

TEST(Declaration, DefinitionsThatMultiplyEndWithAnError) {
  EXPECT_THAT(Instance(Doubling("j < 3"), "f", {RealTensor({3})}), HasSubstr("too many terms"));
  EXPECT_THAT(Instance(Doubling("j"), "f", {RealTensor({3})}), HasSubstr("operator f: my.op:"));
}

TEST(Declaration, MutatedDeclarationsNeverCrash) {
  std::string seed = R"(
## Documentation.
op f(x[b.., k:(2 * n)], w[(h c:2), k]: int, z[i.. | r..]?) {n = 3, keep = false, only a = none}
  where r.. at n, kept if keep
  when n = 3 ties even premise 0 <= w[0, 0] "text" assume "other" let d[j] = exp(x[b.., j]) ^ 2
  -> y[b.., (h c)]: like x = sum(k, e < (n + 1): d[k] * w[(h c), k]) + where(c == 0, -inf, 1e-5)
)";
  ASSERT_EQ(ParseError(seed), "");
  std::mt19937 random(7);
  std::string symbols = "()[]{}.,:=+-*/%^<>?| \n\"#0x_k";
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (int edit = 0; edit < 1 + round % 4; ++edit) {
      size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1 + random() % 6);
          break;
        case 1:
          text.insert(at, 1, symbols[random() % symbols.size()]);
          break;
        default:
          text[at] = static_cast<char>(random() % 256);
      }
      if (text.empty()) break;
    }
    OperatorLibrary library;
    if (!library.AddDeclarations(text, "fuzz.op").ok()) continue;
    for (const std::string& name : library.Names()) {
      (void)library.Instantiate(name, {RealTensor({2, 6}), RealTensor({4, 6}, DType::kInt64)}, {});
    }
  }
}

TEST(OperatorLibrary, DataMovementIsDerivedFromTheFunction) {
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  auto moves = [&](const char* name, std::vector<Operand> operands, Attributes attributes = {}) {
    absl::StatusOr<IndexFunction> function = library.Instantiate(name, operands, attributes);
    EXPECT_TRUE(function.ok()) << function.status().message();
    return function.ok() && OperatorLibrary::IsDataMovement(*function);
  };
  EXPECT_TRUE(moves("identity", {RealTensor({2})}));
  EXPECT_TRUE(
      moves("transpose", {RealTensor({2, 3})}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}));
  EXPECT_TRUE(moves("view", {RealTensor({2, 3})}, {{"size", std::vector<int64_t>{3, 2}}}));
  EXPECT_TRUE(moves("multiref", {RealTensor({2})}, {{"times", int64_t{2}}}));
  EXPECT_FALSE(moves("add", {RealTensor({2}), RealTensor({2})}));
  EXPECT_FALSE(moves("embedding", {RealTensor({2}, DType::kInt64), RealTensor({3, 4})}));
}

// PyTorch computes in the operands' type: 100 + 100 is -56 in int8, and true + true is true.
TEST(Declaration, NothingIsComputedInANarrowType) {
  const Operand bytes = RealTensor({4}, DType::kInt8), truths = RealTensor({4}, DType::kBool);
  for (const auto& [name, operands] : std::vector<std::pair<std::string, std::vector<Operand>>>{
           {"add", {bytes, bytes}},
           {"mul", {bytes, Literal(solver::Rational(3))}},
           {"square", {RealTensor({4}, DType::kUInt8)}},
           {"neg", {RealTensor({4}, DType::kInt16)}},
           {"linear", {RealTensor({2, 4}, DType::kInt8), RealTensor({3, 4}, DType::kInt8)}}}) {
    EXPECT_THAT(Instance("", name, operands), HasSubstr("which may wrap around")) << name;
  }
  EXPECT_THAT(Instance("", "add", {truths, truths}), HasSubstr("where 1 + 1 is 1"));
  EXPECT_THAT(
      Instance("", "matmul", {RealTensor({4, 4}, DType::kBool), RealTensor({4, 4}, DType::kBool)}),
      HasSubstr("not of truth values"));
  // A wider operand, a fraction, or no computation at all.
  const Operand wide = RealTensor({4}, DType::kInt64), real = RealTensor({4});
  EXPECT_EQ(Instance("", "add", {bytes, wide}), "z[i0] = x[i0] + y[i0]");
  EXPECT_EQ(Instance("", "mul", {bytes, real}), "z[i0] = real(x[i0]) * y[i0]");
  EXPECT_THAT(Instance("", "mul", {bytes, Literal(solver::Rational(1, 3))}), HasSubstr("z[i0] ="));
  EXPECT_EQ(Instance("", "mul", {truths, truths}), "z[i0] = x[i0] * y[i0]");
  EXPECT_THAT(Instance("", "sub", {Literal(solver::Rational(1)), truths}), HasSubstr("z[i0] ="));
  EXPECT_EQ(Instance("", "sum", {truths}), "y[d] = whole(sum(r0: x[r0]))");
  EXPECT_THAT(Instance("", "where", {truths, bytes, bytes}), HasSubstr("z[i0] ="));
}

// Not 0 is true, as of an element.
TEST(Declaration, AConditionMayBeANumber) {
  const Operand x = RealTensor({4}), y = RealTensor({4});
  EXPECT_EQ(Instance("", "where", {Literal(2), x, y}), "z[i0] = where(0 == 0, x[i0], y[i0])");
  EXPECT_EQ(Instance("", "where", {Literal(0), x, y}), "z[i0] = where(1 == 0, x[i0], y[i0])");
  EXPECT_EQ(Instance("op f(x, m) -> y = where(not m or x > 1, x, 0)", "f", {x, Literal(3)}),
            Instance("op f(x, m) -> y = where(not m or x > 1, x, 0)", "f",
                     {x, Literal(solver::Rational(1, 3))}));
  // The index of a dimension of one element is a number, too.
  const std::string index = "op f(x[i, j]) -> y[i, j] = where(i or j, x[i, j], 0)";
  EXPECT_THAT(Instance(index, "f", {RealTensor({1, 3})}), HasSubstr("where("));
  EXPECT_THAT(Instance("op f(x) -> y = where(-inf, x, 0)", "f", {x}),
              HasSubstr("found -inf; expected a condition"));
}

TEST(Declaration, WhatAndAndOrGiveIsAConditionAlsoWhereOneSideIsKnown) {
  const std::string text = "op f(x) {k = true} -> y = k and x";
  EXPECT_THAT(Instance(text, "f", {RealTensor({4})}),
              HasSubstr("found a condition; expected a number"));
  EXPECT_EQ(Instance("op f(x) {k = true} -> y = [k and x]", "f", {RealTensor({4})}),
            "y[i0] = [x[i0] != 0]");
}

}  // namespace
}  // namespace planproof::sdfg
