// Defines what ATen operators compute, by overload, in terms of declared operators.
//
// A row of the table names the overloads that it is the meaning of, in place and with `out`, one by
// one: "aten.max.dim" and "aten.max.other" are different functions. Their parameters are those of
// aten_schema.h. Operators whose results are views compute nothing and need no entry.
// docs/torch-operators.md lists what is exact, opaque and refused.
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
  const AtenSchema* schema = nullptr;
  std::vector<std::string> parameters;  // which the row knows, those of other overloads among them
  // Those that mean nothing for values, or that shape and type of the result say again.
  std::set<std::string, std::less<>> without_meaning;
  std::function<absl::Status(AtenCall&)> run;
};

// "aten.add" of "aten.add_.Tensor"; "aten.__or__" of "aten.__or__.Tensor".
std::string AtenBaseName(const std::string& op);
// "aten.add_.Tensor"; null if this overload has no declared meaning.
const AtenOperator* FindAtenOperator(const std::string& op);
// All overloads, sorted.
std::vector<std::string> AtenOverloads();

// Forms of which most operators have one each, for the rows: a new result, in place, in memory that
// is given.
inline constexpr char kNew[] = "default out", kAnyForm[] = "default _.default out";

// The families, one per file; internal.
class AtenTable {
 public:
  // Everything is separated by blanks. A name without a namespace is one of aten; "_.Tensor" is the
  // overload Tensor of the form in place. Parameters with '-' mean nothing for values, or are said
  // again by the result; an argument that `run` reads none of is refused if it is for another one.
  void Add(std::string_view names, std::string_view overloads, std::string_view parameters,
           const std::function<absl::Status(AtenCall&)>& run);
  // A declared operator: parameters are its operands in order; those with '*' its attributes of
  // the same name.
  void Declared(std::string_view names, std::string_view overloads, std::string_view parameters,
                const std::string& declared);
  std::map<std::string, AtenOperator, std::less<>> operators;  // by overload
};
// For tests: changes the table as a mistaken reader would have it. Not while another thread reads a
// trace.
void ChangeAtenTable(const std::function<void(AtenTable*)>& change);
void AddActivations(AtenTable* table);
void AddBitwise(AtenTable* table);
void AddElementwise(AtenTable* table);
void AddForeach(AtenTable* table);
void AddCreation(AtenTable* table);
void AddReductions(AtenTable* table);
void AddContractions(AtenTable* table);
void AddImages(AtenTable* table);
void AddLogistic(AtenTable* table);
void AddLosses(AtenTable* table);
void AddNeuralNetwork(AtenTable* table);
void AddRearrangement(AtenTable* table);
void AddFullySharded(AtenTable* table);
void AddIndexing(AtenTable* table);
void AddScatter(AtenTable* table);
void AddRouting(AtenTable* table);
void AddMasks(AtenTable* table);
void AddOptimizers(AtenTable* table);
void AddPooling(AtenTable* table);
void AddResampling(AtenTable* table);
void AddStatistics(AtenTable* table);
void AddUninterpreted(AtenTable* table);

// A list of dimensions, counted from the front and ascending; all if there is none.
std::vector<int64_t> Dimensions(std::vector<int64_t> dims, size_t rank);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_OPERATORS_H_
