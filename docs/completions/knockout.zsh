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
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
'--preset=[The synthetic yeast]:PRESET:(tiny small yeast pairs triples)' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(data)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
'--preset=[Where to start\: tiny (200 genes), small (1,500), yeast (6,607 genes, 2.4 million edges, 332,313 triples) or pairs (20 million pairs of the yeast'\''s genes)]:PRESET:(tiny small yeast pairs triples)' \
'--samples=[How many samples; the preset'\''s number if not given]:N:_default' \
'--seed=[The seed]:S:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':out -- The dataset folder to make; it must not exist:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists them (for training with --model and --data):_default' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'--recipe=[Take all sources and choices from a TOML file; options given here are added]:FILE:_files' \
'--data=[The folder that relative file names start from; else \`KNOCKOUT_DATA\`, else the current folder]:DIR:_files' \
'*--genes=[Genes of the table]:SOURCE:_default' \
'*--aliases=[More names for the genes]:SOURCE:_default' \
'*--network=[A network, or several from one file]:SOURCE:_default' \
'--metabolism=[A metabolic model]:SOURCE:_default' \
'*--features=[Content features of the genes; columns of several sources are put side by side]:SOURCE:_default' \
'*--annotations=[Terms that genes are annotated with, such as GO terms, complexes or pathways; each source is a set of its own]:SOURCE:_default' \
'*--screen=[A screen; samples keep the order of the screens and their rows]:SOURCE:_default' \
'--alleles=[Alleles to import, and whether those of the same genes stay apart \[default\: apart\]]:WHICH:((apart\:"All, a sample for each; only repeats of the same alleles are merged"
merge\:"All, those of the same genes and kind merged like repeats"
all\:"Earlier name of merge"
deletion\:"Samples whose every gene was deleted"))' \
'--duplicates=[Treatment of repeated measurements of the same genes, kind and alleles \[default\: mean\]]:HOW:((mean\:"Mean, count, and the p-value of a t-test of the mean"
first\:"Keep the first"
error\:"Stop with an error"))' \
'--unpack-mib=[MiB that a packed file may unpack to. Workbooks always have this limit; gzip and Parquet only where they unpack to over 100 times their size \[default\: 1024\]]:N:_default' \
'*--from-interactions=[A network, feature or set of annotations that derives from genetic interactions; reports name it. Known sources need no mark]:NAME:_default' \
'*--independent=[One that does not, although its name is that of a known source]:NAME:_default' \
'--name=[The dataset'\''s name; that of its folder otherwise]:NAME:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--allow-missing[Continue when a source loses more than 20 % of its rows to unknown genes]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':out -- The dataset'\''s folder, which must not exist yet:_files' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--seed=[The seed of the splits whose sizes are shown]:S:_default' \
'(--seed)--gene=[Show one gene instead, by systematic or standard name\: its neighbours, its terms and its samples]:GENE:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':dir -- The dataset folder; it stays as it is:_files' \
'*::genes -- The genes, by systematic or standard name:_default' \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(split)
_arguments "${_arguments_options[@]}" : \
'--split=[Unit that no two parts share]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--seed=[The seed]:S:_default' \
'(--folds)--val=[Share of the validation part]:SHARE:_default' \
'(--folds)--test=[Share of the test part]:SHARE:_default' \
'--folds=[Divide into this many folds instead\: one for testing, the next for validation]:K:_default' \
'--fold=[The test fold, from 0]:I:_default' \
'--samples=[Keep only this many samples, from each part in proportion]:N:_default' \
'--out=[The Parquet file to write (columns sample, part); without it the sizes are shown and nothing is written]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
'--processor=[The representation to measure]:PROCESSOR:((perturbation\:"Gene indices only; the default for every model"
mask\:"Bit masks over genes, edges and reactions"
resident-mask\:"Masks that stay allocated\: cleared, used, restored"
saved-indices\:"Removed positions read from disk (\`data precompute --indices\`)"
saved-masks\:"Masks read from disk (\`data precompute --masks\`)"
subgraph\:"Every network rebuilt without the genes"
neighborhood\:"Only the genes within some hops"
all\:"All of them, side by side; stored ones where there is a store"))' \
'--batch=[Samples in a batch]:B:_default' \
'--collate=[How graphs are collated\: by reference, or copied once per sample as PyG does]:COLLATE:(shared replicated)' \
'--samples=[Distinct samples to process]:N:_default' \
'--seed=[The seed that chooses them]:S:_default' \
'--hops=[Hops of the neighbourhood processor]:K:_default' \
'*--store=[A folder of \`data precompute --out\`; may be repeated. DIR/saved-indices and DIR/saved-masks if not given]:FOLDER:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--indices[Store the positions that each deletion removes]' \
'--masks[Store a flag for every gene, edge, reaction and metabolic entry]' \
'(--indices)--bytes[Store one byte per flag instead of one bit, as the Python system did\: eight times the size]' \
'--dry-run[Print the estimate and stop]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
(delete)
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
'--model=[The model; by default that of the preset or configuration, otherwise the stack of the solved models]:MODEL:((stack\:"ridge of genes and query pairs, low rank, network kernel, profiles and trees, weighted on held-out records"
low-rank\:"ridge of genes and query pairs, and exact low-rank completion of its residuals"
network-kernel\:"Gaussian process over the cell'\''s networks; predicts genes without training records"
dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"
transformer\:"Attention over all genes, pulled towards the networks; the deleted genes change each other"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system]:FILE:_files' \
'(--model --preset --config --out --batch --seed --split)--resume=[Resume the run in this folder]:RUN:_files' \
'--data=[With --resume\: the dataset folder, if it has moved; its contents are checked]:DIR:_files' \
'--out=[The run'\''s folder; by default runs/MODEL-DATASET-SEED, with a split that is not the default before the seed. With --ensemble, RUN-SEED]:RUN:_files' \
'(--resume)--on-residuals-of=[Train on the residuals of this run; its predictions are added when predicting. It must have the same dataset and split]:RUN:_files' \
'(--resume)*--with=[Stack this run with the solved model, weighted on the validation part; may be given several times]:RUN:_files' \
'(--resume --max-time)--ensemble=[Train N runs one after the other that differ in their seed, from --seed on; evaluate and predict take them together]:N:_default' \
'--batch=[Samples in a batch]:B:_default' \
'--seed=[The seed of the initial weights and of the order of samples; the split has its own, split.seed]:S:_default' \
'--split=[Unit that is held out\: records, query pairs or genes]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--ranks=[Share every step among N processes of this machine; the weights are those of one process with as many shards]:N:_default' \
'--epochs=[Epochs at most]:N:_default' \
'--max-steps=[Train on at most this many batches; 0 means no limit]:N:_default' \
'--max-time=[Save and stop after this long, such as 30m or 2h]:TIME:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'(--resume)--resume-or-start[Resume the run if it exists, otherwise start it (for requeued jobs)]' \
'(--resume)--fast[Solve the stack without its boosted trees\: about a fifth of the time, slightly less accurate]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::dir -- The dataset folder; not with --resume:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists them (for training with --model and --data):_default' \
&& ret=0
;;
(baseline)
_arguments "${_arguments_options[@]}" : \
'--split=[Unit that no two parts share]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
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
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
&& ret=0
;;
(evaluate)
_arguments "${_arguments_options[@]}" : \
'(--predictions)--state=[State of the runs; by default best-pearson, or last if no epoch has ended yet]:STATE:((best-pearson\:"The best validation Pearson"
best-mse\:"The least validation MSE"
last\:"The last one saved"))' \
'--predictions=[The prediction file]:FILE:_files' \
'--against=[A second prediction file over the same records, to compare with]:FILE:_files' \
'--data=[The dataset folder, where it is not the one that the run or the file names; its contents are checked]:DIR:_files' \
'--part=[The part\: of runs, test by default; of a file, the one it must be about]:PART:((train\:"What models are fitted to"
val\:"What choices are made on"
test\:"What is reported"))' \
'--resamples=[Bootstrap resamples behind every interval]:N:_default' \
'--html=[Write a page\: scatter plot, precision and recall, calibration, and accuracy by gene, of the first model]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::runs -- Folders of runs of one dataset and split. Seeds of one configuration show their spread and ensemble; unlike ones are compared record by record:_files' \
&& ret=0
;;
(benchmark)
_arguments "${_arguments_options[@]}" : \
'*--split=[Units that are held out, separated by commas; schemes that do not apply to a dataset are left out]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--splits=[Splits of each kind, with seeds S, S+1, …, which are those of the models too]:N:_default' \
'--seed=[The first seed]:S:_default' \
'*--models=[Models and baselines, with commas; by default all models, the additive ridge and the gene MLP]:NAMES:_default' \
'--budget=[CPU time of each network on each split, such as 90s, 10m or 2h; 0 for no limit but its epochs]:TIME:_default' \
'*--set=[Change a setting of a model\: MODEL\:key=value]:MODEL:KEY=VALUE:_default' \
'--out=[The folder of runs, figures, table and page; by default runs/benchmark-DATASETS]:FOLDER:_files' \
'--resamples=[Bootstrap resamples behind every interval]:N:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::dirs -- The dataset folders:_files' \
&& ret=0
;;
(sweep)
_arguments "${_arguments_options[@]}" : \
'--model=[The model, one that is trained step by step]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"
transformer\:"Attention over all genes, pulled towards the networks; the deleted genes change each other"))' \
'--budget=[CPU time of all runs together, such as 30m or 2h]:TIME:_default' \
'--keep=[Keep one in this many settings for the next rung]:N:_default' \
'--out=[The folder of the runs; by default runs/sweep-MODEL-DATASET]:FOLDER:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
'*::settings -- Settings\: key=value, or key=a,b,c to try each:_default' \
&& ret=0
;;
(predict)
_arguments "${_arguments_options[@]}" : \
'--out=[The folder of predictions; an interrupted one is resumed]:DIR:_files' \
'--state=[State of the runs; by default the best Pearson, or the last where no epoch has ended]:STATE:((best-pearson\:"The best validation Pearson"
best-mse\:"The least validation MSE"
last\:"The last one saved"))' \
'--data=[The dataset folder, if it is no longer where the runs were trained; its contents must be the same]:DIR:_files' \
'(--genes --with)--sets=[Sets of genes in a TSV, CSV, xlsx or Parquet file, by systematic or standard names; sets.csv has its rows with predictions]:FILE:_files' \
'(--genes --with)--dataset-part=[The samples of a part of the dataset]:PART:((train\:"What models are fitted to"
val\:"What choices are made on"
test\:"What is reported"))' \
'--genes=[Genes to choose from\: \`measured\` (those with a sample), \`all\`, or a file with a name on each line]:FILE:_files' \
'*--with=[Genes that every set has\: one or two names; two alone mean triples, one alone pairs where all samples are pairs]:GENE:_default' \
'--exclude=[Leave out sets with a gene of this file, such as essential genes]:FILE:_files' \
'--min-degree=[Leave out sets with a gene of fewer edges, over all networks]:N:_default' \
'--top=[Keep only the K highest predictions, in top.csv; with --full all are kept as well]:K:_default' \
'--bottom=[Keep only the K lowest predictions, in bottom.csv; with --full all are kept as well]:K:_default' \
'--negative-below=[A negative hit is false if its score is not below this; by default -3 for S-scores and -0.08 for others]:SCORE:_default' \
'--positive-above=[A positive hit is false if its score is not above this; by default 2 for S-scores and 0.08 for others]:SCORE:_default' \
'--html=[Write a page of hits\: highest and lowest, distributions, and accuracy on the test part]:FILE:_files' \
'--part=[Predict the i-th of n disjoint ranges alone, such as 3/7, or \`auto\` in a Slurm job array or under srun or mpirun; \`predict merge\` joins them]:I/N:_default' \
'--block=[Candidates in a block; by default as many as take seconds]:N:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--pairs[All pairs of --genes]' \
'--triples[All triples of --genes]' \
'--not-measured[Leave out sets that the dataset has a score for]' \
'--full[Keep every prediction although --top or --bottom is given]' \
'--csv[Write predictions.csv besides the Parquet blocks]' \
'--xlsx[Write hits.xlsx\: the highest and lowest predictions and the terms they have in common, for Excel]' \
'--cytoscape[Write hits.cyjs\: the highest and lowest predictions as a network, for Cytoscape]' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':runs -- Folders of runs; several of one dataset are an ensemble:_files' \
":: :_knockout__subcmd__predict_commands" \
"*::: :->predict" \
&& ret=0

    case $state in
    (predict)
        words=($line[2] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-predict-command-$line[2]:"
        case $line[2] in
            (merge)
_arguments "${_arguments_options[@]}" : \
'--top=[The K highest predictions into top.csv; by default as many as the parts kept]:K:_default' \
'--bottom=[The K lowest predictions into bottom.csv; by default as many as the parts kept]:K:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--csv[Write predictions.csv besides the Parquet blocks]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':out -- The folder to make:_files' \
'*::parts -- Folders that `knockout predict --part` made:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__predict__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-predict-help-command-$line[1]:"
        case $line[1] in
            (merge)
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
(explain)
_arguments "${_arguments_options[@]}" : \
'--state=[State of the run; by default the best Pearson, or the last where no epoch has ended]:STATE:((best-pearson\:"The best validation Pearson"
best-mse\:"The least validation MSE"
last\:"The last one saved"))' \
'--data=[The dataset folder, if it is no longer where the run was trained; its contents must be the same]:DIR:_files' \
'--neighbours=[Neighbours to leave out in turn, each with a forward pass of its own; of a stack, similar profiles to list]:N:_default' \
'--nearest=[Nearest measured samples to list]:N:_default' \
'--html=[Write a page with a drawing of the neighbourhood]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':run -- The run'\''s folder:_files' \
'*::genes -- The genes, by systematic or standard names:_default' \
&& ret=0
;;
(pack)
_arguments "${_arguments_options[@]}" : \
'--out=[The file to write]:FILE:_files' \
'--state=[State of the run; by default the best Pearson, or the last where no epoch has ended]:STATE:((best-pearson\:"The best validation Pearson"
best-mse\:"The least validation MSE"
last\:"The last one saved"))' \
'--data=[The dataset folder, if it is no longer where the run was trained; its contents must be the same]:DIR:_files' \
'--licence=[Licence of the model and its data, for the card]:TEXT:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':run -- The run'\''s folder:_files' \
&& ret=0
;;
(explore)
_arguments "${_arguments_options[@]}" : \
'--data=[The dataset folder, if it is no longer where the runs were trained; its contents must be the same]:DIR:_files' \
'--port=[Port on 127.0.0.1; by default a free one]:PORT:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--no-open[Print the address without opening a browser]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::folders -- Folders of runs, datasets and traces, or single ones:_files' \
&& ret=0
;;
(profile)
_arguments "${_arguments_options[@]}" : \
'--model=[The model; a preset or a configuration may name it]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"
transformer\:"Attention over all genes, pulled towards the networks; the deleted genes change each other"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system]:FILE:_files' \
'--mode=[How far a step goes]:MODE:((data\:"Fetching, processing and collating"
forward\:"That, the model and its loss"
backward\:"That, and gradients"
full\:"That, clipping and the optimiser"))' \
'--steps=[Steps to measure, after two to warm up; with a window or --at-step\: steps in all]:N:_default' \
'--batch=[Samples in a batch]:B:_default' \
'--seed=[The seed of the initial weights and of the order of samples; the split has its own, split.seed]:S:_default' \
'--split=[Unit that is held out\: records, query pairs or genes]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--ranks=[Share every step among N processes of this machine; the weights are those of one process with as many shards]:N:_default' \
'--wait=[Steps before each window]:W:_default' \
'--warmup=[Warm-up steps of each window]:U:_default' \
'--active=[Steps of each window that are measured]:A:_default' \
'--repeat=[Windows]:R:_default' \
'(--active)--at-step=[Measure this step alone, from 0]:N:_default' \
'--memory-event=[The event of perf that counts lines of 64 bytes read from memory, if not that of the processor]:EVENT:_default' \
'--out=[Write profile.json, trace.json.gz and report.html into this new folder]:RUN:_files' \
'--html=[Write the findings as one self-contained HTML file; - is standard output]:FILE:_files' \
'(--no-trace)--collapsed=[Write the spans as collapsed stacks (self time in nanoseconds; with --perf, samples by function) for flame graph programs; - is standard output]:FILE:_files' \
'--against=[Compare with an earlier run\: its folder, or the output of \`knockout profile --json\`]:RUN_A:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--no-trace[Record no spans\: phases only, no layers, no trace]' \
'(--no-trace)--perf[Sample the functions that each phase and layer takes its CPU time in, with Linux'\''s perf; its perf.data stays in RUN]' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists them (for training with --model and --data):_default' \
&& ret=0
;;
(experiment)
_arguments "${_arguments_options[@]}" : \
'*--models=[The models; by default the one that --preset or --config is for, else all there are]:MODEL:((dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"
transformer\:"Attention over all genes, pulled towards the networks; the deleted genes change each other"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system]:FILE:_files' \
'*--modes=[The modes; by default all four. Parts of a step are compared where all are measured]:MODE:((data\:"Fetching, processing and collating"
forward\:"That, the model and its loss"
backward\:"That, and gradients"
full\:"That, clipping and the optimiser"))' \
'*--processors=[Representations of a deletion, by default loader.processor; the others are compared with the first]:PROCESSOR:((perturbation\:"Gene indices only; the default for every model"
mask\:"Bit masks over genes, edges and reactions"
resident-mask\:"Masks that stay allocated\: cleared, used, restored"
saved-indices\:"Removed positions read from disk (\`data precompute --indices\`)"
saved-masks\:"Masks read from disk (\`data precompute --masks\`)"
subgraph\:"Every network rebuilt without the genes"
neighborhood\:"Only the genes within some hops"))' \
'(--ablate)*--ranks=[Measure on each of these numbers of ranks, alternately; the others are compared with the first. They are processes of this machine, or started by --launcher]:N:_default' \
'--launcher=[Launcher of ranks on several machines, such as mpirun, with its options; -n and their number are added]:COMMAND:_default' \
'--round=[One round of an experiment over ranks, as the program starts itself]:N:_default' \
'--round-out=[Where that round goes]:DIR:_files' \
'--round-ranks=[Ranks of that round, if no launcher starts them]:N:_default' \
'--rounds=[Rounds; each measures every cell once]:N:_default' \
'--max-time=[End after this time, such as 5m, with the rounds that are complete by then]:TIME:_default' \
'--steps=[Measured steps of a cell per round; a multiple of 4 is fair to accumulated gradients]:N:_default' \
'--warmup=[Warm-up steps before them]:N:_default' \
'--batch=[Samples in a batch]:B:_default' \
'--seed=[The seed of the initial weights and of the order of samples; the split has its own, split.seed]:S:_default' \
'--split=[Unit that is held out\: records, query pairs or genes]:SPLIT:((random\:"Records, one by one; records of one query pair are related, so this leaks"
pair-disjoint\:"Query pairs\: none occurs in two parts"
gene-disjoint\:"Genes\: every val and test sample has a gene that training never saw"))' \
'--out=[The folder to make; by default runs/experiment-DATASET]:DIR:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--ablate[Also measure the switches that could make training faster, and rank them]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':dir -- The dataset folder:_files' \
'*::keys -- Changes as key=value; `knockout config show` lists them (for training with --model and --data):_default' \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
'--model=[The model; a preset or a configuration may name it]:MODEL:((stack\:"ridge of genes and query pairs, low rank, network kernel, profiles and trees, weighted on held-out records"
low-rank\:"ridge of genes and query pairs, and exact low-rank completion of its residuals"
network-kernel\:"Gaussian process over the cell'\''s networks; predicts genes without training records"
dango\:"Embeddings from the STRING networks, a score for the deleted genes"
hetero\:"A graph network over all networks that sees the cell with the genes gone"
transformer\:"Attention over all genes, pulled towards the networks; the deleted genes change each other"))' \
'--preset=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--experiment=[Start from a preset\: 073, 077, 082 to 086 (hetero), dango-reference, dango-short, transformer-reference, or a NAME.toml of your own in presets/ or in the folder \`KNOCKOUT_PRESETS\`]:NAME:_default' \
'--config=[Start from a configuration file\: the config.toml of a run, any part of one, or a Hydra configuration (.yaml) of the Python system]:FILE:_files' \
'--data=[The dataset folder the model is for\: its networks are part of the configuration]:DIR:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::keys -- Changes as key=value; `knockout config show` lists them (for training with --model and --data):_default' \
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
(runs)
_arguments "${_arguments_options[@]}" : \
'--sort=[Order of the runs]:BY:((name\:"Folders by name"
best\:"The best validation Pearson"
cpu\:"The most CPU time"
model\:"Models by name, then the best"
state\:"Runs in training, then done, unfinished and empty ones"))' \
'--html=[Also write a page with curves laid over each other]:FILE:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::dir -- The folder to search, or the folder of one run:_files' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'*--vary=[Conditions that are meant to differ, such as model,batch]:KEY:_default' \
'--html=[Also write the comparison as one self-contained HTML file]:FILE:_files' \
'--fail-above=[Exit with code 5 if a sample of B takes more than RATIO times as long as one of A]:RATIO:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':a -- The run or experiment to compare with\: its folder, or what `knockout profile --json` or `experiment --json` printed:_files' \
':b -- The run to judge; ratios are b / a:_files' \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
'--peak-flops=[Floating-point operations per second that the device can do, for shares and the roofline\: 312T, 9.8e13. Common GPUs are known by name]:RATE:_default' \
'--peak-bandwidth=[Bytes per second of the device'\''s memory\: 2.04T, 900G]:RATE:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--strict[Refuse damaged traces instead of using their readable part]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- Traces, plain or packed (gzip, zstd, xz, bzip2, zip); - is standard input. Ranks of one job are shown together, other traces and folders with a line each. Or one table that `key_averages().table()` printed:_files' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'*--against=[The trace to judge, or its ranks; ratios are b / a]:B:_files' \
'--rules=[How events become categories\: \`default\` or a TOML file]:RULES:_default' \
'--html=[Also write the comparison as one self-contained HTML file]:FILE:_files' \
'--fail-above=[Exit with code 5 if a step of B takes more than RATIO times as long as one of A]:RATIO:_default' \
'*--samples-per-step=[Compare per sample\: how many a step has in A and in B]:A,B:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace an output file even if it is not of the kind that knockout writes there]' \
'--strict[Refuse damaged traces instead of using their readable part]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::traces -- The trace to compare with and the trace to judge, A and B; with --against the ranks of A alone:_files' \
&& ret=0
;;
(convert)
_arguments "${_arguments_options[@]}" : \
'--from=[Keep what ends at this time or later, in milliseconds after the first event]:MS:_default' \
'--to=[Keep events that start before this time, in milliseconds after the first event]:MS:_default' \
'*--rank=[Keep only traces of this rank (\`distributedInfo\`); may be repeated]:N:_default' \
'*--category=[Keep only events of this category (\`cat\`, in any case); may be repeated]:CAT:_default' \
'--min-duration=[Drop complete events shorter than this, in microseconds]:US:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--force[Replace the output if it exists]' \
'--strict[Refuse damaged traces instead of using their readable part]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::inputs -- Traces to read, plain or packed (gzip, zstd, xz, bzip2, zip); - is standard input:_files' \
':output -- Trace to write; packed if the name ends in .gz:_files' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'--out=[Folder to make; it must not exist. A table of many rows has several files\: read \`spans-*.parquet\`]:DIR:_files' \
'--rules=[How events become categories\: \`default\` or a TOML file]:RULES:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--strict[Refuse damaged traces instead of using their readable part]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- Traces, plain or packed (gzip, zstd, xz, bzip2, zip); - is standard input:_files' \
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
(export)
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
'--read-mib=[MiB that are read of each log; a longer one is refused]:N:_default' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
'*::logs -- Logs of training runs; - is standard input:_files' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'-h[Print help]' \
'--help[Print help]' \
':shell -- The shell to complete in:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'--out=[Write one page per command into this folder, which is made where it is missing]:DIR:_files' \
'--threads=[Worker threads; 0 means one per core. Results do not depend on this]:N:_default' \
'(--out)--markdown[Print the help of every command as Markdown]' \
'--json[Print one JSON document on standard output and nothing else there]' \
'(-v --verbose)-q[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'(-v --verbose)--quiet[Print only errors on standard error\: no progress, no notes. Results are still printed]' \
'*-v[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
'*--verbose[Also print changed settings, and at the end wall and CPU time; twice for every stage]' \
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
(delete)
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
(benchmark)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(sweep)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(predict)
_arguments "${_arguments_options[@]}" : \
":: :_knockout__subcmd__help__subcmd__predict_commands" \
"*::: :->predict" \
&& ret=0

    case $state in
    (predict)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:knockout-help-predict-command-$line[1]:"
        case $line[1] in
            (merge)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(explain)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(pack)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(explore)
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
(runs)
_arguments "${_arguments_options[@]}" : \
&& ret=0
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
(export)
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
'demo:See it all on a small synthetic yeast\: train models, see how good they are, find hits, see where the time goes' \
'data:Make, look at, check and divide datasets' \
'train:Train a model, or resume a run that was interrupted' \
'baseline:Fit the baselines that every network must beat, from the mean to the stack' \
'evaluate:Measure the accuracy of predictions, with the stack and the additive ridge on the same split' \
'benchmark:Train every model on every split and compare them' \
'sweep:Search settings of a model by successive halving, on the validation part' \
'predict:Predict gene sets with trained models, up to hundreds of millions' \
'explain:Explain one prediction\: networks, neighbours, genes, and measurements nearby' \
'pack:Pack a run and its dataset into one file, to pass it on' \
'explore:Look at genes, predictions, runs and traces in the browser' \
'profile:Measure where the time of a step goes, phase by phase and layer by layer' \
'experiment:Measure models in every mode, alternately and on the same batches, and compare them' \
'config:Show configuration' \
'runs:List the runs in a folder\: model, data, split, best validation, CPU time, state' \
'compare:Compare two measured runs per sample and per iteration, if their conditions allow it; or two experiments, or two trained runs' \
'trace:Analyse, compare, convert and export traces of the PyTorch profiler' \
'logs:Read iterations per second from Lightning and tqdm logs, separately for each bar' \
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
(( $+functions[_knockout__subcmd__benchmark_commands] )) ||
_knockout__subcmd__benchmark_commands() {
    local commands; commands=()
    _describe -t commands 'knockout benchmark commands' commands "$@"
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
'import:Make a dataset from your own screen or the public yeast files' \
'show:Show what is in a dataset\: genes, networks, metabolism, annotations, scores, splits' \
'delete:Show the effect of deleting genes\: edges removed, reactions stopped, genes reached, and measured scores' \
'verify:Check a dataset\: checksums, index bounds, duplicates, everything the format promises' \
'split:Divide the samples into train, val and test, and keep the division as a file' \
'bench:Measure the cost of each representation of a deletion, per sample and phase' \
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
(( $+functions[_knockout__subcmd__data__subcmd__delete_commands] )) ||
_knockout__subcmd__data__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data delete commands' commands "$@"
}
(( $+functions[_knockout__subcmd__data__subcmd__help_commands] )) ||
_knockout__subcmd__data__subcmd__help_commands() {
    local commands; commands=(
'synth:Make a synthetic yeast\: real size and structure, known truth' \
'import:Make a dataset from your own screen or the public yeast files' \
'show:Show what is in a dataset\: genes, networks, metabolism, annotations, scores, splits' \
'delete:Show the effect of deleting genes\: edges removed, reactions stopped, genes reached, and measured scores' \
'verify:Check a dataset\: checksums, index bounds, duplicates, everything the format promises' \
'split:Divide the samples into train, val and test, and keep the division as a file' \
'bench:Measure the cost of each representation of a deletion, per sample and phase' \
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
(( $+functions[_knockout__subcmd__data__subcmd__help__subcmd__delete_commands] )) ||
_knockout__subcmd__data__subcmd__help__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'knockout data help delete commands' commands "$@"
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
(( $+functions[_knockout__subcmd__explain_commands] )) ||
_knockout__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'knockout explain commands' commands "$@"
}
(( $+functions[_knockout__subcmd__explore_commands] )) ||
_knockout__subcmd__explore_commands() {
    local commands; commands=()
    _describe -t commands 'knockout explore commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help_commands] )) ||
_knockout__subcmd__help_commands() {
    local commands; commands=(
'demo:See it all on a small synthetic yeast\: train models, see how good they are, find hits, see where the time goes' \
'data:Make, look at, check and divide datasets' \
'train:Train a model, or resume a run that was interrupted' \
'baseline:Fit the baselines that every network must beat, from the mean to the stack' \
'evaluate:Measure the accuracy of predictions, with the stack and the additive ridge on the same split' \
'benchmark:Train every model on every split and compare them' \
'sweep:Search settings of a model by successive halving, on the validation part' \
'predict:Predict gene sets with trained models, up to hundreds of millions' \
'explain:Explain one prediction\: networks, neighbours, genes, and measurements nearby' \
'pack:Pack a run and its dataset into one file, to pass it on' \
'explore:Look at genes, predictions, runs and traces in the browser' \
'profile:Measure where the time of a step goes, phase by phase and layer by layer' \
'experiment:Measure models in every mode, alternately and on the same batches, and compare them' \
'config:Show configuration' \
'runs:List the runs in a folder\: model, data, split, best validation, CPU time, state' \
'compare:Compare two measured runs per sample and per iteration, if their conditions allow it; or two experiments, or two trained runs' \
'trace:Analyse, compare, convert and export traces of the PyTorch profiler' \
'logs:Read iterations per second from Lightning and tqdm logs, separately for each bar' \
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
(( $+functions[_knockout__subcmd__help__subcmd__benchmark_commands] )) ||
_knockout__subcmd__help__subcmd__benchmark_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help benchmark commands' commands "$@"
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
'import:Make a dataset from your own screen or the public yeast files' \
'show:Show what is in a dataset\: genes, networks, metabolism, annotations, scores, splits' \
'delete:Show the effect of deleting genes\: edges removed, reactions stopped, genes reached, and measured scores' \
'verify:Check a dataset\: checksums, index bounds, duplicates, everything the format promises' \
'split:Divide the samples into train, val and test, and keep the division as a file' \
'bench:Measure the cost of each representation of a deletion, per sample and phase' \
'precompute:Compute the masks or the removed positions of all samples beforehand and keep them in LMDB' \
    )
    _describe -t commands 'knockout help data commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__bench_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data bench commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__data__subcmd__delete_commands] )) ||
_knockout__subcmd__help__subcmd__data__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help data delete commands' commands "$@"
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
(( $+functions[_knockout__subcmd__help__subcmd__explain_commands] )) ||
_knockout__subcmd__help__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help explain commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__explore_commands] )) ||
_knockout__subcmd__help__subcmd__explore_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help explore commands' commands "$@"
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
(( $+functions[_knockout__subcmd__help__subcmd__pack_commands] )) ||
_knockout__subcmd__help__subcmd__pack_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help pack commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__predict_commands] )) ||
_knockout__subcmd__help__subcmd__predict_commands() {
    local commands; commands=(
'merge:Join the parts of a prediction, and check that none is missing' \
    )
    _describe -t commands 'knockout help predict commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__predict__subcmd__merge_commands] )) ||
_knockout__subcmd__help__subcmd__predict__subcmd__merge_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help predict merge commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__profile_commands] )) ||
_knockout__subcmd__help__subcmd__profile_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help profile commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__runs_commands] )) ||
_knockout__subcmd__help__subcmd__runs_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help runs commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__sweep_commands] )) ||
_knockout__subcmd__help__subcmd__sweep_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help sweep commands' commands "$@"
}
(( $+functions[_knockout__subcmd__help__subcmd__trace_commands] )) ||
_knockout__subcmd__help__subcmd__trace_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces, or the ranks of two runs, per step\: categories, operations, conditions' \
'convert:Make a trace smaller, repair it, or merge the traces of several ranks' \
'export:Write the events, spans, kernels and collectives of traces as Parquet files' \
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
(( $+functions[_knockout__subcmd__help__subcmd__trace__subcmd__export_commands] )) ||
_knockout__subcmd__help__subcmd__trace__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'knockout help trace export commands' commands "$@"
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
(( $+functions[_knockout__subcmd__pack_commands] )) ||
_knockout__subcmd__pack_commands() {
    local commands; commands=()
    _describe -t commands 'knockout pack commands' commands "$@"
}
(( $+functions[_knockout__subcmd__predict_commands] )) ||
_knockout__subcmd__predict_commands() {
    local commands; commands=(
'merge:Join the parts of a prediction, and check that none is missing' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout predict commands' commands "$@"
}
(( $+functions[_knockout__subcmd__predict__subcmd__help_commands] )) ||
_knockout__subcmd__predict__subcmd__help_commands() {
    local commands; commands=(
'merge:Join the parts of a prediction, and check that none is missing' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'knockout predict help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__predict__subcmd__help__subcmd__help_commands] )) ||
_knockout__subcmd__predict__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'knockout predict help help commands' commands "$@"
}
(( $+functions[_knockout__subcmd__predict__subcmd__help__subcmd__merge_commands] )) ||
_knockout__subcmd__predict__subcmd__help__subcmd__merge_commands() {
    local commands; commands=()
    _describe -t commands 'knockout predict help merge commands' commands "$@"
}
(( $+functions[_knockout__subcmd__predict__subcmd__merge_commands] )) ||
_knockout__subcmd__predict__subcmd__merge_commands() {
    local commands; commands=()
    _describe -t commands 'knockout predict merge commands' commands "$@"
}
(( $+functions[_knockout__subcmd__profile_commands] )) ||
_knockout__subcmd__profile_commands() {
    local commands; commands=()
    _describe -t commands 'knockout profile commands' commands "$@"
}
(( $+functions[_knockout__subcmd__runs_commands] )) ||
_knockout__subcmd__runs_commands() {
    local commands; commands=()
    _describe -t commands 'knockout runs commands' commands "$@"
}
(( $+functions[_knockout__subcmd__sweep_commands] )) ||
_knockout__subcmd__sweep_commands() {
    local commands; commands=()
    _describe -t commands 'knockout sweep commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace_commands] )) ||
_knockout__subcmd__trace_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces, or the ranks of two runs, per step\: categories, operations, conditions' \
'convert:Make a trace smaller, repair it, or merge the traces of several ranks' \
'export:Write the events, spans, kernels and collectives of traces as Parquet files' \
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
(( $+functions[_knockout__subcmd__trace__subcmd__export_commands] )) ||
_knockout__subcmd__trace__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace export commands' commands "$@"
}
(( $+functions[_knockout__subcmd__trace__subcmd__help_commands] )) ||
_knockout__subcmd__trace__subcmd__help_commands() {
    local commands; commands=(
'analyze:Show where the time of a trace went' \
'compare:Compare two traces, or the ranks of two runs, per step\: categories, operations, conditions' \
'convert:Make a trace smaller, repair it, or merge the traces of several ranks' \
'export:Write the events, spans, kernels and collectives of traces as Parquet files' \
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
(( $+functions[_knockout__subcmd__trace__subcmd__help__subcmd__export_commands] )) ||
_knockout__subcmd__trace__subcmd__help__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'knockout trace help export commands' commands "$@"
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
