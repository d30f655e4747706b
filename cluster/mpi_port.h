// Implements a message port over MPI, for processes that mpirun or srun started.
#ifndef PLANPROOF_CLUSTER_MPI_PORT_H_
#define PLANPROOF_CLUSTER_MPI_PORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cluster/message_port.h"

namespace planproof::cluster {

// Loads the module libplanproof_mpi.so and joins the other processes. Errors, each with what to do:
// FailedPrecondition when nothing started this process as one of several, NotFound when the module
// is missing or does not load, Internal when MPI does not start.
absl::StatusOr<std::unique_ptr<MessagePort>> JoinMpi();

}  // namespace planproof::cluster

#endif  // PLANPROOF_CLUSTER_MPI_PORT_H_
