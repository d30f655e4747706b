// Reports of replays.
#include "report/replay_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace planproof::report {
namespace {

using runtime_check::Finding;
using runtime_check::ReplayReport;
using runtime_check::TensorReport;
using testing::HasSubstr;

// A tensor of two ranks that an operator makes; names are as a hostile file would have them.
lineage::Problem Hostile() {
  lineage::Problem problem;
  sdfg::Tensor tensor;
  tensor.name = "y\nNO ALARM: all is well\033[2J\xff";
  tensor.shape = {3};
  problem.logical.AddTensor(tensor);
  problem.parallel.axes = {{"tp", 2}};
  problem.parallel.axis_device_stride = {1};
  tensor.shape = {2, 3};
  tensor.axes = {0};
  sdfg::Operator op;
  op.name = "op\r\n";
  op.source = {"file\n", 7, ""};
  op.outputs = {problem.parallel.AddTensor(tensor)};
  problem.parallel.AddOperator(std::move(op));
  return problem;
}

ReplayReport Found(Finding finding) {
  TensorReport tensor;
  tensor.parallel = tensor.logical = 0;
  tensor.finding = finding;
  tensor.alarms_in_type = finding != Finding::kNone;
  tensor.measure.error = std::numeric_limits<double>::infinity();
  tensor.measure.ratio = 1234;
  tensor.measure.bound = 9;
  tensor.measure.parallel_index = {1, 2};
  tensor.measure.logical_index = {2};
  tensor.ratio = 77;
  tensor.elements = 5;
  tensor.index = {1};
  tensor.at = {{0, {1}}};
  tensor.devices = {1};
  ReplayReport report;
  report.tensors = {tensor};
  if (finding != Finding::kNone) {
    report.first = 0;
    report.alarms = 1;
  }
  return report;
}

TEST(ReplayReportText, NothingFromAFileBreaksALine) {
  for (const Finding finding : {Finding::kNone, Finding::kDiffers, Finding::kReplicasDiffer,
                                Finding::kOverlapsDiffer, Finding::kOmitted}) {
    const std::string text = TextReplayReport(Hostile(), Found(finding), {},
                                              {.inputs = "witness \n\033x", .verbose = true});
    EXPECT_EQ(text.find('\033'), std::string::npos);
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_EQ(text.find("\nNO ALARM"), std::string::npos);
    EXPECT_EQ(text.rfind(finding == Finding::kNone ? "NO ALARM: " : "ALARM: ", 0), 0u);
  }
}

TEST(ReplayReportText, EachFindingIsSaid) {
  const auto text = [](Finding finding) {
    return TextReplayReport(Hostile(), Found(finding), {}, {});
  };
  EXPECT_THAT(text(Finding::kDiffers), HasSubstr("error inf, 1.2e+03 times what rounding"));
  EXPECT_THAT(text(Finding::kDiffers), HasSubstr("place      tp=1; device 1\n"));
  EXPECT_THAT(text(Finding::kReplicasDiffer), HasSubstr("replicas differ in 5 elements"));
  EXPECT_THAT(text(Finding::kOverlapsDiffer), HasSubstr("overlap differ in 5 elements"));
  EXPECT_THAT(text(Finding::kOmitted), HasSubstr("no device holds 5 elements of y"));
}

// As Found, with a run in float64 beside that in the type.
ReplayReport FoundBy(bool in_type, bool exact) {
  ReplayReport report = Found(Finding::kDiffers);
  TensorReport& tensor = report.tensors[0];
  tensor.measure.ratio = in_type ? 1234 : 0.5;
  tensor.alarms_in_type = in_type;
  tensor.exact = {.measure = {.error = 0.25, .ratio = exact ? 4e9 : 0.125, .bound = 8},
                  .alarms = exact};
  report.alarms_in_type = in_type;
  report.alarms_exact = exact;
  return report;
}

TEST(ReplayReportText, WhichRunAlarmsIsSaid) {
  const auto text = [](bool in_type, bool exact) {
    return TextReplayReport(Hostile(), FoundBy(in_type, exact),
                            {.arithmetic = sdfg::DType::kFloat8E5M2}, {});
  };
  const std::string hidden = text(false, true), of_type = text(true, false);
  EXPECT_THAT(hidden, HasSubstr("differs from the model in float64 on the same inputs: error 0.25, "
                                "4e+09 times what rounding is expected to do; rounding in "
                                "float8_e5m2 hides it\n"));
  EXPECT_THAT(hidden,
              HasSubstr("type       float8_e5m2: error inf, ratio 0.5, bound 9: no alarm\n"));
  EXPECT_THAT(hidden, HasSubstr("exact      float64 on the same inputs: error 0.25, ratio 4e+09, "
                                "bound 8: alarm\n"));
  EXPECT_THAT(hidden, HasSubstr("1 alarm, 0 of them in float8_e5m2, 1 in float64\n"));
  EXPECT_THAT(of_type, HasSubstr("times what rounding in float8_e5m2 is expected to do\n"));
  EXPECT_THAT(of_type, HasSubstr("ratio 0.12, bound 8: no alarm\n"));
}

TEST(ReplayReportJson, WhichRunAlarmsIsSaid) {
  const auto json = nlohmann::json::parse(JsonReplayReport(
      Hostile(), FoundBy(false, true), {.arithmetic = sdfg::DType::kFloat8E5M2}, {}, {"file"}));
  EXPECT_EQ(json["exact"], true);
  EXPECT_EQ(json["alarms_in_type"], 0);
  EXPECT_EQ(json["alarms_exact"], 1);
  EXPECT_EQ(json["tensors"][0]["alarms_in_type"], false);
  EXPECT_EQ(json["tensors"][0]["ratio"], 0.5);
  EXPECT_EQ(json["tensors"][0]["exact"]["alarms"], true);
  EXPECT_EQ(json["tensors"][0]["exact"]["ratio"], 4e9);
}

TEST(ReplayReportJson, NumbersThatJsonLacksAreNull) {
  const auto json = nlohmann::json::parse(
      JsonReplayReport(Hostile(), Found(Finding::kDiffers), {}, {.inputs = "seed"}, {"file"}));
  EXPECT_TRUE(json["tensors"][0]["error"].is_null());
  EXPECT_EQ(json["tensors"][0]["ratio"], 1234);
  EXPECT_EQ(json["tensors"][0]["finding"], "differs");
  EXPECT_EQ(json["tensors"][0]["place"], "tp=1");
  EXPECT_EQ(json["first"], 0);
  EXPECT_EQ(json["exit_code"], 1);
}

}  // namespace
}  // namespace planproof::report
