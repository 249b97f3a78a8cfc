// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Searches over HTTP: pays, makes a message, stores it, sends it, and ranks the answer.
///
/// ```swift
/// let packs = try PackSource(server: server, folder: caches, model: "mobilenet-v3 224") { Configuration.packID }
/// let search = Search(packs: packs, options: .response(epsilon: 4), budget: budget, folder: messages)
///
/// try await search.prepare()                                                      // early: fetches the pack, pays
/// let found = try await search.search("IMG 4711", features: features, label: 0)
/// for match in found.answer.matches { show(found.payload(of: match)) }
/// ```
///
/// - **One message per photo.** A message is stored before it is sent. When the network fails, when the server is busy,
///   and when the same photo is searched for another time, the same bytes are sent again. That is free.
/// - **No second payment in silence.** When the message of a photo was made with a pack that is no longer served, a new
///   one is made only if the app says so: see ``SearchError/paysAgain(_:)``.
/// - **The server does not choose the pack.** When it refuses the pack (409), the ``PackSource`` tells which one is
///   pinned for everybody.
/// - **Nothing tells what was sought or found.** A request holds nothing but the release. The answer is ranked when the
///   connection has ended. A query that the library cannot use is sent as a public default (``Options/substitute``):
///   silence would tell of it.
///
/// One object per folder: two that search for one photo at the same time may both pay for it.
public actor Search {
    /// What a search found, and what it cost.
    public struct Found: Sendable, Unprinted {
        public let answer: Answer
        /// The bytes of the answer, which the payloads are part of.
        public let bytes: Data
        /// What was paid for the message, by ``Search/prepare()`` or now; nil when a stored one was sent again.
        public let paid: Receipt?

        /// What the server keeps with a match, a picture for example. The bytes are not copied.
        public func payload(of match: Match) -> Data { match.payload(in: bytes) }
    }

    struct Query: Unprinted {
        let features: [Float], label: Int, modality: String?, scope: Answer.Scope, limit: Int
    }

    let packs: PackSource
    let options: Options
    private let budget: Budget
    let folder: MessageFolder
    let answerLimit: Int
    private var clients: [[UInt8]: Client] = [:]
    /// Paid for, and nothing released from it yet.
    var armed: Client?
    private var armedFor: CrowdBundle.Kind?
    /// Nil without a relay.
    var crowd: CrowdState?

    /// - Parameters:
    ///   - packs: Gives the pack, and knows the server.
    ///   - options: How messages are made; ``Options/substitute`` is set in any case.
    ///   - budget: What this person may spend.
    ///   - folder: Keeps the message of every photo, and must exist. Messages are public, so a backup may hold them.
    ///     Whoever deletes them pays anew: Application Support is the place, not Caches.
    ///   - answerLimit: Bytes of an answer at most.
    public init(packs: PackSource, options: Options, budget: Budget, folder: URL, answerLimit: Int = 64 << 20) {
        self.packs = packs
        self.options = options.substituting
        self.budget = budget
        self.folder = MessageFolder(url: folder)
        self.answerLimit = answerLimit
    }

    /// Searches in a crowd, through a relay. Then a search waits for the end of an epoch: seconds to hours.
    ///
    /// - Parameters:
    ///   - relay: Mixes the messages.
    ///   - packs: Gives the pack. It may fetch from the relay too, which passes packs on.
    ///   - options: ``Options/crowd(floor:_:substitute:)``; others are refused with ``Status/crowd``.
    ///   - budget: What this person may spend.
    ///   - folder: As above; but a message shows the photo's drawn cell here, and is kept out of backups.
    ///   - answerLimit: Bytes of the answer to one message at most. Only those to own messages are kept
    ///     (``Crowd/own``), all at once.
    public init(
        through relay: Relay, packs: PackSource, options: Options, budget: Budget, folder: URL,
        answerLimit: Int = 64 << 20
    ) throws(PrivateMailError) {
        guard options.crowd != nil else { throw PrivateMailError(.crowd) }
        self.packs = packs
        self.options = options.substituting
        self.budget = budget
        self.folder = MessageFolder(url: folder)
        self.answerLimit = answerLimit
        crowd = CrowdState(settings: relay, configuration: packs.exchange.configuration)
    }

    deinit {
        try? armed?.disarm()
    }

    /// Fetches the pack if need be, pays for the next message and draws its noise. Call it when idle, before a photo is
    /// at hand; ``close()`` takes the price back. A search that needs a message and finds nothing prepared pays itself.
    public func prepare() async throws {
        try arm(try await client(of: try await packs.pin()), crowd == nil ? nil : .query)
    }

    /// What is nearest to a photo.
    ///
    /// Throws a ``SearchError``, a ``PrivateMailError``, what the ``PackSource/Pin`` threw, or a `CancellationError`.
    /// In all cases the message is kept, and the next call sends the same.
    ///
    /// - Parameters:
    ///   - photo: A name of its own, of 1 to 100 bytes, which stays on the device. Files are named by it, and a backup
    ///     may hold them: give a search for words a number, not these words.
    ///   - features: The photo's features. They are not kept, and yours to wipe: see ``wipe(_:)``.
    ///   - label: Its class; ignored by packs with one slot.
    ///   - modality: Whose features they are, by a name of ``Pack/modalities``; nil for the pack's first.
    ///   - scope: Which candidates count.
    ///   - limit: How many matches to keep, 1 to 256.
    ///   - payAgain: Whether to pay once more when the photo's message was made with a pack that is gone.
    public func search(
        _ photo: String, features: [Float], label: Int, modality: String? = nil, scope: Answer.Scope = .ownSlot,
        limit: Int = 20, payAgain: Bool = false
    ) async throws -> Found {
        let query = Query(features: features, label: label, modality: modality, scope: scope, limit: limit)
        _ = try classNumber(label)  // mistakes of the app are told before anything is paid
        try Answer.check(limit: limit)
        var pinned = try await packs.pin()
        var gone: Set<[UInt8]> = []  // packs that the server does not serve
        var paid: Receipt?
        while true {
            // What was made before costs nothing, with an older pack too as long as that is served.
            let messages = try folder.messages(of: photo)
            for message in messages.filter({ $0.pack == pinned }) + messages.filter({ $0.pack != pinned })
            where !gone.contains(message.pack) {
                do {
                    return try await send(message, of: photo, query, paid: paid)
                } catch SearchError.refused(status: 409) {
                    gone.insert(message.pack)
                } catch where message.pack != pinned && isOfThePack(error) {
                    gone.insert(message.pack)
                }
            }
            if gone.contains(pinned) {
                pinned = try await packs.pin()  // everybody's, or none; what the server calls current is not looked at
                guard !gone.contains(pinned) else { throw SearchError.packNotServed(id: pinned) }
                continue
            }
            let client = try await client(of: pinned)
            _ = try client.pack.find(modality: modality)  // before anything is paid
            try await ready(client)
            // From here to the stored message nothing waits, so that no other search for this photo comes between.
            let made = try folder.messages(of: photo).map(\.pack)
            guard !made.contains(pinned) else { continue }
            guard made.isEmpty || payAgain && paid == nil else { throw SearchError.paysAgain(client.receipt) }
            paid = try makeMessage(of: photo, with: client, query)
        }
    }

    /// Whether a message of this photo is stored: then a search costs nothing as long as the message's pack is served.
    public func isPaid(_ photo: String) throws -> Bool {
        try !folder.messages(of: photo).isEmpty
    }

    /// Deletes the messages of a photo, when the photo is deleted for example. Searching for it again pays again.
    public func forget(_ photo: String) throws {
        try folder.remove(photo)
    }

    /// Takes back what was paid for a message that was not made. The object may be used again.
    public func close() throws {
        defer { armed = nil }
        try armed?.disarm()
    }

    /// Nil: for a release.
    func arm(_ client: Client, _ kind: CrowdBundle.Kind?) throws {
        if armed !== client || armedFor != kind { try close() }  // of another pack, or for something else
        guard armed == nil else { return }
        if let kind { try client.armBundle(budget, for: kind) } else { try client.arm(budget) }
        armed = client
        armedFor = kind
    }

    /// Stored before anybody sees it.
    private func makeMessage(of photo: String, with client: Client, _ query: Query) throws -> Receipt {
        try arm(client, crowd == nil ? nil : .query)
        let message =
            crowd == nil
            ? try client.release(features: query.features, label: query.label, modality: query.modality).bytes
            : try makeBundle(of: photo, with: client, query)
        armed = nil
        try folder.store(message, of: photo, pack: client.pack.id, inBackups: crowd == nil)
        return client.receipt
    }

    private func send(
        _ message: MessageFolder.Message, of photo: String, _ query: Query, paid: Receipt?
    ) async throws -> Found {
        let client = try await client(of: message.pack)
        if crowd != nil {
            return try await sendInCrowd(message.bytes, of: photo, with: client, query, paid: paid)
        }
        return try await packs.exchange.post(message.bytes, limit: answerLimit) { bytes in
            // After the connection's end, whose time must not depend on what was found.
            do {
                let answer = try client.answer(
                    bytes, features: query.features, label: query.label, modality: query.modality, scope: query.scope,
                    limit: query.limit)
                return Found(answer: answer, bytes: bytes, paid: paid)
            } catch let error as PrivateMailError {
                throw error.status == .answer || error.status == .packID ? SearchError.unsound : error
            }
        }
    }

    /// Whether an old message is useless because its pack is: not served, not of the app's model, without what the
    /// options need, without the query's modality, or of another number of features.
    private func isOfThePack(_ error: any Error) -> Bool {
        if case SearchError.packNotServed = error { return true }
        guard let error = error as? PrivateMailError else { return false }
        return ![.keys, .spent, .persist, .budget, .entropy].contains(error.status)
    }

    func client(of id: [UInt8]) async throws -> Client {
        if let client = clients[id] { return client }
        let pack = try await packs.open(id)
        if let client = clients[id] { return client }  // made meanwhile, and perhaps armed
        let client = try Client(pack: pack, options: options)
        clients[id] = client
        return client
    }
}
