// SPDX-License-Identifier: Apache-2.0
// What a person has left: never reset, never spent twice, never lost by a failure.
import Foundation
import PrivateMail
import XCTest

final class BudgetTests: XCTestCase {
    private let vectors = Vectors.golden

    private func client(_ pack: Pack) throws -> Client { try Client(pack: pack, options: .response(epsilon: 1)) }

    func testCreationRestorationAndOwners() throws {
        let store = MemoryStore()
        let budget = try Budget(owner: owner, limits: .init(response: 3), store: store)
        XCTAssertEqual(store.bytes?.count, 112)
        try client(try vectors.pack(Golden.one)).arm(budget)
        let again = try Budget(owner: owner, limits: .init(response: 1000), store: store)
        XCTAssertEqual(try again.account(), try budget.account())  // the caps are those of its creation
        XCTAssertEqual(try again.account().epsilonSpent, 1)
        expect(.budget) { _ = try Budget(owner: owner.reversed(), limits: .init(response: 3), store: store) }
        expect(.argument) { _ = try Budget(owner: [1], limits: .init(response: 3), store: store) }
        for broken in [Data(), Data(store.bytes!.dropLast()), store.bytes! + [0], Data(count: 64)] {
            expect(.budget) { _ = try Budget(owner: owner, limits: .init(response: 3), store: MemoryStore(broken)) }
        }
    }

    func testVersionOneIsReadAndBecomesVersionTwo() throws {
        let old = vectors.budgets.filter { $0.bytes.count == 64 && $0.counts[0] > 0 }
        XCTAssertEqual(old.count, 2)
        for golden in old {
            let file = try temporaryFolder().appendingPathComponent("budget")
            try golden.bytes.write(to: file)
            func open() throws -> Budget {
                try Budget(
                    owner: golden.owner, limits: .init(response: 9, floor: 8, crowd: 1, crowdDelta: 1e-5),
                    store: FileBudgetStore(url: file))
            }
            let budget = try open(), before = try budget.account()
            XCTAssertEqual(try Data(contentsOf: file), golden.bytes)  // opening changes nothing
            let pack = try vectors.pack(Golden.one)
            try Client(pack: pack, options: .response(epsilon: 0.25)).arm(budget)
            XCTAssertEqual(try Data(contentsOf: file).count, 112)
            let after = try open().account()
            XCTAssertEqual(after.epsilonSpent, before.epsilonSpent + 0.25)
            XCTAssertEqual(after.epsilonCap, before.epsilonCap)
            XCTAssertEqual(after.mu2Spent, before.mu2Spent)
            XCTAssertEqual(after.floorCap + after.crowdMu2Cap + after.crowdDelta0Cap + after.crowdDelta, 0)
            let crowd = try Client(pack: pack, options: .crowd(floor: 1, Crowd(clients: 9, clusters: 1, copies: 8)))
            expect(.spent) { try crowd.armBundle(budget, for: .query) }  // it gained no crowd
        }
    }

    func testLimitsOutOfRange() {
        let cases: [(Budget.Limits, Status)] = [
            (.init(response: -1), .epsilon), (.init(response: 4096), .epsilon), (.init(response: .nan), .epsilon),
            (.init(response: 1, gaussian: 257, delta: 1e-5), .epsilon), (.init(response: 1, gaussian: 1), .delta),
            (.init(response: 1, delta: 1e-5), .delta), (.init(response: 1, floor: -1), .epsilon),
            (.init(response: 1, floor: 4096), .epsilon), (.init(response: 1, floor: .nan), .epsilon),
            (.init(response: 1, crowd: 17, crowdDelta: 1e-5), .epsilon),
            (.init(response: 1, crowd: .nan, crowdDelta: 1e-5), .epsilon), (.init(response: 1, crowd: 1), .delta),
            (.init(response: 1, crowd: 1, crowdDelta: 1), .delta), (.init(response: 1, crowdDelta: 1e-5), .delta),
        ]
        for (limits, status) in cases {
            let store = MemoryStore()
            expect(status) { _ = try Budget(owner: owner, limits: limits, store: store) }
            XCTAssertNil(store.bytes)
        }
    }

    func testAStoreThatCannotLoadMakesNoFreshBudget() {
        let store = MemoryStore()
        store.refuses = true
        let error = expect(.persist) { _ = try plentyBudget(store) }
        XCTAssertTrue(error?.underlying is MemoryStore.Refusal)
        XCTAssertEqual(store.saves, 0)
    }

    func testAStoreThatCannotSaveAtCreation() {
        final class ReadOnly: BudgetStore {
            func load() throws -> Data? { nil }
            func save(_ bytes: Data) throws { throw MemoryStore.Refusal() }
        }
        let error = expect(.persist) { _ = try plentyBudget(ReadOnly()) }
        XCTAssertTrue(error?.underlying is MemoryStore.Refusal)
    }

    func testAStoreThatFailsCostsNothingAndItsErrorArrives() throws {
        let pack = try vectors.pack(Golden.one), store = MemoryStore()
        let budget = try plentyBudget(store), client = try client(pack)
        store.refuses = true
        let error = expect(.persist) { try client.arm(budget) }
        XCTAssertTrue(error?.underlying is MemoryStore.Refusal)
        XCTAssertEqual(try budget.account().epsilonSpent, 0)
        expect(.state) { _ = try client.release(features: someFeatures(pack.features), label: 0) }
        store.refuses = false
        try client.arm(budget)
        store.refuses = true
        expect(.persist) { try client.disarm() }  // the noise is gone, and the price with it
        expect(.state) { try client.disarm() }
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
        store.refuses = false
        try client.arm(budget)
        XCTAssertNil(expect(.state) { try client.arm(budget) }?.underlying)  // an old failure does not come back
        try client.disarm()
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
    }

    func testTwoClientsSpendOneBudgetToItsEnd() throws {
        let pack = try vectors.pack(Golden.one), store = MemoryStore()
        let budget = try Budget(owner: owner, limits: .init(response: 5), store: store)
        let clients = [try client(pack), try client(pack)]
        for turn in 0..<5 {
            let client = clients[turn % 2]
            try client.arm(budget)
            _ = try client.release(features: someFeatures(pack.features), label: 0)
        }
        for client in clients {
            expect(.spent) { try client.arm(budget) }
        }
        XCTAssertEqual(try budget.account().epsilonSpent, 5)
        XCTAssertEqual(store.saves, 6)
    }

    func testDisarmRefundsTheBudgetThatPaid() throws {
        let pack = try vectors.pack(Golden.one)
        let first = try plentyBudget(), second = try plentyBudget()
        let one = try client(pack), other = try client(pack)
        try one.arm(first)
        try other.arm(second)
        try one.disarm()
        XCTAssertEqual(try first.account().epsilonSpent, 0)
        XCTAssertEqual(try second.account().epsilonSpent, 1)
    }
}
