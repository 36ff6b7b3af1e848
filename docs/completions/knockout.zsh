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
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
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
            (demo)
_arguments "${_arguments_options[@]}" : \
'--out=[The folder to make; it must not exist]:DIR:_files' \
'--preset=[The synthetic yeast]:PRESET:(tiny small yeast)' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(data)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_knockout__subcmd__data_commands" \
"*::: :->data" \
&& ret=0

    case $state in
    (data)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-data-command-$line[1]:"
        case $line[1] in
            (synth)
_arguments "${_arguments_options[@]}" : \
'--preset=[Where to start\: tiny (200 genes), small (1,500) or yeast (6,607 genes, 2.4 million edges, 332,313 triples)]:PRESET:(tiny small yeast)' \
'--samples=[How many samples; the preset'\''s number if not given]:N:_default' \
'--seed=[The seed]:S:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':out -- The dataset folder to make; it must not exist:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists the keys:_default' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'--recipe=[Take all sources and choices from a TOML file; options given here come on top]:FILE:_files' \
'--data=[The folder that relative file names start from; else \`KNOCKOUT_DATA\`, else the current folder]:DIR:_files' \
'*--genes=[Genes of the table]:SOURCE:_default' \
'*--aliases=[More names for the genes]:SOURCE:_default' \
'*--network=[A network, or several from one file]:SOURCE:_default' \
'--metabolism=[A metabolic model]:SOURCE:_default' \
'*--screen=[A screen; samples keep the order of the screens and their rows]:SOURCE:_default' \
'--alleles=[Which perturbations to import; the kind column tells them apart \[default\: all\]]:WHICH:((deletion\:"Samples whose every gene was deleted"
all\:"All of them"))' \
'--duplicates=[What to do with repeated measurements of the same genes and kind \[default\: mean\]]:HOW:((mean\:"Mean, count, and the p-value of a t-test of the mean"
first\:"Keep the first"
error\:"Stop with an error"))' \
'--name=[The dataset'\''s name; that of its folder otherwise]:NAME:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--allow-missing[Go on when a source loses more than 20 % of its rows to unknown genes]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':out -- The dataset'\''s folder, which must not exist yet:_files' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--seed=[The seed of the splits whose sizes are shown]:S:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(split)
_arguments "${_arguments_options[@]}" : \
'--split=[What is kept apart between the parts]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--seed=[The seed]:S:_default' \
'(--folds)--val=[Share of the samples that validate]:SHARE:_default' \
'(--folds)--test=[Share of the samples that test]:SHARE:_default' \
'--folds=[Divide into this many folds instead\: one tests, the next validates]:K:_default' \
'--fold=[The fold that tests, from 0]:I:_default' \
'--samples=[Keep only this many samples, from each part in proportion]:N:_default' \
'--out=[The Parquet file to write (columns sample, part); without it the sizes are shown and nothing is written]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
'--processor=[The representation to measure]:PROCESSOR:((perturbation\:"Gene indices only; the default for every model"
mask\:"Bit masks over genes, edges and reactions"
resident-mask\:"The same masks, kept allocated\: cleared, used, restored"
saved-indices\:"Removed positions read from disk (\`data precompute --indices\`)"
saved-masks\:"Masks read from disk (\`data precompute --masks\`)"
subgraph\:"Every network rebuilt without the genes"
neighborhood\:"Only the genes within some hops"
all\:"All of them, side by side; stored ones where there is a store"))' \
'--batch=[Samples in a batch]:B:_default' \
'--collate=[How graphs are put together\: by reference, or copied once per sample as PyG does]:COLLATE:(shared replicated)' \
'--samples=[Distinct samples to process]:N:_default' \
'--seed=[The seed that chooses them]:S:_default' \
'--hops=[Hops of the neighbourhood processor]:K:_default' \
'*--store=[A folder of \`data precompute --out\`; may be repeated. DIR/saved-indices and DIR/saved-masks if not given]:FOLDER:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(precompute)
_arguments "${_arguments_options[@]}" : \
'--samples=[How many samples, drawn as \`data bench\` draws them; all if not given]:N:_default' \
'--seed=[The seed that chooses them]:S:_default' \
'--out=[The folder of the store; DIR/saved-indices or DIR/saved-masks if not given. LMDB needs a local disk]:FOLDER:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--indices[Store the positions that each deletion removes]' \
'--masks[Store a flag for every gene, edge, reaction and metabolic entry]' \
'(--indices)--bytes[Store one byte per flag instead of one bit, as the Python system did\: eight times the size]' \
'--dry-run[Say how large and how long, and stop there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__data__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-data-help-command-$line[1]:"
        case $line[1] in
            (synth)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(split)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(precompute)
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
(train)
_arguments "${_arguments_options[@]}" : \
'--model=[The model; a preset or a configuration may name it]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, or a NAME.toml of your own in presets/ or where \`KNOCKOUT_PRESETS\` says]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, or a NAME.toml of your own in presets/ or where \`KNOCKOUT_PRESETS\` says]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, or any part of one]:FILE:_files' \
'(--model --preset --config --out --batch --seed --split)--resume=[Go on with the run in this folder]:RUN:_files' \
'--data=[With --resume\: where the dataset is now, if not where it was; its contents are checked]:DIR:_files' \
'--out=[The run'\''s folder; by default runs/MODEL-DATASET-SEED]:RUN:_files' \
'--batch=[Samples in a batch]:B:_default' \
'--seed=[The seed of starting values and of the order of samples; the split has its own, split.seed]:S:_default' \
'--split=[What is held out\: records, query pairs or genes]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--epochs=[Epochs at most]:N:_default' \
'--max-steps=[Train on at most this many batches; 0 means no limit]:N:_default' \
'--max-time=[Save and stop after this long, such as 30m or 2h]:TIME:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::dir -- The dataset folder; not with --resume:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists the keys:_default' \
&& ret=0
;;
(baseline)
_arguments "${_arguments_options[@]}" : \
'--split=[What is kept apart between the parts]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'(--split --splits)--split-file=[A split file to take instead of making a split]:FILE:_files' \
'--part=[The part to predict]:PART:((train\:"What models are fitted to"
val\:"What choices are made on"
test\:"What is reported"))' \
'--seed=[The seed of the split and of the first MLP]:S:_default' \
'--seeds=[MLPs to train on the same split, with seeds S, S+1, …; shows the spread over them]:N:_default' \
'--splits=[Splits to make, with seeds S, S+1, …; shows the spread of every baseline over them]:N:_default' \
'--out=[A folder to make, with a prediction file per baseline (of the first split)]:FOLDER:_files' \
'--resamples=[Bootstrap resamples behind every interval]:N:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(evaluate)
_arguments "${_arguments_options[@]}" : \
'(--predictions)--state=[Which state of the runs; best-pearson where nothing is said, or last if no epoch has ended yet]:STATE:((best-pearson\:"The best validation Pearson"
best-mse\:"The least validation MSE"
last\:"The last one saved"))' \
'--predictions=[The prediction file]:FILE:_files' \
'--against=[A second prediction file over the same records, to compare with]:FILE:_files' \
'--data=[The dataset folder, where it is not the one that the run or the file names; its contents are checked]:DIR:_files' \
'--part=[The part\: of runs, test where nothing is said; of a file, the one it must be about]:PART:((train\:"What models are fitted to"
val\:"What choices are made on"
test\:"What is reported"))' \
'--resamples=[Bootstrap resamples behind every interval]:N:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::runs -- Folders of runs of one dataset and split. Seeds of one configuration show their spread and ensemble; unlike ones are compared record by record:_files' \
&& ret=0
;;
(profile)
_arguments "${_arguments_options[@]}" : \
'--model=[The model; a preset or a configuration may name it]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, or a NAME.toml of your own in presets/ or where \`KNOCKOUT_PRESETS\` says]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, or a NAME.toml of your own in presets/ or where \`KNOCKOUT_PRESETS\` says]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, or any part of one]:FILE:_files' \
'--mode=[How far a step goes]:MODE:((data\:"Fetching, processing and collating"
forward\:"That, the model and its loss"
backward\:"That, and gradients"
full\:"That, clipping and the optimiser"))' \
'--steps=[Steps to measure, after two to warm up; with a window or --at-step\: steps in all]:N:_default' \
'--batch=[Samples in a batch]:B:_default' \
'--seed=[The seed of starting values and of the order of samples; the split has its own, split.seed]:S:_default' \
'--split=[What is held out\: records, query pairs or genes]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--wait=[Steps before each window]:W:_default' \
'--warmup=[Steps of each window that are thrown away]:U:_default' \
'--active=[Steps of each window that are measured]:A:_default' \
'--repeat=[Windows]:R:_default' \
'(--active)--at-step=[Measure this step alone, from 0]:N:_default' \
'--out=[Write profile.json, trace.json.gz and report.html into this new folder]:RUN:_files' \
'--html=[Write the findings as one self-contained HTML file; - is standard output]:FILE:_files' \
'--against=[Set an earlier run beside this one\: its folder, or what \`knockout profile --json\` printed]:RUN_A:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--no-trace[Record no spans\: phases only, no layers, no trace]' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists the keys:_default' \
&& ret=0
;;
(experiment)
_arguments "${_arguments_options[@]}" : \
'*--models=[The models; by default the one that --preset or --config is for, else all there are]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, or a NAME.toml of your own in presets/ or where \`KNOCKOUT_PRESETS\` says]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, or a NAME.toml of your own in presets/ or where \`KNOCKOUT_PRESETS\` says]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, or any part of one]:FILE:_files' \
'*--modes=[The modes; by default all four. Parts of a step are compared where all are measured]:MODE:((data\:"Fetching, processing and collating"
forward\:"That, the model and its loss"
backward\:"That, and gradients"
full\:"That, clipping and the optimiser"))' \
'*--processors=[Ways to represent a deletion, by default what loader.processor says; the first is what the others are compared with]:PROCESSOR:((perturbation\:"Gene indices only; the default for every model"
mask\:"Bit masks over genes, edges and reactions"
resident-mask\:"The same masks, kept allocated\: cleared, used, restored"
saved-indices\:"Removed positions read from disk (\`data precompute --indices\`)"
saved-masks\:"Masks read from disk (\`data precompute --masks\`)"
subgraph\:"Every network rebuilt without the genes"
neighborhood\:"Only the genes within some hops"))' \
'--rounds=[Rounds\: in each, every cell has its turn]:N:_default' \
'--max-time=[Take no more rounds than fit into this time, such as 5m, but at least 3 of --rounds]:TIME:_default' \
'--steps=[Steps of a turn that count; a multiple of 4 is fair to accumulated gradients]:N:_default' \
'--warmup=[Steps of a turn before them that do not]:N:_default' \
'--batch=[Samples in a batch]:B:_default' \
'--seed=[The seed of starting values and of the order of samples; the split has its own, split.seed]:S:_default' \
'--split=[What is held out\: records, query pairs or genes]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--out=[The folder to make; by default runs/experiment-DATASET]:DIR:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--ablate[Also measure the switches that could make training faster, and rank them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists the keys:_default' \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_knockout__subcmd__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-config-command-$line[1]:"
        case $line[1] in
            (show)
_arguments "${_arguments_options[@]}" : \
'--preset=[The synthetic yeast to start from]:PRESET:(tiny small yeast)' \
'(--preset)--model=[Show what \`train\` and \`profile\` take for this model instead]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"))' \
'--experiment=[Start from a preset of the model\: as \`train --preset\`]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, or any part of one]:FILE:_files' \
'--data=[The dataset folder the model is for\: its networks are part of the configuration]:DIR:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::keys -- Changes as key=value; `knockout config show` lists the keys:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__config__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-config-help-command-$line[1]:"
        case $line[1] in
            (show)
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
(compare)
_arguments "${_arguments_options[@]}" : \
'*--vary=[Conditions that are meant to differ, such as model,batch]:KEY:_default' \
'--html=[Also write the comparison as one self-contained HTML file]:FILE:_files' \
'--fail-above=[Exit with code 5 if a sample of B takes more than RATIO times as long as one of A]:RATIO:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':a -- The run to compare with\: its folder, or what `knockout profile --json` printed:_files' \
':b -- The run to judge; ratios are b / a:_files' \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
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
'--collapsed=[Also write collapsed stacks (self time in nanoseconds) for flame graph programs; - is standard output]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--strict[Refuse damaged traces instead of using what can be read of them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- Traces, plain or gzip, one per rank; - is standard input:_files' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'*--against=[The trace to judge, or its ranks; ratios are b / a]:B:_files' \
'--rules=[How events become categories\: \`default\` or a TOML file]:RULES:_default' \
'--html=[Also write the comparison as one self-contained HTML file]:FILE:_files' \
'--fail-above=[Exit with code 5 if a step of B takes more than RATIO times as long as one of A]:RATIO:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--strict[Refuse damaged traces instead of using what can be read of them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::traces -- The trace to compare with and the trace to judge, A and B; with --against the ranks of A alone:_files' \
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
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
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
(logs)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::logs -- Logs of training runs; - is standard input:_files' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on it]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
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
'(-v --verbose)-q[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'(-v --verbose)--quiet[Nothing on standard error but errors\: no progress, no remarks. Results are printed as ever]' \
'*-v[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also say the settings that were changed, and at the end wall and CPU time; twice for every stage]' \
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
            (demo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(data)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__help__subcmd__data_commands" \
"*::: :->data" \
&& ret=0

    case $state in
    (data)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-help-data-command-$line[1]:"
        case $line[1] in
            (synth)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(split)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(precompute)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(train)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(baseline)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(evaluate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(profile)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(experiment)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__help__subcmd__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-help-config-command-$line[1]:"
        case $line[1] in
            (show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
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
(logs)
_arguments "${_arguments_options[@]}" : \
&& ret=0
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
'demo:See it all on a small synthetic yeast\: make it, look at it, delete three genes, measure training and open the report' \
'data:Make, look at, check and divide datasets' \
'train:Train a model, or go on with a run that was interrupted' \
'baseline:Fit the baselines that know genes by identity alone\: what every model must beat' \
'evaluate:Say how good predictions are, beside the additive ridge on the same split' \
'profile:Measure where the time of a step goes, phase by phase and layer by layer' \
'experiment:Measure models in every mode, in turns and on the same batches, and report what can be compared' \
'config:Show configuration' \
'compare:Compare two measured runs per sample and per iteration, if their conditions allow it' \
'trace:Analyse, compare and convert traces of the PyTorch profiler' \
'logs:Read iterations per second out of Lightning and tqdm logs, bars told apart' \
'completions:Print completions for your shell' \
'man:Print the manual page, or write a page for every command' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout commands' commands "$@"
}
(( $+functions[_knockout__subcmd__baseline_commands] )) ||
_knockout__subcmd__baseline_commands() {
    local commands; commands=()
    _describe -t commands 'knockout baseline commands' commands "$@"
}
(( $+functions[_knockout__subcmd__compare_commands] )) ||
_knockout__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'knockout compare commands' commands "$@"
}
(( $+functions[_knockout__subcmd__completions_commands] )) ||
_knockout__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'knockout completions commands' commands "$@"
}
(( $+functions[_knockout__subcmd__config_commands] )) ||
_knockout__subcmd__config_commands() {
    local commands; commands=(
'show:Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout config commands' commands "$@"
}
(( $+functions[_knockout__subcmd__config__subcmd__help_commands] )) ||
_knockout__subcmd__config__subcmd__help_commands() {
    local commands; commands=(
'show:Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout config help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__config__subcmd__help__subcmd__help_commands] )) ||
_knockout__subcmd__config__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'knockout config help help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__config__subcmd__help__subcmd__show_commands] )) ||
_knockout__subcmd__config__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'knockout config help show commands' commands "$@"
}
(( $+functions[_knockout__subcmd__config__subcmd__show_commands] )) ||
_knockout__subcmd__config__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'knockout config show commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data_commands] )) ||
_knockout__subcmd__data_commands() {
    local commands; commands=(
'synth:Make a synthetic yeast\: real size and structure, known truth' \
'import:Make a dataset from the public yeast files' \
'show:Show what is in a dataset\: genes, networks, metabolism, scores, splits' \
'verify:Check a dataset\: checksums, index bounds, duplicates, everything the format promises' \
'split:Divide the samples into train, val and test, and keep the division as a file' \
'bench:Measure what each way of representing a deletion costs, per sample and phase' \
'precompute:Compute the masks or the removed positions of all samples beforehand and keep them in LMDB' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout data commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__bench_commands] )) ||
_knockout__subcmd__data__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data bench commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help_commands] )) ||
_knockout__subcmd__data__subcmd__help_commands() {
    local commands; commands=(
'synth:Make a synthetic yeast\: real size and structure, known truth' \
'import:Make a dataset from the public yeast files' \
'show:Show what is in a dataset\: genes, networks, metabolism, scores, splits' \
'verify:Check a dataset\: checksums, index bounds, duplicates, everything the format promises' \
'split:Divide the samples into train, val and test, and keep the division as a file' \
'bench:Measure what each way of representing a deletion costs, per sample and phase' \
'precompute:Compute the masks or the removed positions of all samples beforehand and keep them in LMDB' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout data help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__bench_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help bench commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__help_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__import_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help import commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__precompute_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__precompute_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help precompute commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__show_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help show commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__split_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__split_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help split commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__synth_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__synth_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help synth commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__verify_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help verify commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__import_commands] )) ||
_knockout__subcmd__data__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data import commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__precompute_commands] )) ||
_knockout__subcmd__data__subcmd__precompute_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data precompute commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__show_commands] )) ||
_knockout__subcmd__data__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data show commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__split_commands] )) ||
_knockout__subcmd__data__subcmd__split_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data split commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__synth_commands] )) ||
_knockout__subcmd__data__subcmd__synth_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data synth commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__verify_commands] )) ||
_knockout__subcmd__data__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data verify commands' commands "$@"
}
(( $+functions[_knockout__subcmd__demo_commands] )) ||
_knockout__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'knockout demo commands' commands "$@"
}
(( $+functions[_knockout__subcmd__evaluate_commands] )) ||
_knockout__subcmd__evaluate_commands() {
    local commands; commands=()
    _describe -t commands 'knockout evaluate commands' commands "$@"
}
(( $+functions[_knockout__subcmd__experiment_commands] )) ||
_knockout__subcmd__experiment_commands() {
    local commands; commands=()
    _describe -t commands 'knockout experiment commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help_commands] )) ||
_knockout__subcmd__help_commands() {
    local commands; commands=(
'demo:See it all on a small synthetic yeast\: make it, look at it, delete three genes, measure training and open the report' \
'data:Make, look at, check and divide datasets' \
'train:Train a model, or go on with a run that was interrupted' \
'baseline:Fit the baselines that know genes by identity alone\: what every model must beat' \
'evaluate:Say how good predictions are, beside the additive ridge on the same split' \
'profile:Measure where the time of a step goes, phase by phase and layer by layer' \
'experiment:Measure models in every mode, in turns and on the same batches, and report what can be compared' \
'config:Show configuration' \
'compare:Compare two measured runs per sample and per iteration, if their conditions allow it' \
'trace:Analyse, compare and convert traces of the PyTorch profiler' \
'logs:Read iterations per second out of Lightning and tqdm logs, bars told apart' \
'completions:Print completions for your shell' \
'man:Print the manual page, or write a page for every command' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__baseline_commands] )) ||
_knockout__subcmd__help__subcmd__baseline_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help baseline commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__compare_commands] )) ||
_knockout__subcmd__help__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help compare commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__completions_commands] )) ||
_knockout__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help completions commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__config_commands] )) ||
_knockout__subcmd__help__subcmd__config_commands() {
    local commands; commands=(
'show:Print the resolved configuration, of the synthetic yeast or of a model, with your overrides applied' \
    )
    _describe -t commands 'knockout help config commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__config__subcmd__show_commands] )) ||
_knockout__subcmd__help__subcmd__config__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help config show commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data_commands] )) ||
_knockout__subcmd__help__subcmd__data_commands() {
    local commands; commands=(
'synth:Make a synthetic yeast\: real size and structure, known truth' \
'import:Make a dataset from the public yeast files' \
'show:Show what is in a dataset\: genes, networks, metabolism, scores, splits' \
'verify:Check a dataset\: checksums, index bounds, duplicates, everything the format promises' \
'split:Divide the samples into train, val and test, and keep the division as a file' \
'bench:Measure what each way of representing a deletion costs, per sample and phase' \
'precompute:Compute the masks or the removed positions of all samples beforehand and keep them in LMDB' \
    )
    _describe -t commands 'knockout help data commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__bench_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data bench commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__import_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data import commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__precompute_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__precompute_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data precompute commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__show_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data show commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__split_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__split_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data split commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__synth_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__synth_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data synth commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__verify_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data verify commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__demo_commands] )) ||
_knockout__subcmd__help__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help demo commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__evaluate_commands] )) ||
_knockout__subcmd__help__subcmd__evaluate_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help evaluate commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__experiment_commands] )) ||
_knockout__subcmd__help__subcmd__experiment_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help experiment commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__help_commands] )) ||
_knockout__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__logs_commands] )) ||
_knockout__subcmd__help__subcmd__logs_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help logs commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__man_commands] )) ||
_knockout__subcmd__help__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help man commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__profile_commands] )) ||
_knockout__subcmd__help__subcmd__profile_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help profile commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__trace_commands] )) ||
_knockout__subcmd__help__subcmd__trace_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces, or the ranks of two runs, per step\: categories, operations, conditions' \
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
(( $+functions[_knockout__subcmd__help__subcmd__train_commands] )) ||
_knockout__subcmd__help__subcmd__train_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help train commands' commands "$@"
}
(( $+functions[_knockout__subcmd__logs_commands] )) ||
_knockout__subcmd__logs_commands() {
    local commands; commands=()
    _describe -t commands 'knockout logs commands' commands "$@"
}
(( $+functions[_knockout__subcmd__man_commands] )) ||
_knockout__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'knockout man commands' commands "$@"
}
(( $+functions[_knockout__subcmd__profile_commands] )) ||
_knockout__subcmd__profile_commands() {
    local commands; commands=()
    _describe -t commands 'knockout profile commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace_commands] )) ||
_knockout__subcmd__trace_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces, or the ranks of two runs, per step\: categories, operations, conditions' \
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
'compare:Compare two traces, or the ranks of two runs, per step\: categories, operations, conditions' \
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
(( $+functions[_knockout__subcmd__train_commands] )) ||
_knockout__subcmd__train_commands() {
    local commands; commands=()
    _describe -t commands 'knockout train commands' commands "$@"
}

if [ "$funcstack[1]" = "_knockout" ]; then
    _knockout "$@"
else
    compdef _knockout knockout
fi
