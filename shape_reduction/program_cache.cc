#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {
namespace {

void Append(int64_t value, std::string* key) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The read as an index function over the parallel tensor's dimensions.
sdfg::IndexFunction ReadFunction(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                                 const std::vector<lineage::IndexMap>& map, bool integer) {
  using sdfg::Op;
  sdfg::IndexFunction function;
  function.inputs.push_back({"x", logical, sdfg::DType::kUnknown});
  auto add = [&](Op op, int64_t value, std::vector<sdfg::ExprId> args) {
    sdfg::Node node{.op = op};
    node.value = value;
    node.args.assign(args.begin(), args.end());
    function.nodes.push_back(std::move(node));
    return static_cast<sdfg::ExprId>(function.nodes.size() - 1);
  };
  sdfg::FunctionOutput output;
  std::vector<sdfg::ExprId> index;
  for (size_t d = 0; d < parallel.size(); ++d) {
    output.dims.push_back(static_cast<sdfg::VarId>(d));
    function.vars.push_back({"i" + std::to_string(d), parallel[d]});
    index.push_back(add(Op::kIndex, 0, {}));
    function.nodes.back().var = static_cast<sdfg::VarId>(d);
  }
  std::vector<sdfg::ExprId> args;
  for (const lineage::IndexMap& dim : map) {
    sdfg::ExprId sum = add(Op::kIntConst, dim.constant, {});
    for (const lineage::IndexTerm& term : dim.terms) {
      sdfg::ExprId id = index[term.dim];
      if (term.offset > 0) {
        id = add(Op::kIntAdd, 0, {id, add(Op::kIntConst, term.offset, {})});
      }
      if (term.div > 1) id = add(Op::kIntDiv, term.div, {id});
      if (term.mod > 0) id = add(Op::kIntMod, term.mod, {id});
      if (term.scale != 1) id = add(Op::kIntScale, term.scale, {id});
      sum = add(Op::kIntAdd, 0, {sum, id});
    }
    args.push_back(sum);
  }
  output.body = add(integer ? Op::kIntElement : Op::kElement, 0, args);
  function.nodes.back().input = 0;
  function.outputs.push_back(std::move(output));
  return function;
}

}  // namespace

const ScalarProgram& ProgramCache::Get(const sdfg::Graph& graph, const sdfg::Operator& op,
                                       int output) {
  std::string key(1, 'f');
  Append(reinterpret_cast<intptr_t>(op.function.get()), &key);
  Append(output, &key);
  std::vector<std::pair<sdfg::AxisId, int64_t>> output_axes;
  std::vector<std::vector<sdfg::AxisId>> input_axes;
  if (op.lifted) {
    const sdfg::Tensor& tensor = graph.tensors[op.outputs[output]];
    for (size_t k = 0; k < tensor.axes.size(); ++k) {
      output_axes.push_back({tensor.axes[k], tensor.shape[k]});
      Append(tensor.axes[k], &key);
      Append(tensor.shape[k], &key);
    }
    for (sdfg::TensorId input : op.inputs) {
      input_axes.push_back(graph.tensors[input].axes);
      Append(-1, &key);
      for (sdfg::AxisId axis : input_axes.back()) Append(axis, &key);
    }
  }
  std::unique_ptr<ScalarProgram>& program = programs_[key];
  if (program == nullptr) {
    alive_.push_back(op.function);
    program = std::make_unique<ScalarProgram>(
        BuildProgram(*op.function, output, output_axes, input_axes));
  }
  return *program;
}

const ScalarProgram& ProgramCache::GetRead(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                                           const std::vector<lineage::IndexMap>& map,
                                           bool integer) {
  std::string key(1, integer ? 'i' : 'r');
  for (const sdfg::Shape* shape : {&parallel, &logical}) {
    Append(static_cast<int64_t>(shape->size()), &key);
    for (int64_t extent : *shape) Append(extent, &key);
  }
  for (const lineage::IndexMap& dim : map) {
    Append(dim.constant, &key);
    Append(static_cast<int64_t>(dim.terms.size()), &key);
    for (const lineage::IndexTerm& term : dim.terms) {
      Append(term.dim, &key);
      Append(term.scale, &key);
      Append(term.div, &key);
      Append(term.mod, &key);
      Append(term.offset, &key);
    }
  }
  std::unique_ptr<ScalarProgram>& program = programs_[key];
  if (program == nullptr) {
    program = std::make_unique<ScalarProgram>(
        BuildProgram(ReadFunction(parallel, logical, map, integer), 0, {}, {}));
  }
  return *program;
}

}  // namespace planproof::shape_reduction
