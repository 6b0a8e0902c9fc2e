// Threads add to one std::atomic counter.
#include <atomic>
#include <cassert>
#include <thread>
#include <vector>

#ifndef N
#define N 4
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

int main() {
  std::atomic<int> counter{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&] {
      for (int round = 0; round < ROUNDS; round++) counter.fetch_add(1);
    });
  }
  for (auto &thread : threads) thread.join();
  assert(counter == N * ROUNDS);
}
