//! What the exams of a test run share.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, process};

/// What the exams of a test run share: seed, reports, and what is to be said at its end.
pub(crate) struct Session {
    pub(crate) seed: String,
    named: Option<PathBuf>,
    folder: Mutex<Option<PathBuf>>,
    kept: Mutex<bool>,
    notes: Mutex<Vec<String>>,
}

impl Session {
    pub(crate) fn new() -> Session {
        let drawn = || {
            (1 + SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_micros()
                % 999_999)
                .to_string()
        };
        Session {
            seed: env::var("LOCKCHAOS_SEED").unwrap_or_else(|_| drawn()),
            named: env::var_os("LOCKCHAOS_RUNS").map(PathBuf::from),
            folder: Mutex::default(),
            kept: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    /// The folder of reports: the one that is named, or a temporary one that is kept if a test failed.
    pub(crate) fn folder(&self) -> io::Result<PathBuf> {
        let mut folder = self.folder.lock().unwrap();
        if folder.is_none() {
            *folder = Some(match &self.named {
                Some(named) => env::current_dir()?.join(named),
                None => temporary()?,
            });
        }
        Ok(folder.clone().expect("it is set"))
    }

    pub(crate) fn keep(&self) {
        *self.kept.lock().unwrap() = true;
    }

    pub(crate) fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    pub(crate) fn finish(&self) {
        self.notes
            .lock()
            .unwrap()
            .iter()
            .for_each(|note| println!("lockchaos: {note}"));
        let kept = self.named.is_some() || *self.kept.lock().unwrap();
        if let Some(folder) = self.folder.lock().unwrap().as_ref().filter(|_| !kept) {
            if let Err(error) = fs::remove_dir_all(folder) {
                eprintln!(
                    "lockchaos: reports that are not needed are left in {}: {error}",
                    folder.display()
                );
            }
        }
    }
}

/// A new folder for temporary files, in which nobody else can write.
pub(crate) fn temporary() -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let folder = env::temp_dir().join(format!("lockchaos-{}-{nanos}-{count}", process::id()));
    fs::DirBuilder::new().mode(0o700).create(&folder)?; // which fails if somebody has made it before
    Ok(folder)
}
