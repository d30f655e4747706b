#include <algorithm>
#include <cstring>
#include <functional>
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
  const auto digit = [&](const sdfg::IndexDigit& of) {
    sdfg::ExprId id = index[of.dim];
    if (of.offset > 0) id = add(Op::kIntAdd, 0, {id, add(Op::kIntConst, of.offset, {})});
    if (of.div > 1) id = add(Op::kIntDiv, of.div, {id});
    return of.mod > 0 ? add(Op::kIntMod, of.mod, {id}) : id;
  };
  // Gates are selections among reads, so that each is a plain one.
  std::vector<sdfg::IndexDigit> gates;
  for (const lineage::IndexMap& dim : map) {
    for (const lineage::IndexTerm& term : dim.terms) {
      if (term.gated() && std::find(gates.begin(), gates.end(), term.gate) == gates.end()) {
        gates.push_back(term.gate);
      }
    }
  }
  const auto read = [&](const std::vector<bool>& open) {
    std::vector<sdfg::ExprId> args;
    for (const lineage::IndexMap& dim : map) {
      sdfg::ExprId sum = add(Op::kIntConst, dim.constant, {});
      for (const lineage::IndexTerm& term : dim.terms) {
        if (term.gated() &&
            !open[std::find(gates.begin(), gates.end(), term.gate) - gates.begin()]) {
          continue;
        }
        sdfg::ExprId id = digit(term.digit());
        if (term.scale != 1) id = add(Op::kIntScale, term.scale, {id});
        sum = add(Op::kIntAdd, 0, {sum, id});
      }
      args.push_back(sum);
    }
    const sdfg::ExprId element = add(integer ? Op::kIntElement : Op::kElement, 0, args);
    function.nodes[element].input = 0;
    return element;
  };
  std::vector<bool> open(gates.size(), false);
  const std::function<sdfg::ExprId(size_t)> select = [&](size_t gate) {
    if (gate == gates.size()) return read(open);
    const sdfg::ExprId at = digit(gates[gate]);
    const sdfg::ExprId is_open = add(Op::kIntEq, 0, {at, add(Op::kIntConst, 1, {})});
    open[gate] = true;
    const sdfg::ExprId inside = select(gate + 1);
    open[gate] = false;
    const sdfg::ExprId outside = select(gate + 1);
    return add(Op::kSelect, 0, {is_open, inside, outside});
  };
  output.body = select(0);
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
      Append(term.gate.dim, &key);
      if (!term.gated()) continue;
      Append(term.gate.div, &key);
      Append(term.gate.mod, &key);
      Append(term.gate.offset, &key);
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
