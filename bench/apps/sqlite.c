// Two threads with a connection each to one database in memory that they share.
#include <pthread.h>
#include <sqlite3.h>

static void *work(void *argument) {
    sqlite3 *database = argument;
    sqlite3_exec(database, "update t set n = n + 1", 0, 0, 0);
    return 0;
}

static int value(void *into, int columns, char **texts, char **names) {
    *(int *)into = texts[0][0] - '0';
    return 0;
}

int main(void) {
    sqlite3 *database;
    if (sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, 0))
        return 1;
    sqlite3_exec(database, "create table t (n); insert into t values (0)", 0, 0, 0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, database);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    int number = 0;
    sqlite3_exec(database, "select n from t", value, &number, 0);
    sqlite3_close(database);
    return number != 2;
}
