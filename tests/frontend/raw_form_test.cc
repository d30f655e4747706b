// What the raw form refuses, although its messages are well-formed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

absl::StatusOr<lineage::Problem> Build(PlanFile file) {
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("test", std::move(file));
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
}

PlanFile RawExample() {
  absl::StatusOr<PlanFile> file =
      ReadPlanFile(std::string(PLANPROOF_SOURCE_DIR) + "/examples/mlp_tp2.json");
  absl::StatusOr<lineage::Problem> problem = Build(*std::move(file));
  return *ParsePlanFile(*SerializePlan(*problem, PlanFormat::kBinary), "raw");
}

int TensorNamed(const RawGraph& graph, const std::string& name) {
  for (int i = 0; i < graph.tensors_size(); ++i) {
    if (graph.tensors(i).name() == name) return i;
  }
  ADD_FAILURE() << "no tensor " << name;
  return 0;
}

// The error after `change`; empty if there is none.
std::string Refusal(const std::function<void(RawProblem*)>& change) {
  PlanFile file = RawExample();
  change(file.mutable_problem());
  const absl::Status status = Build(std::move(file)).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(RawForm, TheExampleItselfIsAccepted) {
  EXPECT_EQ(Refusal([](RawProblem*) {}), "");
}

TEST(RawForm, AnElementTypeThatDoesNotExistIsNamed) {
  EXPECT_THAT(
      Refusal([](RawProblem* p) { p->mutable_logical()->mutable_tensors(0)->set_dtype("string"); }),
      HasSubstr("\"string\" is no element type"));
  EXPECT_THAT(Refusal([](RawProblem* p) {
                p->mutable_functions(0)->mutable_inputs(0)->set_dtype("string");
              }),
              HasSubstr("\"string\" is no element type"));
  EXPECT_THAT(Refusal([](RawProblem* p) {
                p->mutable_functions(0)->mutable_outputs(0)->set_dtype("float31");
              }),
              HasSubstr("\"float31\" is no element type"));
}

// In a type that wraps around, or in truth values, sums and products are not those of numbers; what
// is computed as real numbers is not what a tensor of integers holds.
TEST(RawForm, ElementsAreOfTheTypeThatIsStated) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"bool", " in bool; give it a type that holds its values"},
      {"int8", " real numbers, its type is int8"},
      {"uint8", " real numbers, its type is uint8"},
      {"int16", " real numbers, its type is int16"},
      {"int32", " real numbers, its type is int32"},
      {"int64", " real numbers, its type is int64"}};
  for (const auto& [dtype, message] : wrong) {
    for (const bool logical : {false, true}) {
      EXPECT_THAT(Refusal([&, type = dtype](RawProblem* p) {
                    RawGraph* graph = logical ? p->mutable_logical() : p->mutable_parallel();
                    const int made = graph->operators(0).outputs(0);
                    graph->mutable_tensors(made)->set_dtype(type);
                  }),
                  HasSubstr(message));
    }
  }
  for (const char* dtype : {"complex64", "complex128"}) {
    EXPECT_THAT(Refusal([&](RawProblem* p) {
                  p->mutable_parallel()->mutable_tensors(0)->set_dtype(dtype);
                }),
                HasSubstr("complex elements"));
  }
}

// A premise about a computed value would assume what the program must establish.
// What is concluded of integers holds of no other numbers.
TEST(RawForm, RealNumbersAreTakenForNoIntegers) {
  for (const char* dtype : {"int64", "uint8", "bool"}) {
    EXPECT_THAT(Refusal([&](RawProblem* p) {
                  p->mutable_functions(0)->mutable_inputs(0)->set_dtype(dtype);
                }),
                HasSubstr(std::string(" for ") + dtype + ", its type is float32"));
  }
}

TEST(RawForm, PremisesRestrictInputsOnly) {
  const auto with_premise = [](const std::string& tensor, Premise::Kind kind, int64_t low,
                               int64_t high) {
    return Refusal([&](RawProblem* p) {
      RawPremise* premise = p->add_premises();
      premise->set_tensor(TensorNamed(p->logical(), tensor));
      premise->set_kind(kind);
      premise->set_low(low);
      premise->set_high(high);
    });
  };
  EXPECT_EQ(with_premise("x", Premise::POSITIVE, 0, 0), "");
  EXPECT_THAT(with_premise("y", Premise::POSITIVE, 0, 0),
              HasSubstr("a premise restricts y, which is computed"));
  EXPECT_THAT(with_premise("x", Premise::INTEGER_RANGE, 3, 3), HasSubstr("[3, 3) of x is empty"));
}

TEST(RawForm, RecordedValuesAreOneNumberForEachElementOfAnInput) {
  const auto recorded = [](const std::string& tensor, int more, const std::string& number) {
    return Refusal([&](RawProblem* p) {
      RawRecorded* values = p->add_recorded();
      values->set_tensor(TensorNamed(p->logical(), tensor));
      int64_t count = more;
      int64_t elements = 1;
      for (int64_t extent : p->logical().tensors(values->tensor()).shape()) elements *= extent;
      for (count += elements; count > 0; --count) values->add_values(number);
    });
  };
  EXPECT_EQ(recorded("x", 0, "-3/4"), "");
  EXPECT_THAT(recorded("x", 1, "0"), HasSubstr("not one number for each element"));
  EXPECT_THAT(recorded("x", 0, "one"), HasSubstr("not one number for each element"));
  EXPECT_THAT(recorded("y", 0, "0"), HasSubstr("no input of the model"));
}

TEST(RawForm, NumbersAtTheEndsOfTheirTypesAreRefused) {
  EXPECT_THAT(Refusal([](RawProblem* p) {
                p->mutable_parallel()->mutable_tensors(0)->set_device(INT32_MIN);
              }),
              HasSubstr("on a device that does not exist"));
  for (const int64_t constant : {INT64_MIN, INT64_MAX}) {
    EXPECT_THAT(Refusal([&](RawProblem* p) {
                  for (RawLineage& lineage : *p->mutable_lineage()) {
                    if (lineage.map_size() > 0) lineage.mutable_map(0)->set_constant(constant);
                  }
                }),
                HasSubstr("leaves the logical tensor"));
  }
}

TEST(RawForm, WhatIsOverwrittenAndWhereItIsComputedExist) {
  for (const int32_t operand : {INT32_MIN, -1, 100}) {
    EXPECT_THAT(Refusal([&](RawProblem* p) {
                  p->mutable_parallel()->mutable_operators(0)->set_overwrites(operand);
                }),
                HasSubstr("overwrites an operand that it does not have"));
  }
  for (const int32_t out : {INT32_MIN, -1}) {
    EXPECT_THAT(
        Refusal([&](RawProblem* p) { p->mutable_schedule()->mutable_places(0)->set_entry(out); }),
        HasSubstr("a place is out of range"));
    EXPECT_THAT(
        Refusal([&](RawProblem* p) { p->mutable_schedule()->mutable_places(0)->set_phase(out); }),
        HasSubstr("a place is out of range"));
  }
}

}  // namespace
}  // namespace planproof::plan
