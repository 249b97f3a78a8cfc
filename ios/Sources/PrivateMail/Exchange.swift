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
    /// Bytes of a body at most.
    let limit: Int

    /// Posts a release. `take` reads the answer, and throws ``SearchError/unsound`` when it is none.
    func post<Result>(
        _ release: Data, isolation: isolated (any Actor)? = #isolation, take: (Data) throws -> Result
    ) async throws -> Result {
        var request = URLRequest(url: server.appendingPathComponent("v1/query"))
        request.httpMethod = "POST"
        request.httpBody = release
        request.setValue("application/cbor", forHTTPHeaderField: "Content-Type")
        request.setValue("application/cbor-seq", forHTTPHeaderField: "Accept")
        return try await perform(request, type: "application/cbor-seq", take: take)
    }

    /// Fetches a pack by its id. What comes is not checked here.
    func pack(_ id: String) async throws -> Data {
        let request = URLRequest(url: server.appendingPathComponent("v1/pack/\(id)"))
        return try await perform(request, type: "application/octet-stream") { $0 }
    }

    private func perform<Result>(
        _ request: URLRequest, type: String, isolation: isolated (any Actor)? = #isolation,
        take: (Data) throws -> Result
    ) async throws -> Result {
        var attempt = 1
        while true {
            do {
                let reply = try await Receiver(limit: limit).send(request, configuration)
                try check(reply.response, type: type)
                return try take(reply.body)
            } catch let error as SearchError {
                guard attempt < Exchange.attempts, let earliest = error.earliestRetry else { throw error }
                let pause = max(earliest, Exchange.firstPause * pow(2, Double(attempt - 1)))
                try await Task.sleep(nanoseconds: UInt64(pause * 1e9))
                attempt += 1
            }
        }
    }

    private func check(_ response: HTTPURLResponse, type: String) throws {
        let status = response.statusCode
        if (500...599).contains(status) {
            let pause = response.value(forHTTPHeaderField: "Retry-After").flatMap(seconds(until:))
            throw SearchError.unavailable(status: status, retryAfter: pause)
        }
        guard status == 200 else { throw SearchError.refused(status: status) }
        guard response.mimeType == type else { throw SearchError.unsound }
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
    // Everything mutable is set before the task starts and then touched by the session's serial queue only.
    private let limit: Int
    private var body = Data()
    private var failure: SearchError?
    private var continuation: CheckedContinuation<(body: Data, response: HTTPURLResponse), any Error>?

    init(limit: Int) {
        self.limit = limit
    }

    func send(
        _ request: URLRequest, _ configuration: URLSessionConfiguration
    ) async throws -> (body: Data, response: HTTPURLResponse) {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }  // it holds its delegate until then
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.continuation = continuation
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// A release goes to the server that was named, or nowhere.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard failure == nil else { return }
        guard data.count <= limit - body.count else {
            failure = .tooLong(limit: limit)
            return dataTask.cancel()
        }
        body.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let continuation else { return }
        self.continuation = nil
        if let failure {
            continuation.resume(throwing: failure)
        } else if (error as? URLError)?.code == .cancelled {
            continuation.resume(throwing: CancellationError())
        } else if let response = task.response as? HTTPURLResponse, error == nil {
            continuation.resume(returning: (body, response))
        } else {
            continuation.resume(throwing: SearchError.network(error ?? URLError(.badServerResponse)))
        }
    }
}
