// Attributes of operators are closed: a value of another type, or one that is not listed, is an
// error that names operator, attribute, value and what is expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/element_type.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Operand Typed(Shape shape, DType dtype = DType::kFloat32) {
  Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = dtype;
  return operand;
}

absl::Status CallStatus(const std::string& name, const std::vector<Operand>& operands,
                        const Attributes& attributes) {
  return OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes).status();
}

std::string Message(const std::string& name, const std::vector<Operand>& operands,
                    const Attributes& attributes) {
  return std::string(CallStatus(name, operands, attributes).message());
}

AttributeValue Text(const char* text) { return std::string(text); }
AttributeValue List(std::vector<int64_t> list) { return list; }

TEST(Attributes, AnUnknownElementTypeIsNoConversionAndNoDevice) {
  for (const char* attribute : {"dtype", "dtype_or_device"}) {
    const auto status = [&](const AttributeValue& value) {
      return CallStatus("to", {Typed({2})}, {{attribute, value}});
    };
    // PyTorch has them, nothing here computes with them.
    for (const char* name : {"torch.uint16", "uint16", "torch.quint8", "int4", "torch.complex64",
                             "float8_e4m3fnuz", "torch.float4_e2m1fn_x2"}) {
      EXPECT_EQ(status(Text(name)).code(), absl::StatusCode::kUnimplemented) << name;
      EXPECT_THAT(std::string(status(Text(name)).message()),
                  HasSubstr("element type " + std::string(name) + " is not known"));
    }
    for (const char* name : {"bananas", "Int8", "LONG", "torch.", "", "int 8", "int8 ", "float33",
                             "torch.cuda", "torch.float32.x", "<class 'torch.float32'", "cuda8"}) {
      EXPECT_EQ(status(Text(name)).code(), absl::StatusCode::kInvalidArgument) << name;
    }
    EXPECT_EQ(status(List({1, 2})).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status(true).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status(int64_t{-1}).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status(Text("Int8")).message()), HasSubstr("did you mean \"int8\"?"));
    EXPECT_THAT(std::string(status(Text("LONG")).message()), HasSubstr("did you mean \"long\"?"));
    EXPECT_THAT(std::string(status(Text("torch.bfloat1")).message()),
                HasSubstr("did you mean \"bfloat16\"?"));
  }
  EXPECT_EQ(Message("to", {Typed({2})}, {{"dtype", Text("bananas")}}),
            "operator to: attribute dtype: \"bananas\" is no element type; expected float32, "
            "bfloat16, int64, bool, ...");
}

TEST(Attributes, OnlyWhatIsTakenForATypeOrADeviceMayBeOne) {
  const auto ok = [](const char* attribute, const AttributeValue& value) {
    return CallStatus("to", {Typed({2})}, {{attribute, value}}).ok();
  };
  for (const char* device : {"cuda", "cuda:3", "cpu", "meta", "cuda:15"}) {
    EXPECT_TRUE(ok("dtype_or_device", Text(device))) << device;
    EXPECT_TRUE(ok("device", Text(device))) << device;
    EXPECT_FALSE(ok("dtype", Text(device))) << device;
  }
  for (const char* none : {"cuda:", "cuda:x", "gpu", "cuda:1:2", "cuda:-1", ":1", "CUDA"}) {
    EXPECT_FALSE(ok("dtype_or_device", Text(none))) << none;
    EXPECT_FALSE(ok("device", Text(none))) << none;
  }
  EXPECT_TRUE(ok("dtype_or_device", int64_t{5}));
  EXPECT_TRUE(ok("device", int64_t{5}));
  EXPECT_FALSE(ok("dtype", int64_t{5}));
  EXPECT_FALSE(ok("device", Text("float32")));
  for (const char* type : {"torch.float32", "float", "half", "torch.bfloat16", "float8_e5m2",
                           "<class 'torch.float16'>", "builtins.float"}) {
    EXPECT_TRUE(ok("dtype_or_device", Text(type))) << type;
    EXPECT_TRUE(ok("dtype", Text(type))) << type;
    EXPECT_FALSE(ok("device", Text(type))) << type;
  }
  EXPECT_THAT(Message("to", {Typed({2})},
                      {{"dtype", Text("float64")}, {"dtype_or_device", Text("float16")}}),
              HasSubstr("name two element types"));
}

TEST(Attributes, PythonsTypesAreThoseThatPyTorchTakesThemFor) {
  EXPECT_EQ(*ElementTypeFromText("builtins.float"), DType::kFloat64);
  EXPECT_EQ(*ElementTypeFromText("builtins.int"), DType::kInt64);
  const absl::StatusOr<IndexFunction> to = OperatorLibrary::BuiltIn().Instantiate(
      "to", {Typed({2})}, {{"dtype_or_device", Text("builtins.int")}});
  ASSERT_TRUE(to.ok());
  EXPECT_EQ(to->outputs[0].dtype, DType::kInt64);
}

// The attributes on an operator's reference page, with what each may be; alternatives in turn.
std::map<std::string, std::string> AttributesOnPage(const std::string& page) {
  std::map<std::string, std::string> attributes;
  size_t at = 0;
  while ((at = page.find("\n| `", at)) != std::string::npos) {
    const size_t name = at + 4;
    const size_t end = page.find("` | ", name);
    const size_t values = end + 4;
    attributes[page.substr(name, end - name)] +=
        page.substr(values, page.find(" | ", values) - values) + ";";
    at = values;
  }
  return attributes;
}

TEST(Attributes, NoBuiltInOperatorTakesAnyValue) {
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  for (const std::string& name : library.Names()) {
    const std::string page = library.Page(name);
    for (const auto& [attribute, values] : AttributesOnPage(page)) {
      if (values.find("any;") == std::string::npos) continue;
      EXPECT_THAT(page,
                  HasSubstr("| `" + attribute + "` | any | none | no other value is declared"))
          << name;
    }
  }
}

std::vector<Operand> OperandsOf(const json& golden) {
  std::vector<Operand> operands;
  for (const json& value : golden["operands"]) {
    Operand operand;
    if (value.is_null()) {
      operand.kind = Operand::Kind::kAbsent;
    } else if (value.contains("literal")) {
      operand.kind = Operand::Kind::kLiteral;
      operand.literal = solver::Rational(2);
    } else {
      operand =
          Typed(value["shape"].get<Shape>(), DTypeFromName(value["dtype"].get<std::string>()));
    }
    operands.push_back(operand);
  }
  return operands;
}

Attributes AttributesOf(const json& golden) {
  Attributes attributes;
  for (const auto& [name, value] : golden["attributes"].items()) {
    if (value.is_boolean()) attributes[name] = value.get<bool>();
    if (value.is_number_integer()) attributes[name] = value.get<int64_t>();
    if (value.is_string()) attributes[name] = value.get<std::string>();
    if (value.is_array()) attributes[name] = value.get<std::vector<int64_t>>();
    if (value.is_object()) attributes[name] = solver::Rational(1, 2);
  }
  return attributes;
}

TEST(Attributes, NoAttributeOfAnyOperatorTakesAValueOfAnotherKind) {
  json goldens = json::array();
  for (const char* file : {"operators.json", "models.json"}) {
    std::ifstream in(std::string(PLANPROOF_SOURCE_DIR) + "/tests/sdfg/goldens/" + file);
    for (json& golden : json::parse(in)) goldens.push_back(std::move(golden));
  }
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  std::set<std::string> tried;
  for (const json& golden : goldens) {
    const std::string name = golden["name"].get<std::string>();
    const std::vector<Operand> operands = OperandsOf(golden);
    const Attributes regular = AttributesOf(golden);
    for (const auto& [attribute, values] : AttributesOnPage(library.Page(name))) {
      tried.insert(name + "." + attribute);
      const auto takes = [&, &values = values](const char* kind) {
        return values.find(kind) != std::string::npos;
      };
      std::vector<AttributeValue> wrong = {Text("bananas"), Text("")};
      if (!takes("bool") && !takes("true")) wrong.emplace_back(true);
      if (!takes("int") && !takes("real") && !takes("device")) wrong.emplace_back(int64_t{1});
      if (!takes("real")) wrong.emplace_back(solver::Rational(5, 2));
      if (!takes("ints")) wrong.insert(wrong.end(), {List({7, 7, 7}), List({})});
      for (const AttributeValue& value : wrong) {
        Attributes attributes = regular;
        attributes[attribute] = value;
        const absl::Status status = CallStatus(name, operands, attributes);
        EXPECT_FALSE(status.ok()) << name << ", " << attribute << ", value " << value.index();
        EXPECT_TRUE(std::string(status.message()).find(name) != std::string::npos)
            << status.message();
      }
    }
  }
  EXPECT_GT(tried.size(), 80u);
}

TEST(Attributes, AReductionOverAnEmptyListOfDimensionsIsAnError) {
  // PyTorch would reduce over all of them.
  for (const char* name : {"sum", "mean", "max", "min", "logsumexp"}) {
    EXPECT_THAT(Message(name, {Typed({2, 3})}, {{"dim", List({})}}),
                HasSubstr("attribute dim names no dimension"));
  }
}

TEST(Attributes, DimensionsLieWithinTheOperand) {
  for (const int64_t dim :
       {int64_t{2}, int64_t{-3}, int64_t{1} << 32, (int64_t{1} << 32) + 1, INT64_MIN, INT64_MAX}) {
    for (const char* name : {"softmax", "log_softmax", "sum", "mean", "max", "min", "concat", "cat",
                             "slice", "squeeze", "logsumexp"}) {
      EXPECT_FALSE(CallStatus(name, {Typed({2, 3})}, {{"dim", dim}}).ok()) << name << " " << dim;
    }
    EXPECT_FALSE(CallStatus("permute", {Typed({2, 3})}, {{"dims", List({0, dim})}}).ok()) << dim;
    EXPECT_FALSE(CallStatus("flip", {Typed({2, 3})}, {{"dims", List({dim})}}).ok()) << dim;
    EXPECT_FALSE(
        CallStatus("transpose", {Typed({2, 3})}, {{"dim0", int64_t{0}}, {"dim1", dim}}).ok());
    EXPECT_FALSE(CallStatus("flatten", {Typed({2, 3})}, {{"end_dim", dim}}).ok()) << dim;
    EXPECT_FALSE(CallStatus("chunk", {Typed({2, 3})}, {{"chunks", int64_t{1}}, {"dim", dim}}).ok());
    EXPECT_FALSE(CallStatus("select", {Typed({2, 3})}, {{"dim", dim}, {"index", int64_t{0}}}).ok());
  }
  EXPECT_FALSE(CallStatus("permute", {Typed({2, 3})}, {{"dims", List({0, 0})}}).ok());
  EXPECT_TRUE(CallStatus("permute", {Typed({2, 3})}, {{"dims", List({-1, 0})}}).ok());
}

TEST(Attributes, TextsAreThoseOfTheFrameworkToTheLetter) {
  EXPECT_EQ(Message("gelu", {Typed({2})}, {{"approximate", Text("Tanh")}}),
            "operator gelu: attribute approximate is \"Tanh\"; expected \"none\" or \"tanh\"; did "
            "you mean \"tanh\"?");
  EXPECT_EQ(Message("mse_loss", {Typed({2}), Typed({2})}, {{"reduction", Text("Mean")}}),
            "operator mse_loss: attribute reduction is \"Mean\"; expected \"mean\", \"sum\" or "
            "\"none\"; did you mean \"mean\"?");
  EXPECT_EQ(Message("mse_loss", {Typed({2}), Typed({2})}, {{"reduction", int64_t{1}}}),
            "operator mse_loss: attribute reduction is 1; expected \"mean\", \"sum\" or \"none\"");
  EXPECT_EQ(Message("sum", {Typed({2})}, {{"keepdim", int64_t{2}}}),
            "operator sum: attribute keepdim is 2; expected a value of type bool");
  EXPECT_THAT(
      Message("masked_fill", {Typed({2}), Typed({2}, DType::kBool)}, {{"value", Text("inf")}}),
      HasSubstr("expected a value of type real"));
}

TEST(Attributes, AValueThatTheFrameworkHasButNoDeclarationIsUnknown) {
  const auto code = [](const std::string& name, const std::vector<Operand>& operands,
                       const Attributes& attributes) {
    return CallStatus(name, operands, attributes).code();
  };
  const Operand x = Typed({4, 4});
  EXPECT_EQ(code("div", {x, x}, {{"rounding_mode", Text("floor")}}),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code("div", {x, x}, {{"rounding_mode", Text("round")}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("sum", {x}, {{"dtype", Text("torch.float64")}}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code("softmax", {x}, {{"dtype", Text("cuda")}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("pad", {x}, {{"pad", List({1, 1})}, {"mode", Text("reflect")}}),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code("pad", {x}, {{"pad", List({1, 1})}, {"mode", Text("mirror")}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(CallStatus("pad", {x}, {{"pad", List({1, 1})}, {"value", AttributeValue()}}).ok());
  EXPECT_EQ(code("cross_entropy", {x, Typed({4}, DType::kInt64)},
                 {{"label_smoothing", solver::Rational(1, 10)}}),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code("identity", {x}, {{"memory_format", Text("torch.channel_last")}}),
            absl::StatusCode::kInvalidArgument);
}

TEST(Attributes, ProbabilitiesAreProbabilitiesAndDropoutOfEverythingIsZero) {
  const auto dropout = [](const AttributeValue& p, bool training) {
    absl::StatusOr<IndexFunction> function = OperatorLibrary::BuiltIn().Instantiate(
        "dropout", {Typed({2})}, {{"p", p}, {"training", training}});
    return function.ok() ? ToString(*function) : std::string(function.status().message());
  };
  EXPECT_EQ(dropout(solver::Rational(9, 10), true), "y[i0] = x[i0]");
  EXPECT_EQ(dropout(int64_t{1}, true), "y[i0] = 0");
  EXPECT_EQ(dropout(solver::Rational(1), true), "y[i0] = 0");
  EXPECT_EQ(dropout(int64_t{1}, false), "y[i0] = x[i0]");
  EXPECT_THAT(dropout(int64_t{2}, true), HasSubstr("attribute p is 2; expected a value of type "
                                                   "real in [0, 1]"));
  EXPECT_THAT(dropout(solver::Rational(-1, 10), false), HasSubstr("in [0, 1]"));
}

TEST(Attributes, ConversionsThatRoundAreListedOncePerType) {
  const auto assumptions = [](DType from, const char* to) {
    absl::StatusOr<IndexFunction> function =
        OperatorLibrary::BuiltIn().Instantiate("to", {Typed({2}, from)}, {{"dtype", Text(to)}});
    return function.ok() ? function->assumptions : std::vector<std::string>{"error"};
  };
  const std::string bfloat16 = "conversions to bfloat16 are taken as exact (real arithmetic)";
  EXPECT_THAT(assumptions(DType::kFloat32, "bfloat16"), ElementsAre(bfloat16));
  EXPECT_THAT(assumptions(DType::kFloat16, "bfloat16"), ElementsAre(bfloat16));
  EXPECT_THAT(assumptions(DType::kInt64, "bfloat16"), ElementsAre(bfloat16));
  EXPECT_THAT(assumptions(DType::kBFloat16, "float16"), testing::SizeIs(1));
  EXPECT_THAT(assumptions(DType::kFloat32, "float8_e4m3fn"), testing::SizeIs(1));
  EXPECT_THAT(assumptions(DType::kFloat8E5M2, "float8_e4m3fn"), testing::SizeIs(1));
  EXPECT_THAT(assumptions(DType::kFloat64, "float32"), testing::SizeIs(1));
  for (const DType from : {DType::kBFloat16, DType::kFloat16, DType::kFloat8E4M3,
                           DType::kFloat8E5M2, DType::kInt8, DType::kBool, DType::kFloat32}) {
    EXPECT_THAT(assumptions(from, "float32"), IsEmpty()) << DTypeName(from);
  }
  EXPECT_THAT(assumptions(DType::kFloat8E4M3, "bfloat16"), IsEmpty());
  EXPECT_THAT(assumptions(DType::kFloat8E5M2, "float16"), IsEmpty());
  EXPECT_THAT(assumptions(DType::kUInt8, "bfloat16"), IsEmpty());
}

TEST(Attributes, ListsAndIntervalsOfADeclarationAreChecked) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(library
                  .AddDeclarations("op f(x) {mode in (\"a\", none, 3) = \"a\", "
                                   "n: int in [2, 4] = 3, r: real in [0, inf) = 1, "
                                   "ignore s in (true, \"maybe\") = true} -> y = x * n + r",
                                   "my.op")
                  .ok());
  const auto message = [&](const Attributes& attributes) {
    return std::string(library.Instantiate("f", {Typed({2})}, attributes).status().message());
  };
  EXPECT_EQ(message({{"mode", AttributeValue()}, {"n", int64_t{4}}, {"s", Text("maybe")}}), "");
  EXPECT_EQ(message({{"mode", Text("b")}}),
            "operator f: attribute mode is \"b\"; expected \"a\", none or 3; did you mean \"a\"?");
  EXPECT_EQ(message({{"n", int64_t{5}}}),
            "operator f: attribute n is 5; expected a value of type int in [2, 4]");
  EXPECT_EQ(message({{"r", solver::Rational(-1, 2)}}),
            "operator f: attribute r is -1/2; expected a value of type real in [0, inf)");
  EXPECT_EQ(message({{"s", Text("yes")}}),
            "operator f: attribute s is \"yes\"; expected true or \"maybe\"");
}

}  // namespace
}  // namespace planproof::sdfg
