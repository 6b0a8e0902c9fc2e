// compilers: gcc clang
// check:
// verdict: incomplete
// check:
// flags: -DSTREAM
// verdict: incomplete
// check:
// flags: -DURGENT
// verdict: incomplete
// check:
// flags: -DWHO
// verdict: incomplete

// What is not modelled of sockets ends the run, and is named.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0raddle" };

static void *client(void *unused)
{
    int out = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(connect(out, (struct sockaddr *)&address, sizeof address) == 0);
#if defined STREAM
    FILE *stream = fdopen(out, "w");
    fputs("x", stream);
    fclose(stream);
#elif defined URGENT
    assert(send(out, "x", 1, MSG_OOB) == 1);
#elif defined WHO
    struct ucred who;
    socklen_t length = sizeof who;
    assert(getsockopt(out, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.pid == getpid());
#else
    // Sends a descriptor.
    struct iovec piece = { .iov_base = "x", .iov_len = 1 };
    char control[CMSG_SPACE(sizeof(int))] = "";
    struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &out, sizeof out);
    assert(sendmsg(out, &message, 0) == 1);
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
    char byte;
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    pthread_create(&thread, NULL, client, NULL);
    int connection = accept(server, NULL, NULL);
#ifndef WHO
    assert(recv(connection, &byte, 1, 0) == 1);
#else
    (void)byte;
    (void)connection;
#endif
    pthread_join(thread, NULL);
    return 0;
}
