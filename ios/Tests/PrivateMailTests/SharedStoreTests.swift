// SPDX-License-Identifier: Apache-2.0
// Several budgets on one store, in turn and from threads: together they spend what one may.
import Foundation
import PrivateMail
import XCTest

final class SharedStoreTests: XCTestCase {
    /// A store of an app's own: a value without identity, and slow, so that threads meet in it.
    private struct Slow: BudgetStore {
        let place = MemoryStore()

        func load() throws -> Data? {
            usleep(200)
            return try place.load()
        }

        func save(_ bytes: Data) throws {
            usleep(200)
            try place.save(bytes)
        }
    }

    private func stores() throws -> [(name: String, make: @Sendable () -> any BudgetStore)] {
        let url = try temporaryFolder().appendingPathComponent("shared.budget")
        let apart = try temporaryFolder().appendingPathComponent("apart.budget")
        let memory = MemoryStore(), slow = Slow(), file = FileBudgetStore(url: url)
        return [
            ("memory", { memory }), ("slow", { slow }), ("one file store", { file }),
            ("file stores", { FileBudgetStore(url: apart) }),
        ]
    }

    func testTwoBudgetsInTurn() throws {
        let pack = try Vectors.golden.pack(Golden.one), features = someFeatures(pack.features)
        for (name, make) in try stores() {
            let limits = Budget.Limits(response: 8)
            let first = try Budget(owner: owner, limits: limits, store: make())
            let second = try Budget(owner: owner, limits: limits, store: make())
            let client = try Client(pack: pack, options: .response(epsilon: 4))
            var released = 0
            for budget in [first, second, first, second] {
                do {
                    try client.arm(budget)
                    _ = try client.release(features: features, label: 0)
                    released += 1
                } catch {
                    XCTAssertTrue(budget === second, name)
                    XCTAssertEqual(error.status, .persist, name)
                    XCTAssertTrue(error.underlying is Budget.Conflict, name)
                    XCTAssertEqual(try second.account().epsilonSpent, 0, name)
                    expect(.state) { _ = try client.release(features: features, label: 0) }
                }
            }
            XCTAssertEqual(released, 2, name)
            let anew = try Budget(owner: owner, limits: limits, store: make())
            XCTAssertEqual(try anew.account().epsilonSpent, 8, name)
            expect(.spent) { try client.arm(anew) }
        }
    }

    func testARefundIsLostWhenAnotherBudgetSpentMeanwhile() throws {
        let pack = try Vectors.golden.pack(Golden.one), store = MemoryStore(), first = try plentyBudget(store)
        let one = try Client(pack: pack, options: .response(epsilon: 1))
        let other = try Client(pack: pack, options: .response(epsilon: 1))
        try one.arm(first)
        try other.arm(try plentyBudget(store))
        XCTAssertTrue(expect(.persist) { try one.disarm() }?.underlying is Budget.Conflict)
        expect(.state) { _ = try one.release(features: someFeatures(pack.features), label: 0) }
        XCTAssertEqual(try plentyBudget(store).account().epsilonSpent, 2)
    }

    func testABudgetIsCreatedOnce() throws {
        /// Empty, and lets another thread go ahead before it says so.
        final class Hesitant: BudgetStore, @unchecked Sendable {  // `hesitate` is only touched by the first load
            let place = MemoryStore()
            var hesitate: (() -> Void)?

            func load() throws -> Data? {
                let bytes = try place.load(), pause = hesitate
                hesitate = nil
                pause?()
                return bytes
            }

            func save(_ bytes: Data) throws { try place.save(bytes) }
        }
        let client = try Client(pack: try Vectors.golden.pack(Golden.one), options: .response(epsilon: 1))
        let store = Hesitant(), other = DispatchGroup()
        store.hesitate = {
            DispatchQueue.global().async(group: other) {
                do {
                    try client.arm(plentyBudget(store))
                } catch {
                    XCTFail("\(error)")
                }
            }
            _ = other.wait(timeout: .now() + 0.2)
        }
        _ = try plentyBudget(store)
        other.wait()
        XCTAssertEqual(try plentyBudget(store).account().epsilonSpent, 1)
        XCTAssertEqual(store.place.saves, 2)
    }

    func testEightThreadsWithABudgetEach() throws {
        let pack = try Vectors.golden.pack(Golden.one), cap = 60
        for (name, make) in try stores() {
            let open: @Sendable () throws -> Budget = {
                try Budget(owner: owner, limits: .init(response: Double(cap)), store: make())
            }
            let released = Counter()
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                do {
                    try releaseForEver(pack, open, released)
                } catch {
                    XCTAssertEqual((error as? PrivateMailError)?.status, .spent, "\(name): \(error)")
                }
            }
            XCTAssertEqual(released.value, cap, name)
            XCTAssertEqual(try open().account().epsilonSpent, Double(cap), name)
        }
    }
}

/// Until something else fails than a charge that came second.
private func releaseForEver(_ pack: Pack, _ open: () throws -> Budget, _ released: Counter) throws {
    let client = try Client(pack: pack, options: .response(epsilon: 1)), features = someFeatures(pack.features)
    var budget = try open()
    while true {
        do {
            try client.arm(budget)
            _ = try client.release(features: features, label: 0)
            released.increment()
        } catch {
            guard error.underlying is Budget.Conflict else { throw error }
            budget = try open()
        }
    }
}

private final class Counter: @unchecked Sendable {  // `value` is only touched with the lock held, or by one thread
    private let lock = NSLock()
    private(set) var value = 0

    func increment() {
        lock.withLock { value += 1 }
    }
}
