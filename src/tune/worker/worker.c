/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/worker/worker.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "choose/records_json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    LOOK_EVERY = 50, /* ms between two looks at the memory that a busy child holds */
    STEP = 2         /* ms between two looks whether it has ended */
};
static const int kill_ms = 5000, call_off_ms = 1000, end_ms = 2000;
static const double open_seconds = 120; /* a driver's first start, with a self-test */
static const double host_seconds = 120; /* reading and comparing a result when no kernel runs any more */

static void close_ends(struct worker *w)
{
    if (w->to >= 0)
        close(w->to);
    if (w->from >= 0)
        close(w->from);
    w->to = w->from = -1;
    w->pending_length = 0;
}

/* Waits for the child to be gone, so long at most; its status, or -1. */
static int wait_for_end(struct worker *w, int ms)
{
    int status = -1;
    for (int waited = 0; w->pid > 0; waited += STEP) {
        pid_t gone = waitpid(w->pid, &status, WNOHANG);
        if (gone == w->pid || (gone < 0 && errno != EINTR))
            w->pid = 0;
        else if (waited >= ms)
            return -1;
        else
            poll(NULL, 0, STEP);
    }
    return status;
}

static void tell_end(int status, char *note, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(note, size, "the process was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(note, size, "the process ended with status %d", WEXITSTATUS(status));
}

/* Kills the child; how it ended goes to note. One that a driver keeps in the kernel is left to the system,
 * and another one takes its place. */
static void reap(struct worker *w, char *note, size_t size)
{
    if (w->pid <= 0)
        return;
    kill(w->pid, SIGKILL);
    int status = wait_for_end(w, kill_ms);
    if (w->pid > 0) {
        w->stuck++;
        if (note)
            snprintf(note, size, "the process cannot be killed, because a driver holds it");
    } else if (note) {
        tell_end(status, note, size);
    }
    w->pid = 0;
    close_ends(w);
}

static const char *kill_child(struct worker *w)
{
    const int stuck = w->stuck;
    reap(w, NULL, 0);
    return w->stuck == stuck ? "was killed" : "cannot be killed, because a driver holds it";
}

static hone_status spawn_failed(hone_error *error, int code)
{
    return error_set(error, HONE_ERROR_INTERNAL, "cannot start a process to measure in: %s", strerror(code));
}

/* In a process group of its own: a terminal's Ctrl-C would make compilers, which handle it themselves, delete
 * what the child is about to read. */
static int spawn_apart(struct worker *w, const posix_spawn_file_actions_t *actions, char *const arguments[])
{
    posix_spawnattr_t attributes;
    int code = posix_spawnattr_init(&attributes);
    if (code)
        return code;
    code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (!code)
        code = posix_spawnattr_setpgroup(&attributes, 0);
    if (!code)
        code = posix_spawn(&w->pid, "/proc/self/exe", actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return code;
}

/* Descriptors 3 and 4 for the protocol; standard output is left to kernels that print. */
static int spawn_child(struct worker *w, int child_in, int child_out)
{
    char *const arguments[] = {"hone", "--tune-worker", NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code)
        return code;
    code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!code)
        code = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!code && !getenv("HONE_WORKER_STDERR"))
        code = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, child_in, WORKER_IN);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, child_out, WORKER_OUT);
    if (!code)
        code = spawn_apart(w, &actions, arguments);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Pipe ends above 4, so that dup2 in the child cannot run over them. */
static bool make_pipe(int ends[2])
{
    int raw[2];
    if (pipe2(raw, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, WORKER_OUT + 1);
        close(raw[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    close(ends[0]);
    close(ends[1]);
    return false;
}

static hone_status spawn(struct worker *w, hone_error *error)
{
    int to[2], from[2];
    if (!make_pipe(to))
        return spawn_failed(error, errno);
    if (!make_pipe(from)) {
        close(to[0]);
        close(to[1]);
        return spawn_failed(error, errno);
    }
    int code = spawn_child(w, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    w->to = to[1];
    w->from = from[0];
    if (code) {
        w->pid = 0;
        close_ends(w);
        return spawn_failed(error, code);
    }
    w->started++;
    w->preparing = false;
    return HONE_OK;
}

/* ---- Talking ---- */

static bool send_request(struct worker *w, const json_t *request)
{
    char *line = json_dumps(request, JSON_COMPACT);
    bool ok = line && file_write_all(w->to, line, strlen(line)) && file_write_all(w->to, "\n", 1);
    free(line);
    return ok;
}

/* Takes the first line out of what has arrived; NULL when it is not whole. */
static json_t *take_line(struct worker *w)
{
    char *end = memchr(w->pending, '\n', w->pending_length);
    if (!end)
        return NULL;
    size_t length = (size_t)(end - w->pending);
    json_t *answer = json_loadb(w->pending, length, 0, NULL);
    w->pending_length -= length + 1;
    memmove(w->pending, end + 1, w->pending_length);
    return answer ? answer : json_object();
}

/* The first number behind `mark` in a file of /proc; 0 when there is none. */
static uint64_t number_in(const char *path, const char *mark)
{
    char bytes[4096];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, bytes, sizeof bytes - 1) : -1;
    if (file >= 0)
        close(file);
    bytes[got > 0 ? got : 0] = '\0';
    const char *at = strstr(bytes, mark);
    return at ? strtoull(at + strlen(mark), NULL, 10) : 0;
}

/* Nine tenths of the memory that is free now. */
static uint64_t worker_memory_limit(void)
{
    uint64_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    return kilobytes ? kilobytes * 1024 / 10 * 9 : UINT64_MAX;
}

static bool too_large(const struct worker *w)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)w->pid);
    return number_in(path, "VmRSS:") * 1024 > w->memory;
}

static double phase_seconds(const struct worker *w, const char *phase)
{
    return strcmp(phase, "compile") == 0    ? w->build_seconds
           : strcmp(phase, "compiled") == 0 ? open_seconds
           : strcmp(phase, "ran") == 0      ? host_seconds
                                            : w->run_seconds;
}

/* What is waited for other processes does not count; the child gives each up after two minutes. */
static bool note_wait(struct worker *w, const char *phase, uint64_t *end)
{
    const uint64_t now = clock_ns();
    const bool waits = strcmp(phase, "waits") == 0, goes_on = strcmp(phase, "goes on") == 0;
    if (waits && *end != UINT64_MAX) {
        w->left_ns = *end > now ? *end - now : 0;
        *end = UINT64_MAX;
    } else if (goes_on && *end == UINT64_MAX) {
        *end = now + w->left_ns;
    }
    return waits || goes_on;
}

/* A message that a phase is over gives the next one its own time. */
static void note_phase(struct worker *w, const char *phase, const char *config, uint64_t *end)
{
    if (strcmp(phase, "taken") == 0) {
        w->taken = true;
        return;
    }
    if (strcmp(phase, "round") == 0) { /* within the time that the final has */
        if (w->stage && config)
            w->stage(w->context, config);
        return;
    }
    if (note_wait(w, phase, end))
        return;
    snprintf(w->compiling, sizeof w->compiling, "%s", config ? config : "");
    *end = clock_ns() + (uint64_t)(phase_seconds(w, phase) * 1e9);
}

/* Takes what has arrived. */
static json_t *take_answer(struct worker *w, uint64_t *end)
{
    json_t *answer;
    const char *phase;
    while ((answer = take_line(w)) && (phase = json_string_value(json_object_get(answer, "phase")))) {
        note_phase(w, phase, json_string_value(json_object_get(answer, "config")), end);
        json_decref(answer);
    }
    return answer;
}

bool worker_given_up(const struct worker *w)
{
    return w->give_up && w->give_up(w->context);
}

static enum worker_outcome receive(struct worker *w, double seconds, json_t **answer)
{
    uint64_t end = clock_ns() + (uint64_t)(seconds * 1e9);
    for (;;) {
        *answer = take_answer(w, &end);
        if (*answer)
            return WORKER_ANSWERED;
        const uint64_t now = clock_ns();
        if (worker_given_up(w))
            return WORKER_GIVEN_UP;
        if (too_large(w))
            return WORKER_TOO_LARGE;
        struct pollfd wait = {.fd = w->from, .events = POLLIN};
        const double left = now < end ? (double)(end - now) * 1e-6 : 0;
        int ready = poll(&wait, 1, left > LOOK_EVERY ? LOOK_EVERY : (int)ceil(left));
        if (ready < 0 && errno != EINTR)
            return WORKER_DIED;
        if (ready == 0 && left <= 0) /* not before: who was stopped by Ctrl-Z reads late what came in time */
            return WORKER_TIMED_OUT;
        if (ready <= 0)
            continue;
        ssize_t got = read(w->from, w->pending + w->pending_length, sizeof w->pending - w->pending_length);
        if (got == 0 || (got < 0 && errno != EINTR)) /* at the end of the input errno says nothing */
            return WORKER_DIED;
        w->pending_length += got > 0 ? (size_t)got : 0;
        if (w->pending_length == sizeof w->pending)
            return WORKER_DIED; /* no answer is that long */
    }
}

static void note_clock(struct worker *w, const json_t *answer)
{
    const char *clock = json_string_value(json_object_get(answer, "clock"));
    const char *reason = json_string_value(json_object_get(answer, "clock_reason"));
    if (clock)
        snprintf(w->clock, sizeof w->clock, "%s", clock);
    if (clock)
        snprintf(w->clock_reason, sizeof w->clock_reason, "%s", reason ? reason : "");
}

/* A child that does not answer is gone afterwards. */
static enum worker_outcome ask_running(struct worker *w, const json_t *request, double seconds,
                                       json_t **answer, char note[512])
{
    *answer = NULL;
    w->compiling[0] = '\0';
    w->taken = false;
    enum worker_outcome outcome = send_request(w, request) ? receive(w, seconds, answer) : WORKER_DIED;
    if (outcome == WORKER_DIED && w->interrupted && w->interrupted(w->context))
        outcome = WORKER_GIVEN_UP; /* what ended it may have been meant for all */
    if (outcome == WORKER_ANSWERED) {
        note_clock(w, *answer);
    } else if (outcome == WORKER_TIMED_OUT) {
        snprintf(note, 512, "no answer in time; the process %s", kill_child(w));
    } else if (outcome == WORKER_TOO_LARGE) {
        snprintf(note, 512, "more than %llu MiB of memory; the process %s",
                 (unsigned long long)(w->memory >> 20), kill_child(w));
    } else if (outcome == WORKER_GIVEN_UP) {
        kill(w->pid, WORKER_CALL_OFF);
        wait_for_end(w, call_off_ms);
        reap(w, NULL, 0);
        snprintf(note, 512, "interrupted; the process was ended");
    } else if (outcome == WORKER_DIED) {
        reap(w, note, 512);
    }
    return outcome;
}

static hone_status answer_error(const json_t *answer, hone_error *error)
{
    const char *message = json_string_value(json_object_get(answer, "error"));
    if (!message)
        return HONE_OK;
    return error_set(error, (hone_status)json_integer_value(json_object_get(answer, "status")), "%s",
                     message);
}

/* ---- Life ---- */

/* Compilers crash and hang, too: that is about a kernel, and not about the device. */
static hone_status compiler_failed(const struct worker *w, enum worker_outcome outcome, const char *note,
                                   hone_error *error)
{
    static const char advice[] =
        "put other values first: what is built with the first ones tells the arguments";
    if (outcome == WORKER_TIMED_OUT)
        return error_usage(error, "compiling %s took longer than %g s (--build-timeout); %s", w->compiling,
                           w->build_seconds, advice);
    return error_usage(error, "the compiler failed with %s: %s; %s", w->compiling, note, advice);
}

/* One question during the start; a child that dies or hangs here is the device's failure. */
static hone_status ask_at_start(struct worker *w, json_t *request, json_t **answer, hone_error *error)
{
    char note[512];
    enum worker_outcome outcome = ask_running(w, request, open_seconds, answer, note);
    if (outcome != WORKER_ANSWERED && w->compiling[0])
        return compiler_failed(w, outcome, note, error);
    if (outcome != WORKER_ANSWERED)
        return error_set(error, HONE_ERROR_DEVICE, "the device cannot be used for measuring: %s", note);
    return answer_error(*answer, error);
}

static hone_status open_target(struct worker *w, hone_error *error)
{
    json_t *answer = NULL;
    hone_status status = ask_at_start(w, w->target, &answer, error);
    json_decref(w->description);
    w->description = status ? NULL : json_incref(answer);
    json_decref(answer);
    return status;
}

static hone_status open_child(struct worker *w, hone_error *error)
{
    json_t *answer = NULL,
           *request = json_pack("{s:s, s:s, s:b}", "do", "open", "device", w->device, "no_disk", w->no_disk);
    hone_status status = request ? spawn(w, error) : error_memory(error, "a request");
    THEN(status, ask_at_start(w, request, &answer, error));
    if (!status && !record_read_device(answer, &w->device_record))
        status =
            error_set(error, HONE_ERROR_DEVICE, "the device cannot be used for measuring: it has no name");
    json_decref(request);
    json_decref(answer);
    if (!status && w->target)
        status = open_target(w, error);
    if (status)
        reap(w, NULL, 0);
    return status;
}

hone_status worker_start(struct worker *w, const char *device, bool no_disk, hone_error *error)
{
    *w = (struct worker){.to = -1, .from = -1, .no_disk = no_disk, .memory = worker_memory_limit()};
    snprintf(w->device, sizeof w->device, "%s", device ? device : "auto");
    signal(SIGPIPE, SIG_IGN); /* a child that died is seen by the failing write */
    return open_child(w, error);
}

hone_status worker_target(struct worker *w, json_t *request, hone_error *error)
{
    json_decref(w->target);
    w->target = json_incref(request);
    return w->pid > 0 ? open_target(w, error) : open_child(w, error);
}

void worker_stop(struct worker *w)
{
    close_ends(w); /* the end of its input ends the child, unless a kernel hangs */
    wait_for_end(w, end_ms);
    reap(w, NULL, 0);
    json_decref(w->target);
    json_decref(w->description);
    w->target = w->description = NULL;
}

void worker_end(struct worker *w)
{
    reap(w, NULL, 0);
}

/* A child may have ended since its last answer: killed, or by what a driver did late. */
static void forget_dead(struct worker *w)
{
    if (w->pid > 0 && waitpid(w->pid, NULL, WNOHANG) == w->pid) {
        w->pid = 0;
        close_ends(w);
    }
}

enum worker_outcome worker_ready(struct worker *w, char note[512])
{
    hone_error error = {0};
    forget_dead(w);
    snprintf(note, 512, "interrupted");
    if (worker_given_up(w))
        return WORKER_GIVEN_UP;
    if (w->pid > 0 || open_child(w, &error) == HONE_OK)
        return WORKER_ANSWERED;
    snprintf(note, 512, "%.500s", error.message);
    return worker_given_up(w) ? WORKER_GIVEN_UP : WORKER_UNABLE;
}

enum worker_outcome worker_ask(struct worker *w, json_t *request, double seconds, json_t **answer,
                               char note[512])
{
    *answer = NULL;
    for (int turn = 0; turn < 2; turn++) {
        enum worker_outcome outcome = worker_ready(w, note);
        if (outcome == WORKER_ANSWERED)
            outcome = ask_running(w, request, seconds, answer, note);
        if (outcome != WORKER_DIED || w->taken)
            return outcome;
    }
    return WORKER_UNABLE;
}

bool worker_is_lost(enum worker_outcome outcome, const char *note, hone_error *failure, bool *interrupted)
{
    if (outcome == WORKER_GIVEN_UP)
        *interrupted = true;
    if (outcome == WORKER_UNABLE && failure->status == HONE_OK)
        error_set(failure, HONE_ERROR_DEVICE,
                  "tuning ends early because no process can measure any more: %s. What was measured is kept: "
                  "the next call resumes",
                  note);
    return outcome == WORKER_UNABLE || outcome == WORKER_GIVEN_UP;
}

static enum worker_outcome measure(struct worker *w, const char *variant, const char *config, double best,
                                   bool hold, double build_seconds, double run_seconds, struct measured *m)
{
    json_t *answer = NULL;
    json_t *request = json_pack("{s:s, s:s, s:s, s:f, s:b}", "do", "measure", "variant", variant, "config",
                                config, "best", best, "hold", hold);
    *m = (struct measured){.state = STATE_CRASH, .ms = -1, .note = "there is no memory for a request"};
    w->run_seconds = run_seconds;
    enum worker_outcome outcome =
        request ? worker_ask(w, request, build_seconds, &answer, m->note) : WORKER_UNABLE;
    if (outcome == WORKER_ANSWERED && !measured_read(m, answer))
        snprintf(m->note, sizeof m->note, "the process does not say what came of it");
    else if (outcome == WORKER_TIMED_OUT)
        m->state = STATE_TIMEOUT;
    else if (outcome == WORKER_UNABLE || outcome == WORKER_GIVEN_UP)
        m->state = STATE_ABANDONED;
    /* An illegal access may leave a context in which nothing works any more, and what computes wrong numbers
     * may have written where others read: the next gets another process. */
    if (outcome == WORKER_ANSWERED && (m->state == STATE_RUN || m->state == STATE_WRONG))
        reap(w, NULL, 0);
    json_decref(request);
    json_decref(answer);
    return outcome;
}

bool worker_was_preparing(const struct worker *w, enum worker_outcome outcome)
{
    return w->preparing && (outcome == WORKER_DIED || outcome == WORKER_TOO_LARGE);
}

enum worker_outcome worker_measure(struct worker *w, const char *variant, const char *config, double best,
                                   double build_seconds, double run_seconds, struct measured *m)
{
    return measure(w, variant, config, best, false, build_seconds, run_seconds, m);
}

enum worker_outcome worker_hold(struct worker *w, const char *variant, const char *config,
                                double build_seconds, double run_seconds, struct measured *m)
{
    return measure(w, variant, config, -1, true, build_seconds, run_seconds, m);
}

void worker_prepare(struct worker *w, const char *variant, const char *config)
{
    char note[512];
    json_t *answer = NULL,
           *request = json_pack("{s:s, s:s, s:s}", "do", "prepare", "variant", variant, "config", config);
    if (request && w->pid > 0 && worker_ask(w, request, open_seconds, &answer, note) == WORKER_ANSWERED)
        w->preparing = true;
    json_decref(request);
    json_decref(answer);
}
