#include "report/json_report.h"

#include <nlohmann/json.hpp>

namespace planproof::report {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const stages::Violation& violation) {
  return {
      {"verdict", stages::VerdictName(violation.verdict)},
      {"kind", violation.kind},
      {"stage", violation.stage},
      {"advice", violation.advice},
      {"cause", violation.cause},
      {"message", violation.message},
      {"logical_operator", violation.logical_operator},
      {"logical_source", violation.logical_source},
      {"parallel_operators", violation.parallel_operators},
      {"devices", violation.devices},
      {"microbatches", violation.microbatches},
      {"lineage", violation.lineage},
      {"witness",
       {{"place", violation.witness_place},
        {"logical", violation.witness_logical},
        {"parallel", violation.witness_parallel},
        {"precision_bits", violation.witness_precision},
        {"inputs", violation.witness_inputs}}},
  };
}

}  // namespace

std::string JsonReport(const stages::Result& result, const std::vector<std::string>& files) {
  Json violations = Json::array();
  for (const stages::Violation& violation : result.violations) {
    violations.push_back(ToJson(violation));
  }
  Json tiers = Json::object();
  for (const auto& [tier, count] : result.tiers) tiers[tier] = count;
  const Json report = {
      {"verdict", stages::VerdictName(result.verdict)},
      {"exit_code", stages::VerdictExitCode(result.verdict)},
      {"files", files},
      {"stages",
       {{"total", result.stages.total},
        {"classes", result.stages.classes},
        {"proved", result.stages.proved},
        {"refuted", result.stages.refuted},
        {"unknown", result.stages.unknown}}},
      {"tiers", tiers},
      {"cache",
       {{"used", result.cache.used},
        {"hits", result.cache.hits},
        {"misses", result.cache.misses},
        {"solved", result.cache.solved}}},
      {"inference",
       {{"used", result.inference.used},
        {"tensors", result.inference.tensors},
        {"classes", result.inference.classes},
        {"inferred", result.inference.inferred},
        {"proved", result.inference.proved},
        {"end",
         {{"logical_operator", result.inference.end.logical_operator},
          {"elsewhere", result.inference.end.elsewhere},
          {"nearest", result.inference.end.nearest},
          {"difference", result.inference.end.difference}}}}},
      {"operators",
       {{"logical", result.operators.logical},
        {"parallel", result.operators.parallel},
        {"covered", result.operators.covered}}},
      {"outputs", {{"required", result.outputs.required}, {"claimed", result.outputs.claimed}}},
      {"relations", result.relations},
      {"violations", violations},
      {"premises", result.premises},
      {"restrictions", result.restrictions},
      {"assumptions", result.assumptions},
      {"warnings", result.warnings},
      {"without_effect", result.without_effect},
      {"time_s",
       {{"read", result.time_s.read},
        {"check", result.time_s.check},
        {"infer", result.time_s.infer},
        {"cut", result.time_s.cut},
        {"reduce", result.time_s.reduce},
        {"evaluate", result.time_s.evaluate},
        {"decide", result.time_s.decide},
        {"workers", result.time_s.workers},
        {"total", result.time_s.total}}},
      {"peak_rss_mb",
       {{"total", result.peak_rss_mb.total}, {"largest", result.peak_rss_mb.largest}}},
      {"engine", result.engine},
      {"version", Version()},
  };
  // Names come from untrusted files: bytes that are no UTF-8 are replaced.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* Version() { return PLANPROOF_VERSION; }

}  // namespace planproof::report
