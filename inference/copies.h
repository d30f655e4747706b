// Finds which tensors of a graph are one tensor, moved.
#ifndef PLANPROOF_INFERENCE_COPIES_H_
#define PLANPROOF_INFERENCE_COPIES_H_

#include <vector>

#include "sdfg/graph.h"

namespace planproof::inference {

// By tensor: the first of those from which all its elements are taken. Views, parts and copies are
// one tensor here, as the gradients of what is added are: a plan may have one of them. What several
// tensors were joined to is none of them, but a part of it that lies in one of them is. Tensors of
// many elements are followed through views and copies only.
std::vector<sdfg::TensorId> FirstOfCopies(const sdfg::Graph& graph);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_COPIES_H_
