// SPDX-License-Identifier: Apache-2.0
import Foundation
import PrivateMail
import XCTest

/// The project's folder, from where this file stands.
let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

func text(of path: String) -> String {
    guard let text = try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8) else {
        XCTFail("cannot read \(path)")
        return ""
    }
    return text
}

func bytes(hex: some StringProtocol) -> Data {
    if hex == "-" { return Data() }
    let digits = hex.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
    return Data(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
}

func floats(hex: some StringProtocol) -> [Float] {
    let raw = bytes(hex: hex)
    return stride(from: 0, to: raw.count, by: 4).map { at in
        Float(bitPattern: raw[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }
}

/// tests/golden/vectors.txt; its head explains the fields.
struct Vectors {
    struct GoldenRelease {
        let name: String, pack: Int, options: Options, seed: Data, features: [Float], label: Int
        let bytes: Data, rows: [Float], modality: Int
    }

    struct GoldenAnswer {
        let name: String, pack: Int, bytes: Data, features: [Float], label: Int, scope: Answer.Scope, limit: Int
        let matches: [String], modality: Int
    }

    struct GoldenBundle {
        let name: String, pack: Int, kind: CrowdBundle.Kind, floor: Double, crowd: Crowd, seed: Data, features: [Float]
        let label: Int, kept: Data, bytes: Data, own: [Int], modality: Int
    }

    struct GoldenBudget {
        let bytes: Data, owner: [UInt8], counts: [Double]
    }

    private(set) var packs: [(name: String, bytes: Data, id: Data, model: String?)] = []
    private(set) var releases: [GoldenRelease] = []
    private(set) var answers: [GoldenAnswer] = []
    private(set) var crowdAnswers: [GoldenAnswer] = []
    private(set) var bundles: [GoldenBundle] = []
    private(set) var budgets: [GoldenBudget] = []

    static let golden = Vectors()

    private init() {
        for line in text(of: "tests/golden/vectors.txt").split(separator: "\n") where !line.hasPrefix("#") {
            let f = line.split(separator: "\t", omittingEmptySubsequences: false)
            switch f[0] {
            case "pack":
                packs.append(
                    (
                        String(f[1]), PrivateMailTests.bytes(hex: f[2]), PrivateMailTests.bytes(hex: f[3]),
                        f[4] == "-" ? nil : String(f[4])
                    ))
            case "release": releases.append(Self.release(f))
            case "answer": answers.append(Self.answer(f))
            case "crowd_answer": crowdAnswers.append(Self.answer(f))
            case "bundle": bundles.append(Self.bundle(f))
            case "budget":
                budgets.append(
                    GoldenBudget(
                        bytes: PrivateMailTests.bytes(hex: f[1]), owner: Array(PrivateMailTests.bytes(hex: f[2])),
                        counts: f[3...].map { Double($0)! }))
            default: preconditionFailure("unknown line: \(f[0])")
            }
        }
    }

    private static func release(_ f: [Substring]) -> GoldenRelease {
        let epsilon = Double(f[4])!, delta = Double(f[5])!
        return GoldenRelease(
            name: String(f[1]), pack: Int(f[2])!,
            options: f[3] == "1"
                ? .response(epsilon: epsilon)
                : .gaussian(epsilon: epsilon, delta: delta, valueBytes: Int(f[6])!),
            seed: bytes(hex: f[7]), features: floats(hex: f[8]), label: Int(f[9])!, bytes: bytes(hex: f[10]),
            rows: floats(hex: f[11]), modality: Int(f[12])!)
    }

    private static func answer(_ f: [Substring]) -> GoldenAnswer {
        GoldenAnswer(
            name: String(f[1]), pack: Int(f[2])!, bytes: bytes(hex: f[3]), features: floats(hex: f[4]),
            label: Int(f[5])!, scope: Answer.Scope(rawValue: Int32(f[6])!)!, limit: Int(f[7])!,
            matches: f[8] == "-" ? [] : f[8].split(separator: ",").map(String.init), modality: Int(f[9])!)
    }

    private static func bundle(_ f: [Substring]) -> GoldenBundle {
        GoldenBundle(
            name: String(f[1]), pack: Int(f[2])!, kind: [.query, .kept, .idle][Int(f[3])! - 1], floor: Double(f[4])!,
            crowd: Crowd(
                clients: 1000, clusters: Double(f[5])!, copies: Int(f[6])!, own: Int(f[7])!, cover: f[8] == "1",
                delta0: 1e-12, mu: 0.03),
            seed: bytes(hex: f[9]), features: f[10] == "-" ? [] : floats(hex: f[10]), label: Int(f[11])!,
            kept: bytes(hex: f[12]), bytes: bytes(hex: f[13]), own: bytes(hex: f[14]).map { Int($0) },
            modality: Int(f[15])!)
    }

    func pack(_ index: Int) throws -> Pack { try Pack(packs[index].bytes) }
}

/// A match as the vectors write it.
func line(of m: Match) -> String {
    // The score is a cosine; every multiple of 2^-30 is a Double.
    "\(m.item):\(m.label):\(m.slot):\(Int(m.score * 0x1p30)):\(m.payloadOffset):\(m.payloadSize)"
}

/// Golden packs by what they are good for.
enum Golden {
    static let one = 0, classes = 1, responseOnly = 3, gaussianOnly = 5, named = 11, fronts = 13
    static let label = -7  // a class of pack `classes`
}

let owner = Array("owner of budget.".utf8)

/// A store in memory that counts, and fails or calls back when told to.
final class MemoryStore: BudgetStore, @unchecked Sendable {  // the budget calls it one at a time
    struct Refusal: Error {}
    private(set) var bytes: Data?
    private(set) var saves = 0
    var refuses = false
    var during: () -> Void = {}

    init(_ bytes: Data? = nil) {
        self.bytes = bytes
    }

    func load() throws -> Data? {
        if refuses { throw Refusal() }
        return bytes
    }

    func save(_ bytes: Data) throws {
        during()
        if refuses { throw Refusal() }
        self.bytes = bytes
        saves += 1
    }
}

func plentyBudget(_ store: any BudgetStore = MemoryStore()) throws -> Budget {
    try Budget(
        owner: owner,
        limits: .init(response: 4000, gaussian: 100, delta: 1e-5, floor: 4000, crowd: 16, crowdDelta: 1e-5),
        store: store)
}

/// Features that every pack takes.
func someFeatures(_ count: Int, salt: Int = 1) -> [Float] {
    (0..<count).map { Float(($0 * 37 + salt * 101) % 23) - 11.5 }
}

/// Entropy that hands out the same bytes again and again.
func script(_ seed: Data) -> Client.Entropy {
    { out in
        out.copyBytes(from: seed)
        return 0
    }
}

extension XCTestCase {
    /// A program that SwiftPM built: next to the tests.
    func product(_ name: String) -> URL {
        #if os(macOS)
            Bundle(for: Self.self).bundleURL.deletingLastPathComponent().appendingPathComponent(name)
        #else
            Bundle.main.bundleURL.appendingPathComponent(name)
        #endif
    }

    /// The call must be refused with this status; answers the error for a closer look.
    @discardableResult
    func expect(
        _ status: Status, line: UInt = #line, _ body: () throws -> Void
    ) -> PrivateMailError? {
        do {
            try body()
            XCTFail("was not refused", line: line)
        } catch let error as PrivateMailError {
            XCTAssertEqual(error.status, status, line: line)
            return error
        } catch {
            XCTFail("threw \(error)", line: line)
        }
        return nil
    }

    /// A folder of the test's own, removed with what is in it at the end.
    func temporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
        return folder
    }
}
