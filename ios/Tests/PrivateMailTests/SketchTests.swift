// SPDX-License-Identifier: Apache-2.0
import Foundation
import PrivateMail
import XCTest

/// Packs with coded sketches and answers of version 2, against the golden vectors.
final class SketchTests: XCTestCase {
    /// tests/golden/sketch_vectors.txt; its head explains the fields.
    private func lines(_ kind: String) -> [[Substring]] {
        PrivateMailTests.text(of: "tests/golden/sketch_vectors.txt").split(separator: "\n")
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false) }.filter { $0[0] == kind }
    }

    private func rank(_ kind: String, _ makeClient: (Pack) throws -> Client) throws {
        let packs = try lines("pack").map { try Pack(bytes(hex: $0[2])) }, answers = lines(kind)
        XCTAssertGreaterThan(answers.count, 7)
        for f in answers {
            let client = try makeClient(packs[Int(f[2])!]), data = bytes(hex: f[3])
            let wanted = f[8] == "-" ? [] : f[8].split(separator: ",").map(String.init)
            for length in [1, 7, data.count] {
                let ranking = try client.beginAnswer(
                    features: floats(hex: f[4]), label: Int(f[5])!, modality: client.pack.modalities[Int(f[9])!].name,
                    scope: Answer.Scope(rawValue: Int32(f[6])!)!, limit: Int(f[7])!)
                for at in stride(from: 0, to: data.count, by: length) {
                    try ranking.feed(data[at..<min(at + length, data.count)])
                }
                let answer = try ranking.finish()
                XCTAssertEqual(answer.matches.map(line(of:)), wanted, String(f[1]))
                XCTAssertEqual(answer.bytes, UInt64(data.count))
            }
        }
    }

    func testAnswersOfVersion2() throws {
        try rank("answer") { try Client(pack: $0, options: .response(epsilon: 1)) }
    }

    func testAnswersOfVersion2InACrowd() throws {
        try rank("crowd_answer") { try Client(pack: $0, options: .crowd(floor: 1, Crowd(copies: 1))) }
    }

    func testPacksAreRefusedAsTheReferenceDoes() throws {
        for f in lines("refused_pack") {
            XCTAssertThrowsError(try Pack(bytes(hex: f[3])), String(f[1]))
        }
    }

    func testAnswersAreRefusedOrTakenAsTheReferenceDoes() throws {
        let packs = try lines("pack").map { try Pack(bytes(hex: $0[2])) }, answers = lines("refused_answer")
        XCTAssertGreaterThan(answers.count, 80)
        for f in answers {
            let pack = packs[Int(f[3])!]
            let client = try Client(
                pack: pack, options: f[5] == "1" ? .crowd(floor: 1, Crowd(copies: 1)) : .response(epsilon: 1))
            func ask() throws {
                _ = try client.answer(
                    bytes(hex: f[4]), features: [Float](repeating: 1, count: pack.features), label: 0, scope: .allSlots)
            }
            switch f[2] {
            case "OK": XCTAssertNoThrow(try ask(), String(f[1]))
            case "PACK_ID": expect(.packID) { try ask() }
            default: expect(.answer) { try ask() }
            }
        }
    }
}
