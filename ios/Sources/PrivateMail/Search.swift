// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tells the 16 bytes of the pack that *every* user of the app uses now: a constant of the app, or its configuration.
///
/// Never what a search server says to one device: a pack made for one user marks that user. Asked at the beginning of
/// every search and when the server does not serve a pack, so it should have the id at hand.
public typealias PackSource = @Sendable () async throws -> [UInt8]

/// Searches, from features to what was found: the whole way of an app.
///
/// ```swift
/// let search = try Search(
///     server: URL(string: "https://search.example")!, packSource: { Configuration.packID }, model: "mobilenet-v3 224",
///     options: .response(epsilon: 4, substitute: true), budget: budget, folder: folder)
/// try await search.prepare()                                                    // early: fetches the pack, pays
/// let found = try await search.search("IMG 4711", features: features, label: 0)
/// for match in found.answer.matches { show(found.payload(of: match)) }
/// ```
///
/// The pack is fetched by the id that the ``PackSource`` names, checked against id and model, and kept in the folder.
/// The message of every photo is stored there before it is sent. When the network fails, when the server is busy, and
/// when the same photo is searched for another time, the same bytes are sent again, which costs nothing. A photo is
/// paid for a second time only when its message was made with a pack that is no longer served, and only when the app
/// says so (``SearchError/paysAgain(_:)``).
///
/// A request holds nothing but the release: no cookies, no language, no version. One search object per folder: two
/// objects at work on one photo may pay for it twice.
public actor Search {
    /// What a search found, and what it cost.
    public struct Found: Sendable {
        public let answer: Answer
        /// The bytes of the answer, which the payloads are part of.
        public let bytes: Data
        /// What was paid, also if it was by ``Search/prepare()``; nil when a stored message was sent again.
        public let paid: Receipt?

        /// What the server keeps with a match, a picture for example; the bytes are not copied.
        public func payload(of match: Match) -> Data { match.payload(in: bytes) }
    }

    private struct Query {
        let features: [Float], label: Int, scope: Answer.Scope, limit: Int
    }

    private let exchange: Exchange
    private let packSource: PackSource
    private let model: String?
    private let options: Options
    private let budget: Budget
    private let folder: SearchFolder
    private let shippedPack: URL?
    private var clients: [[UInt8]: Client] = [:]
    /// Paid for, and not yet released from.
    private var armed: Client?

    /// - Parameters:
    ///   - server: Where `privatemail serve` answers, such as https://search.example.
    ///   - packSource: Names the pack that every user uses now.
    ///   - model: The name of the model that makes the features, as in `privatemail pack --model`; nil to accept any.
    ///   - options: How releases are made. With `substitute` features that cannot be used are sent all the same, as a
    ///     public default: silence would tell of them.
    ///   - budget: What this person may spend.
    ///   - folder: Keeps packs and messages. It must exist; Application Support is the place for it, not Caches.
    ///   - shippedPack: A pack in the app's bundle: while it is the pinned one nothing is fetched.
    ///   - replyLimit: Bytes of an answer or a pack at most.
    ///   - configuration: Of the sessions. Whatever is added to it must be the same for every user.
    public init(
        server: URL, packSource: @escaping PackSource, model: String?, options: Options, budget: Budget, folder: URL,
        shippedPack: URL? = nil, replyLimit: Int = 64 << 20,
        configuration: URLSessionConfiguration = Search.configuration
    ) throws(PrivateMailError) {
        guard ["http", "https"].contains(server.scheme), server.host != nil, server.query == nil else {
            throw PrivateMailError(.argument)
        }
        exchange = Exchange(server: server, configuration: configuration, limit: replyLimit)
        self.packSource = packSource
        self.model = model
        self.options = options
        self.budget = budget
        self.folder = SearchFolder(url: folder)
        self.shippedPack = shippedPack
    }

    deinit {
        try? armed?.disarm()
    }

    /// A configuration whose requests tell nothing about who sends them: without cookies, cache, credentials, and with
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

    /// Fetches the pack if need be, pays for the next message and draws its noise: to be called when idle, before a
    /// photo is at hand. ``close()`` takes the price back.
    public func prepare() async throws {
        try arm(try await client(of: try await packSource()))
    }

    /// What is nearest to a photo. A failure is a ``SearchError``, a ``PrivateMailError``, what the ``PackSource`` threw,
    /// or a `CancellationError`; the message is kept in all cases, and calling again sends the same.
    ///
    /// - Parameters:
    ///   - photo: A name of its own, of 1 to 100 bytes, which stays on the device.
    ///   - features: The photo's features. Not kept; yours to wipe, see ``wipe(_:)``.
    ///   - label: Its class; ignored by packs with one slot.
    ///   - scope: Which candidates count.
    ///   - limit: How many matches to keep, 1 to 256.
    ///   - payAgain: Whether to pay once more when the photo's message was made with a pack that is gone.
    public func search(
        _ photo: String, features: [Float], label: Int, scope: Answer.Scope = .ownSlot, limit: Int = 20,
        payAgain: Bool = false
    ) async throws -> Found {
        let query = Query(features: features, label: label, scope: scope, limit: limit)
        var pinned = try await packSource()
        var paid: Receipt?
        var notServed: Set<[UInt8]> = []
        while true {
            // What was made before costs nothing, with an older pack too as long as that is served.
            let messages = try folder.messages(of: photo)
            for message in messages.filter({ $0.pack == pinned }) + messages.filter({ $0.pack != pinned })
            where !notServed.contains(message.pack) {
                let client = message.pack == pinned ? try await client(of: pinned) : keptClient(of: message.pack)
                guard let client else { continue }
                do {
                    return try await exchange.post(message.bytes) { bytes in
                        Found(answer: try rank(bytes, with: client, query), bytes: bytes, paid: paid)
                    }
                } catch SearchError.refused(status: 409) {
                    notServed.insert(message.pack)
                }
            }
            if notServed.contains(pinned) {
                pinned = try await packSource()  // whatever the server says is current: everybody's, or none
                guard !notServed.contains(pinned) else { throw SearchError.packNotServed(id: pinned) }
                continue
            }
            let client = try await client(of: pinned)
            // From here to the stored message nothing waits: no second search of this photo comes between.
            let known = try folder.messages(of: photo).map(\.pack)
            guard !known.contains(pinned) else { continue }
            guard known.isEmpty || payAgain && paid == nil else { throw SearchError.paysAgain(client.receipt) }
            paid = try makeMessage(of: photo, with: client, query)
        }
    }

    /// Whether a message of this photo was made with a pack that is still on the device: then a search costs nothing if
    /// the server still serves that pack.
    public func knows(_ photo: String) throws -> Bool {
        try folder.messages(of: photo).contains { keptClient(of: $0.pack) != nil }
    }

    /// Deletes the messages of a photo, when the photo is deleted for example. Searching for it again pays again.
    public func forget(_ photo: String) throws {
        try folder.removeMessages(of: photo)
    }

    /// Takes back what was paid for a message that was not made. The object may be used again.
    public func close() throws {
        defer { armed = nil }
        try armed?.disarm()
    }

    private func arm(_ client: Client) throws {
        if armed !== client { try close() }  // of another pack
        guard armed == nil else { return }
        try client.arm(budget)
        armed = client
    }

    /// Stored before anybody sees it.
    private func makeMessage(
        of photo: String, with client: Client, _ query: Query
    ) throws -> Receipt {
        try arm(client)
        let release = try client.release(features: query.features, label: query.label)
        armed = nil
        try folder.store(release.bytes, of: photo, pack: client.pack.id)
        return release.receipt
    }

    /// After the connection's end, whose time must not depend on what was found.
    private func rank(_ bytes: Data, with client: Client, _ query: Query) throws -> Answer {
        do {
            return try client.answer(
                bytes, features: query.features, label: query.label, scope: query.scope, limit: query.limit)
        } catch {
            if error.status == .answer || error.status == .packID { throw SearchError.unsound }
            throw error
        }
    }

    /// The client of the pinned pack, which is fetched if it is not there.
    private func client(of id: [UInt8]) async throws -> Client {
        if let client = keptClient(of: id) { return client }
        guard id.count == 16 else { throw PrivateMailError(.argument) }
        let bytes: Data
        do {
            bytes = try await exchange.pack(hexadecimal(id))
        } catch SearchError.refused(status: 404) {
            throw SearchError.packNotServed(id: id)
        }
        _ = try Pack(bytes, pinnedID: id, model: model)  // else it is not kept
        try folder.store(bytes, id: id)
        let client = try Client(
            pack: try Pack(contentsOf: folder.file(ofPack: id), pinnedID: id, model: model), options: options)
        clients[id] = client
        return client
    }

    /// The client of a pack that is on the device, sound and of the app's model.
    private func keptClient(of id: [UInt8]) -> Client? {
        if let client = clients[id] { return client }
        for file in [folder.file(ofPack: id), shippedPack].compactMap({ $0 }) {
            guard let pack = try? Pack(contentsOf: file, pinnedID: id, model: model) else { continue }
            clients[id] = try? Client(pack: pack, options: options)
            return clients[id]
        }
        return nil
    }
}
