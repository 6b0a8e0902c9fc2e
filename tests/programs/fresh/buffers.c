// System calls that write to memory that the run has not written before. The kernel raises no fault
// for a protected page but fails the call, so the runtime has to unprotect the page first.
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// Each in a page of its own that was not written before.
#define COLD __attribute__((aligned(4096))) static
COLD char bytes[3 * 4096];
COLD struct stat about;
COLD struct utsname host;
COLD struct rlimit limit;
COLD struct rusage usage;
COLD struct timespec now;
COLD struct timeval day;
COLD struct tms spent;
COLD sigset_t blocked, pending;
COLD struct sigaction action;
COLD struct pollfd polled[2];
COLD fd_set set;
COLD struct epoll_event event;
COLD struct statvfs volume;
COLD struct iovec parts[1];
COLD char inner[64];
COLD cpu_set_t cpus;
COLD int count;
COLD struct sockaddr_un address;
COLD socklen_t length;
COLD struct msghdr message;
COLD int pair[2];
COLD int ends[2];
COLD struct timeval none;
COLD gid_t groups[64];
COLD struct timespec resolution;
COLD char last;

#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "%s: %s\n", #condition, strerror(errno)); failed++; } } while (0)

int main(int arguments, char **argument) {
    int failed = 0;
    (void)arguments;
    int self = open(argument[0], O_RDONLY);
    CHECK(self >= 0);
    CHECK(read(self, bytes + 4000, 5000) == 5000 && !memcmp(bytes + 4000, "\177ELF", 4));
    CHECK(pread(self, bytes, 100, 0) == 100);
    parts[0] = (struct iovec){inner, sizeof inner};
    CHECK(preadv(self, parts, 1, 0) == 64);
    CHECK(fstat(self, &about) == 0 && about.st_size > 1000);
    CHECK(stat(argument[0], &about) == 0 && about.st_size > 1000);
    CHECK(fstatat(AT_FDCWD, argument[0], &about, 0) == 0 && about.st_size > 1000);
    CHECK(statvfs("/", &volume) == 0);
    CHECK(uname(&host) == 0);
    CHECK(getcwd(bytes, sizeof bytes) == bytes);
    CHECK(readlink("/proc/self/exe", bytes + 8192, 4096) > 0);
    CHECK(gethostname(bytes, 100) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    CHECK(clock_getres(CLOCK_MONOTONIC, &resolution) == 0);
    CHECK(gettimeofday(&day, 0) == 0);
    CHECK(times(&spent) != (clock_t)-1);
    CHECK(sigprocmask(SIG_BLOCK, 0, &blocked) == 0);
    CHECK(sigpending(&pending) == 0);
    CHECK(sigaction(SIGUSR1, 0, &action) == 0);
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(ioctl(ends[0], FIONREAD, &count) == 0 && count == 1);
    polled[0] = (struct pollfd){ends[0], POLLIN, 0};
    CHECK(poll(polled, 1, 0) == 1 && polled[0].revents == POLLIN);
    CHECK(ppoll(polled, 1, &now, 0) == 1);
    FD_SET(ends[0], &set);
    CHECK(select(ends[0] + 1, &set, 0, 0, &none) == 1);
    int queue = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN};
    CHECK(epoll_ctl(queue, EPOLL_CTL_ADD, ends[0], &wanted) == 0);
    CHECK(epoll_wait(queue, &event, 1, 0) == 1);
    CHECK(readv(ends[0], parts, 1) == 1);
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    CHECK(getrandom(bytes, 16, 0) == 16);
    CHECK(getentropy(bytes, 16) == 0);
    CHECK(getgroups(64, groups) >= 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    length = sizeof address;
    CHECK(getsockname(pair[0], (struct sockaddr *)&address, &length) == 0);
    CHECK(send(pair[0], "abc", 3, 0) == 3);
    CHECK(recv(pair[1], &last, 1, 0) == 1 && last == 'a');
    CHECK(recvfrom(pair[1], bytes, 1, 0, 0, 0) == 1);
    message.msg_iov = parts;
    message.msg_iovlen = 1;
    CHECK(recvmsg(pair[1], &message, 0) == 1);
    length = sizeof count;
    CHECK(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &count, &length) == 0 && count == SOCK_STREAM);
    return failed ? 9 : 0;
}
