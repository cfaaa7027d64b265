/* The program behind every name that the random lines can start: it appends its own path and its arguments to a log.
 *
 * LOG is the folder of the logs, NB (an environment variable) the number of the line, and so the name of its log.  A record is
 * "path NUL argument NUL ... NUL NUL", where each argument has an "=" before it.  The program prints words that would matter if a shell
 * read them, and reads some of its input first, so that a loop that feeds it does not end when it does.  It fails where an argument is
 * "nothing", and the other way round once a line has started many programs, so that most loops end; where they do not, it ends what
 * started it.  It has no C library, as a third of the time would go into starting that.
 */
#define TEXT "-o mark ./ls $(mark)\n"
enum { MANY = 300, TOO_MANY = 2000, SIZE = 60000 };

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, OPENAT = 257, READLINKAT = 267, LSEEK = 8, KILL = 62, GETPPID = 110, EXIT = 231 };
static long call(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, OPENAT = 56, READLINKAT = 78, LSEEK = 62, KILL = 129, GETPPID = 173, EXIT = 94 };
static long call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
__asm__(".globl _start\n_start: mov x0, sp\n bl start\n");
#else
#error "write the system call of this processor here"
#endif

static char record[SIZE];
static int used;

static void put(const char *text) {
    while (*text && used < SIZE - 3) record[used++] = *text++;
}

static int same(const char *one, const char *other) {
    while (*one && *one == *other) one++, other++;
    return *one == *other;
}

void start(long *stack) {
    long count = stack[0];
    char **arguments = (char **)(stack + 1), **environment = arguments + count + 1;
    static char path[4200] = LOG "/";
    const char *number = "none";
    int failed = 0, place = sizeof(LOG);
    for (; *environment; environment++)
        if (environment[0][0] == 'N' && environment[0][1] == 'B' && environment[0][2] == '=') number = *environment + 3;
    for (int at = 0; at < 8 && number[at] && number[at] != '/'; at++) path[place++] = number[at];
    used = (int)call(READLINKAT, -100, (long)"/proc/self/exe", (long)record, 4096);
    if (used < 0) used = 0;
    record[used++] = 0;
    for (long at = 0; at < count && used < SIZE - 3; at++) {
        put("=");
        put(arguments[at]);
        record[used++] = 0;
        failed |= at > 0 && same(arguments[at], "nothing");
    }
    record[used++] = 0;
    long log = call(OPENAT, -100, (long)path, 02001 | 0100, 0644);
    call(WRITE, log, (long)record, used, 0);
    long size = call(LSEEK, log, 0, 1, 0);
    if (size > TOO_MANY && call(GETPPID, 0, 0, 0, 0) > 1) call(KILL, call(GETPPID, 0, 0, 0, 0), 9, 0, 0);
    if (log < 0) failed = 1;
    for (long all = 0, some = 1; some > 0 && all < SIZE; all += some) some = call(READ, 0, (long)record, SIZE, 0);
    call(WRITE, 1, (long)TEXT, sizeof(TEXT) - 1, 0);
    call(EXIT, failed != (size > MANY), 0, 0, 0);
    __builtin_unreachable();
}
