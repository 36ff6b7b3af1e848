//! Files and folders are complete or absent, and nothing inside a folder is followed.

use super::*;
use crate::error::Class;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn replace_leaves_the_new_file_or_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    replace(&path, |out| out.write_all(b"one")).unwrap();
    let failed = replace(&path, |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("the disk is on fire"))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"one");
    replace(&path, |out| out.write_all(b"two")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_pending_file_is_not_there_before_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut pending = PendingFile::create(&path).unwrap();
    pending.write_all(b"one").unwrap();
    pending.flush().unwrap();
    if cfg!(target_os = "linux") {
        assert!(names(folder.path()).is_empty(), "a kill here leaves nothing");
    }
    pending.commit().unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"one".to_vec(), vec!["a".to_owned()]));
}

#[test]
fn abandoned_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let left = [1, 2].map(|count| format!(".a.partial-1-{count}-0123456789abcdef"));
    let other = ".b.partial-1-0-0123456789abcdef";
    for name in [&left[0], &left[1], other, ".a.partial-mine"] {
        fs::write(folder.path().join(name), b"half").unwrap();
    }
    replace(&folder.path().join("a"), |out| out.write_all(b"whole")).unwrap();
    assert_eq!(names(folder.path()), [".a.partial-mine", other, "a"]);
    Folder::at(folder.path()).remove_abandoned().unwrap();
    assert_eq!(names(folder.path()), [".a.partial-mine", "a"]);
}

#[test]
fn devices_and_links_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    replace(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(replace(Path::new("/dev/full"), |out| out.write_all(b"no room")).is_err());
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, b"old").unwrap();
    symlink("file", &link).unwrap();
    replace(&link, |out| out.write_all(b"new")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"new");
    let error = replace(folder.path(), |_| Ok(())).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::IsADirectory));
}

#[test]
fn links_inside_a_folder_are_refused_and_a_linked_root_is_not() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    symlink("folder", &root).unwrap();
    fs::create_dir_all(root.with_file_name("folder").join("sub")).unwrap();
    fs::write(home.path().join("mine"), b"precious").unwrap();
    symlink("../mine", root.join("file")).unwrap();
    symlink("../absent", root.join("dangling")).unwrap();
    symlink("sub", root.join("other")).unwrap();
    let folder = Folder::at(&root);
    for (name, link) in
        [("file", "file"), ("dangling", "dangling"), ("other", "other"), ("other/new", "other")]
    {
        let text = format!(
            "{} is a symbolic link; knockout does not follow links inside {}: remove it",
            root.join(link).display(),
            root.display()
        );
        let mut errors = vec![
            folder.read(name).unwrap_err(),
            folder.update(name).unwrap_err(),
            folder.append(name).unwrap_err(),
            folder.replace(name, |out| out.write_all(b"theirs")).unwrap_err(),
            folder.below(name).entries().unwrap_err(),
            folder.below(name).make().unwrap_err(),
            folder.below(name).lock().unwrap_err(),
            folder.below(name).read("below").unwrap_err(),
            StagedFolder::create(folder.below(name).below("new")).unwrap_err(),
        ];
        if name != link {
            errors.push(folder.create_new(name).unwrap_err());
            errors.push(folder.remove(name).unwrap_err());
        }
        for error in errors {
            assert_eq!(error.class(), Class::Damage, "{name}: {error}");
            assert_eq!(error.to_string(), text);
        }
    }
    assert_eq!(fs::read(home.path().join("mine")).unwrap(), b"precious");
    let copied = folder.copy_to(&Folder::at(home.path().join("copy")));
    assert_eq!(copied.unwrap_err().class(), Class::Damage);
    assert!(!home.path().join("absent").exists() && names(&root.join("sub")).is_empty());
    for name in ["new", "sub/new", "absent/new"] {
        folder.replace(name, |out| out.write_all(b"ours")).unwrap();
        assert_eq!(folder.read(name).unwrap(), b"ours");
    }
    // A link is removed, what it leads to is not.
    folder.remove("file").unwrap();
    assert_eq!(fs::read(home.path().join("mine")).unwrap(), b"precious");
}

#[test]
fn special_files_are_refused_without_waiting() {
    let home = tempfile::tempdir().unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        home.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(home.path().join("socket")).unwrap();
    let folder = Folder::at(home.path());
    for name in ["pipe", "socket"] {
        for error in [
            folder.read(name).unwrap_err(),
            folder.find(name).unwrap_err(),
            folder.update(name).unwrap_err(),
            folder.append(name).unwrap_err(),
            folder.replace(name, |out| out.write_all(b"")).unwrap_err(),
            folder.copy_to(&Folder::at(home.path().join("copy"))).unwrap_err(),
        ] {
            assert_eq!(error.class(), Class::Damage, "{name}: {error}");
            assert!(error.to_string().contains(" is a device, a pipe or a socket;"), "{error}");
        }
    }
    let error = Folder::at("/dev").read("zero").unwrap_err();
    assert_eq!(error.class(), Class::Damage);
}

#[test]
fn only_plain_names_are_accepted() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("root")).unwrap();
    fs::write(home.path().join("mine"), b"precious").unwrap();
    let folder = Folder::at(home.path().join("root"));
    let absolute = home.path().join("mine");
    for name in ["../mine", "/etc/passwd", "a//b", "a/./b", "a/", "./a", "..", ".", "a/../../mine", "a\0b"]
        .map(Path::new)
        .into_iter()
        .chain([&*absolute])
    {
        for error in [
            folder.read(name).unwrap_err(),
            folder.replace(name, |out| out.write_all(b"theirs")).unwrap_err(),
            folder.below(name).read("x").unwrap_err(),
            folder.below(name).make().unwrap_err(),
            StagedFolder::create(folder.below(name)).unwrap_err(),
        ] {
            assert_eq!(error.class(), Class::Damage, "{}: {error}", name.display());
        }
        assert!(!folder.has(name));
    }
    assert_eq!(names(home.path()), ["mine", "root"]);
    assert!(names(folder.path()).is_empty());
}

/// Exchanges a folder for a link again and again: what is written lands inside or nowhere.
#[test]
fn a_component_that_is_exchanged_meanwhile_leads_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let home = tempfile::tempdir().unwrap();
    let (root, outside) = (home.path().join("root"), home.path().join("outside"));
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink("../outside", root.join("link")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for (from, to) in [("sub", "spare"), ("link", "sub"), ("sub", "link"), ("spare", "sub")] {
                    fs::rename(root.join(from), root.join(to)).unwrap();
                }
            }
        });
        let folder = Folder::at(&root);
        for count in 0..2_000 {
            folder.update(format!("sub/{count}")).ok();
            folder.append("sub/log").ok();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(names(&outside).is_empty());
}

#[test]
fn a_folder_has_one_lock() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::at(home.path());
    let held = folder.lock().unwrap();
    assert!(held.is_some() && folder.lock().unwrap().is_none() && folder.is_locked());
    drop(held);
    assert!(!folder.is_locked() && folder.lock().unwrap().is_some());
}

#[test]
fn a_staged_folder_appears_only_on_commit() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("set");
    let staged = StagedFolder::create(&target).unwrap();
    fs::write(staged.path().join("x"), b"1").unwrap();
    assert!(!target.exists());
    staged.commit().unwrap();
    assert_eq!(names(&target), ["x"]);
    assert_eq!(names(folder.path()), ["set"]);
}

#[test]
fn parents_are_made_where_they_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (above, path) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
    drop(PendingFile::create(&path).unwrap());
    assert!(names(&above).is_empty(), "the path itself is not made");
    replace(&path, |out| out.write_all(b"one")).unwrap();
    StagedFolder::create(&folder.path().join("d/e/f")).unwrap().commit().unwrap();
    create_folder(&folder.path().join("d/g/h")).unwrap();
    assert_eq!(names(&above), ["c"]);
    assert_eq!(names(&folder.path().join("d")), ["e", "g"]);
    assert_eq!(create_folder(&above).unwrap_err().io_kind(), Some(io::ErrorKind::AlreadyExists));
    fs::write(folder.path().join("file"), b"precious").unwrap();
    for below in ["file/b", "file/b/c"].map(|below| folder.path().join(below)) {
        assert!(replace(&below, |_| Ok(())).is_err());
        assert!(StagedFolder::create(&below).is_err() && create_folder(&below).is_err());
    }
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"precious");
}

#[test]
fn a_folder_filled_in_sight_stays_only_if_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/run");
    let made = NewFolder::create(&path).unwrap();
    fs::write(path.join("x"), b"1").unwrap();
    assert!(NewFolder::create(&path).is_err());
    assert_eq!(names(&path), ["x"], "a folder that was there is left alone");
    drop(made);
    assert!(names(&folder.path().join("a")).is_empty());
    NewFolder::create(&path).unwrap().keep();
    assert!(path.is_dir());
}

#[test]
fn a_dropped_folder_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(StagedFolder::create(&folder.path().join("set")).unwrap());
    assert!(names(folder.path()).is_empty());
}

#[test]
fn an_existing_target_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("set");
    fs::write(&target, b"precious").unwrap();
    let error = StagedFolder::create(&target).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::AlreadyExists));
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

#[test]
fn a_target_that_appears_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("set");
    let staged = StagedFolder::create(&target).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("theirs"), b"1").unwrap();
    assert!(staged.commit().is_err());
    assert_eq!(names(folder.path()), ["set"]);
    assert_eq!(names(&target), ["theirs"]);
}

#[test]
fn abandoned_folders_go_and_busy_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("set");
    let (left, backup) = (".set.partial-1-0-0123456789abcdef", ".set.partial-mybackup");
    for name in [left, backup] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let busy = StagedFolder::create(&target).unwrap();
    let second = StagedFolder::create(&target).unwrap();
    assert!(busy.path().exists() && second.path().exists());
    assert!(!folder.path().join(left).exists() && folder.path().join(backup).exists());
}
