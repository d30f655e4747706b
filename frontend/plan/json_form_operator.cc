#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/json_form_internal.h"
#include "frontend/plan/operator_call.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr int kMaxLoops = 8;  // in each other

// "model.py:12: y = x @ w"; without a line number the whole is the file.
void ParseSource(const std::string& text, Source* out) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon + 1 >= text.size() || text[colon + 1] < '0' ||
      text[colon + 1] > '9') {
    out->set_file(text);
    return;
  }
  out->set_file(text.substr(0, colon));
  size_t at = colon + 1;
  int64_t line = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && line < 100'000'000) {
    line = line * 10 + (text[at] - '0');
    ++at;
  }
  out->set_line(static_cast<int32_t>(line));
  while (at < text.size() && (text[at] == ':' || text[at] == ' ')) ++at;
  out->set_text(text.substr(at));
}

absl::Status ReadOperand(const JsonCursor& json, const JsonValue& value, Operand* out) {
  switch (value.kind) {
    case JsonValue::Kind::kString: {
      PLAN_ASSIGN_OR_RETURN(*out->mutable_tensor(), json.Name(value));
      return absl::OkStatus();
    }
    case JsonValue::Kind::kInteger:
    case JsonValue::Kind::kReal:
      out->set_literal(value.text);
      return absl::OkStatus();
    case JsonValue::Kind::kNull:
      out->set_absent(true);
      return absl::OkStatus();
    case JsonValue::Kind::kObject: {
      const JsonValue* literal = value.Find("literal");
      if (literal == nullptr) {
        return json.Error(value,
                          "operands are a list in the order of the operator's declaration; an "
                          "object is a number, {\"literal\": \"1/3\"}");
      }
      PLAN_RETURN_IF_ERROR(json.Object(value, {"literal"}));
      if (literal->kind != JsonValue::Kind::kString && literal->kind != JsonValue::Kind::kInteger &&
          literal->kind != JsonValue::Kind::kReal) {
        return json.WrongKind(*literal, "a number, or a string such as \"1/3\",");
      }
      out->set_literal(literal->text);
      return absl::OkStatus();
    }
    default:
      return json.WrongKind(value, "a tensor name, a number, null or {\"literal\": \"1/3\"}");
  }
}

absl::Status ReadAttribute(const JsonCursor& json, const JsonValue& value, bool in_list,
                           AttributeValue* out) {
  switch (value.kind) {
    case JsonValue::Kind::kInteger:
      out->set_integer(value.integer);
      return absl::OkStatus();
    case JsonValue::Kind::kString:
      if (!value.text.empty() && value.text[0] == '=') {
        out->set_expression(value.text.substr(1));
        return absl::OkStatus();
      }
      if (in_list) break;
      out->set_text(value.text);
      return absl::OkStatus();
    case JsonValue::Kind::kNull:
      if (in_list) break;
      out->set_none(true);
      return absl::OkStatus();
    case JsonValue::Kind::kBool:
      if (in_list) break;
      out->set_boolean(value.boolean);
      return absl::OkStatus();
    case JsonValue::Kind::kReal:
      if (in_list) break;
      out->set_real(value.text);
      return absl::OkStatus();
    case JsonValue::Kind::kArray:
      if (in_list) break;
      out->mutable_list();
      for (const JsonValue& item : value.items) {
        PLAN_RETURN_IF_ERROR(ReadAttribute(json, item, true, out->mutable_list()->add_elements()));
      }
      return absl::OkStatus();
    case JsonValue::Kind::kObject: {
      if (in_list) break;
      PLAN_RETURN_IF_ERROR(json.Object(value, {"real"}));
      const JsonValue* real = value.Find("real");
      if (real == nullptr) return json.Error(value, "the key \"real\" is expected");
      out->set_real(real->text);
      return absl::OkStatus();
    }
  }
  return json.WrongKind(value, in_list ? "an integer or an expression \"=...\""
                                       : "a number, string, boolean or list of integers");
}

absl::Status ReadCollective(const JsonCursor& json, const JsonValue& value, Collective* out) {
  if (const JsonValue* over = value.Find("over")) {
    PLAN_ASSIGN_OR_RETURN(std::vector<std::string> axes, json.Names(*over));
    for (std::string& axis : axes) out->add_over(std::move(axis));
  }
  const auto integer = [&](const char* key, int64_t low, auto set) -> absl::Status {
    const JsonValue* item = value.Find(key);
    if (item == nullptr) return absl::OkStatus();
    PLAN_ASSIGN_OR_RETURN(int64_t number, json.Integer(*item, low, 1 << 30));
    set(number);
    return absl::OkStatus();
  };
  PLAN_RETURN_IF_ERROR(integer("dim", -64, [&](int64_t n) { out->set_dim(n); }));
  PLAN_RETURN_IF_ERROR(integer("split_dim", -64, [&](int64_t n) { out->set_split_dim(n); }));
  PLAN_RETURN_IF_ERROR(integer("concat_dim", -64, [&](int64_t n) { out->set_concat_dim(n); }));
  PLAN_RETURN_IF_ERROR(integer("root", 0, [&](int64_t n) { out->set_root(n); }));
  PLAN_RETURN_IF_ERROR(integer("shift", -(1 << 30), [&](int64_t n) {
    out->set_shift(n);
    out->set_has_shift(true);
  }));
  if (const JsonValue* reduce = value.Find("reduce")) {
    PLAN_ASSIGN_OR_RETURN(std::string kind, json.String(*reduce));
    if (kind != "sum" && kind != "max" && kind != "min" && kind != "avg") {
      return json.Error(*reduce, absl::StrCat("\"", kind, "\"; sum, max, min or avg is expected"));
    }
    out->set_reduce(kind);
  }
  if (const JsonValue* pairs = value.Find("pairs")) {
    PLAN_RETURN_IF_ERROR(json.IsArray(*pairs));
    // The binary form cannot tell an empty list from none.
    if (pairs->items.empty()) {
      return json.Error(*pairs, "no rank sends: at least one pair [from, to] is expected");
    }
    for (const JsonValue& item : pairs->items) {
      if (item.kind != JsonValue::Kind::kArray || item.items.size() != 2) {
        return json.Error(item, "a pair [from, to] is expected");
      }
      Pair* pair = out->add_pairs();
      PLAN_ASSIGN_OR_RETURN(int64_t from, json.Integer(item.items[0], 0, 1 << 30));
      PLAN_ASSIGN_OR_RETURN(int64_t to, json.Integer(item.items[1], 0, 1 << 30));
      pair->set_from(from);
      pair->set_to(to);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOperatorKeys(const JsonCursor& json, const JsonValue& value) {
  static const std::vector<std::string> kKeys = {
      "op",    "name",  "in",    "out",       "attrs",      "source", "backward",
      "grad",  "over",  "dim",   "split_dim", "concat_dim", "reduce", "root",
      "shift", "pairs", "phase", "async",     "channel"};
  PLAN_RETURN_IF_ERROR(
      json.IsObject(value, "an operator, {\"op\": NAME, \"in\": [NAMES], \"out\": NAME},"));
  // What is no key of an operator is probably an attribute.
  return json.Keys(value, kKeys, "attributes of the operator stand under \"attrs\"");
}

absl::Status ReadCall(const JsonCursor& json, const JsonValue& value, Operator* out) {
  PLAN_RETURN_IF_ERROR(CheckOperatorKeys(json, value));
  out->set_line(value.line);
  const JsonValue* op = value.Find("op");
  const JsonValue* backward = value.Find("backward");
  if ((op == nullptr) == (backward == nullptr)) {
    return json.Error(value, "either \"op\" or \"backward\" is expected");
  }
  if (op != nullptr) {
    PLAN_ASSIGN_OR_RETURN(*out->mutable_op(), json.Name(*op));
  } else {
    PLAN_ASSIGN_OR_RETURN(*out->mutable_backward(), json.Name(*backward));
  }
  if (const JsonValue* name = value.Find("name")) {
    PLAN_ASSIGN_OR_RETURN(*out->mutable_name(), json.Name(*name));
  }
  if (const JsonValue* in = value.Find("in")) {
    if (in->kind == JsonValue::Kind::kArray) {
      if (in->items.size() > 65536) return json.Error(*in, "has more than 65536 operands");
      for (const JsonValue& item : in->items) {
        PLAN_RETURN_IF_ERROR(ReadOperand(json, item, out->add_inputs()));
      }
    } else {
      PLAN_RETURN_IF_ERROR(ReadOperand(json, *in, out->add_inputs()));
    }
  }
  for (const auto& [key, field] : {std::pair{"phase", out->mutable_phase()},
                                   {"async", out->mutable_async()},
                                   {"channel", out->mutable_channel()}}) {
    if (const JsonValue* item = value.Find(key)) {
      PLAN_ASSIGN_OR_RETURN(*field, json.Name(*item));
    }
  }
  const JsonValue* outputs = value.Find("out");
  if (out->op() == kWait) {
    if (outputs != nullptr) {
      return json.Error(*outputs, "a wait has no \"out\": it ends what its handles name");
    }
  } else if (backward != nullptr) {
    if (outputs != nullptr) {
      if (outputs->kind != JsonValue::Kind::kObject) {
        return json.WrongKind(
            *outputs,
            "an object {operand: its gradient}, such as {\"w\": \"grad.w\"} (this "
            "is a backward operator),");
      }
      PLAN_RETURN_IF_ERROR(ReadBindings(json, *outputs, out->mutable_produces()));
    }
    if (const JsonValue* grad = value.Find("grad")) {
      PLAN_RETURN_IF_ERROR(
          json.IsObject(*grad, "an object {output: its gradient}, such as {\"y\": \"grad.y\"},"));
      PLAN_RETURN_IF_ERROR(ReadBindings(json, *grad, out->mutable_gradients()));
    }
  } else {
    if (outputs == nullptr) return json.Error(value, "name the result: \"out\": \"NAME\"");
    PLAN_ASSIGN_OR_RETURN(std::vector<std::string> names, json.Names(*outputs));
    if (names.empty()) return json.Error(*outputs, "at least one output is expected");
    for (std::string& name : names) out->add_outputs(std::move(name));
  }
  if (const JsonValue* attributes = value.Find("attrs")) {
    PLAN_RETURN_IF_ERROR(json.IsObject(*attributes, "an object {attribute: value}"));
    for (size_t i = 0; i < attributes->items.size(); ++i) {
      Attribute* attribute = out->add_attributes();
      attribute->set_name(attributes->keys[i]);
      PLAN_RETURN_IF_ERROR(
          ReadAttribute(json, attributes->items[i], false, attribute->mutable_value()));
    }
  }
  if (const JsonValue* source = value.Find("source")) {
    PLAN_ASSIGN_OR_RETURN(std::string text, json.String(*source));
    ParseSource(text, out->mutable_source());
  }
  for (const char* key :
       {"over", "dim", "split_dim", "concat_dim", "reduce", "root", "shift", "pairs"}) {
    if (value.Find(key) != nullptr) {
      return ReadCollective(json, value, out->mutable_collective());
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAtDepth(const JsonCursor& json, const JsonValue& value, int depth, Operator* out);

absl::Status ReadLoop(const JsonCursor& json, const JsonValue& value, int depth, Loop* out) {
  PLAN_RETURN_IF_ERROR(json.Object(value, {"for", "from", "to", "step", "do"}));
  const JsonValue* body = value.Find("do");
  if (body == nullptr || value.Find("from") == nullptr || value.Find("to") == nullptr) {
    return json.Error(value,
                      "a loop is {\"for\": \"t\", \"from\": 0, \"to\": 4, \"do\": [operators]}");
  }
  PLAN_ASSIGN_OR_RETURN(*out->mutable_variable(), json.Name(*value.Find("for")));
  for (const auto& [key, text] :
       {std::pair{"from", out->mutable_from()}, {"to", out->mutable_to()}}) {
    const JsonValue& bound = *value.Find(key);
    if (bound.kind == JsonValue::Kind::kInteger) {
      *text = bound.text;
    } else {
      PLAN_ASSIGN_OR_RETURN(*text, json.Name(bound));
    }
  }
  if (const JsonValue* step = value.Find("step")) {
    PLAN_ASSIGN_OR_RETURN(const int64_t number, json.Integer(*step, -(1 << 30), 1 << 30));
    if (number == 0) return json.Error(*step, "a loop goes forward or backward, by a step not 0");
    out->set_step(number);
  }
  if (depth == kMaxLoops) {
    return json.Error(value, absl::StrCat("loops are nested more than ", kMaxLoops, " deep"));
  }
  PLAN_RETURN_IF_ERROR(json.IsArray(*body));
  if (body->items.empty()) return json.Error(*body, "is empty; operators are expected");
  for (const JsonValue& item : body->items) {
    PLAN_RETURN_IF_ERROR(ReadAtDepth(json, item, depth + 1, out->add_body()));
  }
  return absl::OkStatus();
}

absl::Status ReadAtDepth(const JsonCursor& json, const JsonValue& value, int depth, Operator* out) {
  if (value.kind != JsonValue::Kind::kObject || value.Find("for") == nullptr) {
    return ReadCall(json, value, out);
  }
  out->set_line(value.line);
  return ReadLoop(json, value, depth, out->mutable_loop());
}

}  // namespace

absl::Status ReadOperator(const JsonCursor& json, const JsonValue& value, Operator* out) {
  return ReadAtDepth(json, value, 0, out);
}

absl::Status ReadBindings(const JsonCursor& json, const JsonValue& value,
                          google::protobuf::RepeatedPtrField<Binding>* out) {
  if (value.kind == JsonValue::Kind::kArray) {
    PLAN_ASSIGN_OR_RETURN(std::vector<std::string> names, json.Names(value));
    for (const std::string& name : names) {
      Binding* binding = out->Add();
      binding->set_key(name);
      binding->set_value(name);
    }
    return absl::OkStatus();
  }
  PLAN_RETURN_IF_ERROR(json.IsObject(value, "an object {name: name} or a list of names"));
  for (size_t i = 0; i < value.items.size(); ++i) {
    Binding* binding = out->Add();
    binding->set_key(value.keys[i]);
    PLAN_ASSIGN_OR_RETURN(*binding->mutable_value(), json.Name(value.items[i]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
