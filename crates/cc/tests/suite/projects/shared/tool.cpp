// The same sum in C++.
#include "config.h"
#include "locked.h"
#include "table.h"
#include <iostream>
#include <thread>

int main() {
    std::thread lower([] { locked_add(table_sum(0, 5)); });
    std::thread upper([] { locked_add(table_sum(5, table_size())); });
    lower.join();
    upper.join();
    std::cout << "sum " << locked_add(0) << std::endl;
    return locked_add(0) == 285 ? 0 : 1;
}
