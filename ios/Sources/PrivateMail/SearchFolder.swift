// SPDX-License-Identifier: Apache-2.0
import Foundation

/// What a ``Search`` keeps between launches: packs as ID.pmpk, messages as PHOTO-ID.cbor, both in hexadecimal digits,
/// because names of photos have any characters and some file systems take capital letters for small ones.
struct SearchFolder: Sendable {
    struct Message {
        let pack: [UInt8]
        let bytes: Data
    }

    static let longestPhoto = 100  // bytes: twice as many digits still are a file's name
    private static let longestMessage = 1 << 16  // of the server's own limit

    let url: URL

    /// All messages of a photo, each made with another pack.
    func messages(of photo: String) throws -> [Message] {
        let prefix = try digits(of: photo) + "-"
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
    func store(_ message: Data, of photo: String, pack: [UInt8]) throws {
        let name = try "\(digits(of: photo))-\(hexadecimal(pack)).cbor"
        try run { try $0.replace(name, with: message, inBackups: true) }
    }

    func removeMessages(of photo: String) throws {
        let prefix = try digits(of: photo) + "-"
        try run { folder in
            for name in try folder.names() where name.hasPrefix(prefix) {
                try folder.remove(name)
            }
        }
    }

    func file(ofPack id: [UInt8]) -> URL {
        url.appendingPathComponent(hexadecimal(id) + ".pmpk")
    }

    /// Keeps a pack, and of the others those that some message was made with.
    func store(_ pack: Data, id: [UInt8]) throws {
        try run { folder in
            try folder.replace(hexadecimal(id) + ".pmpk", with: pack, inBackups: false)
            let names = try folder.names()
            for name in names where name.hasSuffix(".pmpk") && name != hexadecimal(id) + ".pmpk" {
                let message = "-\(name.dropLast(".pmpk".count)).cbor"
                if !names.contains(where: { $0.hasSuffix(message) }) { try folder.remove(name) }
            }
        }
    }

    private func digits(of photo: String) throws -> String {
        guard (1...Self.longestPhoto).contains(photo.utf8.count) else { throw PrivateMailError(.argument) }
        return hexadecimal(photo.utf8)
    }

    private func run<Result>(_ body: (Folder) throws -> Result) throws -> Result {
        do {
            return try Folder.with(url, body)
        } catch {
            throw SearchError.storage(error)
        }
    }
}

/// Two digits a byte.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
}

extension Pack {
    /// A pack's id from its 32 hexadecimal digits, as `privatemail inspect` prints them; nil when it is none.
    public static func id(hexadecimal text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard text.count == 32, digits.count == 32, text.utf8.count == 32 else { return nil }
        return stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
