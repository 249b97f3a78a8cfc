// SPDX-License-Identifier: Apache-2.0
// Threads, callbacks, memory: what a long-lived app does to a client.
import Foundation
import PrivateMail
import XCTest

final class ClientTests: XCTestCase {
    private let vectors = Vectors.golden

    func testReceipts() throws {
        let pack = try vectors.pack(Golden.classes)
        let response = try Client(pack: pack, options: .response(epsilon: 2)).receipt
        XCTAssertEqual(response.mechanism, .response)
        XCTAssertEqual(response.epsilon, 2)
        XCTAssertEqual(response.delta, 0)
        XCTAssertTrue(response.keep > 0 && response.keep < 1)
        XCTAssertEqual(response.sigma, 0)
        let gaussian = try Client(pack: pack, options: .gaussian(epsilon: 2, delta: 1e-6, valueBytes: 2)).receipt
        XCTAssertEqual(gaussian.mechanism, .gaussian)
        XCTAssertEqual(gaussian.delta, 1e-6)
        XCTAssertTrue(gaussian.sensitivity > 0 && gaussian.sigma > 0 && gaussian.mu > 0)
        XCTAssertEqual(gaussian.keep, 0)
    }

    func testThePriceIsChargedAndTheSystemsEntropyDiffers() throws {
        let pack = try vectors.pack(Golden.classes), budget = try plentyBudget()
        let client = try Client(pack: pack, options: .gaussian(epsilon: 1, delta: 1e-5, valueBytes: 2))
        var seen: Set<Data> = []
        for _ in 0..<5 {
            try client.arm(budget)
            seen.insert(try client.release(features: someFeatures(pack.features), label: Golden.label).bytes)
        }
        XCTAssertEqual(seen.count, 5)
        let mu = client.receipt.mu
        XCTAssertEqual(try budget.account().mu2Spent, 5 * mu * mu, accuracy: 1e-9)
    }

    func testAPackDoesNotSeeChangesOfTheCallersData() throws {
        let golden = vectors.packs[Golden.classes]
        var bytes = golden.bytes
        let pack = try Pack(bytes)
        bytes[20] ^= 1
        XCTAssertEqual(pack.id, Array(golden.id))
    }

    func testAPackOfForeignMemoryIsNotCopiedAndKeptAsLongAsNeeded() throws {
        let golden = vectors.packs[Golden.one], freed = expectation(description: "freed")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: golden.bytes.count, alignment: 1)
        buffer.copyBytes(from: golden.bytes)
        var client: Client? = try Client(
            pack: try Pack(bytesNoCopy: UnsafeRawBufferPointer(buffer)) { bytes in
                bytes.deallocate()
                freed.fulfill()
            }, options: .response(epsilon: 1))
        var changed = Array(golden.id)
        changed[12] ^= 1
        buffer[20] ^= 1  // of the id, which every release carries from where the pack lies
        do {
            try client?.arm(try plentyBudget())
            let release = try XCTUnwrap(client?.release(features: someFeatures(client!.pack.features), label: 0))
            XCTAssertEqual(Array(release.bytes.dropFirst(5).prefix(16)), changed)
            client = nil
            XCTAssertNil(release.rows)  // asks the pack, which is still there and has no codes of cells
        }
        wait(for: [freed], timeout: 5)

        let refused = expectation(description: "freed although refused")
        let empty = UnsafeRawBufferPointer(UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1))
        XCTAssertThrowsError(
            try Pack(bytesNoCopy: empty) { bytes in
                bytes.deallocate()
                refused.fulfill()
            })
        wait(for: [refused], timeout: 5)
    }

    func testAFileIsMapped() throws {
        let golden = vectors.packs[Golden.classes]
        let url = try temporaryFolder().appendingPathComponent("classes.pmpk")
        try golden.bytes.write(to: url)
        var pack: Pack? = try Pack(contentsOf: url, pinnedID: Array(golden.id))
        XCTAssertEqual(pack?.features, try vectors.pack(Golden.classes).features)
        #if os(Linux)
            func isMapped() throws -> Bool {
                let maps = try XCTUnwrap(FileHandle(forReadingAtPath: "/proc/self/maps")).readDataToEndOfFile()
                return String(decoding: maps, as: UTF8.self).contains(url.path)
            }
            XCTAssertTrue(try isMapped())
            pack = nil
            XCTAssertFalse(try isMapped())
        #endif
        pack = nil
    }

    func testDeinitWipesTheMemory() throws {
        let pack = try vectors.pack(Golden.classes), budget = try plentyBudget()
        for options: Options in [.response(epsilon: 1), .gaussian(epsilon: 1, delta: 1e-5)] {
            let looked = expectation(description: "freed")
            var client: Client? = try Client(
                pack: pack, options: options, entropy: script(vectors.releases[0].seed),
                free: { memory in
                    XCTAssertTrue(memory.allSatisfy { $0 == 0 })
                    XCTAssertGreaterThan(memory.count, 700)
                    memory.deallocate()
                    looked.fulfill()
                })
            try client?.arm(budget)  // noise is in memory now
            _ = try client?.beginAnswer(features: someFeatures(pack.features), label: Golden.label)
            client = nil
            wait(for: [looked], timeout: 5)
        }
    }

    func testFeaturesCanBeWiped() {
        var features = someFeatures(100)
        PrivateMail.wipe(&features)
        XCTAssertEqual(features, [Float](repeating: 0, count: 100))
        var none: [Float] = []
        PrivateMail.wipe(&none)
        XCTAssertEqual(none, [])
    }

    func testACallbackCannotReachItsClientOrBudget() throws {
        let pack = try vectors.pack(Golden.one), features = someFeatures(pack.features)
        let store = MemoryStore(), budget = try plentyBudget(store)
        let client = try Client(pack: pack, options: .response(epsilon: 1))
        let other = try Client(pack: pack, options: .response(epsilon: 1)), elsewhere = try plentyBudget()
        var calls = 0
        store.during = { [self] in
            calls += 1
            expect(.state) { try client.arm(budget) }
            expect(.state) { try client.disarm() }
            expect(.state) { _ = try client.release(features: features, label: 0) }
            expect(.state) { _ = try client.beginAnswer(features: features, label: 0) }
            expect(.state) { try other.arm(budget) }  // it would be forgotten when the first charge is booked
            expect(.state) { _ = try budget.account() }
            expect(.state) { _ = try plentyBudget(store) }  // nor would what a second budget spends be known to it
            expect(.state) { try other.arm(elsewhere) }
            client.wipe()
        }
        try client.arm(budget)
        XCTAssertEqual(calls, 1)
        _ = try client.release(features: features, label: 0)  // the wipe had no effect
        try client.arm(budget)
        try client.disarm()
        XCTAssertEqual(calls, 3)
        store.during = {}  // it holds the budget that holds the store
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
    }

    func testEightTasksShareOneClientAndOneBudget() async throws {
        let pack = try vectors.pack(Golden.one), store = MemoryStore(), budget = try plentyBudget(store)
        let shared = try Client(pack: pack, options: .response(epsilon: 1))
        let golden = vectors.answers.first { $0.pack == Golden.classes }!
        let classes = try vectors.pack(Golden.classes)
        let released = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    let own = try Client(pack: classes, options: .response(epsilon: 1))
                    let features = someFeatures(pack.features, salt: task)
                    var released = 0
                    for _ in 0..<100 {
                        // Another task may be between its arm and its release: both calls may meet the wrong state.
                        _ = try succeeds { try shared.arm(budget) }
                        released += try succeeds { _ = try shared.release(features: features, label: 0) } ? 1 : 0
                        let answer = try own.answer(
                            golden.bytes, features: golden.features, label: golden.label, scope: golden.scope,
                            limit: golden.limit)
                        XCTAssertEqual(answer.matches.count, golden.matches.count)
                        try own.arm(budget)
                        try own.disarm()
                    }
                    return released
                }
            }
            return try await group.reduce(0, +)
        }
        // Every release was paid for, and nothing else but at most one arm that is still waiting.
        let spent = Int(try budget.account().epsilonSpent)
        XCTAssertGreaterThanOrEqual(released, 100)
        XCTAssertTrue(spent == released || spent == released + 1, "\(spent) spent, \(released) released")
        let stored = try Budget(owner: owner, limits: .init(response: 1), store: MemoryStore(store.bytes)).account()
        XCTAssertEqual(stored, try budget.account())
    }

    func testTwentyThousandReleasesInFlatMemory() throws {
        let pack = try vectors.pack(Golden.classes), features = someFeatures(pack.features)
        let golden = vectors.answers.first { $0.pack == Golden.classes }!
        func releases(_ count: Int) throws {
            for turn in 0..<count {
                let client = try Client(pack: pack, options: .response(epsilon: 0x1p-10))
                try client.arm(budget)
                _ = try client.release(features: features, label: Golden.label).rows
                if turn % 10 == 0 {
                    _ = try client.answer(golden.bytes, features: features, label: Golden.label)
                    XCTAssertThrowsError(try client.answer(golden.bytes.dropLast(), features: features, label: 0))
                }
            }
        }
        let budget = try plentyBudget()
        try releases(2_000)
        let before = highWater()
        try releases(20_000)
        XCTAssertLessThan(highWater() - before, 1 << 20)  // one leaked client a release would be 15 MiB
    }

    /// Most memory this process ever had, in bytes.
    private func highWater() -> Int {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss * 1024
        #else
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }
}

/// Whether the call was allowed; a refusal for any other reason than the state is passed on.
private func succeeds(_ call: () throws -> Void) throws -> Bool {
    do {
        try call()
        return true
    } catch let error as PrivateMailError where error.status == .state {
        return false
    }
}
