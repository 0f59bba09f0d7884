/* keyd: keeps numbers under numbers. A server small enough for a test, and real enough. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define VERSION "1.0"
#define KEYS 100000
#define CLIENTS 64

static long values[KEYS];
static volatile sig_atomic_t stopping;
static char socket_path[108], data_path[4096];

static void stop(int number) { (void)number; stopping = 1; }

static void read_settings(const char *path) {
    char name[64], value[4000];
    FILE *file = fopen(path, "r");
    if (!file) { perror(path); exit(1); }
    while (fscanf(file, "%63s = %3999[^\n]\n", name, value) == 2) {
        if (!strcmp(name, "socket")) snprintf(socket_path, sizeof socket_path, "%s", value);
        if (!strcmp(name, "data")) snprintf(data_path, sizeof data_path, "%.4000s/values", value);
    }
    fclose(file);
}

static void answer(int client, char *line) {
    char text[64];
    long key = 0, value = 0;
    if (sscanf(line, "S %ld %ld", &key, &value) == 2 && key >= 0 && key < KEYS) values[key] = value;
    else if (sscanf(line, "G %ld", &key) != 1 || key < 0 || key >= KEYS) key = 0;
    int length = snprintf(text, sizeof text, "%ld\n", values[key]);
    if (write(client, text, length) < 0) perror("write");
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "--version")) return puts("keyd " VERSION) < 0;
    if (count == 2 && !strcmp(words[1], "--settings"))
        return puts("cache = 1048576\nsocket = \ndata = ") < 0;
    if (count != 2) return 2;
    read_settings(words[1]);
    signal(SIGTERM, stop);
    signal(SIGPIPE, SIG_IGN);
    FILE *file = fopen(data_path, "rb");
    if (file) { if (!fread(values, sizeof values, 1, file)) return 1; fclose(file); }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, socket_path, sizeof socket_path);
    struct pollfd polled[CLIENTS + 1] = {{.fd = socket(AF_UNIX, SOCK_STREAM, 0), .events = POLLIN}};
    int used = 1;
    if (bind(polled[0].fd, (struct sockaddr *)&address, sizeof address) || listen(polled[0].fd, 8))
        return perror(socket_path), 1;
    puts("ready");
    fflush(stdout);
    while (!stopping) {
        if (poll(polled, used, 1000) <= 0) continue;
        for (int i = 1; i < used; i++) {
            if (!polled[i].revents) continue;
            char line[256];
            ssize_t length = read(polled[i].fd, line, sizeof line - 1);
            if (length <= 0) { close(polled[i].fd); polled[i--] = polled[--used]; continue; }
            line[length] = 0;
            answer(polled[i].fd, line);
        }
        if (polled[0].revents && used <= CLIENTS)
            polled[used++] = (struct pollfd){.fd = accept(polled[0].fd, 0, 0), .events = POLLIN};
    }
    file = fopen(data_path, "wb");
    return !file || !fwrite(values, sizeof values, 1, file) || fclose(file);
}
