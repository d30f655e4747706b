#include "frontend/load_problem.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/registry.h"

namespace planproof::frontend {
namespace {

constexpr char kUsagePayload[] = "planproof/usage";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

absl::StatusOr<OpenFile> Open(const std::string& path) {
  struct stat entry {};
  if (stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode)) {
    return UsageError(absl::StatusCode::kInvalidArgument, path + ": is a directory");
  }
  OpenFile file(std::fopen(path.c_str(), "rb"));
  if (file != nullptr) return file;
  return UsageError(
      errno == EACCES ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kNotFound,
      path + ": " + std::strerror(errno));
}

std::string Formats() {
  std::vector<std::string> names;
  for (const Reader* reader : Readers()) names.emplace_back(reader->Name());
  return absl::StrJoin(names, ", ");
}

}  // namespace

absl::StatusOr<InputFile> OpenInput(const std::string& path) {
  // Its format is seen in its start, then its reader opens it again: from a pipe, without the
  // start.
  struct stat entry {};
  if (stat(path.c_str(), &entry) == 0 && !S_ISREG(entry.st_mode) && !S_ISDIR(entry.st_mode)) {
    return UsageError(absl::StatusCode::kInvalidArgument,
                      path +
                          ": is a pipe or device, and plans are read from files; write it to "
                          "a file first");
  }
  absl::StatusOr<OpenFile> file = Open(path);
  if (!file.ok()) return file.status();
  InputFile input{path, std::string(4096, '\0')};
  input.start.resize(std::fread(input.start.data(), 1, input.start.size(), file->get()));
  return input;
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, int64_t most_bytes) {
  absl::StatusOr<OpenFile> file = Open(path);
  if (!file.ok()) return file.status();
  std::string text;
  char block[1 << 16];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof(block), file->get())) > 0;) {
    text.append(block, got);
    if (static_cast<int64_t>(text.size()) > most_bytes) {
      return UsageError(absl::StatusCode::kResourceExhausted,
                        path + ": larger than " + std::to_string(most_bytes) + " bytes");
    }
  }
  if (std::ferror(file->get()) != 0) {
    return UsageError(absl::StatusCode::kInvalidArgument, path + ": cannot be read");
  }
  return text;
}

absl::StatusOr<sdfg::OperatorLibrary> LoadOperators(const std::string& file) {
  sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
  if (file.empty()) return library;
  absl::StatusOr<std::string> text = ReadWholeFile(file, int64_t{1} << 24);
  if (!text.ok()) return text.status();
  const absl::Status added = library.AddDeclarations(*text, file);
  // A wrong declaration is a mistake in what the user passed on the command line.
  if (!added.ok()) return UsageError(added.code(), std::string(added.message()));
  return library;
}

absl::StatusOr<lineage::Problem> LoadProblem(const std::vector<std::string>& paths,
                                             const LoadOptions& options) {
  if (paths.empty()) {
    return UsageError(absl::StatusCode::kInvalidArgument, "expected a file to read");
  }
  const Reader* reader = nullptr;
  for (const std::string& path : paths) {
    absl::StatusOr<InputFile> file = OpenInput(path);
    if (!file.ok()) return file.status();
    const Reader* its = ReaderOf(*file);
    if (its == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": no format that is known (", Formats(),
                                                     "); try: planproof verify --help"));
    }
    if (reader == nullptr) reader = its;
    if (its != reader) {
      return absl::InvalidArgumentError(
          absl::StrCat(paths[0], " is a ", std::string(reader->Name()), ", ", path, " a ",
                       std::string(its->Name()), ": they are no pair"));
    }
  }
  const Reader::Files expected = reader->HowMany();
  if (paths.size() < expected.least || paths.size() > expected.most) {
    return UsageError(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat(paths[0], ": a plan of this format (", std::string(reader->Name()),
                     ") is verified by planproof verify ", std::string(expected.usage)));
  }
  ReadOptions read;
  read.collective_by_rank = options.collective_by_rank;
  read.extend = options.extend;
  read.recording = options.recording;
  if (!options.extend.empty() && !reader->ExtendsRanks()) {
    return UsageError(absl::StatusCode::kInvalidArgument,
                      absl::StrCat(paths[0], ": --extend is for PyTorch traces, this is a ",
                                   std::string(reader->Name()), "; leave it out"));
  }
  absl::StatusOr<sdfg::OperatorLibrary> library = absl::InternalError("not loaded");
  if (!options.operators_file.empty()) {
    library = LoadOperators(options.operators_file);
    if (!library.ok()) return library.status();
    read.operators = &*library;
  }
  return reader->Read(paths, read);
}

absl::Status UsageError(absl::StatusCode code, const std::string& message) {
  absl::Status status(code, message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

bool IsUsageError(const absl::Status& error) { return error.GetPayload(kUsagePayload).has_value(); }

bool IsInternalError(const absl::Status& error) {
  return error.code() == absl::StatusCode::kInternal || error.code() == absl::StatusCode::kUnknown;
}

}  // namespace planproof::frontend
