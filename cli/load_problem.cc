#include "cli/load_problem.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "cli/readers.h"

namespace planproof::cli {
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

// The first byte of a JSON text that is not white space (after a byte-order mark), or 0.
unsigned char FirstVisible(const std::string& text) {
  size_t at = text.rfind("\xef\xbb\xbf", 0) == 0 ? 3 : 0;
  while (at < text.size() && std::strchr(" \t\r\n", text[at]) != nullptr && text[at] != 0) ++at;
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

const char* FormatName(FileFormat format) {
  switch (format) {
    case FileFormat::kPickle:
      return "nnScaler pickle";
    case FileFormat::kPlanJson:
      return "plan (JSON)";
    case FileFormat::kPlanBinary:
      return "plan (binary)";
    case FileFormat::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

absl::StatusOr<FileFormat> DetectFormat(const std::string& path) {
  absl::StatusOr<OpenFile> file = Open(path);
  if (!file.ok()) return file.status();
  std::string start(4096, '\0');
  start.resize(std::fread(start.data(), 1, start.size(), file->get()));
  if (start.empty()) return FileFormat::kUnknown;
  const auto first = static_cast<unsigned char>(start[0]);
  // PROTO opcode and a protocol number; protocols 0 and 1 start with a text opcode and are not
  // written by anything we read.
  if (first == 0x80 && start.size() > 1 && static_cast<unsigned char>(start[1]) <= 5) {
    return FileFormat::kPickle;
  }
  if (FirstVisible(start) == '{') return FileFormat::kPlanJson;
  // Field 1 (version) of a plan message comes first.
  if (first == 0x08 || start.find("planproof-plan") != std::string::npos) {
    return FileFormat::kPlanBinary;
  }
  return FileFormat::kUnknown;
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

absl::StatusOr<lineage::Problem> LoadProblem(const std::vector<std::string>& files,
                                             const LoadOptions& options) {
  if (files.empty() || files.size() > 2) {
    return UsageError(absl::StatusCode::kInvalidArgument, "expected one or two files");
  }
  std::vector<FileFormat> formats;
  for (const std::string& file : files) {
    absl::StatusOr<FileFormat> format = DetectFormat(file);
    if (!format.ok()) return format.status();
    if (*format == FileFormat::kUnknown) {
      return absl::InvalidArgumentError(
          file + ": neither a plan file nor an nnScaler pickle (try: planproof verify --help)");
    }
    formats.push_back(*format);
  }
  absl::StatusOr<sdfg::OperatorLibrary> library = absl::InternalError("not loaded");
  const sdfg::OperatorLibrary* operators = &sdfg::OperatorLibrary::BuiltIn();
  if (!options.operators_file.empty()) {
    library = LoadOperators(options.operators_file);
    if (!library.ok()) return library.status();
    operators = &*library;
  }
  const bool pickles = formats[0] == FileFormat::kPickle;
  for (size_t i = 1; i < files.size(); ++i) {
    if ((formats[i] == FileFormat::kPickle) != pickles) {
      return absl::InvalidArgumentError(files[0] + " is a " + FormatName(formats[0]) + ", " +
                                        files[i] + " a " + FormatName(formats[i]) +
                                        ": they are no pair");
    }
  }
  if (!pickles) return ReadPlanFiles(files, *operators);
  if (files.size() != 2) {
    return UsageError(absl::StatusCode::kInvalidArgument,
                      files[0] +
                          ": an nnScaler plan is verified against its single-device plan;"
                          " give both: planproof verify LOGICAL PARALLEL");
  }
  return ReadNnscalerPair(files[0], files[1], *operators, options.collective_by_rank);
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

stages::Result ResultOfReaderError(const absl::Status& error,
                                   const std::vector<std::string>& files) {
  stages::Violation violation;
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnimplemented:
      violation.verdict = stages::Verdict::kUnknown;
      violation.kind = "not declared";
      break;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      violation.verdict = stages::Verdict::kUnknown;
      violation.kind = "over a limit";
      break;
    default:
      violation.verdict = stages::Verdict::kMalformed;
      violation.kind = "unreadable plan";
  }
  violation.cause = std::string(error.message());
  violation.message = violation.cause;
  stages::Result result;
  result.verdict = violation.verdict;
  result.violations.push_back(std::move(violation));
  if (files.empty()) result.warnings.push_back("no input files");
  return result;
}

}  // namespace planproof::cli
