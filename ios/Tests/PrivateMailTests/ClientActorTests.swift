// SPDX-License-Identifier: Apache-2.0
// Tasks that share a client: each pays once, and none takes what another paid for.
import Foundation
import PrivateMail
import XCTest

final class ClientActorTests: XCTestCase {
    private let golden = Vectors.golden.answers.first { $0.pack == Golden.classes }!

    private func client() throws -> ClientActor {
        try ClientActor(pack: try Vectors.golden.pack(golden.pack), options: .response(epsilon: 1))
    }

    func testPreparingTwicePaysOnceAndCancellingPaysBack() async throws {
        let client = try client(), budget = try plentyBudget()
        try await client.prepare(budget)
        try await client.prepare(budget)
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
        try await client.cancel()
        try await client.cancel()
        XCTAssertEqual(try budget.account().epsilonSpent, 0)
        let release = try await client.release(features: golden.features, label: golden.label, paidBy: budget)
        XCTAssertEqual(release.bytes.count, client.receipt.bytes)
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
        try await client.cancel()  // nothing is left to take back
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
    }

    func testAnotherBudgetPaysInstead() async throws {
        let client = try client(), first = try plentyBudget(), second = try plentyBudget()
        try await client.prepare(first)
        _ = try await client.release(features: golden.features, label: golden.label, paidBy: second)
        XCTAssertEqual(try first.account().epsilonSpent, 0)
        XCTAssertEqual(try second.account().epsilonSpent, 1)
    }

    func testARefusedQueryLosesNothing() async throws {
        let client = try client(), budget = try plentyBudget()
        do {
            _ = try await client.release(features: [1], label: golden.label, paidBy: budget)
            XCTFail("features of a wrong number")
        } catch {
            XCTAssertEqual(error.status, .dimension)
        }
        _ = try await client.release(features: golden.features, label: golden.label, paidBy: budget)
        XCTAssertEqual(try budget.account().epsilonSpent, 1)
    }

    func testManyTasksPayOnceEach() async throws {
        let client = try client(), budget = try plentyBudget(), golden = golden
        try await withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<50 {
                tasks.addTask {
                    let bytes = try await client.release(
                        features: golden.features, label: golden.label, paidBy: budget
                    ).bytes
                    let answer = try await client.answer(
                        golden.bytes, features: golden.features, label: golden.label, scope: golden.scope,
                        limit: golden.limit)
                    XCTAssertEqual(answer.matches.count, golden.matches.count)
                    return bytes.count
                }
            }
            for try await count in tasks {
                XCTAssertEqual(count, client.receipt.bytes)
            }
        }
        XCTAssertEqual(try budget.account().epsilonSpent, 50)
    }

    func testNothingIsLeftToPay() async throws {
        let client = try client()
        let budget = try Budget(owner: owner, limits: .init(response: 1.5), store: MemoryStore())
        _ = try await client.release(features: golden.features, label: golden.label, paidBy: budget)
        do {
            _ = try await client.release(features: golden.features, label: golden.label, paidBy: budget)
            XCTFail("the budget pays for one")
        } catch {
            XCTAssertEqual(error.status, .spent)
        }
    }
}
