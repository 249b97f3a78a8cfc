// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A budget in a file, safe against crashes and against a second store on the same file.
///
/// A save writes a new file next to the old one, flushes it to the medium, renames it and flushes the folder: at every
/// moment the whole old or the whole new bytes are there. The folder must exist and is locked during a call only. On
/// Apple systems the file is excluded from backups and readable from the first unlock on.
///
/// Two stores on one file (an app and its extension, say) cannot spend the same budget twice: a save is refused with
/// ``Budget/Conflict`` when the file is not as this store left or loaded it. Make a new ``Budget`` then.
///
/// A symbolic link in place of the file is refused. Give the file no second name (hard link) either: a save replaces
/// one name, and under the other the old bytes could be spent again.
public final class FileBudgetStore: BudgetStore, @unchecked Sendable {  // `seen` is only touched with the lock held
    public let url: URL
    private let lock = NSLock()
    private var seen: Data?

    public init(url: URL) {
        self.url = url
    }

    public func load() throws -> Data? {
        try inFolder { folder in
            seen = try folder.read(name, limit: size)
            return seen
        }
    }

    public func save(_ bytes: Data) throws {
        try inFolder { folder in
            guard try folder.read(name, limit: size) == seen else { throw Budget.Conflict() }
            try folder.replace(name, with: bytes, inBackups: false)
            seen = bytes
        }
    }

    private var name: String { url.lastPathComponent }
    private let size = 112

    private func inFolder<Result>(_ body: (Folder) throws -> Result) throws -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try Folder.with(url.deletingLastPathComponent(), body)
    }
}
