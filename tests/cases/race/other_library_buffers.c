// compilers: gcc clang
// flags: -lm
// check:
// verdict: bug
// finding: data-race var=to_wide[0]
// finding: data-race var=to_position[0]
// finding: data-race var=to_mbs[0]
// finding: data-race var=to_poll[0].fd
// finding: data-race var=to_pattern[0]
// finding: data-race var=to_inet[0]
// finding: data-race var=to_iconv[0]
// finding: data-race var=to_frob[0]
// finding: data-race var=from_wide[0]
// finding: data-race var=from_mbs[0]
// finding: data-race var=from_wcs[0]
// finding: data-race var=from_poll[0].revents
// finding: data-race var=from_ioctl
// finding: data-race var=from_host[0]
// finding: data-race var=from_inet.s_addr
// finding: data-race var=from_iconv[0]
// finding: data-race var=from_matches[0].rm_so
// finding: data-race var=from_set[0]
// finding: data-race var=from_sine
// finding: data-race var=from_count
// finding: data-race var=from_root
// finding: data-race var=from_random
// finding: data-race var=from_user
// finding: data-race var=from_error[0]
// finding: data-race var=from_action
// finding: data-race var=from_position
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=to_wide[0]
// finding: data-race var=to_position[0]
// finding: data-race var=to_mbs[0]
// finding: data-race var=to_poll[0].fd
// finding: data-race var=to_pattern[0]
// finding: data-race var=to_inet[0]
// finding: data-race var=to_iconv[0]
// finding: data-race var=to_frob[0]
// finding: data-race var=from_wide[0]
// finding: data-race var=from_mbs[0]
// finding: data-race var=from_wcs[0]
// finding: data-race var=from_poll[0].revents
// finding: data-race var=from_ioctl
// finding: data-race var=from_host[0]
// finding: data-race var=from_inet.s_addr
// finding: data-race var=from_iconv[0]
// finding: data-race var=from_matches[0].rm_so
// finding: data-race var=from_set[0]
// finding: data-race var=from_sine
// finding: data-race var=from_count
// finding: data-race var=from_root
// finding: data-race var=from_random
// finding: data-race var=from_user
// finding: data-race var=from_error[0]
// finding: data-race var=from_action
// finding: data-race var=from_position
// check:
// flags: -DORDERED -O2
// verdict: verified

// As library_buffers.c, for functions that are used less often.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <iconv.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

// What the calls of main read.
wchar_t to_wide[4] = L"abc";
char to_position[8] = "abc", to_mbs[8] = "abc", to_pattern[8] = "a", to_inet[16] = "127.0.0.1", to_iconv[4] = "abc",
     to_frob[4];
struct pollfd to_poll[1] = {{.events = POLLIN}};
// What they write.
wchar_t from_wide[4], from_mbs[4];
char from_wcs[8], from_host[256], from_iconv[4], from_error[64];
struct pollfd from_poll[1];
int from_ioctl, from_position;
struct in_addr from_inet;
regmatch_t from_matches[1];
sigset_t from_set;
double from_sine;
size_t from_count = 1;
void *from_root;
double from_random;
uid_t from_user;
struct sigaction from_action;

static void *other(void *unused)
{
    char *bytes[] = {(char *)to_wide, to_position, to_mbs, (char *)&to_poll[0].fd, to_pattern, to_inet, to_iconv, to_frob,
                     (char *)from_wide, (char *)from_mbs, from_wcs, (char *)&from_poll[0].revents, (char *)&from_ioctl,
                     from_host, (char *)&from_inet, from_iconv, (char *)from_matches, (char *)&from_set,
                     (char *)&from_sine, (char *)&from_count, (char *)&from_root, (char *)&from_random,
                     (char *)&from_user, from_error, (char *)&from_action, (char *)&from_position};
    (void)unused;
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++)
        *(volatile char *)bytes[i] = *bytes[i]; // a write that changes nothing
    return NULL;
}

static volatile long results;

static void check(long result)
{
    results = result;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void on_text(void)
{
    wchar_t wide[8];
    char text[8];
    check(wcscpy(wide, to_wide) != NULL);
    check(wcscpy(from_wide, L"abc") != NULL);
    check(mbstowcs(wide, to_mbs, 8));
    check(mbstowcs(from_mbs, "abc", 4));
    check(wcstombs(from_wcs, L"abc", 8));
    check(snprintf(text, sizeof text, "%2$s %1$d", 1, to_position));
    check(sscanf("1 2", "%2$d %1$d", &(int){0}, &from_position));
    char *in = to_iconv, *out = from_iconv;
    size_t bytes = 3, room = 3;
    iconv_t descriptor = iconv_open("ASCII", "ASCII");
    check(iconv(descriptor, &in, &bytes, &out, &room));
    iconv_close(descriptor);
    memfrob(to_frob, 4);
    check(strerror_r(12345, from_error, sizeof from_error) != NULL);
}

static void on_descriptors(void)
{
    int pair[2];
    check(pipe(pair));
    check(poll(to_poll, 1, 0));
    from_poll[0].fd = pair[0];
    from_poll[0].events = POLLIN;
    check(poll(from_poll, 1, 0));
    check(ioctl(pair[0], FIONREAD, &from_ioctl));
}

static void on_records(void)
{
    regex_t pattern;
    struct in_addr address;
    struct drand48_data sequence = {0};
    int keys[4] = {1};
    check(regcomp(&pattern, to_pattern, 0));
    check(regexec(&pattern, "a", 1, from_matches, 0));
    regfree(&pattern);
    check(inet_aton(to_inet, &address));
    check(inet_aton("127.0.0.1", &from_inet));
    check(gethostname(from_host, sizeof from_host));
    check(sigemptyset(&from_set));
    double cosine;
    sincos(1, &from_sine, &cosine);
    int key = 2;
    check(lsearch(&key, keys, &from_count, sizeof *keys, by_value) != NULL);
    check(tsearch(&key, &from_root, by_value) != NULL);
    check(drand48_r(&sequence, &from_random));
    uid_t effective, saved;
    check(getresuid(&from_user, &effective, &saved));
    check(sigaction(SIGUSR1, NULL, &from_action));
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
#ifdef ORDERED
    pthread_join(t, NULL);
#endif
    on_text();
    on_descriptors();
    on_records();
#ifndef ORDERED
    pthread_join(t, NULL);
#endif
    return 0;
}
