// Evaluates one operator instance to raw terms at given indices; internal to SmtEvaluation.
#ifndef PLANPROOF_STAGES_SMT_APPLICATION_H_
#define PLANPROOF_STAGES_SMT_APPLICATION_H_

#include <functional>
#include <utility>
#include <vector>

#include "stages/smt/evaluation.h"

namespace planproof::stages {

class SmtApplication {
 public:
  // The producer of tensor `t`, applied where the tensor has this index.
  SmtApplication(SmtEvaluation* evaluation, bool parallel, const sdfg::Tensor& t,
                 const std::vector<SmtIndex>& index);

  bool Real(int output, SmtValue* out);
  bool Integer(int output, SmtIndex* out);

 private:
  // A condition: decided, or a boolean term.
  struct Truth {
    bool decided = true;
    bool value = false;
    solver::RawId term = 0;
  };
  bool Bind(int output);
  bool Premises(int output);
  bool Eval(sdfg::ExprId id, SmtValue* out);
  bool EvalUncached(const sdfg::Node& node, SmtValue* out);
  bool EvalInteger(sdfg::ExprId id, SmtIndex* out);
  bool EvalTruth(sdfg::ExprId id, Truth* out);
  bool CompareIntegers(const sdfg::Node& node, Truth* out);
  bool Product(const sdfg::Node& node, SmtValue* out);
  bool Selection(const sdfg::Node& node, SmtValue* out);
  bool Extreme(SmtValue a, SmtValue b, bool max, SmtValue* out);
  bool Sum(const sdfg::Node& node, SmtValue* out);
  bool SumAtUnknown(const sdfg::Node& node, SmtValue* out, bool* done);
  bool Reduce(const sdfg::Node& node, SmtValue* out);
  bool Opaque(const sdfg::Node& node, solver::RawId* out);
  // Calls `visit` at the start of each run of the variable; its weight is known afterwards.
  bool ForEachRun(sdfg::VarId var, const std::function<bool()>& visit,
                  const std::function<bool(int64_t)>& closed);
  bool InputIndex(const sdfg::Node& node, std::vector<SmtIndex>* out);
  void Set(sdfg::VarId var, SmtIndex value);
  bool IsInteger(sdfg::ExprId id) const;

  SmtEvaluation& e_;
  const bool parallel_;
  const sdfg::Operator& op_;
  const sdfg::IndexFunction& f_;
  std::vector<std::pair<sdfg::AxisId, SmtIndex>> coordinates_;
  std::vector<SmtIndex> local_;
  std::vector<SmtIndex> vars_;
  std::vector<int64_t> changed_;  // when a variable got its value
  int64_t clock_ = 0;
  struct Cached {
    int64_t time = -1;
    SmtValue value;
  };
  std::vector<Cached> cache_;
  const std::vector<std::vector<sdfg::VarId>>& dependencies_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SMT_APPLICATION_H_
