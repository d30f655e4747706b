// What ATen operators compute, by name: in terms of declared operators.
//
// An operator is looked up without its overload and without the underscore of its in-place form:
// "aten.add" for aten.add_.Tensor. Operators whose results are views compute nothing and need no
// entry. docs/torch-operators.md lists what is exact, opaque and refused.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_OPERATORS_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_OPERATORS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

struct AtenOperator {
  std::vector<std::string> parameters;  // in the order of the schema
  // Those that mean nothing for values, or that shape and type of the result say again.
  std::set<std::string, std::less<>> without_meaning;
  std::function<absl::Status(AtenCall&)> run;
};

// "aten.add" of "aten.add_.Tensor"; "aten.__or__" of "aten.__or__.Tensor".
std::string AtenBaseName(const std::string& op);
// Null if nothing is declared.
const AtenOperator* FindAtenOperator(const std::string& base);
// Names of all, sorted.
std::vector<std::string> AtenOperatorNames();

// The families, one per file; internal.
class AtenTable {
 public:
  // `names` and `parameters` are separated by blanks; a name without a namespace is one of aten.
  // Parameters with '-' mean nothing for values, or are said again by the result; an argument that
  // `run` reads none of is refused if it is for another one.
  void Add(std::string_view names, std::string_view parameters,
           std::function<absl::Status(AtenCall&)> run);
  // A declared operator: parameters are its operands in order; those with '*' its attributes of
  // the same name.
  void Declared(std::string_view name, std::string_view parameters, const std::string& declared);
  std::map<std::string, AtenOperator, std::less<>> operators;
};
void AddElementwise(AtenTable* table);
void AddForeach(AtenTable* table);
void AddCreation(AtenTable* table);
void AddReductions(AtenTable* table);
void AddContractions(AtenTable* table);
void AddNeuralNetwork(AtenTable* table);
void AddRearrangement(AtenTable* table);
void AddFullySharded(AtenTable* table);
void AddIndexing(AtenTable* table);
void AddScatter(AtenTable* table);
void AddRouting(AtenTable* table);
void AddMasks(AtenTable* table);

// A list of dimensions, counted from the front and ascending; all if there is none.
std::vector<int64_t> Dimensions(std::vector<int64_t> dims, size_t rank);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_OPERATORS_H_
