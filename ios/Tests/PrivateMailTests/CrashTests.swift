// SPDX-License-Identifier: Apache-2.0
// Kills the example at random moments: its budget's file stays sound, and every release that left is paid for.
#if os(Linux) || os(macOS)
    import Foundation
    import PrivateMail
    import XCTest

    final class CrashTests: XCTestCase {
        private let owner = Array("account 4711 ...".utf8)  // the example's

        func testKilledAtAnyMoment() throws {
            let folder = try temporaryFolder()
            let pack = folder.appendingPathComponent("one.pmpk"), budget = folder.appendingPathComponent("me.budget")
            try Vectors.golden.packs[Golden.one].bytes.write(to: pack)
            var spent = try account(budget), released = 0.0, killed = 0
            var whole = 0.0  // seconds that a run takes when it is let live
            for round in 0..<60 {
                let began = Date(), run = try start([pack.path, budget.path])
                if round >= 10 {  // in even steps over the whole run
                    Thread.sleep(forTimeInterval: whole * Double(round - 10) / 50)
                    kill(run.process.processIdentifier, SIGKILL)
                }
                let output = String(decoding: run.output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                run.process.waitUntilExit()
                if round < 10 { whole = Date().timeIntervalSince(began) }
                killed += run.process.terminationReason == .uncaughtSignal ? 1 : 0
                released += output.contains("bytes to send") ? 4 : 0
                let now = try account(budget)
                XCTAssertGreaterThanOrEqual(now, spent)
                XCTAssertGreaterThanOrEqual(now, released)
                spent = now
            }
            XCTAssertGreaterThanOrEqual(released, 40)
            XCTAssertGreaterThanOrEqual(killed, 1)
        }

        func testTheExampleRanksAnAnswer() throws {
            let folder = try temporaryFolder()
            let golden = Vectors.golden.answers.first { $0.pack == Golden.one }!
            let pack = folder.appendingPathComponent("one.pmpk"), answer = folder.appendingPathComponent("answer")
            try Vectors.golden.packs[golden.pack].bytes.write(to: pack)
            try golden.bytes.write(to: answer)
            let run = try start([pack.path, folder.appendingPathComponent("me.budget").path, answer.path])
            let output = String(decoding: run.output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            run.process.waitUntilExit()
            XCTAssertEqual(run.process.terminationStatus, 0)
            let lines = output.split(separator: "\n")
            XCTAssertTrue(lines.first?.contains("bytes to send") ?? false)
            XCTAssertGreaterThanOrEqual(lines.filter { $0.hasPrefix("item ") }.count, golden.matches.count)
        }

        /// Opens the budget as the next launch would; the first time it creates a large one.
        private func account(_ url: URL) throws -> Double {
            try Budget(owner: owner, limits: .init(response: 4000), store: FileBudgetStore(url: url)).account()
                .epsilonSpent
        }

        private func start(_ arguments: [String]) throws -> (process: Process, output: Pipe) {
            let process = Process(), output = Pipe()
            process.executableURL = product("privatemail-example")
            process.arguments = arguments
            process.standardOutput = output
            try process.run()
            return (process, output)
        }
    }
#endif
