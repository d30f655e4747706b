#include "inference/certificate.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"

namespace planproof::inference {

using Json = nlohmann::ordered_json;
using sdfg::IndexMap;
using sdfg::IndexTerm;
using sdfg::TensorId;
using stages::ProvedRelation;

namespace {

constexpr int kVersion = 1;
constexpr size_t kMaxBytes = size_t{1} << 28;
constexpr size_t kMaxDimensions = 32;
constexpr size_t kMaxTerms = 256;
constexpr size_t kMaxNumber = 64;  // characters of a factor

Json ToJson(const IndexMap& map) {
  Json terms = Json::array();
  for (const IndexTerm& term : map.terms) {
    Json json = {{"index", term.dim}, {"times", term.scale}};
    if (term.offset != 0) json["plus"] = term.offset;
    if (term.div != 1) json["div"] = term.div;
    if (term.mod != 0) json["mod"] = term.mod;
    if (term.gated()) {
      Json gate = {{"index", term.gate.dim}};
      if (term.gate.offset != 0) gate["plus"] = term.gate.offset;
      if (term.gate.div != 1) gate["div"] = term.gate.div;
      if (term.gate.mod != 0) gate["mod"] = term.gate.mod;
      json["if"] = std::move(gate);
    }
    terms.push_back(std::move(json));
  }
  return {{"constant", map.constant}, {"terms", std::move(terms)}};
}

Json ToJson(const std::string& name, int64_t number) {
  Json json = {{"name", name}};
  if (number != 0) json["number"] = number;
  return json;
}

// Reads one object, and says where it is wrong.
class Reader {
 public:
  explicit Reader(const Json& json, std::string at) : json_(json), at_(std::move(at)) {}

  // Only these keys.
  bool Allow(const std::set<std::string>& keys) {
    if (!json_.is_object()) return Fail("", "is no object");
    for (const auto& [key, value] : json_.items()) {
      if (keys.find(key) == keys.end()) return Fail(key, "is no key of a certificate");
    }
    return true;
  }
  bool Whole(const char* key, std::optional<int64_t> absent, int64_t* out) {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      if (!absent.has_value()) return Fail(key, "is missing");
      *out = *absent;
      return true;
    }
    if (!found->is_number_integer()) return Fail(key, "is no whole number");
    *out = found->get<int64_t>();
    const bool small = *out <= (int64_t{1} << 45) && *out >= -(int64_t{1} << 45);
    return small || Fail(key, "is too large");
  }
  bool Text(const char* key, std::string* out) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) return Fail(key, "is no text");
    *out = found->get<std::string>();
    return true;
  }
  bool Fail(const std::string& key, const char* what) {
    error_ = absl::InvalidArgumentError(absl::StrCat(at_, key.empty() ? "" : "/", key, ": ", what));
    return false;
  }
  const Json* Find(const char* key) {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const std::string& at() const { return at_; }
  const absl::Status& error() const { return error_; }

 private:
  const Json& json_;
  const std::string at_;
  absl::Status error_;
};

absl::Status ReadDigit(const Json& json, const std::string& at, sdfg::IndexDigit* digit) {
  Reader reader(json, at);
  int64_t dim = 0;
  const bool read = reader.Allow({"index", "plus", "div", "mod", "times", "if"}) &&
                    reader.Whole("index", std::nullopt, &dim) &&
                    reader.Whole("plus", 0, &digit->offset) &&
                    reader.Whole("div", 1, &digit->div) && reader.Whole("mod", 0, &digit->mod);
  if (!read) return reader.error();
  const bool sane = dim >= 0 && dim < static_cast<int64_t>(kMaxDimensions) && digit->div > 0 &&
                    digit->mod >= 0 && digit->offset >= 0;
  if (!sane) return absl::InvalidArgumentError(absl::StrCat(at, ": is no digit of an index"));
  digit->dim = static_cast<int32_t>(dim);
  return absl::OkStatus();
}

absl::Status ReadMap(const Json& json, const std::string& at, IndexMap* map) {
  Reader reader(json, at);
  if (!reader.Allow({"constant", "terms"}) ||
      !reader.Whole("constant", std::nullopt, &map->constant)) {
    return reader.error();
  }
  const Json* terms = reader.Find("terms");
  if (terms == nullptr || !terms->is_array() || terms->size() > kMaxTerms) {
    return absl::InvalidArgumentError(absl::StrCat(at, "/terms: is no list of terms"));
  }
  for (size_t k = 0; k < terms->size(); ++k) {
    const std::string here = absl::StrCat(at, "/terms/", k);
    sdfg::IndexDigit digit;
    if (absl::Status s = ReadDigit((*terms)[k], here, &digit); !s.ok()) return s;
    IndexTerm term;
    term.dim = digit.dim;
    term.div = digit.div;
    term.mod = digit.mod;
    term.offset = digit.offset;
    Reader own((*terms)[k], here);
    if (!own.Whole("times", std::nullopt, &term.scale)) return own.error();
    if (const Json* gate = own.Find("if"); gate != nullptr) {
      if (absl::Status s = ReadDigit(*gate, here + "/if", &term.gate); !s.ok()) return s;
    }
    map->terms.push_back(term);
  }
  return absl::OkStatus();
}

absl::Status ReadName(const Json* json, const std::string& at, std::string* name, int64_t* number) {
  if (json == nullptr) return absl::InvalidArgumentError(absl::StrCat(at, ": is missing"));
  Reader reader(*json, at);
  const bool read = reader.Allow({"name", "number"}) && reader.Text("name", name) &&
                    reader.Whole("number", 0, number);
  return read ? absl::OkStatus() : reader.error();
}

absl::Status ReadRelation(const Json& json, const std::string& at, ProvedRelation* relation) {
  Reader reader(json, at);
  if (!reader.Allow({"tensor", "is", "factor", "map", "stated", "text"})) return reader.error();
  absl::Status s =
      ReadName(reader.Find("tensor"), at + "/tensor", &relation->tensor, &relation->number);
  if (!s.ok()) return s;
  s = ReadName(reader.Find("is"), at + "/is", &relation->logical, &relation->logical_number);
  if (!s.ok()) return s;
  if (reader.Find("factor") != nullptr) {
    std::string factor;
    if (!reader.Text("factor", &factor)) return reader.error();
    if (factor.size() > kMaxNumber || !solver::Rational::Parse(factor, &relation->factor) ||
        relation->factor.IsZero()) {
      reader.Fail("factor", "is no number other than 0");
      return reader.error();
    }
  }
  const Json* map = reader.Find("map");
  if (map == nullptr || !map->is_array() || map->size() > kMaxDimensions) {
    return absl::InvalidArgumentError(absl::StrCat(at, "/map: is no list of expressions"));
  }
  for (size_t d = 0; d < map->size(); ++d) {
    relation->map.emplace_back();
    s = ReadMap((*map)[d], absl::StrCat(at, "/map/", d), &relation->map.back());
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

// Tensors by name, and number among those of one name.
class Directory {
 public:
  explicit Directory(const sdfg::Graph& graph) {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      of_[graph.tensors[t].name].push_back(static_cast<TensorId>(t));
    }
  }
  TensorId Find(const std::string& name, int64_t number) const {
    const auto found = of_.find(name);
    if (found == of_.end() || number < 0 || number >= static_cast<int64_t>(found->second.size())) {
      return sdfg::kNone;
    }
    return found->second[number];
  }

 private:
  std::map<std::string, std::vector<TensorId>> of_;
};

}  // namespace

Certificate CertificateOf(const stages::Result& result) {
  return {result.proved_relations, result.unrelated};
}

std::string ToText(const Certificate& certificate) {
  std::string text = absl::StrCat("{\"planproof_certificate\": ", kVersion, ",\n\"relations\": [");
  const char* separator = "\n";
  for (const ProvedRelation& relation : certificate.relations) {
    Json map = Json::array();
    for (const IndexMap& expression : relation.map) map.push_back(ToJson(expression));
    Json json = {{"tensor", ToJson(relation.tensor, relation.number)},
                 {"is", ToJson(relation.logical, relation.logical_number)}};
    if (!relation.factor.IsOne()) json["factor"] = relation.factor.ToString();
    json["map"] = std::move(map);
    if (!relation.inferred) json["stated"] = true;
    json["text"] = relation.text;
    absl::StrAppend(&text, separator, json.dump());
    separator = ",\n";
  }
  absl::StrAppend(&text, "\n],\n\"unrelated\": [");
  separator = "\n";
  for (const auto& [name, number] : certificate.unrelated) {
    absl::StrAppend(&text, separator, ToJson(name, number).dump());
    separator = ",\n";
  }
  absl::StrAppend(&text, "\n]}\n");
  return text;
}

absl::StatusOr<Certificate> FromText(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a certificate has at most ", kMaxBytes, " bytes"));
  }
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("is no JSON");
  Reader reader(json, "");
  int64_t version = 0;
  if (!reader.Allow({"planproof_certificate", "relations", "unrelated"}) ||
      !reader.Whole("planproof_certificate", std::nullopt, &version)) {
    return reader.error();
  }
  if (version != kVersion) {
    return absl::InvalidArgumentError("/planproof_certificate: is another version; write it anew");
  }
  Certificate certificate;
  const Json* relations = reader.Find("relations");
  const Json* unrelated = reader.Find("unrelated");
  if (relations == nullptr || !relations->is_array()) {
    return absl::InvalidArgumentError("/relations: is no list");
  }
  for (size_t k = 0; k < relations->size(); ++k) {
    absl::Status s = ReadRelation((*relations)[k], absl::StrCat("/relations/", k),
                                  &certificate.relations.emplace_back());
    if (!s.ok()) return s;
  }
  if (unrelated != nullptr && !unrelated->is_array()) {
    return absl::InvalidArgumentError("/unrelated: is no list");
  }
  for (size_t k = 0; unrelated != nullptr && k < unrelated->size(); ++k) {
    auto& [name, number] = certificate.unrelated.emplace_back();
    absl::Status s = ReadName(&(*unrelated)[k], absl::StrCat("/unrelated/", k), &name, &number);
    if (!s.ok()) return s;
  }
  return certificate;
}

stages::InferredRelations CertifiedRelations::Infer(const lineage::Problem& problem,
                                                    const stages::StopRequest* stop) const {
  const Directory parallel(problem.parallel), logical(problem.logical);
  std::vector<stages::InferredRelation> certified;
  for (const ProvedRelation& relation : certificate_.relations) {
    const TensorId p = parallel.Find(relation.tensor, relation.number);
    const TensorId l = logical.Find(relation.logical, relation.logical_number);
    if (p == sdfg::kNone || l == sdfg::kNone) continue;
    certified.push_back({p, l, relation.factor, relation.map});
  }
  const lineage::Problem completed = stages::WithRelations(problem, certified);
  stages::InferredRelations inferred;
  if (infer_rest_) {
    std::set<TensorId> skip;
    for (const auto& [name, number] : certificate_.unrelated)
      skip.insert(parallel.Find(name, number));
    inferred = inference_.InferWithout(skip, completed, stop);
  }
  for (stages::InferredRelation& relation : certified) {
    const lineage::Lineage& taken = completed.lineage[relation.parallel];
    if (taken.provenance != lineage::Provenance::kInferred) continue;
    ++inferred.tensors;
    inferred.relations.push_back(std::move(relation));
  }
  return inferred;
}

}  // namespace planproof::inference
