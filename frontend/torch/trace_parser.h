// Turns the JSON of a trace into data; internal.
#ifndef PLANPROOF_FRONTEND_TORCH_TRACE_PARSER_H_
#define PLANPROOF_FRONTEND_TORCH_TRACE_PARSER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/json_cursor.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

class TraceParser {
 public:
  TraceParser(const plan::JsonValue& root, const std::string& path) : root_(root), at_(root, path) {
    trace_.path = path;
  }
  absl::StatusOr<Trace> Run();

 private:
  using Json = plan::JsonValue;

  // Tables: trace_tables.cc.
  absl::Status ReadWhatVersion2Adds();
  absl::Status Groups(const Json& json);
  absl::Status Axes(const Json& json);
  absl::Status IsElement(const Json& json, sdfg::DType dtype, const solver::Rational& value) const;
  absl::Status ReadStorage(const Json& json);
  absl::Status ReadTensor(const Json& json);
  absl::Status WithinStorage(const Json& json, const Tensor& tensor) const;
  absl::Status ReadInput(const Json& json);
  absl::Status ReadDomain(const Json& json, Input* input) const;
  absl::Status ReadResult(const Json& json);
  absl::Status ReadPart(const Json& json, Part* part) const;

  // What was executed: trace_operators.cc.
  absl::Status ReadOperator(const Json& json);
  absl::Status ReadRecordedValues(const Json& json, Executed* executed) const;
  absl::Status ReadCollective(const Json& json, Collective* collective) const;
  absl::StatusOr<Value> ReadValue(const Json& json, int depth) const;
  absl::StatusOr<Value> ReadTagged(const Json& json) const;
  absl::StatusOr<Value> ReadComputed(const Json& json, int depth) const;

  // What the program read and did besides: trace_surroundings.cc.
  absl::Status ReadNumber(const Json& json);
  absl::Status ReadEnvironment(const Json& json);

  absl::Status Each(const Json* list, absl::Status (TraceParser::*read)(const Json&));
  absl::StatusOr<const Json*> Needed(const Json& object, const char* key) const;
  absl::StatusOr<int32_t> Number(const Json& json, size_t count, const char* what) const;
  absl::StatusOr<TensorNumber> TensorAt(const Json& json) const {
    return Number(json, trace_.tensors.size(), "tensor");
  }
  absl::StatusOr<std::vector<TensorNumber>> TensorsAt(const Json* json) const;
  absl::StatusOr<std::string> Text(const Json* number) const;  // "" of null
  absl::StatusOr<std::vector<int64_t>> Integers(const Json& json, int64_t low, int64_t high) const;
  absl::StatusOr<std::pair<int64_t, int64_t>> Pair(const Json& json, int64_t low,
                                                   int64_t high) const;
  absl::StatusOr<solver::Rational> Real(const Json& json) const;
  // Whether it is minus infinity; else the number.
  absl::StatusOr<bool> RealOrMinusInfinity(const Json& json, solver::Rational* value) const;
  absl::StatusOr<Reduction> ReadReduction(const Json& json) const;

  const Json& root_;
  plan::JsonCursor at_;
  Trace trace_;
  std::vector<std::string> strings_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_TRACE_PARSER_H_
