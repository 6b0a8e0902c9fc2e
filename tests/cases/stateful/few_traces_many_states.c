// check:
// flags: -DN=14
// verdict: verified
// executions: 512

// 14 threads insert four messages each into a hash table of 128 slots with a compare-exchange; on a
// collision the next slot is tried. The last three threads collide with others, in 8 ways each: 512 traces.
// Each run leads to some 30 new states, so recognising states is no gain: the search of traces ends the
// check.
#include "../../../bench/programs/indexer_cas.c"
