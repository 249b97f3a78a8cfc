// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// SwiftPM carries no compiler flags to dependents: what the core needs of the compiler stands in core/base/base.h.
let mechanisms: [CSetting] = [
    .define("PML_WITH_RESPONSE", to: "1"), .define("PML_WITH_GAUSSIAN", to: "1"), .define("PML_WITH_CROWD", to: "1"),
]

let package = Package(
    name: "PrivateMail",
    platforms: [.iOS(.v15), .macOS(.v13), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [
        .library(name: "PrivateMail", targets: ["PrivateMail"]),
        .library(name: "CPrivateMail", targets: ["CPrivateMail", "CPrivateMailPlatform"]),
    ],
    targets: [
        // Every .c of the core, so there is no list to drift; a test compares it with core/sources.cmake.
        .target(
            name: "CPrivateMail", path: "core", exclude: ["sources.cmake"],
            cSettings: mechanisms + [.headerSearchPath(".")]),
        .target(
            name: "CPrivateMailPlatform", dependencies: ["CPrivateMail"], path: "platform",
            sources: [
                "entropy.c", "kernels_select.c", "kernels_avx2.c", "kernels_avx2_largest.c", "kernels_avx512vnni.c", "kernels_neon.c",
                "kernels_neon_dotprod.c", "kernels_helium.c", "kernels_dsp.c",
            ],
            publicHeadersPath: ".", cSettings: mechanisms),
        .target(
            name: "PrivateMail", dependencies: ["CPrivateMail", "CPrivateMailPlatform"],
            path: "ios/Sources/PrivateMail", resources: [.copy("PrivacyInfo.xcprivacy")]),
        .executableTarget(name: "privatemail-example", dependencies: ["PrivateMail"], path: "ios/Example"),
        .executableTarget(name: "privatemail-crowd-example", dependencies: ["PrivateMail"], path: "ios/CrowdExample"),
        .executableTarget(
            name: "privatemail-search-example", dependencies: ["PrivateMail"], path: "ios/SearchExample"),
        .testTarget(
            name: "PrivateMailTests",
            dependencies: [
                "PrivateMail",
                .target(name: "privatemail-example", condition: .when(platforms: [.macOS, .linux])),
                .target(name: "privatemail-crowd-example", condition: .when(platforms: [.macOS, .linux])),
                .target(name: "privatemail-search-example", condition: .when(platforms: [.macOS, .linux])),
            ],
            path: "ios/Tests/PrivateMailTests"),
    ],
    cLanguageStandard: .c11
)
