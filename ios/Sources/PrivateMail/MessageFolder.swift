// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The messages that a ``Search`` made, each in a file PHOTO-ID.cbor. Both are hexadecimal digits: a photo's name has
/// any characters, and some file systems take capital letters for small ones.
struct MessageFolder: Sendable {
    struct Message: Unprinted {
        /// The id of the pack that it was made with.
        let pack: [UInt8]
        let bytes: Data
    }

    private static let longestPhoto = 100  // bytes: with twice as many digits the file's name is still short enough
    private static let longestMessage = 1 << 16  // what a server reads

    let url: URL

    /// All messages of a photo, each made with another pack.
    func messages(of photo: String) throws -> [Message] {
        let prefix = try prefix(of: photo)
        return try run { folder in
            try folder.names().sorted().compactMap { name in
                guard name.hasPrefix(prefix), name.hasSuffix(".cbor"),
                    let pack = Pack.id(hexadecimal: String(name.dropFirst(prefix.count).dropLast(".cbor".count))),
                    let bytes = try folder.read(name, limit: Self.longestMessage)
                else { return nil }
                return Message(pack: pack, bytes: bytes)
            }
        }
    }

    /// Returns when the message is safe against a crash and a power failure.
    func store(_ message: Data, of photo: String, pack: [UInt8], inBackups: Bool) throws {
        let name = try prefix(of: photo) + hexadecimal(pack) + ".cbor"
        try run { try $0.replace(name, with: message, inBackups: inBackups) }
    }

    /// What was noted last by this name, such as ID.keys; nil when nothing was. A note is about a pack.
    func note(named name: String, limit: Int) throws -> Data? {
        try run { try $0.read(name, limit: limit) }
    }

    func writeNote(_ note: Data, named name: String) throws {
        try run { try $0.replace(name, with: note, inBackups: false) }
    }

    func remove(_ photo: String) throws {
        let prefix = try prefix(of: photo)
        try run { folder in
            for name in try folder.names() where name.hasPrefix(prefix) {
                try folder.remove(name)
            }
        }
    }

    private func prefix(of photo: String) throws -> String {
        guard (1...Self.longestPhoto).contains(photo.utf8.count) else { throw PrivateMailError(.argument) }
        return hexadecimal(photo.utf8) + "-"
    }

    private func run<Result>(_ body: (Folder) throws -> Result) throws -> Result {
        do {
            return try Folder.with(url, body)
        } catch {
            throw SearchError.storage(error)
        }
    }
}
