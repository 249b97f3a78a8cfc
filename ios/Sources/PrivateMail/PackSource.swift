// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gives the app its pack: from a folder of the device, or from the server's `/v1/pack/ID` when the folder lacks it.
///
/// Which pack that is, is never the server's choice (see ``Pin``). Whatever comes is checked against the pinned id and
/// the model's name before it is stored or used.
public struct PackSource: Sendable {
    /// Tells the 16 bytes of the pack that is to be used now: the same for *every* user of the app.
    ///
    /// A constant, which changes when the app is updated, or a value of a configuration that everybody gets alike; never
    /// what a search server or an account says: a pack made for one user marks that user. Asked at the beginning of
    /// every search, and again when the server does not serve a pack, so it should have the id at hand.
    public typealias Pin = @Sendable () async throws -> [UInt8]

    let exchange: Exchange
    let pin: Pin
    private let folder: URL
    private let model: String?
    private let shipped: URL?
    private let limit: Int

    /// - Parameters:
    ///   - server: The server's address without `/v1`, such as `https://search.example`.
    ///   - folder: Keeps the packs, and must exist. It is a cache: its files may be deleted at any time.
    ///   - model: The name of the model that makes the app's features, as in `privatemail pack --model`; nil for any.
    ///   - shipped: The file of a pack that comes with the app: as long as it is the pinned one nothing is fetched.
    ///   - limit: Bytes of a pack at most.
    ///   - configuration: Of the network sessions. Whatever is added to it must be the same for every user.
    ///   - pin: Tells which pack to use.
    public init(
        server: URL, folder: URL, model: String?, shipped: URL? = nil, limit: Int = 64 << 20,
        configuration: URLSessionConfiguration = PackSource.configuration, pin: @escaping Pin
    ) throws(PrivateMailError) {
        guard ["http", "https"].contains(server.scheme), server.host != nil, server.query == nil else {
            throw PrivateMailError(.argument)
        }
        exchange = Exchange(server: server, configuration: configuration)
        self.folder = folder
        self.model = model
        self.shipped = shipped
        self.limit = limit
        self.pin = pin
    }

    /// A configuration whose requests tell nothing about who sends them: without cookies, cache and credentials, and with
    /// the same headers from every device.
    public static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpAdditionalHeaders = ["User-Agent": "privatemail", "Accept-Language": "*"]
        configuration.timeoutIntervalForRequest = 20
        configuration.timeoutIntervalForResource = 300
        return configuration
    }

    /// Opens the pinned pack; fetches it when the device does not have it.
    ///
    /// Throws a ``SearchError``, a ``PrivateMailError`` when what came is not the pinned pack or not of the app's model,
    /// or what the pin threw.
    public func open() async throws -> Pack {
        try await open(try await pin())
    }

    /// For ids that were pinned once.
    func open(_ id: [UInt8]) async throws -> Pack {
        guard id.count == 16 else { throw PrivateMailError(.argument) }
        let name = hexadecimal(id) + ".pmpk", stored = folder.appendingPathComponent(name)
        for file in [stored, shipped].compactMap({ $0 }) {
            do throws(PrivateMailError) {
                return try Pack(contentsOf: file, pinnedID: id, model: model)
            } catch where error.status == .packModel {
                throw error  // it is the pinned pack, so the server has no other
            } catch {}  // missing, damaged or another pack: the next one
        }
        let bytes: Data
        do {
            bytes = try await exchange.pack(hexadecimal(id), limit: limit)
        } catch SearchError.refused(status: 404) {
            throw SearchError.packNotServed(id: id)
        }
        _ = try Pack(bytes, pinnedID: id, model: model)  // else it is not stored
        do {
            try Folder.with(folder) { try $0.replace(name, with: bytes, inBackups: false) }
        } catch {
            throw SearchError.storage(error)
        }
        return try Pack(contentsOf: stored, pinnedID: id, model: model)
    }
}

/// Two digits per byte.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
}

extension Pack {
    /// A pack's id from its 32 hexadecimal digits, as `privatemail inspect` prints them; nil when the text is no id.
    public static func id(hexadecimal text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard text.utf8.count == 32, digits.count == 32 else { return nil }
        return stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
