#include "cluster/mpi_port.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "cluster/mpi_module.h"
#include "solver/shared_module.h"

namespace planproof::cluster {
namespace {

// Variables by which launchers tell a process that it is one of several.
constexpr const char* kLaunched[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};

class MpiPort : public MessagePort {
 public:
  explicit MpiPort(const MpiFunctions& functions) : mpi_(functions) {}

  bool Start() { return mpi_.start(&rank_, &processes_) == 0; }
  int rank() const override { return rank_; }
  int processes() const override { return processes_; }
  bool Send(int to, const std::string& bytes) override {
    return mpi_.send(to, bytes.data(), bytes.size()) == 0;
  }
  bool Receive(int* from, std::string* bytes) override {
    char* content = nullptr;
    size_t size = 0;
    if (mpi_.receive(from, &content, &size) != 1) return false;
    bytes->assign(content, size);
    std::free(content);
    return true;
  }
  void Finish() override { mpi_.finish(); }

 private:
  const MpiFunctions& mpi_;
  int rank_ = 0, processes_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MessagePort>> JoinMpi() {
  bool launched = false;
  for (const char* variable : kLaunched) launched |= std::getenv(variable) != nullptr;
  if (!launched)
    return absl::FailedPreconditionError(
        "--executor mpi needs a launcher, for example: mpirun -n 3 planproof verify ... --executor "
        "mpi");
  solver::SharedModule module =
      solver::LoadSharedModule({"libplanproof_mpi.so",
                                "PLANPROOF_MPI_MODULE",
                                "cluster",
                                "MPI",
                                "libopenmpi-dev",
                                {"MPI", PLANPROOF_MPI_LIBRARY, "openmpi-bin"},
                                /*offers_symbols=*/true});
  using FunctionsOf = const MpiFunctions* (*)();
  const auto functions = reinterpret_cast<FunctionsOf>(module.Find("planproof_mpi_functions"));
  if (functions == nullptr) return absl::NotFoundError(module.missing);
  auto port = std::make_unique<MpiPort>(*functions());
  if (!port->Start()) return absl::InternalError("MPI does not start");
  return std::unique_ptr<MessagePort>(std::move(port));
}

}  // namespace planproof::cluster
