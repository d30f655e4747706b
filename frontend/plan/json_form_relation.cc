#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/json_form_internal.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

bool IsDimension(const std::string& key) {
  return !key.empty() && key.size() <= 2 &&
         key.find_first_not_of("0123456789") == std::string::npos;
}

// "tp" | ["dp", "tp"] | [0, 3] | {"over": "tp", "sizes": [3, 5]}.
absl::Status ReadShard(const JsonCursor& json, const JsonValue& value, ShardedDim* out) {
  if (value.kind == JsonValue::Kind::kObject) {
    PLAN_RETURN_IF_ERROR(json.Object(value, {"over", "sizes"}));
    const JsonValue* over = value.Find("over");
    const JsonValue* sizes = value.Find("sizes");
    if (over == nullptr || sizes == nullptr) {
      return json.Error(value, "both \"over\" and \"sizes\" are expected");
    }
    PLAN_ASSIGN_OR_RETURN(std::string axis, json.Name(*over));
    out->add_over(axis);
    PLAN_RETURN_IF_ERROR(json.IsArray(*sizes));
    for (const JsonValue& item : sizes->items) {
      PLAN_ASSIGN_OR_RETURN(int64_t size, json.Limited(item, 0, int64_t{1} << 40, "size"));
      out->add_sizes(size);
    }
    return absl::OkStatus();
  }
  if (value.kind == JsonValue::Kind::kArray && !value.items.empty() &&
      value.items[0].kind == JsonValue::Kind::kInteger) {
    if (value.items.size() != 2) return json.Error(value, "a range [start, stop] is expected");
    PLAN_ASSIGN_OR_RETURN(int64_t start,
                          json.Limited(value.items[0], 0, int64_t{1} << 40, "start"));
    PLAN_ASSIGN_OR_RETURN(int64_t stop, json.Limited(value.items[1], 0, int64_t{1} << 40, "stop"));
    if (stop < start) return json.Error(value, "the range ends before it starts");
    out->set_start(start);
    out->set_stop(stop);
    return absl::OkStatus();
  }
  if (value.kind != JsonValue::Kind::kString && value.kind != JsonValue::Kind::kArray) {
    return json.WrongKind(value, "the name of an axis, a list of axes or a range [start, stop]");
  }
  PLAN_ASSIGN_OR_RETURN(std::vector<std::string> axes, json.Names(value));
  if (axes.empty()) return json.Error(value, "at least one axis is expected");
  for (std::string& axis : axes) out->add_over(std::move(axis));
  return absl::OkStatus();
}

absl::Status ReadPartial(const JsonCursor& json, const JsonValue& value, Relation* out) {
  const JsonValue* axes = &value;
  if (value.kind == JsonValue::Kind::kObject) {
    PLAN_RETURN_IF_ERROR(json.Object(value, {"sum", "max"}));
    const JsonValue* sum = value.Find("sum");
    const JsonValue* max = value.Find("max");
    if ((sum == nullptr) == (max == nullptr)) {
      return json.Error(value, "either \"sum\" or \"max\" is expected");
    }
    out->set_partial_max(max != nullptr);
    axes = sum != nullptr ? sum : max;
  }
  PLAN_ASSIGN_OR_RETURN(std::vector<std::string> names, json.Names(*axes));
  if (names.empty()) return json.Error(*axes, "at least one axis is expected");
  for (std::string& name : names) out->add_partial(std::move(name));
  return absl::OkStatus();
}

// A key of a relation that names no dimension and not the devices.
absl::Status ReadRelationKey(const JsonCursor& json, const std::string& key, const JsonValue& item,
                             Relation* out) {
  if (key == "of") {
    PLAN_ASSIGN_OR_RETURN(*out->mutable_of(), json.Name(item));
  } else if (key == "map") {
    PLAN_RETURN_IF_ERROR(json.IsArray(item));
    if (item.items.size() > 16) return json.Error(item, "has more than 16 dimensions");
    out->set_has_map(true);
    for (const JsonValue& expression : item.items) {
      if (expression.kind == JsonValue::Kind::kInteger) {
        out->add_map(expression.text);
        continue;
      }
      PLAN_ASSIGN_OR_RETURN(std::string text, json.String(expression));
      out->add_map(std::move(text));
    }
  } else if (key == "shape") {
    PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> shape, json.Extents(item));
    out->set_has_shape(true);
    for (int64_t extent : shape) out->add_shape(extent);
  } else if (key == "partial") {
    PLAN_RETURN_IF_ERROR(ReadPartial(json, item, out));
  } else if (key == "overlap") {
    PLAN_ASSIGN_OR_RETURN(bool overlap, json.Boolean(item));
    out->set_overlap(overlap);
  } else if (key == "factor") {
    if (item.kind == JsonValue::Kind::kInteger || item.kind == JsonValue::Kind::kReal) {
      out->set_factor(item.text);
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(*out->mutable_factor(), json.String(item));
  }
  return absl::OkStatus();
}

absl::Status UnknownRelationKey(const JsonCursor& json, const std::string& key,
                                const JsonValue& item, bool required) {
  if (key == "on") {
    return json.Error(item,
                      "\"on\" says which devices hold a required output; it stands under "
                      "\"outputs\" of the specification");
  }
  std::vector<std::string> known = {"of", "map", "shape", "partial", "overlap", "factor"};
  if (required) known.insert(known.begin(), "on");
  return json.UnknownKey(
      item, key, known,
      absl::StrCat("keys here are dimensions \"0\", \"1\", ... and ", absl::StrJoin(known, ", ")));
}

// `on`: where the devices of a required output go; nullptr for other relations.
absl::Status ReadRelationOf(const JsonCursor& json, const JsonValue& value, Relation* out,
                            RequiredOutput* required) {
  if (value.kind != JsonValue::Kind::kObject) {
    return json.WrongKind(
        value,
        "a relation, {} for the whole tensor or {\"0\": \"AXIS\"} for one that is "
        "cut,");
  }
  out->set_line(value.line);
  for (size_t i = 0; i < value.items.size(); ++i) {
    const std::string& key = value.keys[i];
    const JsonValue& item = value.items[i];
    if (IsDimension(key)) {
      ShardedDim* dim = out->add_dims();
      dim->set_dim(std::atoi(key.c_str()));
      PLAN_RETURN_IF_ERROR(ReadShard(json, item, dim));
    } else if (key == "on" && required != nullptr) {
      PLAN_RETURN_IF_ERROR(ReadCoordinates(json, item, required->mutable_on()->mutable_at()));
    } else if (key == "of" || key == "map" || key == "shape" || key == "partial" ||
               key == "overlap" || key == "factor") {
      PLAN_RETURN_IF_ERROR(ReadRelationKey(json, key, item, out));
    } else if (key != kNote) {
      return UnknownRelationKey(json, key, item, required != nullptr);
    }
  }
  if (out->has_map() && out->dims_size() > 0) {
    return json.Error(value, "has both \"map\" and sharded dimensions; one of them is expected");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadRelation(const JsonCursor& json, const JsonValue& value, Relation* out) {
  return ReadRelationOf(json, value, out, nullptr);
}

absl::Status ReadRequiredOutputs(const JsonCursor& json, const JsonValue& value,
                                 google::protobuf::RepeatedPtrField<RequiredOutput>* out) {
  if (value.kind == JsonValue::Kind::kArray) {
    for (const JsonValue& item : value.items) {
      RequiredOutput* output = out->Add();
      output->set_line(item.line);
      PLAN_ASSIGN_OR_RETURN(*output->mutable_name(), json.Name(item));
    }
    return absl::OkStatus();
  }
  if (value.kind != JsonValue::Kind::kObject) {
    return json.WrongKind(value, "a list of names or an object {name: relation}");
  }
  for (size_t i = 0; i < value.items.size(); ++i) {
    RequiredOutput* output = out->Add();
    output->set_name(value.keys[i]);
    output->set_line(value.items[i].line);
    PLAN_RETURN_IF_ERROR(ReadRelationOf(json, value.items[i], output->mutable_relation(), output));
  }
  return absl::OkStatus();
}

absl::Status ReadNamedRelations(const JsonCursor& json, const JsonValue& value,
                                google::protobuf::RepeatedPtrField<NamedRelation>* out) {
  if (value.kind == JsonValue::Kind::kArray) {
    PLAN_ASSIGN_OR_RETURN(std::vector<std::string> names, json.Names(value));
    for (std::string& name : names) out->Add()->set_name(std::move(name));
    return absl::OkStatus();
  }
  if (value.kind != JsonValue::Kind::kObject) {
    return json.WrongKind(value, "a list of names or an object {name: relation}");
  }
  for (size_t i = 0; i < value.items.size(); ++i) {
    NamedRelation* named = out->Add();
    named->set_name(value.keys[i]);
    PLAN_RETURN_IF_ERROR(ReadRelation(json, value.items[i], named->mutable_relation()));
  }
  return absl::OkStatus();
}

absl::Status ReadCoordinates(const JsonCursor& json, const JsonValue& value,
                             google::protobuf::RepeatedPtrField<Coordinate>* out) {
  PLAN_RETURN_IF_ERROR(json.IsObject(value, "an object of coordinates, such as {\"pp\": 0},"));
  for (size_t i = 0; i < value.items.size(); ++i) {
    Coordinate* coordinate = out->Add();
    coordinate->set_axis(value.keys[i]);
    const JsonValue& item = value.items[i];
    if (item.kind != JsonValue::Kind::kArray) {
      PLAN_ASSIGN_OR_RETURN(int64_t at, json.Integer(item, 0, 1 << 30));
      coordinate->add_values(at);
      continue;
    }
    if (item.items.empty()) return json.Error(item, "at least one coordinate is expected");
    for (const JsonValue& element : item.items) {
      PLAN_ASSIGN_OR_RETURN(int64_t at, json.Integer(element, 0, 1 << 30));
      coordinate->add_values(at);
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
