// Passes protobuf messages between processes of one program, read as strictly as bytes of a fixed
// form: what is read must be what the reader would write. A reader compares that itself, since what
// it took from the message is what counts.
#ifndef PLANPROOF_STAGES_WORKERS_EXACT_MESSAGE_H_
#define PLANPROOF_STAGES_WORKERS_EXACT_MESSAGE_H_

#include <limits>
#include <string>

#include "google/protobuf/message_lite.h"

namespace planproof::stages {

// An enumerator has the same number in C++ and in a message.
template <typename Ours, typename Theirs>
constexpr bool SameNumber(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

// Fields in order of their numbers. Empty, and so no message that is complete, if it is too large
// for protobuf.
inline std::string BytesOf(const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (message.ByteSizeLong() > std::numeric_limits<int>::max() ||
      !message.SerializeToString(&bytes)) {
    bytes.clear();
  }
  return bytes;
}

// False if the bytes are no message, or one that was cut off between two fields.
template <typename Message>
bool Parse(const std::string& bytes, Message* message) {
  return bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
         message->ParseFromString(bytes) && message->complete();
}

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_EXACT_MESSAGE_H_
