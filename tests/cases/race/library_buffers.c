// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=to_write[0]
// finding: data-race var=to_pwrite[0]
// finding: data-race var=to_send[0]
// finding: data-race var=to_writev[0]
// finding: data-race var=to_fwrite[0]
// finding: data-race var=to_fputs[0]
// finding: data-race var=to_print[0]
// finding: data-race var=to_puts[0]
// finding: data-race var=to_fprint[0]
// finding: data-race var=to_scan[0]
// finding: data-race var=to_convert[0]
// finding: data-race var=to_compare[0]
// finding: data-race var=to_span[0]
// finding: data-race var=to_open[0]
// finding: data-race var=format[0]
// finding: data-race var=from_read[0]
// finding: data-race var=from_pread[0]
// finding: data-race var=from_recv[0]
// finding: data-race var=from_readv[0]
// finding: data-race var=from_fread[0]
// finding: data-race var=from_fgets[0]
// finding: data-race var=from_sprintf[0]
// finding: data-race var=from_snprintf[0]
// finding: data-race var=from_strftime[0]
// finding: data-race var=from_token[1]
// finding: data-race var=from_scan_text[0]
// finding: data-race var=from_getcwd[0]
// finding: data-race var=to_localtime
// finding: data-race var=from_scan
// finding: data-race var=from_qsort[0]
// finding: data-race var=from_pipe[0]
// finding: data-race var=from_rand
// finding: data-race var=from_stat.st_dev
// finding: data-race var=from_clock.tv_sec
// finding: data-race var=from_day.tv_sec
// finding: data-race var=from_localtime.tm_sec
// finding: data-race var=from_time
// finding: data-race var=from_join
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=to_write[0]
// finding: data-race var=to_pwrite[0]
// finding: data-race var=to_send[0]
// finding: data-race var=to_writev[0]
// finding: data-race var=to_fwrite[0]
// finding: data-race var=to_fputs[0]
// finding: data-race var=to_print[0]
// finding: data-race var=to_puts[0]
// finding: data-race var=to_fprint[0]
// finding: data-race var=to_scan[0]
// finding: data-race var=to_convert[0]
// finding: data-race var=to_compare[0]
// finding: data-race var=to_span[0]
// finding: data-race var=to_open[0]
// finding: data-race var=format[0]
// finding: data-race var=from_read[0]
// finding: data-race var=from_pread[0]
// finding: data-race var=from_recv[0]
// finding: data-race var=from_readv[0]
// finding: data-race var=from_fread[0]
// finding: data-race var=from_fgets[0]
// finding: data-race var=from_sprintf[0]
// finding: data-race var=from_snprintf[0]
// finding: data-race var=from_strftime[0]
// finding: data-race var=from_token[1]
// finding: data-race var=from_scan_text[0]
// finding: data-race var=from_getcwd[0]
// finding: data-race var=to_localtime
// finding: data-race var=from_scan
// finding: data-race var=from_qsort[0]
// finding: data-race var=from_pipe[0]
// finding: data-race var=from_rand
// finding: data-race var=from_stat.st_dev
// finding: data-race var=from_clock.tv_sec
// finding: data-race var=from_day.tv_sec
// finding: data-race var=from_localtime.tm_sec
// finding: data-race var=from_time
// finding: data-race var=from_join
// check:
// flags: -DORDERED -O2
// verdict: verified

// Memory that the C library reads or writes for the program is accessed by the calling thread, at
// the place of the call. Another thread writes to the same memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// What the calls of main read.
char to_write[8] = "abc", to_pwrite[8] = "abc", to_send[8] = "abc", to_writev[8] = "abc", to_fwrite[8] = "abc",
     to_fputs[8] = "abc", to_print[8] = "abc", to_puts[8] = "abc", to_fprint[8] = "abc", to_scan[8] = "12",
     to_convert[8] = "12", to_compare[8] = "abc", to_span[8] = "abc", to_open[16] = "/dev/null", format[8] = "%d";
time_t to_localtime;
// What they write.
char from_read[8], from_pread[8], from_recv[8], from_readv[8], from_fread[8], from_fgets[8], from_sprintf[8],
    from_snprintf[8], from_strftime[8], from_token[8] = "a,b", from_scan_text[8], from_getcwd[4096];
int from_scan, from_qsort[2] = {2, 1}, from_pipe[2];
unsigned from_rand;
struct stat from_stat;
struct timespec from_clock;
struct timeval from_day;
struct tm from_localtime;
time_t from_time;
void *from_join;

static void *other(void *arg)
{
    char *bytes[] = {to_write, to_pwrite, to_send, to_writev, to_fwrite, to_fputs, to_print, to_puts, to_fprint,
                     to_scan, to_convert, to_compare, to_span, to_open, format, from_read, from_pread, from_recv,
                     from_readv, from_fread, from_fgets, from_sprintf, from_snprintf, from_strftime, from_token + 1,
                     from_scan_text, from_getcwd, (char *)&to_localtime, (char *)&from_scan, (char *)from_qsort,
                     (char *)from_pipe, (char *)&from_rand, (char *)&from_stat, (char *)&from_clock,
                     (char *)&from_day, (char *)&from_localtime, (char *)&from_time, (char *)&from_join};
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++)
        *(volatile char *)bytes[i] = *bytes[i]; // a write that changes nothing
    return NULL;
}

static volatile long results;

static void check(long result)
{
    results = result;
}

static void *nothing(void *arg)
{
    return arg;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void on_descriptors(void)
{
    int file = open(to_open, O_RDWR), zero = open("/dev/zero", O_RDONLY), pair[2];
    struct iovec in = {from_readv, 4}, out = {to_writev, 3};
    check(write(file, to_write, 3));
    check(pwrite(file, to_pwrite, 3, 0));
    check(writev(file, &out, 1));
    check(read(zero, from_read, 4));
    check(pread(zero, from_pread, 4, 0));
    check(readv(zero, &in, 1));
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    check(send(pair[0], to_send, 3, 0));
    check(recv(pair[1], from_recv, 8, 0));
    check(pipe(from_pipe));
    check(stat("/dev/null", &from_stat));
    check(getcwd(from_getcwd, sizeof from_getcwd) != NULL);
}

static void on_streams(void)
{
    FILE *null = fopen("/dev/null", "w"), *zero = fopen("/dev/zero", "r"), *text = fopen("/proc/self/comm", "r");
    check(fwrite(to_fwrite, 1, 3, null));
    check(fputs(to_fputs, null));
    check(fprintf(null, "%.2s %d\n", to_fprint, 1));
    check(fread(from_fread, 1, 4, zero));
    check(fgets(from_fgets, 4, text) != NULL);
    check(printf("%g %s %d\n", 0.5, to_print, 1));
    check(puts(to_puts));
}

static void on_memory(void)
{
    char *rest, copy[8];
    int number;
    check(sprintf(from_sprintf, "%d", 1234));
    check(snprintf(from_snprintf, sizeof from_snprintf, "%d", 1234));
    check(snprintf(copy, sizeof copy, format, 1));
    check(sscanf(to_scan, "%d", &number));
    check(sscanf("1", "%d", &from_scan));
    check(sscanf("1 x", "%d %7s", &number, from_scan_text));
    check(strtol(to_convert, NULL, 10));
    check(strcasecmp(to_compare, "ABC"));
    check(strcspn(to_span, "c"));
    check(strtok_r(from_token, ",", &rest) != NULL);
    qsort(from_qsort, 2, sizeof(int), by_value);
}

static void on_time(void)
{
    time_t now = 0;
    struct tm parts;
    check(clock_gettime(CLOCK_REALTIME, &from_clock));
    check(gettimeofday(&from_day, NULL));
    check(time(&from_time));
    check(localtime_r(&to_localtime, &parts) != NULL);
    check(gmtime_r(&now, &from_localtime) != NULL);
    check(strftime(from_strftime, sizeof from_strftime, "%Y", &parts));
    check(rand_r(&from_rand));
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, other, NULL);
#ifdef ORDERED
    pthread_join(t, NULL);
#endif
    on_descriptors();
    on_streams();
    on_memory();
    on_time();
    pthread_create(&u, NULL, nothing, NULL);
    pthread_join(u, &from_join);
#ifndef ORDERED
    pthread_join(t, NULL);
#endif
    return 0;
}
