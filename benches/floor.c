/* The least a durable checkpoint costs: for every FILE write a new version beside it, flush it, put it in place, flush the folder. */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(int failed, const char *what) {
    if (failed) {
        perror(what);
        exit(1);
    }
}

static void replace(const char *path) {
    static char content[1 << 20];
    char temporary[4096], folder[4096];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    snprintf(folder, sizeof folder, "%s", path);

    int file = open(path, O_RDONLY);
    check(file < 0, "open");
    ssize_t size = read(file, content, sizeof content);
    check(size < 0, "read");
    close(file);

    file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    check(file < 0, "create");
    check(write(file, content, (size_t)size) != size, "write");
    check(fsync(file) != 0, "fsync");
    close(file);
    check(rename(temporary, path) != 0, "rename");

    int dir = open(dirname(folder), O_RDONLY | O_DIRECTORY);
    check(dir < 0, "open folder");
    check(fsync(dir) != 0, "fsync folder");
    close(dir);
}

int main(int argc, char **argv) {
    for (int at = 1; at < argc; at++) {
        replace(argv[at]);
    }
    return 0;
}
