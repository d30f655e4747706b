// Determines where the specification is defined, as far as a proof needs it: a plan may be
// undefined there only.
//
// A proof meets premises (a denominator is not 0). Those of the specification's own operators are
// granted: they say where it is defined. Those of the plan's operators must follow from what is
// granted, or the plan is no substitute for the model.
#ifndef PLANPROOF_STAGES_MODEL_DOMAIN_H_
#define PLANPROOF_STAGES_MODEL_DOMAIN_H_

#include <cstdint>
#include <set>
#include <vector>

#include "sdfg/symbolic_evaluator.h"
#include "solver/implication.h"
#include "solver/term.h"
#include "stages/relations.h"

namespace planproof::stages {

class ModelDomain {
 public:
  ModelDomain(const lineage::Problem& problem, const Relations& relations, solver::Arena* arena,
              sdfg::SymbolicEvaluator* evaluator);

  void Assume(const solver::Premise& premise) { granted_.Assume(premise.kind, premise.poly); }
  // Drops the premises that follow from what is assumed.
  void Discharge(std::vector<solver::Premise>* open);
  // Assumes what the specification declares of these logical tensors, and where the operators that
  // read them are defined, as far as required outputs depend on them; also the operators that read
  // what is read through. Clears the arena's premises.
  void AssumeReadersOf(const std::vector<uint32_t>& tensors);
  // Assumes where the operator that makes this logical tensor is defined, and says where that is.
  // Clears the arena's premises.
  std::vector<solver::Premise> AssumeDefinitionOf(sdfg::TensorId tensor);

 private:
  std::set<sdfg::OperatorId> ReadersOf(const std::vector<uint32_t>& tensors) const;
  void AssumeDeclared(sdfg::TensorId tensor);
  std::vector<solver::Premise> AssumeDefined(sdfg::OperatorId op);

  const lineage::Problem& problem_;
  const Relations& relations_;
  solver::Arena& arena_;
  sdfg::SymbolicEvaluator& evaluator_;
  solver::Implication granted_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_MODEL_DOMAIN_H_
