"""The deliberate differences between nbtools and Gemini CLI, each with its reason."""

DIFFERENCES = (
    (
        "`run_shell_command` with a command substitution: Gemini CLI refuses it even after approval; here the"
        " policy decides about it as about any other part of the command."
    ),
    (
        "Several calls in one message: calls that change something run one after another, also commands,"
        " which Gemini CLI runs side by side unless `wait_for_previous` is set: their changes can so be"
        " undone one by one. After a denial, the calls that have not begun are cancelled as there."
    ),
    (
        "Processes that `run_shell_command` starts with `&` go on as in Gemini CLI, but end with the session"
        " or the kernel at the latest: nothing may outlive the notebook unseen."
    ),
    (
        "The output of `read_background_output`, resources of MCP servers and errors that MCP servers report"
        " are marked as untrusted, too: they are as little to be trusted as what Gemini CLI marks."
    ),
    (
        "`replace` in a file with both CRLF and LF: Gemini CLI rewrites all line endings as CRLF; here lines"
        " that are not replaced keep theirs, so that a diff shows only the change."
    ),
    (
        "`replace` with an inexact `old_string`: Gemini CLI takes a text that differs in the blanks beside"
        " brackets, and indents all new lines as the first one; here such blanks are named in the error, new"
        " lines keep their nesting, the file's own characters stay where both texts agree, and an ambiguous"
        " indentation is refused."
    ),
    (
        "Parameters of former versions (`offset`, `limit`, `path`, `include`, `directory`,"
        " `expected_replacements` …) are read, in every mix; Gemini CLI ignores them today, so that a call"
        " would do something else than it says. Parameters that no version had are ignored as there, except"
        " under the former names `edit` and `grep`, which are names of nbtools' own tools, too."
    ),
    (
        "`list_directory` lists links that lead nowhere or outside the workspace, marked; Gemini CLI leaves"
        " broken ones out, so that a model cannot see why a file cannot be created there."
    ),
    (
        "`read_file` reads a text file of any size in parts, and says how to go on; Gemini CLI refuses files"
        " over 20 MB, so that their lines can be read by commands only."
    ),
    (
        "`read_many_files` reads a file named in `include` even if it is of a kind that is left out by"
        " default, such as `dist/a.txt`."
    ),
    (
        "Ignore files: `.geminiignore` holds as in Gemini CLI, with the last word over `.gitignore`, also"
        " where git is not used; the setting `ignore_files` names others (`.aiexclude`), and `read_ignored`"
        " lets git-ignored files be read by name, which Gemini CLI refuses by default. Up to 200 kB and 2,000"
        " patterns of a file are read, so that a hostile one cannot block."
    ),
    (
        "`grep_search` finds git-ignored files that `.geminiignore` makes visible (`!name`), as `glob` does;"
        " Gemini CLI's ripgrep engine does not."
    ),
    (
        "Audio and video are recognised by a file's content, not by its name. A session gives them to Gemini"
        " models beside the function response (`recording_parts`), which cannot hold them, also those of MCP"
        " tools, which Gemini CLI drops; other models read type and size."
    ),
)
