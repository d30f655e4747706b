#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/plan/operator_call.h"
#include "frontend/plan/readable_form_internal.h"

namespace planproof::plan {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

bool IsDigits(const std::string& text, size_t from, size_t to) {
  return from < to && std::all_of(text.begin() + from, text.begin() + to,
                                  [](char c) { return c >= '0' && c <= '9'; });
}

// Whether JSON writes the number in the same way: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
bool IsJsonNumber(const std::string& text) {
  const size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t exponent = std::min(text.find_first_of("eE"), text.size());
  const size_t point = std::min(text.find('.'), exponent);
  if (!IsDigits(text, start, point) || (text[start] == '0' && point > start + 1)) return false;
  if (point < exponent && !IsDigits(text, point + 1, exponent)) return false;
  if (exponent == text.size()) return text != "-0";
  const bool sign =
      exponent + 1 < text.size() && (text[exponent + 1] == '+' || text[exponent + 1] == '-');
  return IsDigits(text, exponent + (sign ? 2 : 1), text.size());
}

// One name by itself, several in a list.
JsonText NamesText(const Names& names) {
  if (names.size() == 1) return JsonText::String(names.Get(0));
  JsonText list = JsonText::List();
  for (const std::string& name : names) list.Add(JsonText::String(name));
  return list;
}

JsonText OperandText(const Operand& operand) {
  switch (operand.kind_case()) {
    case Operand::kTensor:
      return JsonText::String(operand.tensor());
    case Operand::kLiteral:
      if (IsJsonNumber(operand.literal())) return JsonText::Number(operand.literal());
      return std::move(JsonText::Object().Add("literal", JsonText::String(operand.literal())));
    default:
      return JsonText::Word("null");
  }
}

JsonText AttributeText(const AttributeValue& value) {
  switch (value.kind_case()) {
    case AttributeValue::kBoolean:
      return JsonText::Word(value.boolean() ? "true" : "false");
    case AttributeValue::kInteger:
      return JsonText::Number(value.integer());
    case AttributeValue::kReal:
      if (IsJsonNumber(value.real()) && IsDecimal(value.real())) {
        return JsonText::Number(value.real());
      }
      return std::move(JsonText::Object().Add("real", JsonText::String(value.real())));
    case AttributeValue::kText:
      return JsonText::String(value.text());
    case AttributeValue::kExpression:
      return JsonText::String(absl::StrCat("=", value.expression()));
    case AttributeValue::kList: {
      JsonText list = JsonText::List();
      for (const AttributeValue& element : value.list().elements())
        list.Add(AttributeText(element));
      return list;
    }
    default:
      return JsonText::Word("null");
  }
}

void AddCollective(const Collective& collective, JsonText* out) {
  if (collective.over_size() > 0) out->Add("over", NamesText(collective.over()));
  if (collective.has_dim()) out->Add("dim", JsonText::Number(collective.dim()));
  if (collective.has_split_dim()) out->Add("split_dim", JsonText::Number(collective.split_dim()));
  if (collective.has_concat_dim()) {
    out->Add("concat_dim", JsonText::Number(collective.concat_dim()));
  }
  if (!collective.reduce().empty()) out->Add("reduce", JsonText::String(collective.reduce()));
  if (collective.has_root()) out->Add("root", JsonText::Number(collective.root()));
  if (collective.has_shift()) out->Add("shift", JsonText::Number(collective.shift()));
  if (collective.pairs_size() == 0) return;
  JsonText pairs = JsonText::List();
  for (const Pair& pair : collective.pairs()) {
    JsonText text = JsonText::List();
    text.Add(JsonText::Number(pair.from())).Add(JsonText::Number(pair.to()));
    pairs.Add(std::move(text));
  }
  out->Add("pairs", std::move(pairs));
}

void AddOperands(const Operator& op, JsonText* out) {
  if (op.inputs_size() == 1 && op.inputs(0).has_tensor()) {
    out->Add("in", OperandText(op.inputs(0)));
  } else if (op.inputs_size() > 0) {
    JsonText list = JsonText::List();
    for (const Operand& operand : op.inputs()) list.Add(OperandText(operand));
    out->Add("in", std::move(list));
  }
}

JsonText ObjectOf(const google::protobuf::RepeatedPtrField<Binding>& bindings) {
  JsonText out = JsonText::Object();
  for (const Binding& binding : bindings) out.Add(binding.key(), JsonText::String(binding.value()));
  return out;
}

std::string SourceText(const Source& source) {
  if (source.line() == 0) return source.file();
  return absl::StrCat(source.file(), ":", source.line(), source.text().empty() ? "" : ": ",
                      source.text());
}

JsonText ShardText(const ShardedDim& dim) {
  if (dim.over_size() == 0) {
    JsonText range = JsonText::List();
    range.Add(JsonText::Number(dim.start())).Add(JsonText::Number(dim.stop()));
    return range;
  }
  if (dim.sizes_size() == 0) return NamesText(dim.over());
  JsonText sizes = JsonText::List();
  for (const int64_t size : dim.sizes()) sizes.Add(JsonText::Number(size));
  JsonText out = JsonText::Object();
  out.Add("over", NamesText(dim.over())).Add("sizes", std::move(sizes));
  return out;
}

}  // namespace

JsonText BoundText(const std::string& bound) {
  return IsJsonNumber(bound) && !IsDecimal(bound) ? JsonText::Number(bound)
                                                  : JsonText::String(bound);
}

JsonText OperatorText(const Operator& op) {
  JsonText out = JsonText::Object();
  if (op.backward().empty()) {
    out.Add("op", JsonText::String(op.op()));
  } else {
    out.Add("backward", JsonText::String(op.backward()));
  }
  if (!op.name().empty()) out.Add("name", JsonText::String(op.name()));
  AddCollective(op.collective(), &out);
  AddOperands(op, &out);
  if (op.gradients_size() > 0) out.Add("grad", ObjectOf(op.gradients()));
  if (op.produces_size() > 0) out.Add("out", ObjectOf(op.produces()));
  if (op.outputs_size() > 0) out.Add("out", NamesText(op.outputs()));
  if (op.attributes_size() > 0) {
    JsonText attributes = JsonText::Object();
    for (const Attribute& attribute : op.attributes()) {
      attributes.Add(attribute.name(), AttributeText(attribute.value()));
    }
    out.Add("attrs", std::move(attributes));
  }
  for (const auto& [key, value] :
       {std::pair{"phase", &op.phase()}, {"async", &op.async()}, {"channel", &op.channel()}}) {
    if (!value->empty()) out.Add(key, JsonText::String(*value));
  }
  if (op.has_source()) out.Add("source", JsonText::String(SourceText(op.source())));
  return out;
}

JsonText RelationText(const Relation& relation) {
  JsonText out = JsonText::Object();
  if (!relation.of().empty()) out.Add("of", JsonText::String(relation.of()));
  for (const ShardedDim& dim : relation.dims()) out.Add(std::to_string(dim.dim()), ShardText(dim));
  if (relation.has_map()) {
    JsonText map = JsonText::List();
    for (const std::string& expression : relation.map()) map.Add(JsonText::String(expression));
    out.Add("map", std::move(map));
  }
  if (relation.has_shape()) {
    JsonText shape = JsonText::List();
    for (const int64_t extent : relation.shape()) shape.Add(JsonText::Number(extent));
    out.Add("shape", std::move(shape));
  }
  if (relation.partial_size() > 0) {
    JsonText axes = NamesText(relation.partial());
    out.Add("partial", relation.partial_max()
                           ? std::move(JsonText::Object().Add("max", std::move(axes)))
                           : std::move(axes));
  }
  if (relation.overlap()) out.Add("overlap", JsonText::Word("true"));
  if (!relation.factor().empty()) {
    out.Add("factor", IsJsonNumber(relation.factor()) ? JsonText::Number(relation.factor())
                                                      : JsonText::String(relation.factor()));
  }
  return out;
}

JsonText NamedRelationsText(const google::protobuf::RepeatedPtrField<NamedRelation>& relations) {
  const bool list = std::none_of(relations.begin(), relations.end(),
                                 [](const NamedRelation& named) { return named.has_relation(); });
  JsonText out = list ? JsonText::List() : JsonText::Object();
  for (const NamedRelation& named : relations) {
    if (list) {
      out.Add(JsonText::String(named.name()));
    } else {
      out.Add(named.name(), RelationText(named.relation()));
    }
  }
  return out;
}

JsonText CoordinatesText(const google::protobuf::RepeatedPtrField<Coordinate>& coordinates) {
  JsonText out = JsonText::Object();
  for (const Coordinate& coordinate : coordinates) {
    if (coordinate.values_size() == 1) {
      out.Add(coordinate.axis(), JsonText::Number(coordinate.values(0)));
      continue;
    }
    JsonText values = JsonText::List();
    for (const int64_t value : coordinate.values()) values.Add(JsonText::Number(value));
    out.Add(coordinate.axis(), std::move(values));
  }
  return out;
}

JsonText BindingsText(const google::protobuf::RepeatedPtrField<Binding>& bindings) {
  const bool list = std::all_of(bindings.begin(), bindings.end(), [](const Binding& binding) {
    return binding.key() == binding.value();
  });
  if (!list) return ObjectOf(bindings);
  JsonText names = JsonText::List();
  for (const Binding& binding : bindings) names.Add(JsonText::String(binding.key()));
  return names;
}

JsonText ScheduleText(const google::protobuf::RepeatedPtrField<ScheduleItem>& schedule) {
  JsonText out = JsonText::List();
  for (const ScheduleItem& item : schedule) {
    if (!item.variable().empty()) {
      JsonText loop = JsonText::Object();
      loop.Add("for", JsonText::String(item.variable()));
      loop.Add("from", BoundText(item.from())).Add("to", BoundText(item.to()));
      loop.Add("do", ScheduleText(item.body()));
      out.Add(std::move(loop));
      continue;
    }
    out.Add(JsonText::String(absl::StrCat(item.phase(), item.microbatch().empty() ? "" : ":",
                                          item.microbatch(), item.until().empty() ? "" : "..",
                                          item.until())));
  }
  return out;
}

JsonText BuffersText(const google::protobuf::RepeatedPtrField<Buffer>& buffers) {
  JsonText out = JsonText::Object();
  for (const Buffer& buffer : buffers) {
    if (buffer.slots() <= 1) {
      out.Add(buffer.tensor(), JsonText::String(buffer.name()));
      continue;
    }
    JsonText entry = JsonText::Object();
    entry.Add("name", JsonText::String(buffer.name()))
        .Add("slots", JsonText::Number(buffer.slots()));
    out.Add(buffer.tensor(), std::move(entry));
  }
  return out;
}

}  // namespace planproof::plan
