// SPDX-License-Identifier: Apache-2.0
// An answer's life: order, damage, what is dropped on the way.
import Foundation
import PrivateMail
import XCTest

final class AnswerTests: XCTestCase {
    private let golden = Vectors.golden.answers.first { $0.pack == Golden.classes }!
    private let foreign = Vectors.golden.answers.first { $0.pack != Golden.classes && $0.pack != Golden.gaussianOnly }!

    private func client() throws -> Client {
        try Client(pack: try Vectors.golden.pack(golden.pack), options: .response(epsilon: 1))
    }

    private func begin(_ client: Client) throws -> Ranking {
        try client.beginAnswer(
            features: golden.features, label: golden.label, scope: golden.scope, limit: golden.limit)
    }

    private func expectGolden(_ client: Client, line: UInt = #line) throws {
        let ranking = try begin(client)
        try ranking.feed(Array(golden.bytes))
        let answer = try ranking.finish()
        XCTAssertEqual(answer.matches.count, golden.matches.count, line: line)
    }

    func testDamagedAnswers() throws {
        let client = try client()
        func answer(_ bytes: Data) throws {
            _ = try client.answer(bytes, features: golden.features, label: golden.label)
        }
        expect(.answer) { try answer(Data()) }
        expect(.answer) { try answer(golden.bytes.dropLast()) }
        expect(.answer) { try answer(golden.bytes + [0]) }
        expect(.answer) { try answer(Data([0xFF])) }
        expect(.packID) { try answer(foreign.bytes) }
        try expectGolden(client)  // an error does not stay
    }

    func testLimits() throws {
        let client = try client()
        for limit in [0, -1, 257, Int.max, Int.min] {
            expect(.argument) {
                _ = try client.beginAnswer(features: golden.features, label: golden.label, limit: limit)
            }
        }
        for limit in [1, 256] {
            let answer = try client.answer(
                golden.bytes, features: golden.features, label: golden.label, scope: .allSlots, limit: limit)
            XCTAssertLessThanOrEqual(answer.matches.count, limit)
            XCTAssertGreaterThan(answer.matches.count, 0)
            XCTAssertGreaterThan(answer.carried, 0)
            XCTAssertGreaterThan(answer.gallery, 0)
        }
    }

    func testOneAnswerAtATime() throws {
        let client = try client()
        let ranking = try begin(client)
        expect(.state) { _ = try begin(client) }
        try ranking.feed(golden.bytes)  // the first goes on
        let answer = try ranking.finish()
        XCTAssertEqual(answer.matches.count, golden.matches.count)
        try expectGolden(client)
    }

    func testADroppedAnswerEnds() throws {
        let client = try client()
        do {
            let ranking = try begin(client)
            try ranking.feed(golden.bytes.prefix(100))
        }
        try expectGolden(client)
    }

    func testAWipedAnswerCannotTouchTheNext() throws {
        let client = try client()
        let old = try begin(client)
        try old.feed(golden.bytes.prefix(100))
        client.wipe()
        expect(.state) { try old.feed(golden.bytes) }
        let next = try begin(client)
        expect(.state) { try old.feed(golden.bytes) }
        try next.feed(golden.bytes)
        do {
            _ = try old.finish()
            XCTFail("was not refused")
        } catch {
            XCTAssertEqual(error.status, .state)
        }
        let answer = try next.finish()
        XCTAssertEqual(answer.matches.count, golden.matches.count)
    }

    func testASequenceThatFailsEndsTheAnswer() async throws {
        struct Broken: Error {}
        let client = try client(), bytes = golden.bytes
        let stream = AsyncThrowingStream<Data, any Error> { stream in
            stream.yield(bytes.prefix(100))
            stream.finish(throwing: Broken())
        }
        do {
            _ = try await client.answer(from: stream, features: golden.features, label: golden.label)
            XCTFail("was not refused")
        } catch {
            XCTAssertTrue(error is Broken)
        }
        try expectGolden(client)
    }

    func testAnAnswerDoesNotDisturbARelease() throws {
        let release = Vectors.golden.releases.first { $0.pack == golden.pack }!
        let client = try Client(
            pack: try Vectors.golden.pack(golden.pack), options: release.options, entropy: script(release.seed))
        try client.arm(try plentyBudget())
        try expectGolden(client)
        XCTAssertEqual(try client.release(features: release.features, label: release.label).bytes, release.bytes)
    }
}
