// Sends bytes between numbered processes.
#ifndef PLANPROOF_CLUSTER_MESSAGE_PORT_H_
#define PLANPROOF_CLUSTER_MESSAGE_PORT_H_

#include <string>

namespace planproof::cluster {

class MessagePort {
 public:
  virtual ~MessagePort() = default;
  // This process among processes(); process 0 leads.
  virtual int rank() const = 0;
  virtual int processes() const = 0;
  // Does not wait for the receiver. False if the message is known not to arrive.
  virtual bool Send(int to, const std::string& bytes) = 0;
  // The next message, in the order in which its sender sent them; false if there is none now.
  virtual bool Receive(int* from, std::string* bytes) = 0;
  // Ends orderly, waiting for the others to do the same; to be called at most once.
  virtual void Finish() = 0;
};

}  // namespace planproof::cluster

#endif  // PLANPROOF_CLUSTER_MESSAGE_PORT_H_
