// Two threads write to one database.
#include <leveldb/db.h>

#include <string>
#include <thread>

int main() {
    leveldb::DB *database;
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 1 << 16;
    if (!leveldb::DB::Open(options, "database", &database).ok())
        return 1;
    auto put = [&](const char *key) { database->Put(leveldb::WriteOptions(), key, "value"); };
    std::thread first(put, "a"), second(put, "b");
    first.join();
    second.join();
    std::string value;
    bool is_there = database->Get(leveldb::ReadOptions(), "a", &value).ok()
        && database->Get(leveldb::ReadOptions(), "b", &value).ok();
    delete database;
    return !is_there;
}
