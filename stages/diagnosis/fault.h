// Represents a fault of a refuted plan as data: explanation.h says it in words.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_FAULT_H_
#define PLANPROOF_STAGES_DIAGNOSIS_FAULT_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

// So many ranks, or microbatches, of one tensor are told apart.
inline constexpr int64_t kMaxInstances = 4096;

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
  std::string microbatches;     // the same in words: "all", "0, 1"
  std::string example;          // "x at [0, 3] is 1.5, the model's is 2"
  std::string cause;            // empty: nothing fits
  bool of_stage_alone = false;  // the cause, on inputs that are chosen for the stage
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_FAULT_H_
