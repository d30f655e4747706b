// The table of operators against the signatures that PyTorch prints. tests/torch/test_schemas.py
// compares these with the PyTorch that is installed.
#include "frontend/torch/aten_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "frontend/torch/aten_complex.h"
#include "frontend/torch/aten_operators.h"

namespace planproof::frontend::torch {
namespace {

std::set<std::string> Overloads() {
  std::set<std::string> all;
  for (const std::string& name : AtenOverloads()) all.insert(name);
  for (const std::string& name : ComplexOverloads()) all.insert(name);
  return all;
}

TEST(AtenSchemas, EveryOverloadOfTheTableIsOneOfPyTorch) {
  for (const std::string& name : Overloads()) {
    EXPECT_NE(FindAtenSchema(name), nullptr)
        << name << ": add it by tests/torch/write_schemas.py " << name;
  }
}

TEST(AtenSchemas, EverySignatureIsOfAnOverloadOfTheTable) {
  const std::set<std::string> overloads = Overloads();
  size_t lines = 0;
  for (absl::string_view line : absl::StrSplit(kAtenSchemas, '\n', absl::SkipEmpty())) {
    const auto schema = ParseAtenSchema({line.data(), line.size()});
    ASSERT_TRUE(schema.ok()) << line;
    EXPECT_TRUE(overloads.count(schema->op)) << schema->op << " has no row; leave it out";
    ++lines;
  }
  EXPECT_EQ(lines, AtenSchemaNames().size());
}

// A row knows every parameter of its overloads that may mean something for values: it reads it, or
// says that it means nothing. What it does not read is refused when it is given.
TEST(AtenSchemas, RowsKnowTheParametersOfTheirOverloads) {
  const std::set<std::string> anywhere = {"non_blocking",  "copy",          "pin_memory",
                                          "half_to_float", "requires_grad", "sparse_grad"};
  for (const bool complex : {false, true}) {
    for (const std::string& name : complex ? ComplexOverloads() : AtenOverloads()) {
      const AtenOperator* op = complex ? FindComplexOperator(name) : FindAtenOperator(name);
      if (op == nullptr) continue;  // EveryOverloadOfTheTableIsOneOfPyTorch says so
      for (const AtenParameter& parameter : op->schema->parameters) {
        const bool means_nothing =
            parameter.kind == AtenKind::kOther || parameter.kind == AtenKind::kDType ||
            (parameter.written && parameter.keyword_only) || anywhere.count(parameter.name) != 0;
        const bool listed = std::find(op->parameters.begin(), op->parameters.end(),
                                      parameter.name) != op->parameters.end();
        EXPECT_TRUE(means_nothing || listed) << name << ": " << parameter.name;
      }
    }
  }
}

// A name that is in no signature is never read.
TEST(AtenSchemas, RowsReadNothingThatNoOverloadHas) {
  std::map<std::string, std::set<std::string>> overloads_of;
  for (const std::string& name : AtenOverloads()) {
    const AtenOperator* op = FindAtenOperator(name);
    if (op == nullptr) continue;
    for (const std::string& parameter : op->parameters) {
      const std::string key = AtenBaseName(name) + " " + parameter;
      overloads_of[key];
      if (op->schema->Find(parameter) != nullptr) overloads_of[key].insert(name);
    }
  }
  for (const auto& [key, names] : overloads_of) EXPECT_FALSE(names.empty()) << key;
}

TEST(AtenSchemas, KindsAndDefaultsAreRead) {
  const auto schema = ParseAtenSchema(
      "aten::f_.x(Tensor(a!) self, int[1]? dim, Tensor?[] indices, Scalar alpha=1, *, "
      "float eps=1e-05, str mode=\"none\", bool keepdim=False, SymInt[2] pad=[0, -1], "
      "ScalarType? dtype=None, Device device) -> (Tensor(a!), Tensor)");
  ASSERT_TRUE(schema.ok()) << schema.status().message();
  EXPECT_EQ(schema->op, "aten.f_.x");
  const std::vector<AtenParameter>& p = schema->parameters;
  ASSERT_EQ(p.size(), 10u);
  EXPECT_TRUE(p[0].written && p[0].kind == AtenKind::kTensor && !p[0].otherwise);
  EXPECT_TRUE(p[1].list && p[1].one_for_all && p[1].optional && p[1].kind == AtenKind::kInteger);
  EXPECT_TRUE(p[2].list && p[2].optional_elements && !p[2].optional && !p[2].one_for_all);
  EXPECT_TRUE(p[3].kind == AtenKind::kNumber && p[3].otherwise->integer == 1);
  EXPECT_FALSE(p[3].keyword_only);
  EXPECT_TRUE(p[4].keyword_only && p[4].otherwise->real == solver::Rational::FromDouble(1e-5));
  EXPECT_EQ(p[5].otherwise->text, "none");
  EXPECT_EQ(p[6].otherwise->kind, Value::Kind::kBool);
  EXPECT_EQ(p[7].otherwise->list[1].integer, -1);
  EXPECT_EQ(p[8].otherwise->kind, Value::Kind::kNone);
  EXPECT_EQ(p[9].kind, AtenKind::kOther);
  for (const char* text : {"", "aten::f", "aten::f(Tensor) -> Tensor", "f(Tensor x) -> Tensor",
                           "aten::f(Tensor x", "aten::f(int x=y) -> ()"}) {
    EXPECT_FALSE(ParseAtenSchema(text).ok()) << text;
  }
}

// Numbers that left a tensor, or may have, are numbers.
TEST(AtenSchemas, NumbersOfTensorsAreArguments) {
  AtenParameter number, tensor, text;
  number.kind = AtenKind::kNumber;
  tensor.kind = AtenKind::kTensor;
  text.kind = AtenKind::kText;
  for (const Value::Kind kind :
       {Value::Kind::kBool, Value::Kind::kInteger, Value::Kind::kReal, Value::Kind::kItem,
        Value::Kind::kComputed, Value::Kind::kMayBe, Value::Kind::kInfinite}) {
    Value value;
    value.kind = kind;
    EXPECT_TRUE(IsArgumentFor(value, number)) << static_cast<int>(kind);
    EXPECT_TRUE(IsArgumentFor(value, tensor)) << static_cast<int>(kind);
    EXPECT_FALSE(IsArgumentFor(value, text)) << static_cast<int>(kind);
  }
  Value list;
  list.kind = Value::Kind::kList;
  EXPECT_FALSE(IsArgumentFor(list, number));
  Value whole;
  whole.kind = Value::Kind::kTensor;
  EXPECT_FALSE(IsArgumentFor(whole, number));
}

}  // namespace
}  // namespace planproof::frontend::torch
