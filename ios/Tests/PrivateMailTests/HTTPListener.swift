// SPDX-License-Identifier: Apache-2.0
#if os(Linux) || os(macOS)
    import Foundation
    import XCTest

    /// A listener on a port of this machine: it reads one request a connection, keeps it, and does what it is told to.
    final class HTTPListener: @unchecked Sendable {  // what is mutable is only touched with the lock held
        struct Request: Sendable {
            let method: String, path: String, headers: [String: String], body: Data
        }

        enum Reply: Sendable {
            case reply(Int, headers: [String: String] = [:], body: Data = Data())
            /// Closes the connection without a word.
            case drop
            /// Announces the whole body, sends so many bytes of it, and closes the connection.
            case cut(after: Int, headers: [String: String], body: Data)
            /// A 200 whose body has so many pieces of one size, each made when it is sent.
            case pieces(Int, size: Int, headers: [String: String], make: @Sendable (Int) -> Data)
            /// Says nothing for so many seconds.
            case silence(TimeInterval)
        }

        let url: URL
        private let socket: Int32
        private let lock = NSLock()
        private var heard: [Request] = []
        private var rule: @Sendable (Request, Int) -> Reply

        /// The rule gets a request and how many came before it.
        init(_ rule: @escaping @Sendable (Request, Int) -> Reply) throws {
            self.rule = rule
            #if os(Linux)
                let stream = Int32(SOCK_STREAM.rawValue)
            #else
                let stream = SOCK_STREAM
            #endif
            socket = Foundation.socket(AF_INET, stream, 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let file = socket
            let failed = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(file, $0, size) != 0 || listen(file, 16) != 0 || getsockname(file, $0, &size) != 0
                }
            }
            XCTAssertFalse(failed, "cannot listen")
            url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")!
            Thread.detachNewThread { [self] in
                while true {
                    let connection = accept(file, nil, nil)
                    if connection < 0 { return }
                    Thread.detachNewThread { self.serve(connection) }
                }
            }
        }

        func stop() {
            shutdown(socket, Int32(SHUT_RDWR))
            close(socket)
        }

        var requests: [Request] { lock.withLock { heard } }

        func follow(_ rule: @escaping @Sendable (Request, Int) -> Reply) {
            lock.withLock {
                self.rule = rule
                heard = []
            }
        }

        private func serve(_ connection: Int32) {
            defer { close(connection) }
            guard let request = receive(connection) else { return }
            let reply = lock.withLock { () -> Reply in
                heard.append(request)
                return rule(request, heard.count - 1)
            }
            switch reply {
            case .reply(let status, let headers, let body):
                send(head(status, headers, body.count) + body, to: connection)
            case .drop: break
            case .cut(let length, let headers, let body):
                send(head(200, headers, body.count) + body.prefix(length), to: connection)
            case .pieces(let count, let size, let headers, let make):
                send(head(200, headers, count * size), to: connection)
                for number in 0..<count { send(make(number), to: connection) }
            case .silence(let seconds): Thread.sleep(forTimeInterval: seconds)
            }
        }

        private func head(_ status: Int, _ headers: [String: String], _ length: Int) -> Data {
            var lines = ["HTTP/1.1 \(status) Status", "Content-Length: \(length)", "Connection: close"]
            lines += headers.map { "\($0.key): \($0.value)" }
            return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        }

        private func send(_ bytes: Data, to connection: Int32) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        private func receive(_ connection: Int32) -> Request? {
            var bytes = Data()
            var piece = [UInt8](repeating: 0, count: 4096)
            while true {
                if let request = parse(bytes) { return request }
                let count = read(connection, &piece, piece.count)
                guard count > 0 else { return nil }
                bytes.append(contentsOf: piece[..<count])
            }
        }

        /// Nil as long as something is missing.
        private func parse(_ bytes: Data) -> Request? {
            guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
            var lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
            let first = lines.removeFirst().split(separator: " ").map(String.init)
            var headers: [String: String] = [:]
            for line in lines {
                let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                headers[parts[0].lowercased()] = parts.count > 1 ? parts[1] : ""
            }
            let body = bytes[end.upperBound...]
            guard body.count >= Int(headers["content-length"] ?? "0")! else { return nil }
            return Request(method: first[0], path: first[1], headers: headers, body: Data(body))
        }
    }
#endif
