// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A relay that mixes the messages of a crowd: where it is, which keys messages are sealed for, and how long to wait.
public struct Relay: Sendable {
    let address: URL
    let keys: Data?
    let longest: TimeInterval?

    /// - Parameters:
    ///   - address: The relay's address without `/v1`: https, or http on this very machine.
    ///   - keys: The gateway's key configuration (`application/ohttp-keys`), brought by the way that the pack's id
    ///     came, the same for *every* user of the app. Nil: what the relay gives out when it is first asked. A relay
    ///     that lies at that time could read the messages.
    ///   - longest: Seconds that a search waits for its epoch, at least 1. Nil: ten epochs.
    ///
    /// Throws ``Status/argument`` for another address or limit, and ``Status/keys`` when no key can be used.
    public init(address: URL, keys: Data? = nil, longest: TimeInterval? = nil) throws(PrivateMailError) {
        let local = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(address.host ?? "")
        guard address.scheme == "https" || address.scheme == "http" && local, address.host?.isEmpty == false,
            address.query == nil, longest ?? 1 >= 1
        else { throw PrivateMailError(.argument) }
        if let keys { _ = try SealKey(configuration: keys) }
        self.address = address
        self.keys = keys
        self.longest = longest
    }
}

/// The interface of a relay (SPEC 11.2), as a client sees it. What it sends is checked here before anybody uses it.
struct RelayClient: Sendable {
    /// What a relay says of itself.
    struct Description: Decodable {
        struct Noise: Decodable {
            let clusters: Double, copies: Int
        }

        let version: Int, epoch_seconds: Int, clients: UInt64
        let noise: Noise?

        /// Whether it promises what the policy counts on.
        func suits(_ crowd: Crowd) -> Bool {
            let own = noise ?? Noise(clusters: 0, copies: 0)
            return clients >= crowd.clients
                && (crowd.relayClusters <= 0 || own.clusters >= crowd.relayClusters && own.copies == crowd.copies)
        }
    }

    /// An epoch that is open.
    struct Epoch: Decodable {
        let pack: String, epoch: UInt64, closes: Double, message: Int, answer: Int
    }

    enum Taken {
        case taken
        /// The epoch has closed, and nothing was taken.
        case late
        /// The epoch has closed, and an earlier attempt may have been in time.
        case unknown
        /// Not taken for another reason.
        case refused(Int)
    }

    enum Answers {
        case there([Data])
        case notYet(TimeInterval)
        case lost
    }

    private static let json = "application/json", longestText = 4096
    private static let held = 15.0  // seconds that a relay may hold a question for answers
    private static let ahead = 3600.0, behind = 86_400.0

    let exchange: Exchange

    func keys() async throws -> Data {
        try await exchange.perform(
            request("keys"), type: "application/ohttp-keys", limit: SealKey.longest
        ) { $0.body }
    }

    func description() async throws -> Description {
        let found: Description = try await object("relay")
        guard found.version == 1, (1...3600).contains(found.epoch_seconds) else { throw SearchError.unsound }
        return found
    }

    func epoch(pack: [UInt8]) async throws -> Epoch {
        let found: Epoch
        do {
            found = try await object("pack/\(hexadecimal(pack))/epoch")
        } catch SearchError.refused(status: 404) {
            throw SearchError.packNotServed(id: pack)
        }
        let offset = Double(found.epoch) - Date().timeIntervalSince1970
        guard found.pack == hexadecimal(pack), found.closes >= 0, found.message > 0, found.answer > 0,
            offset <= Self.ahead, offset >= -Self.behind
        else { throw SearchError.unsound }
        return found
    }

    /// When the network fails it may have been taken all the same.
    func post(_ bundle: Data, pack: [UInt8]) async throws -> Taken {
        var request = request("pack/\(hexadecimal(pack))/bundle")
        request.httpMethod = "POST"
        request.httpBody = bundle
        request.setValue("application/x-privatemail-bundle", forHTTPHeaderField: "Content-Type")
        let refusals: Set = [400, 401, 404, 409, 410, 413, 415]
        return try await exchange.perform(
            request, type: Self.json, limit: Self.longestText, accepts: refusals.union([200, 201])
        ) { reply in
            struct Refusal: Decodable { let error: String }
            guard refusals.contains(reply.status) else { return .taken }
            let name = try? JSONDecoder().decode(Refusal.self, from: reply.body).error
            if reply.status == 409, name == "epoch" { return reply.attempt == 1 ? .late : .unknown }
            guard reply.attempt == 1 else { throw SearchError.refused(status: reply.status) }
            return .refused(reply.status)
        }
    }

    /// The answers to own messages. Those to fakes come with them and are not kept: there may be hundreds.
    ///
    /// - Parameters:
    ///   - size: Of one answer.
    ///   - own: By message of the bundle.
    func answers(ticket: String, size: Int, own: [Bool], wait: TimeInterval) async throws -> Answers {
        let wait = Int(max(1, min(Self.held, wait))), parts = Exchange.Parts(size: size, wanted: own)
        return try await exchange.perform(
            request("ticket/\(ticket)", query: "wait=\(wait)"), type: "application/x-privatemail-answers",
            limit: parts.total, parts: parts, accepts: [200, 202, 410]
        ) { reply in
            switch reply.status {
            case 202: return .notYet(reply.retryAfter ?? 0)
            case 410: return .lost
            default:
                guard reply.received == parts.total else { throw SearchError.unsound }
                return .there(parts.split(reply.body))
            }
        }
    }

    /// Says that the answers are not needed any more; whether that arrives does not matter.
    func forget(ticket: String) async {
        var request = request("ticket/\(ticket)")
        request.httpMethod = "DELETE"
        try? await exchange.perform(request, type: Self.json, limit: Self.longestText, accepts: [204]) { _ in }
    }

    private func request(_ path: String, query: String? = nil) -> URLRequest {
        var parts = URLComponents(
            url: exchange.server.appendingPathComponent("v1/\(path)"), resolvingAgainstBaseURL: false)!
        parts.query = query
        return URLRequest(url: parts.url!)
    }

    private func object<Object: Decodable>(_ path: String) async throws -> Object {
        try await exchange.perform(request(path), type: Self.json, limit: Self.longestText) { reply in
            do {
                return try JSONDecoder().decode(Object.self, from: reply.body)
            } catch {
                throw SearchError.unsound
            }
        }
    }
}
