# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_knockout_global_optspecs
    string join \n json threads= q/quiet v/verbose h/help V/version
end

function __fish_knockout_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_knockout_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_knockout_using_subcommand
    set -l cmd (__fish_knockout_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c knockout -n "__fish_knockout_needs_command" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_needs_command" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_needs_command" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_needs_command" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_needs_command" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_needs_command" -s V -l version -d 'Print version'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "trace" -d 'Analyse, compare and convert traces of the PyTorch profiler'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "completions" -d 'Print completions for your shell'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "man" -d 'Print the manual page, or write a page for every command'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -f -a "analyze" -d 'Show where the time of a trace went'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -f -a "compare" -d 'Compare two traces per step: categories, operations, conditions'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -f -a "convert" -d 'Make a trace smaller, repair it, or merge the traces of several ranks'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l rules -d 'How events become categories: `default`, `reference` (substring rules, nested time counted again) or a TOML file' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l html -d 'Also write the findings as one self-contained HTML file' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l collapsed -d 'Also write collapsed stacks (own time in nanoseconds) for flame graph programs; - is standard output' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l strict -d 'Refuse damaged traces instead of using what can be read of them'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l rules -d 'How events become categories: `default` or a TOML file' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l html -d 'Also write the comparison as one self-contained HTML file' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l fail-above -d 'Exit with code 5 if a step of B takes more than RATIO times as long as one of A' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l strict -d 'Refuse damaged traces instead of using what can be read of them'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l from -d 'Keep what ends at this time or later, in milliseconds after the first event' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l to -d 'Keep what begins before this time, in milliseconds after the first event' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l rank -d 'Keep only traces of this rank (`distributedInfo`); may be repeated' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l category -d 'Keep only events of this category (`cat`, in any case); may be repeated' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l min-duration -d 'Drop complete events shorter than this, in microseconds' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l force -d 'Replace the output if it exists'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l strict -d 'Refuse damaged traces instead of using what can be read of them'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "analyze" -d 'Show where the time of a trace went'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Compare two traces per step: categories, operations, conditions'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "convert" -d 'Make a trace smaller, repair it, or merge the traces of several ranks'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_using_subcommand completions" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand man" -l out -d 'Write one page per command into this folder, which must exist' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand man" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on it' -r
complete -c knockout -n "__fish_knockout_using_subcommand man" -l markdown -d 'Print the help of every command as Markdown'
complete -c knockout -n "__fish_knockout_using_subcommand man" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand man" -s q -l quiet -d 'Say only what went wrong'
complete -c knockout -n "__fish_knockout_using_subcommand man" -s v -l verbose -d 'Say more; twice for details'
complete -c knockout -n "__fish_knockout_using_subcommand man" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from trace completions man help" -f -a "trace" -d 'Analyse, compare and convert traces of the PyTorch profiler'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from trace completions man help" -f -a "completions" -d 'Print completions for your shell'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from trace completions man help" -f -a "man" -d 'Print the manual page, or write a page for every command'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from trace completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "analyze" -d 'Show where the time of a trace went'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "compare" -d 'Compare two traces per step: categories, operations, conditions'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "convert" -d 'Make a trace smaller, repair it, or merge the traces of several ranks'
