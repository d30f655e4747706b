// Represents one output of one operator instance as a scalar expression, ready for evaluation on
// blocks.
//
// Differs from the IndexFunction it comes from in that the coordinates of a lifted operator are
// explicit leading dimensions, only nodes that the output needs are kept, and sums against
// Kronecker indicators are gone: sum(v: [v == e] f(v)) is f(e) where e lies in v's range. That
// matters here because an indicator that compares two variables would cut both at every value.
#ifndef PLANPROOF_SHAPE_REDUCTION_SCALAR_PROGRAM_H_
#define PLANPROOF_SHAPE_REDUCTION_SCALAR_PROGRAM_H_

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sdfg/graph.h"
#include "sdfg/index_function.h"
#include "shape_reduction/index_form.h"

namespace planproof::shape_reduction {

// Nodes with sharing (identical nodes get one id) and their forms.
class NodePool {
 public:
  std::vector<sdfg::IndexVariable> vars;

  sdfg::ExprId Add(sdfg::Node node);
  const sdfg::Node& operator[](sdfg::ExprId id) const { return nodes_[id]; }
  const IndexForm& form(sdfg::ExprId id) const { return forms_[id]; }
  const std::vector<sdfg::Node>& nodes() const { return nodes_; }
  const std::vector<IndexForm>& forms() const { return forms_; }

  sdfg::ExprId Int(int64_t value);
  sdfg::ExprId Real(int64_t value);
  sdfg::ExprId Make(sdfg::Op op, const std::vector<sdfg::ExprId>& args);
  // A node with the value of the form.
  sdfg::ExprId FromForm(const IndexForm& form);
  // The nodes below `root` with the index of `var` replaced.
  sdfg::ExprId Substitute(sdfg::ExprId root, sdfg::VarId var, sdfg::ExprId replacement);

 private:
  std::vector<sdfg::Node> nodes_;
  std::vector<IndexForm> forms_;
  std::unordered_map<std::string, sdfg::ExprId> ids_;
};

struct ScalarProgram {
  std::vector<sdfg::IndexVariable> vars;
  std::vector<sdfg::Node> nodes;
  std::vector<IndexForm> forms;  // of integer nodes, by id
  std::vector<char> from_data;   // by id: depends on elements of inputs
  std::vector<char> integer;     // by id: of sort I
  // Divisions with a carry, such as (j + 1) div 2, split along no digits. Where cutting off a small
  // digit of the variables involved decides the carry, these are the digits (variable, modulus)
  // and, for each combination of their values, the forms of all nodes.
  std::vector<std::pair<sdfg::VarId, int64_t>> case_digits;
  std::vector<std::vector<IndexForm>> case_forms;
  std::vector<sdfg::VarId> dims;  // of the output, coordinates first
  std::vector<int> input_ranks;
  sdfg::ExprId body = sdfg::kNoExpr;
  bool int_valued = false;
  std::vector<std::pair<sdfg::ExprId, std::string>> premises;
};

// The program of output `output`. `output_axes` are the coordinates over which the output of a
// lifted operator varies (axis and extent), `input_axes[i]` those of input i; both empty otherwise.
ScalarProgram BuildProgram(const sdfg::IndexFunction& function, int output,
                           const std::vector<std::pair<sdfg::AxisId, int64_t>>& output_axes,
                           const std::vector<std::vector<sdfg::AxisId>>& input_axes);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_SCALAR_PROGRAM_H_
