// SPDX-License-Identifier: Apache-2.0
// Crowds: policies, plans, what bundles cost, and what is refused. The bytes are in GoldenTests.
import Foundation
import PrivateMail
import XCTest

final class CrowdTests: XCTestCase {
    private let vectors = Vectors.golden
    private let crowd = Crowd(clients: 100_000, clusters: 0.5, copies: 8, own: 2, delta0: 1e-12, mu: 0.03)
    private let use = Crowd.Use(cells: 125, floor: 8)

    private func client(_ crowd: Crowd, floor: Double = 8) throws -> Client {
        try Client(pack: try vectors.pack(Golden.classes), options: .crowd(floor: floor, crowd))
    }

    private func changed(_ change: (inout Crowd) -> Void) -> Crowd {
        var copy = crowd
        change(&copy)
        return copy
    }

    func testPoliciesOutOfRange() throws {
        let cells = try vectors.pack(Golden.classes).cells
        let changes: [(inout Crowd) -> Void] = [
            { $0.own = 0 }, { $0.own = cells + 1 }, { $0.own = 9 }, { $0.own = -1 }, { $0.own = .max },
            { $0.copies = 65 }, { $0.copies = 0 }, { $0.copies = -1 }, { $0.copies = .max }, { $0.clusters = .nan },
            { $0.clusters = -0.5 }, { $0.clusters = 4.1 }, { $0.clients = 0 }, { $0.clients = 1 << 32 + 1 },
            { $0.clients = .max }, { $0.relayClusters = .nan }, { $0.relayClusters = -1 }, { $0.relayClusters = 1e9 },
            { $0.delta0 = 0 }, { $0.mu = 0 }, { $0.delta0 = .nan }, { $0.mu = .infinity }, { $0.delta0 = 0.5 },
        ]
        for change in changes {
            expect(.crowd) { _ = try client(changed(change)) }
        }
        for floor in [0, -1, 16.1, 1e-6, .nan] {
            expect(.epsilon) { _ = try client(crowd, floor: floor) }
        }
        _ = try client(
            changed {
                $0.own = cells
                $0.cover = true
                $0.relayClusters = 7
            })
    }

    func testAPlanAndWhatItsPolicyGives() throws {
        var goal = Crowd.Goal(
            use: use, epsilon: 0.1, delta: 1e-6, noise: .clients(100_000, honest: 1), copiesMax: 20)
        let plan = try Crowd.plan(goal), epsilon = try plan.crowd.epsilon(use, delta: 1e-6)
        XCTAssertTrue(plan.needed && plan.fakes > 0.1 && plan.fakes <= 0.36, "\(plan.fakes) fakes")
        XCTAssertTrue(plan.delta <= 1e-6 && plan.crowd.copies <= 20 && plan.crowd.own == 1)
        XCTAssertTrue(epsilon <= 0.1 && epsilon > 0.09, "\(epsilon)")
        XCTAssertLessThanOrEqual(try plan.crowd.delta(use, epsilon: 0.1), 1e-6)
        XCTAssertGreaterThan(try plan.crowd.delta(use, epsilon: 0.05), 1e-6)
        XCTAssertGreaterThan(
            try plan.crowd.epsilon(.init(cells: 125, floor: 8, queries: 10), delta: 1e-6), 2 * epsilon)
        let promising = try plan.crowd.promising(cells: 125, delta0: 1e-10)
        XCTAssertEqual(promising.mu, try plan.crowd.mu(cells: 125, delta0: 1e-10))
        XCTAssertTrue(promising.mu > 0 && promising.mu < 1 && promising.delta0 == 1e-10)
        goal.own = 3
        XCTAssertEqual(try Crowd.plan(goal).crowd.own, 3)
        goal.own = 1
        goal.noise = .relay
        let relay = try Crowd.plan(goal)
        XCTAssertTrue(relay.fakes <= 35_500 && relay.crowd.relayClusters > 0 && relay.crowd.clients == 0)
        let floor = try Crowd.plan(
            .init(use: .init(cells: 125, floor: 1), epsilon: 1, delta: 1e-6, noise: .clients(1000)))
        XCTAssertTrue(!floor.needed && floor.fakes == 0)
    }

    func testPlansAndAccountingOutOfRange() {
        func refused(_ status: Status, _ change: (inout Crowd.Goal) -> Void, line: UInt = #line) {
            var goal = Crowd.Goal(use: use, epsilon: 0.1, delta: 1e-6, noise: .clients(100_000))
            change(&goal)
            expect(status, line: line) { _ = try Crowd.plan(goal) }
        }
        for clients in [0, 3, UInt64.max] {
            refused(.crowd) { $0.noise = .clients(clients) }
        }
        for honest in [0, 1.5, -1, .nan] {
            refused(.crowd) { $0.noise = .clients(100_000, honest: honest) }
        }
        for number in [0, 65, -1, .max] {
            refused(.crowd) { $0.copiesMax = number }
            refused(.crowd) { $0.own = number }
        }
        for cells in [1, -1, 0, .max] {
            refused(.crowd) { $0.use.cells = cells }
        }
        refused(.crowd) { $0.use.queries = 0 }
        refused(.crowd) { $0.use.floor = .nan }
        for epsilon in [0, -1, 17, .nan] {
            refused(.epsilon) { $0.epsilon = epsilon }
        }
        for delta in [0, 1, .nan] {
            refused(.delta) { $0.delta = delta }
            expect(.delta) { _ = try crowd.epsilon(use, delta: delta) }
            expect(.delta) { _ = try crowd.mu(cells: 125, delta0: delta) }
        }
        expect(.epsilon) { _ = try crowd.delta(use, epsilon: .nan) }
        expect(.crowd) { _ = try changed { $0.clusters = .nan }.delta(use, epsilon: 0.1) }
        expect(.crowd) { _ = try changed { $0.copies = 65 }.epsilon(use, delta: 1e-6) }
        expect(.crowd) { _ = try crowd.delta(.init(cells: 0, floor: 8), epsilon: 0.1) }
        expect(.crowd) { _ = try Crowd(clients: 10, copies: 8).promising(cells: 125, delta0: 1e-12) }
    }

    func testWhatEachKindOfBundleCosts() throws {
        let store = MemoryStore(), budget = try plentyBudget(store), client = try client(crowd)
        let features = someFeatures(client.pack.features)
        try client.armBundle(budget, for: .query)
        let once = try budget.account()
        XCTAssertEqual(once.floorSpent, 8)
        XCTAssertEqual(once.crowdMu2Spent, 2 * 0.03 * 0.03, accuracy: 1e-11)
        XCTAssertEqual(once.crowdDelta0Spent, 2e-12, accuracy: 1e-18)
        try client.disarm()
        XCTAssertEqual(try budget.account().floorSpent + budget.account().crowdMu2Spent, 0)
        try client.armBundle(budget, for: .query)
        let kept = try XCTUnwrap(client.bundle(features: features, label: Golden.label).kept)
        try client.armBundle(budget, for: .kept)
        XCTAssertEqual(try client.bundle(kept: kept).kept, kept)
        try client.armBundle(budget, for: .idle)
        XCTAssertNil(try client.idleBundle().kept)
        let twice = try budget.account()
        XCTAssertEqual([twice.floorSpent, twice.crowdMu2Spent], [8, 2 * once.crowdMu2Spent])
        XCTAssertEqual(twice.epsilonSpent + twice.mu2Spent, 0)
        XCTAssertEqual(store.bytes?.count, 112)
    }

    func testAFullBudgetAndOneWithoutACrowd() throws {
        let limits = Budget.Limits(response: 9, floor: 8, crowd: 1, crowdDelta: 1e-6)
        let budget = try Budget(owner: owner, limits: limits, store: MemoryStore())
        let none = try Budget(owner: owner, limits: .init(response: 9), store: MemoryStore())
        let client = try client(crowd), unpromising = try self.client(Crowd(clients: 1000, clusters: 0.5, copies: 8))
        try client.armBundle(budget, for: .query)
        let features = someFeatures(client.pack.features)
        let kept = try XCTUnwrap(client.bundle(features: features, label: Golden.label).kept)
        let before = try budget.account()
        expect(.spent) { try client.armBundle(budget, for: .query) }  // the floor is used up
        expect(.spent) { try unpromising.armBundle(budget, for: .kept) }
        expect(.spent) { try client.armBundle(none, for: .query) }
        XCTAssertEqual(try budget.account(), before)
        try client.armBundle(budget, for: .kept)
        _ = try client.bundle(kept: kept)
    }

    func testCallsOutOfOrderAndOfTheOtherSort() throws {
        let budget = try plentyBudget(), client = try client(crowd), pack = client.pack
        let other = try Client(pack: pack, options: .response(epsilon: 1)), features = someFeatures(pack.features)
        expect(.state) { _ = try client.bundle(features: features, label: Golden.label) }
        expect(.state) { _ = try client.idleBundle() }
        expect(.crowd) { try client.arm(budget) }
        expect(.crowd) { try other.armBundle(budget, for: .query) }
        XCTAssertEqual(try budget.account().epsilonSpent + budget.account().floorSpent, 0)
        try other.arm(budget)
        expect(.crowd) { _ = try other.bundle(features: features, label: Golden.label) }
        expect(.crowd) { _ = try other.idleBundle() }
        try client.armBundle(budget, for: .idle)
        expect(.crowd) { _ = try client.release(features: features, label: Golden.label) }
        expect(.state) { try client.armBundle(budget, for: .idle) }
        expect(.argument) { _ = try client.bundle(features: features, label: Golden.label) }
        _ = try client.idleBundle()
        expect(.state) { _ = try client.idleBundle() }
        expect(.state) { try client.disarm() }
    }

    func testBadInputLeavesTheClientArmed() throws {
        let budget = try plentyBudget(), client = try client(crowd), features = someFeatures(client.pack.features)
        try client.armBundle(budget, for: .query)
        expect(.features) { _ = try client.bundle(features: features.map { _ in .nan }, label: Golden.label) }
        expect(.label) { _ = try client.bundle(features: features, label: 12345) }
        expect(.dimension) { _ = try client.bundle(features: features.dropLast(), label: Golden.label) }
        expect(.argument) { _ = try client.bundle(features: features, label: .max) }
        expect(.argument) { _ = try client.bundle(kept: Data([1, 2, 3])) }
        let bundle = try client.bundle(features: features, label: Golden.label), kept = try XCTUnwrap(bundle.kept)
        try client.armBundle(budget, for: .kept)
        for bad in [Data(), kept.dropFirst(), kept.dropLast(), bundle.bytes] {
            expect(.release) { _ = try client.bundle(kept: bad) }
        }
        expect(.packID) { _ = try client.bundle(kept: vectors.bundles[0].bytes) }
        XCTAssertEqual(try client.bundle(kept: (Data([0]) + kept).dropFirst()).kept, kept)
    }

    /// A ``Crowd`` is a value, so an app cannot change a client's. Here the memory at which the library looks changes.
    func testAPolicyThatChangesIsRefusedAndCostsNothing() throws {
        let budget = try plentyBudget(), client = try client(crowd), features = someFeatures(client.pack.features)
        let places = stride(from: 0, to: client.policy.count, by: 8)
        let clusters = try XCTUnwrap(places.first { client.policy.load(fromByteOffset: $0, as: Double.self) == 0.5 })
        func change(to value: Double) { client.policy.storeBytes(of: value, toByteOffset: clusters, as: Double.self) }
        change(to: 0.25)
        expect(.crowd) { try client.armBundle(budget, for: .query) }
        XCTAssertEqual(try budget.account().floorSpent, 0)
        change(to: 0.5)
        try client.armBundle(budget, for: .query)
        change(to: .nan)
        expect(.crowd) { _ = try client.bundle(features: features, label: Golden.label) }
        try client.disarm()
        XCTAssertEqual(try budget.account().floorSpent, 0)
    }

    #if os(macOS) || os(Linux)
        func testTheExampleRuns() throws {
            let folder = try temporaryFolder()
            func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
            try vectors.packs[Golden.one].bytes.write(to: URL(fileURLWithPath: path("pack")))
            for visit in 1...2 {
                let process = try Process.run(
                    product("privatemail-crowd-example"), arguments: [path("pack"), path("budget"), path("bundle")])
                process.waitUntilExit()
                XCTAssertEqual(process.terminationStatus, 0)
                let account = try Budget(
                    owner: Array("account 4711 ...".utf8), limits: .init(response: 0),
                    store: FileBudgetStore(url: URL(fileURLWithPath: path("budget")))
                ).account()
                XCTAssertEqual(account.floorSpent, 8 * Double(visit))
                XCTAssertGreaterThan(try Data(contentsOf: URL(fileURLWithPath: path("bundle"))).count, 0)
            }
        }
    #endif
}
