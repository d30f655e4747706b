#include "dumps/manifest.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "dumps/json_object.h"
#include "dumps/tensor_file.h"

namespace planproof::dumps {
namespace {

constexpr int64_t kManifestFormat = 1;
constexpr int64_t kMostRanks = 1 << 14;
constexpr size_t kMostAxes = 16;

struct KindName {
  std::string_view name;
  TensorKind kind;
};
constexpr std::array<KindName, 7> kKindNames = {{{"initial", TensorKind::kInitial},
                                                 {"input", TensorKind::kInput},
                                                 {"forward", TensorKind::kForward},
                                                 {"backward", TensorKind::kBackward},
                                                 {"gradient", TensorKind::kGradient},
                                                 {"update", TensorKind::kUpdate},
                                                 {"parameter", TensorKind::kParameter}}};

// [["dp", 2], ["tp", 4]]
std::vector<Axis> AxesOf(JsonObject* object) {
  std::vector<Axis> axes;
  std::set<std::string> names;
  int64_t ranks = 1;
  const nlohmann::json& mesh = object->Get("mesh");
  bool good = mesh.is_array() && mesh.size() <= kMostAxes;
  for (size_t i = 0; good && i < mesh.size(); ++i) {
    const nlohmann::json& axis = mesh[i];
    good = axis.is_array() && axis.size() == 2 && axis[0].is_string() &&
           axis[1].is_number_unsigned() && axis[1].get<uint64_t>() >= 1 &&
           axis[1].get<uint64_t>() <= static_cast<uint64_t>(kMostRanks);
    if (!good) break;
    axes.push_back({axis[0].get<std::string>(), axis[1].get<int64_t>()});
    ranks *= axes.back().size;
    good = names.insert(axes.back().name).second && ranks <= kMostRanks;
  }
  if (!good) {
    object->Refuse(absl::StrCat(
        "\"mesh\" is no list of axes with their sizes, such as [[\"dp\", 2], [\"tp\", 4]], of at "
        "most ",
        kMostRanks, " ranks"));
  }
  return axes;
}

}  // namespace

TensorKind KindOf(std::string_view name) {
  const std::string_view word = name.substr(0, name.find('/'));
  for (const KindName& known : kKindNames) {
    if (word == known.name) return known.kind;
  }
  return TensorKind::kOther;
}

absl::StatusOr<Manifest> ParseManifest(std::string_view json) {
  const nlohmann::json content =
      nlohmann::json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (content.is_discarded()) return absl::InvalidArgumentError("it is no JSON");
  JsonObject object(content);
  object.Integer("planproof_dump", kManifestFormat, kManifestFormat);
  Manifest manifest;
  manifest.ranks = static_cast<int>(object.Integer("ranks", 1, kMostRanks));
  manifest.rank = static_cast<int>(object.Integer("rank", 0, manifest.ranks - 1));
  manifest.axes = AxesOf(&object);
  manifest.coordinates = object.Integers("coordinates");
  const std::string dtype = object.Text("dtype");
  manifest.dtype = sdfg::DTypeFromName(dtype);
  manifest.file = object.Text("file");
  manifest.tensors = object.Texts("tensors");
  if (!object.status().ok()) return object.status();
  int64_t product = 1;
  for (const Axis& axis : manifest.axes) product *= axis.size;
  if (product != manifest.ranks)
    object.Refuse(
        absl::StrCat("the mesh has ", product, " ranks, \"ranks\" says ", manifest.ranks));
  bool inside = manifest.coordinates.size() == manifest.axes.size();
  for (size_t a = 0; inside && a < manifest.axes.size(); ++a)
    inside = manifest.coordinates[a] >= 0 && manifest.coordinates[a] < manifest.axes[a].size;
  if (!inside) object.Refuse("\"coordinates\" are none of the mesh");
  if (!sdfg::IsFloating(manifest.dtype))
    object.Refuse(absl::StrCat("\"dtype\" is no floating-point type: ", dtype));
  if (manifest.file.empty() || manifest.file.find('/') != std::string::npos)
    object.Refuse("\"file\" is no name of a file beside this one");
  if (manifest.tensors.size() > kMostTensors) object.Refuse("too many tensors");
  std::set<std::string> names;
  for (const std::string& name : manifest.tensors) {
    if (!names.insert(name).second) object.Refuse(absl::StrCat("two tensors are called ", name));
  }
  if (!object.status().ok()) return object.status();
  return manifest;
}

}  // namespace planproof::dumps
