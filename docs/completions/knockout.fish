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

complete -c knockout -n "__fish_knockout_needs_command" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_needs_command" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_needs_command" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_needs_command" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_needs_command" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_needs_command" -s V -l version -d 'Print version'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "demo" -d 'See it all on a small synthetic yeast: train models, see how good they are, find hits, see where the time goes'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "data" -d 'Make, look at, check and divide datasets'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "train" -d 'Train a model, or resume a run that was interrupted'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "baseline" -d 'Fit the baselines that every network must beat, from the mean to the stack'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "evaluate" -d 'Measure the accuracy of predictions, with the stack and the additive ridge on the same split'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "benchmark" -d 'Train every model on every split and compare them'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "sweep" -d 'Search settings of a model by successive halving, on the validation part'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "predict" -d 'Predict gene sets with trained models, up to hundreds of millions'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "explain" -d 'Explain one prediction: networks, neighbours, genes, and measurements nearby'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "pack" -d 'Pack a run and its dataset into one file, to pass it on'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "explore" -d 'Look at genes, predictions, runs and traces in the browser'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "profile" -d 'Measure where the time of a step goes, phase by phase and layer by layer'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "experiment" -d 'Measure models in every mode, alternately and on the same batches, and compare them'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "config" -d 'Show configuration'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "runs" -d 'List the runs in a folder: model, data, split, best validation, CPU time, state'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "compare" -d 'Compare two measured runs per sample and per iteration, if their conditions allow it; or two experiments, or two trained runs'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "trace" -d 'Analyse, compare, convert and export traces of the PyTorch profiler'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "logs" -d 'Read iterations per second from Lightning and tqdm logs, separately for each bar'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "completions" -d 'Print completions for your shell'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "man" -d 'Print the manual page, or write a page for every command'
complete -c knockout -n "__fish_knockout_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand demo" -l out -d 'The folder to make; it must not exist' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand demo" -l preset -d 'The synthetic yeast' -r -f -a "tiny\t''
small\t''
yeast\t''
pairs\t''
triples\t''"
complete -c knockout -n "__fish_knockout_using_subcommand demo" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand demo" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand demo" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand demo" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "synth" -d 'Make a synthetic yeast: real size and structure, known truth'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "import" -d 'Make a dataset from your own screen or the public yeast files'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "show" -d 'Show what is in a dataset: genes, networks, metabolism, annotations, scores, splits'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "delete" -d 'Show the effect of deleting genes: edges removed, reactions stopped, genes reached, and measured scores'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "verify" -d 'Check a dataset: checksums, index bounds, duplicates, everything the format promises'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "split" -d 'Divide the samples into train, val and test, and keep the division as a file'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "bench" -d 'Measure the cost of each representation of a deletion, per sample and phase'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "precompute" -d 'Compute the masks or the removed positions of all samples beforehand and keep them in LMDB'
complete -c knockout -n "__fish_knockout_using_subcommand data; and not __fish_seen_subcommand_from synth import show delete verify split bench precompute help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -l preset -d 'Where to start: tiny (200 genes), small (1,500), yeast (6,607 genes, 2.4 million edges, 332,313 triples) or pairs (20 million pairs of the yeast\'s genes)' -r -f -a "tiny\t''
small\t''
yeast\t''
pairs\t''
triples\t''"
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -l samples -d 'How many samples; the preset\'s number if not given' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -l seed -d 'The seed' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from synth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l recipe -d 'Take all sources and choices from a TOML file; options given here are added' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l data -d 'The folder that relative file names start from; else `KNOCKOUT_DATA`, else the current folder' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l genes -d 'Genes of the table' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l aliases -d 'More names for the genes' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l network -d 'A network, or several from one file' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l metabolism -d 'A metabolic model' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l features -d 'Content features of the genes; columns of several sources are put side by side' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l annotations -d 'Terms that genes are annotated with, such as GO terms, complexes or pathways; each source is a set of its own' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l screen -d 'A screen; samples keep the order of the screens and their rows' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l alleles -d 'Alleles to import, and whether those of the same genes stay apart [default: apart]' -r -f -a "apart\t'All, a sample for each; only repeats of the same alleles are merged'
merge\t'All, those of the same genes and kind merged like repeats'
all\t'Earlier name of merge'
deletion\t'Samples whose every gene was deleted'"
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l duplicates -d 'Treatment of repeated measurements of the same genes, kind and alleles [default: mean]' -r -f -a "mean\t'Mean, count, and the p-value of a t-test of the mean'
first\t'Keep the first'
error\t'Stop with an error'"
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l unpack-mib -d 'MiB that a packed file may unpack to. Workbooks always have this limit; gzip and Parquet only where they unpack to over 100 times their size [default: 1024]' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l from-interactions -d 'A network, feature or set of annotations that derives from genetic interactions; reports name it. Known sources need no mark' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l independent -d 'One that does not, although its name is that of a known source' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l name -d 'The dataset\'s name; that of its folder otherwise' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l allow-missing -d 'Continue when a source loses more than 20 % of its rows to unknown genes'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -l seed -d 'The seed of the splits whose sizes are shown' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -l gene -d 'Show one gene instead, by systematic or standard name: its neighbours, its terms and its samples' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from delete" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from delete" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from verify" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from verify" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l split -d 'Unit that no two parts share' -r -f -a "random\t'Records, one by one; records of one query pair are related, so this leaks'
pair-disjoint\t'Query pairs: none occurs in two parts'
gene-disjoint\t'Genes: every val and test sample has a gene that training never saw'"
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l seed -d 'The seed' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l val -d 'Share of the validation part' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l test -d 'Share of the test part' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l folds -d 'Divide into this many folds instead: one for testing, the next for validation' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l fold -d 'The test fold, from 0' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l samples -d 'Keep only this many samples, from each part in proportion' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l out -d 'The Parquet file to write (columns sample, part); without it the sizes are shown and nothing is written' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from split" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l processor -d 'The representation to measure' -r -f -a "perturbation\t'Gene indices only; the default for every model'
mask\t'Bit masks over genes, edges and reactions'
resident-mask\t'Masks that stay allocated: cleared, used, restored'
saved-indices\t'Removed positions read from disk (`data precompute --indices`)'
saved-masks\t'Masks read from disk (`data precompute --masks`)'
subgraph\t'Every network rebuilt without the genes'
neighborhood\t'Only the genes within some hops'
all\t'All of them, side by side; stored ones where there is a store'"
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l batch -d 'Samples in a batch' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l collate -d 'How graphs are collated: by reference, or copied once per sample as PyG does' -r -f -a "shared\t''
replicated\t''"
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l samples -d 'Distinct samples to process' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l seed -d 'The seed that chooses them' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l hops -d 'Hops of the neighbourhood processor' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l store -d 'A folder of `data precompute --out`; may be repeated. DIR/saved-indices and DIR/saved-masks if not given' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l samples -d 'How many samples, drawn as `data bench` draws them; all if not given' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l seed -d 'The seed that chooses them' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l out -d 'The folder of the store; DIR/saved-indices or DIR/saved-masks if not given. LMDB needs a local disk' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l indices -d 'Store the positions that each deletion removes'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l masks -d 'Store a flag for every gene, edge, reaction and metabolic entry'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l bytes -d 'Store one byte per flag instead of one bit, as the Python system did: eight times the size'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l dry-run -d 'Print the estimate and stop'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from precompute" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "synth" -d 'Make a synthetic yeast: real size and structure, known truth'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "import" -d 'Make a dataset from your own screen or the public yeast files'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show what is in a dataset: genes, networks, metabolism, annotations, scores, splits'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Show the effect of deleting genes: edges removed, reactions stopped, genes reached, and measured scores'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Check a dataset: checksums, index bounds, duplicates, everything the format promises'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "split" -d 'Divide the samples into train, val and test, and keep the division as a file'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "bench" -d 'Measure the cost of each representation of a deletion, per sample and phase'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "precompute" -d 'Compute the masks or the removed positions of all samples beforehand and keep them in LMDB'
complete -c knockout -n "__fish_knockout_using_subcommand data; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand train" -l model -d 'The model; by default that of the preset or configuration, otherwise the stack of the solved models' -r -f -a "stack\t'ridge of genes and query pairs, low rank, network kernel, profiles and trees, weighted on held-out records'
low-rank\t'ridge of genes and query pairs, and exact low-rank completion of its residuals'
network-kernel\t'Gaussian process over the cell\'s networks; predicts genes without training records'
dango\t'Embeddings from the STRING networks, a score for the deleted genes'
hetero\t'A graph network over all networks that sees the cell with the genes gone'
transformer\t'Attention over all genes, pulled towards the networks; the deleted genes change each other'"
complete -c knockout -n "__fish_knockout_using_subcommand train" -l preset -l experiment -d 'Start from a preset: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder `KNOCKOUT_PRESETS`' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l config -d 'Start from a configuration file: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand train" -l resume -d 'Resume the run in this folder' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand train" -l data -d 'With --resume: the dataset folder, if it has moved; its contents are checked' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand train" -l out -d 'The run\'s folder; by default runs/MODEL-DATASET-SEED, with a split that is not the default before the seed. With --ensemble, RUN-SEED' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand train" -l on-residuals-of -d 'Train on the residuals of this run; its predictions are added when predicting. It must have the same dataset and split' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand train" -l with -d 'Stack this run with the solved model, weighted on the validation part; may be given several times' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand train" -l ensemble -d 'Train N runs one after the other that differ in their seed, from --seed on; evaluate and predict take them together' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l batch -d 'Samples in a batch' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l seed -d 'The seed of the initial weights and of the order of samples; the split has its own, split.seed' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l split -d 'Unit that is held out: records, query pairs or genes' -r -f -a "random\t'Records, one by one; records of one query pair are related, so this leaks'
pair-disjoint\t'Query pairs: none occurs in two parts'
gene-disjoint\t'Genes: every val and test sample has a gene that training never saw'"
complete -c knockout -n "__fish_knockout_using_subcommand train" -l ranks -d 'Share every step among N processes of this machine; the weights are those of one process with as many shards' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l epochs -d 'Epochs at most' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l max-steps -d 'Train on at most this many batches; 0 means no limit' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l max-time -d 'Save and stop after this long, such as 30m or 2h' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand train" -l resume-or-start -d 'Resume the run if it exists, otherwise start it (for requeued jobs)'
complete -c knockout -n "__fish_knockout_using_subcommand train" -l fast -d 'Solve the stack without its boosted trees: about a fifth of the time, slightly less accurate'
complete -c knockout -n "__fish_knockout_using_subcommand train" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand train" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand train" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand train" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l split -d 'Unit that no two parts share' -r -f -a "random\t'Records, one by one; records of one query pair are related, so this leaks'
pair-disjoint\t'Query pairs: none occurs in two parts'
gene-disjoint\t'Genes: every val and test sample has a gene that training never saw'"
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l split-file -d 'A split file to take instead of making a split' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l part -d 'The part to predict' -r -f -a "train\t'What models are fitted to'
val\t'What choices are made on'
test\t'What is reported'"
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l seed -d 'The seed of the split and of the first MLP' -r
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l seeds -d 'MLPs to train on the same split, with seeds S, S+1, …; shows the spread over them' -r
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l splits -d 'Splits to make, with seeds S, S+1, …; shows the spread of every baseline over them' -r
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l out -d 'A folder to make, with a prediction file per baseline (of the first split)' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l resamples -d 'Bootstrap resamples behind every interval' -r
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand baseline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l state -d 'State of the runs; by default best-pearson, or last if no epoch has ended yet' -r -f -a "best-pearson\t'The best validation Pearson'
best-mse\t'The least validation MSE'
last\t'The last one saved'"
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l predictions -d 'The prediction file' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l against -d 'A second prediction file over the same records, to compare with' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l data -d 'The dataset folder, where it is not the one that the run or the file names; its contents are checked' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l part -d 'The part: of runs, test by default; of a file, the one it must be about' -r -f -a "train\t'What models are fitted to'
val\t'What choices are made on'
test\t'What is reported'"
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l resamples -d 'Bootstrap resamples behind every interval' -r
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l html -d 'Write a page: scatter plot, precision and recall, calibration, and accuracy by gene, of the first model' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand evaluate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l split -d 'Units that are held out, separated by commas; schemes that do not apply to a dataset are left out' -r -f -a "random\t'Records, one by one; records of one query pair are related, so this leaks'
pair-disjoint\t'Query pairs: none occurs in two parts'
gene-disjoint\t'Genes: every val and test sample has a gene that training never saw'"
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l splits -d 'Splits of each kind, with seeds S, S+1, …, which are those of the models too' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l seed -d 'The first seed' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l models -d 'Models and baselines, with commas; by default all models, the additive ridge and the gene MLP' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l budget -d 'CPU time of each network on each split, such as 90s, 10m or 2h; 0 for no limit but its epochs' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l set -d 'Change a setting of a model: MODEL:key=value' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l out -d 'The folder of runs, figures, table and page; by default runs/benchmark-DATASETS' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l resamples -d 'Bootstrap resamples behind every interval' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand benchmark" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -l model -d 'The model, one that is trained step by step' -r -f -a "dango\t'Embeddings from the STRING networks, a score for the deleted genes'
hetero\t'A graph network over all networks that sees the cell with the genes gone'
transformer\t'Attention over all genes, pulled towards the networks; the deleted genes change each other'"
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -l budget -d 'CPU time of all runs together, such as 30m or 2h' -r
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -l keep -d 'Keep one in this many settings for the next rung' -r
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -l out -d 'The folder of the runs; by default runs/sweep-MODEL-DATASET' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand sweep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l out -d 'The folder of predictions; an interrupted one is resumed' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l state -d 'State of the runs; by default the best Pearson, or the last where no epoch has ended' -r -f -a "best-pearson\t'The best validation Pearson'
best-mse\t'The least validation MSE'
last\t'The last one saved'"
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l data -d 'The dataset folder, if it is no longer where the runs were trained; its contents must be the same' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l sets -d 'Sets of genes in a TSV, CSV, xlsx or Parquet file, by systematic or standard names; sets.csv has its rows with predictions' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l dataset-part -d 'The samples of a part of the dataset' -r -f -a "train\t'What models are fitted to'
val\t'What choices are made on'
test\t'What is reported'"
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l genes -d 'Genes to choose from: `measured` (those with a sample), `all`, or a file with a name on each line' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l with -d 'Genes that every set has: one or two names; two alone mean triples, one alone pairs where all samples are pairs' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l exclude -d 'Leave out sets with a gene of this file, such as essential genes' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l min-degree -d 'Leave out sets with a gene of fewer edges, over all networks' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l top -d 'Keep only the K highest predictions, in top.csv; with --full all are kept as well' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l bottom -d 'Keep only the K lowest predictions, in bottom.csv; with --full all are kept as well' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l negative-below -d 'A negative hit is false if its score is not below this; by default -3 for S-scores and -0.08 for others' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l positive-above -d 'A positive hit is false if its score is not above this; by default 2 for S-scores and 0.08 for others' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l html -d 'Write a page of hits: highest and lowest, distributions, and accuracy on the test part' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l part -d 'Predict the i-th of n disjoint ranges alone, such as 3/7, or `auto` in a Slurm job array or under srun or mpirun; `predict merge` joins them' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l block -d 'Candidates in a block; by default as many as take seconds' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l pairs -d 'All pairs of --genes'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l triples -d 'All triples of --genes'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l not-measured -d 'Leave out sets that the dataset has a score for'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l full -d 'Keep every prediction although --top or --bottom is given'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l csv -d 'Write predictions.csv besides the Parquet blocks'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l xlsx -d 'Write hits.xlsx: the highest and lowest predictions and the terms they have in common, for Excel'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l cytoscape -d 'Write hits.cyjs: the highest and lowest predictions as a network, for Cytoscape'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -a "merge" -d 'Join the parts of a prediction, and check that none is missing'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and not __fish_seen_subcommand_from merge help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -l top -d 'The K highest predictions into top.csv; by default as many as the parts kept' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -l bottom -d 'The K lowest predictions into bottom.csv; by default as many as the parts kept' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -l csv -d 'Write predictions.csv besides the Parquet blocks'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from help" -f -a "merge" -d 'Join the parts of a prediction, and check that none is missing'
complete -c knockout -n "__fish_knockout_using_subcommand predict; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l state -d 'State of the run; by default the best Pearson, or the last where no epoch has ended' -r -f -a "best-pearson\t'The best validation Pearson'
best-mse\t'The least validation MSE'
last\t'The last one saved'"
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l data -d 'The dataset folder, if it is no longer where the run was trained; its contents must be the same' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l neighbours -d 'Neighbours to leave out in turn, each with a forward pass of its own; of a stack, similar profiles to list' -r
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l nearest -d 'Nearest measured samples to list' -r
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l html -d 'Write a page with a drawing of the neighbourhood' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand explain" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand explain" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand explain" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l out -d 'The file to write' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l state -d 'State of the run; by default the best Pearson, or the last where no epoch has ended' -r -f -a "best-pearson\t'The best validation Pearson'
best-mse\t'The least validation MSE'
last\t'The last one saved'"
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l data -d 'The dataset folder, if it is no longer where the run was trained; its contents must be the same' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l licence -d 'Licence of the model and its data, for the card' -r
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand pack" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand pack" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand pack" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand pack" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand explore" -l data -d 'The dataset folder, if it is no longer where the runs were trained; its contents must be the same' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand explore" -l port -d 'Port on 127.0.0.1; by default a free one' -r
complete -c knockout -n "__fish_knockout_using_subcommand explore" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand explore" -l no-open -d 'Print the address without opening a browser'
complete -c knockout -n "__fish_knockout_using_subcommand explore" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand explore" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand explore" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand explore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l model -d 'The model; a preset or a configuration may name it' -r -f -a "dango\t'Embeddings from the STRING networks, a score for the deleted genes'
hetero\t'A graph network over all networks that sees the cell with the genes gone'
transformer\t'Attention over all genes, pulled towards the networks; the deleted genes change each other'"
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l preset -l experiment -d 'Start from a preset: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder `KNOCKOUT_PRESETS`' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l config -d 'Start from a configuration file: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l mode -d 'How far a step goes' -r -f -a "data\t'Fetching, processing and collating'
forward\t'That, the model and its loss'
backward\t'That, and gradients'
full\t'That, clipping and the optimiser'"
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l steps -d 'Steps to measure, after two to warm up; with a window or --at-step: steps in all' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l batch -d 'Samples in a batch' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l seed -d 'The seed of the initial weights and of the order of samples; the split has its own, split.seed' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l split -d 'Unit that is held out: records, query pairs or genes' -r -f -a "random\t'Records, one by one; records of one query pair are related, so this leaks'
pair-disjoint\t'Query pairs: none occurs in two parts'
gene-disjoint\t'Genes: every val and test sample has a gene that training never saw'"
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l ranks -d 'Share every step among N processes of this machine; the weights are those of one process with as many shards' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l wait -d 'Steps before each window' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l warmup -d 'Warm-up steps of each window' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l active -d 'Steps of each window that are measured' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l repeat -d 'Windows' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l at-step -d 'Measure this step alone, from 0' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l memory-event -d 'The event of perf that counts lines of 64 bytes read from memory, if not that of the processor' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l out -d 'Write profile.json, trace.json.gz and report.html into this new folder' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l html -d 'Write the findings as one self-contained HTML file; - is standard output' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l collapsed -d 'Write the spans as collapsed stacks (self time in nanoseconds; with --perf, samples by function) for flame graph programs; - is standard output' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l against -d 'Compare with an earlier run: its folder, or the output of `knockout profile --json`' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l no-trace -d 'Record no spans: phases only, no layers, no trace'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l perf -d 'Sample the functions that each phase and layer takes its CPU time in, with Linux\'s perf; its perf.data stays in RUN'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand profile" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l models -d 'The models; by default the one that --preset or --config is for, else all there are' -r -f -a "dango\t'Embeddings from the STRING networks, a score for the deleted genes'
hetero\t'A graph network over all networks that sees the cell with the genes gone'
transformer\t'Attention over all genes, pulled towards the networks; the deleted genes change each other'"
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l preset -l experiment -d 'Start from a preset: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder `KNOCKOUT_PRESETS`' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l config -d 'Start from a configuration file: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l modes -d 'The modes; by default all four. Parts of a step are compared where all are measured' -r -f -a "data\t'Fetching, processing and collating'
forward\t'That, the model and its loss'
backward\t'That, and gradients'
full\t'That, clipping and the optimiser'"
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l processors -d 'Representations of a deletion, by default loader.processor; the others are compared with the first' -r -f -a "perturbation\t'Gene indices only; the default for every model'
mask\t'Bit masks over genes, edges and reactions'
resident-mask\t'Masks that stay allocated: cleared, used, restored'
saved-indices\t'Removed positions read from disk (`data precompute --indices`)'
saved-masks\t'Masks read from disk (`data precompute --masks`)'
subgraph\t'Every network rebuilt without the genes'
neighborhood\t'Only the genes within some hops'"
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l ranks -d 'Measure on each of these numbers of ranks, alternately; the others are compared with the first. They are processes of this machine, or started by --launcher' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l launcher -d 'Launcher of ranks on several machines, such as mpirun, with its options; -n and their number are added' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l round -d 'One round of an experiment over ranks, as the program starts itself' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l round-out -d 'Where that round goes' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l round-ranks -d 'Ranks of that round, if no launcher starts them' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l rounds -d 'Rounds; each measures every cell once' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l max-time -d 'End after this time, such as 5m, with the rounds that are complete by then' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l steps -d 'Measured steps of a cell per round; a multiple of 4 is fair to accumulated gradients' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l warmup -d 'Warm-up steps before them' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l batch -d 'Samples in a batch' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l seed -d 'The seed of the initial weights and of the order of samples; the split has its own, split.seed' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l split -d 'Unit that is held out: records, query pairs or genes' -r -f -a "random\t'Records, one by one; records of one query pair are related, so this leaks'
pair-disjoint\t'Query pairs: none occurs in two parts'
gene-disjoint\t'Genes: every val and test sample has a gene that training never saw'"
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l out -d 'The folder to make; by default runs/experiment-DATASET' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l ablate -d 'Also measure the switches that could make training faster, and rank them'
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand experiment" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -f -a "show" -d 'Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied'
complete -c knockout -n "__fish_knockout_using_subcommand config; and not __fish_seen_subcommand_from show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -l model -d 'The model; a preset or a configuration may name it' -r -f -a "stack\t'ridge of genes and query pairs, low rank, network kernel, profiles and trees, weighted on held-out records'
low-rank\t'ridge of genes and query pairs, and exact low-rank completion of its residuals'
network-kernel\t'Gaussian process over the cell\'s networks; predicts genes without training records'
dango\t'Embeddings from the STRING networks, a score for the deleted genes'
hetero\t'A graph network over all networks that sees the cell with the genes gone'
transformer\t'Attention over all genes, pulled towards the networks; the deleted genes change each other'"
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -l preset -l experiment -d 'Start from a preset: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder `KNOCKOUT_PRESETS`' -r
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Start from a configuration file: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -l data -d 'The dataset folder the model is for: its networks are part of the configuration' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied'
complete -c knockout -n "__fish_knockout_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand runs" -l sort -d 'Order of the runs' -r -f -a "name\t'Folders by name'
best\t'The best validation Pearson'
cpu\t'The most CPU time'
model\t'Models by name, then the best'
state\t'Runs in training, then done, unfinished and empty ones'"
complete -c knockout -n "__fish_knockout_using_subcommand runs" -l html -d 'Also write a page with curves laid over each other' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand runs" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand runs" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand runs" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand runs" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand runs" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand runs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand compare" -l vary -d 'Conditions that are meant to differ, such as model,batch' -r
complete -c knockout -n "__fish_knockout_using_subcommand compare" -l html -d 'Also write the comparison as one self-contained HTML file' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand compare" -l fail-above -d 'Exit with code 5 if a sample of B takes more than RATIO times as long as one of A' -r
complete -c knockout -n "__fish_knockout_using_subcommand compare" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand compare" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand compare" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand compare" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand compare" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -f -a "analyze" -d 'Show where the time of a trace went'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -f -a "compare" -d 'Compare two traces, or the ranks of two runs, per step: categories, operations, conditions'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -f -a "convert" -d 'Make a trace smaller, repair it, or merge the traces of several ranks'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -f -a "export" -d 'Write the events, spans, kernels and collectives of traces as Parquet files'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and not __fish_seen_subcommand_from analyze compare convert export help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l rules -d 'How events become categories: `default`, `reference` (substring rules, nested time counted again) or a TOML file' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l html -d 'Also write the findings as one self-contained HTML file' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l collapsed -d 'Also write collapsed stacks (self time in nanoseconds) for flame graph programs; - is standard output' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l peak-flops -d 'Floating-point operations per second that the device can do, for shares and the roofline: 312T, 9.8e13. Common GPUs are known by name' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l peak-bandwidth -d 'Bytes per second of the device\'s memory: 2.04T, 900G' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l strict -d 'Refuse damaged traces instead of using their readable part'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from analyze" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l against -d 'The trace to judge, or its ranks; ratios are b / a' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l rules -d 'How events become categories: `default` or a TOML file' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l html -d 'Also write the comparison as one self-contained HTML file' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l fail-above -d 'Exit with code 5 if a step of B takes more than RATIO times as long as one of A' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l samples-per-step -d 'Compare per sample: how many a step has in A and in B' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l force -d 'Replace an output file even if it is not of the kind that knockout writes there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l strict -d 'Refuse damaged traces instead of using their readable part'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l from -d 'Keep what ends at this time or later, in milliseconds after the first event' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l to -d 'Keep events that start before this time, in milliseconds after the first event' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l rank -d 'Keep only traces of this rank (`distributedInfo`); may be repeated' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l category -d 'Keep only events of this category (`cat`, in any case); may be repeated' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l min-duration -d 'Drop complete events shorter than this, in microseconds' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l force -d 'Replace the output if it exists'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l strict -d 'Refuse damaged traces instead of using their readable part'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from convert" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -l out -d 'Folder to make; it must not exist. A table of many rows has several files: read `spans-*.parquet`' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -l rules -d 'How events become categories: `default` or a TOML file' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -l strict -d 'Refuse damaged traces instead of using their readable part'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "analyze" -d 'Show where the time of a trace went'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "compare" -d 'Compare two traces, or the ranks of two runs, per step: categories, operations, conditions'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "convert" -d 'Make a trace smaller, repair it, or merge the traces of several ranks'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write the events, spans, kernels and collectives of traces as Parquet files'
complete -c knockout -n "__fish_knockout_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand logs" -l read-mib -d 'MiB that are read of each log; a longer one is refused' -r
complete -c knockout -n "__fish_knockout_using_subcommand logs" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand logs" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand logs" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand logs" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand logs" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand completions" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand completions" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand man" -l out -d 'Write one page per command into this folder, which is made where it is missing' -r -F
complete -c knockout -n "__fish_knockout_using_subcommand man" -l threads -d 'Worker threads; 0 means one per core. Results do not depend on this' -r
complete -c knockout -n "__fish_knockout_using_subcommand man" -l markdown -d 'Print the help of every command as Markdown'
complete -c knockout -n "__fish_knockout_using_subcommand man" -l json -d 'Print one JSON document on standard output and nothing else there'
complete -c knockout -n "__fish_knockout_using_subcommand man" -s q -l quiet -d 'Print only errors on standard error: no progress, no notes. Results are still printed'
complete -c knockout -n "__fish_knockout_using_subcommand man" -s v -l verbose -d 'Also print changed settings, and at the end wall and CPU time; twice for every stage'
complete -c knockout -n "__fish_knockout_using_subcommand man" -s h -l help -d 'Print help'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "demo" -d 'See it all on a small synthetic yeast: train models, see how good they are, find hits, see where the time goes'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "data" -d 'Make, look at, check and divide datasets'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "train" -d 'Train a model, or resume a run that was interrupted'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "baseline" -d 'Fit the baselines that every network must beat, from the mean to the stack'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "evaluate" -d 'Measure the accuracy of predictions, with the stack and the additive ridge on the same split'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "benchmark" -d 'Train every model on every split and compare them'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "sweep" -d 'Search settings of a model by successive halving, on the validation part'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "predict" -d 'Predict gene sets with trained models, up to hundreds of millions'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "explain" -d 'Explain one prediction: networks, neighbours, genes, and measurements nearby'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "pack" -d 'Pack a run and its dataset into one file, to pass it on'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "explore" -d 'Look at genes, predictions, runs and traces in the browser'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "profile" -d 'Measure where the time of a step goes, phase by phase and layer by layer'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "experiment" -d 'Measure models in every mode, alternately and on the same batches, and compare them'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "config" -d 'Show configuration'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "runs" -d 'List the runs in a folder: model, data, split, best validation, CPU time, state'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "compare" -d 'Compare two measured runs per sample and per iteration, if their conditions allow it; or two experiments, or two trained runs'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "trace" -d 'Analyse, compare, convert and export traces of the PyTorch profiler'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "logs" -d 'Read iterations per second from Lightning and tqdm logs, separately for each bar'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "completions" -d 'Print completions for your shell'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "man" -d 'Print the manual page, or write a page for every command'
complete -c knockout -n "__fish_knockout_using_subcommand help; and not __fish_seen_subcommand_from demo data train baseline evaluate benchmark sweep predict explain pack explore profile experiment config runs compare trace logs completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "synth" -d 'Make a synthetic yeast: real size and structure, known truth'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "import" -d 'Make a dataset from your own screen or the public yeast files'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "show" -d 'Show what is in a dataset: genes, networks, metabolism, annotations, scores, splits'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "delete" -d 'Show the effect of deleting genes: edges removed, reactions stopped, genes reached, and measured scores'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "verify" -d 'Check a dataset: checksums, index bounds, duplicates, everything the format promises'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "split" -d 'Divide the samples into train, val and test, and keep the division as a file'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "bench" -d 'Measure the cost of each representation of a deletion, per sample and phase'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from data" -f -a "precompute" -d 'Compute the masks or the removed positions of all samples beforehand and keep them in LMDB'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from predict" -f -a "merge" -d 'Join the parts of a prediction, and check that none is missing'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "analyze" -d 'Show where the time of a trace went'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "compare" -d 'Compare two traces, or the ranks of two runs, per step: categories, operations, conditions'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "convert" -d 'Make a trace smaller, repair it, or merge the traces of several ranks'
complete -c knockout -n "__fish_knockout_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "export" -d 'Write the events, spans, kernels and collectives of traces as Parquet files'
