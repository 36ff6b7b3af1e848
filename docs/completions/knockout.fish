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
complete -c knockout -n "__fish_knockout_needs_command" -f -a "completions" -d 'Print completions for your shell'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "man" -d 'Print the manual page, or write a page for every command'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
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
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from completions man help" -f -a "completions" -d 'Print completions for your shell'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from completions man help" -f -a "man" -d 'Print the manual page, or write a page for every command'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
