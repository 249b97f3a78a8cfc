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
            seen = try read(in: folder)
            return seen
        }
    }

    public func save(_ bytes: Data) throws {
        try inFolder { folder in
            guard try read(in: folder) == seen else { throw Budget.Conflict() }
            let fresh = name + ".new"
            do {
                try write(bytes, to: fresh, in: folder)
                _ = try attempt { renameat(folder, fresh, folder, name) }
            } catch {
                unlinkat(folder, fresh, 0)
                throw error
            }
            seen = bytes
            try flush(folder)
        }
    }

    private var name: String { url.lastPathComponent }

    /// Runs the body with the folder open and locked: against other threads, stores and processes.
    private func inFolder<Result>(_ body: (Int32) throws -> Result) throws -> Result {
        lock.lock()
        defer { lock.unlock() }
        let path = url.deletingLastPathComponent().path
        let folder = try attempt { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { close(folder) }
        _ = try attempt { flock(folder, LOCK_EX) }
        return try body(folder)
    }

    /// The whole file if it is small enough to be a budget, one byte too many if not; nil when there is none.
    private func read(in folder: Int32) throws -> Data? {
        let file: Int32
        do {
            file = try attempt { openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        } catch POSIXError.ENOENT {
            return nil
        }
        defer { close(file) }
        var bytes = Data()
        var piece = [UInt8](repeating: 0, count: 65)
        while bytes.count < piece.count {
            let count = try attempt { Foundation.read(file, &piece, piece.count - bytes.count) }
            if count == 0 { break }
            bytes.append(contentsOf: piece[..<count])
        }
        return bytes
    }

    private func write(_ bytes: Data, to fresh: String, in folder: Int32) throws {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
        let file = try attempt { openat(folder, fresh, flags, 0o600) }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try attempt { rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) } }
            rest = rest.dropFirst(count)
        }
        try protect(fresh)
        try flush(file)
    }

    /// Before the rename, so that the file is never there without its attributes.
    private func protect(_ fresh: String) throws {
        #if canImport(Darwin)
            var file = url.deletingLastPathComponent().appendingPathComponent(fresh)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try file.setResourceValues(values)
            #if !os(macOS)
                try FileManager.default.setAttributes(
                    [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: file.path)
            #endif
        #endif
    }

    /// To the medium, not only to the drive's cache, where the system can.
    private func flush(_ file: Int32) throws {
        #if canImport(Darwin)
            if fcntl(file, F_FULLFSYNC) == 0 { return }
        #endif
        _ = try attempt { fsync(file) }
    }
}
