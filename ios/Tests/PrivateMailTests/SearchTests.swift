// SPDX-License-Identifier: Apache-2.0
// A search against listeners that fail in every way: the same bytes again, never a second payment that nobody asked for.
#if os(Linux) || os(macOS)
    import Foundation
    import PrivateMail
    import XCTest

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    final class SearchTests: XCTestCase {
        private typealias Reply = HTTPListener.Reply
        private static let answers = ["Content-Type": "application/cbor-seq"]
        private static let packs = ["Content-Type": "application/octet-stream"]

        private let vectors = Vectors.golden
        private let old = Vectors.golden.answers.first { $0.pack == Golden.one }!
        private let new = Vectors.golden.answers.first { $0.pack == Golden.classes }!
        private let words = Vectors.golden.answers.first { $0.pack == Golden.fronts }!
        private let store = MemoryStore()
        private var budget: Budget!
        private var folder: URL!, packFolder: URL!
        private var listener: HTTPListener!
        private let pin = Pin(Array(Vectors.golden.packs[Golden.one].id))

        override func setUpWithError() throws {
            folder = try temporaryFolder()
            packFolder = try temporaryFolder()
            budget = try plentyBudget(store)
            listener = try HTTPListener { _, _ in .drop }
        }

        override func tearDown() {
            listener.stop()
        }

        /// The app's configuration.
        private final class Pin: @unchecked Sendable {  // one test, one task at a time
            var id: [UInt8]
            private(set) var asked = 0

            init(_ id: [UInt8]) {
                self.id = id
            }

            func tell() -> [UInt8] {
                asked += 1
                return id
            }
        }

        private func search(
            model: String? = nil, shipped: URL? = nil, answerLimit: Int = 1 << 20
        ) throws -> Search {
            let pin = pin
            let configuration = PackSource.configuration
            configuration.timeoutIntervalForRequest = 120  // sanitisers are slow on a busy machine
            let packs = try PackSource(
                server: listener.url, folder: packFolder, model: model, shipped: shipped, configuration: configuration
            ) { pin.tell() }
            return Search(
                packs: packs, options: .response(epsilon: 1), budget: budget, folder: folder, answerLimit: answerLimit)
        }

        private func spent() throws -> Double { try budget.account().epsilonSpent }

        private func id(_ pack: Int) -> String {
            vectors.packs[pack].id.map { String(format: "%02x", $0) }.joined()
        }

        /// A server of the packs given: it has their files, and answers to their messages with the golden answers.
        private func server(of packs: [Int]) -> @Sendable (HTTPListener.Request, Int) -> Reply {
            let files = Dictionary(uniqueKeysWithValues: packs.map { ("/v1/pack/\(id($0))", vectors.packs[$0].bytes) })
            let answers = Dictionary(
                uniqueKeysWithValues: [old, new, words].filter { packs.contains($0.pack) }
                    .map { (vectors.packs[$0.pack].id, $0.bytes) })
            return { request, _ in
                if request.method == "GET" {
                    guard let file = files[request.path] else { return .reply(404) }
                    return .reply(200, headers: Self.packs, body: file)
                }
                guard request.path == "/v1/query" else { return .reply(404) }
                // It names a pack that nobody may fetch.
                let current = Data(#"{"error":"pack","message":"","current":["0123456789abcdef0123456789abcdef"]}"#.utf8)
                guard let answer = answers[request.body.dropFirst(5).prefix(16)] else {
                    return .reply(409, headers: ["Content-Type": "application/json"], body: current)
                }
                return .reply(200, headers: Self.answers, body: answer)
            }
        }

        private func find(
            _ search: Search, _ golden: Vectors.GoldenAnswer, photo: String = "photo", modality: String? = nil,
            payAgain: Bool = false
        ) async throws -> Search.Found {
            try await search.search(
                photo, features: golden.features, label: golden.label, modality: modality, scope: golden.scope,
                limit: golden.limit, payAgain: payAgain)
        }

        private func expectPaid(_ price: Double?, _ found: Search.Found, line: UInt = #line) {
            XCTAssertEqual(found.paid?.epsilon, price, line: line)
        }

        private func expectPaidFor(
            _ search: Search, _ photo: String, _ expected: Bool, line: UInt = #line
        ) async throws {
            let isPaid = try await search.isPaid(photo)
            XCTAssertEqual(isPaid, expected, line: line)
        }

        private struct NoFailure: Error {}

        private func failure(_ body: () async throws -> Void) async -> any Error {
            do {
                try await body()
                return NoFailure()
            } catch {
                return error
            }
        }

        private var posts: [HTTPListener.Request] { listener.requests.filter { $0.method == "POST" } }
        private var fetched: [String] { listener.requests.filter { $0.method == "GET" }.map(\.path) }

        private func expectGolden(_ found: Search.Found, _ golden: Vectors.GoldenAnswer, line: UInt = #line) {
            XCTAssertEqual(found.bytes, golden.bytes, line: line)
            XCTAssertEqual(found.answer.matches.count, golden.matches.count, line: line)
            for match in found.answer.matches {
                XCTAssertEqual(found.payload(of: match).count, match.payloadSize, line: line)
            }
        }

        func testASearchFetchesPaysAndFindsAndTheSecondIsFree() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            let photo = "IMG/0001 é"
            try await expectPaidFor(search, photo, false)
            let found = try await find(search, old, photo: photo)
            expectGolden(found, old)
            XCTAssertEqual(found.paid?.epsilon, 1)
            XCTAssertEqual(fetched, ["/v1/pack/\(id(Golden.one))"])
            try await expectPaidFor(search, photo, true)
            let again = try await find(search, old, photo: photo)
            XCTAssertNil(again.paid)
            XCTAssertEqual(again.answer, found.answer)
            XCTAssertEqual(try spent(), 1)
            // Another launch has pack and message.
            let later = try self.search()
            expectPaid(nil, try await find(later, old, photo: photo))
            XCTAssertEqual(posts.map(\.body), [posts[0].body, posts[0].body, posts[0].body])
            XCTAssertEqual(fetched.count, 1)
            XCTAssertEqual(try spent(), 1)
            // Another photo is another message, and a forgotten one is new.
            _ = try await find(later, old, photo: "IMG/0001 E")
            try await later.forget(photo)
            try await expectPaidFor(later, photo, false)
            expectPaid(1, try await find(later, old, photo: photo))
            XCTAssertEqual(try spent(), 3)
        }

        func testAMessageThatCannotBeStoredIsNotSent() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            try await search.prepare()
            // A folder stands where the message is to be written.
            let name = "photo".utf8.map { String(format: "%02x", $0) }.joined() + "-\(id(Golden.one)).cbor.new"
            let obstacle = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: true)
            let error = await failure { _ = try await find(search, old) }
            guard case .storage = error as? SearchError else { return XCTFail("\(error)") }
            XCTAssertEqual(posts.count, 0)
            XCTAssertEqual(try spent(), 1)
            try FileManager.default.removeItem(at: obstacle)
            expectPaid(1, try await find(search, old))
            XCTAssertEqual(try spent(), 2)
        }

        func testNetworkFailuresGetTheSameBytesAgain() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search(), serve = server(of: [Golden.one]), answer = old.bytes
            try await search.prepare()
            let rules: [@Sendable (HTTPListener.Request, Int) -> Reply] = [
                { $1 < 2 ? .drop : serve($0, $1) },
                { $1 < 2 ? .cut(after: 50, headers: Self.answers, body: answer) : serve($0, $1) },
                { $1 < 2 ? .reply(200, headers: Self.answers, body: answer.dropLast()) : serve($0, $1) },
                { $1 < 2 ? .reply(200, headers: ["Content-Type": "text/html"], body: answer) : serve($0, $1) },
                { $1 < 2 ? .reply(500 + 2 * $1) : serve($0, $1) },
            ]
            for (number, rule) in rules.enumerated() {
                listener.follow(rule)
                let began = Date()
                expectGolden(try await find(search, old, photo: "photo \(number)"), old)
                XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(began), 0.75)  // 0.25 + 0.5
                XCTAssertEqual(posts.count, 3, "rule \(number)")
                XCTAssertEqual(Set(posts.map(\.body)).count, 1)
                XCTAssertEqual(try spent(), Double(number + 1))
            }
        }

        func testAfterThreeFailuresTheNextSearchIsFree() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            try await search.prepare()
            var sent: [Data] = []
            for (rule, name) in [(Reply.drop, "network"), (.reply(503), "unavailable"), (.reply(200), "unsound")] {
                listener.follow { _, _ in rule }
                let error = await failure { _ = try await find(search, old) }
                XCTAssertTrue("\(error)".hasPrefix(name), "\(error)")
                XCTAssertEqual(posts.count, 3)
                sent += posts.map(\.body)
                XCTAssertEqual(try spent(), 1)
            }
            listener.follow(server(of: [Golden.one]))
            expectPaid(nil, try await find(search, old))
            XCTAssertEqual(Set(sent + posts.map(\.body)).count, 1)
            XCTAssertEqual(try spent(), 1)
        }

        func testRetryAfter() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search(), serve = server(of: [Golden.one])
            try await search.prepare()
            listener.follow { $1 == 0 ? .reply(503, headers: ["Retry-After": "2"]) : serve($0, $1) }
            let began = Date()
            expectGolden(try await find(search, old), old)
            XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(began), 2)

            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let date = format.string(from: Date().addingTimeInterval(3))
            listener.follow { $1 == 0 ? .reply(503, headers: ["Retry-After": date]) : serve($0, $1) }
            expectGolden(try await find(search, old), old)
            XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(try XCTUnwrap(format.date(from: date))), -0.1)

            listener.follow { _, _ in .reply(503, headers: ["Retry-After": "3600"]) }
            let error = await failure { _ = try await find(search, old) }
            guard case .unavailable(503, retryAfter: 3600) = error as? SearchError else {
                return XCTFail("\(error)")
            }
            XCTAssertEqual(posts.count, 1)  // nobody waits for an hour
        }

        func testRefusalsAreNotTriedAgain() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            try await search.prepare()
            for status in [400, 401, 404, 408, 413, 415, 429, 302, 307, 204] {
                let elsewhere = listener.url.appendingPathComponent("elsewhere").absoluteString
                listener.follow { _, _ in .reply(status, headers: ["Location": elsewhere]) }
                let error = await failure { _ = try await find(search, old) }
                guard case .refused(status) = error as? SearchError else { return XCTFail("\(status): \(error)") }
                XCTAssertEqual(listener.requests.map(\.path), ["/v1/query"], "\(status)")
            }
            XCTAssertEqual(try spent(), 1)
        }

        func testAServerThatDoesNotServeThePinnedPackYet() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            try await search.prepare()
            listener.follow(server(of: []))
            let asked = pin.asked
            let error = await failure { _ = try await find(search, old) }
            guard case .packNotServed(let id) = error as? SearchError else { return XCTFail("\(error)") }
            XCTAssertEqual(id, pin.id)
            XCTAssertEqual(listener.requests.map(\.method), ["POST"])  // once, and nothing that it calls current
            XCTAssertEqual(pin.asked, asked + 2)  // the app's configuration decides
            listener.follow(server(of: [Golden.one]))
            expectPaid(nil, try await find(search, old))
            XCTAssertEqual(try spent(), 1)
            // The pack itself is not there.
            pin.id = Array(vectors.packs[Golden.classes].id)
            let missing = await failure { try await search.prepare() }
            guard case .packNotServed = missing as? SearchError else { return XCTFail("\(missing)") }
        }

        func testANewPackIsFetchedByTheIDThatEverybodyHasAndCostsAgainOnlyWhenTold() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            expectGolden(try await find(search, old), old)
            // The pin moves while the server drops the old pack: the source is asked again after the 409.
            let pin = pin, newID = Array(vectors.packs[Golden.classes].id), serve = server(of: [Golden.classes])
            listener.follow { request, count in
                pin.id = newID
                return serve(request, count)
            }
            let error = await failure { _ = try await find(search, new) }
            guard case .paysAgain(let receipt) = error as? SearchError else { return XCTFail("\(error)") }
            XCTAssertEqual(receipt.epsilon, 1)
            XCTAssertEqual(fetched, ["/v1/pack/\(id(Golden.classes))"])
            XCTAssertEqual(posts.count, 1)
            XCTAssertEqual(try spent(), 1)
            for _ in 0..<2 {  // asking again does not make it a yes
                let refused = await failure { _ = try await find(search, new) }
                guard case .paysAgain = refused as? SearchError else { return XCTFail("\(refused)") }
            }
            XCTAssertEqual(try spent(), 1)
            let found = try await find(search, new, payAgain: true)
            expectGolden(found, new)
            XCTAssertEqual(found.paid?.epsilon, 1)
            XCTAssertEqual(try spent(), 2)
            expectPaid(nil, try await find(search, new, payAgain: true))  // nothing is paid without need
            XCTAssertEqual(try spent(), 2)
            XCTAssertEqual(fetched.count, 1)
        }

        func testAnOldMessageIsFreeAsLongAsItsPackIsServed() async throws {
            listener.follow(server(of: [Golden.one, Golden.classes]))
            let search = try search()
            expectGolden(try await find(search, old), old)
            pin.id = Array(vectors.packs[Golden.classes].id)
            let found = try await find(search, old)
            expectGolden(found, old)
            XCTAssertNil(found.paid)
            expectPaid(1, try await find(search, new, photo: "another"))  // new photos take the new pack
            XCTAssertEqual(try spent(), 2)
            expectPaid(nil, try await find(try self.search(), old))  // after a new start too
        }

        func testAPinThatGoesToAndFroPaysOnceAtMost() async throws {
            let pin = pin, ids = [Golden.one, Golden.classes].map { Array(vectors.packs[$0].id) }
            let both = server(of: [Golden.one, Golden.classes]), none = server(of: [])
            listener.follow { request, count in
                if request.method == "POST" { pin.id = ids[pin.id == ids[0] ? 1 : 0] }
                return request.method == "POST" ? none(request, count) : both(request, count)
            }
            let search = try search()
            let error = await failure { _ = try await find(search, old, payAgain: true) }
            guard case .paysAgain = error as? SearchError else { return XCTFail("\(error)") }
            XCTAssertEqual(try spent(), 1)
        }

        func testAnotherPackThanThePinnedIsNotTaken() async throws {
            let other = vectors.packs[Golden.classes].bytes, own = vectors.packs[Golden.one].bytes
            for (body, status) in [(other, Status.packID), (own.dropLast(), .packSize), (own + [0], .packSize)] {
                listener.follow { _, _ in .reply(200, headers: Self.packs, body: body) }
                let search = try search()
                let error = await failure { try await search.prepare() }
                XCTAssertEqual((error as? PrivateMailError)?.status, status)
                XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: packFolder.path), [])
            }
            let named = vectors.packs[Golden.named]
            pin.id = Array(named.id)
            listener.follow(server(of: [Golden.named]))
            let foreign = try search(model: "another model")
            let error = await failure { try await foreign.prepare() }
            XCTAssertEqual((error as? PrivateMailError)?.status, .packModel)
            XCTAssertTrue(error.localizedDescription.contains(named.model!))
            XCTAssertEqual(try spent(), 0)
            try await search(model: named.model).prepare()
            for wrong in [[], Array(named.id.dropLast()), Array(named.id) + [0]] {
                pin.id = wrong
                let search = try search()
                let error = await failure { try await search.prepare() }
                XCTAssertEqual((error as? PrivateMailError)?.status, .argument)
            }
        }

        func testAShippedPackIsNotFetchedAndADamagedOneIsFetchedAnew() async throws {
            let file = try temporaryFolder().appendingPathComponent("shipped.pmpk")
            try vectors.packs[Golden.one].bytes.write(to: file)
            listener.follow(server(of: [Golden.one, Golden.classes]))
            let shipped = try search(shipped: file)
            expectGolden(try await find(shipped, old), old)
            XCTAssertEqual(fetched, [])
            pin.id = Array(vectors.packs[Golden.classes].id)  // no longer the shipped one
            try await shipped.prepare()
            XCTAssertEqual(fetched, ["/v1/pack/\(id(Golden.classes))"])
            let kept = packFolder.appendingPathComponent(id(Golden.classes) + ".pmpk")
            var bytes = try Data(contentsOf: kept)
            bytes[bytes.count - 1] ^= 1
            try bytes.write(to: kept)
            try await search().prepare()
            XCTAssertEqual(fetched.count, 2)
            XCTAssertEqual(try Data(contentsOf: kept), vectors.packs[Golden.classes].bytes)
        }

        func testAPackOfAnotherModelIsNotFetchedAgain() async throws {
            let named = vectors.packs[Golden.named]
            let file = try temporaryFolder().appendingPathComponent("shipped.pmpk")
            try vectors.packs[Golden.classes].bytes.write(to: file)
            pin.id = Array(named.id)
            listener.follow(server(of: [Golden.named]))
            try await search(model: named.model, shipped: file).prepare()  // what was shipped is not the pinned one
            XCTAssertEqual(fetched.count, 1)
            try named.bytes.write(to: file)
            for folder in [packFolder!, try temporaryFolder()] {
                packFolder = folder
                let foreign = try search(model: "another model", shipped: file)
                let error = await failure { try await foreign.prepare() }
                XCTAssertEqual((error as? PrivateMailError)?.status, .packModel)
                XCTAssertTrue(error.localizedDescription.contains(named.model!))
                XCTAssertEqual(fetched.count, 1)
            }
        }

        func testTheFolderOfPacksIsACache() async throws {
            listener.follow(server(of: [Golden.one, Golden.classes]))
            expectGolden(try await find(try search(), old), old)
            for file in try FileManager.default.contentsOfDirectory(at: packFolder, includingPropertiesForKeys: nil) {
                try FileManager.default.removeItem(at: file)
            }
            pin.id = Array(vectors.packs[Golden.classes].id)
            listener.follow(server(of: [Golden.one, Golden.classes]))
            expectPaid(nil, try await find(try search(), old))  // the old pack is fetched again, by its own id
            XCTAssertEqual(fetched, ["/v1/pack/\(id(Golden.one))"])
            // Where it is gone, or of another model, its message cannot be used any more.
            listener.follow(server(of: [Golden.named]))
            pin.id = Array(vectors.packs[Golden.named].id)
            let error = await failure {
                _ = try await find(try search(model: vectors.packs[Golden.named].model), old)
            }
            guard case .paysAgain = error as? SearchError else { return XCTFail("\(error)") }
            XCTAssertEqual(posts.count, 0)
            XCTAssertEqual(try spent(), 1)
        }

        func testWhatWasPaidForNothingComesBack() async throws {
            listener.follow(server(of: [Golden.one, Golden.classes]))
            let search = try search()
            try await search.prepare()
            try await search.prepare()
            XCTAssertEqual(try spent(), 1)
            pin.id = Array(vectors.packs[Golden.classes].id)
            try await search.prepare()  // of the other pack: the first is given back
            XCTAssertEqual(try spent(), 1)
            try await search.close()
            XCTAssertEqual(try spent(), 0)
            try await search.close()
            do {
                let short = try self.search()
                try await short.prepare()
                XCTAssertEqual(try spent(), 1)
            }
            XCTAssertEqual(try spent(), 0)
            try await search.prepare()
            let error = await failure { _ = try await search.search("photo", features: [1], label: new.label) }
            XCTAssertEqual((error as? PrivateMailError)?.status, .dimension)
            XCTAssertEqual(posts.count, 0)
            expectPaid(1, try await find(search, new))  // by the first payment
            XCTAssertEqual(try spent(), 1)
        }

        func testAQueryThatCannotBeUsedIsSentAllTheSame() async throws {
            listener.follow(server(of: [Golden.one]))
            let nothing = [Float](repeating: 0, count: old.features.count)
            let found = try await search().search("photo", features: nothing, label: 0)
            XCTAssertEqual(posts.count, 1)
            XCTAssertEqual(found.answer.matches, [])
        }

        func testManySearchesAtOncePayOnceAPhoto() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search(), old = old
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<12 {
                    group.addTask {
                        let found = try await search.search(
                            "photo \(task % 3)", features: old.features, label: old.label, scope: old.scope,
                            limit: old.limit)
                        XCTAssertEqual(found.bytes, old.bytes)
                    }
                }
                try await group.waitForAll()
            }
            XCTAssertEqual(posts.count, 12)
            XCTAssertEqual(try spent(), 3)
            XCTAssertEqual(store.saves, 4)  // and one when it was created: no payment was taken back
        }

        func testARequestTellsNothingButItsRelease() async throws {
            let serve = server(of: [Golden.one])
            listener.follow { request, count in
                guard case .reply(let status, var headers, let body) = serve(request, count) else { return .drop }
                headers["Set-Cookie"] = "who=4711; Path=/"
                headers["ETag"] = "\"4711\""
                return .reply(status, headers: headers, body: body)
            }
            let search = try search()
            _ = try await find(search, old)
            _ = try await find(search, old)
            let expected: Set = [
                "host", "content-type", "content-length", "accept", "accept-encoding", "accept-language", "user-agent",
                "connection",
            ]
            for request in listener.requests {
                XCTAssertEqual(Set(request.headers.keys).subtracting(expected), [], request.path)
                XCTAssertEqual(request.headers["user-agent"], "privatemail")
                XCTAssertEqual(request.headers["accept-language"], "*")
            }
            XCTAssertEqual(posts.map { $0.headers["content-type"] }, ["application/cbor", "application/cbor"])
        }

        func testLongRepliesAndLongSilencesEnd() async throws {
            let old = old
            listener.follow(server(of: [Golden.one]))
            let file = try temporaryFolder().appendingPathComponent("shipped.pmpk")
            try vectors.packs[Golden.one].bytes.write(to: file)
            let narrow = try search(shipped: file, answerLimit: old.bytes.count - 1)
            let error = await failure { _ = try await find(narrow, old) }
            guard case .tooLong = error as? SearchError else { return XCTFail("\(error)") }
            XCTAssertEqual(posts.count, 1)
            let fitting = try search(shipped: file, answerLimit: old.bytes.count)
            expectGolden(try await find(fitting, old), old)

            listener.follow { _, _ in .silence(30) }
            let task = Task { try await fitting.search("photo", features: old.features, label: old.label) }
            while listener.requests.isEmpty { try await Task.sleep(nanoseconds: 10_000_000) }
            let began = Date()
            task.cancel()
            let ended = await failure { _ = try await task.value }
            XCTAssertTrue(ended is CancellationError, "\(ended)")
            XCTAssertLessThan(Date().timeIntervalSince(began), 10)
            let early = Task { () async throws -> Search.Found in
                try? await Task.sleep(nanoseconds: 1_000_000_000)  // cancelled before anything is sent
                return try await fitting.search("photo", features: old.features, label: old.label)
            }
            early.cancel()
            let cancelled = await failure { _ = try await early.value }
            XCTAssertTrue(cancelled is CancellationError, "\(cancelled)")
            XCTAssertEqual(try spent(), 1)
        }

        func testAQueryOfAModality() async throws {
            listener.follow(server(of: [Golden.one, Golden.fronts]))
            let search = try search(), name = try vectors.pack(Golden.fronts).modalities[words.modality].name
            XCTAssertGreaterThan(words.modality, 0)
            for modality in [name, "audio"] {  // the pack has no fronts
                let error = await failure { _ = try await find(search, old, photo: "words", modality: modality) }
                XCTAssertEqual((error as? PrivateMailError)?.status, .modality)
            }
            XCTAssertEqual(try spent(), 0)
            _ = try await find(search, old, photo: "both")
            pin.id = Array(vectors.packs[Golden.fronts].id)
            let error = await failure { _ = try await find(search, words, photo: "words", modality: "audio") }
            XCTAssertEqual((error as? PrivateMailError)?.status, .modality)
            XCTAssertEqual(try spent(), 1)
            expectGolden(try await find(search, words, photo: "words", modality: name), words)
            expectGolden(try await find(search, words, photo: "words", modality: name), words)
            XCTAssertEqual(try spent(), 2)
            // What was made with a pack that lacks the modality is of no use to it.
            let again = await failure { _ = try await find(search, words, photo: "both", modality: name) }
            guard case SearchError.paysAgain = again else { return XCTFail("\(again)") }
            expectGolden(try await find(search, words, photo: "both", modality: name, payAgain: true), words)
            XCTAssertEqual(try spent(), 3)
        }

        /// Line by line: PackagingTests looks for them here.
        func testTheREADMEsWords() async throws {
            listener.follow(server(of: [Golden.fronts]))
            let id = Array(vectors.packs[Golden.fronts].id), folder = packFolder!
            let packs = try PackSource(server: listener.url, folder: folder, model: nil) { id }
            let search = Search(packs: packs, options: .response(epsilon: 1), budget: budget, folder: self.folder)
            let (number, features, label) = (1, someFeatures(7), 4)
            let sizes = try await packs.open().modalities.map { ($0.name, $0.features) }
            print("features per query:", sizes)  // for example image 512, text 384
            let found = try await search.search("words \(number)", features: features, label: label, modality: "text")
            XCTAssertTrue(sizes.contains { $0 == ("text", 7) })
            XCTAssertGreaterThan(found.answer.matches.count, 0)
        }

        func testNamesAndAddresses() async throws {
            listener.follow(server(of: [Golden.one]))
            let search = try search()
            for photo in ["", String(repeating: "x", count: 101)] {
                let error = await failure { _ = try await find(search, old, photo: photo) }
                XCTAssertEqual((error as? PrivateMailError)?.status, .argument)
            }
            for (label, limit) in [(1 << 32, 1), (0, 0), (0, 257)] {
                let error = await failure {
                    _ = try await search.search("photo", features: old.features, label: label, limit: limit)
                }
                XCTAssertEqual((error as? PrivateMailError)?.status, .argument)
            }
            XCTAssertEqual(try spent(), 0)
            _ = try await find(search, old, photo: String(repeating: "x", count: 100))
            _ = try await find(search, old, photo: "../\u{0}/.")
            XCTAssertEqual(try spent(), 2)
            for address in ["ftp://127.0.0.1", "file:///etc", "search.example", "https://search.example/?a=b"] {
                expect(.argument) {
                    _ = try PackSource(server: try XCTUnwrap(URL(string: address)), folder: folder, model: nil) { [] }
                }
            }
            XCTAssertEqual(Pack.id(hexadecimal: id(Golden.one)), pin.id)
            XCTAssertEqual(Pack.id(hexadecimal: id(Golden.one).uppercased()), pin.id)
            let short = String(id(Golden.one).dropLast()), wide = String(repeating: "１", count: 32)
            for text in ["", "0", short, short + "g", short + "00", wide] {
                XCTAssertNil(Pack.id(hexadecimal: text), text)
            }
        }

        func testErrorsAreSentences() {
            let errors: [SearchError] = [
                .network(URLError(.timedOut)), .unavailable(status: 503, retryAfter: nil), .refused(status: 400),
                .unsound, .tooLong(limit: 9), .packNotServed(id: []), .storage(POSIXError(.ENOSPC)),
            ]
            for error in errors {
                XCTAssertTrue(error.localizedDescription.hasPrefix("The ") || error.localizedDescription.hasPrefix("A "))
                XCTAssertTrue(error.localizedDescription.hasSuffix("."), error.localizedDescription)
            }
        }
    }
#endif
