// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests to one server. In: a request, always the same bytes. Out: the body of a 200. Never follows a redirection,
/// never tries a 4xx again, never reads what a refusal says.
struct Exchange: Sendable {
    static let attempts = 3
    /// Seconds before the second attempt; doubled before each further one.
    static let firstPause: TimeInterval = 0.25
    /// A server that asks for more seconds gets no second attempt now.
    static let longestPause: TimeInterval = 30

    let server: URL
    let configuration: URLSessionConfiguration

    /// Posts a release. `take` reads the answer, of at most `limit` bytes, and throws ``SearchError/unsound`` when it
    /// is none.
    func post<Result>(
        _ release: Data, limit: Int, isolation: isolated (any Actor)? = #isolation, take: (Data) throws -> Result
    ) async throws -> Result {
        var request = URLRequest(url: server.appendingPathComponent("v1/query"))
        request.httpMethod = "POST"
        request.httpBody = release
        request.setValue("application/cbor", forHTTPHeaderField: "Content-Type")
        request.setValue("application/cbor-seq", forHTTPHeaderField: "Accept")
        return try await perform(request, type: "application/cbor-seq", limit: limit) { try take($0.body) }
    }

    /// Fetches a pack by its id. What comes is not checked here.
    func pack(_ id: String, limit: Int) async throws -> Data {
        let request = URLRequest(url: server.appendingPathComponent("v1/pack/\(id)"))
        return try await perform(request, type: "application/octet-stream", limit: limit) { $0.body }
    }

    /// What came of a request.
    struct Reply {
        let status: Int, body: Data
        /// Bytes that came, also those that were not kept.
        let received: Int
        /// 1 for the first. After others nobody knows what the server has taken.
        let attempt: Int
        let retryAfter: TimeInterval?
    }

    /// Which parts of a body are kept. Others are counted and dropped as they come in.
    struct Parts {
        let size: Int
        let wanted: [Bool]

        /// Bytes of the whole body.
        var total: Int { size * wanted.count }

        /// The wanted parts, from what was kept of a whole body.
        func split(_ kept: Data) -> [Data] {
            (0..<kept.count / size).map { kept.dropFirst($0 * size).prefix(size) }
        }
    }

    /// - Parameters:
    ///   - type: What the body must be, with a status below 202.
    ///   - parts: Nil keeps the whole body.
    ///   - accepts: The statuses that `take` is for; others are thrown.
    func perform<Result>(
        _ request: URLRequest, type: String, limit: Int, parts: Parts? = nil, accepts: Set<Int> = [200],
        isolation: isolated (any Actor)? = #isolation, take: (Reply) throws -> Result
    ) async throws -> Result {
        var attempt = 1
        while true {
            do {
                let reply = try await Receiver(limit: limit, parts: parts).send(request, configuration)
                try check(reply.response, type: type, accepts: accepts)
                return try take(
                    Reply(
                        status: reply.response.statusCode, body: reply.body, received: reply.received,
                        attempt: attempt, retryAfter: pause(of: reply.response)))
            } catch let error as SearchError {
                guard attempt < Exchange.attempts, let earliest = error.earliestRetry else { throw error }
                let pause = max(earliest, Exchange.firstPause * pow(2, Double(attempt - 1)))
                try await Task.sleep(nanoseconds: UInt64(pause * 1e9))
                attempt += 1
            }
        }
    }

    private func check(_ response: HTTPURLResponse, type: String, accepts: Set<Int>) throws {
        let status = response.statusCode
        if (500...599).contains(status) {
            throw SearchError.unavailable(status: status, retryAfter: pause(of: response))
        }
        guard accepts.contains(status) else { throw SearchError.refused(status: status) }
        guard status > 201 || response.mimeType == type else { throw SearchError.unsound }
    }

    private func pause(of response: HTTPURLResponse) -> TimeInterval? {
        response.value(forHTTPHeaderField: "Retry-After").flatMap(seconds(until:))
    }

    /// Retry-After is a number of seconds or a date.
    private func seconds(until text: String) -> TimeInterval? {
        if let seconds = UInt32(text) { return TimeInterval(seconds) }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.date(from: text).map { max(0, $0.timeIntervalSinceNow) }
    }
}

/// One request in a session of its own. The same code for all systems: those that have no `URLSession.data(for:)` too.
private final class Receiver: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    typealias Reply = (body: Data, received: Int, response: HTTPURLResponse)

    // Everything mutable is only touched with the lock held.
    private let lock = NSLock()
    private let limit: Int
    private let parts: Exchange.Parts?
    private var body = Data()
    private var received = 0
    private var outcome: Result<Reply, any Error>?
    private var waiting: CheckedContinuation<Reply, any Error>?

    init(limit: Int, parts: Exchange.Parts?) {
        self.limit = parts.map { min(limit, $0.total) } ?? limit
        self.parts = parts
    }

    func send(_ request: URLRequest, _ configuration: URLSessionConfiguration) async throws -> Reply {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        defer { session.invalidateAndCancel() }  // it holds its delegate until then
        session.dataTask(with: request).resume()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait($0) }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    private func wait(_ continuation: CheckedContinuation<Reply, any Error>) {
        lock.lock()
        defer { lock.unlock() }
        if let outcome { continuation.resume(with: outcome) } else { waiting = continuation }
    }

    /// The first outcome counts: no system promises that a task which was cancelled says so.
    private func finish(_ result: Result<Reply, any Error>) {
        lock.lock()
        defer { lock.unlock() }
        guard outcome == nil else { return }
        outcome = result
        waiting?.resume(with: result)
        waiting = nil
    }

    /// A release goes to the server that was named, or nowhere.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let fits = lock.withLock {
            guard data.count <= limit - received else { return false }
            keep(data)
            received += data.count
            return true
        }
        if !fits { finish(.failure(SearchError.tooLong(limit: limit))) }
    }

    /// With the lock held.
    private func keep(_ data: Data) {
        guard let parts else { return body.append(data) }
        var place = received, rest = data
        while !rest.isEmpty {
            let piece = rest.prefix(parts.size - place % parts.size)
            if parts.wanted[place / parts.size] { body.append(piece) }
            place += piece.count
            rest = rest.dropFirst(piece.count)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let response = task.response as? HTTPURLResponse, error == nil {
            finish(.success(lock.withLock { (body, received, response) }))
        } else {
            finish(.failure(SearchError.network(error ?? URLError(.badServerResponse))))
        }
    }
}
