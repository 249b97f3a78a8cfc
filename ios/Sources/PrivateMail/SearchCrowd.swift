// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a search in a crowd knows of its relay.
struct CrowdState: Unprinted {
    /// A bundle that was sent, or may have been.
    struct Round: Unprinted {
        let name: String, epoch: UInt64, ticket: String, bytes: Data, answerSize: Int
        /// By message; nil for those that are not the app's own.
        let openers: [Opener?]
    }

    let settings: Relay
    let relay: RelayClient
    var described: RelayClient.Description?
    /// Paid for and not sent, by photo and pack.
    var unsent: [String: CrowdBundle] = [:]
    /// The last one, while its answers may be had.
    var round: Round?
    /// Whether somebody sends a bundle or waits for its answers.
    var busy = false

    init(settings: Relay, configuration: URLSessionConfiguration) {
        self.settings = settings
        relay = RelayClient(exchange: Exchange(server: settings.address, configuration: configuration))
    }
}

extension Search {
    private static let sends = 3  // of one search: a relay that loses every bundle would spend the budget
    private static let epochs = 10.0  // that a search waits unless told otherwise
    private static let shortestPause = 0.25, longestPause = 5.0

    /// For crowds: takes part in the open epoch without a query, with fakes, and with cover when the policy says so.
    ///
    /// Call it once per epoch when the app runs anyway: the promise counts on clients that do. It waits for no answers
    /// and costs nothing; a price that ``prepare()`` paid is taken back. Returns whether it took part: not when this
    /// device has sent a bundle in this epoch, or is about to. Throws ``Status/state`` without a relay.
    public func idle() async throws -> Bool {
        guard let crowd else { throw PrivateMailError(.state) }
        let client = try await client(of: try await packs.pin())
        guard !self.crowd!.busy else { return false }
        self.crowd!.busy = true
        defer { self.crowd!.busy = false }
        try await describe()
        let key = try await key(for: client), epoch = try await crowd.relay.epoch(pack: client.pack.id)
        guard try epoch.epoch > lastEpoch(client) else { return false }
        try arm(client, .idle)
        let bundle = try client.idleBundle()
        armed = nil
        let round = try seal(bundle, "", client, key, epoch)
        switch try await post(round, client) {
        case .taken: return true
        case .late, .unknown: return false  // the epoch closed meanwhile
        case .refused(let status): throw SearchError.refused(status: status)
        }
    }

    /// Throws what would keep a message from being sent, before anything is paid.
    func ready(_ client: Client) async throws {
        guard crowd != nil else { return }
        try await describe()
        _ = try await key(for: client)
    }

    /// Draws the cell of a photo; returns the message that keeps it.
    func makeBundle(of photo: String, with client: Client, _ query: Query) throws -> Data {
        let bundle = try client.bundle(features: query.features, label: query.label, modality: query.modality)
        crowd!.unsent[name(photo, client)] = bundle
        return bundle.kept!  // of every bundle with a query
    }

    /// Sends the kept message of a photo, in one of this device's epochs, and waits for its answers.
    func sendInCrowd(
        _ kept: Data, of photo: String, with client: Client, _ query: Query, paid: Receipt?
    ) async throws -> Found {
        let clock = Date(), name = name(photo, client)
        while crowd!.busy { try await pause(0, since: clock) }
        crowd!.busy = true
        defer { crowd!.busy = false }
        for _ in 0..<Self.sends {
            if crowd!.round?.name != name || crowd!.unsent[name] != nil {
                try await enter(name, kept, client, clock)
            }
            if let answers = try await collect(crowd!.round!, clock) {
                defer { crowd!.round = nil }
                return try rank(answers, crowd!.round!, client, query, paid: paid)
            }
            crowd!.round = nil
        }
        throw SearchError.refused(status: 410)
    }

    // ---- into an epoch ----

    /// Sends the bundle of a photo in an epoch that has none of this device, and makes it the round.
    private func enter(_ name: String, _ kept: Data, _ client: Client, _ clock: Date) async throws {
        try await describe()
        crowd!.round = nil
        let key = try await key(for: client)
        var epoch = try await nextEpoch(client, clock)
        if crowd!.unsent[name] == nil {
            try arm(client, .kept)
            crowd!.unsent[name] = try client.bundle(kept: kept)
            armed = nil
        }
        while true {
            let bundle = crowd!.unsent[name]!, round = try seal(bundle, name, client, key, epoch)
            crowd!.unsent[name] = nil
            crowd!.round = round  // also when the network fails now: it may have arrived
            switch try await post(round, client) {
            case .taken, .unknown: return  // unknown: the ticket tells
            case .late: break
            case .refused(let status):
                crowd!.round = nil
                crowd!.unsent[name] = bundle  // nobody has it, so it is still paid for
                if status == 409 { throw SearchError.unsound }
                throw SearchError.refused(status: status)
            }
            crowd!.round = nil
            crowd!.unsent[name] = bundle
            epoch = try await nextEpoch(client, clock)
        }
    }

    /// The open epoch, as soon as that is one in which this device has sent nothing.
    private func nextEpoch(_ client: Client, _ clock: Date) async throws -> RelayClient.Epoch {
        while true {
            let epoch: RelayClient.Epoch
            do {
                epoch = try await crowd!.relay.epoch(pack: client.pack.id)
            } catch SearchError.packNotServed {
                throw SearchError.refused(status: 409)  // as a server says it
            }
            guard try epoch.epoch <= lastEpoch(client) else {
                guard epoch.answer <= answerLimit else { throw SearchError.tooLong(limit: answerLimit) }
                return epoch
            }
            try await pause(epoch.closes, since: clock)
        }
    }

    private func seal(
        _ bundle: CrowdBundle, _ name: String, _ client: Client, _ key: SealKey, _ epoch: RelayClient.Epoch
    ) throws -> CrowdState.Round {
        // The app's limit may be any number, and the relay announces what it likes.
        guard !epoch.answer.multipliedReportingOverflow(by: bundle.messages.count).overflow else {
            throw SearchError.tooLong(limit: answerLimit)
        }
        let ticket = (0..<16).map { _ in UInt8.random(in: 0...255) }
        var bytes = Data(withUnsafeBytes(of: epoch.epoch.bigEndian) { Array($0) } + ticket), openers: [Opener?] = []
        for message in bundle.messages {
            let sealed = try key.seal(message.bytes, epoch: epoch.epoch, pack: client.pack.id)
            guard sealed.message.count == epoch.message else { throw SearchError.unsound }
            bytes += sealed.message
            openers.append(message.own > 0 ? sealed.opener : nil)
        }
        return CrowdState.Round(
            name: name, epoch: epoch.epoch, ticket: hexadecimal(ticket), bytes: bytes, answerSize: epoch.answer,
            openers: openers)
    }

    /// The epoch is noted before the bundle is sent: after a crash it counts as one that has a bundle.
    private func post(_ round: CrowdState.Round, _ client: Client) async throws -> RelayClient.Taken {
        try folder.writeNote(Data(String(round.epoch).utf8), named: hexadecimal(client.pack.id) + ".epoch")
        return try await crowd!.relay.post(round.bytes, pack: client.pack.id)
    }

    /// The last epoch that this device sent a bundle in; 0 when there was none.
    private func lastEpoch(_ client: Client) throws -> UInt64 {
        guard let note = try folder.note(named: hexadecimal(client.pack.id) + ".epoch", limit: 20) else { return 0 }
        guard let number = UInt64(String(decoding: note, as: UTF8.self)) else {
            throw SearchError.storage(POSIXError(.EBADMSG))
        }
        return number
    }

    /// Refuses a relay that promises less than the policy counts on.
    private func describe() async throws {
        guard crowd!.described == nil else { return }
        let found = try await crowd!.relay.description()
        guard let policy = options.crowd, found.suits(policy) else { throw PrivateMailError(.crowd) }
        crowd!.described = found
    }

    /// The key to seal for (SPEC 10.7). Keys that the app brought are used as they are. Without them those of the relay
    /// are pinned with the pack when they first come. The relay never changes them again: it could put a key of its own
    /// in front.
    private func key(for client: Client) async throws -> SealKey {
        let offered = try await crowd!.relay.keys()
        let name = hexadecimal(client.pack.id) + ".keys"
        if let pinned = try crowd!.settings.keys ?? folder.note(named: name, limit: SealKey.longest) {
            let key = try SealKey(configuration: pinned)
            try key.require(in: offered)
            return key
        }
        let key = try SealKey(configuration: offered)
        try folder.writeNote(offered, named: name)
        return key
    }

    // ---- and back ----

    /// The answers to the own messages of the round; nil when they are lost.
    private func collect(_ round: CrowdState.Round, _ clock: Date) async throws -> [Data]? {
        let own = round.openers.map { $0 != nil }
        while true {
            switch try await crowd!.relay.answers(
                ticket: round.ticket, size: round.answerSize, own: own, wait: try left(since: clock))
            {
            case .there(let answers):
                await crowd!.relay.forget(ticket: round.ticket)
                return answers
            case .lost: return nil
            case .notYet(let seconds): try await pause(seconds, since: clock)
            }
        }
    }

    /// After the connection's end, whose time must not depend on what was found.
    private func rank(
        _ answers: [Data], _ round: CrowdState.Round, _ client: Client, _ query: Query, paid: Receipt?
    ) throws -> Found {
        var contents = Data(), all: [Answer] = [], matches: [Match] = []
        for (opener, sealed) in zip(round.openers.compactMap { $0 }, answers) {
            do {
                let (status, content) = try opener.open(sealed)
                // Whatever it says: inside, a server could say it to one cell alone, and see who sends again or takes
                // another pack. That a pack is gone the relay tells everybody.
                guard status == 200 else { throw SearchError.unsound }
                let answer = try client.answer(
                    content, features: query.features, label: query.label, modality: query.modality, scope: query.scope,
                    limit: query.limit)
                matches += answer.matches.map { $0.moved(by: contents.count) }
                contents += content
                all.append(answer)
            } catch let error as PrivateMailError {
                throw [.answer, .packID, .sealed].contains(error.status) ? SearchError.unsound : error
            }
        }
        var items: Set<UInt64> = []
        matches = matches.filter { items.insert($0.item).inserted }.sorted { $0.score > $1.score }
        let answer = Answer(
            matches: Array(matches.prefix(query.limit)), carried: all.reduce(0) { $0 + $1.carried },
            gallery: all.first?.gallery ?? 0, bytes: all.reduce(0) { $0 + $1.bytes })
        return Found(answer: answer, bytes: contents, paid: paid)
    }

    // ---- time ----

    private func left(since clock: Date) throws -> TimeInterval {
        let longest = crowd!.settings.longest ?? Self.epochs * Double(crowd!.described?.epoch_seconds ?? 3600)
        let left = longest - Date().timeIntervalSince(clock)
        guard left > 0 else { throw SearchError.crowdNotFilled }
        return left
    }

    private func pause(_ seconds: TimeInterval, since clock: Date) async throws {
        let pause = min(max(Self.shortestPause, min(seconds, Self.longestPause)), try left(since: clock))
        try await Task.sleep(nanoseconds: UInt64(pause * 1e9))
        _ = try left(since: clock)
    }

    private func name(_ photo: String, _ client: Client) -> String { hexadecimal(client.pack.id) + photo }
}
