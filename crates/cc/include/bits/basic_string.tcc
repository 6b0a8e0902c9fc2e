/* Found before libstdc++'s file of the same name. Before C++20 it says that the functions of `std::string` are
 * in the library, where they have no hooks. With -1, which it knows itself, they are compiled into the program.
 * That does not concern streams: the library lets threads share the standard ones, and guards less of them than
 * the rules of races ask for. */
#pragma GCC system_header

#pragma push_macro("_GLIBCXX_EXTERN_TEMPLATE")
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#include_next <bits/basic_string.tcc>
#pragma pop_macro("_GLIBCXX_EXTERN_TEMPLATE")
