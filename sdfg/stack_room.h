// Tells how much of a thread's stack is left.
#ifndef PLANPROOF_SDFG_STACK_ROOM_H_
#define PLANPROOF_SDFG_STACK_ROOM_H_

namespace planproof::sdfg {

// Whether recursion must end here: less than 1 MiB is left of the stack of the thread that calls.
bool StackIsShort();

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_STACK_ROOM_H_
