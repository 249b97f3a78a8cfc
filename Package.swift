// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// SwiftPM carries no compiler flags to dependents: what the core needs of the compiler stands in core/base/base.h.
let mechanisms: [CSetting] = [
    .define("PML_WITH_RESPONSE", to: "1"), .define("PML_WITH_GAUSSIAN", to: "1"), .define("PML_WITH_CROWD", to: "1"),
    .define("PML_WITH_FRONT", to: "1"), .define("PML_WITH_HEAD", to: "1"),
]

// Apple systems have CryptoKit; elsewhere BearSSL fills the table of primitives (libbearssl-dev).
#if os(Linux)
    let primitives: [Target] = [
        .target(
            name: "CPrivateMailBearSSL", dependencies: ["CPrivateMailTransport"], path: "transport/bearssl",
            publicHeadersPath: ".",
            cSettings: mechanisms + [.headerSearchPath("../.."), .headerSearchPath("../../core")],
            linkerSettings: [.linkedLibrary("bearssl")])
    ]
#else
    let primitives: [Target] = []
#endif

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
                "entropy.c", "kernels_select.c", "kernels_avx2.c", "kernels_avx2_compare.c", "kernels_avx2_nearest.c", "kernels_avx2_quantise.c",
                "kernels_avx2_sha256.c", "kernels_avx512vnni.c", "kernels_neon.c", "kernels_neon_dotprod.c",
                "kernels_neon_sha256.c", "kernels_helium.c", "kernels_dsp.c",
            ],
            publicHeadersPath: ".", cSettings: mechanisms),
        // Sealed messages, over a table of primitives.
        .target(
            name: "CPrivateMailTransport", dependencies: ["CPrivateMail"], path: "transport",
            exclude: ["CMakeLists.txt", "transport_sources.cmake", "bearssl"],
            sources: [
                "hpke.c", "capsule.c", "keys.c", "binary_http.c", "message_seal.c", "answer_open.c", "message_open.c",
                "answer_seal.c", "ohttp_response.c",
            ],
            cSettings: mechanisms + [.headerSearchPath(".."), .headerSearchPath("../core")]),
        .target(
            name: "PrivateMail",
            dependencies: [
                "CPrivateMail", "CPrivateMailPlatform", "CPrivateMailTransport",
            ] + primitives.map { .target(name: $0.name) },
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
    ] + primitives,
    cLanguageStandard: .c11
)
