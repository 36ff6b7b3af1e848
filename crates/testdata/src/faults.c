// Makes the n-th call on a file or a folder fail once (`write`), all from then on (`writes`), or lets every write take half of what it is
// given (`short`): KNOCKOUT_FAULT="CALL ERRNO N".

#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char name[16];
static int code;
static long when;
static atomic_long count;

__attribute__((constructor)) static void read_fault(void) {
    const char *text = getenv("KNOCKOUT_FAULT");
    if (text) sscanf(text, "%15s %d %ld", name, &code, &when);
}

static int is_stored(int fd) {
    struct stat found;
    return syscall(SYS_fstat, fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

static int fails(const char *call, int fd) {
    int goes_on = strcmp(name, "writes") == 0 && strcmp(call, "write") == 0;
    if (!goes_on && strcmp(name, call) != 0) return 0;
    if (!is_stored(fd)) return 0;
    long at = atomic_fetch_add(&count, 1) + 1;
    if (at < when || (at > when && !goes_on)) return 0;
    errno = code;
    return 1;
}

static size_t taken(int fd, size_t size) {
    return strcmp(name, "short") == 0 && size > 1 && is_stored(fd) ? size / 2 : size;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    return fails("write", fd) ? -1 : syscall(SYS_write, fd, bytes, taken(fd, size));
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    return fails("write", fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, taken(fd, size), at);
}

ssize_t writev(int fd, const struct iovec *parts, int length) {
    return fails("write", fd) ? -1 : syscall(SYS_writev, fd, parts, length);
}

int fsync(int fd) { return fails("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails("fdatasync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }
int ftruncate64(int fd, off64_t length) { return fails("ftruncate", fd) ? -1 : (int)syscall(SYS_ftruncate, fd, length); }
