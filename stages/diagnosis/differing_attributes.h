// Finds attributes in which a stage's operator is not the model's: a guess where nothing else fits.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_DIFFERING_ATTRIBUTES_H_
#define PLANPROOF_STAGES_DIAGNOSIS_DIFFERING_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

// "value differs, perhaps by an attribute of pad (y): ...", or empty. Of operators that do with
// slices of the model's operands what the model does with them; experiments have changed one number
// at a time, and what takes two (the start and the end of a range) is worth a look.
std::string AttributesThatDiffer(const lineage::Problem& problem, sdfg::TensorId logical,
                                 const std::vector<sdfg::OperatorId>& operators);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_DIFFERING_ATTRIBUTES_H_
