// What the text of inline assembly tells about its memory accesses. For both plug-ins.

#pragma once

#include <cctype>
#include <cstring>
#include <string>

namespace assembly {

// Whether each instruction is one that only orders accesses, waits or asks the processor. Operands
// begin with `%` or `$`.
inline bool touches_no_memory(const std::string &text)
{
    static const char *const KNOWN[] = {"mfence", "lfence", "sfence", "pause",  "nop",    "rep",     "repz",
                                        "cpuid",  "rdtsc",  "rdtscp", "xgetbv", "rdrand", "rdseed", "serialize"};
    std::string word;
    for (const char *at = text.c_str();; at++) {
        if (isalnum((unsigned char)*at) || (*at && strchr("_%$.", *at))) {
            word += *at;
            continue;
        }
        bool known = word.empty() || word[0] == '%' || word[0] == '$';
        for (const char *name : KNOWN)
            known |= word == name;
        if (!known || (*at && !strchr(" \t\n;,", *at)))
            return false;
        word.clear();
        if (!*at)
            return true;
    }
}

// Whether it may be an atomic operation.
inline bool may_be_atomic(const std::string &text)
{
    for (const char *word : {"lock", "xchg", "xadd"})
        if (text.find(word) != std::string::npos)
            return true;
    return false;
}

} // namespace assembly
