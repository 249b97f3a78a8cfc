// SPDX-License-Identifier: Apache-2.0
// Whatever prints or mirrors a private value shows its type's name and nothing else.
import Foundation
import XCTest

@testable import PrivateMail

final class DescriptionTests: XCTestCase {
    private let golden = Vectors.golden.answers.first { $0.pack == Golden.classes }!

    private func expectHidden(_ value: Any, _ name: String, line: UInt = #line) {
        let hidden = "\(name) (private)"
        XCTAssertEqual(String(describing: value), hidden, line: line)
        XCTAssertEqual(String(reflecting: value), hidden, line: line)
        XCTAssertEqual("\(value)", hidden, line: line)
        let number = type(of: value) is AnyClass ? " #0" : ""  // dump counts objects
        XCTAssertEqual(dumped(value), "- \(hidden)\(number)\n", line: line)
        XCTAssertEqual(Mirror(reflecting: value).children.count, 0, line: line)
        XCTAssertNil(Mirror(reflecting: value).superclassMirror, line: line)
        XCTAssertEqual(String(describing: [value]), "[\(hidden)]", line: line)
    }

    private func dumped(_ value: Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }

    func testAnswers() throws {
        let client = try Client(pack: try Vectors.golden.pack(golden.pack), options: .response(epsilon: 1))
        let answer = try client.answer(
            golden.bytes, features: golden.features, label: golden.label, scope: golden.scope, limit: golden.limit)
        let found = Search.Found(answer: answer, bytes: golden.bytes, paid: nil)
        expectHidden(answer, "Answer")
        expectHidden(answer.matches[0], "Match")
        expectHidden(found, "Found")
        expectHidden(Guess(label: 4711, score: 7), "Guess")

        /// What an app makes of it.
        struct Screen {
            let found: Search.Found?, matches: [Match], guess: Guess
        }
        let screen = Screen(found: found, matches: answer.matches, guess: Guess(label: 4711, score: 7))
        for text in [String(describing: screen), String(reflecting: screen), dumped(screen)] {
            XCTAssertTrue(text.contains("(private)"), text)
            for word in ["item", "score", "payload", "carried", "4711"] { XCTAssertFalse(text.contains(word), text) }
        }
    }

    func testBundles() throws {
        let budget = try plentyBudget(), policy = Crowd(clients: 1000, clusters: 0.5, copies: 8, delta0: 1e-12, mu: 0.03)
        let client = try Client(
            pack: try Vectors.golden.pack(Golden.one), options: .crowd(floor: 8, policy))
        try client.armBundle(budget, for: .query)
        let bundle = try client.bundle(features: someFeatures(client.pack.features), label: Golden.label)
        expectHidden(bundle, "CrowdBundle")
        expectHidden(bundle.messages[0], "Message")
        expectHidden(MessageFolder.Message(pack: client.pack.id, bytes: bundle.kept!), "Message")
    }

    #if os(Linux) || os(macOS)
        func testWhatASearchHolds() throws {
            let key = try SealKey(configuration: try configuration(3, Data(repeating: 0x11, count: 32)))
            let opener = try key.seal(Data([1]), epoch: 1, pack: [UInt8](repeating: 0, count: 16)).opener
            let query = Search.Query(features: [1], label: 4711, modality: "text", scope: .ownSlot, limit: 20)
            let round = CrowdState.Round(
                name: "holiday", epoch: 1, ticket: "4711", bytes: Data([1]), answerSize: 1, openers: [opener, nil])
            let relay = try Relay(address: URL(string: "https://relay.example")!)
            expectHidden(opener, "Opener")
            expectHidden(query, "Query")
            expectHidden(round, "Round")
            expectHidden(CrowdState(settings: relay, configuration: PackSource.configuration), "CrowdState")
        }
    #endif
}
