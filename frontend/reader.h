// Declares what a reader is: files of one format go in, a lineage::Problem comes out.
//
// A reader translates and decides nothing. It makes its problem with lineage::ProblemBuilder, which
// checks what every format must keep to; operators come from the library that it is given. What it
// reads is hostile until proved otherwise, and never executed. docs/adding-a-reader.md shows one.
#ifndef PLANPROOF_FRONTEND_READER_H_
#define PLANPROOF_FRONTEND_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend {

// A file by its name and first bytes: enough to see whose it is.
struct InputFile {
  std::string path;
  std::string start;  // at most 4096 bytes
};

struct ReadOptions {
  // Never null.
  const sdfg::OperatorLibrary* operators = &sdfg::OperatorLibrary::BuiltIn();
  // The order of pieces in a collective is their position in the group, as in a runtime, where a
  // format also declares index maps (nnScaler).
  bool collective_by_rank = false;
  // Axes of the mesh, with their extents, along which ranks that are not given run the program of
  // those that are. Only if ExtendsRanks().
  std::vector<std::pair<std::string, int64_t>> extend;
  // Of a format that has recorded numbers beside the problem: which are whose. It is filled also
  // where reading fails, as far as it is known then. May be null.
  std::optional<Recording>* recording = nullptr;
};

class Reader {
 public:
  virtual ~Reader() = default;

  // "nnScaler pickle", for messages.
  virtual std::string_view Name() const = 0;
  // By content if the format allows, else by the name's ending. The first reader in the registry
  // that recognises a file reads it.
  virtual bool Recognises(const InputFile& file) const = 0;
  // How many files make a problem, and in which order they are given, for messages.
  struct Files {
    size_t least = 1;
    size_t most = 1;
    std::string_view usage = "FILE";
  };
  virtual Files HowMany() const = 0;
  // People write such a file by hand, and can say in it what an intermediate tensor is of the
  // model's: the report may advise them to.
  virtual bool LineageCanBeClaimed(const InputFile&) const { return false; }
  // Whether it knows ReadOptions::extend.
  virtual bool ExtendsRanks() const { return false; }

  // Errors, one line each with file, place, what is wrong and the remedy:
  //   NotFound, Unimplemented      something has no declared meaning: nothing can be said
  //   ResourceExhausted            over a limit of this program that a plan may meet
  //   Internal                     a mistake in this program
  //   any other                    the plan is malformed
  virtual absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                                const ReadOptions& options) const = 0;
};

}  // namespace planproof::frontend

#endif  // PLANPROOF_FRONTEND_READER_H_
