// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// check:
// flags: -DBY_NAME
// verdict: incomplete
// check:
// flags: -DOTHER_GROUPS
// verdict: incomplete
//
// Random bytes of the C library are the same in every run; rights that the process has already, and
// addresses that are written out, change nothing. With other groups (as root) or names of hosts the call is
// named.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <grp.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#if defined __GLIBC_PREREQ && __GLIBC_PREREQ(2, 36)
#include <stdlib.h>
#else
#define arc4random_uniform(bound) 0
#endif

int __poll_chk(struct pollfd *descriptors, nfds_t count, int milliseconds, size_t bytes);

static void *work(void *unused)
{
    char host[64], service[16];
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(80) };
    int flags = NI_NUMERICHOST | NI_NUMERICSERV;
    struct ifaddrs *all = NULL;
#ifdef BY_NAME
    flags = NI_NUMERICSERV;
#endif
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    getnameinfo((struct sockaddr *)&address, sizeof address, host, sizeof host, service, sizeof service, flags);
    assert(strcmp(service, "80") == 0);
    assert(arc4random_uniform(1) == 0 && arc4random_uniform(10) < 10);
    if_nametoindex("lo");
    if (getifaddrs(&all) == 0)
        freeifaddrs(all);
    return unused;
}

int main(void)
{
    pthread_t thread;
    gid_t groups[64];
    int ends[2], count = getgroups(64, groups);
    if (setgid(getgid()) != 0 || setuid(getuid()) != 0 || pipe(ends) != 0)
        return 0;
#ifdef OTHER_GROUPS
    groups[count++] = 4321;
#endif
    if (setgroups(count, groups) != 0)
        count = 0;
    struct pollfd ready = { .fd = ends[1], .events = POLLOUT };
    assert(__poll_chk(&ready, 1, 0, sizeof ready) == 1);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
