// Several threads on one database, in serialized mode: through one connection, or each with its
// own, to a file or to a shared cache in memory. Every thread inserts and moves money in
// transactions; the sum stays and the rows are all there.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>

enum { THREADS = 3, ROUNDS = 2, ACCOUNTS = 4 };

static const char *name;
static int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
static sqlite3 *common;

static void check(int code, int wanted, sqlite3 *database, const char *what) {
    if (code != wanted) {
        fprintf(stderr, "%s: %d %s\n", what, code, database ? sqlite3_errmsg(database) : "");
        exit(20);
    }
}

static sqlite3 *open_database(void) {
    sqlite3 *database = 0;
    check(sqlite3_open_v2(name, &database, flags, 0), SQLITE_OK, database, "open");
    sqlite3_busy_timeout(database, 100000);
    return database;
}

// A thread that finds a table of the shared cache locked, or that would deadlock, gets an error at
// once and tries again.
static void execute(sqlite3 *database, const char *text) {
    int code;
    while ((code = sqlite3_exec(database, text, 0, 0, 0)) == SQLITE_LOCKED || code == SQLITE_BUSY)
        usleep(1000);
    check(code, SQLITE_OK, database, text);
}

static long number(sqlite3 *database, const char *text) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(database, text, -1, &statement, 0), SQLITE_OK, database, text);
    check(sqlite3_step(statement), SQLITE_ROW, database, text);
    long value = (long)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void *work(void *argument) {
    long own = (long)argument;
    sqlite3 *database = common ? common : open_database();
    char text[200];
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(text, sizeof text, "insert into log values (%ld, %d)", own, round);
        execute(database, text);
        // One statement is atomic even where all share a connection.
        snprintf(text, sizeof text, "update account set money = money + case id when %ld then -10 else 10 end where id in (%ld, %ld)", own, own, own + 1);
        execute(database, text);
    }
    if (database != common)
        check(sqlite3_close(database), SQLITE_OK, database, "close");
    return 0;
}

int main(int count, char **arguments) {
    const char *kind = count > 1 ? arguments[1] : "one";
    int threads = THREADS;
    if (!sqlite3_threadsafe())
        return 19;
    name = "bank.db";
    if (!strcmp(kind, "shared")) {
        name = "file:bank?mode=memory&cache=shared";
        flags |= SQLITE_OPEN_URI;
        threads = 2;
    } else if (!strcmp(kind, "two"))
        threads = 2;
    sqlite3 *database = open_database();
    execute(database, "pragma synchronous = off; create table account (id integer primary key, money integer);"
                      "create table log (who integer, round integer);"
                      "insert into account values (0, 100), (1, 100), (2, 100), (3, 100)");
    if (!strcmp(kind, "one"))
        common = database;
    pthread_t thread[THREADS];
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], 0, work, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], 0);
    printf("%ld rows, %ld money, first %ld, last %ld\n", number(database, "select count(*) from log"), number(database, "select sum(money) from account"),
           number(database, "select money from account where id = 0"), number(database, "select money from account order by id desc limit 1"));
    check(sqlite3_close(database), SQLITE_OK, database, "close");
    return 0;
}
