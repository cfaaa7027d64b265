"""Deliberate differences from Codex, each with its reason."""

DIFFERENCES: tuple[str, ...] = (
    (
        "`apply_patch` changes all files or none, and each hunk must fit one place; Codex leaves earlier"
        " files changed when a later one fails, and takes the first place that fits, which may be the wrong"
        " one."
    ),
    (
        "`apply_patch` does not overwrite: Add File for an existing file and Move to one are refused, because"
        " content would be lost unseen."
    ),
    (
        "`apply_patch` adds no newline at the end of a file that had none: the patch did not ask for it;"
        " Codex adds one."
    ),
    (
        "`apply_patch` reports a wall time of 0: a patch takes milliseconds, and a varying time would only"
        " make equal results differ."
    ),
    (
        "`bash -lc SCRIPT` runs the script with `bash -c`, and `login` has no effect: a login shell's"
        " start-up files could change what the policy has judged. `exec_command` with another `shell` runs"
        " that shell as a program."
    ),
    (
        "`sandbox_permissions`, `justification` and `prefix_rule` are ignored: the person and the policy"
        " decide what runs, and the settings decide about the sandbox."
    ),
    (
        "`shell` and `exec_command` are both declared, as are their former names read; Codex declares one of"
        " them, depending on the model. Their replies are the text of the current generation, not the JSON of"
        " earlier ones."
    ),
    (
        "`exec_command` with `tty` runs without a terminal: a session is a background command here, which has"
        " no input, so a program that asks gets no answer and one that reads ends."
    ),
    "`exec_command` returns no chunk ID, which names nothing that a model could use.",
    (
        "`write_stdin` with empty `chars` returns as soon as there is output or the command has ended, not at"
        " the end of its time; its wall time is that of the whole command."
    ),
    (
        "`write_stdin` with the key Ctrl-C ends a command without a terminal; Codex refuses all input to it,"
        " and has no other tool to end it."
    ),
    (
        "At most 40,000 characters of output are returned, also for a greater `max_output_tokens`; the text"
        " names the file with the rest."
    ),
)
