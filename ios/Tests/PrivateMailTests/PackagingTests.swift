// SPDX-License-Identifier: Apache-2.0
// What surrounds the code: sources, headers, privacy manifest, the README's example.
import Foundation
import PrivateMail
import XCTest

final class PackagingTests: XCTestCase {
    /// Paths within the folder, also of what lies in folders of its own.
    private func names(in folder: String, suffix: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            .filter { $0.hasSuffix(suffix) }.sorted()
    }

    /// SwiftPM compiles every file of the core, which must be the project's own list, and those of platform/ by name.
    func testSourcesAreThoseOfTheCore() throws {
        let listed = text(of: "core/sources.cmake").split(separator: "\n").map { $0.drop { $0 == " " } }
            .filter { $0.hasSuffix(".c") && !$0.hasPrefix("#") }.map(String.init).sorted()
        XCTAssertEqual(try names(in: "core", suffix: ".c"), listed)
        for source in try names(in: "platform", suffix: ".c") + names(in: "transport", suffix: ".c")
        where !source.contains("/") {
            XCTAssertTrue(text(of: "Package.swift").contains("\"\(source)\""), "Package.swift lacks \(source)")
        }
    }

    /// The module shows all public headers; the wrapper keeps to the device's own.
    func testOnlyTheDevicesHeaderIsUsed() throws {
        let headers = ["core/include/privatemail.h", "core/include/privatemail_crowd.h"]
        let allowed = (headers + ["platform/privatemail_platform.h", "transport/include/privatemail_transport.h"]).flatMap { identifiers(text(of: $0)) }
        for file in try names(in: "ios/Sources/PrivateMail", suffix: ".swift") {
            let used = Set(identifiers(text(of: "ios/Sources/PrivateMail/\(file)")))
            XCTAssertEqual(used.subtracting(allowed), [], file)
        }
    }

    private func identifiers(_ text: String) -> [String] {
        text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
            .filter { $0.hasPrefix("pml_") || $0.hasPrefix("PML_") }.map(String.init)
    }

    func testPrivacyManifest() throws {
        let manifest = try XCTUnwrap(Bundle.privateMail?.url(forResource: "PrivacyInfo", withExtension: "xcprivacy"))
        let plist = try PropertyListSerialization.propertyList(from: Data(contentsOf: manifest), format: nil)
        let entries = try XCTUnwrap(plist as? [String: Any])
        XCTAssertEqual(entries["NSPrivacyTracking"] as? Bool, false)
        // Nothing is collected, and no interface used that wants a reason: see testNoRequiredReasonAPI.
        let empty = ["NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes", "NSPrivacyAccessedAPITypes"]
        for key in empty {
            XCTAssertEqual((entries[key] as? [Any])?.count, 0, key)
        }
        XCTAssertEqual(Set(entries.keys), Set(empty + ["NSPrivacyTracking"]))
    }

    /// Names of Apple's required-reason interfaces (file times, disk space, boot time, keyboards, defaults).
    func testNoRequiredReasonAPI() throws {
        let reasons: Set = [
            "stat", "fstat", "fstatat", "lstat", "getattrlist", "fgetattrlist", "getattrlistat", "getattrlistbulk",
            "statfs", "fstatfs", "statvfs", "fstatvfs", "creationDate", "modificationDate", "fileModificationDate",
            "contentModificationDateKey", "creationDateKey", "contentModificationDate", "attributesOfItem",
            "volumeAvailableCapacityKey", "systemFreeSize", "systemSize", "systemUptime", "mach_absolute_time",
            "activeInputModes", "UserDefaults",
        ]
        for (folder, suffix) in [("ios/Sources/PrivateMail", ".swift"), ("core", ".c"), ("platform", ".c"), ("transport", ".c")] {
            for file in try names(in: folder, suffix: suffix) {
                let words = text(of: "\(folder)/\(file)").split { !($0.isLetter || $0.isNumber || $0 == "_") }
                XCTAssertEqual(reasons.intersection(words.map(String.init)), [], file)
            }
        }
    }

    func testTheREADMEShowsTheExamples() {
        for file in [
            "ios/Example/main.swift", "ios/SearchExample/SearchExample.swift", "ios/CrowdExample/CrowdExample.swift",
        ] {
            let example = text(of: file).split(separator: "\n", maxSplits: 1)[1]  // without the licence
            XCTAssertTrue(text(of: "ios/README.md").contains("```swift\n\(example)```"), file)
        }
        let words = text(of: "ios/README.md").components(separatedBy: "## Words find pictures")[1]
            .components(separatedBy: "```swift\n")[1].components(separatedBy: "```")[0].split(separator: "\n")
        for line in words {
            XCTAssertTrue(text(of: "ios/Tests/PrivateMailTests/SearchTests.swift").contains("            \(line)\n"))
        }
    }
}

extension Bundle {
    /// SwiftPM's bundle of the library's resources, next to the tests.
    fileprivate static var privateMail: Bundle? {
        for place in [Bundle.main.bundleURL, Bundle(for: PackagingTests.self).bundleURL.deletingLastPathComponent()] {
            for suffix in ["resources", "bundle"] {
                let url = place.appendingPathComponent("PrivateMail_PrivateMail.\(suffix)")
                if let bundle = Bundle(url: url) { return bundle }
            }
        }
        return nil
    }
}
