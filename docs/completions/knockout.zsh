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
            (trace)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_knockout__subcmd__trace_commands" \
"*::: :->trace" \
&& ret=0

    case $state in
    (trace)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-trace-command-$line[1]:"
        case $line[1] in
            (analyze)
_arguments "${_arguments_options[@]}" : \
'--rules=[How events become categories\: \`default\`, \`reference\` (substring rules, nested time counted again) or a TOML file]:RULES:_default' \
'--html=[Also write the findings as one self-contained HTML file]:FILE:_files' \
'--collapsed=[Also write collapsed stacks (own time in nanoseconds) for flame graph programs; - is standard output]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--strict[Refuse damaged traces instead of using what can be read of them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- Traces, plain or gzip, one per rank; - is standard input:_files' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'--rules=[How events become categories\: \`default\` or a TOML file]:RULES:_default' \
'--html=[Also write the comparison as one self-contained HTML file]:FILE:_files' \
'--fail-above=[Exit with code 5 if a step of B takes more than RATIO times as long as one of A]:RATIO:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--strict[Refuse damaged traces instead of using what can be read of them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
':a -- The trace to compare with:_files' \
':b -- The trace to judge; ratios are b / a:_files' \
&& ret=0
;;
(convert)
_arguments "${_arguments_options[@]}" : \
'--from=[Keep what ends at this time or later, in milliseconds after the first event]:MS:_default' \
'--to=[Keep what begins before this time, in milliseconds after the first event]:MS:_default' \
'*--rank=[Keep only traces of this rank (\`distributedInfo\`); may be repeated]:N:_default' \
'*--category=[Keep only events of this category (\`cat\`, in any case); may be repeated]:CAT:_default' \
'--min-duration=[Drop complete events shorter than this, in microseconds]:US:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--force[Replace the output if it exists]' \
'--strict[Refuse damaged traces instead of using what can be read of them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Say only what went wrong]' \
'(-v --verbose)--quiet[Say only what went wrong]' \
'*-v[Say more; twice for details]' \
'*--verbose[Say more; twice for details]' \
'-h[Print help]' \
'--help[Print help]' \
'*::inputs -- Traces to read, plain or gzip; - is standard input:_files' \
':output -- Trace to write; packed if the name ends in .gz:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__trace__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-trace-help-command-$line[1]:"
        case $line[1] in
            (analyze)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(convert)
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
;;
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
            (trace)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__help__subcmd__trace_commands" \
"*::: :->trace" \
&& ret=0

    case $state in
    (trace)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-help-trace-command-$line[1]:"
        case $line[1] in
            (analyze)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(convert)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
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
'trace:Analyse, compare and convert traces of the PyTorch profiler' \
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
'trace:Analyse, compare and convert traces of the PyTorch profiler' \
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
(( $+functions[_knockout__subcmd__help__subcmd__trace_commands] )) ||
_knockout__subcmd__help__subcmd__trace_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces per step\: categories, operations, conditions' \
'convert:Make a trace smaller, repair it, or merge the traces of several ranks' \
    )
    _describe -t commands 'knockout help trace commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__trace__subcmd__analyze_commands] )) ||
_knockout__subcmd__help__subcmd__trace__subcmd__analyze_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help trace analyze commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__trace__subcmd__compare_commands] )) ||
_knockout__subcmd__help__subcmd__trace__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help trace compare commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__trace__subcmd__convert_commands] )) ||
_knockout__subcmd__help__subcmd__trace__subcmd__convert_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help trace convert commands' commands "$@"
}
(( $+functions[_knockout__subcmd__man_commands] )) ||
_knockout__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'knockout man commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace_commands] )) ||
_knockout__subcmd__trace_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces per step\: categories, operations, conditions' \
'convert:Make a trace smaller, repair it, or merge the traces of several ranks' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout trace commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__analyze_commands] )) ||
_knockout__subcmd__trace__subcmd__analyze_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace analyze commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__compare_commands] )) ||
_knockout__subcmd__trace__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace compare commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__convert_commands] )) ||
_knockout__subcmd__trace__subcmd__convert_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace convert commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__help_commands] )) ||
_knockout__subcmd__trace__subcmd__help_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces per step\: categories, operations, conditions' \
'convert:Make a trace smaller, repair it, or merge the traces of several ranks' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout trace help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__help__subcmd__analyze_commands] )) ||
_knockout__subcmd__trace__subcmd__help__subcmd__analyze_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace help analyze commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__help__subcmd__compare_commands] )) ||
_knockout__subcmd__trace__subcmd__help__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace help compare commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__help__subcmd__convert_commands] )) ||
_knockout__subcmd__trace__subcmd__help__subcmd__convert_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace help convert commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__help__subcmd__help_commands] )) ||
_knockout__subcmd__trace__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace help help commands' commands "$@"
}

if [ "$funcstack[1]" = "_knockout" ]; then
    _knockout "$@"
else
    compdef _knockout knockout
fi
