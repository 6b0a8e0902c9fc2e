// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion line=47
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion line=47
//
// A local that is read only if an exception is thrown.
#include <cassert>
#include <mutex>
#include <thread>

static std::mutex lock, other;
static int x;

__attribute__((noinline)) static void pass() {
  std::lock_guard<std::mutex> guard(other);
}

__attribute__((noinline)) static void fail() {
  throw 1;
}

static void set() {
  {
    std::lock_guard<std::mutex> guard(lock);
    x = 1;
  }
  pass();
}

static void get() {
  int volatile stage;
  {
    std::lock_guard<std::mutex> guard(lock);
    stage = x;
  }
  try {
    pass();
    fail();
    stage = 0;
  } catch (int) {
    int seen = stage;
    assert(seen == 0);
  }
}

int main() {
  std::thread first(get), second(set);
  first.join();
  second.join();
}
