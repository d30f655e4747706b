// Encodes inferred relations as bytes (inferred_relations.proto), for the way from the worker that
// finds them.
#ifndef PLANPROOF_STAGES_WORKERS_RELATIONS_BYTES_H_
#define PLANPROOF_STAGES_WORKERS_RELATIONS_BYTES_H_

#include <string>

#include "stages/inferred_relations.h"

namespace planproof::stages {

// Equal bytes for equal values.
std::string ToBytes(const InferredRelations& inferred);

// False if these are not the bytes that ToBytes writes for some value. What is read then is
// unspecified.
bool FromBytes(const std::string& bytes, InferredRelations* inferred);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_RELATIONS_BYTES_H_
