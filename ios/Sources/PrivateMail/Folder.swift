// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A folder whose files are replaced as a whole: at every moment, also after a crash, all the old or all the new bytes
/// of a file are there. Locked against other threads and processes while the body of ``with(_:_:)`` runs.
struct Folder {
    private let url: URL
    private let handle: Int32

    /// Opens and locks the folder, which must exist, for the body.
    static func with<Result>(_ url: URL, _ body: (Folder) throws -> Result) throws -> Result {
        let handle = try attempt { open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { close(handle) }
        _ = try attempt { flock(handle, LOCK_EX) }
        return try body(Folder(url: url, handle: handle))
    }

    /// The whole file if it has at most `limit` bytes, one byte too many if not; nil when there is none.
    func read(_ name: String, limit: Int) throws -> Data? {
        let file: Int32
        do {
            file = try attempt { openat(handle, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        } catch POSIXError.ENOENT {
            return nil
        }
        defer { close(file) }
        var bytes = Data()
        var piece = [UInt8](repeating: 0, count: limit + 1)
        while bytes.count < piece.count {
            let count = try attempt { Foundation.read(file, &piece, piece.count - bytes.count) }
            if count == 0 { break }
            bytes.append(contentsOf: piece[..<count])
        }
        return bytes
    }

    /// Writes a new file, flushes it to the medium, gives it the name and flushes the folder.
    func replace(_ name: String, with bytes: Data, inBackups: Bool) throws {
        let fresh = name + ".new"
        do {
            try write(bytes, to: fresh, inBackups: inBackups)
            _ = try attempt { renameat(handle, fresh, handle, name) }
        } catch {
            unlinkat(handle, fresh, 0)
            throw error
        }
        try flush(handle)
    }

    func remove(_ name: String) throws {
        do {
            _ = try attempt { unlinkat(handle, name, 0) }
        } catch POSIXError.ENOENT {
            return
        }
    }

    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path)
    }

    private func write(_ bytes: Data, to fresh: String, inBackups: Bool) throws {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
        let file = try attempt { openat(handle, fresh, flags, 0o600) }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try attempt { rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) } }
            rest = rest.dropFirst(count)
        }
        try protect(fresh, inBackups: inBackups)
        try flush(file)
    }

    /// Before the rename, so that the file is never there without its attributes.
    private func protect(_ fresh: String, inBackups: Bool) throws {
        #if canImport(Darwin)
            var file = url.appendingPathComponent(fresh)
            var values = URLResourceValues()
            values.isExcludedFromBackup = !inBackups
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
