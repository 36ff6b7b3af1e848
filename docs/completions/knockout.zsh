#compdef knockout

autoload -U is-at-least

_knockout() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_knockout_commands" \
"*::: :->knockout" \
&& ret=0
    case $state in
    (knockout)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-command-$line[1]:"
        case $line[1] in
            (completions)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
':shell -- The shell to complete in:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'--out=[Write one page per command into this folder, which must exist]:DIR:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'(--out)--markdown[Print the help of every command as Markdown]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-help-command-$line[1]:"
        case $line[1] in
            (completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_knockout_commands] )) ||
_knockout_commands() {
    local commands; commands=(
'completions:Print completions for your shell' \
'man:Print the manual page, or write a page for every command' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout commands' commands "$@"
}
(( $+functions[_knockout__subcmd__completions_commands] )) ||
_knockout__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'knockout completions commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help_commands] )) ||
_knockout__subcmd__help_commands() {
    local commands; commands=(
'completions:Print completions for your shell' \
'man:Print the manual page, or write a page for every command' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__completions_commands] )) ||
_knockout__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help completions commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__help_commands] )) ||
_knockout__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__man_commands] )) ||
_knockout__subcmd__help__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help man commands' commands "$@"
}
(( $+functions[_knockout__subcmd__man_commands] )) ||
_knockout__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'knockout man commands' commands "$@"
}

if [ "$funcstack[1]" = "_knockout" ]; then
    _knockout "$@"
else
    compdef _knockout knockout
fi
