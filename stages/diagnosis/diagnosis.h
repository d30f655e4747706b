// Where a refuted plan first goes wrong, and what it looks like.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_DIAGNOSIS_H_
#define PLANPROOF_STAGES_DIAGNOSIS_DIAGNOSIS_H_

#include <set>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/witness.h"

namespace planproof::stages {

// One fault: parallel tensors of one logical tensor that are not what their lineages say although
// everything that they are made from is.
struct Fault {
  sdfg::TensorId logical = sdfg::kNone;
  std::vector<sdfg::TensorId> tensors;      // earliest first
  std::vector<lineage::Lineage> lineages;   // of each
  std::vector<sdfg::OperatorId> operators;  // of the stage, the suspected one first
  std::vector<int> devices;                 // of the instances that are wrong
  std::set<int64_t> at_microbatches;        // of those, and of how many; empty and 0: of none
  int64_t of_microbatches = 0;
  std::string microbatches;  // the same in words: "all", "0, 1"
  std::string example;       // "x at [0, 3] is 1.5, the model's is 2"
  std::string cause;         // empty: nothing fits
};

// Replays the witness and lists its faults, earliest first (at most `most`).
std::vector<Fault> Diagnose(const lineage::Problem& problem,
                            const shape_reduction::Witness& witness, size_t most, double seconds);

// Where numbers do not tell: the exceptions of single ranks among the operators by which the tensor
// is made from tensors of full lineage, and their ranks. Nothing else of the result is set.
Fault SuspectExceptions(const lineage::Problem& problem, sdfg::TensorId tensor);
// The logical tensors from which these exceptions, and what they replace, are made.
std::vector<sdfg::TensorId> SuspectOperands(const lineage::Problem& problem, sdfg::TensorId tensor);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_DIAGNOSIS_H_
