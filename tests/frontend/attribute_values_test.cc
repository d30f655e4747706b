// Attributes and element types of a plan file: what is not known is no identity. In text and in
// binary, where nothing has looked at the words before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

// y = op(x) in the model and in the plan.
std::string Text(const std::string& type, const std::string& op, const std::string& attributes) {
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": ")", type,
                      R"([4]"}, "operators": [{"op": "identity", "in": "x", "out": "y"}],
                      "outputs": ["y"]}, "plan": {"mesh": {"tp": 2}, "programs": [
                      {"inputs": {"x": {}}, "operators": [{"op": ")",
                      op, R"(", "in": "x", "out": "y", "attrs": {)", attributes, "}}]}]}}");
}

absl::Status Built(PlanFile file) {
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("plan.json", std::move(file));
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn()).status();
}

absl::Status ReadAttributes(const std::string& text) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  return file.ok() ? Built(*std::move(file)) : file.status();
}

// The same file, changed by `edit`, from its binary form.
template <typename Edit>
absl::Status ReadBinary(const std::string& text, const Edit& edit) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  if (!file.ok()) return file.status();
  file->set_magic("planproof-plan");
  edit(&*file);
  absl::StatusOr<PlanFile> again = ParsePlanFile(file->SerializeAsString(), "plan.bin");
  return again.ok() ? Built(*std::move(again)) : again.status();
}

TEST(AttributeValues, AnUnknownElementTypeIsNoIdentity) {
  EXPECT_TRUE(ReadAttributes(Text("float32", "to", R"("dtype": "float32")")).ok());
  EXPECT_TRUE(ReadAttributes(Text("float32", "to", R"("dtype_or_device": "cuda:1")")).ok());
  for (const char* type : {"torch.uint16", "torch.quint8", "int4"}) {
    const absl::Status status =
        ReadAttributes(Text("float32", "to", absl::StrCat(R"("dtype": ")", type, "\"")));
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("element type ", type, " is not known")));
  }
  for (const char* value : {R"("bananas")", R"("Int8")", R"("LONG")", "5", "[1, 2]", "true"}) {
    const absl::Status status =
        ReadAttributes(Text("float32", "to", absl::StrCat(R"("dtype": )", value)));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("operator to: attribute dtype")) << value;
  }
}

TEST(AttributeValues, ATensorOfAnUnknownTypeIsNoTensorOfReals) {
  EXPECT_TRUE(absl::IsUnimplemented(ReadAttributes(Text("uint16", "identity", ""))));
  EXPECT_TRUE(absl::IsUnimplemented(ReadAttributes(Text("torch.quint8", "identity", ""))));
  // abs(x)^2 = x^2 holds for real numbers only.
  EXPECT_TRUE(absl::IsUnimplemented(ReadAttributes(Text("complex64", "identity", ""))));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadAttributes(Text("floaty", "identity", ""))));
  EXPECT_TRUE(ReadAttributes(Text("float8_e4m3fn", "identity", "")).ok());
  EXPECT_TRUE(ReadAttributes(Text("float8_e5m2", "identity", "")).ok());
}

TEST(AttributeValues, WhatAFrameworkHasAndNoDeclarationIsUnknown) {
  EXPECT_TRUE(
      absl::IsUnimplemented(ReadAttributes(Text("float32", "sum", R"("dtype": "float64")"))));
  EXPECT_TRUE(
      absl::IsInvalidArgument(ReadAttributes(Text("float32", "sum", R"("dtype": "float46")"))));
}

TEST(AttributeValues, WordsOfABinaryPlanAreCheckedAsWell) {
  const std::string text =
      R"({"planproof": 1, "specification": {"inputs": {"x": [4]}, "operators": [
          {"op": "sum", "in": "x", "out": "y", "attrs": {"keepdim": false}}], "outputs": ["y"]},
          "plan": {"mesh": {"tp": 2}, "programs": [{"inputs": {"x": {"0": "tp"}}, "operators": [
          {"op": "sum", "in": "x", "out": "part", "attrs": {"keepdim": false}},
          {"op": "all_reduce", "over": "tp", "in": "part", "out": "y"}]}]}})";
  const auto operator_of = [](PlanFile* file, int number) {
    return file->mutable_plan()->mutable_programs(0)->mutable_operators(number);
  };
  EXPECT_TRUE(ReadBinary(text, [](PlanFile*) {}).ok());
  for (const char* reduce : {"bananas", "SUM", "mean", "prod"}) {
    const absl::Status status = ReadBinary(text, [&](PlanFile* file) {
      operator_of(file, 1)->mutable_collective()->set_reduce(reduce);
    });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("expected sum, max, min or avg"));
  }
  EXPECT_THAT(std::string(ReadBinary(text,
                                     [&](PlanFile* file) {
                                       operator_of(file, 0)->mutable_attributes(0)->clear_value();
                                     })
                              .message()),
              HasSubstr("attribute keepdim has no value"));
  EXPECT_THAT(
      std::string(ReadBinary(text,
                             [&](PlanFile* file) {
                               file->mutable_specification()->mutable_operators(0)->add_inputs();
                             })
                      .message()),
      HasSubstr("neither a tensor"));
  EXPECT_TRUE(absl::IsUnimplemented(ReadBinary(text, [](PlanFile* file) {
    file->mutable_specification()->mutable_tensors(0)->set_dtype("uint32");
  })));
}

// What a later version, or another program, says in a field of its own is not dropped.
TEST(AttributeValues, AFieldOfABinaryPlanThatIsNotKnownIsAnError) {
  const std::string text =
      R"({"planproof": 1, "specification": {"inputs": {"x": [4]}, "operators": [
      {"op": "exp", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"tp": 2}, "programs": [{"inputs": ["x"], "operators": [
      {"op": "exp", "in": "x", "out": "y"}]}]}})";
  const auto said = [&](const std::function<google::protobuf::Message*(PlanFile*)>& message_of) {
    return std::string(ReadBinary(text, [&](PlanFile* file) {
                         google::protobuf::Message* message = message_of(file);
                         message->GetReflection()->MutableUnknownFields(message)->AddVarint(1500,
                                                                                            1);
                       }).message());
  };
  EXPECT_THAT(said([](PlanFile* file) { return file; }),
              HasSubstr("field 1500 of PlanFile is not known"));
  EXPECT_THAT(said([](PlanFile* file) {
                return file->mutable_plan()->mutable_programs(0)->mutable_operators(0);
              }),
              HasSubstr("field 1500 of Operator is not known"));
}

}  // namespace
}  // namespace planproof::plan
