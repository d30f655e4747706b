#include "dumps/dump.h"

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dumps/random_access_file.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {
namespace {

constexpr int kMostSamples = 1000;

std::string Within(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

std::string ManifestPath(const std::string& directory, int rank) {
  return Within(directory, absl::StrCat("rank", rank, ".json"));
}

absl::StatusOr<DumpedRank> ReadRank(const std::string& directory, int rank) {
  const std::string path = ManifestPath(directory, rank);
  PLAN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostHeaderBytes));
  const auto refuse = [&path](const absl::AlphaNum& what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  };
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return refuse(std::string(manifest.status().message()));
  if (manifest->rank != rank) return refuse(absl::StrCat("it is of rank ", manifest->rank));
  PLAN_ASSIGN_OR_RETURN(std::unique_ptr<TensorFile> file,
                        TensorFile::Open(Within(directory, manifest->file)));
  for (const std::string& name : manifest->tensors) {
    if (!file->tensors().contains(name))
      return refuse(absl::StrCat("\"tensors\" has ", name, ", ", manifest->file, " has not"));
  }
  return DumpedRank{*std::move(manifest), std::move(file)};
}

// One process, with the tensors of the run.
absl::Status CheckPerturbed(const Dump& run, const Dump& perturbed) {
  const auto refuse = [&perturbed](const absl::AlphaNum& what) {
    return absl::InvalidArgumentError(
        absl::StrCat(perturbed.directory, ": ", what, "; dump the reference again"));
  };
  if (perturbed.ranks.size() != 1) return refuse("a reference is a run of one process");
  if (perturbed.dtype() != run.dtype()) return refuse("it runs in another type than the reference");
  const auto& known = perturbed.ranks[0].file->tensors();
  for (const std::string& name : run.ranks[0].manifest.tensors) {
    const auto found = known.find(name);
    if (found == known.end()) return refuse(absl::StrCat("it has no ", name));
    if (found->second.shape != run.ranks[0].file->tensors().at(name).shape)
      return refuse(absl::StrCat(name, " has another shape than in the reference"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dump> ReadDump(const std::string& directory) {
  Dump dump;
  dump.directory = directory;
  if (!std::filesystem::is_directory(directory))
    return absl::NotFoundError(absl::StrCat(directory, ": there is no such directory"));
  std::set<std::vector<int64_t>> places;
  for (int rank = 0; rank == 0 || rank < dump.ranks[0].manifest.ranks; ++rank) {
    absl::StatusOr<DumpedRank> read = ReadRank(directory, rank);
    if (absl::IsNotFound(read.status())) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(read.status().message()),
                       "; a dump has rankN.json and a file of tensors for each rank"));
    }
    if (!read.ok()) return read.status();
    dump.ranks.push_back(*std::move(read));
    const Manifest &first = dump.ranks[0].manifest, &own = dump.ranks.back().manifest;
    const auto refuse = [&](const char* what) {
      return absl::InvalidArgumentError(
          absl::StrCat(ManifestPath(directory, rank), ": ", what,
                       " than rank 0; are these files of one run? dump it again"));
    };
    if (own.ranks != first.ranks || own.axes != first.axes) return refuse("it has another mesh");
    if (own.dtype != first.dtype) return refuse("it has another \"dtype\"");
    if (!places.insert(own.coordinates).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(ManifestPath(directory, rank), ": another rank has the same coordinates"));
    }
  }
  return dump;
}

absl::StatusOr<ReferenceDump> ReadReferenceDump(const std::string& directory) {
  ReferenceDump reference;
  PLAN_ASSIGN_OR_RETURN(reference.run, ReadDump(directory));
  if (reference.run.ranks.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": a reference is a run of one process, this one has ",
                     reference.run.ranks.size(), "; dump it with planproof.torch.dump_reference"));
  }
  for (int sample = 1; sample <= kMostSamples; ++sample) {
    const std::string path = Within(directory, absl::StrCat("perturbed", sample));
    if (!std::filesystem::is_directory(path)) break;
    PLAN_ASSIGN_OR_RETURN(Dump perturbed, ReadDump(path));
    PLAN_RETURN_IF_ERROR(CheckPerturbed(reference.run, perturbed));
    reference.perturbed.push_back(std::move(perturbed));
  }
  if (reference.perturbed.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory,
                     ": it has no perturbed1: without runs on perturbed inputs nobody knows what "
                     "rounding does; dump it with planproof.torch.dump_reference"));
  }
  return reference;
}

}  // namespace planproof::dumps
