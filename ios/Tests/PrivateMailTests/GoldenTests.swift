// SPDX-License-Identifier: Apache-2.0
// The same bytes as everywhere: releases, rows, answers and budgets of an independent reference.
import Foundation
import PrivateMail
import XCTest

final class GoldenTests: XCTestCase {
    private let vectors = Vectors.golden

    func testPacksOpenAndCarryTheirID() throws {
        XCTAssertGreaterThan(vectors.packs.count, 0)
        for golden in vectors.packs {
            let pack = try Pack(golden.bytes, pinnedID: Array(golden.id), model: golden.model)
            XCTAssertEqual(pack.id, Array(golden.id), golden.name)
            XCTAssertEqual(pack.model, golden.model, golden.name)
        }
    }

    func testReleasesAndTheirRows() throws {
        var equal = 0
        for golden in vectors.releases {
            let pack = try vectors.pack(golden.pack)
            let client = try Client(pack: pack, options: golden.options, entropy: script(golden.seed))
            try client.arm(try plentyBudget())
            let modality = pack.modalities[golden.modality]
            let release = try client.release(
                features: golden.features, label: golden.label, modality: modality.name)
            XCTAssertEqual(release.bytes, golden.bytes, golden.name)
            XCTAssertEqual(
                (release.rows ?? []).map(\.bitPattern), golden.rows.map(\.bitPattern), golden.name)
            XCTAssertEqual(golden.features.count, modality.features)
            XCTAssertEqual(release.receipt.bytes, golden.bytes.count)
            equal += release.bytes == golden.bytes ? 1 : 0
        }
        print("golden: \(equal) of \(vectors.releases.count)")  // the platform test reads it
        XCTAssertGreaterThan(vectors.releases.count, 0)
    }

    func testBundlesAndTheirOwnMessages() throws {
        XCTAssertGreaterThan(vectors.bundles.count, 10)
        for golden in vectors.bundles {
            let pack = try vectors.pack(golden.pack), budget = try plentyBudget()
            let options = Options.crowd(floor: golden.floor, golden.crowd)
            let client = try Client(pack: pack, options: options, entropy: script(golden.seed))
            try client.armBundle(budget, for: golden.kind)
            let bundle =
                switch golden.kind {
                case .query:
                    try client.bundle(
                        features: golden.features, label: golden.label, modality: pack.modalities[golden.modality].name)
                case .kept: try client.bundle(kept: golden.kept)
                case .idle: try client.idleBundle()
                }
            XCTAssertEqual(bundle.bytes, golden.bytes, golden.name)
            XCTAssertEqual(bundle.messages.map(\.own), golden.own, golden.name)
            XCTAssertLessThanOrEqual(bundle.messages.count, bundle.receipt.messages)
            XCTAssertEqual(bundle.receipt.mechanism, pack.slots > 1 ? .crowd : .response)
            XCTAssertEqual(bundle.kept == nil, golden.kind == .idle)
            for message in bundle.messages {
                XCTAssertEqual(message.bytes.count, bundle.receipt.bytes)
                XCTAssertEqual((try? pack.rows(of: message.bytes))?.count ?? pack.dimensions, pack.dimensions)
            }
            XCTAssertEqual(try budget.account().floorSpent, golden.kind == .query ? golden.floor : 0)
        }
    }

    func testAnswersInPiecesOfManyLengths() throws {
        XCTAssertGreaterThan(vectors.answers.count, 0)
        try rankInPieces(vectors.answers, anyClient)
    }

    func testAnswersInACrowd() throws {
        XCTAssertGreaterThan(vectors.crowdAnswers.count, 0)
        try rankInPieces(vectors.crowdAnswers) { pack in
            try Client(pack: pack, options: .crowd(floor: 1, Crowd(copies: 1)))
        }
    }

    private func rankInPieces(_ answers: [Vectors.GoldenAnswer], _ makeClient: (Pack) throws -> Client) throws {
        for golden in answers {
            let client = try makeClient(try vectors.pack(golden.pack))
            let modality = client.pack.modalities[golden.modality].name
            guard golden.pack != Golden.gaussianOnly else {  // it has no sketches
                expect(.section) { _ = try client.beginAnswer(features: golden.features, label: golden.label) }
                continue
            }
            for length in [1, 2, 3, 7, 64, golden.bytes.count] {
                let ranking = try client.beginAnswer(
                    features: golden.features, label: golden.label, modality: modality, scope: golden.scope,
                    limit: golden.limit)
                for at in stride(from: 0, to: golden.bytes.count, by: length) {
                    try ranking.feed(golden.bytes[at..<min(at + length, golden.bytes.count)])
                }
                let answer = try ranking.finish()
                XCTAssertEqual(answer.matches.map(line(of:)), golden.matches, golden.name)
                XCTAssertEqual(answer.bytes, UInt64(golden.bytes.count))
            }
        }
    }

    func testWholeAnswersAndTheirPayloads() async throws {
        for golden in vectors.answers where golden.pack != Golden.gaussianOnly {
            let client = try anyClient(try vectors.pack(golden.pack))
            let modality = client.pack.modalities[golden.modality].name
            let answer = try client.answer(
                golden.bytes, features: golden.features, label: golden.label, modality: modality, scope: golden.scope,
                limit: golden.limit)
            XCTAssertEqual(answer.matches.map(line(of:)), golden.matches, golden.name)
            let shifted = (Data([1, 2, 3]) + golden.bytes).dropFirst(3)  // a slice does not begin at 0
            for match in answer.matches {
                let range = match.payloadOffset..<match.payloadOffset + match.payloadSize
                XCTAssertEqual(match.payload(in: shifted), Data(Array(golden.bytes)[range]))
            }
            let streamed = try await client.answer(
                from: pieces(of: golden.bytes), features: golden.features, label: golden.label, modality: modality,
                scope: golden.scope, limit: golden.limit)
            XCTAssertEqual(streamed, answer)
            let byByte = try await client.answer(  // as URLSession.bytes hands it out
                from: AsyncStream { stream in
                    golden.bytes.forEach { stream.yield($0) }
                    stream.finish()
                }, features: golden.features, label: golden.label, modality: modality, scope: golden.scope,
                limit: golden.limit)
            XCTAssertEqual(byByte, answer)
        }
    }

    func testBudgets() throws {
        XCTAssertGreaterThan(vectors.budgets.count, 0)
        for golden in vectors.budgets {
            let store = MemoryStore(golden.bytes)
            let account = try Budget(owner: golden.owner, limits: .init(response: 1), store: store).account()
            let units = [
                0x1p-20, 0x1p-20, 0x1p-40, 0x1p-40, 0x1p-64,
                0x1p-20, 0x1p-20, 0x1p-40, 0x1p-40, 0x1p-64, 0x1p-64, 0x1p-64,
            ]
            XCTAssertEqual(
                [
                    account.epsilonCap, account.epsilonSpent, account.mu2Cap, account.mu2Spent, account.delta,
                    account.floorCap, account.floorSpent, account.crowdMu2Cap, account.crowdMu2Spent,
                    account.crowdDelta, account.crowdDelta0Cap, account.crowdDelta0Spent,
                ], zip(golden.counts, units).map { $0 * $1 })
            XCTAssertEqual(store.saves, 0)
        }
    }

    private func anyClient(_ pack: Pack) throws -> Client {
        try (try? Client(pack: pack, options: .response(epsilon: 1)))
            ?? Client(pack: pack, options: .gaussian(epsilon: 1, delta: 1e-5))
    }

    private func pieces(of bytes: Data) -> AsyncStream<Data> {
        AsyncStream { stream in
            for at in stride(from: 0, to: bytes.count, by: 50) {
                stream.yield(bytes.dropFirst(at).prefix(50))
            }
            stream.finish()
        }
    }
}
