/* Calls of the C library on files below a directory, counted, of which one fails: for LD_PRELOAD.

   FAILING_ROOT  the directory
   FAILING_LOG   a file that gets a line for each call: its number, name and path
   FAILING_AT    the number of the call that fails; 0 for none
   FAILING_WITH  its errno
   FAILING_STAYS 1 if all later calls fail as well that take space or a descriptor */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS 4096

static char root[PATH_MAX];
static size_t root_length;
static int log_to = -1, failing_errno, stays;
static long failing_at;
static atomic_long calls;
static atomic_int has_failed;
static char *names[DESCRIPTORS]; /* of descriptors of files below the root */

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) \
        real = next(#name)

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("FAILING_ROOT"), *log = getenv("FAILING_LOG");
    const char *at = getenv("FAILING_AT"), *with = getenv("FAILING_WITH");
    if (given && strlen(given) < sizeof root) {
        strcpy(root, given);
        root_length = strlen(root);
    }
    failing_at = at ? atol(at) : 0;
    failing_errno = with ? atoi(with) : 0;
    stays = getenv("FAILING_STAYS") != NULL;
    if (log) {
        static int (*real)(const char *, int, ...);
        real = next("open64");
        /* Far above those that the program gets. */
        int opened = real(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        log_to = fcntl(opened, F_DUPFD_CLOEXEC, 900);
        close(opened);
    }
}

/* A path without links, for as much of it as text can tell; NULL if it is not below the root. */
static const char *below(int directory, const char *path, char *room)
{
    int length;
    if (!root_length || !path)
        return NULL;
    if (path[0] == '/') {
        length = snprintf(room, PATH_MAX, "%s", path);
    } else if (directory != AT_FDCWD) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        ssize_t read = readlink(link, room, PATH_MAX - 1);
        if (read < 0)
            return NULL;
        length = (int)read + snprintf(room + read, PATH_MAX - read, "/%s", path);
    } else {
        if (!getcwd(room, PATH_MAX))
            return NULL;
        size_t at = strlen(room);
        length = (int)at + snprintf(room + at, PATH_MAX - at, "/%s", path);
    }
    if (length < (int)root_length || length >= PATH_MAX || strncmp(room, root, root_length))
        return NULL;
    return room + root_length;
}

static const char *known(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS ? names[descriptor] : NULL;
}

/* Resources that a call takes, and that may run out. */
enum { SPACE = 1, DESCRIPTOR = 2 };

static int is_short_of(int takes)
{
    return takes & (failing_errno == EMFILE ? DESCRIPTOR : SPACE);
}

/* Whether the call is the one that fails. */
static int fails(const char *name, const char *path, int takes)
{
    long number = atomic_fetch_add(&calls, 1) + 1;
    int now = number == failing_at || (stays && is_short_of(takes) && atomic_load(&has_failed));
    if (log_to >= 0) {
        static ssize_t (*real)(int, const void *, size_t);
        char line[PATH_MAX + 64];
        if (!real)
            real = next("write");
        int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
        if (real(log_to, line, length) < 0)
            abort();
    }
    if (!now)
        return 0;
    atomic_store(&has_failed, 1);
    errno = failing_errno;
    return 1;
}

static int opening_fails(int flags, const char *path)
{
    int creates = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
    return creates ? fails("create", path, SPACE | DESCRIPTOR) : fails("open", path, DESCRIPTOR);
}

static int opened(int descriptor, const char *path)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS && path)
        names[descriptor] = strdup(path);
    return descriptor;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        char room[PATH_MAX]; \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        REAL(int, name, const char *, int, ...); \
        const char *inside = below(AT_FDCWD, path, room); \
        if (inside && opening_fails(flags, inside)) \
            return -1; \
        return opened(real(path, flags, mode), inside); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) \
    { \
        char room[PATH_MAX]; \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        REAL(int, name, int, const char *, int, ...); \
        const char *inside = below(directory, path, room); \
        if (inside && opening_fails(flags, inside)) \
            return -1; \
        return opened(real(directory, path, flags, mode), inside); \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int descriptor)
{
    REAL(int, close, int);
    char *name = (char *)known(descriptor);
    if (!name)
        return real(descriptor);
    names[descriptor] = NULL;
    int failed = fails("close", name, 0), because = errno, result = real(descriptor);
    free(name);
    if (!failed)
        return result;
    errno = because;
    return -1;
}

#define ON_DESCRIPTOR(result, name, label, grows, parameters, arguments, ...) \
    result name parameters \
    { \
        REAL(result, name, __VA_ARGS__); \
        if (known(descriptor) && fails(label, known(descriptor), grows)) \
            return (result)-1; \
        return real arguments; \
    }
ON_DESCRIPTOR(ssize_t, read, "read", 0, (int descriptor, void *to, size_t size),
              (descriptor, to, size), int, void *, size_t)
ON_DESCRIPTOR(ssize_t, pread64, "read", 0, (int descriptor, void *to, size_t size, off64_t at),
              (descriptor, to, size, at), int, void *, size_t, off64_t)
ON_DESCRIPTOR(ssize_t, readv, "read", 0, (int descriptor, const struct iovec *to, int count),
              (descriptor, to, count), int, const struct iovec *, int)
ON_DESCRIPTOR(ssize_t, write, "write", 1, (int descriptor, const void *from, size_t size),
              (descriptor, from, size), int, const void *, size_t)
ON_DESCRIPTOR(ssize_t, pwrite64, "write", 1,
              (int descriptor, const void *from, size_t size, off64_t at),
              (descriptor, from, size, at), int, const void *, size_t, off64_t)
ON_DESCRIPTOR(ssize_t, writev, "write", 1, (int descriptor, const struct iovec *from, int count),
              (descriptor, from, count), int, const struct iovec *, int)
ON_DESCRIPTOR(int, fsync, "sync", 1, (int descriptor), (descriptor), int)
ON_DESCRIPTOR(int, fdatasync, "sync", 1, (int descriptor), (descriptor), int)
ON_DESCRIPTOR(int, syncfs, "sync", 1, (int descriptor), (descriptor), int)
ON_DESCRIPTOR(int, ftruncate64, "truncate", 1, (int descriptor, off64_t size), (descriptor, size),
              int, off64_t)
ON_DESCRIPTOR(int, flock, "lock", 0, (int descriptor, int how), (descriptor, how), int, int)
ON_DESCRIPTOR(int, fchmod, "mode", 0, (int descriptor, mode_t mode), (descriptor, mode), int, mode_t)
ON_DESCRIPTOR(int, fstat64, "stat", 0, (int descriptor, struct stat64 *to), (descriptor, to), int,
              struct stat64 *)

ssize_t sendfile64(int descriptor, int from, off64_t *at, size_t size)
{
    REAL(ssize_t, sendfile64, int, int, off64_t *, size_t);
    if (known(descriptor) && fails("write", known(descriptor), 1))
        return -1;
    return real(descriptor, from, at, size);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *where, size_t size, unsigned flags)
{
    REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned);
    if (known(to) && fails("write", known(to), 1))
        return -1;
    return real(from, at, to, where, size, flags);
}

#define MAP(name, offset) \
    void *name(void *at, size_t size, int protection, int flags, int descriptor, offset from) \
    { \
        REAL(void *, name, void *, size_t, int, int, int, offset); \
        if (known(descriptor) && fails("map", known(descriptor), 0)) \
            return MAP_FAILED; \
        return real(at, size, protection, flags, descriptor, from); \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

#define ON_PATH(name, label, grows, parameters, arguments, ...) \
    int name parameters \
    { \
        char room[PATH_MAX]; \
        REAL(int, name, __VA_ARGS__); \
        const char *inside = below(AT_FDCWD, path, room); \
        if (inside && fails(label, inside, grows)) \
            return -1; \
        return real arguments; \
    }
ON_PATH(mkdir, "make", 1, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
ON_PATH(unlink, "remove", 0, (const char *path), (path), const char *)
ON_PATH(rmdir, "remove", 0, (const char *path), (path), const char *)
ON_PATH(chmod, "mode", 0, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
ON_PATH(access, "stat", 0, (const char *path, int how), (path, how), const char *, int)
ON_PATH(stat64, "stat", 0, (const char *path, struct stat64 *to), (path, to), const char *,
        struct stat64 *)
ON_PATH(lstat64, "stat", 0, (const char *path, struct stat64 *to), (path, to), const char *,
        struct stat64 *)
ON_PATH(rename, "rename", 0, (const char *path, const char *to), (path, to), const char *,
        const char *)
ON_PATH(link, "link", 1, (const char *path, const char *to), (path, to), const char *, const char *)
ON_PATH(symlink, "link", 1, (const char *to, const char *path), (to, path), const char *,
        const char *)

#define AT_PATH(name, label, grows, parameters, arguments, ...) \
    int name parameters \
    { \
        char room[PATH_MAX]; \
        REAL(int, name, __VA_ARGS__); \
        const char *inside = below(directory, path, room); \
        if (inside && fails(label, inside, grows)) \
            return -1; \
        return real arguments; \
    }
AT_PATH(mkdirat, "make", 1, (int directory, const char *path, mode_t mode),
        (directory, path, mode), int, const char *, mode_t)
AT_PATH(unlinkat, "remove", 0, (int directory, const char *path, int flags),
        (directory, path, flags), int, const char *, int)
AT_PATH(fstatat64, "stat", 0, (int directory, const char *path, struct stat64 *to, int flags),
        (directory, path, to, flags), int, const char *, struct stat64 *, int)
AT_PATH(statx, "stat", 0,
        (int directory, const char *path, int flags, unsigned mask, struct statx *to),
        (directory, path, flags, mask, to), int, const char *, int, unsigned, struct statx *)
AT_PATH(renameat, "rename", 0, (int directory, const char *path, int other, const char *to),
        (directory, path, other, to), int, const char *, int, const char *)
AT_PATH(renameat2, "rename", 0,
        (int directory, const char *path, int other, const char *to, unsigned flags),
        (directory, path, other, to, flags), int, const char *, int, const char *, unsigned)
AT_PATH(linkat, "link", 1,
        (int directory, const char *path, int other, const char *to, int flags),
        (directory, path, other, to, flags), int, const char *, int, const char *, int)

DIR *opendir(const char *path)
{
    char room[PATH_MAX];
    REAL(DIR *, opendir, const char *);
    const char *inside = below(AT_FDCWD, path, room);
    if (inside && fails("open", inside, 1))
        return NULL;
    DIR *found = real(path);
    if (found && inside)
        opened(dirfd(found), inside);
    return found;
}

/* An end of a directory leaves errno as it is; a failure sets it (readdir(3)). */
struct dirent64 *readdir64(DIR *directory)
{
    REAL(struct dirent64 *, readdir64, DIR *);
    if (known(dirfd(directory)) && fails("list", known(dirfd(directory)), 0))
        return NULL;
    return real(directory);
}

int closedir(DIR *directory)
{
    REAL(int, closedir, DIR *);
    int descriptor = dirfd(directory);
    if (known(descriptor)) {
        free(names[descriptor]);
        names[descriptor] = NULL;
    }
    return real(directory);
}
