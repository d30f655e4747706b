#include "runtime_check/numpy_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime_check/opaque_values.h"
#include "runtime_check/python_text.h"
#include "runtime_check/values.h"
#include "sdfg/index_range.h"
#include "sdfg/real_functions.h"

namespace planproof::runtime_check {
namespace {

using sdfg::ExprId;
using sdfg::Op;
using sdfg::VarId;

constexpr size_t kLongText = 160;  // gets a name of its own
constexpr size_t kMostAxes = 32;   // of a NumPy array

// How tightly a text binds.
enum class Level : uint8_t { kAtom, kProduct, kSum, kComparison };

struct Text {
  std::string text;
  Level level = Level::kAtom;
  std::set<VarId> vars;  // in which it varies
  bool grid = false;     // it has letters of the grid
};

std::string Within(const Text& text, Level most) {
  return text.level <= most ? text.text : absl::StrCat("(", text.text, ")");
}

bool Reduces(Op op) { return op == Op::kSum || op == Op::kReduceMax || op == Op::kReduceMin; }

class NumpyWriter {
 public:
  NumpyWriter(const sdfg::Graph& graph, const sdfg::Operator& op, int output,
              const std::vector<std::string>& names)
      : graph_(graph),
        op_(op),
        f_(*op.function),
        output_(f_.outputs[output]),
        target_(graph.tensors[op.outputs[output]]),
        target_name_(names[op.outputs[output]]),
        names_(names) {}

  std::optional<std::vector<std::string>> Run() {
    FindReachable();
    FindSpace();
    if (std::optional<std::string> einsum = Einsum())
      return std::vector{absl::StrCat(target_name_, " = ", *einsum)};
    if (space_extents_.size() > kMostAxes) return std::nullopt;
    ranges_.assign(f_.nodes.size(), std::nullopt);
    texts_.resize(f_.nodes.size());
    for (ExprId id = 0; id <= output_.body; ++id) {
      if (uses_[id] == 0) continue;
      if (!sdfg::IntRangeOf(f_.nodes[id], f_.vars, ranges_, &ranges_[id])) return std::nullopt;
      std::optional<Text> text = TextOf(f_.nodes[id]);
      if (!text || ElementsOf(*text) > kMostNumpyElements) return std::nullopt;
      texts_[id] = *std::move(text);
      NameIfLong(id);
    }
    lines_.push_back(absl::StrCat(target_name_, " = ", Shaped(texts_[output_.body])));
    if (uses_grid_ || texts_[output_.body].grid)
      lines_.insert(lines_.begin(), NumpyGrid(letters_, space_extents_));
    return std::move(lines_);
  }

 private:
  void FindReachable() {
    uses_.assign(f_.nodes.size(), 0);
    uses_[output_.body] = 1;
    for (ExprId id = output_.body; id >= 0; --id) {
      if (uses_[id] == 0) continue;
      for (const ExprId arg : f_.nodes[id].args) ++uses_[arg];
    }
  }

  // Axes of broadcasting: coordinates at which the function is applied, dimensions, reductions.
  void FindSpace() {
    place_.assign(f_.vars.size(), -1);
    if (op_.lifted) {
      for (const sdfg::AxisId axis : target_.axes)
        space_extents_.push_back(graph_.axes[axis].extent);
    }
    for (const VarId var : output_.dims) AddToSpace(var);
    dims_ = space_extents_.size();
    for (ExprId id = 0; id <= output_.body; ++id) {
      const sdfg::Node& node = f_.nodes[id];
      const bool binds = Reduces(node.op) || (node.op == Op::kOpaque && node.var >= 0);
      if (uses_[id] > 0 && binds) AddToSpace(node.var);
    }
    for (size_t i = 0; i < space_extents_.size(); ++i) letters_.push_back(IndexLetter(i));
  }
  void AddToSpace(VarId var) {
    place_[var] = static_cast<int>(space_extents_.size());
    space_extents_.push_back(f_.vars[var].extent);
  }

  // Of the array that the text stands for: it has one element along axes in which it is the same.
  int64_t ElementsOf(const Text& text) const {
    sdfg::Shape shape;
    for (const VarId var : text.vars)
      shape.push_back(space_extents_[var < 0 ? CoordinateVariable(var) : place_[var]]);
    return CountOf(shape);
  }

  // Coordinates count as variables of their own.
  static VarId CoordinateVariable(int place) { return -1 - place; }

  // Coordinates at which an operand of a function that is applied at each is read: positions in
  // the space.
  std::vector<int> CoordinatesOf(int input) const {
    std::vector<int> places;
    if (!op_.lifted) return places;
    for (const sdfg::AxisId axis : graph_.tensors[op_.inputs[input]].axes) {
      const auto at = std::find(target_.axes.begin(), target_.axes.end(), axis);
      places.push_back(static_cast<int>(at - target_.axes.begin()));
    }
    return places;
  }

  // The positions of the variables at which an element is read, if it is read whole, each index
  // being one variable over the whole dimension.
  std::optional<std::vector<int>> PlainRead(const sdfg::Node& node) const {
    std::vector<int> places = CoordinatesOf(node.input);
    const sdfg::Shape& shape = f_.inputs[node.input].shape;
    for (size_t d = 0; d < node.args.size(); ++d) {
      const sdfg::Node& index = f_.nodes[node.args[d]];
      if (index.op != Op::kIndex || f_.vars[index.var].extent != shape[d]) return std::nullopt;
      places.push_back(place_[index.var]);
    }
    return places;
  }

  // A sum of a product of elements that are read whole, and together at all of the space.
  std::optional<std::string> Einsum() const {
    ExprId at = output_.body;
    size_t sums = 0;
    for (; f_.nodes[at].op == Op::kSum; at = f_.nodes[at].args[0]) ++sums;
    if (sums == 0 || dims_ + sums != space_extents_.size()) return std::nullopt;
    std::vector<ExprId> work = {at};
    std::vector<std::string> terms, operands;
    std::set<int> seen;
    while (!work.empty()) {
      const sdfg::Node& node = f_.nodes[work.back()];
      work.pop_back();
      if (node.op == Op::kMul) {
        work.insert(work.end(), {node.args[1], node.args[0]});
        continue;
      }
      if (node.op != Op::kElement) return std::nullopt;
      const std::optional<std::vector<int>> places = PlainRead(node);
      if (!places) return std::nullopt;
      std::string& term = terms.emplace_back();
      for (const int place : *places) term += letters_[place];
      seen.insert(places->begin(), places->end());
      operands.push_back(names_[op_.inputs[node.input]]);
    }
    if (seen.size() != space_extents_.size() || space_extents_.size() > 12) return std::nullopt;
    std::string result;
    for (size_t i = 0; i < dims_; ++i) result += letters_[i];
    return absl::StrCat("np.einsum(\"", absl::StrJoin(terms, ","), "->", result, "\", ",
                        absl::StrJoin(operands, ", "), ")");
  }

  std::optional<Text> TextOf(const sdfg::Node& node) {
    switch (node.op) {
      case Op::kIntConst:
        return Text{absl::StrCat(node.value), node.value < 0 ? Level::kProduct : Level::kAtom, {}};
      case Op::kIndex:
        return Text{letters_[place_[node.var]], Level::kAtom, {node.var}, true};
      case Op::kReal:
        return Text{PythonNumber(node.real.ToDouble()),
                    node.real.ToDouble() < 0 ? Level::kProduct : Level::kAtom,
                    {}};
      case Op::kNegInf:
        return Text{"-np.inf", Level::kProduct, {}};
      case Op::kElement:
      case Op::kIntElement:
        return Read(node);
      case Op::kSum:
      case Op::kReduceMax:
      case Op::kReduceMin:
        return Reduction(node);
      case Op::kOpaque:
        return Opaque(node);
      default:
        return Operation(node);
    }
  }

  Text Read(const sdfg::Node& node) {
    const std::string& name = names_[op_.inputs[node.input]];
    Text text{name, Level::kAtom, {}};
    std::vector<int> places = CoordinatesOf(node.input);
    for (const ExprId arg : node.args)
      text.vars.insert(texts_[arg].vars.begin(), texts_[arg].vars.end());
    for (const int place : places) text.vars.insert(CoordinateVariable(place));
    const std::optional<std::vector<int>> plain = PlainRead(node);
    bool whole = plain && plain->size() == space_extents_.size();
    for (size_t i = 0; whole && i < plain->size(); ++i) whole = (*plain)[i] == static_cast<int>(i);
    if (whole || places.size() + node.args.size() == 0) return text;
    std::vector<std::string> indices;
    for (const int place : places) indices.push_back(letters_[place]);
    text.grid = !places.empty();
    const sdfg::Shape& shape = f_.inputs[node.input].shape;
    for (size_t d = 0; d < node.args.size(); ++d) {
      const auto& range = ranges_[node.args[d]];
      const std::string& index = texts_[node.args[d]].text;
      text.grid |= texts_[node.args[d]].grid;
      const bool inside = range && range->low >= 0 && range->high < shape[d];
      // Behind a condition; NumPy computes both branches.
      indices.push_back(inside ? index
                               : absl::StrCat("np.clip(", index, ", 0, ", shape[d] - 1, ")"));
    }
    absl::StrAppend(&text.text, "[", absl::StrJoin(indices, ", "), "]");
    return text;
  }

  Text Reduction(const sdfg::Node& node) {
    const Text& body = texts_[node.args[0]];
    Text text{"", Level::kAtom, body.vars, body.grid};
    const int64_t extent = f_.vars[node.var].extent;
    if (!body.vars.contains(node.var)) {  // equal summands
      if (node.op == Op::kSum && extent != 1) {
        text.level = Level::kProduct;
        text.text = absl::StrCat(extent, " * ", Within(body, Level::kAtom));
        return text;
      }
      return body;
    }
    text.vars.erase(node.var);
    const char* method = node.op == Op::kSum ? "sum" : node.op == Op::kReduceMax ? "max" : "min";
    const char* initial = node.op == Op::kSum         ? ""
                          : node.op == Op::kReduceMax ? ", initial=-np.inf"
                                                      : ", initial=np.inf";
    text.text = absl::StrCat(Within(body, Level::kAtom), ".", method, "(", place_[node.var],
                             ", keepdims=True", initial, ")");
    return text;
  }

  std::optional<Text> Opaque(const sdfg::Node& node) const {
    const OpaqueFunction function = OpaqueNamed(node.name);
    Text text;
    for (const ExprId arg : node.args) {
      text.vars.insert(texts_[arg].vars.begin(), texts_[arg].vars.end());
      text.grid |= texts_[arg].grid;
    }
    switch (function.kind) {
      case OpaqueFunction::Kind::kConstant:
        text.text = PythonNumber(function.constant);
        return text;
      case OpaqueFunction::Kind::kTruncate:
        if (node.args.size() != 1 || node.var >= 0) return std::nullopt;
        text.text = absl::StrCat("np.trunc(", texts_[node.args[0]].text, ")",
                                 node.int_valued ? ".astype(int)" : "");
        return text;
      case OpaqueFunction::Kind::kTopK:
        return Choice(node, function, std::move(text));
      case OpaqueFunction::Kind::kReal: {
        const std::string call = sdfg::NumpyCallOf(function.real);
        if (call.empty() || node.args.empty() || node.var >= 0) return std::nullopt;
        std::vector<std::string> arguments;
        for (const ExprId arg : node.args) arguments.push_back(texts_[arg].text);
        text.text = absl::StrCat(call, absl::StrJoin(arguments, ", "), ")");
        return text;
      }
      // Numbers that Python had: witnesses of recorded programs are not written as scripts.
      case OpaqueFunction::Kind::kFloor:
      case OpaqueFunction::Kind::kCeil:
      case OpaqueFunction::Kind::kRound:
      case OpaqueFunction::Kind::kAbs:
      case OpaqueFunction::Kind::kFloorDivide:
      case OpaqueFunction::Kind::kModulo:
      case OpaqueFunction::Kind::kUnknown:
        break;
    }
    return std::nullopt;
  }

  // The index, or the value, of the so many-th largest of a row; ties go to the smaller index.
  std::optional<Text> Choice(const sdfg::Node& node, const OpaqueFunction& function,
                             Text text) const {
    if (node.var < 0 || node.args.size() != 2) return std::nullopt;
    const Text &row = texts_[node.args[0]], &position = texts_[node.args[1]];
    if (!row.vars.contains(node.var) || position.vars.empty()) return std::nullopt;
    const int axis = place_[node.var];
    text.vars.erase(node.var);
    const int64_t extent = f_.vars[node.var].extent;
    const bool grouped = function.groups > 1 && function.kept_groups < function.groups &&
                         extent % function.groups == 0;
    const std::string order =
        grouped ? absl::StrCat("np.apply_along_axis(", kNumpyChoice, ", ", axis, ", ", row.text,
                               ", ", function.groups, ", ", function.kept_groups, ", ",
                               function.group_by_two ? 2 : 1, ")")
                : absl::StrCat("np.argsort(-", Within(row, Level::kAtom), ", axis=", axis,
                               ", kind=\"stable\")");
    text.text = absl::StrCat("np.take_along_axis(", order, ", ", position.text, ", ", axis, ")");
    if (!node.int_valued) {
      text.text = absl::StrCat("np.take_along_axis(", row.text, ", ", text.text, ", ", axis, ")");
    }
    return text;
  }

  std::optional<Text> Operation(const sdfg::Node& node) const {
    Text text;
    for (const ExprId arg : node.args) {
      text.vars.insert(texts_[arg].vars.begin(), texts_[arg].vars.end());
      text.grid |= texts_[arg].grid;
    }
    const auto arg = [&](size_t i, Level most) { return Within(texts_[node.args[i]], most); };
    const auto plain = [&](size_t i) { return texts_[node.args[i]].text; };
    const auto set = [&](Level level, auto... parts) {
      text.level = level;
      text.text = absl::StrCat(parts...);
      return text;
    };
    const auto infix = [&](Level level, const char* sign, Level left, Level right) {
      return set(level, arg(0, left), sign, arg(1, right));
    };
    const auto call = [&](const char* function) {
      std::vector<std::string> parts;
      for (size_t i = 0; i < node.args.size(); ++i) parts.push_back(plain(i));
      return set(Level::kAtom, function, "(", absl::StrJoin(parts, ", "), ")");
    };
    const auto relation = [&](const char* sign) {
      return infix(Level::kComparison, sign, Level::kSum, Level::kSum);
    };
    switch (node.op) {
      case Op::kIntAdd:
      case Op::kAdd:
        if (plain(1).starts_with('-'))
          return set(Level::kSum, arg(0, Level::kSum), " - ", plain(1).substr(1));
        return infix(Level::kSum, " + ", Level::kSum, Level::kSum);
      case Op::kMul:
        return infix(Level::kProduct, " * ", Level::kProduct, Level::kAtom);
      case Op::kDiv:
        return infix(Level::kProduct, " / ", Level::kProduct, Level::kAtom);
      case Op::kIntScale:
        return set(Level::kProduct, node.value, " * ", arg(0, Level::kAtom));
      case Op::kIntDiv:
        return set(Level::kProduct, arg(0, Level::kProduct), " // ", node.value);
      case Op::kIntMod:
        return set(Level::kProduct, arg(0, Level::kProduct), " % ", node.value);
      case Op::kNeg:
        return set(Level::kProduct, "-", arg(0, Level::kAtom));
      case Op::kPow:
        return set(Level::kProduct, arg(0, Level::kAtom), " ** ",
                   PythonNumber(node.real.ToDouble()));
      case Op::kWhole:
        return set(Level::kAtom, "np.rint(", plain(0), ").astype(int)");
      case Op::kPosition:
      case Op::kIndicator:
        return set(Level::kProduct, arg(0, Level::kAtom), " * 1.0");
      case Op::kExp:
        return call("np.exp");
      case Op::kLog:
        return call("np.log");
      case Op::kErf:
        return call("np.vectorize(math.erf)");
      case Op::kSin:
        return call("np.sin");
      case Op::kCos:
        return call("np.cos");
      case Op::kAbs:
        return call("np.abs");
      case Op::kMax:
        return call("np.maximum");
      case Op::kMin:
        return call("np.minimum");
      case Op::kSelect:
        return call("np.where");
      case Op::kIntLess:
      case Op::kRealLess:
        return relation(" < ");
      case Op::kIntLessEq:
      case Op::kRealLessEq:
        return relation(" <= ");
      case Op::kIntEq:
      case Op::kRealEq:
        return relation(" == ");
      case Op::kNonzero:
        return set(Level::kComparison, arg(0, Level::kSum), " != 0");
      case Op::kAnd:
        return infix(Level::kComparison, " & ", Level::kAtom, Level::kAtom);
      case Op::kOr:
        return infix(Level::kComparison, " | ", Level::kAtom, Level::kAtom);
      case Op::kNot:
        return call("np.logical_not");
      default:
        return std::nullopt;
    }
  }

  // What is used more than once, or is long, is computed on a line of its own.
  void NameIfLong(ExprId id) {
    Text& text = texts_[id];
    const bool shared = uses_[id] > 1 && text.level != Level::kAtom && !text.vars.empty();
    if (id == output_.body || (!shared && text.text.size() < kLongText)) return;
    const std::string name = absl::StrCat("t", ++named_);
    lines_.push_back(absl::StrCat(name, " = ", text.text));
    uses_grid_ |= text.grid;
    text.text = name;
    text.level = Level::kAtom;
    text.grid = false;
  }

  // With all dimensions of the target, and no others.
  std::string Shaped(const Text& text) const {
    bool complete = true;
    for (size_t i = 0; i + output_.dims.size() < dims_; ++i) {
      complete &= text.vars.contains(CoordinateVariable(static_cast<int>(i))) ||
                  (space_extents_[i] == 1 && !text.vars.empty());
    }
    for (const VarId var : output_.dims)
      complete &= text.vars.contains(var) || (f_.vars[var].extent == 1 && !text.vars.empty());
    if (complete && dims_ > 0 && dims_ == space_extents_.size()) return text.text;
    sdfg::Shape full(space_extents_.begin(),
                     space_extents_.begin() + static_cast<std::ptrdiff_t>(dims_));
    const std::string target = full.empty() ? "(())" : PythonTuple(full);
    if (complete && dims_ > 0 && !text.vars.empty())
      return absl::StrCat(Within(text, Level::kAtom), ".reshape", target);
    full.resize(space_extents_.size(), 1);
    return absl::StrCat("np.broadcast_to(", text.text, ", ", PythonTuple(full), ")",
                        dims_ == space_extents_.size() ? "" : ".reshape" + target);
  }

  const sdfg::Graph& graph_;
  const sdfg::Operator& op_;
  const sdfg::IndexFunction& f_;
  const sdfg::FunctionOutput& output_;
  const sdfg::Tensor& target_;
  const std::string& target_name_;
  const std::vector<std::string>& names_;
  std::vector<int> uses_;   // by node
  std::vector<int> place_;  // by variable, in the space
  sdfg::Shape space_extents_;
  std::vector<std::string> letters_;
  size_t dims_ = 0;  // of the space: those of the target
  std::vector<std::optional<sdfg::IndexRange>> ranges_;
  std::vector<Text> texts_;
  std::vector<std::string> lines_;
  bool uses_grid_ = false;
  int named_ = 0;
};

}  // namespace

std::optional<std::vector<std::string>> NumpySource(const sdfg::Graph& graph,
                                                    const sdfg::Operator& op, int output,
                                                    const std::vector<std::string>& names) {
  return NumpyWriter(graph, op, output, names).Run();
}

std::vector<std::string> NumpyElements(const std::string& target, const sdfg::Shape& shape,
                                       const std::string& source,
                                       const std::vector<sdfg::IndexMap>& map,
                                       const sdfg::Shape& source_shape) {
  std::vector<std::string> letters, indices;
  for (size_t d = 0; d < shape.size(); ++d) letters.push_back(IndexLetter(d));
  const auto digit = [&](const sdfg::IndexDigit& of) {
    std::string text = letters[of.dim];
    if (of.offset != 0) text = absl::StrCat("(", text, " + ", of.offset, ")");
    if (of.div != 1) absl::StrAppend(&text, " // ", of.div);
    if (of.mod > 0) absl::StrAppend(&text, " % ", of.mod);
    return text;
  };
  bool same = shape == source_shape;
  for (size_t d = 0; d < map.size(); ++d) {
    std::vector<std::string> terms;
    for (const sdfg::IndexTerm& term : map[d].terms) {
      std::string text = digit(term.digit());
      if (term.scale != 1 && text.size() > 1) text = absl::StrCat("(", text, ")");
      if (term.scale != 1) text = absl::StrCat(term.scale, " * ", text);
      if (term.gated()) text = absl::StrCat(text, " * (", digit(term.gate), ")");
      terms.push_back(text);
    }
    if (map[d].constant != 0 || terms.empty()) terms.push_back(absl::StrCat(map[d].constant));
    indices.push_back(absl::StrJoin(terms, " + "));
    same = same && indices.back() == letters[d];
  }
  if (same) return {absl::StrCat(target, " = ", source)};
  std::vector<std::string> lines;
  if (!letters.empty()) lines.push_back(NumpyGrid(letters, shape));
  std::string read = source;
  if (!indices.empty()) absl::StrAppend(&read, "[", absl::StrJoin(indices, ", "), "]");
  lines.push_back(absl::StrCat(target, " = np.broadcast_to(", read, ", ", PythonTuple(shape), ")"));
  return lines;
}

}  // namespace planproof::runtime_check
