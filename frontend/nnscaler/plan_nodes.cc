// Nodes of a plan: operators with their operands and attributes, adapters with their primitives.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/plan_reader.h"

namespace planproof::frontend::nnscaler {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// `File "model.py", line 15, in forward,  x = layer(x)`
sdfg::SourceLocation ParseComment(std::string_view comment) {
  sdfg::SourceLocation location;
  location.text = std::string(comment);
  const size_t open = comment.find("File \"");
  if (open == std::string_view::npos) return location;
  const size_t name = open + 6;
  const size_t close = comment.find('"', name);
  if (close == std::string_view::npos) return location;
  location.file = std::string(comment.substr(name, close - name));
  static constexpr std::string_view kLine = ", line ";
  std::string_view rest = comment.substr(close + 1);
  if (rest.substr(0, kLine.size()) != kLine) return location;
  rest.remove_prefix(kLine.size());
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  int line = 0;
  if (absl::SimpleAtoi(View(rest.substr(0, digits)), &line)) location.line = line;
  const size_t code = rest.find(",  ");
  location.text = code == std::string_view::npos ? "" : std::string(rest.substr(code + 3));
  return location;
}

struct PrimClass {
  std::string_view name;
  PrimKind kind;
};
constexpr PrimClass kPrimClasses[] = {
    {"MovePrim", PrimKind::kMove},
    {"BroadcastPrim", PrimKind::kBroadcast},
    {"ReducePrim", PrimKind::kReduce},
    {"AllReducePrim", PrimKind::kAllReduce},
    {"AllGatherPrim", PrimKind::kAllGather},
    {"ReduceScatterPrim", PrimKind::kReduceScatter},
    {"AllToAllPrim", PrimKind::kAllToAll},
    {"ChunkPrim", PrimKind::kChunk},
    {"IdentityPrim", PrimKind::kIdentity},
    {"AllReduceIdentityPrim", PrimKind::kAllReduceIdentity},
    {"IdentityAllreducePrim", PrimKind::kIdentityAllReduce},
    {"SplitAllGatherPrim", PrimKind::kSplitAllGather},
    {"AllGatherSplitPrim", PrimKind::kAllGatherSplit},
    {"ReduceScatterAllGatherPrim", PrimKind::kReduceScatterAllGather},
    {"AllGatherReduceScatterPrim", PrimKind::kAllGatherReduceScatter},
    {"AllToAllAllToAllPrim", PrimKind::kAllToAllAllToAll},
    {"AllReduceAllReducePrim", PrimKind::kAllReduceAllReduce},
};

bool NodeKindOf(std::string_view class_name, NodeKind* kind) {
  if (class_name == "IRDimops" || class_name == "IRFwOperation" || class_name == "IRPyFunc") {
    *kind = NodeKind::kForward;
  } else if (class_name == "IRBpOperation") {
    *kind = NodeKind::kBackward;
  } else if (class_name == "IRAdapter") {
    *kind = NodeKind::kAdapter;
  } else if (class_name == "IRWeightReducer") {
    *kind = NodeKind::kReducer;
  } else if (class_name == "IRDataOperation") {
    *kind = NodeKind::kData;
  } else {
    return false;
  }
  return true;
}

constexpr int64_t kMaxId = int64_t{1} << 40;
constexpr int64_t kMaxRank = 1 << 20;

}  // namespace

std::string Node::Label() const {
  std::string label = absl::StrCat(kind == NodeKind::kBackward ? "backward" : name, ", cell ", id);
  if (source.line > 0) absl::StrAppend(&label, " at ", source.file, ":", source.line);
  return label;
}

sdfg::AttributeValue PlanReader::ReadLiteral(ValueId owner, std::string_view what, ValueId value) {
  std::vector<int64_t> ints;
  switch (pickle_.kind(value)) {
    case ValueKind::kNone:
      return std::monostate();
    case ValueKind::kBool:
      return pickle_.Bool(value);
    case ValueKind::kInt:
      return pickle_.Int(value);
    case ValueKind::kFloat:
      if (std::isfinite(pickle_.Float(value))) {
        return solver::Rational::FromDouble(pickle_.Float(value));
      }
      break;
    case ValueKind::kString:
      return std::string(pickle_.Text(value));
    case ValueKind::kGlobal:
      return absl::StrCat(View(pickle_.Module(value)), ".", View(pickle_.Name(value)));
    case ValueKind::kTuple:
    case ValueKind::kList:
      if (access_.Ints(value, INT64_MIN, INT64_MAX, &ints)) return ints;
      break;
    case ValueKind::kObject:
      if (pickle_.ClassName(value) == "IRObject") {
        const ValueId inner = access_.Get(value, Field::kValue, false);
        if (inner != kNoValue && !pickle_.Is(inner, ValueKind::kObject) &&
            !pickle_.Is(inner, ValueKind::kNone)) {
          return ReadLiteral(owner, what, inner);
        }
      }
      break;
    default:
      break;
  }
  access_.Fail(absl::UnimplementedError(absl::StrCat(
      access_.Describe(owner), ", ", View(what), ": a ",
      pickle_.Is(value, ValueKind::kObject) ? std::string(pickle_.ClassName(value))
                                            : std::string(ValueKindName(pickle_.kind(value))),
      " is not understood here; expected None, a bool, finite number, str or list of ints")));
  return std::monostate();
}

NodeOperand PlanReader::ReadOperand(ValueId node, Field field, ValueId value) {
  NodeOperand operand;
  if (!IsSubTensor(value)) {
    operand.literal = ReadLiteral(node, FieldName(field), value);
    return operand;
  }
  operand.tensor = ReadSubTensor(value);
  const ValueId gradient = access_.Get(value, Field::kGrad, false);
  if (gradient == kNoValue || pickle_.Is(gradient, ValueKind::kNone)) return operand;
  if (!IsSubTensor(gradient)) {
    access_.Expect(value, Field::kGrad, gradient, "an IRSubTensor or None");
  } else {
    operand.gradient = ReadSubTensor(gradient);
    if (ok() && !plan_.FullOf(operand.gradient).is_gradient) {
      Malformed(absl::StrCat("tensor ", plan_.TensorName(operand.tensor), ": its _grad, ",
                             plan_.TensorName(operand.gradient), ", is not marked as a gradient"));
    }
  }
  return operand;
}

void PlanReader::ReadAttributes(ValueId object, Node* node) {
  const ValueId kwargs = access_.Get(object, Field::kKwargs, false);
  if (kwargs == kNoValue || pickle_.Is(kwargs, ValueKind::kNone)) return;
  if (!pickle_.Is(kwargs, ValueKind::kDict)) {
    access_.Expect(object, Field::kKwargs, kwargs, "a dict");
    return;
  }
  const absl::Span<const ValueId> items = pickle_.Items(kwargs);
  if (!access_.Spend(items.size())) return;
  for (size_t i = 0; i + 1 < items.size() && ok(); i += 2) {
    if (!pickle_.Is(items[i], ValueKind::kString)) {
      access_.Expect(object, Field::kKwargs, items[i], "str keys");
      return;
    }
    const std::string_view name = pickle_.Text(items[i]);
    node->attributes[std::string(name)] = ReadLiteral(object, name, items[i + 1]);
  }
}

void PlanReader::ReadPrimNumber(ValueId prim, ValueId kwargs, std::string_view name, int* out) {
  const ValueId value = pickle_.Find(kwargs, pickle_.FindSymbol(name));
  if (value == kNoValue || pickle_.Is(value, ValueKind::kNone)) return;
  if (!pickle_.Is(value, ValueKind::kInt) || pickle_.Int(value) < 0 ||
      pickle_.Int(value) > kMaxRank) {
    Malformed(absl::StrCat(access_.Describe(prim), ", ", View(name), ": expected an int from 0 to ",
                           kMaxRank));
    return;
  }
  *out = static_cast<int>(pickle_.Int(value));
}

// A receiver makes room for what is sent by these. Other keywords could mean anything.
void PlanReader::CheckPrimKeywords(ValueId object, ValueId kwargs, const Prim& prim) {
  static constexpr std::string_view kKnown[] = {"dim", "idim",  "odim",  "src",
                                                "dst", "ranks", "shape", "dtype"};
  const absl::Span<const ValueId> items = pickle_.Items(kwargs);
  if (!access_.Spend(items.size())) return;
  for (size_t i = 0; i + 1 < items.size() && ok(); i += 2) {
    const bool text = pickle_.Is(items[i], ValueKind::kString);
    const std::string_view name = text ? pickle_.Text(items[i]) : std::string_view();
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
      access_.Fail(absl::UnimplementedError(
          absl::StrCat(access_.Describe(object), ": keyword ", View(name), " is not known")));
      return;
    }
    const ValueId value = items[i + 1];
    const int tensor = !prim.inputs.empty()    ? prim.inputs[0]
                       : !prim.outputs.empty() ? prim.outputs[0]
                                               : kNoIndex;
    if (pickle_.Is(value, ValueKind::kNone) || tensor == kNoIndex) continue;
    const SubTensor& sub = plan_.subs[tensor];
    if (name == "dtype") {
      const sdfg::DType type = ReadDTypeValue(object, value);
      if (ok() && type != sub.dtype) {
        Malformed(absl::StrCat(access_.Describe(object), ": sends ", plan_.TensorName(tensor),
                               " of type ", sdfg::DTypeName(sub.dtype), " as ",
                               sdfg::DTypeName(type)));
      }
    }
    std::vector<int64_t> shape;
    if (name == "shape" && (!access_.Ints(value, 0, INT64_MAX, &shape) || shape != sub.shape())) {
      Malformed(absl::StrCat(access_.Describe(object), ": its shape is not that of ",
                             plan_.TensorName(tensor)));
    }
  }
}

Prim PlanReader::ReadPrim(ValueId object) {
  Prim prim;
  prim.class_name = std::string(pickle_.ClassName(object));
  const PrimClass* found = nullptr;
  for (const PrimClass& candidate : kPrimClasses) {
    if (candidate.name == prim.class_name) found = &candidate;
  }
  if (found == nullptr) {
    access_.Fail(absl::UnimplementedError(absl::StrCat(
        "communication primitive ",
        prim.class_name.empty() ? access_.Describe(object) : prim.class_name, " is not known")));
    return prim;
  }
  prim.kind = found->kind;
  for (const bool input : {true, false}) {
    const Field field = input ? Field::kInputs : Field::kOutputs;
    for (ValueId value : access_.GetSequence(object, field)) {
      if (!IsSubTensor(value)) {
        access_.Expect(object, field, value, "IRSubTensors");
        return prim;
      }
      (input ? prim.inputs : prim.outputs).push_back(ReadSubTensor(value));
    }
  }
  const ValueId kwargs = access_.Get(object, Field::kPlainKwargs);
  if (!ok()) return prim;
  if (!pickle_.Is(kwargs, ValueKind::kDict)) {
    access_.Expect(object, Field::kPlainKwargs, kwargs, "a dict");
    return prim;
  }
  ReadPrimNumber(object, kwargs, "dim", &prim.dim);
  ReadPrimNumber(object, kwargs, "idim", &prim.idim);
  ReadPrimNumber(object, kwargs, "odim", &prim.odim);
  ReadPrimNumber(object, kwargs, "src", &prim.source);
  ReadPrimNumber(object, kwargs, "dst", &prim.destination);
  const ValueId ranks = pickle_.Find(kwargs, pickle_.FindSymbol("ranks"));
  std::vector<int64_t> numbers;
  if (ranks != kNoValue && !access_.Ints(ranks, 0, kMaxRank, &numbers)) {
    Malformed(absl::StrCat(access_.Describe(object), ", ranks: expected a list of ranks"));
  }
  prim.ranks.assign(numbers.begin(), numbers.end());
  if (ok()) CheckPrimKeywords(object, kwargs, prim);
  std::sort(numbers.begin(), numbers.end());
  const auto twice = std::adjacent_find(numbers.begin(), numbers.end());
  if (twice != numbers.end()) {
    Malformed(absl::StrCat(access_.Describe(object), ", ranks: ", *twice, " stands twice"));
  }
  return prim;
}

int PlanReader::ReadNode(ValueId object) {
  const auto [it, inserted] = nodes_.try_emplace(object, kNoIndex);
  if (!inserted) return it->second;
  Node node;
  if (!NodeKindOf(pickle_.ClassName(object), &node.kind)) {
    const std::string what = access_.Describe(object);
    access_.Fail(pickle_.Is(object, ValueKind::kObject)
                     ? absl::UnimplementedError(absl::StrCat(what, ": no known kind of cell"))
                     : absl::InvalidArgumentError(absl::StrCat("a cell is a ", what)));
    return kNoIndex;
  }
  node.id = access_.GetInt(object, Field::kId, 0, kMaxId);
  node.name = std::string(access_.GetString(object, Field::kName));
  node.signature = std::string(access_.GetString(object, Field::kSignature));
  node.source = ParseComment(access_.GetString(object, Field::kComment));
  for (int64_t device : access_.GetInts(object, Field::kDevice, 0, kMaxRank)) {
    node.devices.push_back(static_cast<int>(device));
  }
  if (node.kind != NodeKind::kData) {
    for (ValueId value : access_.GetSequence(object, Field::kInputs)) {
      node.inputs.push_back(ReadOperand(object, Field::kInputs, value));
      if (!ok()) return kNoIndex;
    }
  }
  for (ValueId value : access_.GetSequence(object, Field::kOutputs)) {
    node.outputs.push_back(ReadOperand(object, Field::kOutputs, value));
    if (!ok()) return kNoIndex;
  }
  if (node.kind == NodeKind::kForward) ReadAttributes(object, &node);
  if (node.kind == NodeKind::kAdapter) {
    node.forward = access_.GetBool(object, Field::kForward);
    for (ValueId value : access_.GetSequence(object, Field::kPrims)) {
      node.prims.push_back(ReadPrim(value));
      if (!ok()) return kNoIndex;
    }
  }
  if (!ok()) return kNoIndex;
  for (const NodeOperand& output : node.outputs) {
    if (output.tensor == kNoIndex) {
      access_.Fail(absl::UnimplementedError(
          absl::StrCat(access_.Describe(object), ", _outputs: has an output that is no tensor")));
      return kNoIndex;
    }
  }
  plan_.nodes.push_back(std::move(node));
  node_objects_.push_back(object);
  return nodes_[object] = static_cast<int>(plan_.nodes.size() - 1);
}

void PlanReader::ReadMirrors() {
  // Forward operators that are met only as a mirror are appended; they have no mirror of interest.
  const size_t count = plan_.nodes.size();
  for (size_t i = 0; i < count && ok(); ++i) {
    if (plan_.nodes[i].kind != NodeKind::kBackward) continue;
    const ValueId mirror = access_.GetObject(node_objects_[i], Field::kMirror);
    if (!ok()) return;
    const int node = ReadNode(mirror);
    if (!ok()) return;
    if (plan_.nodes[node].kind != NodeKind::kForward) {
      Malformed(
          absl::StrCat("backward cell ", plan_.nodes[i].id, ": its mirror is no forward operator"));
      return;
    }
    plan_.nodes[i].mirror = node;
  }
}

}  // namespace planproof::frontend::nnscaler
