// Declares what the module with MPI in it offers; in C, as it is looked up by name.
#ifndef PLANPROOF_CLUSTER_MPI_MODULE_H_
#define PLANPROOF_CLUSTER_MPI_MODULE_H_

#include <cstddef>

namespace planproof::cluster {

struct MpiFunctions {
  // 0 if MPI has started.
  int (*start)(int* rank, int* processes);
  // Copies the bytes and does not wait; 0 unless MPI reports an error.
  int (*send)(int to, const char* bytes, size_t size);
  // 1 with a message (to be released with free()), 0 without, -1 on errors.
  int (*receive)(int* from, char** bytes, size_t* size);
  // Waits for what was sent and for the other processes, then ends MPI.
  void (*finish)();
};

}  // namespace planproof::cluster

#endif  // PLANPROOF_CLUSTER_MPI_MODULE_H_
