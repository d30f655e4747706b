// Reads a run's dump: a directory with rank0.json, rank1.json, ... and the files that they name.
#ifndef PLANPROOF_DUMPS_DUMP_H_
#define PLANPROOF_DUMPS_DUMP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dumps/manifest.h"
#include "dumps/tensor_file.h"

namespace planproof::dumps {

struct DumpedRank {
  Manifest manifest;
  std::unique_ptr<TensorFile> file;
};

// Ranks by number; all have the same mesh and type, and each place of the mesh has one.
struct Dump {
  std::string directory;
  std::vector<DumpedRank> ranks;

  const std::vector<Axis>& axes() const { return ranks[0].manifest.axes; }
  sdfg::DType dtype() const { return ranks[0].manifest.dtype; }
};

// NotFound if there is no such directory or file; InvalidArgument: "FILE: what is wrong".
absl::StatusOr<Dump> ReadDump(const std::string& directory);

// A run of one process with the runs in which its inputs were perturbed: perturbed1, perturbed2,
// ...
struct ReferenceDump {
  Dump run;
  std::vector<Dump> perturbed;  // at least one; they have all tensors of the run
};

absl::StatusOr<ReferenceDump> ReadReferenceDump(const std::string& directory);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_DUMP_H_
