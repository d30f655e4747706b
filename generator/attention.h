// Emits causal attention over one device's part of the sequence or over all of it.
#ifndef PLANPROOF_GENERATOR_ATTENTION_H_
#define PLANPROOF_GENERATOR_ATTENTION_H_

#include <functional>
#include <string>
#include <vector>

#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// Dimensions are named by letters, as in einsum.
struct Attention {
  std::string prefix;     // of the names of its tensors
  int64_t head_size = 1;  // scores are divided by its root
  // What is compared with what, and what is averaged; positions are dimension 1.
  std::vector<Value> queries;
  std::vector<Value> keys;
  Value values = kNoValue;
  // The scores [.., query, key] of some of these queries and keys. `suffix` is to be appended to
  // the names of this device's tensors.
  std::function<Value(const std::vector<Value>& queries, const std::vector<Value>& keys,
                      const std::string& suffix)>
      scores;
  std::string weights_letters;  // of the scores, query and key last: "bgrst"
  std::string values_letters;   // "btgd"
  std::string mixed_letters;    // of the result: "bsgrd"
  Dims mixed;
};

// PREFIXmixed: the values averaged by the softmax of the scaled scores up to each query's position.
// Where ranks hold parts of the sequence, keys and values are gathered, or travel around the ring
// of ranks, with a running maximum and sum (online softmax). In zigzag order each block of queries
// is by itself.
Value CausalAttention(const Attention& attention, Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_ATTENTION_H_
