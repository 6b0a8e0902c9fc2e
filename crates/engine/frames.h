// Where variables lie in the frames of functions, as the runtime reads it from a section.
//
// The text is assembled inside of the function. Each variable has a record of eight words of four
// bytes in the section: the distance from the record to an instruction of the function; how its
// place is given; its size, with the highest bit set if it has an array inside; then its place. That
// is its distance from the caller's stack pointer at the call, or the code of an instruction that
// computes its address where the record refers to. The runtime's side is `rt::frame_objects`.
//
// Records lie in the section group of the function, if it has one, so that they are dropped with it.

#ifndef RADDLE_FRAMES_H
#define RADDLE_FRAMES_H

#include <cstdint>
#include <string>

namespace frames {

inline std::string record(int32_t kind, uint32_t size, bool has_array, const std::string &place)
{
    return "771:\n\t.pushsection .raddle_frames,\"a?\",@progbits\n\t.balign 32\n\t.long 771b-.\n\t.long " +
           std::to_string(kind) + "\n\t.long " + std::to_string(size | (has_array ? 1u << 31 : 0)) + "\n\t" + place +
           "\n\t.balign 32\n\t.popsection\n";
}

// A variable at this distance from the caller's stack pointer.
inline std::string at_distance(int32_t distance, uint32_t size, bool has_array)
{
    return record(1, size, has_array, ".long " + std::to_string(distance));
}

// A variable whose address an operand of the assembly stands for.
inline std::string at_operand(const std::string &operand, uint32_t size, bool has_array)
{
    return record(2, size, has_array, "leaq " + operand + ", %rax");
}

} // namespace frames

#endif
