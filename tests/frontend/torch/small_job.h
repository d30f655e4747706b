// Traces of a small job, rank by rank, that tests write.
#ifndef PLANPROOF_TESTS_FRONTEND_TORCH_SMALL_JOB_H_
#define PLANPROOF_TESTS_FRONTEND_TORCH_SMALL_JOB_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/trace.h"
#include "nlohmann/json.hpp"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

// One process. Tensors lie in row-major order, each in memory of its own.
class SmallTrace {
 public:
  using json = nlohmann::json;

  SmallTrace(int rank, int world) : rank_(rank), world_(world) {}

  int Add(const std::string& dtype, const std::vector<int64_t>& shape) {
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    storages_.push_back({{"dtype", dtype}, {"size", size}});
    return View(static_cast<int>(storages_.size()) - 1, dtype, shape, 0);
  }
  int View(int storage, const std::string& dtype, const std::vector<int64_t>& shape,
           int64_t offset) {
    std::vector<int64_t> strides(shape.size());
    int64_t size = 1;
    for (size_t k = shape.size(); k-- > 0; size *= shape[k]) strides[k] = size;
    tensors_.push_back(json::array({storage, dtype, offset, shape, strides}));
    return static_cast<int>(tensors_.size()) - 1;
  }
  // A matrix whose columns lie one after another.
  int AddByColumns(const std::string& dtype, const std::vector<int64_t>& shape) {
    const int tensor = Add(dtype, shape);
    tensors_[tensor][4] = json::array({1, shape[0]});
    return tensor;
  }
  json& storage(int number) { return storages_[number]; }

  int Input(const std::string& role, const std::string& name, int tensor,
            const json& more = json::object()) {
    json input = {{"role", role}, {"name", name}, {"tensor", tensor}};
    input.update(more);
    inputs_.push_back(std::move(input));
    return tensor;
  }
  // args: tensors as {"tensor": n}.
  void Op(const std::string& op, const json& args, int out, const json& more = json::object()) {
    json entry = {{"op", op}, {"args", args}, {"out", json::array({{{"tensor", out}}})}};
    entry.update(more);
    operators_.push_back(std::move(entry));
  }
  void Exchange(const std::string& collective, const std::vector<int>& in,
                const std::vector<int>& out, const json& more = json::object()) {
    json entry = {
        {"op", collective}, {"collective", collective}, {"group", 0}, {"in", in}, {"out", out}};
    entry.update(more);
    operators_.push_back(std::move(entry));
  }
  void Result(const std::string& kind, const std::string& name, int tensor,
              const json& more = json::object()) {
    json result = {{"kind", kind}, {"name", name}, {"tensor", tensor}};
    result.update(more);
    results_.push_back(std::move(result));
  }
  // Number of the string.
  int String(const std::string& text) {
    strings_.push_back(text);
    return static_cast<int>(strings_.size()) - 1;
  }
  void Groups(const std::vector<std::vector<int>>& groups) { groups_ = groups; }

  std::string Path() const {
    return world_ == 1 ? "reference.trace" : absl::StrCat("rank", rank_, ".trace");
  }
  absl::StatusOr<Trace> Read() const {
    const json trace = {{"planproof_torch_trace", 1},
                        {"torch", "2"},
                        {"rank", rank_},
                        {"world", world_},
                        {"axes", json::array({json::array({"dp", world_})})},
                        {"groups", groups_},
                        {"strings", strings_},
                        {"storages", storages_},
                        {"tensors", tensors_},
                        {"inputs", inputs_},
                        {"operators", operators_},
                        {"results", results_},
                        {"notes", json::array()}};
    return ParseTrace(trace.dump(), Path());
  }

 private:
  int rank_, world_;
  std::vector<std::vector<int>> groups_;
  json strings_ = json::array(), storages_ = json::array(), tensors_ = json::array(),
       inputs_ = json::array(), operators_ = json::array(), results_ = json::array();
};

// What the reader says of the traces, the reference's first.
inline absl::StatusOr<lineage::Problem> ProblemOf(const std::vector<SmallTrace>& traces) {
  std::vector<Trace> read;
  for (const SmallTrace& trace : traces) {
    absl::StatusOr<Trace> parsed = trace.Read();
    if (!parsed.ok()) return parsed.status();
    read.push_back(*std::move(parsed));
  }
  const Trace reference = read[0];
  read.erase(read.begin());
  return ProblemOfTraces(reference, read, sdfg::OperatorLibrary::CopyOfBuiltIn());
}

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_TESTS_FRONTEND_TORCH_SMALL_JOB_H_
