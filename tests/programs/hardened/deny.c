/* Starts a command that may not make some system calls, as containers and hardened systems have it:
 *   deny personality,ptrace COMMAND ARGUMENTS...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
    int error;
} calls[] = {
    {"personality", SYS_personality, EPERM},
    {"ptrace", SYS_ptrace, EPERM},
    {"process_vm_readv", SYS_process_vm_readv, EPERM},
    {"userfaultfd", SYS_userfaultfd, EPERM},
    {"kcmp", SYS_kcmp, EPERM},
    {"sched_setaffinity", SYS_sched_setaffinity, EPERM},
    {"prctl", SYS_prctl, EPERM},
    {"memfd_create", SYS_memfd_create, EPERM},
    /* As filters do that are older than the call. */
    {"clone3", SYS_clone3, ENOSYS},
};

int main(int count, char **words) {
    struct sock_filter filter[64];
    unsigned short used = 0;
    if (count < 3)
        return 99;
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *name = strtok(words[1], ","); name; name = strtok(NULL, ",")) {
        unsigned found = 0;
        while (found < sizeof calls / sizeof *calls && strcmp(calls[found].name, name) != 0)
            found++;
        if (found == sizeof calls / sizeof *calls) {
            fprintf(stderr, "deny: %s is unknown\n", name);
            return 99;
        }
        filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[found].number, 0, 1);
        filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | calls[found].error);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {used, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("deny");
        return 98;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 97;
}
