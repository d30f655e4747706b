#include "frontend/plan/json_form.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/json_form_internal.h"
#include "google/protobuf/util/json_util.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr int kVersion = 1;

// [8, 16] (float32) or "int64[8, 16]" or {"shape": [8], "dtype": "int64"}.
absl::Status ReadTensor(const JsonCursor& json, const std::string& name, Role role,
                        const JsonValue& value, TensorDeclaration* out) {
  out->set_name(name);
  out->set_role(role);
  out->set_dtype("float32");
  out->set_line(value.line);
  if (value.kind == JsonValue::Kind::kString) {
    const std::string& text = value.text;
    const size_t open = text.find('[');
    if (open == std::string::npos || text.back() != ']') {
      return json.Error(value, "a type such as \"int64[8, 16]\" is expected");
    }
    out->set_dtype(text.substr(0, open));
    std::string digits;
    int count = 0;
    for (size_t i = open + 1; i < text.size(); ++i) {
      const char c = text[i];
      if (c == ' ') continue;
      if (c >= '0' && c <= '9' && digits.size() < 13) {
        digits += c;
      } else if ((c == ',' || (c == ']' && i + 1 == text.size())) && !digits.empty()) {
        out->add_shape(std::stoll(digits));
        digits.clear();
        if (++count > 16) return json.Error(value, "has more than 16 dimensions");
      } else if (!(c == ']' && i + 1 == text.size() && count == 0)) {
        return json.Error(value, "a type such as \"int64[8, 16]\" is expected");
      }
    }
    return absl::OkStatus();
  }
  const JsonValue* shape = &value;
  if (value.kind == JsonValue::Kind::kObject) {
    PLAN_RETURN_IF_ERROR(
        json.Object(value, {"shape", "dtype"},
                    "how devices hold a tensor stands under \"inputs\" of the plan's programs"));
    shape = value.Find("shape");
    if (shape == nullptr) return json.Error(value, "the key \"shape\" is expected");
    if (const JsonValue* dtype = value.Find("dtype")) {
      PLAN_ASSIGN_OR_RETURN(*out->mutable_dtype(), json.Name(*dtype));
    }
  }
  PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> extents, json.Extents(*shape));
  for (int64_t extent : extents) out->add_shape(extent);
  return absl::OkStatus();
}

// "positive", [0, 1024] (integer range), or a list of such words.
absl::Status ReadPremise(const JsonCursor& json, const std::string& tensor, const JsonValue& value,
                         Specification* out) {
  static const std::pair<const char*, Premise::Kind> kWords[] = {
      {"positive", Premise::POSITIVE},
      {"nonnegative", Premise::NON_NEGATIVE},
      {"nonzero", Premise::NON_ZERO},
      {"no tie", Premise::NO_TIE},
      {"row unmasked", Premise::ROW_UNMASKED}};
  if (value.kind == JsonValue::Kind::kString) {
    for (const auto& [word, kind] : kWords) {
      if (value.text != word) continue;
      Premise* premise = out->add_premises();
      premise->set_tensor(tensor);
      premise->set_kind(kind);
      premise->set_line(value.line);
      return absl::OkStatus();
    }
    return json.Error(value, absl::StrCat("\"", value.text,
                                          "\" is no premise; positive, "
                                          "nonnegative, nonzero, no tie, row unmasked or an "
                                          "integer range [low, high] is expected"));
  }
  PLAN_RETURN_IF_ERROR(json.IsArray(value));
  if (!value.items.empty() && value.items[0].kind == JsonValue::Kind::kInteger) {
    if (value.items.size() != 2) return json.Error(value, "a range [low, high] has two integers");
    Premise* premise = out->add_premises();
    premise->set_tensor(tensor);
    premise->set_kind(Premise::INTEGER_RANGE);
    premise->set_line(value.line);
    const int64_t limit = int64_t{1} << 40;
    PLAN_ASSIGN_OR_RETURN(int64_t low, json.Limited(value.items[0], -limit, limit, "bound"));
    PLAN_ASSIGN_OR_RETURN(int64_t high, json.Limited(value.items[1], -limit, limit, "bound"));
    premise->set_low(low);
    premise->set_high(high);
    return absl::OkStatus();
  }
  for (const JsonValue& item : value.items) {
    if (item.kind == JsonValue::Kind::kArray && !item.items.empty() &&
        item.items[0].kind != JsonValue::Kind::kInteger) {
      return json.Error(item, "a premise is expected");
    }
    PLAN_RETURN_IF_ERROR(ReadPremise(json, tensor, item, out));
  }
  return absl::OkStatus();
}

absl::Status ReadGradients(const JsonCursor& json, const JsonValue& value, Specification* out) {
  if (value.kind == JsonValue::Kind::kArray) {
    for (const JsonValue& item : value.items) {
      if (item.kind == JsonValue::Kind::kArray) return json.WrongKind(item, "an object");
      PLAN_RETURN_IF_ERROR(ReadGradients(json, item, out));
    }
    return absl::OkStatus();
  }
  PLAN_RETURN_IF_ERROR(json.IsObject(value, "{\"loss\": NAME, \"of\": [NAMES]}"));
  PLAN_RETURN_IF_ERROR(json.Object(value, {"loss", "of"}));
  const JsonValue* loss = value.Find("loss");
  const JsonValue* of = value.Find("of");
  if (loss == nullptr || of == nullptr) {
    return json.Error(value, "both \"loss\" and \"of\" are expected");
  }
  Gradients* gradients = out->add_gradients();
  gradients->set_line(value.line);
  PLAN_ASSIGN_OR_RETURN(*gradients->mutable_loss(), json.Name(*loss));
  PLAN_ASSIGN_OR_RETURN(std::vector<std::string> names, json.Names(*of));
  for (std::string& name : names) gradients->add_of(std::move(name));
  return absl::OkStatus();
}

absl::Status ReadSpecification(const JsonCursor& json, const JsonValue& value, Specification* out) {
  PLAN_RETURN_IF_ERROR(
      json.Object(value, {"inputs", "parameters", "buffers", "ones", "zeros", "operators",
                          "gradients", "premises", "literals", "outputs", "updates", "relations"}));
  static const std::pair<const char*, Role> kRoles[] = {{"inputs", ROLE_INPUT},
                                                        {"parameters", ROLE_PARAMETER},
                                                        {"buffers", ROLE_BUFFER},
                                                        {"ones", ROLE_ONE},
                                                        {"zeros", ROLE_ZERO}};
  for (const auto& [key, role] : kRoles) {
    const JsonValue* tensors = value.Find(key);
    if (tensors == nullptr) continue;
    PLAN_RETURN_IF_ERROR(json.IsObject(*tensors, "an object {name: type}"));
    for (size_t i = 0; i < tensors->items.size(); ++i) {
      PLAN_RETURN_IF_ERROR(
          ReadTensor(json, tensors->keys[i], role, tensors->items[i], out->add_tensors()));
    }
  }
  if (const JsonValue* operators = value.Find("operators")) {
    PLAN_RETURN_IF_ERROR(json.IsArray(*operators));
    for (const JsonValue& item : operators->items) {
      PLAN_RETURN_IF_ERROR(ReadOperator(json, item, out->add_operators()));
    }
  }
  if (const JsonValue* gradients = value.Find("gradients")) {
    PLAN_RETURN_IF_ERROR(ReadGradients(json, *gradients, out));
  }
  if (const JsonValue* premises = value.Find("premises")) {
    PLAN_RETURN_IF_ERROR(json.IsObject(*premises, "an object {input: premise}"));
    for (size_t i = 0; i < premises->items.size(); ++i) {
      PLAN_RETURN_IF_ERROR(ReadPremise(json, premises->keys[i], premises->items[i], out));
    }
  }
  if (const JsonValue* literals = value.Find("literals")) {
    PLAN_RETURN_IF_ERROR(json.IsObject(*literals, "an object {\"0.333333343\": \"1/3\"}"));
    for (size_t i = 0; i < literals->items.size(); ++i) {
      RoundedLiteral* literal = out->add_literals();
      literal->set_literal(literals->keys[i]);
      literal->set_line(literals->items[i].line);
      const JsonValue& exact = literals->items[i];
      if (exact.kind != JsonValue::Kind::kString) {
        return json.WrongKind(exact, "an exact number as a string, such as \"1/3\",");
      }
      literal->set_exact(exact.text);
    }
  }
  if (const JsonValue* outputs = value.Find("outputs")) {
    PLAN_RETURN_IF_ERROR(ReadRequiredOutputs(json, *outputs, out->mutable_outputs()));
  }
  if (const JsonValue* updates = value.Find("updates")) {
    PLAN_RETURN_IF_ERROR(json.IsObject(*updates, "an object {parameter: its new value}"));
    for (size_t i = 0; i < updates->items.size(); ++i) {
      ParameterUpdate* update = out->add_updates();
      update->set_parameter(updates->keys[i]);
      update->set_line(updates->items[i].line);
      PLAN_ASSIGN_OR_RETURN(*update->mutable_updated(), json.Name(updates->items[i]));
    }
  }
  if (const JsonValue* relations = value.Find("relations")) {
    PLAN_RETURN_IF_ERROR(json.IsObject(*relations, "an object {input: relation}"));
    PLAN_RETURN_IF_ERROR(ReadNamedRelations(json, *relations, out->mutable_relations()));
  }
  return absl::OkStatus();
}

absl::Status ReadException(const JsonCursor& json, const JsonValue& value, Exception* out) {
  PLAN_RETURN_IF_ERROR(json.Object(value, {"at", "replace", "with"}));
  out->set_line(value.line);
  const JsonValue* at = value.Find("at");
  const JsonValue* replace = value.Find("replace");
  const JsonValue* with = value.Find("with");
  if (at == nullptr || replace == nullptr || with == nullptr) {
    return json.Error(value, "\"at\", \"replace\" and \"with\" are expected");
  }
  PLAN_RETURN_IF_ERROR(ReadCoordinates(json, *at, out->mutable_at()));
  PLAN_ASSIGN_OR_RETURN(*out->mutable_replace(), json.Name(*replace));
  if (with->kind == JsonValue::Kind::kArray) {
    for (const JsonValue& item : with->items) {
      PLAN_RETURN_IF_ERROR(ReadOperator(json, item, out->add_operators()));
    }
  } else {
    PLAN_RETURN_IF_ERROR(ReadOperator(json, *with, out->add_operators()));
  }
  return absl::OkStatus();
}

absl::Status ReadProgram(const JsonCursor& json, const JsonValue& value, Program* out) {
  PLAN_RETURN_IF_ERROR(json.Object(value, {"name", "devices", "inputs", "operators", "lineage",
                                           "outputs", "exceptions", "schedule", "buffers"}));
  out->set_line(value.line);
  if (const JsonValue* name = value.Find("name")) {
    PLAN_ASSIGN_OR_RETURN(*out->mutable_name(), json.Name(*name));
  }
  if (const JsonValue* devices = value.Find("devices")) {
    PLAN_RETURN_IF_ERROR(ReadCoordinates(json, *devices, out->mutable_devices()));
  }
  if (const JsonValue* inputs = value.Find("inputs")) {
    PLAN_RETURN_IF_ERROR(ReadNamedRelations(json, *inputs, out->mutable_inputs()));
  }
  if (const JsonValue* operators = value.Find("operators")) {
    PLAN_RETURN_IF_ERROR(json.IsArray(*operators));
    for (const JsonValue& item : operators->items) {
      PLAN_RETURN_IF_ERROR(ReadOperator(json, item, out->add_operators()));
    }
  }
  if (const JsonValue* lineage = value.Find("lineage")) {
    PLAN_RETURN_IF_ERROR(ReadNamedRelations(json, *lineage, out->mutable_lineage()));
  }
  if (const JsonValue* outputs = value.Find("outputs")) {
    PLAN_RETURN_IF_ERROR(ReadBindings(json, *outputs, out->mutable_outputs()));
  }
  if (const JsonValue* exceptions = value.Find("exceptions")) {
    PLAN_RETURN_IF_ERROR(json.IsArray(*exceptions));
    for (const JsonValue& item : exceptions->items) {
      PLAN_RETURN_IF_ERROR(ReadException(json, item, out->add_exceptions()));
    }
  }
  if (const JsonValue* schedule = value.Find("schedule")) {
    PLAN_RETURN_IF_ERROR(ReadSchedule(json, *schedule, out->mutable_schedule()));
  }
  if (const JsonValue* buffers = value.Find("buffers")) {
    PLAN_RETURN_IF_ERROR(ReadBuffers(json, *buffers, out->mutable_buffers()));
  }
  return absl::OkStatus();
}

// Text, or a list of lines.
absl::Status ReadDeclarations(const JsonCursor& json, const JsonValue& value, std::string* out) {
  if (value.kind == JsonValue::Kind::kString) {
    *out = value.text;
    return absl::OkStatus();
  }
  if (value.kind != JsonValue::Kind::kArray) {
    return json.WrongKind(value, "declarations of operators, a text or a list of lines,");
  }
  for (const JsonValue& item : value.items) {
    if (item.kind != JsonValue::Kind::kString) {
      return json.WrongKind(item, "a line of a declaration, such as \"op f(x) -> y = 2 * x\",");
    }
    absl::StrAppend(out, item.text, "\n");
  }
  return absl::OkStatus();
}

absl::Status ReadPlanRole(const JsonCursor& json, const JsonValue& value, Plan* out) {
  PLAN_RETURN_IF_ERROR(json.Object(value, {"mesh", "microbatches", "programs", "declarations"}));
  if (const JsonValue* declarations = value.Find("declarations")) {
    PLAN_RETURN_IF_ERROR(ReadDeclarations(json, *declarations, out->mutable_declarations()));
  }
  if (const JsonValue* mesh = value.Find("mesh")) {
    PLAN_RETURN_IF_ERROR(
        json.IsObject(*mesh, "an object {axis: extent}, such as {\"dp\": 2, \"tp\": 4},"));
    for (size_t i = 0; i < mesh->items.size(); ++i) {
      MeshAxis* axis = out->add_mesh();
      axis->set_name(mesh->keys[i]);
      PLAN_ASSIGN_OR_RETURN(int64_t extent,
                            json.Limited(mesh->items[i], 1, 1 << 24, "devices of the mesh"));
      axis->set_extent(extent);
    }
  }
  out->set_microbatches(1);
  if (const JsonValue* microbatches = value.Find("microbatches")) {
    PLAN_ASSIGN_OR_RETURN(int64_t count, json.Limited(*microbatches, 1, 1 << 24, "microbatches"));
    out->set_microbatches(count);
  }
  const JsonValue* programs = value.Find("programs");
  if (programs == nullptr) return json.Error(value, "the key \"programs\" is expected");
  PLAN_RETURN_IF_ERROR(json.IsArray(*programs));
  for (const JsonValue& item : programs->items) {
    PLAN_RETURN_IF_ERROR(ReadProgram(json, item, out->add_programs()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlanFile> ReadJsonForm(std::string_view text, const std::string& file) {
  PLAN_ASSIGN_OR_RETURN(JsonValue root, ParseJson(text, file));
  const JsonCursor json(root, file);
  PLAN_RETURN_IF_ERROR(
      json.Object(root, {"planproof", "specification", "plan", "operators", "problem"}));
  const JsonValue* version = root.Find("planproof");
  if (version == nullptr) {
    return json.Error(root, "the version is missing: begin with \"planproof\": 1");
  }
  if (version->kind != JsonValue::Kind::kInteger) {
    return json.Error(*version, absl::StrCat("the version is ", KindName(version->kind),
                                             "; write the number ", kVersion));
  }
  if (version->integer != kVersion) {
    return json.Error(*version, absl::StrCat("version ", version->text,
                                             " is not known; this program reads version 1"));
  }
  PlanFile out;
  out.set_magic("planproof-plan");
  out.set_version(kVersion);
  if (const JsonValue* operators = root.Find("operators")) {
    PLAN_RETURN_IF_ERROR(ReadDeclarations(json, *operators, out.mutable_operators()));
  }
  if (const JsonValue* problem = root.Find("problem")) {
    PLAN_RETURN_IF_ERROR(json.IsObject(*problem));
    for (const char* other : {"specification", "plan", "operators"}) {
      if (root.Find(other) == nullptr) continue;
      return json.Error(
          *problem,
          absl::StrCat("a raw problem is complete and stands alone; take \"", other, "\" out"));
    }
    // The raw form uses protobuf's own JSON mapping, in which an unknown key is an error; limits
    // were enforced by ParseJson.
    PlanFile raw;
    const auto parsed = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(text.data(), text.size()), &raw);
    if (!parsed.ok()) {
      return json.Error(*problem, absl::StrCat("is not in the raw form: ", parsed.ToString()));
    }
    out.mutable_problem()->Swap(raw.mutable_problem());
  }
  if (const JsonValue* specification = root.Find("specification")) {
    PLAN_RETURN_IF_ERROR(ReadSpecification(json, *specification, out.mutable_specification()));
  }
  if (const JsonValue* plan = root.Find("plan")) {
    PLAN_RETURN_IF_ERROR(ReadPlanRole(json, *plan, out.mutable_plan()));
  }
  if (!out.has_specification() && !out.has_plan() && !out.has_problem()) {
    return json.Error(root, "holds neither \"specification\" nor \"plan\"");
  }
  return out;
}

}  // namespace planproof::plan
