// Makes index functions once and shares them.
//
// A model calls the same operator on tensors of the same shapes in each of its layers. Making an
// index function, checking it and comparing it with others costs far more than looking up from
// what it is made, so of equal calls the first makes the function and the others take it over.
#ifndef PLANPROOF_SDFG_SHARED_FUNCTIONS_H_
#define PLANPROOF_SDFG_SHARED_FUNCTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/graph.h"

namespace planproof::sdfg {

// From what a function is made, as bytes. Texts and lists are preceded by their lengths, so that
// calls that add the same number of things in the same order have equal keys only if all are equal.
class FunctionKey {
 public:
  // `kind` tells makers of functions apart.
  explicit FunctionKey(std::string_view kind) { Text(kind); }
  FunctionKey& Number(int64_t number);
  FunctionKey& Text(std::string_view text);
  FunctionKey& List(const std::vector<int64_t>& list);
  FunctionKey& List(const std::vector<int32_t>& list);
  // A function that outlives the key's use.
  FunctionKey& Function(const IndexFunction* function);
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

using FunctionPointer = std::shared_ptr<const IndexFunction>;

// Belongs to one graph, in which the functions are interned: equal functions that are made under
// different keys are one object, too.
class SharedFunctions {
 public:
  explicit SharedFunctions(Graph* graph) : graph_(*graph) {}
  // What was made under this key, which must hold everything on which `make` depends. Errors are
  // not remembered.
  absl::StatusOr<FunctionPointer> Get(std::string key,
                                      const std::function<absl::StatusOr<IndexFunction>()>& make);

 private:
  Graph& graph_;
  std::unordered_map<std::string, FunctionPointer> made_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_SHARED_FUNCTIONS_H_
