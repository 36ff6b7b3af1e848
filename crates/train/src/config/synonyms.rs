//! Names of keys in other programs: Hydra, Lightning, PyTorch and argparse, for suggestions only.
//!
//! A name here never sets anything; it only makes the message of an unknown key name the right one.

/// Our key, and what others call it: the last word of their key, in lower case with underscores.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("optimiser.learning_rate", &["lr", "learning_rate", "max_lr", "base_lr", "eta"]),
    ("optimiser.weight_decay", &["wd", "l2", "weight_decay"]),
    (
        "optimiser.clip_norm",
        &[
            "gradient_clip_val",
            "clip_grad_norm",
            "clip_grad_norm_max_norm",
            "max_grad_norm",
            "grad_clip",
            "clip",
        ],
    ),
    (
        "optimiser.accumulate",
        &["accumulate_grad_batches", "gradient_accumulation_steps", "grad_accumulation_schedule"],
    ),
    ("optimiser.schedule", &["scheduler", "lr_scheduler", "lr_schedule", "scheduler_type"]),
    ("batch", &["batch_size", "bs", "train_batch_size", "per_device_train_batch_size", "batchsize"]),
    ("epochs", &["max_epochs", "num_epochs", "n_epochs", "num_train_epochs", "epoch"]),
    ("max_steps", &["num_steps", "total_steps", "max_iters", "iterations", "steps"]),
    ("seed", &["random_seed", "manual_seed", "seed_everything", "random_state"]),
    ("run.patience", &["early_stopping", "early_stopping_patience", "patience"]),
    ("run.predict_batch", &["val_batch_size", "eval_batch_size", "test_batch_size", "predict_batch_size"]),
    ("run.checkpoint_every", &["every_n_train_steps", "save_every", "checkpoint_interval"]),
    ("loader.threads", &["num_workers", "workers", "n_workers", "dataloader_num_workers"]),
    ("loader.depth", &["prefetch_factor", "prefetch"]),
    ("split.val", &["val_ratio", "val_size", "val_split", "val_fraction"]),
    ("split.test", &["test_ratio", "test_size", "test_split", "test_fraction"]),
    ("split.scheme", &["split", "split_type", "split_scheme", "split_strategy"]),
    ("split.subset", &["subset", "subset_size", "limit_train_batches", "num_samples", "size"]),
    ("split.fold", &["fold", "folds", "n_splits", "num_folds", "k_folds"]),
    ("split.file", &["split_file", "split_indices", "index_file"]),
    (
        "model.width",
        &["hidden_dim", "hidden_channels", "hidden_size", "d_model", "embedding_dim", "embed_dim", "dim"],
    ),
    ("model.layers", &["num_layers", "n_layers", "depth"]),
    ("model.heads", &["num_heads", "n_heads", "nhead", "attention_heads"]),
    ("model.dropout", &["dropout", "dropout_prob", "dropout_rate", "p_dropout"]),
    ("model.activation", &["act", "activation", "nonlinearity"]),
    ("model.norm", &["norm", "norm_type", "normalization", "normalisation"]),
    ("model.loss", &["loss", "loss_type", "loss_fn", "criterion"]),
];

/// The key that others write as `key`: Hydra's `+` and `++`, dashes, capitals and sections do not matter.
pub fn synonym(key: &str) -> Option<&'static str> {
    let key = key.trim_start_matches('+').to_ascii_lowercase().replace('-', "_");
    let last = key.rsplit('.').next().unwrap_or(&key);
    SYNONYMS.iter().find(|(_, others)| others.contains(&last)).map(|(ours, _)| *ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_find_their_key() {
        for (habit, ours) in [
            ("lr", "optimiser.learning_rate"),
            ("regression_task.optimizer.lr", "optimiser.learning_rate"),
            ("batch_size", "batch"),
            ("data_module.batch_size", "batch"),
            ("batch-size", "batch"),
            ("+trainer.max_epochs", "epochs"),
            ("num_workers", "loader.threads"),
        ] {
            assert_eq!(synonym(habit), Some(ours), "{habit}");
        }
        assert_eq!(synonym("zzz"), None);
        let mut all: Vec<&str> = SYNONYMS.iter().flat_map(|(_, others)| others.iter().copied()).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count, "no habit means two keys");
    }
}
