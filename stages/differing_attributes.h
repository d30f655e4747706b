// Attributes in which a stage's operator is not the model's: a guess where nothing else fits.
#ifndef PLANPROOF_STAGES_DIFFERING_ATTRIBUTES_H_
#define PLANPROOF_STAGES_DIFFERING_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

// "value differs, perhaps by an attribute of pad (y): ...", or empty. Attributes of a stage's
// operators that are not those of the model's operator: where nothing else explains a difference,
// they are worth a look. Of attributes that are numbers the experiments have said that they are not
// it.
std::string AttributesThatDiffer(const lineage::Problem& problem, sdfg::TensorId logical,
                                 const std::vector<sdfg::OperatorId>& operators);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIFFERING_ATTRIBUTES_H_
