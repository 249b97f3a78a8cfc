// SPDX-License-Identifier: Apache-2.0
import PrivateMail
import XCTest

/// Guesses of labels and several looks, against the golden vectors.
final class HeadTests: XCTestCase {
    /// tests/golden/head_vectors.txt; its head explains the fields.
    private func lines(_ kind: String) -> [[Substring]] {
        PrivateMailTests.text(of: "tests/golden/head_vectors.txt").split(separator: "\n")
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false) }.filter { $0[0] == kind }
    }

    private func pack(_ index: Int) throws -> Pack { try Pack(bytes(hex: lines("head")[index][2])) }

    func testGuessesAreTheGoldenOnes() throws {
        let packs = try lines("head").map { try Pack(bytes(hex: $0[2])) }, guesses = lines("guess")
        XCTAssertEqual(packs.map(\.labels), lines("head").map { Int($0[3])! })
        XCTAssertGreaterThan(guesses.count, 20)
        for f in guesses {
            let pack = packs[Int(f[2])!], wanted = f[5].split(separator: ",").map(String.init)
            let modality = pack.modalities[Int(f[4])!].name
            for count in [1, min(wanted.count, 64)] {
                let found = try pack.guess(features: floats(hex: f[3]), modality: modality, count: count)
                XCTAssertEqual(found.map { "\($0.label):\($0.score)" }, Array(wanted.prefix(count)), String(f[1]))
            }
        }
    }

    func testWhatCannotBeGuessedIsRefused() throws {
        let fronts = try pack(1), nine = try pack(0), plain = try Vectors.golden.pack(Golden.one)
        let features = someFeatures(13)
        expect(.section) { _ = try plain.guess(features: someFeatures(plain.features)) }
        for count in [-1, 0, 65] { expect(.argument) { _ = try fronts.guess(features: features, count: count) } }
        expect(.argument) { _ = try nine.guess(features: someFeatures(11), count: 10) }
        expect(.dimension) { _ = try fronts.guess(features: someFeatures(12)) }
        expect(.modality) { _ = try fronts.guess(features: features, modality: "sound") }
        expect(.features) { _ = try fronts.guess(features: [Float](repeating: 0, count: 13)) }
        XCTAssertEqual(plain.labels, 0)
        XCTAssertEqual(try fronts.guess(features: features).count, 1)
    }

    func testMeansAreTheGoldenOnes() throws {
        for f in lines("looks") {
            let count = Int(f[2])!, times = Int(f[3])!, period = Int(f[4])!, patterns = floats(hex: f[5])
            let looks = try Looks(features: count)
            for start in stride(from: 0, to: patterns.count, by: period) {
                let look = (0..<count).map { patterns[start + $0 % period] }
                for _ in 0..<times { try looks.add(look) }
            }
            guard f[6] != "-" else {
                expect(.features) { _ = try looks.mean() }
                continue
            }
            let wanted = floats(hex: f[6]).map(\.bitPattern), mean = try looks.mean()
            XCTAssertTrue(mean.indices.allSatisfy { mean[$0].bitPattern == wanted[$0 % period] }, String(f[1]))
        }
    }

    func testARefusedLookAddsNothing() throws {
        let looks = try Looks(features: 2)
        expect(.state) { _ = try looks.mean() }
        try looks.add([3, 4])
        let before = try looks.mean()
        expect(.features) { try looks.add([.nan, 1]) }
        expect(.features) { try looks.add([0, 0]) }
        expect(.dimension) { try looks.add([1, 2, 3]) }
        XCTAssertEqual(try looks.mean(), before)
        for _ in 1..<Looks.most { try looks.add([1, 2]) }
        expect(.state) { try looks.add([1, 2]) }
        for count in [-1, 0, 1_000_001] { expect(.argument) { _ = try Looks(features: count) } }
    }
}
