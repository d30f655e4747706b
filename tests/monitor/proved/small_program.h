// Makes a small program by hand for tests: a parameter, data, and operators on them.
#ifndef PLANPROOF_TESTS_MONITOR_PROVED_SMALL_PROGRAM_H_
#define PLANPROOF_TESTS_MONITOR_PROVED_SMALL_PROGRAM_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "monitor/proved/program.h"

namespace planproof::monitor {

class SmallProgram {
 public:
  // New memory with one tensor; its number.
  int32_t Tensor(std::vector<int64_t> shape, MemoryRole role = MemoryRole::kNone,
                 std::string name = "") {
    program_.memory.push_back({role, std::move(name)});
    return View(static_cast<int32_t>(program_.memory.size()) - 1, std::move(shape), 0);
  }

  // Another tensor in memory.
  int32_t View(int32_t memory, std::vector<int64_t> shape, int64_t offset) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    program_.tensors.push_back({memory, "float32", offset, std::move(shape), std::move(strides)});
    return static_cast<int32_t>(program_.tensors.size()) - 1;
  }

  ProgramOperator& Call(std::string name, std::initializer_list<int32_t> tensors, int32_t result) {
    ProgramOperator& op = program_.operators.emplace_back();
    op.name = std::move(name);
    for (const int32_t tensor : tensors) {
      op.arguments.push_back({.kind = ProgramToken::Kind::kTensor, .whole = tensor});
    }
    if (result >= 0) op.results = {result};
    op.source = "train.py:7: step()";
    return op;
  }

  static ProgramToken Real(double number) {
    return {.kind = ProgramToken::Kind::kReal, .real = number};
  }

  void Updates(int32_t tensor) { program_.updated.push_back(program_.tensors[tensor].memory); }

  const RankProgram& program() const { return program_; }

 private:
  RankProgram program_;
};

// w -= scale * sum over ranks of x w, in a module; `width` is the parameter's.
struct SmallStep {
  int64_t width = 8;
  int64_t batch = 4;
  double scale = 0.5;
  bool reduces = true;
  std::vector<int32_t> group = {0, 1};
  std::string collective = "all_reduce";
};

inline RankProgram ProgramOf(const SmallStep& step) {
  SmallProgram program;
  const int32_t w = program.Tensor({step.width}, MemoryRole::kParameter, "w");
  const int32_t x = program.Tensor({step.batch, step.width}, MemoryRole::kData);
  const int32_t y = program.Tensor({step.batch});
  const int32_t g = program.Tensor({step.width});
  program.Call("aten.mv.default", {x, w}, y).module = "layer";
  program.Call("aten.mv.default", {x, y}, g).module = "layer";
  if (step.reduces) {
    ProgramOperator& sums = program.Call(step.collective, {g}, g);
    sums.kind = OperatorKind::kCollective;
    sums.writes = {g};
    sums.group = step.group;
  }
  ProgramOperator& scales = program.Call("aten.mul_.Tensor", {g}, g);
  scales.arguments.push_back(SmallProgram::Real(step.scale));
  scales.writes = {g};
  program.Call("aten.sub_.Tensor", {w, g}, w).writes = {w};
  program.Updates(w);
  return RelevantPart(program.program());
}

}  // namespace planproof::monitor

#endif  // PLANPROOF_TESTS_MONITOR_PROVED_SMALL_PROGRAM_H_
