// Evaluates integers and conditions of index functions at one index.
#ifndef PLANPROOF_MONITOR_PROVED_INDEX_EVALUATOR_H_
#define PLANPROOF_MONITOR_PROVED_INDEX_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::monitor {

class IndexEvaluator {
 public:
  // The function must outlive it.
  explicit IndexEvaluator(const sdfg::IndexFunction& function)
      : function_(function), vars_(function.vars.size(), 0) {}

  void Set(sdfg::VarId var, int64_t value) { vars_[var] = value; }
  // An expression was of another kind, such as an integer that an input holds.
  bool failed() const { return failed_; }

  int64_t Whole(sdfg::ExprId id);
  bool Truth(sdfg::ExprId id);
  // Of a kElement, in row-major order; nothing if it is out of range or not known.
  std::optional<int64_t> PositionOf(const sdfg::Node& element);

 private:
  const sdfg::IndexFunction& function_;
  std::vector<int64_t> vars_;
  bool failed_ = false;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_INDEX_EVALUATOR_H_
