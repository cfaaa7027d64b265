# What the bash of a terminal reads in place of ~/.bashrc, which it reads first.
#
# It tells the terminal, in a sequence that no screen shows, when a command line begins, when it has ended (and its exit code) and when the
# prompt is complete.

[ -r ~/.bashrc ] && . ~/.bashrc

unset HISTFILE # the person's history is not for what is typed here
set +H         # a "!" is a character
bind 'set disable-completion on' # so is a tab: what a name is completed to has not been judged

__nbtools_told="7711;$NBTOOLS_TERMINAL_KEY"
__nbtools_mark="\\[\\e]$__nbtools_told;ready\\e\\\\\\]"
unset NBTOOLS_TERMINAL_KEY

__nbtools_ended() {
  __nbtools_status=$?
  printf '\e]%s;ended;%s\e\\' "$__nbtools_told" "$__nbtools_status"
  return "$__nbtools_status"
}

# A prompt that is made afresh each time loses the mark.
__nbtools_ready() {
  case $PS1 in
    *"$__nbtools_mark") ;;
    *) PS1=$PS1$__nbtools_mark ;;
  esac
}

PS0="${PS0-}\\e]$__nbtools_told;begun\\e\\\\"
__nbtools_commands=$(printf '%s\n' "${PROMPT_COMMAND[@]}")
unset PROMPT_COMMAND
PROMPT_COMMAND="__nbtools_ended
$__nbtools_commands
__nbtools_ready"
unset __nbtools_commands
