// SPDX-License-Identifier: Apache-2.0
// Searches in a crowd, through a relay on this machine that does what it is told.
#if os(Linux) || os(macOS)
    import CPrivateMail
    import CPrivateMailPlatform
    import CPrivateMailTransport
    import Foundation
    import XCTest

    @testable import PrivateMail

    /// A relay and the gateway behind it. What is mutable is only touched in the listener's lock, or while it is idle.
    private final class ScriptedRelay: @unchecked Sendable {
        enum Order: Sendable { case ok, status(Int), drop, taken, damaged, inside(Int, String) }

        struct Bundle {
            let epoch: UInt64, ticket: String, bytes: Data, messages: [Data]
        }

        var plain = 5000  // A
        var announced: Int?  // bytes of an answer, when it is a lie
        let pack: (bytes: Data, id: Data), content: Data, messageSize: Int
        var secret = Data(repeating: 0x11, count: 32), id: UInt8 = 3
        var keys: Data
        var epoch = UInt64(Date().timeIntervalSince1970)
        var step: UInt64 = 0  // how the epoch goes on when it was asked for
        var description = #"{"version": 1, "epoch_seconds": 1, "clients": 100000, "noise": null}"#
        var bundleOrders: [Order] = [.ok], ticketOrders: [Order] = [.ok]  // the last for ever
        var bundles: [Bundle] = []

        init(pack: (bytes: Data, id: Data), content: Data, releaseSize: Int) throws {
            self.pack = pack
            self.content = content
            messageSize = releaseSize + 104
            keys = try configuration(3, Data(repeating: 0x11, count: 32))
        }

        private func next(_ orders: inout [Order]) -> Order { orders.count > 1 ? orders.removeFirst() : orders[0] }

        func serve(_ request: HTTPListener.Request) -> HTTPListener.Reply {
            let name = hexadecimal(pack.id), path = String(request.path.split(separator: "?")[0])
            switch path {
            case "/v1/keys": return .reply(200, headers: ["Content-Type": "application/ohttp-keys"], body: keys)
            case "/v1/relay": return json(200, description)
            case "/v1/pack/\(name)":
                return .reply(200, headers: ["Content-Type": "application/octet-stream"], body: pack.bytes)
            case "/v1/pack/\(name)/epoch":
                defer { epoch += step }
                let size = announced ?? Int(pml_answer_size(plain))
                return json(
                    200, #"{"pack": "\#(name)", "epoch": \#(epoch), "closes": 0, "message": \#(messageSize), "#
                        + #""answer": \#(size)}"#)
            case "/v1/pack/\(name)/bundle": return take(request.body)
            default:
                guard path.hasPrefix("/v1/ticket/") else { return json(404, "{}") }
                if request.method == "DELETE" { return .reply(204) }
                return answer(String(path.dropFirst("/v1/ticket/".count)))
            }
        }

        private func json(_ status: Int, _ text: String) -> HTTPListener.Reply {
            .reply(status, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
        }

        private func take(_ bytes: Data) -> HTTPListener.Reply {
            let order = next(&bundleOrders)
            if case .drop = order { return .drop }
            if case .status(let code) = order { return json(code, #"{"error": "\#(code == 409 ? "epoch" : "other")"}"#) }
            let again = bundles.contains { $0.bytes == bytes }
            if !again {
                let epoch = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
                let messages = stride(from: 24, to: bytes.count, by: messageSize).map {
                    Data(bytes[$0..<$0 + messageSize])
                }
                bundles.append(
                    Bundle(epoch: epoch, ticket: hexadecimal(bytes[8..<24]), bytes: bytes, messages: messages))
            }
            if case .taken = order { return .drop }
            return json(again ? 200 : 201, "{}")
        }

        private func answer(_ ticket: String) -> HTTPListener.Reply {
            guard let bundle = bundles.first(where: { $0.ticket == ticket }) else { return json(410, "{}") }
            let order = next(&ticketOrders)
            if case .status(let code) = order { return json(code, "{}") }
            let headers = ["Content-Type": "application/x-privatemail-answers"]
            let gateway = Gateway(pack: pack.id, content: content, id: id, secret: secret, plain: plain)
            return .pieces(bundle.messages.count, size: Int(pml_answer_size(plain)), headers: headers) { number in
                var answer = gateway.seal(bundle.messages[number], bundle.epoch, order)
                if case .damaged = order { answer[answer.count - 1] ^= 1 }
                return answer
            }
        }
    }

    /// What answers are sealed with: values of its own, because that happens outside the listener's lock.
    private struct Gateway: Sendable {
        let pack: Data, content: Data, id: UInt8, secret: Data, plain: Int

        func seal(_ message: Data, _ epoch: UInt64, _ order: ScriptedRelay.Order) -> Data {
            var status: UInt32 = 200, content = Array(self.content), opened = pml_opened(), message = Array(message)
            if case .inside(let code, let text) = order { (status, content) = (UInt32(code), Array(text.utf8)) }
            var out = [UInt8](repeating: 0, count: Int(pml_answer_size(plain)))
            guard var key = try? privateKey(id, secret),
                pml_message_open(SealCrypto.table, &key, epoch, Array(pack), &message, message.count, &opened) == PML_OK,
                pml_answer_seal(
                    SealCrypto.table, &opened.opener, status, content, content.count, plain, pml_platform_entropy,
                    nil, &out, out.count) == PML_OK
            else { return Data(out) }
            return Data(out)
        }
    }

    final class RelayTests: XCTestCase {
        private let floor = 8.0, mu = 0.03
        private let hasty = 10.0  // seconds that a search takes in vain; one that finds may stand still for a while
        private var golden = Vectors.golden.crowdAnswers[0], modality: String?
        private var relay: ScriptedRelay!
        private var listener: HTTPListener!
        private var budget: Budget!
        private var folder: URL!

        private var crowd: Crowd { Crowd(clients: 1000, clusters: 0.5, copies: 8, delta0: 1e-12, mu: mu) }

        override func setUpWithError() throws {
            listener = try HTTPListener { _, _ in .drop }
            budget = try plentyBudget()
            folder = try temporaryFolder()
            try start()
        }

        private func start() throws {
            let vector = Vectors.golden.packs[golden.pack]
            let client = try Client(
                pack: try Pack(vector.bytes, pinnedID: Array(vector.id)), options: .crowd(floor: floor, crowd))
            let relay = try ScriptedRelay(
                pack: (vector.bytes, vector.id), content: golden.bytes, releaseSize: client.receipt.bytes)
            self.relay = relay
            listener.follow { request, _ in relay.serve(request) }
        }

        override func tearDown() {
            listener.stop()
        }

        private func search(
            keys: Data? = nil, _ crowd: Crowd? = nil, answerLimit: Int = 64 << 20, longest: TimeInterval = 120
        ) throws -> Search {
            let id = Array(relay.pack.id)
            let packs = try PackSource(server: listener.url, folder: folder, model: nil) { id }
            return try Search(
                through: try Relay(address: listener.url, keys: keys, longest: longest), packs: packs,
                options: .crowd(floor: floor, crowd ?? self.crowd), budget: budget, folder: folder,
                answerLimit: answerLimit)
        }

        private func find(_ search: Search, _ photo: String = "one", line: UInt = #line) async throws {
            let found = try await search.search(
                photo, features: golden.features, label: golden.label, modality: modality, scope: golden.scope,
                limit: golden.limit)
            XCTAssertEqual(found.answer.matches.count, golden.matches.count, line: line)
            for (match, wanted) in zip(found.answer.matches, golden.matches) {
                XCTAssertEqual(String(match.item), String(wanted.split(separator: ":")[0]), line: line)
                XCTAssertEqual(found.payload(of: match).count, match.payloadSize, line: line)
            }
        }

        private func fails(
            _ search: Search, _ wanted: (any Error) -> Bool, _ photo: String = "one", line: UInt = #line
        ) async {
            do {
                try await find(search, photo)
                XCTFail("found", line: line)
            } catch {
                XCTAssertTrue(wanted(error), "\(error)", line: line)
            }
        }

        private func notFilled(_ error: any Error) -> Bool {
            if case SearchError.crowdNotFilled = error { return true }
            return false
        }

        private func refused(_ status: Int) -> (any Error) -> Bool {
            return { error in
                if case SearchError.refused(status: status) = error { return true }
                return false
            }
        }

        private func unsound(_ error: any Error) -> Bool {
            if case SearchError.unsound = error { return true }
            return false
        }

        private func has(_ status: Status) -> (any Error) -> Bool {
            return { ($0 as? PrivateMailError)?.status == status }
        }

        /// How many floors and own messages were paid for.
        private func paid(_ floors: Double, _ own: Double, line: UInt = #line) throws {
            let account = try budget.account()
            XCTAssertEqual(account.floorSpent, floors * floor, line: line)
            XCTAssertEqual(account.crowdMu2Spent, own * mu * mu, accuracy: 1e-9, line: line)
        }

        func testAQueryOfAModality() async throws {
            golden = try XCTUnwrap(Vectors.golden.crowdAnswers.first { $0.pack == Golden.fronts && $0.modality > 0 })
            try start()
            relay.step = 1
            let search = try search()
            modality = "audio"
            await fails(search, has(.modality))
            try paid(0, 0)
            modality = try Vectors.golden.pack(Golden.fronts).modalities[golden.modality].name
            try await find(search)
            try await find(search)
            try paid(1, 2)
        }

        func testFindsAndKeepsTheCell() async throws {
            relay.step = 1
            let search = try search()
            try await search.prepare()
            try paid(1, 1)
            try await find(search)
            try paid(1, 1)
            try await find(search)
            try paid(1, 2)
            try await find(try self.search())
            try paid(1, 3)
            XCTAssertEqual(relay.bundles.count, 3)
            XCTAssertEqual(Set(relay.bundles.map(\.epoch)).count, 3)
            XCTAssertTrue(listener.requests.contains { $0.method == "DELETE" })
            let several = try self.search(
                Crowd(clients: 1000, clusters: 0.5, copies: 8, own: 2, cover: true, delta0: 1e-12, mu: mu))
            try await find(several, "two")
            try paid(2, 5)
        }

        func testOneBundlePerEpoch() async throws {
            let search = try search(longest: hasty)
            try await find(search)
            await fails(search, notFilled, "two")
            await fails(try self.search(longest: hasty), notFilled)
            XCTAssertEqual(relay.bundles.count, 1)
            relay.epoch += 1
            try await find(search, "two")
            try paid(2, 2)
        }

        func testACrowdThatFillsLater() async throws {
            let search = try search(longest: hasty)
            relay.ticketOrders = [.status(202)]
            await fails(search, notFilled)
            relay.ticketOrders = [.status(202), .status(202), .ok]
            try await find(search)
            XCTAssertEqual(relay.bundles.count, 1)
            try paid(1, 1)
        }

        func testUnknownArrivals() async throws {
            relay.step = 1
            let search = try search()
            relay.bundleOrders = [.status(409), .ok]  // closed meanwhile: sealed anew
            try await find(search)
            try paid(1, 1)
            relay.bundleOrders = [.taken, .ok]  // the same bytes again
            try await find(search)
            try paid(1, 2)
            relay.bundleOrders = [.taken, .status(409)]  // taken in time: the ticket tells
            try await find(search)
            try paid(1, 3)
            relay.bundleOrders = [.drop, .status(409), .ok]  // not taken, but who knows
            try await find(search)
            try paid(1, 5)
            relay.bundleOrders = [.ok]
            relay.ticketOrders = [.status(410), .ok]  // lost: sent again
            try await find(search)
            try paid(1, 7)
            relay.ticketOrders = [.status(410)]  // and not for ever
            await fails(search, refused(410))
            try paid(1, 10)
        }

        func testRefusalsCostNothing() async throws {
            relay.step = 1
            let search = try search()
            for status in [400, 401, 413] {
                relay.bundleOrders = [.status(status)]
                await fails(search, refused(status))
            }
            relay.bundleOrders = [.ok]
            try await find(search)
            try paid(1, 1)
        }

        func testBadAnswers() async throws {
            relay.step = 1
            let search = try search()
            relay.ticketOrders = [.damaged]
            await fails(search, unsound)
            relay.ticketOrders = [.inside(409, #"{"error": "epoch"}"#)]
            await fails(search, unsound)
            relay.ticketOrders = [.inside(409, #"{"error": "pack"}"#)]
            await fails(search, unsound)  // no reason to take another pack
            relay.ticketOrders = [.inside(503, "")]
            await fails(search, unsound)  // nor to send again
            relay.ticketOrders = [.ok]
            try await find(search)
            try paid(1, 5)
        }

        func testKeys() async throws {
            relay.step = 1
            let first = relay.keys, secret = Data(repeating: 0x22, count: 32), second = try configuration(4, secret)
            let search = try search()
            try await find(search)
            relay.keys = second
            await fails(search, has(.keys))
            await fails(search, has(.keys), "two")
            relay.keys = Data([1, 2, 3])
            await fails(search, has(.keys))
            try paid(1, 1)
            let brought = try self.search(keys: first)
            relay.keys = second + first  // neither what the app brought nor what was pinned is replaced
            try await find(brought)
            try await find(search)
            relay.keys = second
            await fails(search, has(.keys))
            await fails(brought, has(.keys))
            relay.secret = secret
            relay.id = 4
            try await find(try self.search(keys: second))
            try paid(1, 4)
        }

        func testRelaysThatPromiseLess() async throws {
            relay.description = #"{"version": 1, "epoch_seconds": 1, "clients": 999, "noise": null}"#
            await fails(try search(), has(.crowd))
            relay.description = "[]"
            await fails(try search(), unsound)
            let noisy = Crowd(copies: 8, relayClusters: 50, delta0: 1e-12, mu: mu)
            for noise in ["null", #"{"clusters": 49.5, "copies": 8}"#, #"{"clusters": 60, "copies": 7}"#] {
                relay.description = #"{"version": 1, "epoch_seconds": 1, "clients": 1, "noise": \#(noise)}"#
                await fails(try search(noisy), has(.crowd))
            }
            try paid(0, 0)
            relay.description =
                #"{"version": 1, "epoch_seconds": 1, "clients": 1, "noise": {"clusters": 50, "copies": 8}}"#
            try await find(try search(noisy))
            for offset in [-86_500, 3700] as [Int64] {
                relay.epoch = UInt64(Int64(Date().timeIntervalSince1970) + offset)
                await fails(try search(noisy), unsound, "two")
            }
        }

        #if os(Linux)
            /// Bytes of memory that the process has now, and has had at most since the last call.
            private func memory() throws -> (now: Int, most: Int) {
                let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                func value(_ name: String) throws -> Int {
                    let line = try XCTUnwrap(status.split(separator: "\n").first { $0.hasPrefix(name) })
                    return try XCTUnwrap(Int(line.filter(\.isNumber))) << 10
                }
                try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))  // the most begins anew
                return (try value("VmRSS:"), try value("VmHWM:"))
            }

            func testAnswersToFakesAreNotKept() async throws {
                relay.step = 1
                relay.plain = 1 << 20
                let busy = Crowd(clients: 1000, clusters: 4, copies: 32, delta0: 1e-12, mu: mu)
                let search = try search(busy)
                try await find(search, "the first")  // loads what any search needs
                var large: [(grown: Int, all: Int)] = []
                for number in 0..<40 {
                    let before = try memory().now
                    try await find(search, "\(number)")
                    let grown = try memory().most - before, all = relay.bundles.last!.messages.count << 20
                    guard all >= 48 << 20 else { continue }
                    large.append((grown, all))
                    if grown < all / 2 { return }
                    // What arrives piles up while a busy machine leaves its reader no turn, but not again and again.
                    if large.count == 4 { break }
                }
                XCTFail("of large bundles: \(large)")
            }
        #endif

        func testSizesThatNoMemoryHas() async throws {
            let several = Crowd(clients: 1000, clusters: 0.5, copies: 8, own: 2, delta0: 1e-12, mu: mu)
            func tooLong(_ error: any Error) -> Bool {
                if case SearchError.tooLong = error { return true }
                return false
            }
            relay.announced = 65 << 20
            await fails(try search(several), tooLong)
            relay.announced = .max
            await fails(try search(several, answerLimit: .max), tooLong, "two")
            XCTAssertEqual(relay.bundles.count, 0)
        }

        /// What a search keeps between two calls: own messages, what opens their answers, names of photos.
        func testASearchPrintsNothingPrivate() async throws {
            let search = try search()
            relay.ticketOrders = [.status(400)]
            await fails(search, refused(400), "holiday")
            relay.bundleOrders = [.status(413)]
            relay.epoch += 1
            await fails(search, refused(413), "wedding")
            var text = String(reflecting: search)
            dump(search, to: &text)
            for word in ["holiday", "wedding", "opener", "secret"] {
                XCTAssertFalse(text.contains(word), word)
            }
            XCTAssertTrue(text.contains("CrowdState (private)"), text)
        }

        func testIdle() async throws {
            let search = try search()
            func idle(_ wanted: Bool, line: UInt = #line) async throws {
                let took = try await search.idle()
                XCTAssertEqual(took, wanted, line: line)
            }
            try await search.prepare()
            try await idle(true)
            try paid(0, 0)
            try await idle(false)
            relay.epoch += 1
            try await find(search)
            try await idle(false)
            relay.epoch += 1
            relay.bundleOrders = [.status(409)]
            try await idle(false)
            try paid(1, 1)
            XCTAssertEqual(relay.bundles.count, 2)
            do {
                _ = try await Search(
                    packs: search.packs, options: .response(epsilon: 1), budget: budget, folder: folder
                ).idle()
                XCTFail("was not refused")
            } catch let error as PrivateMailError {
                XCTAssertEqual(error.status, .state)
            }
        }
    }
#endif
