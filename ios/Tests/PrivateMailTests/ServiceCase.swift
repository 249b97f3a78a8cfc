// SPDX-License-Identifier: Apache-2.0
// What tests against real services share. PRIVATEMAIL_COMMAND is the path of the command `privatemail`; without it such
// tests are skipped.
#if os(Linux) || os(macOS)
    import Foundation
    import PrivateMail
    import XCTest

    class ServiceCase: XCTestCase {
        let model = "shapes of 16 pixels"
        var place: URL!
        private var services: [Process] = []

        override func setUpWithError() throws {
            place = try temporaryFolder()
            for name in ["search", "packs"] {
                try FileManager.default.createDirectory(
                    at: place.appendingPathComponent(name), withIntermediateDirectories: true)
            }
            try run("sample", "--out", path("shapes"), "--classes", "4", "--per-class", "60", "--size", "16")
            for (pack, seed) in [("old", "1"), ("new", "2")] {
                try run(
                    "pack", "--features", path("shapes/public.npy"), "--labels", path("shapes/public_labels.npy"),
                    "--slots", "class", "--cells", "4", "--response-only", "--model", model, "--seed", seed,
                    "--out", path("\(pack).pmpk"))
                try run(
                    "index", "--pack", path("\(pack).pmpk"), "--features", path("shapes/gallery.npy"),
                    "--labels", path("shapes/gallery_labels.npy"), "--payloads", path("shapes/images/gallery"),
                    "--share", "0.5", "--store", "sqlite:\(path("\(pack).store"))")
            }
        }

        override func tearDown() {
            stop()
        }

        func path(_ name: String) -> String { place.appendingPathComponent(name).path }

        func command() throws -> URL {
            guard let command = ProcessInfo.processInfo.environment["PRIVATEMAIL_COMMAND"] else {
                throw XCTSkip("PRIVATEMAIL_COMMAND does not name the command privatemail")
            }
            return URL(fileURLWithPath: command)
        }

        func start(_ program: URL, _ arguments: [String]) throws -> (Process, FileHandle) {
            let process = Process(), output = Pipe()
            process.executableURL = program
            process.arguments = arguments
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            return (process, output.fileHandleForReading)
        }

        @discardableResult
        func run(arguments more: [String] = [], _ arguments: String..., program: URL? = nil) throws -> Data {
            let (process, output) = try start(program ?? command(), arguments + more)
            let data = output.readDataToEndOfFile()
            process.waitUntilExit()
            XCTAssertEqual(process.terminationStatus, 0, arguments.joined(separator: " "))
            return data
        }

        func object(_ json: Data) throws -> [String: Any] {
            try XCTUnwrap(JSONSerialization.jsonObject(with: json) as? [String: Any])
        }

        /// Starts a command that listens, and returns where.
        func listen(_ arguments: [String]) throws -> URL {
            let (process, output) = try start(command(), arguments + ["--listen", "127.0.0.1:0", "--json", "--log", "off"])
            services.append(process)
            var line = Data()
            while line.last != UInt8(ascii: "\n") {
                let more = output.availableData
                guard !more.isEmpty else { break }
                line += more
            }
            return URL(string: "http://\(try XCTUnwrap(object(line)["listen"] as? String))")!
        }

        /// Starts the service with these packs.
        func serve(_ packs: [String], _ options: [String] = []) throws -> URL {
            try listen(
                ["serve"] + options
                    + packs.flatMap { ["--pack", path("\($0).pmpk"), "--store", "sqlite:\(path("\($0).store"))"] })
        }

        /// Stops all that was started.
        func stop() {
            for process in services {
                process.terminate()
                process.waitUntilExit()
            }
            services = []
        }

        func id(_ pack: String) throws -> [UInt8] {
            let text = try XCTUnwrap(object(try run("inspect", path("\(pack).pmpk"), "--json"))["pack"] as? String)
            return try XCTUnwrap(Pack.id(hexadecimal: text))
        }

        /// Row by row: a header of ten bytes and its length, then numbers.
        func queries() throws -> [[Float]] {
            let bytes = try Data(contentsOf: place.appendingPathComponent("shapes/queries.npy"))
            let start = 10 + Int(bytes[8]) + Int(bytes[9]) << 8
            let values = stride(from: start, to: bytes.count, by: 4).map { at in
                Float(bitPattern: (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * $1) })
            }
            let count = 8  // two a class
            return (0..<count).map { row in Array(values[row * values.count / count..<(row + 1) * values.count / count]) }
        }
    }
#endif
