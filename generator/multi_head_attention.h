// Emits attention of whole heads: as many for keys and values as for queries, or one for a group of
// query heads (Ainslie et al., GQA, arXiv 2305.13245).
#ifndef PLANPROOF_GENERATOR_MULTI_HEAD_ATTENTION_H_
#define PLANPROOF_GENERATOR_MULTI_HEAD_ATTENTION_H_

#include <string>

#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// Queries [batch, sequence, heads, size] look at keys and values of their own and earlier
// positions. Gives the heads side by side, [batch, sequence, heads * size]; the tensors on the way
// begin with `prefix`.
Value MultiHeadAttention(const ModelConfig& model, const std::string& prefix, Value q, Value k,
                         Value v, Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_MULTI_HEAD_ATTENTION_H_
