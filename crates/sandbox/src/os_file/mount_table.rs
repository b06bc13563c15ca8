//! Which file system a path lies on, and where in it: `/proc/self/mountinfo`.
//!
//! Two paths may lead to one file by bind mounts; its place in its file system is the same.

use super::{CWD, Mode, OFlags, openat, os_str};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The mounts of this process, in the order in which they were made.
#[derive(Debug)]
pub struct MountTable(Vec<Mount>);

/// One mount.
#[derive(Debug)]
pub(crate) struct Mount {
    /// The kernel's number of it.
    pub(crate) id: u64,
    pub(crate) device: u32,
    /// The directory of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// Where.
    pub(crate) point: PathBuf,
    /// The type of the file system.
    pub(crate) kind: String,
    /// Its own options, separated by commas.
    options: String,
}

/// A path, and its place in its file system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The device, in the kernel's own 32 bits; unknown without a table.
    pub(crate) device: Option<u32>,
    /// The path within the file system.
    pub(crate) inner: PathBuf,
    /// The path.
    pub(crate) path: PathBuf,
}

impl MountTable {
    /// The table as it is now; empty if there is no `/proc`.
    pub fn read() -> Self {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut text = Vec::new();
        let read = openat(CWD, "/proc/self/mountinfo", flags, Mode::empty())
            .map_err(std::io::Error::from)
            .and_then(|file| std::fs::File::from(file).read_to_end(&mut text));
        if read.is_err() {
            text.clear();
        }
        Self::parse(&text)
    }

    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(text.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    /// Every path of a canonical path by way of a mount of its file system, its own included.
    pub fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let place = self.place(path);
        let mounts = self.0.iter().filter(|mount| place.device == Some(mount.device));
        let alias = |mount: &Mount| Some(joined(&mount.point, place.inner.strip_prefix(&mount.root).ok()?));
        let mut aliases: Vec<_> = mounts.filter_map(alias).collect();
        aliases.push(path.to_owned());
        aliases.sort();
        aliases.dedup();
        aliases
    }

    /// Where a file system of this type, and with this option, is mounted first.
    pub(crate) fn point_of(&self, kind: &str, option: Option<&str>) -> Option<&Path> {
        let has = |mount: &Mount, option| mount.options.split(',').any(|own| own == option);
        let fits = |mount: &&Mount| mount.kind == kind && option.is_none_or(|option| has(mount, option));
        self.0.iter().find(fits).map(|mount| mount.point.as_path())
    }

    /// Mounts of what lies in the tree of a canonical path, as the path in the tree and the mount
    /// point outside of it.
    pub fn aliases_of_parts(&self, tree: &Path) -> Vec<(PathBuf, PathBuf)> {
        let place = self.place(tree);
        let outside = self.0.iter().filter(|mount| place.device == Some(mount.device));
        let outside = outside.filter(|mount| mount.root != place.inner && !mount.point.starts_with(tree));
        let part = |mount: &Mount| Some(joined(tree, mount.root.strip_prefix(&place.inner).ok()?));
        outside.filter_map(|mount| Some((part(mount)?, mount.point.clone()))).collect()
    }

    /// Every mount.
    pub(crate) fn mounts(&self) -> &[Mount] {
        &self.0
    }

    /// The place of a canonical path.
    pub(crate) fn place(&self, path: &Path) -> Place {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        // The last of several on one directory hides the others.
        let innermost = above.max_by_key(|mount| mount.point.as_os_str().len());
        let (device, inner) = match innermost {
            None => (None, path.to_owned()),
            Some(mount) => {
                (Some(mount.device), joined(&mount.root, path.strip_prefix(&mount.point).unwrap_or(path)))
            }
        };
        Place { device, inner, path: path.to_owned() }
    }

    /// The place of a tree, and those of the mounts in it.
    pub(crate) fn places(&self, tree: &Path) -> Vec<Place> {
        let within = self.0.iter().filter(|mount| mount.point.starts_with(tree) && mount.point != tree);
        std::iter::once(self.place(tree)).chain(within.map(|mount| self.place(&mount.point))).collect()
    }
}

impl Place {
    /// The path of `other` by way of this one; `None` if it does not lie in it.
    pub(crate) fn path_of(&self, other: &Place) -> Option<PathBuf> {
        let rest = other.inner.strip_prefix(&self.inner).ok()?;
        (self.device == other.device).then(|| joined(&self.path, rest))
    }
}

/// One line: id, parent, device, root, mount point, and more; after a dash type, source and
/// options.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let (major, minor) = std::str::from_utf8(fields.nth(1)?).ok()?.split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
    let mut fields = fields.skip_while(|field| *field != b"-").map(String::from_utf8_lossy).skip(1);
    let (kind, options) = (fields.next().unwrap_or_default(), fields.nth(1).unwrap_or_default());
    Some(Mount { id, device: major << 20 | minor, root, point, kind: kind.into(), options: options.into() })
}

/// Space, tab, line feed and backslash are written as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    os_str(&bytes).into()
}

fn joined(above: &Path, rest: &Path) -> PathBuf {
    above.components().chain(rest.components()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"27 1 254:0 / / rw - ext4 /dev/vda rw
30 27 0:25 / /run rw - tmpfs tmpfs rw
31 27 254:0 /home/u/project /mnt/my\\040project rw - ext4 /dev/vda rw
32 27 0:26 / /home/u/project/data rw - tmpfs tmpfs rw
33 27 0:27 / /home/u/project/data rw - tmpfs tmpfs rw
broken line
";

    #[test]
    fn a_bind_mount_leads_to_the_same_place() {
        let table = MountTable::parse(TABLE);
        let socket = table.place(Path::new("/home/u/project/deep/socket"));
        assert_eq!(socket.device, Some(254 << 20));
        for (tree, want) in [
            ("/mnt/my project", Some("/mnt/my project/deep/socket")),
            ("/home/u", Some("/home/u/project/deep/socket")),
            ("/mnt/my project/deep", Some("/mnt/my project/deep/socket")),
            ("/mnt/my project/other", None),
            ("/run", None),
        ] {
            let place = table.place(Path::new(tree));
            assert_eq!(place.path_of(&socket), want.map(PathBuf::from), "{tree}");
        }
        let places = table.places(Path::new("/home/u/project"));
        let devices: Vec<_> = places.iter().map(|place| place.device).collect();
        assert_eq!(devices, [Some(254 << 20), Some(27), Some(27)], "the last of two mounts is seen");
    }

    #[test]
    fn a_path_has_a_name_by_each_mount_of_its_file_system() {
        let table = MountTable::parse(TABLE);
        for (path, want) in [
            ("/mnt/my project/x", &["/home/u/project/x", "/mnt/my project/x"][..]),
            ("/home/u/project", &["/home/u/project", "/mnt/my project"]),
            ("/home/u/projects", &["/home/u/projects"]),
            ("/run/x", &["/run/x"]),
        ] {
            let want: Vec<_> = want.iter().map(PathBuf::from).collect();
            assert_eq!(table.aliases(Path::new(path)), want, "{path}");
        }
        assert_eq!(MountTable::parse(b"").aliases(Path::new("/a")), [PathBuf::from("/a")]);
    }

    #[test]
    fn parts_of_a_tree_are_found_where_they_are_mounted() {
        let table = MountTable::parse(TABLE);
        for (tree, want) in [
            ("/home/u", &[("/home/u/project", "/mnt/my project")][..]),
            ("/home/u/project", &[]),
            ("/home/u/pro", &[]),
            // Seen from the mount, the directory above it is another one.
            ("/mnt", &[]),
        ] {
            let want: Vec<_> = want.iter().map(|(part, at)| (part.into(), at.into())).collect();
            assert_eq!(table.aliases_of_parts(Path::new(tree)), want, "{tree}");
        }
        let kinds: Vec<_> = table.mounts().iter().map(|mount| (mount.id, mount.kind.as_str())).collect();
        assert_eq!(kinds[..2], [(27, "ext4"), (30, "tmpfs")]);
    }

    #[test]
    fn without_a_table_a_path_is_its_own_place() {
        let table = MountTable::parse(b"");
        let (tree, inside) = (table.place(Path::new("/a")), table.place(Path::new("/a/b")));
        assert_eq!(tree.path_of(&inside), Some(PathBuf::from("/a/b")));
        assert!(MountTable::read().place(Path::new("/")).device.is_some());
    }
}
