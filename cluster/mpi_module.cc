// The module libplanproof_mpi.so: the only file that includes MPI.
#include "cluster/mpi_module.h"

#include <mpi.h>

#include <cstdlib>
#include <list>
#include <string>
#include <utility>

namespace planproof::cluster {
namespace {

constexpr int kTag = 7;

struct Sent {
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

// Messages under way; their bytes must stay where they are.
std::list<Sent>& UnderWay() {
  static auto* const messages = new std::list<Sent>;
  return *messages;
}

void ForgetArrived() {
  for (auto it = UnderWay().begin(); it != UnderWay().end();) {
    int done = 0;
    const bool failed = MPI_Test(&it->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    it = failed || done != 0 ? UnderWay().erase(it) : std::next(it);
  }
}

int Start(int* rank, int* processes) {
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return 1;
  // A lost process is our business.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, processes);
  return 0;
}

int Send(int to, const char* bytes, size_t size) {
  ForgetArrived();
  Sent& sent = UnderWay().emplace_back();
  sent.bytes.assign(bytes, size);
  const int code = MPI_Isend(sent.bytes.data(), static_cast<int>(size), MPI_BYTE, to, kTag,
                             MPI_COMM_WORLD, &sent.request);
  if (code == MPI_SUCCESS) return 0;
  UnderWay().pop_back();
  return 1;
}

int Receive(int* from, char** bytes, size_t* size) {
  ForgetArrived();
  int there = 0, count = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  if (MPI_Improbe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &message, &status) != MPI_SUCCESS)
    return -1;
  if (there == 0) return 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *bytes = static_cast<char*>(std::malloc(count > 0 ? static_cast<size_t>(count) : 1));
  *size = static_cast<size_t>(count);
  *from = status.MPI_SOURCE;
  if (MPI_Mrecv(*bytes, count, MPI_BYTE, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS) return 1;
  std::free(*bytes);
  return -1;
}

void Finish() {
  for (Sent& sent : UnderWay()) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
  MPI_Finalize();
}

}  // namespace
}  // namespace planproof::cluster

extern "C" __attribute__((visibility("default"))) const planproof::cluster::MpiFunctions*
planproof_mpi_functions() {
  static constexpr planproof::cluster::MpiFunctions functions = {
      planproof::cluster::Start, planproof::cluster::Send, planproof::cluster::Receive,
      planproof::cluster::Finish};
  return &functions;
}
